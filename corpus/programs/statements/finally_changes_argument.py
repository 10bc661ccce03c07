"""A record that is completed however the function ends.

exercises: finally adds a key to a dict argument; the caller sees it
rows: 46, 58
"""

import paddle


def recorded(x, record):
    try:
        if x.sum() > 5:
            return x * 100
        y = x * record["scale"]
    finally:
        record["seen"] = True
        record["scale"] = record["scale"] + 1
    return y


def build():
    return recorded


def inputs():
    yield paddle.to_tensor([4.0, 3.0]), {"scale": 2.0}
    yield paddle.to_tensor([1.0, 2.0]), {"scale": 2.0}
