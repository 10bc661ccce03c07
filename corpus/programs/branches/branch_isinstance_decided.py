"""Only one branch turns the number into a tensor; isinstance tells which way was taken.

exercises: isinstance of a name that is a float on one path and a tensor on the other
rows: 68
"""

import paddle


def scale_of(x, adaptive):
    scale = 2.0
    if adaptive > 0:
        scale = x.abs().max()
    if isinstance(scale, paddle.Tensor):
        return x / scale
    return x * scale


def build():
    return scale_of


def inputs():
    x = paddle.to_tensor([1.0, -4.0])
    for adaptive in (1, 0, 2):
        yield x, paddle.to_tensor(adaptive)
