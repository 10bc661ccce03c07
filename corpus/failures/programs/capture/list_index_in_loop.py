"""A loop counts one layer too many."""

import paddle


class Stack(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = [paddle.nn.Linear(4, 4) for _ in range(2)]

    def forward(self, x):
        for index in range(3):
            x = self.layers[index](x)  # <- fails
        return x


def main(to_static):
    to_static(Stack())(paddle.ones([1, 4]))
