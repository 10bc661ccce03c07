"""The converted function is a functools.partial that binds a number and a tensor.

exercises: functools.partial with positional and keyword binding as the entry
rows: 93
"""

import functools

import paddle


def gate(level, x, *, scale, shift=0.0):
    if x.sum() > level:
        return x * scale
    return x + shift


def build():
    return functools.partial(gate, 1.0, scale=paddle.to_tensor(3.0), shift=-1)


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
