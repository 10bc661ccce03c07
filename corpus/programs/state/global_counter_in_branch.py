"""A global Python number that a tensor branch sets.

exercises: global Python float and int assigned in a tensor branch; read afterwards and later on
rows: 53
"""

import paddle

largest = 0.0
hits = 0
OBSERVED = lambda: (largest, hits)  # noqa: E731


def observe(x):
    global largest, hits
    if x.sum() > 0:
        largest = 1.5
        hits += 1
    return x * 2 + largest


def build():
    global largest, hits
    largest, hits = 0.0, 0
    return observe


def inputs():
    for sign in (-1.0, 1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
