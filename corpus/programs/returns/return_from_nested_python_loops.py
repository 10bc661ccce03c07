"""The position of the first cell of a grid that is over a threshold.

exercises: return on a tensor condition in a range inside a range; Python indices are returned
rows: 43
"""

import paddle


def first_over(grid, bound):
    seen = paddle.zeros([])
    for row in range(grid.shape[0]):
        for column in range(grid.shape[1]):
            if grid[row, column] > bound:
                return row, column, seen
            seen = seen + grid[row, column]
    return -1, -1, seen


def build():
    return first_over


def inputs():
    grid = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    for bound in (0.5, 1.5, 3.5, 9.0):
        yield grid, paddle.to_tensor(bound)
