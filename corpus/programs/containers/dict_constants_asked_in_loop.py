"""A dict of switches beside the state, asked with `is True` in a tensor loop.

exercises: Python constants in a dict that a tensor loop changes elsewhere
rows: 81
"""

import paddle

GRAD = False  # whole numbers


def walk(n):
    state = {"double": True, "value": paddle.ones([], "int64")}
    for _ in range(n):
        if state["double"] is True:
            state["value"] = state["value"] * 2
        else:
            state["value"] = state["value"] - 100
    return state["value"]


def build():
    return walk


def inputs():
    for n in (3, 0, 1):
        yield (paddle.to_tensor(n),)
