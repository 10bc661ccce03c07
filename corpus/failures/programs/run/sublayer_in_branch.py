"""A sublayer that a branch calls fails on its input."""

import paddle
from paddle.static import InputSpec


class Refine(paddle.nn.Layer):
    def forward(self, x, context):
        mixed = x * context  # <- fails
        return mixed.mean()


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.refine = Refine()

    def forward(self, x, context):
        if x.max() > 0.5:
            score = self.refine(x, context)
        else:
            score = x.mean()
        return score


def main(to_static):
    spec = [InputSpec([None], "float32"), InputSpec([None], "float32")]
    static = to_static(Model(), input_spec=spec)
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([7]))
