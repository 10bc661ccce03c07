"""A meter whose attribute counts the trips of a range with a tensor bound.

exercises: for obj.attr in range(tensor); the attribute read in the body and after the loop
rows: 26, 84
"""

from types import SimpleNamespace

import paddle


def measure(x, n):
    state = SimpleNamespace(step=-1)
    for state.step in range(n):
        x = x * 0.5 + state.step
    return x, state.step


def build():
    return measure


def inputs():
    for n in (3, 1, 0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
