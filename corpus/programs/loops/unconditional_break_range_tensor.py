"""One step if any is allowed.

exercises: break without a condition in a for over range(t); the variable read after it
rows: 26, 37
"""

import paddle


def one_step(x, n):
    i = -1
    for i in range(n):
        x = x * 0.5
        break
    return x, i


def build():
    return one_step


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
