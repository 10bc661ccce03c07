"""How many halvings it takes, and the mean over them.

exercises: len of a grown list as a result, in arithmetic and in a condition
rows: 75
"""

import paddle


def mean_level(x, floor):
    levels = []
    while x.max() > floor:
        levels.append(x)
        x = x / 2
    if len(levels) == 0:
        return x, len(levels)
    return sum(levels) / len(levels), len(levels)


def build():
    return mean_level


def inputs():
    x = paddle.to_tensor([4.0, 1.0])
    for floor in (1.0, 5.0, 3.0, 0.5):
        yield x, paddle.to_tensor(floor)
