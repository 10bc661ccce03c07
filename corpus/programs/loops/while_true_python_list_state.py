"""Rotate a Python list of scales until the product with the signal is large.

exercises: while True with a tensor break; a Python list changed by pop and append in each trip
rows: 19, 32
"""

import paddle


def rotate(x, bound):
    scales = [1.5, 0.9, 2.0]
    while True:
        scale = scales.pop(0)
        scales.append(scale)
        x = x * scale
        if x.sum() > bound:
            break
    return x


def build():
    return rotate


def inputs():
    for bound in (1.0, 5.0, 40.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(bound)
