"""A batch's mask is consumed by either side of the branch.

exercises: pop(key) on both sides of a tensor branch; pop with a default
rows: 80
"""

import paddle


def masked(x):
    batch = {"x": x, "mask": paddle.to_tensor([1.0, 0.0])}
    if x.sum() > 0:
        batch["x"] = batch["x"] * batch.pop("mask")
    else:
        batch["x"] = batch["x"] - batch.pop("mask")
    batch["weight"] = batch.pop("weight", x * 3)
    return batch


def build():
    return masked


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
