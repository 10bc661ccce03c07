"""A sublayer checks that nothing is NaN."""

import paddle


class Guard(paddle.nn.Layer):
    def forward(self, x):
        assert not paddle.isnan(x).any(), "NaN in the activations"  # <- fails
        return x


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.guard = Guard()

    def forward(self, x):
        return self.guard(x.log()) * 2


def main(to_static):
    static = to_static(Model())
    static(paddle.to_tensor([1.0, 2.0]))
    static(paddle.to_tensor([1.0, -2.0]))
