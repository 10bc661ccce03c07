"""A count in int64 or a mean in float32, scaled and compared afterwards.

exercises: int64 against float32 from branches, in arithmetic and in a condition afterwards
rows: 7
"""

import paddle


def count_or_mean_scaled(x, count):
    if count > 0:
        out = (x > 0).sum()
    else:
        out = x.mean()
    doubled = out * 2
    if doubled > 3:
        x = x + 1
    return doubled, x


def build():
    return count_or_mean_scaled


def inputs():
    for values, count in (([1.0, -2.0, 4.0], 1), ([1.0, -2.0, 4.0], 0), ([5.0, 5.0, 5.0], 0)):
        yield paddle.to_tensor(values), paddle.to_tensor(count)
    yield paddle.to_tensor([-1.0, -2.0, 4.0]), paddle.to_tensor(1)
