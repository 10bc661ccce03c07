"""Stand-ins for functions of Paddle and of Python take what these take, however it is spelt.

Paddle 3.3 accepts much more than its signatures say (``input`` for ``x``, ``dim`` for ``axis``,
several numbers for a list of them), by decorators that bring a call into its plain form.  A
stand-in only knows the plain form: it is called through the same decorators::

    paddle.concat(tensors=[a, b], dim=1)     -> concat(x=[a, b], axis=1)
    x.view(2, 3), x.view(size=[2, 3])        -> view(x=x, shape_or_dtype=[2, 3])
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any


def spelt(original: Any, operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator`` for all the calls that ``original`` takes.

    Args:
        original: a function of Paddle.
        operator: takes what the function has for parameters, by position and by name.
    """
    made = operator
    for decorator in reversed(list(_decorators(original))):
        if not any(_enters(cell) for cell in decorator.__closure__ or ()):
            made = rewrapped(decorator, decorator.__wrapped__, made) or made

    @functools.wraps(operator)
    def run(*arguments: object, **options: object) -> Any:
        return made(*arguments, **options)

    run.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return run


def _enters(cell: types.CellType) -> bool:
    """Whether a decorator keeps a context manager, such as ``no_grad``: it spells nothing.

    The operator may call the original, and the manager, entered twice, would not find back.
    """
    try:
        return hasattr(type(cell.cell_contents), "__enter__")
    except ValueError:  # it is empty
        return False


def _decorators(function: object) -> Iterator[Any]:
    """``function``, and what it wraps as long as that wraps something, too."""
    while isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__"):
        yield function
        function = function.__wrapped__


def rewrapped(wrapper: types.FunctionType, inner: object, replaced: object) -> Any:
    """``wrapper`` around ``replaced`` instead of ``inner``; ``None`` if it does not call that.

    The wrapper keeps its code; in its closure the one takes the place of the other.
    """
    cells = wrapper.__closure__ or ()
    if not any(_holds(cell, inner) for cell in cells):
        return None
    fresh = types.FunctionType(
        wrapper.__code__,
        wrapper.__globals__,
        wrapper.__name__,
        wrapper.__defaults__,
        tuple(types.CellType(replaced) if _holds(cell, inner) else cell for cell in cells),
    )
    fresh.__kwdefaults__ = wrapper.__kwdefaults__
    return fresh


def _holds(cell: types.CellType, wanted: object) -> bool:
    try:
        return cell.cell_contents is wanted
    except ValueError:  # it is empty
        return False


def in_pythons_words(original: Any, operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator`` in the place of the built-in ``original``, which says what calls are wrong."""

    @functools.wraps(operator)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return operator(*arguments, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
        return original(*arguments, **options)

    return run
