"""A list of matrices is folded with a guarded product.

exercises: functools.reduce with a function that has a tensor if; with an initial value
rows: 55
"""

import functools

import paddle


def guarded(a, b):
    product = a @ b
    if product.abs().max() > 10:
        product = product / product.abs().max()
    return product


def chain(parts):
    return functools.reduce(guarded, parts, paddle.eye(2))


def build():
    return chain


def inputs():
    a = paddle.to_tensor([[1.0, 2.0], [0.5, 1.0]])
    yield ([a, a],)
    yield ([a, a, a * 3],)
    yield ([a * 20],)
