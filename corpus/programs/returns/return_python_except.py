"""A lookup in a table of activations with a default, and a condition inside the try.

exercises: return in try under a tensor if; return in except of a Python exception
rows: 46, 58
"""

import paddle

TABLE = {"tanh": paddle.tanh, "relu": paddle.nn.functional.relu}


def activate(name, x):
    try:
        fn = TABLE[name]
        if x.abs().max() > 3:
            return fn(x / 3)
        return fn(x)
    except KeyError:
        return x * 0.5


def build():
    return activate


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for name in ("tanh", "relu", "gelu"):
        yield name, x
        yield name, x * 3
