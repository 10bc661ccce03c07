"""Powers of a matrix from a generator, summed until they are small.

exercises: generator that yields tensors, consumed by a for with a tensor break and continue
rows: 32
"""

import paddle


def powers(matrix, count):
    term = paddle.eye(2)
    for k in range(count):
        yield k, term
        term = term @ matrix


def series(matrix, bound):
    total = paddle.zeros([2, 2])
    for k, term in powers(matrix, 4):
        size = term.abs().max()
        if size > 3:
            continue
        total = total + term / (k + 1)
        if size < bound:
            break
    return total


def build():
    return series


def inputs():
    for scale, bound in ((0.5, 0.0), (0.5, 0.3), (0.5, 9.0), (4.0, 0.0)):
        yield paddle.to_tensor([[scale, 0.1], [0.0, scale]]), paddle.to_tensor(bound)
