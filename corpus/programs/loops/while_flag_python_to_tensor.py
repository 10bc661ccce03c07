"""Bubble a vector until a pass changes nothing; the flag starts as True.

exercises: while on a bare name that is the bool True first and a tensor later
rows: 20
"""

import paddle


def smooth(x, limit):
    running = True
    passes = 0
    while running:
        x = (x + x.roll(1)) * 0.5
        passes += 1
        running = x.max() - x.min() > limit
    return x, passes


def build():
    return smooth


def inputs():
    for limit in (9.0, 0.5, 0.1):
        yield paddle.to_tensor([1.0, 5.0, 3.0]), paddle.to_tensor(limit)
