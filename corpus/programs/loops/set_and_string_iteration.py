"""A tiny language of scalings: u doubles, d halves, unless the value is too large.

exercises: for over a str and over a sorted set of ints, with a tensor break
rows: 31, 39
"""

import paddle


def interpret(x, program, bound):
    for letter in program:
        if letter == "u":
            x = x * 2
        elif letter == "d":
            x = x / 2
        if x.max() > bound:
            break
    for k in {1, 2, 3}:
        if x.min() < k:
            x = x + k
    return x


def build():
    return interpret


def inputs():
    for start in (0.5, 1.5, 40.0):
        yield paddle.to_tensor([start, 1.0]), "uudu", paddle.to_tensor(5.0)
