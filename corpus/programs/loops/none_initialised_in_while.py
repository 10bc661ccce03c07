"""A momentum that is None until the first step.

exercises: None before a tensor while, a tensor after one trip; is None in the body; zero trips
rows: 17, 24
"""

import paddle


def descend(x, bound):
    momentum = None
    while (x * x).sum() > bound:
        if momentum is None:
            momentum = x
        else:
            momentum = 0.5 * momentum + x
        x = x - 0.3 * momentum
    if momentum is None:
        return x * 100
    return x + momentum


def build():
    return descend


def inputs():
    for bound in (99.0, 3.0, 0.5):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(bound)
