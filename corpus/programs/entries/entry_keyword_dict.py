"""The entry collects keywords, one of them bound beforehand, and hands them on.

exercises: **kwargs at the entry
rows: 91
"""

import functools

import paddle


def combine(x, **weights):
    out = x
    for name in sorted(weights):
        if out.sum() > 0:
            out = out * weights[name]
        else:
            out = out + weights.get(name, 0)
    return out, len(weights)


def build():
    return functools.partial(combine, a=2.0, b=paddle.to_tensor([0.5, -4.0]))


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
