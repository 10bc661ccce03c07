"""An auxiliary loss enters the dict on one path only; the sum takes what is there.

exercises: new dict key in one branch; values, items and len afterwards
rows: 80
"""

import paddle


def total_loss(x, auxiliary):
    losses = {"main": (x * x).sum()}
    if auxiliary > 0:
        losses["aux"] = x.abs().sum()
    total = sum(losses.values())
    for name, loss in losses.items():
        total = total + loss * len(name)
    return total / len(losses)


def build():
    return total_loss


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for auxiliary in (1, 0, 2):
        yield x, paddle.to_tensor(auxiliary)
