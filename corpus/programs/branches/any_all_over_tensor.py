"""any and all of Python applied to a tensor itself.

exercises: any(tensor); all(tensor); in conditions and as values
rows: 15
"""

import paddle


def summary_of(x):
    y = x.sum()
    if all(x > 0):
        y = y * 2
    if any(x > 3):
        y = y + 1
    return y, any(x < 0)


def build():
    return summary_of


def inputs():
    for x in ([1.0, 2.0], [4.0, 2.0], [-1.0, 5.0], [-1.0, 1.0]):
        yield (paddle.to_tensor(x),)
