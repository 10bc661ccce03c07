"""Two steps of a descent inside of the function, which the gradient goes through.

exercises: paddle.grad twice, with create_graph; gradient of the result
rows: 100
"""

import paddle


def adapted(x, weight):
    for _ in range(2):
        (gradient,) = paddle.grad((x * x * weight).sum(), x, create_graph=True)
        x = x - 0.1 * gradient * gradient
    return x * weight


def build():
    return adapted


def inputs():
    for sign in (1.0, -1.0):
        yield paddle.to_tensor([0.5, 1.0, 0.75]) * sign, paddle.to_tensor([0.9, -0.8, 0.6])
