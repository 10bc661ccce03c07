"""Dtypes and shapes that Paddle 3.3.1 declares in a program, where its kernels give others.

``x.any()`` of integers is declared int64 and is bool, ``paddle.exp`` of them is declared int64 and
is float32, ``paddle.unique`` of them is declared float32 and is int64; ``slogdet`` is declared to
have the shape of the matrices.  What is built on the declaration fails on the run, or takes bytes
for other numbers.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import create_shaped_type
from d2s.paddle_bridge.values import relax

_TRUTHS: Final = ("all", "any", "equal_all")
"""Operations whose result is bool."""

_FLOATS: Final = ("exp", "expm1", "log", "log10", "log1p", "log2")
"""Operations that make float32 of integers and of bool."""


_SAME: Final = ("reduce_as", "unique")
"""Operations whose (first) result has the dtype of their first argument."""

_RANKS: Final = ("matrix_rank", "matrix_rank_atol_rtol", "matrix_rank_tol")
"""Operations whose result is int64."""

_RANK: Final = 2
"""Which result of ``lstsq`` is the rank."""


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
    names = (*_TRUTHS, *_FLOATS, *_SAME, *_RANKS, "lstsq", "slogdet")
    before = {name: getattr(operations, name) for name in names}
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
        if not paddle.in_dynamic_mode():
            _correct(name, [*arguments, *options.values()][0], made)
        return made

    return operation


def _correct(name: str, given: Any, made: Any) -> None:
    """Declare what ``made``, the results of an operation of ``given``, has."""
    results = paddle.utils.flatten(made)
    first = results[0]
    if not hasattr(first, "get_defining_op"):
        return
    if name in _TRUTHS and first.dtype != paddle.bool:
        declare(first, "bool")
    elif name in _FLOATS and not (first.is_floating_point() or first.is_complex()):
        declare(first, "float32")
    elif name in _SAME and first.dtype != given.dtype:
        declare(first, given.dtype)
    elif name in _RANKS:
        declare(first, "int64")
    elif name == "slogdet":  # the signs and the logarithms, stacked
        relax(first, [2, *given.shape[:-2]])
    elif name == "lstsq":
        declare(results[_RANK], "int32")
