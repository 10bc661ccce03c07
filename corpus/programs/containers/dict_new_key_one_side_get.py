"""An extra loss that exists only on hard samples.

exercises: new key on one side of a tensor branch, read with get and a default
rows: 80
"""

import paddle


def total_loss(x):
    losses = {"main": (x * x).mean()}
    if x.abs().max() > 1:
        losses["extra"] = x.abs().sum()
    return losses["main"] + 0.1 * losses.get("extra", 0.0)


def build():
    return total_loss


def inputs():
    yield (paddle.to_tensor([0.5, 0.25]),)
    yield (paddle.to_tensor([2.0, 0.25]),)
