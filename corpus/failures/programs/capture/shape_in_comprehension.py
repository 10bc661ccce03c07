"""One of the experts has another width."""

import paddle


def mixture(x, experts):
    outputs = [
        paddle.matmul(x, weight)  # <- fails
        for weight in experts
    ]
    return paddle.add_n(outputs)


def main(to_static):
    experts = [paddle.ones([3, 3]), paddle.ones([4, 3])]
    to_static(mixture)(paddle.ones([2, 3]), experts)
