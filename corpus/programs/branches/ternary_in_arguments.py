"""Ternaries as positional, keyword and starred arguments, in a list and in an f-string.

exercises: ternary in call arguments; in a list; in a dict; in a subscript
rows: 9
"""

import paddle


def blend(a, b, weight=1.0, *, shift=0.0):
    return a * weight + b * (1 - weight) + shift


def mixed(x, y, t):
    first = blend(
        x if t > 0 else y, y, weight=t if t < 1 else t / t, shift=0.0 if t > 0 else x.max()
    )
    both = paddle.stack([x if t > 0 else y, (x * y) if t > 1 else x])
    named = {"pick": x if t > 1 else y}
    return first, both, named, x[0 if t > 0 else 1]


def build():
    return mixed


def inputs():
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 5.0])
    for t in (0.5, 2.0, -1.0):
        yield x, y, paddle.to_tensor(t)
