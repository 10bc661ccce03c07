"""States and costs recorded as pairs while a loop goes on.

exercises: tuples appended in a tensor loop; zip(*pairs); unpacking in a loop over the list
rows: 74, 76
"""

import paddle


def recorded(x, bound):
    pairs = []
    while x.sum() < bound:
        pairs.append((x, x.sum()))
        x = x * 2
    total = paddle.zeros([])
    for state, cost in pairs:
        total = total + cost * state[0]
    return total, pairs


def build():
    return recorded


def inputs():
    for bound in (10.0, 0.5, 3.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(bound)
