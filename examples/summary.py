"""A program that says nothing of d2s: ``d2s run examples/summary.py`` shows what becomes of it.

One function is one program for each kind of input, the other one is two programs with Python
between them.
"""

import paddle
from paddle.jit import to_static


@to_static
def halve(x):
    while x.abs().max() > 1:
        x = x / 2
    return x


@to_static
def split(x):
    y = x * 2
    text = y.numpy().tobytes()
    return y + len(text) if y.sum() > 0 else y


for size in (1, 2, 3):
    halve(paddle.full([size], 100.0))
    split(paddle.ones([size]))
