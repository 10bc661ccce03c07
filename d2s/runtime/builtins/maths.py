"""The module ``math`` on tensors and on numbers that the run decides (rule E1).

As in dygraph a tensor counts as ``float(t)``: 64 bits wide, without gradient; the result is a
Python number.  Where Python raises (``math.sqrt(-1)``), the run raises the same: the function
itself is called there, with the number at hand.  So is, on each run, a function that Paddle has
no operation for (``math.lgamma``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.builtins.reductions import items_known
from d2s.runtime.control_flow.cond import select
from d2s.runtime.python.casts import over, to_number, wide
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import check_uncaught, host_call, host_values, raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import is_numeric, is_tensor, mark_number, number_kind

Compute = Callable[..., Any]


def _number(number: Any) -> bridge.Value:
    if is_tensor(number):
        return to_number(number, float)
    return mark_number(wide(float(number)), float)


def _operator(name: str, compute: Compute, kind: type, errors: tuple[type, ...]) -> Compute:
    """The operator of ``math.<name>``.

    Args:
        name: the function.
        compute: what it is on 0-D float64 values; ``NotImplemented`` if it has no such form.
        kind: the type of the result.
        errors: what the function may raise for a number.
    """
    original = getattr(math, name)

    def run(*things: object, **options: object) -> Any:
        if name == "isclose":  # the one with names
            things += tuple(options.pop(key) for key in ("a", "b")[len(things) :] if key in options)
        for position, number in enumerate(things):
            if isinstance(number, Choice):
                before, after = things[:position], things[position + 1 :]
                return over(partial(_between, partial(run, **options), before, after), number)
        if current() is None or not any(map(is_tensor, things)):
            return original(*things, **options)
        if not all(is_numeric(number) for number in things):
            return original(*things, **options)  # raises what Python raises
        if name == "trunc" and number_kind(things[0]) is None:
            raise TypeError("type Tensor doesn't define __trunc__ method")
        if kind is int and number_kind(things[0]) in (int, bool):
            return to_number(things[0], int)
        values = [_number(number) for number in things]
        result = compute(*values, **options)
        if errors:
            _watch(original, values, result, kind, errors)
        result = paddle.cast(result, "int64") if kind is int else result
        result.stop_gradient = True
        return mark_number(result, kind)

    run.__name__ = run.__qualname__ = name
    return run


def _watch(
    original: Compute,
    values: list[bridge.Value],
    result: bridge.Value,
    kind: type,
    errors: tuple[type, ...],
) -> None:
    """Raise what ``original`` raises, on a run that has no finite result of proper numbers."""
    capture = current()
    if capture is None or capture.export:
        return
    for error in errors:
        check_uncaught(error)
    proper = paddle.isfinite(result)
    if original is math.log and len(values) == 2:  # the base alone may be outside of the domain
        proper = proper & paddle.isfinite(paddle.log(values[1]))
    if kind is not int:
        for value in values:
            proper = proper | paddle.isnan(value)

    def ask(*numbers: object) -> None:
        original(*numbers)

    select(proper, lambda: None, lambda: host_call(ask, values, effects=False))


def _log(value: bridge.Value, base: bridge.Value | None = None) -> bridge.Value:
    logarithm = paddle.log(value)
    return logarithm if base is None else paddle.divide(logarithm, paddle.log(base))


def _fmod(left: bridge.Value, right: bridge.Value) -> bridge.Value:
    rest = paddle.remainder(paddle.abs(left), paddle.abs(right))
    return paddle.where(left < 0, -rest, rest)


def _hypot(*values: bridge.Value) -> bridge.Value:
    total = values[0] * values[0]
    for value in values[1:]:
        total = total + value * value
    return paddle.sqrt(total)


def _isclose(
    left: bridge.Value, right: bridge.Value, *, rel_tol: float = 1e-09, abs_tol: float = 0.0
) -> bridge.Value:
    size = paddle.maximum(paddle.abs(left), paddle.abs(right))
    bound = paddle.maximum(paddle.multiply(size, wide(rel_tol)), wide(abs_tol))
    finite = paddle.isfinite(left) & paddle.isfinite(right)
    return (left == right) | (finite & (paddle.abs(left - right) <= bound))


def prod(things: Any, /, *, start: Any = 1) -> Any:
    """``math.prod``: of tensors it is a product of tensors, with their gradients."""
    if current() is None:
        return math.prod(things, start=start)
    found = items_known(things, "prod")
    if not any(bridge.is_value(item) or bridge.is_eager(item) for item in (start, *found)):
        return math.prod(found, start=start)
    total = start
    for item in found:
        total = total * item
    return total


def _of_ints(name: str, compute: Compute) -> Any:
    """The operator of a function of ``math`` that takes and gives whole numbers."""
    original = getattr(math, name)

    def run(*things: object) -> Any:
        for position, number in enumerate(things):
            if isinstance(number, Choice):
                before, after = things[:position], things[position + 1 :]
                return over(partial(_between, run, before, after), number)
        if current() is None or not any(map(is_tensor, things)):
            return original(*things)
        if any(number_kind(number) not in (int, bool) for number in things):
            return original(*things)  # a tensor would do for dygraph, if it holds an integer
        return mark_number(compute(*(to_number(number, int) for number in things)), int)

    run.__name__ = run.__qualname__ = name
    return run


def _between(run: Compute, before: tuple[Any, ...], after: tuple[Any, ...], found: object) -> Any:
    return run(*before, found, *after)


def _folding(function: Compute, empty: int) -> Compute:
    """``function`` of two whole numbers as one of any number of them."""

    def compute(*values: bridge.Value) -> bridge.Value:
        first = paddle.full([], empty, "int64")
        return paddle.abs(functools.reduce(function, values, first))

    return compute


def _isqrt(value: bridge.Value) -> bridge.Value:
    raise_when(value < 0, ValueError("isqrt() argument must be nonnegative"))
    root = paddle.cast(paddle.sqrt(paddle.cast(value, "float64")), "int64")
    root = paddle.where(root * root > value, root - 1, root)
    return paddle.where((root + 1) * (root + 1) <= value, root + 1, root)


_FACTORIALS: Final = [math.factorial(number) for number in range(21)]
"""Those that have 64 bits."""


def _factorial(value: bridge.Value) -> bridge.Value:
    raise_when(value < 0, ValueError("factorial() not defined for negative values"))
    raise_when(value > 20, OverflowError("an int that a tensor decides has 64 bits"))
    table = paddle.stack([paddle.full([], number, "int64") for number in _FACTORIALS])
    return table[paddle.clip(value, 0, 20)]


_DTYPES: Final = {int: "int64", float: "float64"}


def _named(function: Compute, names: tuple[str, ...], *things: object) -> Any:
    """``function`` of things, the last of which have ``names``, as ``steps`` of ``nextafter``."""
    count = len(things) - len(names)
    return function(*things[:count], **dict(zip(names, things[count:], strict=True)))


def _by_python(name: str, *kinds: type, of_items: bool = False) -> Compute:
    """The operator of a function of ``math`` that Python itself computes on each run.

    Args:
        name: the function.
        kinds: the type of the result; several for a tuple of them.
        of_items: it takes iterables of numbers.
    """
    original = getattr(math, name)
    metas: list[tuple[list[int], str]] = [([], _DTYPES[kind]) for kind in kinds]

    def run(*things: Any, **options: Any) -> Any:
        if current() is None or not (things or options):
            return original(*things, **options)
        if not of_items:
            return on(partial(_named, original, tuple(options)), *things, *options.values())
        for position, thing in enumerate(things):
            if isinstance(thing, Choice):
                before, after = things[:position], things[position + 1 :]
                return over(partial(_between, run, before, after), thing)
        items = [items_known(thing, name) for thing in things]

        def of(*numbers: object) -> Any:
            rest = iter(numbers)
            return original(*([next(rest) for _ in each] for each in items))

        return on(of, *(number for each in items for number in each))

    def on(function: Compute, *numbers: object) -> Any:
        for position, number in enumerate(numbers):
            if isinstance(number, Choice):
                before, after = (function, *numbers[:position]), numbers[position + 1 :]
                return over(partial(_between, on, before, after), number)
        places = [at for at, number in enumerate(numbers) if is_tensor(number)]
        if not places or not all(map(is_numeric, numbers)):
            return function(*numbers)  # raises what Python raises
        for error in (ValueError, OverflowError):
            check_uncaught(error)

        def compute(*found: object) -> list[Any]:
            known = dict(zip(places, found, strict=True))
            result = function(*(known.get(at, number) for at, number in enumerate(numbers)))
            return [_fitting(each) for each in (result if len(kinds) > 1 else [result])]

        values = host_values(compute, [numbers[at] for at in places], metas, f"math.{name}()")
        made = [mark_number(value, kind) for value, kind in zip(values, kinds, strict=True)]
        return made[0] if len(made) == 1 else tuple(made)

    run.__name__ = run.__qualname__ = name
    return run


def _fitting(number: object) -> object:
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise OverflowError("an int that a tensor decides has 64 bits")
    return number


_V: Final = (ValueError,)
_O: Final = (OverflowError,)

_TABLE: Final[dict[str, tuple[Compute, type, tuple[type, ...]]]] = {
    "acos": (paddle.acos, float, _V),
    "acosh": (paddle.acosh, float, _V),
    "asin": (paddle.asin, float, _V),
    "asinh": (paddle.asinh, float, ()),
    "atan": (paddle.atan, float, ()),
    "atan2": (paddle.atan2, float, ()),
    "atanh": (paddle.atanh, float, _V),
    "ceil": (paddle.ceil, int, (ValueError, OverflowError)),
    "copysign": (paddle.copysign, float, ()),
    "cos": (paddle.cos, float, _V),
    "cosh": (paddle.cosh, float, _O),
    "degrees": (lambda value: paddle.multiply(value, wide(180.0 / math.pi)), float, ()),
    "erf": (paddle.erf, float, ()),
    "exp": (paddle.exp, float, _O),
    "expm1": (paddle.expm1, float, _O),
    "fabs": (paddle.abs, float, ()),
    "floor": (paddle.floor, int, (ValueError, OverflowError)),
    "fmod": (_fmod, float, _V),
    "hypot": (_hypot, float, ()),
    "isclose": (_isclose, bool, ()),
    "isfinite": (paddle.isfinite, bool, ()),
    "isinf": (paddle.isinf, bool, ()),
    "isnan": (paddle.isnan, bool, ()),
    "log": (_log, float, (ValueError, ZeroDivisionError)),
    "log10": (paddle.log10, float, _V),
    "log1p": (paddle.log1p, float, _V),
    "log2": (paddle.log2, float, _V),
    "pow": (paddle.pow, float, (ValueError, OverflowError)),
    "radians": (lambda value: paddle.multiply(value, wide(math.pi / 180.0)), float, ()),
    "sin": (paddle.sin, float, _V),
    "sinh": (paddle.sinh, float, _O),
    "sqrt": (paddle.sqrt, float, _V),
    "tan": (paddle.tan, float, _V),
    "tanh": (paddle.tanh, float, ()),
    "trunc": (paddle.trunc, int, (ValueError, OverflowError)),
}

OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    getattr(math, name): _operator(name, *entry) for name, entry in _TABLE.items()
} | {
    math.prod: prod,
    math.gcd: _of_ints("gcd", _folding(paddle.gcd, 0)),
    math.lcm: _of_ints("lcm", _folding(paddle.lcm, 1)),
    math.isqrt: _of_ints("isqrt", _isqrt),
    math.factorial: _of_ints("factorial", _factorial),
    math.comb: _by_python("comb", int),
    math.dist: _by_python("dist", float, of_items=True),
    math.frexp: _by_python("frexp", float, int),
    math.fsum: _by_python("fsum", float, of_items=True),
    math.gamma: _by_python("gamma", float),
    math.ldexp: _by_python("ldexp", float),
    math.lgamma: _by_python("lgamma", float),
    math.modf: _by_python("modf", float, float),
    math.nextafter: _by_python("nextafter", float),
    math.perm: _by_python("perm", int),
    math.remainder: _by_python("remainder", float),
    math.ulp: _by_python("ulp", float),
}
"""The functions of ``math`` that have an operator."""
