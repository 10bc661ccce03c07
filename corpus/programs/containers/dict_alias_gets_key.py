"""A dict gets a key in a branch, and is read through another name.

exercises: key added in a tensor branch, read through an alias
rows: 80
"""

import paddle


def settings(x):
    options = {"scale": x * 2}
    chosen = options
    if x.mean() > 0:
        options["shift"] = x + 1
    if "shift" in chosen:
        return chosen["scale"] + chosen["shift"]
    return chosen["scale"]


def build():
    return settings


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
