"""A low-level error turned into a clear one.

exercises: raise ... from an exception and from None; in handlers and in a tensor branch
rows: 59
"""

import paddle

RAISES = {1: ValueError, 2: RuntimeError}


def configured(x, settings):
    try:
        scale = settings["scale"]
    except KeyError as error:
        raise ValueError("settings need a scale") from error
    if x.sum() < 0:
        raise RuntimeError("negative") from None
    return x * scale


def build():
    return configured


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, {"scale": 2.0}
    yield x, {}
    yield -x, {"scale": 2.0}
