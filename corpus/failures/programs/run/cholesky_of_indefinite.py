"""A matrix is not positive definite."""

import paddle


def root(matrix):
    symmetric = (matrix + matrix.t()) * 0.5
    return paddle.linalg.cholesky(symmetric)  # <- fails


def main(to_static):
    static = to_static(root)
    static(paddle.eye(2))
    static(paddle.eye(2) * -1.0)
