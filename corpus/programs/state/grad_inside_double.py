"""A gradient penalty that is differentiated again.

exercises: paddle.grad with create_graph; gradient of the gradient
rows: 100
"""

import paddle


def penalty(x):
    y = (x**3).sum()
    (gradient,) = paddle.grad([y], [x], create_graph=True)
    return (gradient * gradient).sum()


def build():
    return penalty


def inputs():
    yield (paddle.to_tensor([0.5, 0.5]),)
    yield (paddle.to_tensor([2.0, 0.5]),)
