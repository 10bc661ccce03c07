"""A warm-up schedule from a generator drives the steps.

exercises: generator of Python values consumed by a for with a tensor break
rows: 32
"""

import paddle


def schedule(peak):
    rate = 0.1
    while rate < peak:
        yield rate
        rate = rate * 2
    yield peak


def train(x, bound):
    used = 0
    for rate in schedule(0.5):
        x = x - rate * x
        used += 1
        if x.sum() < bound:
            break
    return x, used


def build():
    return train


def inputs():
    for bound in (9.0, 1.0, 0.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(bound)
