"""Both branches free what they made.

exercises: del in both tensor branches and in a tensor loop; nothing read afterwards
rows: 64
"""

import paddle


def lean(x, n):
    if x.sum() > 0:
        half = x / 2
        y = half + 1
        del half
    else:
        double = x * 2
        y = double - 1
        del double
    i = paddle.zeros([], dtype="int64")
    while i < n:
        step = y * 0.5
        y = y - step
        del step
        i += 1
    return y


def build():
    return lean


def inputs():
    for n in (0, 1, 3):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
    yield paddle.to_tensor([-1.0, -2.0]), paddle.to_tensor(1)
