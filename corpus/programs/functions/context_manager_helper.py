"""A helper made with contextlib.contextmanager scales the loss inside and restores it outside.

exercises: contextlib.contextmanager helper; with ... as; tensor if in the with block
rows: 63
"""

import contextlib

import paddle

SCALE = [1.0]


@contextlib.contextmanager
def scaling(factor):
    saved = SCALE[0]
    SCALE[0] = saved * factor
    try:
        yield SCALE[0]
    finally:
        SCALE[0] = saved


def loss(x):
    with scaling(4.0) as factor:
        y = x * SCALE[0]
        if y.sum() > 5:
            y = y / factor
        else:
            with scaling(0.5):
                y = y + SCALE[0]
    return y * SCALE[0], factor


OBSERVED = lambda: SCALE  # noqa: E731


def build():
    return loss


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
