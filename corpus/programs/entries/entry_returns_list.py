"""All intermediate activations in a list.

exercises: list result grown in a python loop with a tensor if
rows: 91
"""

import paddle


def activations(x, depth):
    kept = []
    for _ in range(depth):
        x = paddle.tanh(x) if x.max() > 0.5 else x * 2
        kept.append(x)
    return kept


def build():
    return activations


def inputs():
    x = paddle.to_tensor([1.0, 0.1])
    for depth in (0, 1, 3):
        yield x, depth
    yield x * 0.1, 3
