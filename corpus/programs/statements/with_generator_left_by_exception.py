"""A layer in evaluation mode for as long as a check holds.

exercises: contextlib.contextmanager with finally, left by a failed assertion on a tensor; the mode
    is back afterwards
rows: 61, 63
"""

import contextlib

import paddle

RAISES = {1: AssertionError}


@contextlib.contextmanager
def evaluating(layer):
    was = layer.training
    layer.eval()
    try:
        yield layer
    finally:
        if was:
            layer.train()


class Checked(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.part = paddle.nn.Dropout(0.5)

    def forward(self, x):
        with evaluating(self.part) as part:
            y = part(x)
            assert y.sum() < 5, "too large"
        return y * 2


def build():
    return Checked()


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([4.0, 2.0]),)
    yield (paddle.to_tensor([0.0, 2.0]),)
