"""A precision scope that must be left on every path, also through a return.

exercises: tensor return inside a class-based context manager; __exit__ restores a setting that
    the caller reads
rows: 46, 63
"""

import paddle


class Settings:
    scale = 1.0


class Scale:
    def __init__(self, scale):
        self.scale = scale

    def __enter__(self):
        self.saved, Settings.scale = Settings.scale, self.scale
        return self

    def __exit__(self, *error):
        Settings.scale = self.saved


def scaled(x):
    return x * Settings.scale


def inner(x):
    with Scale(10.0):
        y = scaled(x)
        if y.sum() > 5:
            return y
        y = y + scaled(x)
    return y + scaled(x)


def outer(x):
    return inner(x), scaled(x)


OBSERVED = lambda: Settings.scale  # noqa: E731


def build():
    return outer


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 0.1,)
