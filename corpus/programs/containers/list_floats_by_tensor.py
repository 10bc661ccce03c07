"""A learning rate from a table of Python numbers, chosen by a tensor.

exercises: Python list of floats indexed by an integer tensor
rows: 77
"""

import paddle

RATES = [0.1, 0.01, 0.001]


def update(weight, gradient, epoch):
    return weight - RATES[epoch] * gradient


def build():
    return update


def inputs():
    for epoch in (0, 1, 2, -1):
        yield paddle.ones([2]), paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(epoch)
