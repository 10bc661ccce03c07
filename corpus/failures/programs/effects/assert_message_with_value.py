"""An assertion about a value fails, with the value in its message."""

import paddle


def normalised(x):
    total = x.sum()
    assert total > 0, f"the sum is {float(total):.2f}"  # <- fails
    return x / total


def main(to_static):
    static = to_static(normalised)
    static(paddle.to_tensor([1.0, 2.0]))
    static(paddle.to_tensor([1.0, -2.5]))
