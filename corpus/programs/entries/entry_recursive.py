"""The converted function calls itself by its own name.

exercises: recursion through the module's global name of the entry
rows: 56
"""

import paddle


def smooth(x, times):
    if times == 0:
        return x
    y = (x + x.flip(0)) / 2
    if (y - x).abs().max() < 0.1:
        return y
    return smooth(0.5 * (x + y), times - 1)


def build():
    return smooth


def inputs():
    x = paddle.to_tensor([1.0, 3.0, 2.0])
    for times in (0, 1, 4):
        yield x, times
    yield paddle.to_tensor([1.0, 3.0, 1.05]), 4
