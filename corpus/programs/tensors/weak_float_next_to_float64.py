"""Two Python floats merged by a branch, then used with float32, float64 and int tensors.

exercises: python floats merged by a branch stay weak next to float64, float32 and int64
rows: 70
"""

import paddle


def mix(x, exact, count):
    if x.sum() > 0:
        c = 0.1
    else:
        c = 0.7
    return x * c, exact * c, count * c, c * 2


def build():
    return mix


def inputs():
    exact = paddle.to_tensor([1.0, 3.0], dtype="float64")
    count = paddle.to_tensor([1, 2])
    yield paddle.to_tensor([1.0, 2.0]), exact, count
    yield paddle.to_tensor([-1.0, -2.0]), exact, count
