"""The rank of the first tensor above a bound, counted from one.

exercises: enumerate(list, start=1) with a tensor break; the index after the loop
rows: 28, 39, 40
"""

import paddle


def rank(parts, bound):
    for place, part in enumerate(parts, start=1):
        if part.max() > bound:
            break
    return place, part * place


def build():
    return rank


def inputs():
    for bound in (0.5, 1.5, 2.5, 9.0):
        yield [paddle.to_tensor([v, 0.0]) for v in (1.0, 2.0, 3.0)], paddle.to_tensor(bound)
