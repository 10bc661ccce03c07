"""A handler raises what a tensor decides, and hides what it has caught."""

import paddle


def fetch(table, x):
    try:
        return table["bias"] + x
    except KeyError:
        if x.sum() > 0:
            raise ValueError("a positive input needs a bias") from None  # <- fails
    return x


def main(to_static):
    static = to_static(fetch)
    static({}, paddle.to_tensor([-1.0]))
    static({}, paddle.to_tensor([1.0]))
