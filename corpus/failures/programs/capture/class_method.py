"""A class method builds a tensor of a size that does not fit."""

import paddle


class Mask:
    size = 4

    @classmethod
    def causal(cls):
        return paddle.tril(paddle.ones([cls.size, cls.size]))

    @classmethod
    def apply(cls, scores):
        return scores * cls.causal()  # <- fails


def masked(x):
    return Mask.apply(paddle.matmul(x, x, transpose_y=True))


def main(to_static):
    to_static(masked)(paddle.ones([3, 2]))
