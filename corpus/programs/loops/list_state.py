"""The three latest values in a list of fixed length.

exercises: list items assigned and rotated in a tensor while; list of fixed length
rows: 17, 76
"""

import paddle


def tribonacci(x, bound):
    last = [x, x * 2, x * 3]
    while last[2] < bound:
        new = last[0] + last[1] + last[2]
        last[0] = last[1]
        last[1], last[2] = last[2], new
    return last


def build():
    return tribonacci


def inputs():
    for bound in (1.0, 5.0, 60.0):
        yield paddle.to_tensor(1.0), paddle.to_tensor(bound)
