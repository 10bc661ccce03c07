"""Read numbers from a function until it gives the sentinel.

exercises: for over iter(function, sentinel) with a closure that counts; tensor break
rows: 32, 39
"""

import paddle


def consume(x, bound):
    left = 4

    def read():
        nonlocal left
        left -= 1
        return left

    for k in iter(read, 0):
        x = x * 1.5 + k
        if x.max() > bound:
            break
    return x


def build():
    return consume


def inputs():
    for bound in (1.0, 6.0, 99.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(bound)
