"""The message of a check that a tensor failed, given back to the caller.

exercises: exception variable of a raise in a tensor branch; its text returned
rows: 60
"""

import paddle


def attempt(x):
    problem = "none"
    try:
        if x.max() > 10:
            raise ValueError("too large")
        if x.min() < 0:
            raise ValueError("too small")
        x = x + 1
    except ValueError as error:
        problem = str(error)
    return x, problem


def build():
    return attempt


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, 20.0]),)
