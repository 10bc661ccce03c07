"""A piecewise penalty with one return for each range of the error.

exercises: return in each of if, elif, elif and else
rows: 41
"""

import paddle


def penalty(error):
    size = error.abs().mean()
    if size > 10:
        return error * 0
    elif size > 1:
        return error.abs() - 0.5
    elif size > 0.1:
        return 0.5 * error * error
    else:
        return error


def build():
    return penalty


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for scale in (20.0, 1.0, 0.2, 0.01):
        yield (x * scale,)
