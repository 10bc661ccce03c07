"""Powers of a value up to a degree that is a tensor.

exercises: list comprehension over range of a tensor; sum of it
rows: 49
"""

import paddle


def polynomial(x, degree):
    powers = [x**k for k in range(degree)]
    return sum(powers), powers


def build():
    return polynomial


def inputs():
    for degree in (3, 1, 2):
        yield paddle.to_tensor([2.0, 0.5]), paddle.to_tensor(degree)
