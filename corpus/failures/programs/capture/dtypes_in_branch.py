"""Tensors of different dtype are joined, on one side of a branch."""

import paddle

# Paddle looks at dtypes when an operation is put into a program, and refuses them there with
# another class than its kernels do in dygraph.
OTHER_TYPE = "TypeError"


def select(x, index):
    if x.max() > 0.5:
        return paddle.concat([x, index])  # <- fails
    return x


def main(to_static):
    to_static(select)(paddle.ones([2, 2]), paddle.ones([2, 2], "int64"))
