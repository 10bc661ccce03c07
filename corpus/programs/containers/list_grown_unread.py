"""A loop that keeps a record for debugging that nobody reads.

exercises: list grown in a tensor loop and never read
rows: 74
"""

import paddle


def decay(x, steps):
    record = []
    for _ in range(steps):
        record.append(x)
        x = x * 0.5
    return x


def build():
    return decay


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
