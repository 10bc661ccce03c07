"""An LSTM-like cell whose state is a namedtuple, in and out.

exercises: namedtuple as argument and result; _replace
rows: 82
"""

from typing import NamedTuple

import paddle


class State(NamedTuple):
    h: paddle.Tensor
    c: paddle.Tensor


def cell(x, state):
    c = state.c * 0.5 + paddle.tanh(x + state.h)
    if c.abs().max() > 1:
        state = state._replace(c=c / c.abs().max())
    else:
        state = State(h=state.h, c=c)
    h = paddle.tanh(state.c)
    return h, state._replace(h=h)


def build():
    return cell


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    yield x, State(x * 0.1, x)
    yield x * 0.1, State(x * 0.1, x * 0.1)
