"""Count the digits of a number in base two.

exercises: floor division of a tensor without dimensions by a number in a while
rows: 17
"""

import paddle

GRAD = False  # integers have no gradient


def digits(n):
    count = paddle.zeros([], "int64")
    while n > 0:
        n = n // 2
        count = count + 1
    return count, n


def build():
    return digits


def inputs():
    for n in (0, 1, 6, 255):
        yield (paddle.to_tensor(n),)
