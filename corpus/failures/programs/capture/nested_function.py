"""A function inside of the function uses a variable of the wrong shape around it."""

import paddle


def residual(x):
    weight = paddle.ones([2, 2])

    def step(y):
        if y.mean() > 0:
            y = paddle.matmul(y, weight)  # <- fails
        return y

    return x + step(x)


def main(to_static):
    to_static(residual)(paddle.ones([3, 3]))
