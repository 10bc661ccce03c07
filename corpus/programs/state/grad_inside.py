"""A gradient penalty: the norm of a gradient that is computed inside.

exercises: paddle.grad inside of the function; result used in a tensor branch
rows: 100
"""

import paddle

GRAD = False  # dygraph's second derivatives are not what is under test


def penalty(x):
    x.stop_gradient = False
    y = (x**3).sum()
    (gradient,) = paddle.grad([y], [x])
    norm = (gradient * gradient).sum().sqrt()
    if norm > 5:
        return norm - 5
    return norm * 0


def build():
    return penalty


def inputs():
    yield (paddle.to_tensor([0.5, 0.5]),)
    yield (paddle.to_tensor([2.0, 0.5]),)
