"""Gradient scaling by a hook only for large values.

exercises: Tensor.register_hook in a tensor branch
rows: 101
"""

import paddle


def forward(x):
    y = x * x
    if y.sum() > 2:
        y = y * 3
        y.register_hook(lambda grad: grad * 0.1)
    return y * 2


def build():
    return forward


def inputs():
    yield (paddle.to_tensor([0.5, -1.0]),)
    yield (paddle.to_tensor([1.5, 2.0]),)
