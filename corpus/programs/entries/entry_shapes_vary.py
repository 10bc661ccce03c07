"""One function serves vectors of many lengths and a matrix.

exercises: same entry with other lengths, another rank and another dtype
rows: 91
"""

import paddle


def centre(x):
    mean = x.mean()
    if mean > 1:
        x = x - mean
    else:
        x = x * x.shape[0]
    return x, x.shape[-1]


def build():
    return centre


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 4.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, 4.0, 0.0]),)
    yield (paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]),)
    yield (paddle.to_tensor([1.0, 2.0], "float64"),)
