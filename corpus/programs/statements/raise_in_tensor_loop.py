"""A solver that gives up after too many steps.

exercises: raise inside a tensor while loop; raise inside for over a tensor
rows: 59
"""

import paddle

RAISES = {2: RuntimeError, 3: ValueError}


def solve(x, weights):
    steps = 0
    while x > 1:
        x = x / 2
        steps += 1
        if steps > 4:
            raise RuntimeError("no convergence")
    for w in weights:
        if w < 0:
            raise ValueError("negative weight")
        x = x * w
    return x, steps


def build():
    return solve


def inputs():
    good = paddle.to_tensor([1.0, 2.0])
    yield paddle.to_tensor(0.5), good
    yield paddle.to_tensor(5.0), good
    yield paddle.to_tensor(500.0), good
    yield paddle.to_tensor(5.0), -good
