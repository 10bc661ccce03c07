"""No case fits and there is no wildcard: the value stays as it was.

exercises: match with a tensor subject and without wildcard; value patterns (dotted names)
rows: 47
"""

import enum

import paddle


class Phase(enum.IntEnum):
    WARM_UP = 0
    DECAY = 2


def rate(step, base):
    value = base
    match step // 10:
        case Phase.WARM_UP:
            value = base * step / 10
        case Phase.DECAY:
            value = base * 0.1
    return value * 2


def build():
    return rate


def inputs():
    for step in (5, 15, 25, 99):
        yield paddle.to_tensor(step), paddle.to_tensor(0.5)
