"""An exponential moving average over the entries of a vector.

exercises: for over a tensor of known length
rows: 27
"""

import paddle


def smooth(values, alpha):
    mean = values[0]
    for v in values:
        mean = alpha * v + (1 - alpha) * mean
    return mean


def build():
    return smooth


def inputs():
    yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor(0.5)
    yield paddle.to_tensor([3.0, 0.0, -3.0]), paddle.to_tensor(0.1)
    yield paddle.to_tensor([2.0]), paddle.to_tensor(0.5)
