"""The index keeps the value from before when there is no trip.

exercises: loop variable bound before the loop and read after zero trips of range(t)
rows: 26, 40
"""

import paddle


def steps(x, n):
    i = 100
    for i in range(n):
        x = x * 0.5
    return x + i, i


def build():
    return steps


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
