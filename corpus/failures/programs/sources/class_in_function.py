"""A class inside of a function, with a private method."""

import paddle


def build(width):
    class Inner(paddle.nn.Layer):
        __factor = paddle.ones([5])

        def forward(self, x):
            return self.__scaled(x)

        def __scaled(self, x):
            if x.mean() > 0:
                x = x * self.__factor  # <- fails
            return x

    return Inner()


def main(to_static):
    to_static(build(3))(paddle.ones([3]))
