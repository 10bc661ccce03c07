"""A random number of Python's decides, inside of a branch that a tensor decides."""

import random

import paddle

CODE = "D2S205"


def jitter(x):
    if x.sum() > 0:
        x = x + random.randbytes(1)[0]  # <- fails
    return x


def main(to_static):
    to_static(jitter)(paddle.ones([2]))
