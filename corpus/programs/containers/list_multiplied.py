"""A delay line of fixed length, filled with the first value.

exercises: list * int; item assigned in a tensor loop by the trip modulo the length
rows: 76
"""

import paddle


def delay(x, steps):
    line = [x] * 3
    out = x
    for t in range(steps):
        out = line[t % 3]
        line[t % 3] = out + x
    return out, line


def build():
    return delay


def inputs():
    for steps in (5, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
