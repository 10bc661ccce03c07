"""The message holds the value that was wrong."""

import paddle


def bounded(x):
    if x.max() > 1:
        raise ValueError(f"largest value {x.max().item():.1f} of {x.shape}")  # <- fails
    return x


def main(to_static):
    static = to_static(bounded)
    static(paddle.to_tensor([0.5, 1.0]))
    static(paddle.to_tensor([0.5, 2.5]))
