"""Sum the squares of the entries that a mask selects.

exercises: for over the rows of paddle.nonzero; for over a masked tensor
rows: 27, 90
"""

import paddle


def masked_energy(x, bound):
    total = paddle.zeros([])
    for index in paddle.nonzero(x > bound):
        total = total + x[index[0]] ** 2
    for v in x[x > bound]:
        total = total * 0.5 + v
    return total


def build():
    return masked_energy


def inputs():
    for bound in (0.0, 2.5, 9.0):
        yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor(bound)
