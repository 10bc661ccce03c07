"""Scopes of names, kept by a context manager class.

exercises: with on a user class; as target; tensor if inside; exit runs after a raise
rows: 63
"""

import paddle

RAISES = {2: ValueError}
DEPTH = []
OBSERVED = lambda: list(DEPTH)  # noqa: E731


class Scope:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        DEPTH.append(self.name)
        return len(DEPTH)

    def __exit__(self, *error):
        DEPTH.pop()
        return False


def scoped(x, settings):
    with Scope("outer") as depth:
        if x.sum() > 0:
            x = x * 2
        with Scope("inner") as inner:
            x = x + inner
            if "scale" not in settings:
                raise ValueError("no scale")
    return x * depth * settings["scale"]


def build():
    return scoped


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, {"scale": 2.0}
    yield -x, {"scale": 2.0}
    yield x, {}
