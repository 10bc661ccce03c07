"""A temporary setting, by contextlib.

exercises: with on a generator context manager; several items; parenthesised; return inside with
rows: 46, 63
"""

from contextlib import contextmanager

import paddle

SETTINGS = {"scale": 1.0}
OBSERVED = lambda: dict(SETTINGS)  # noqa: E731


@contextmanager
def setting(name, value):
    old = SETTINGS.get(name)
    SETTINGS[name] = value
    try:
        yield value
    finally:
        SETTINGS[name] = old


def scaled(x):
    return x * SETTINGS["scale"]


def computed(x):
    with (
        setting("scale", 3.0) as scale,
        setting("bias", 0.5) as bias,
    ):
        if x.sum() > 0:
            return scaled(x) + bias
        y = scaled(x) - bias
    return scaled(y) + scale


def build():
    return computed


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
