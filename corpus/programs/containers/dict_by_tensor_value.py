"""A table of Python values with the int of a tensor as key.

exercises: dict lookup by int(tensor); membership; get with a default
rows: 77
"""

import paddle

COSTS = {0: 0.5, 1: 2.0, 3: 4.0}


def cost(x, kind):
    key = int(kind)
    if key in COSTS:
        return x * COSTS[key]
    return x * COSTS.get(key, 100.0)


def build():
    return cost


def inputs():
    for kind in (0, 3, 2, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(kind)
