"""A lambda that is handed to a helper multiplies the wrong way round."""

import paddle


def apply(function, x):
    y = x + 1
    return function(y)


def twice(x):
    weight = paddle.ones([3, 5])
    return apply(lambda y: paddle.matmul(weight, y), x)  # <- fails


def main(to_static):
    to_static(twice)(paddle.ones([2, 3]))
