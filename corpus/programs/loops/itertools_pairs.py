"""Repulsion between all pairs, and a chain of two lists.

exercises: itertools.combinations, chain, islice and product with tensors; tensor break
rows: 31, 32, 39
"""

import itertools

import paddle


def repulsion(points, extra, bound):
    total = paddle.zeros([])
    for a, b in itertools.combinations(points, 2):
        gap = (a - b).abs().sum()
        if gap > bound:
            continue
        total = total + 1 / (gap + 1)
    for p in itertools.islice(itertools.chain(points, extra), 1, 4):
        total = total + p.sum()
        if total > bound:
            break
    for k, p in itertools.product(range(2), extra):
        total = total + k * p.sum()
    return total


def build():
    return repulsion


def inputs():
    for bound in (0.5, 2.5, 99.0):
        points = [paddle.to_tensor([v, 0.5 * v]) for v in (0.0, 1.0, 3.0)]
        yield points, [paddle.to_tensor([0.5, -1.0])], paddle.to_tensor(bound)
