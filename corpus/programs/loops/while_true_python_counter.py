"""Count the doublings that a value needs, in a Python int.

exercises: while True with a tensor break and a counter that starts as a Python int
rows: 19
"""

import paddle


def doublings(x, bound):
    count = 0
    while True:
        if x.abs().sum() > bound:
            break
        count += 1
        x = x * 2
    return x, count


def build():
    return doublings


def inputs():
    for bound in (0.5, 2.0, 20.0):
        yield paddle.to_tensor([0.5, -0.5]), paddle.to_tensor(bound)
