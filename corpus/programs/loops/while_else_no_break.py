"""Spend a budget, and charge a fee when it is used up.

exercises: while-else on a tensor condition without any break
rows: 18
"""

import paddle


def spend(budget, price):
    items = paddle.zeros([], "int64")
    while budget >= price:
        budget = budget - price
        items = items + 1
    else:
        budget = budget * 0.5
    return budget, items


def build():
    return spend


def inputs():
    for budget in (0.5, 1.25, 4.0):
        yield paddle.to_tensor(budget), paddle.to_tensor(1.0)
