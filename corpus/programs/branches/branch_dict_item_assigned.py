"""Items of a dict of losses are replaced and created in both branches.

exercises: dict items assigned in branches; new key in both branches; augmented item
rows: 79
"""

import paddle


def losses_of(x, target, hard):
    losses = {"fit": ((x - target) ** 2).mean()}
    if hard > 0:
        losses["fit"] = losses["fit"] * 2
        losses["norm"] = x.abs().sum()
    else:
        losses["norm"] = x.sum() * 0.1
    losses["fit"] += 1
    return losses, losses["fit"] + losses["norm"]


def build():
    return losses_of


def inputs():
    x, target = paddle.to_tensor([1.0, -2.0]), paddle.to_tensor([0.5, 0.5])
    for hard in (1, 0, 2):
        yield x, target, paddle.to_tensor(hard)
