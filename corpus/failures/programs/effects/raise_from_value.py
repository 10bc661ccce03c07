"""An exception that a tensor decides has another one as its cause."""

import paddle


def lookup(x):
    cause = KeyError("threshold")
    if x.sum() > 1:
        raise LookupError("no threshold was given") from cause  # <- fails
    return x


def main(to_static):
    static = to_static(lookup)
    static(paddle.to_tensor([0.5]))
    static(paddle.to_tensor([5.0]))
