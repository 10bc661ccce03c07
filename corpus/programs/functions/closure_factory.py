"""Activations are made by a factory from a threshold, a Python number or a tensor.

exercises: closure factory; tensor if in the function it makes; two products at once
rows: 54
"""

import paddle


def make_threshold(level, slope):
    def activation(x):
        if x.mean() > level:
            return x
        return x * slope

    return activation


SOFT = make_threshold(0.0, 0.5)


def mix(x, level):
    own = make_threshold(level, 0.1)
    return SOFT(x) + own(x) * 2


def build():
    return mix


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor(1.0)
    yield x, paddle.to_tensor(3.0)
    yield -x, paddle.to_tensor(-3.0)
    yield -x, paddle.to_tensor(3.0)
