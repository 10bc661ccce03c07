"""The sum and the largest of the entries above a bound.

exercises: sum and max of a generator expression with a tensor filter over a tensor
rows: 15, 49
"""

import paddle


def above(x, bound):
    return sum(v for v in x if v > bound), max(v * 2 for v in x)


def build():
    return above


def inputs():
    for bound in (0.5, 2.5):
        yield paddle.to_tensor([1.0, 3.0, 2.0]), paddle.to_tensor(bound)
