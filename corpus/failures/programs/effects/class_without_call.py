"""A class is raised instead of an instance."""

import paddle


def later(x):
    if x > 3:
        raise NotImplementedError  # <- fails
    return x


def main(to_static):
    static = to_static(later)
    static(paddle.to_tensor(1.0))
    static(paddle.to_tensor(4.0))
