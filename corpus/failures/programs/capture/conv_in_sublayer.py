"""The second block of a network expects other channels than the first one gives."""

import paddle


class Block(paddle.nn.Layer):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv = paddle.nn.Conv2D(inner, outer, 3, padding=1)

    def forward(self, x):
        y = self.conv(x)  # <- fails
        if y.mean() > 0:
            y = y * 2
        return y


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = paddle.nn.LayerList([Block(3, 4), Block(3, 4)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main(to_static):
    to_static(Net())(paddle.ones([1, 3, 8, 8]))
