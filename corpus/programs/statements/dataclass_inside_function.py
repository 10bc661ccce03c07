"""A state record, defined and changed within the function.

exercises: dataclass defined inside; fields set in a tensor branch; returned
rows: 83
"""

from dataclasses import dataclass

import paddle


def run_state(x):
    @dataclass
    class State:
        total: paddle.Tensor
        count: int = 0

    state = State(x * 0)
    for i in range(3):
        state.total = state.total + x * i
        if state.total.sum() > 4:
            state.total = state.total / 2
        state.count += 1
    return state.total, state.count


def build():
    return run_state


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 0.5]),)
