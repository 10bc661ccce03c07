"""A tensor has another rank than the InputSpec says."""

import paddle
from paddle.static import InputSpec

CODE = "D2S302"


def doubled(x):
    return x * 2


def main(to_static):
    static = to_static(doubled, input_spec=[InputSpec([None, 4], "float32")])
    static(paddle.ones([4]))  # <- fails
