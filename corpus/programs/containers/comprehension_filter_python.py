"""The layers with an even index, applied to the input.

exercises: comprehension filter on Python values, also by isinstance and `is not None`
rows: 48
"""

import paddle


def chosen(x, parts):
    even = [x * i for i in range(5) if i % 2 == 0 if i > 0]
    present = [p for p in parts if p is not None]
    numbers = [p for p in parts if isinstance(p, float)]
    total = sum(p if p > 0 else p * 0.5 for p in present)
    return even, total, numbers


def build():
    return chosen


def inputs():
    for sign in (1.0, -1.0):
        x = paddle.to_tensor([1.0, 2.0]) * sign
        yield x, [x.sum(), None, 2.5]
