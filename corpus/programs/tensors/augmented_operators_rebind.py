"""An augmented assignment makes a new tensor: the other name keeps the old one.

exercises: += -= *= /= on tensors with a second name; on an argument; in a branch and a loop
rows: 88
"""

import paddle


def accumulate(x, n):
    total = x
    start = total
    total += 1
    total *= x
    if x.sum() > 0:
        total /= 2
        start -= total
    for _ in range(n):
        total **= 2
    return total, start, x


def build():
    return accumulate


def inputs():
    for n in (0, 1, 2):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
    yield paddle.to_tensor([-1.0, 0.5]), paddle.to_tensor(1)
