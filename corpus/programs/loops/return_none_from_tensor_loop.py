"""Heat up step by step; nothing is returned when it becomes too hot.

exercises: return without a value out of range(t), a tensor after it
rows: 43, 45
"""

import paddle


def heat(x, n, bound):
    for _ in range(n):
        x = x * 2
        if x.max() > bound:
            return
    return x


def build():
    return heat


def inputs():
    for n, bound in ((0, 3.0), (1, 3.0), (3, 3.0), (3, 99.0)):
        yield paddle.to_tensor([0.5, 1.0]), paddle.to_tensor(n), paddle.to_tensor(bound)
