"""Minutes and seconds out of seconds.

exercises: // and % by Python and tensor divisors, negative operands
rows: 65
"""

import paddle


def clock(seconds, unit):
    minutes = seconds // 60
    rest = seconds % 60
    if (minutes % 2 == 0).all():
        rest = rest // unit
    return minutes, rest, rest % unit


def build():
    return clock


def inputs():
    unit = paddle.to_tensor(7.0)
    yield paddle.to_tensor([125.0, -601.0]), unit
    yield paddle.to_tensor([61.0, 3.0]), unit
    yield paddle.to_tensor([-61.0, -125.5]), unit
