"""An inner function counts its calls in a plain int, beside a tensor condition.

exercises: nonlocal int changed by calls outside of tensor branches; tensor if in the same function
rows: 53
"""

import paddle


def numbered(x):
    count = 0

    def tag(t):
        nonlocal count
        count += 1
        if t.sum() > 0:
            return t * count
        return t - count

    parts = [tag(x), tag(-x), tag(x * 2)]
    return paddle.stack(parts), count


def build():
    return numbered


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
