"""The weight has been transposed by mistake."""

import paddle


def project(x):
    scaled = x * 0.5
    weight = paddle.ones([4, 8])
    return paddle.matmul(scaled, weight)  # <- fails


def main(to_static):
    to_static(project)(paddle.ones([2, 8]))
