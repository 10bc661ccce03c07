"""State of a cell as a namedtuple, chosen by a gate.

exercises: namedtuple made on both sides of a branch; fields and unpacking afterwards
rows: 82
"""

from collections import namedtuple

import paddle

State = namedtuple("State", ["hidden", "cell"])


def gate(x, state):
    if x.sum() > 0:
        state = State(state.hidden + x, state.cell)
    else:
        state = State(hidden=state.cell, cell=x)
    hidden, cell = state
    return state, hidden * cell


def build():
    return gate


def inputs():
    for sign in (1.0, -1.0):
        x = paddle.to_tensor([1.0, 2.0])
        yield x * sign, State(x * 3, x + 1)
