"""A partial passes a keyword that the helper does not know."""

import functools

import paddle


def smooth(x, alpha):
    return x * alpha


def run(x):
    filter_ = functools.partial(smooth, beta=0.1)
    return filter_(x)  # <- fails


def main(to_static):
    to_static(run)(paddle.ones([3]))
