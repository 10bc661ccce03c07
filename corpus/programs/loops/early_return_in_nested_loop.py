"""The position of the first entry above a bound in a matrix.

exercises: return of one tensor out of two loops over tensors of known lengths
rows: 27, 43
"""

import paddle


def first(matrix, bound):
    for row in matrix:
        for v in row:
            if v > bound:
                return v * 2
        matrix = matrix * 1.5
    return matrix.sum()


def build():
    return first


def inputs():
    for bound in (0.5, 2.5, 3.5, 9.0):
        yield paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), paddle.to_tensor(bound)
