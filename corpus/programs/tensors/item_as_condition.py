"""Stop early on the value of .item().

exercises: item() in a python condition, in arithmetic and returned
rows: 72
"""

import paddle


def halve_while_big(x):
    count = 0
    while x.abs().max().item() > 1.0:
        x = x / 2
        count += 1
    if x.sum().item() < 0:
        x = -x
    return x, count, x[0].item() * 2


def build():
    return halve_while_big


def inputs():
    yield (paddle.to_tensor([5.0, 1.0]),)
    yield (paddle.to_tensor([0.5, 1.0]),)
    yield (paddle.to_tensor([-50.0, 1.0]),)
