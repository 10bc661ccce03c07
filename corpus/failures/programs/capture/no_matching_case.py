"""A match statement ends in the case that refuses."""

import paddle


def reduce(x, how):
    match how:
        case "sum":
            return x.sum()
        case "mean":
            return x.mean()
        case other:
            raise NotImplementedError(f"reduction {other!r}")  # <- fails


def main(to_static):
    to_static(reduce)(paddle.ones([2]), "median")
