"""Climb until the top is reached or the strength is gone.

exercises: while True with two tensor breaks at different places of the body
rows: 19, 37
"""

import paddle


def climb(height, strength, top):
    while True:
        if height >= top:
            break
        height = height + strength
        strength = strength * 0.5
        if strength < 0.1:
            height = height - 0.25
            break
    return height, strength


def build():
    return climb


def inputs():
    for height, top in ((5.0, 4.0), (0.0, 1.2), (0.0, 9.0), (1.9, 2.0)):
        yield paddle.to_tensor(height), paddle.to_tensor(0.8), paddle.to_tensor(top)
