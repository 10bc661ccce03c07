"""A closure variable that a setter changes between calls.

exercises: closure cell changed after the first capture
rows: 97
"""

import paddle

setter = None


def make(scale):
    def forward(x):
        if x.sum() > 0:
            return x * scale
        return x - scale

    def change(value):
        nonlocal scale
        scale = value

    return forward, change


def BEFORE(index):
    setter((1.0, 1.0, 5.0, 7.0)[index])


def build():
    global setter
    forward, setter = make(1.0)
    return forward


def inputs():
    for sign in (1.0, -1.0, 1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
