"""A layer has no forward."""

import paddle


class Empty(paddle.nn.Layer):
    pass


def main(to_static):
    to_static(Empty())(paddle.ones([2]))  # <- fails
