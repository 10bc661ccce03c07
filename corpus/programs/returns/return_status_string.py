"""A health check of a tensor that reports in words beside the cleaned tensor.

exercises: tuples with different strings by path
rows: 45
"""

import paddle


def check(x):
    if paddle.isnan(x).any():
        return "nan", paddle.zeros_like(x)
    if x.abs().max() > 100:
        return "large", x / x.abs().max()
    return "ok", x * 1.0


def build():
    return check


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, float("nan")]),)
    yield (paddle.to_tensor([1.0, 400.0]),)
