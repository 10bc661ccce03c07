"""The smallest change in place: one name, one call.

exercises: in-place method whose result is not used
rows: 88
"""

import paddle


def shifted(x):
    y = x * 2
    y.add_(paddle.to_tensor([1.0, 1.0]))
    return y


def build():
    return shifted


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
