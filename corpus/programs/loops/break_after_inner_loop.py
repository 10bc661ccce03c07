"""Stop the outer loop when the inner one has made the sum too large.

exercises: tensor break of the outer loop after a complete inner tensor loop; known lengths
rows: 27, 37, 38
"""

import paddle


def rows_until(matrix, bound):
    total = paddle.zeros([])
    used = 0
    for row in matrix:
        for v in row:
            total = total + v * v
        used += 1
        if total > bound:
            break
    return total, used


def build():
    return rows_until


def inputs():
    for bound in (0.5, 6.0, 99.0):
        yield paddle.to_tensor([[1.0, 2.0], [1.0, 0.5], [3.0, 0.0]]), paddle.to_tensor(bound)
