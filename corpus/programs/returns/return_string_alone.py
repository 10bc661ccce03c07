"""The name of the phase that training is in.

exercises: a string and nothing else by path
rows: 45
"""

import paddle

# No tensor is returned.
GRAD = False


def phase(loss, previous):
    if loss > previous * 2:
        return "diverging"
    elif loss < previous:
        return "improving"
    return "flat"


def build():
    return phase


def inputs():
    one = paddle.to_tensor(1.0)
    for loss in (3.0, 0.5, 1.5):
        yield paddle.to_tensor(loss), one
