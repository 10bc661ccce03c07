"""Newton's square root that counts its steps in the condition.

exercises: walrus on both sides of an and in the condition of a while
rows: 21
"""

import paddle


def root(a, x):
    n = 0
    while (gap := (x * x - a).abs()) > 1e-3 and (n := n + 1) < 5:
        x = (x + a / x) * 0.5
    return x, gap, n


def build():
    return root


def inputs():
    for start in (2.0, 2.1, 1.0, 500.0):
        yield paddle.to_tensor(4.0), paddle.to_tensor(start)
