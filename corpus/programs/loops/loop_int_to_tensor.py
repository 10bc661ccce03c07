"""A sum that starts as the number 0 and becomes a tensor.

exercises: loop variable that is the int 0 before the loop and a float tensor after one trip
rows: 23
"""

import paddle


def energy(x, n):
    total = 0
    for i in range(n):
        total = total + (x * x).sum()
        x = x * 0.5
    return x + total


def build():
    return energy


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
