"""Features are joined in the order in which the caller's dict has them.

exercises: dict arguments with the same keys in another order
rows: 91
"""

import paddle


def join(features):
    parts = []
    for name, x in features.items():
        parts.append(x * 2 if name == "first" or x.sum() > 4 else x)
    return paddle.concat(parts), list(features)


def build():
    return join


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ({"first": x, "second": x * 3},)
    yield ({"second": x * 3, "first": x},)
