"""A weight is squared in a branch and summed outside of it, as penalties are.

exercises: tensor multiplied in a branch and reduced outside; gradient of both uses
rows: 1
"""

import paddle


def penalised_loss(w, hard):
    if hard > 0:
        loss = w * w
    else:
        loss = w * 2
    return loss.sum() + w.sum()


def build():
    return penalised_loss


def inputs():
    w = paddle.to_tensor([1.0, 2.0])
    for hard in (1, 0, 2):
        yield w, paddle.to_tensor(hard)
