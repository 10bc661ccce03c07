"""The first root of a function on a grid, refined by bisection; None when there is none.

exercises: return from inside a tensor loop; None on one path; return from a nested loop
rows: 4, 43, 45
"""

import paddle


def bisect(low, high, shift):
    for _ in range(8):
        middle = (low + high) / 2
        value = middle * middle - shift
        if paddle.abs(value) < 1e-3:
            return middle
        if value < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def first_root(grid, shift):
    i = paddle.zeros([], "int64")
    while i < grid.shape[0] - 1:
        low, high = grid[i], grid[i + 1]
        if (low * low - shift) * (high * high - shift) <= 0:
            return bisect(low, high, shift)
        i = i + 1
    return None


def build():
    return first_root


def inputs():
    grid = paddle.to_tensor([0.0, 1.0, 2.0, 3.0])
    for shift in (0.5, 2.25, 4.0, 50.0, 7.0):
        yield grid, paddle.to_tensor(shift)
