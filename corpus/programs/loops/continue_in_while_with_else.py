"""Skip odd counts and finish with a bonus when nothing stopped the loop.

exercises: continue, break and else in one tensor while
rows: 18, 37
"""

import paddle


def run(x, n, bound):
    i = paddle.zeros([], "int64")
    while i < n:
        i = i + 1
        if i % 2 == 1:
            continue
        x = x * 1.5
        if x.max() > bound:
            break
    else:
        x = x + 100
    return x, i


def build():
    return run


def inputs():
    for n, bound in ((5, 99.0), (5, 2.0), (5, 4.0), (0, 1.0), (1, 1.0)):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n), paddle.to_tensor(bound)
