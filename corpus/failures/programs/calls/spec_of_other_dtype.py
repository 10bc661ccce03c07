"""A tensor has another dtype than the InputSpec says."""

import paddle
from paddle.static import InputSpec

CODE = "D2S302"


def doubled(x):
    return x * 2


def main(to_static):
    static = to_static(doubled, input_spec=[InputSpec([None], "float32")])
    static(paddle.ones([2], "int64"))  # <- fails
