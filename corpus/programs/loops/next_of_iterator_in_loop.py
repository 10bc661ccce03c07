"""Take learning rates from a schedule until the value is small.

exercises: next() of a list iterator in a loop with a tensor break
rows: 32
"""

import paddle


def descend(x, bound):
    rates = iter([0.1, 0.2, 0.4])
    for _ in range(3):
        x = x - next(rates) * x
        if x.abs().max() < bound:
            break
    return x


def build():
    return descend


def inputs():
    for bound in (9.0, 0.75, 0.0):
        yield paddle.to_tensor([1.0, -0.5]), paddle.to_tensor(bound)
