"""The sign of the largest deviation by nested ternaries, in both positions.

exercises: ternary in the else, in the body and in the condition of another
rows: 9
"""

import paddle


def sign_of(x, y):
    sign = 1 if x > 0 else (-1 if x < 0 else 0)
    both = (x * y if y > 1 else x + y) if x > 0 else (x - y if y > 1 else y)
    picked = x if (x > y if y > 0 else x < y) else y
    return sign, both * sign, picked


def build():
    return sign_of


def inputs():
    for x, y in ((2.0, 3.0), (2.0, 0.5), (-2.0, 3.0), (-2.0, -1.0), (0.0, -1.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(y)
