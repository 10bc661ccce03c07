"""A size function by duck typing.

exercises: hasattr and getattr on a tensor; callable; len of tensor, list and dict
rows: 66, 67
"""

import paddle


def size_of(thing):
    if hasattr(thing, "shape"):
        return thing.shape[0]
    return len(thing)


def measure(x, names):
    n = size_of(x) + size_of(names)
    dtype = getattr(x, "dtype", None)
    missing = getattr(x, "no_such_thing", None)
    if x.max() > 1:
        x = x / n
    return x, n, len(x), len({"a": x}), dtype == paddle.float32, missing is None, callable(x.sum)


def build():
    return measure


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), ["a", "b", "c"]
    yield paddle.to_tensor([0.1, 0.2]), ["a", "b", "c"]
