"""A step that is dropped when its result is bad.

exercises: contextlib.suppress of a raise that a tensor decides
rows: 60, 63
"""

import contextlib

import paddle


def step(x, gradient):
    moved = x
    with contextlib.suppress(ArithmeticError):
        candidate = x - gradient
        if candidate.abs().max() > 10:
            raise ArithmeticError("diverged")
        moved = candidate
    return moved * 2


def build():
    return step


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor([0.5, 0.5])
    yield x, paddle.to_tensor([50.0, 0.5])
