"""An auxiliary loss enters the dict on one path only; get has a default.

exercises: new dict key in one branch; get with a default afterwards
rows: 80
"""

import paddle


def total_loss(x, auxiliary):
    losses = {"main": (x * x).sum()}
    if auxiliary > 0:
        losses["aux"] = x.abs().sum()
    return losses["main"] + losses.get("aux", 0.5)


def build():
    return total_loss


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for auxiliary in (1, 0, 2):
        yield x, paddle.to_tensor(auxiliary)
