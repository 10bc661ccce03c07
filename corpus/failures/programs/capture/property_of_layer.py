"""A property of a layer divides by a number that was never set."""

import paddle


class Attention(paddle.nn.Layer):
    def __init__(self, width, heads=None):
        super().__init__()
        self.width = width
        self.heads = heads

    @property
    def scale(self):
        return (self.width // self.heads) ** -0.5  # <- fails

    def forward(self, x):
        scores = paddle.matmul(x, x, transpose_y=True)
        return scores * self.scale


def main(to_static):
    to_static(Attention(8))(paddle.ones([2, 8]))
