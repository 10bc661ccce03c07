"""A record of the caller gets a new entry.

exercises: a key added to a dict argument at top level, with a number and with a tensor
rows: 79
"""

import paddle


def recorded(x, record):
    record["seen"] = True
    record["mean"] = x.mean()
    if x.sum() > 3:
        return x * record["scale"]
    return x - record["mean"]


def build():
    return recorded


def inputs():
    yield paddle.to_tensor([4.0, 3.0]), {"scale": 2.0}
    yield paddle.to_tensor([1.0, 1.0]), {"scale": 2.0}
