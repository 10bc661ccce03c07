"""A margin that is an int on one side and a float on the other.

exercises: python int against python float in branches, returned and used
rows: 5
"""

import paddle


def margin_loss(x, strict):
    if strict > 0:
        margin = 1
    else:
        margin = 0.5
    loss = (x - margin).clip(min=0).sum()
    return loss, margin


def build():
    return margin_loss


def inputs():
    x = paddle.to_tensor([0.75, 2.0])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(0)
    yield x * 2, paddle.to_tensor(1)
