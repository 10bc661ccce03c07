"""A layer is called with an argument too many."""

import paddle


class Double(paddle.nn.Layer):
    def forward(self, x):
        return x * 2


def main(to_static):
    static = to_static(Double())
    static(paddle.ones([2]), True)  # <- fails
