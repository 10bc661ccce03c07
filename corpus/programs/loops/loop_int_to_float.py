"""A Python int that the body divides.

exercises: loop variable that is an int before the loop and a float after the first trip
rows: 23
"""

import paddle


def weaken(x, n):
    weight = 1
    total = x * 0
    for _ in range(n):
        total = total + x * weight
        weight = weight / 2
    return total


def build():
    return weaken


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
