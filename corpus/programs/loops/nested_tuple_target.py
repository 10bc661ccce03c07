"""Edges of a graph with a weight and a pair of ends.

exercises: for name, ((a, b), w) in a list, with a tensor branch
rows: 31, 82
"""

import paddle


def energy(edges, bound):
    total = paddle.zeros([])
    for name, ((a, b), w) in edges:
        gap = (a - b).abs()
        if gap > bound:
            gap = bound
        total = total + w * gap * len(name)
    return total


def build():
    return energy


def inputs():
    for x, y in ((1.0, 2.0), (1.0, 9.0), (9.0, 1.0)):
        a, b, w = paddle.to_tensor(x), paddle.to_tensor(y), paddle.to_tensor(0.5)
        yield [("ab", ((a, b), w)), ("loop", ((b, b), a))], paddle.to_tensor(3.0)
