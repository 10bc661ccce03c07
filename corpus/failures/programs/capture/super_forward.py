"""The forward of the base class, called through super(), fails."""

import paddle


class Base(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([3, 3])

    def forward(self, x):
        return paddle.matmul(x, self.weight)  # <- fails


class Wide(Base):
    def forward(self, x):
        wide = paddle.concat([x, x], axis=-1)
        return super().forward(wide)


def main(to_static):
    to_static(Wide())(paddle.ones([2, 3]))
