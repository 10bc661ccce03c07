"""A layer is given features of another width."""

import paddle


class Classifier(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Linear(8, 6)
        self.head = paddle.nn.Linear(8, 2)

    def forward(self, x):
        x = paddle.nn.functional.relu(self.body(x))
        return self.head(x)  # <- fails


def main(to_static):
    to_static(Classifier())(paddle.ones([4, 8]))
