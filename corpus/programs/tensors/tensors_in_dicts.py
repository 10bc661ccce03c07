"""A batch and its named statistics as dicts.

exercises: tensors as dict values in and out; items, get, in, update in a tensor branch
rows: 79
"""

import paddle


def statistics(batch):
    x = batch["x"]
    out = {"mean": x.mean()}
    if out["mean"] > 1:
        out["mean"] = out["mean"] - 1
    for name, value in batch.items():
        out[name + "_sum"] = value.sum()
    weight = batch.get("weight", None)
    if "weight" in batch:
        out["mean"] = out["mean"] * weight
    return out


def build():
    return statistics


def inputs():
    yield ({"x": paddle.to_tensor([1.0, 2.0])},)
    yield ({"x": paddle.to_tensor([0.5, 0.25])},)
    yield ({"x": paddle.to_tensor([1.0, 2.0]), "weight": paddle.to_tensor(3.0)},)
