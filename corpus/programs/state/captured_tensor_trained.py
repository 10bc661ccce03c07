"""A parameter outside of any layer gets its gradient from a converted function.

exercises: captured tensor with gradient; its grad and its update between calls
rows: 98
"""

import paddle

weight = paddle.to_tensor([0.5, -0.5], stop_gradient=False)


def OBSERVED():
    grad = weight.grad
    return None if grad is None else grad.clone(), weight.detach()


def loss(x):
    out = x * weight
    if out.sum() > 0:
        out = out * weight
    return out


def BEFORE(index):
    if weight.grad is not None:
        weight.set_value((weight - 0.1 * weight.grad).detach())
        weight.clear_gradient(False)


def build():
    weight.clear_gradient(False)
    weight.set_value(paddle.to_tensor([0.5, -0.5]))
    return loss


def inputs():
    for value in (4.0, -2.0, 1.0):
        yield (paddle.to_tensor([value, 0.25]),)
