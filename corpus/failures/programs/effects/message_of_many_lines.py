"""The message of an exception has several lines, and braces."""

import paddle


def strict(x):
    if (x < 0).any():
        raise ValueError(  # <- fails
            f"negative input\n  minimum: {x.min().item()}\n  allowed: {{0, 1}}"
        )
    return x


def main(to_static):
    static = to_static(strict)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([-1.0]))
