"""Search upwards for a value whose square is close, else fall back.

exercises: while-else with a tensor condition and a tensor break
rows: 18, 37
"""

import paddle


def search(x, target, limit):
    while x < limit:
        if (x * x - target).abs() < 0.5:
            found = x * 10
            break
        x = x + 0.5
    else:
        found = target * -1
    return found, x


def build():
    return search


def inputs():
    for start, target in ((2.0, 4.0), (0.5, 4.0), (0.5, 50.0), (9.0, 4.0)):
        yield paddle.to_tensor(start), paddle.to_tensor(target), paddle.to_tensor(4.0)
