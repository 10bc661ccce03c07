"""A gate built by functools.partial from a lambda.

exercises: functools.partial of a lambda with a tensor ternary
rows: 50, 55
"""

import functools

import paddle


def gate(x, level):
    pick = functools.partial(lambda low, t: t * 2 if t.sum() > low else t * low, level)
    return pick(x) + pick(t=x * 3)


def build():
    return gate


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for level in (1.0, 5.0, 20.0):
        yield x, paddle.to_tensor(level)
