"""A line search whose objective is a closure over variables that the search changes.

exercises: nested function; nonlocal assigned in a tensor branch; lambda with a ternary; closure
    read late
rows: 50, 52, 53
"""

import paddle


def line_search(x, direction):
    step = 1.0
    best = x
    shrunk = paddle.zeros([], "int64")

    def objective(p):
        return (p * p).sum() + step * 0.01

    def attempt():
        nonlocal best, shrunk
        candidate = x + step * direction
        if objective(candidate) < objective(best):
            best = candidate
        else:
            shrunk = shrunk + 1

    shorten = lambda s: s * 0.5 if best.sum() > 0 else s * 0.25  # noqa: E731
    for _ in range(3):
        attempt()
        step = shorten(step)
    return best, shrunk


def build():
    return line_search


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor([-1.0, -1.0])
    yield x, paddle.to_tensor([4.0, 4.0])
    yield -x, paddle.to_tensor([1.0, 5.0])
