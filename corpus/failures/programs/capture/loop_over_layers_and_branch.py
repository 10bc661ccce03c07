"""An error four calls deep: model, block, helper, lambda."""

import paddle


def merge(how, left, right):
    if left.mean() > -100:
        return how(left, right)
    return right


class Block(paddle.nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.linear = paddle.nn.Linear(3, width)

    def forward(self, x):
        return merge(
            lambda a, b: a + b,  # <- fails
            self.linear(x),
            x,
        )


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = paddle.nn.LayerList([Block(3), Block(5)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main(to_static):
    to_static(Model())(paddle.ones([2, 3]))
