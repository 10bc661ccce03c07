"""A model's outputs in a dict, with tensors, a number and text.

exercises: dict result; values assigned in a tensor branch
rows: 91
"""

import paddle


def analyse(x):
    out = {"mean": x.mean(), "size": x.shape[0], "kind": "vector"}
    if x.std() > 1:
        out["scaled"] = x / x.std()
    else:
        out["scaled"] = x
    return out


def build():
    return analyse


def inputs():
    x = paddle.to_tensor([1.0, 4.0])
    yield (x,)
    yield (x * 0.1,)
