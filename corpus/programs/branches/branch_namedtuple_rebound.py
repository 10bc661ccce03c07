"""An optimiser state in a namedtuple, replaced in a branch.

exercises: namedtuple rebound in a branch; _replace; fields read afterwards
rows: 82
"""

from collections import namedtuple

import paddle

State = namedtuple("State", "value rate skipped")


def update(value, grad, rate):
    state = State(value, rate, 0)
    if grad.abs().max() < 10:
        state = State(value - rate * grad, rate, state.skipped)
    else:
        state = state._replace(rate=rate / 2, skipped=state.skipped + 1)
    return state, state.value * state.rate


def build():
    return update


def inputs():
    value, rate = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(0.5)
    for grad in ([1.0, -1.0], [20.0, 0.0], [2.0, 3.0]):
        yield value, paddle.to_tensor(grad), rate
