"""The entry has keyword-only parameters, with a default and bound beforehand.

exercises: keyword-only parameters at the entry
rows: 91
"""

import functools

import paddle


def clip(x, *, low=-1.0, high, soft=False):
    if x.max() > high:
        x = x * high / x.max() if soft else x * 0 + high
    return x if x.min() > low else x - low


def build():
    return functools.partial(clip, high=paddle.to_tensor(1.5))


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for scale in (1.0, 0.1, -1.0):
        yield (x * scale,)
