"""An inner function keeps the best candidate in its enclosing function.

exercises: nonlocal assigned in a tensor if; a Python flag and tensors
rows: 53
"""

import paddle


def best_of(x, moves):
    best, loss = x, (x * x).sum()
    improved = paddle.zeros([], "int64")

    def consider(candidate):
        nonlocal best, loss, improved
        value = (candidate * candidate).sum()
        if value < loss:
            best, loss = candidate, value
            improved = improved + 1

    for move in moves:
        consider(x + move)
    return best, loss, improved


def build():
    return best_of


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, [x, x * 2]
    yield x, [-x * 0.5, -x]
    yield x, [x, -x * 0.5]
