"""Decorators over many lines, comments between them."""

import functools

import paddle


def option(**options):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)

        return wrapper

    return decorate


def main(to_static):
    @option(
        name="first",
        # a comment
        level=2,
    )
    @option(
        name="second",
    )
    # another one
    def scaled(x):
        if x.sum() > 0:
            x = x * paddle.ones([7])  # <- fails
        return x

    to_static(scaled)(paddle.ones([2]))
