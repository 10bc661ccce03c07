"""The index of a loop that may have no trip at all.

exercises: loop variable of range(t) read after zero trips; UnboundLocalError
rows: 25, 40
"""

import paddle

RAISES = {1: UnboundLocalError}


def last_step(x, n):
    for step in range(n):
        x = x * 0.5
    return x * step


def build():
    return last_step


def inputs():
    for n in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
