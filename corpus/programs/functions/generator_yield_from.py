"""A generator hands over to another one and uses what that one returns.

exercises: yield from; return value of a generator; tensor if in both
rows: 57
"""

import paddle


def halves(x):
    yield x[:1]
    yield x[1:] if x.sum() > 0 else x[1:] * 2
    return x.sum()


def walk(x):
    total = yield from halves(x)
    if total > 2:
        total = total / 2
    yield total.reshape([1])


def joined(x):
    return paddle.concat(list(walk(x)))


def build():
    return joined


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.1,)
