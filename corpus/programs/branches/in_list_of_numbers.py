"""Is a token one of the special ones? A tensor looked up in Python lists and tuples.

exercises: tensor in list of numbers; not in; in a tuple
rows: 14
"""

import paddle

SPECIAL = [0, 2, 5]


def weight_of(token, x):
    if token in SPECIAL:
        x = x * 0.5
    elif token not in (1, 7):
        x = x + 1
    return x


def build():
    return weight_of


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for token in (2, 7, 9, 1):
        yield paddle.to_tensor(token), x
