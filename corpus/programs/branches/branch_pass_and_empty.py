"""Arms that do nothing, an arm that only calls, and a condition used twice.

exercises: pass in a branch; branch without effect; same condition twice; if without else
rows: 1
"""

import paddle


def settle(x, low, high):
    if x < low:
        pass
    elif x > high:
        x = high
    else:
        ...
    inside = x >= low
    if inside:
        x = x * 2
    if inside:
        x = x + 1
    return x


def build():
    return settle


def inputs():
    low, high = paddle.to_tensor(0.0), paddle.to_tensor(4.0)
    for x in (-1.0, 1.0, 9.0, 4.0):
        yield paddle.to_tensor(x), low * 1, high * 1
