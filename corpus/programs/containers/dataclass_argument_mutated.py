"""The caller's dataclass is updated in a branch and in a loop.

exercises: dataclass argument whose fields change; the caller sees it
rows: 83
"""

from dataclasses import dataclass

import paddle


@dataclass
class Account:
    balance: paddle.Tensor
    fees: paddle.Tensor


def month(account, payments):
    for payment in payments:
        account.balance = account.balance + payment
        if account.balance < 0:
            account.fees = account.fees + 1
            account.balance = account.balance - 1
    return account.balance


def build():
    return month


def inputs():
    for payments in ([1.0, -2.0], [1.0, 1.0], [-5.0, -1.0]):
        yield Account(paddle.to_tensor(0.5), paddle.to_tensor(0.0)), paddle.to_tensor(payments)
