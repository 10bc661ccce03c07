"""An error is translated by the user, and keeps its cause."""

import paddle

TABLE = {"small": 4}


def width_of(size):
    try:
        return TABLE[size]
    except KeyError as error:
        raise ValueError(f"no model of size {size!r}") from error  # <- fails


def model(x, size):
    return x * width_of(size)


def main(to_static):
    to_static(model)(paddle.ones([2]), "large")
