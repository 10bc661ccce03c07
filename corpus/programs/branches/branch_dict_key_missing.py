"""An auxiliary loss that one path forgot raises as Python does.

exercises: new dict key in one branch; KeyError afterwards
rows: 80
"""

import paddle

RAISES = {1: KeyError}


def total_loss(x, auxiliary):
    losses = {"main": (x * x).sum()}
    if auxiliary > 0:
        losses["aux"] = x.abs().sum()
    main = losses["main"]
    return main + losses["aux"]


def build():
    return total_loss


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for auxiliary in (1, 0, 2):
        yield x, paddle.to_tensor(auxiliary)
