"""Damped updates, the scale of which is not differentiated.

exercises: with paddle.no_grad() inside a tensor while; break inside the with
rows: 17, 63
"""

import paddle


def normalise(x, bound, n):
    i = paddle.zeros([], "int64")
    while i < n:
        with paddle.no_grad():
            scale = x.norm()
            if scale < bound:
                break
        x = x * (x / scale)
        i = i + 1
    return x, i


def build():
    return normalise


def inputs():
    for bound, n in ((0.1, 3), (1.9, 3), (99.0, 3), (0.1, 0)):
        yield paddle.to_tensor([2.0, 1.0]), paddle.to_tensor(bound), paddle.to_tensor(n)
