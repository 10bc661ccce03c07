"""Cumulative sums written into a copy.

exercises: x[i] = ... in a range with a tensor bound; x[i] += ...
rows: 26, 87
"""

import paddle


def cumulate(x, n):
    y = x.clone()
    for i in range(1, n):
        y[i] = y[i - 1] + x[i] * 0.5
    for i in range(n):
        y[i] += 1
    return y


def build():
    return cumulate


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0, 3.0, -4.0]), paddle.to_tensor(n)
