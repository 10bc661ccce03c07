"""Survey of values by any and all over generators of tensor comparisons.

exercises: any and all over generator expressions; with a filter
rows: 15
"""

import paddle


def survey(x, values):
    if any(v > 1 for v in values):
        x = x * 2
    if all(v > 0.25 for v in values):
        x = x + 1
    if not any(abs(v) > 3 for i, v in enumerate(values) if i > 0):
        x = x - 5
    return x


def build():
    return survey


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for row in ((0.5, 2.0), (2.0, -1.0), (0.1, 0.5), (0.5, -9.0)):
        yield x, [paddle.to_tensor(v) for v in row]
