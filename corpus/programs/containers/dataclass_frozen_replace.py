"""An immutable state that is replaced, not changed.

exercises: frozen dataclass with dataclasses.replace in a branch and in a tensor loop
rows: 83
"""

import dataclasses

import paddle


@dataclasses.dataclass(frozen=True)
class State:
    x: paddle.Tensor
    step: paddle.Tensor
    kind: str = "euler"


def integrate(x, end):
    state = State(x, paddle.to_tensor(0.5))
    while state.x.sum() < end:
        state = dataclasses.replace(state, x=state.x + state.step)
        if state.x.max() > 2:
            state = dataclasses.replace(state, step=state.step * 0.75)
    return state


def build():
    return integrate


def inputs():
    for end in (6.0, 0.0, 2.0):
        yield paddle.to_tensor([0.5, 1.0]), paddle.to_tensor(end)
