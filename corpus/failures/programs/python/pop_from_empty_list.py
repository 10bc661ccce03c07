"""A stack is emptied once too often, in a loop over Python values."""

import paddle


def fold(x):
    stack = [x, x * 2]
    for _ in range(3):
        top = stack.pop()  # <- fails
        x = x + top
    return x


def main(to_static):
    to_static(fold)(paddle.ones([2]))
