"""The body of a with statement fails."""

import paddle


def frozen(x, weight):
    with paddle.no_grad():
        target = x * 2
        target = paddle.matmul(target, weight)  # <- fails
    return target


def main(to_static):
    to_static(frozen)(paddle.ones([2, 3]), paddle.ones([2, 3]))
