"""A machine with named states.

exercises: a str rebound in a tensor while and compared in the next trip
rows: 5, 17
"""

import paddle


def machine(x, n):
    mode = "up"
    i = paddle.zeros([], "int64")
    while i < n:
        if mode == "up":
            x = x * 2
            if x > 3:
                mode = "down"
        else:
            x = x - 1.5
        i = i + 1
    return x


def build():
    return machine


def inputs():
    for n in (0, 2, 5):
        yield paddle.to_tensor(1.0), paddle.to_tensor(n)
