"""A coarse and a fine search that share their variables.

exercises: two tensor loops after each other on the same variables; reused loop names
rows: 17, 25
"""

import paddle


def search(x, target):
    while x * x < target:
        step = x * 0 + 1.0
        x = x + step
    while x * x > target:
        step = x * 0 + 0.25
        x = x - step
    return x, step


def build():
    return search


def inputs():
    for x, target in ((0.0, 5.0), (4.0, 5.0), (2.0, 5.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(target)
