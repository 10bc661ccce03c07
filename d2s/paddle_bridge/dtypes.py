"""Dtypes that Paddle 3.3.1 declares in a program, where its kernels give others.

``x.any()`` of integers is declared int64 and is bool, ``paddle.exp`` of them is declared int64 and
is float32.  What is built on the declaration fails on the run, or takes bytes for other numbers.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import create_shaped_type

_TRUTHS: Final = ("all", "any", "equal_all")
"""Operations whose result is bool."""

_FLOATS: Final = ("exp", "expm1", "log", "log10", "log1p", "log2")
"""Operations that make float32 of integers and of bool."""


def declare(value: Any, dtype: Any) -> None:
    """Declare that ``value`` is of ``dtype``."""
    sample = paddle.full([], 0, dtype)
    maker = sample.get_defining_op()
    value.set_type(create_shaped_type(sample.type(), list(value.shape)))
    maker.get_parent_block().remove_op(maker)


@contextlib.contextmanager
def true_dtypes() -> Iterator[None]:
    """Operations that are made meanwhile are declared with the dtypes that their kernels give."""
    operations = paddle._C_ops
    before = {name: getattr(operations, name) for name in (*_TRUTHS, *_FLOATS)}
    for name, original in before.items():
        setattr(operations, name, _declared(name, original))
    try:
        yield
    finally:
        for name, original in before.items():
            setattr(operations, name, original)


def _declared(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def operation(*arguments: Any, **options: Any) -> Any:
        made = original(*arguments, **options)
        if not paddle.in_dynamic_mode() and hasattr(made, "get_defining_op"):
            if name in _TRUTHS and made.dtype != paddle.bool:
                declare(made, "bool")
            elif name in _FLOATS and not (made.is_floating_point() or made.is_complex()):
                declare(made, "float32")
        return made

    return operation
