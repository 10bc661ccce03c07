"""A residual block whose activation is a lambda in its default argument.

exercises: lambda with a tensor ternary as default; the default and another one used
rows: 50
"""

import paddle


def residual(x, activation=lambda t: t * 2 if t.mean() > 0 else t * 0.5):
    return x + activation(x)


def network(x):
    x = residual(x)
    x = residual(x, lambda t: t - 1 if t.max() > 2 else t)
    return residual(-x)


def build():
    return network


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.1,)
