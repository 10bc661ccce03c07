"""A carried state that a branch resets to None and later code starts anew.

exercises: tensor rebound to None in a branch; ternary on is None
rows: 4
"""

import paddle


def step(x, hidden, reset):
    if reset > 0:
        hidden = None
    start = paddle.zeros_like(x) if hidden is None else hidden * 0.5
    return paddle.tanh(start + x)


def build():
    return step


def inputs():
    x, hidden = paddle.to_tensor([0.5, -1.0]), paddle.to_tensor([1.0, 2.0])
    yield x, hidden, paddle.to_tensor(0)
    yield x, hidden, paddle.to_tensor(1)
    yield x, None, paddle.to_tensor(0)
