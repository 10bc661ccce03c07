"""The forward of a layer reads an attribute that __init__ has not made."""

import paddle


class Encoder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = paddle.nn.LayerNorm(4)

    def forward(self, x):
        x = self.norm(x)
        if x.mean() > -1:
            x = self.dropout(x)  # <- fails
        return x


def main(to_static):
    to_static(Encoder())(paddle.ones([2, 4]))
