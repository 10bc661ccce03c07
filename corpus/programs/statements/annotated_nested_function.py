"""A typed helper within a module of postponed annotations.

exercises: nested function with annotations under from __future__ import annotations
rows: 52
"""

from __future__ import annotations

import paddle


def doubled(x: paddle.Tensor) -> paddle.Tensor:
    def inner(v: paddle.Tensor, *, by: float = 2.0) -> paddle.Tensor:
        if v.sum() > 0:
            return v * by
        return v - by

    return inner(x)


def build():
    return doubled


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
