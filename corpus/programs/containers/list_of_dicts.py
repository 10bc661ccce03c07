"""A log of dicts, one for each step of a descent.

exercises: dicts appended in a tensor loop; comprehension over the list of dicts
rows: 74, 76
"""

import paddle


def descend(x, tolerance):
    log = []
    while x.abs().sum() > tolerance:
        log.append({"x": x, "loss": (x * x).sum()})
        x = x * 0.5
    losses = [entry["loss"] for entry in log]
    return x, losses, log


def build():
    return descend


def inputs():
    for tolerance in (1.0, 9.0, 2.0):
        yield paddle.to_tensor([2.0, -1.0]), paddle.to_tensor(tolerance)
