"""Apply a layer's worth of damping a given number of times.

exercises: range with one tensor bound; the loop variable used in the body
rows: 26
"""

import paddle


def damp(x, n):
    for i in range(n):
        x = x * 0.9 + i
    return x


def build():
    return damp


def inputs():
    for n in (3, 1, 0, -2):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(n)
