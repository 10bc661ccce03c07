"""Optimiser state in a dict: the moment is reset when the gradient is large.

exercises: item of an existing key assigned on one side and on both sides of a tensor branch
rows: 79
"""

import paddle


def step(gradient, bound):
    state = {"moment": gradient * 0.9, "scale": paddle.ones([])}
    if gradient.abs().max() > bound:
        state["moment"] = paddle.zeros_like(gradient)
        state["scale"] = state["scale"] * 0.5
    else:
        state["scale"] = state["scale"] + gradient.sum()
    return state, state["moment"] * state["scale"]


def build():
    return step


def inputs():
    g = paddle.to_tensor([1.0, -2.0])
    for bound in (1.0, 3.0):
        yield g, paddle.to_tensor(bound)
