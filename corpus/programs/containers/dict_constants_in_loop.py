"""A decoder's cache with flags and sizes beside its tensors.

exercises: dict with bool, str, None and int constants carried through a tensor loop; `is True`
rows: 81
"""

import paddle


def decode(x, steps):
    cache = {"static": True, "name": "self", "bias": None, "heads": 2, "key": x}
    for _ in range(steps):
        if cache["static"] is True and cache["bias"] is None:
            cache["key"] = cache["key"] * cache["heads"]
        if cache["name"] == "self":
            cache["key"] = cache["key"] + 1
    return cache


def build():
    return decode


def inputs():
    for steps in (2, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
