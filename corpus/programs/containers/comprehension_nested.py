"""A matrix of pairwise distances by nested comprehensions.

exercises: comprehension in a comprehension; two for clauses; ternary inside
rows: 48, 49
"""

import paddle


def distances(points):
    table = [[a - b if a > b else b - a for b in points] for a in points]
    pairs = [a * b for i, a in enumerate(points) for b in points[i + 1 :]]
    return paddle.stack([paddle.stack(row) for row in table]), pairs


def build():
    return distances


def inputs():
    for values in ([1.0, 3.0, 2.0], [3.0, 2.0, 1.0]):
        yield ([paddle.to_tensor(v) for v in values],)
