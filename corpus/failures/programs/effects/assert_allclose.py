"""An assertion over several lines fails."""

import paddle


def symmetric(matrix):
    assert paddle.allclose(  # <- fails
        matrix,
        matrix.t(),
        rtol=1e-4,
    ), ("not symmetric", 2)
    return matrix * 2


def main(to_static):
    static = to_static(symmetric)
    static(paddle.eye(2))
    static(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]))
