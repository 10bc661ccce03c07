"""An auxiliary loss enters the dict on one path only; `in` asks for it.

exercises: new dict key in one branch; in and not in afterwards
rows: 80
"""

import paddle


def total_loss(x, auxiliary):
    losses = {"main": (x * x).sum()}
    if auxiliary > 0:
        losses["aux"] = x.abs().sum()
    total = losses["main"]
    if "aux" in losses:
        total = total + losses["aux"]
    if "aux" not in losses:
        total = total * 2
    return total


def build():
    return total_loss


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for auxiliary in (1, 0, 2):
        yield x, paddle.to_tensor(auxiliary)
