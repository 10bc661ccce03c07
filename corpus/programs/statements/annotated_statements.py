"""A typed function.

exercises: annotated assignment with and without a value, on attributes and items; annotations of
    a nested function; docstring; pass; ellipsis
rows: 52
"""

from __future__ import annotations

import paddle


def typed(x: paddle.Tensor, scale: float = 2.0) -> paddle.Tensor:
    """Scale by one side or the other."""
    y: paddle.Tensor
    count: int = 3
    table: dict[str, float] = {}
    table["a"]: float = scale

    def inner(v: paddle.Tensor, *, by: float) -> paddle.Tensor:
        """Scale."""
        result: paddle.Tensor = v * by
        return result

    if x.sum() > 0:
        y = inner(x, by=table["a"])
    elif count > 5:
        pass
    else:
        ...
        y = inner(x, by=-1.0)
    return y + count


def build():
    return typed


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
