"""A flag in a dict that the first trip of a tensor loop takes back.

exercises: bool item of a dict assigned in a tensor loop and tested there
rows: 81
"""

import paddle


def warmed(x, steps):
    state = {"first": True, "count": 0, "value": x}
    for _ in range(steps):
        if state["first"]:
            state["value"] = state["value"] * 0.5
            state["first"] = False
        else:
            state["value"] = state["value"] + 1
        state["count"] += 1
    return state


def build():
    return warmed


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
