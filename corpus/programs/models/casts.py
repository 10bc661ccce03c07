"""Built-ins that turn tensors into numbers, on values beyond 32 bits too.

exercises: int, float, bool and len of tensors; python arithmetic on the casts
rows: 65, 66
"""

import paddle

GRAD = False  # int() and bool() cut the gradient


def casts(x, n):
    whole = int(n)
    part = float(x.sum())
    flag = bool(n > 2)
    if flag:
        part = part + len(x)
    return whole * 2, part / 2, flag, len(x)


def build():
    return casts


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 4.0])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(3)
    yield x + 1, paddle.to_tensor(2**40)
