"""A list of parts is replaced by a comprehension over itself in a branch.

exercises: list rebound to a comprehension in one branch; generator over it afterwards
rows: 48, 78
"""

import paddle


def energy(parts):
    if sum(parts).sum() > 3:
        parts = [p * 0.5 for p in parts]
    return sum(p * p for p in parts)


def build():
    return energy


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 0.5), (4.0, -2.0)):
        yield ([paddle.to_tensor([a, 1.0]), paddle.to_tensor([b, 0.5])],)
