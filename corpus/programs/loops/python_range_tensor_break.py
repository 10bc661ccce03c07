"""Power iteration with a fixed number of steps and an early stop.

exercises: break out of a Python range decided by a tensor; the loop variable after it
rows: 39, 40
"""

import paddle


def power(matrix, v, tolerance):
    for step in range(6):
        new = matrix @ v
        new = new / new.norm()
        gap = (new - v).abs().max()
        v = new
        if gap < tolerance:
            break
    return v, gap, step


def build():
    return power


def inputs():
    for tolerance in (9.0, 0.1, 0.0):
        matrix = paddle.to_tensor([[2.0, 0.5], [0.5, 1.0]])
        yield matrix, paddle.to_tensor([0.6, 0.8]), paddle.to_tensor(tolerance)
