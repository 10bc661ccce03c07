"""The last gradient of a descent that may have nothing to do.

exercises: name first bound in a tensor while and read after it; zero trips raise
    UnboundLocalError
rows: 17, 25
"""

import paddle

RAISES = {2: UnboundLocalError}


def descend(x, bound):
    while (x * x).sum() > bound:
        gradient = x * 2
        x = x - 0.2 * gradient
    return x, gradient


def build():
    return descend


def inputs():
    for bound in (1.0, 3.0, 99.0):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(bound)
