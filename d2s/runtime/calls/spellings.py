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

from d2s.runtime.values.objects import attribute
from d2s.runtime.values.tensors import is_tensor
from d2s.runtime.values.tree import is_sequence


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


def without_out(
    function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]
) -> tuple[list[Any], dict[str, Any], Any]:
    """The arguments of a function of Paddle without ``out``, which a program ignores, and that.

    ``out`` is ``None`` if it is not given.
    """
    if not str(attribute(function, "__module__", "")).startswith("paddle"):
        return arguments, options, None
    position = _position_of_out(function) if type(function) is types.FunctionType else None
    out = options.get("out")
    if position is not None and position < len(arguments):
        out = arguments[position]
    found = out[0] if is_sequence(out) and out else out
    if not is_tensor(found):
        return arguments, options, None
    if str(attribute(function, "__name__", "")).startswith(
        "bitwise_"
    ):  # dygraph writes nothing either
        out = None
    kept = [None if place == position else item for place, item in enumerate(arguments)]
    return kept, {name: item for name, item in options.items() if name != "out"}, out


@functools.lru_cache(maxsize=1024)
def _position_of_out(function: Callable[..., Any]) -> int | None:
    """Which positional argument of a function of Paddle is ``out``."""
    parameters = list(inspect.signature(function).parameters.values())
    names = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    return names.index("out") if "out" in names else None
