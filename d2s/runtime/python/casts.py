"""Built-in functions of one thing mean on tensors of a program what they mean in dygraph (E1).

``int``, ``float``, ``bool`` and ``len`` of a tensor give a 0-D value that stands for a Python
number: 64 bits wide, weak beside tensors, a Python number again when it leaves the function.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ConditionError, NotStaticError, UnsupportedInGraphError
from d2s.runtime.control_flow.stops import note_stops
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.views import is_view, length_of
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import is_seen, raise_when
from d2s.runtime.values.choice import Choice, at_once, each
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_dtype,
    as_value,
    condition,
    is_array,
    is_tensor,
    mark_number,
    number_kind,
    special_method,
)


def over(use: Callable[[Any], Any], thing: object) -> Any:
    """``use`` of every alternative of ``thing``: now where they are constants, else on the run."""
    if isinstance(thing, Choice) and thing.plain:
        found = at_once(use, thing)
        if found is not None:
            return found
    return each(use, thing, plainly=True)


def to_number(value: Any, kind: type) -> Any:
    """A tensor of one element as a 0-D value that stands for a Python number."""
    value = as_value(value)
    if any(size > 1 for size in value.shape):
        raise error_here(
            ConditionError,
            f"{kind.__name__}() of a tensor of shape {list(value.shape)}, which needs one element",
            "take one element of it",
        )
    if value.dtype != as_dtype(NUMBER_DTYPES[kind]):
        value = paddle.cast(value, NUMBER_DTYPES[kind])
    elif not list(value.shape):
        value = paddle.assign(value)
    if list(value.shape):
        value = paddle.reshape(value, [])
    value.stop_gradient = True
    return mark_number(value, kind)


def _check_number(thing: Any, kind: type) -> None:
    """Raise what Python raises for a number that has no form as ``kind``: here, or on the run.

    Raises:
        TypeError: it is a complex number.
    """
    if thing.dtype in (paddle.complex64, paddle.complex128):
        kind(1j)
    if kind is int and thing.is_floating_point():
        value = as_value(thing)
        strange = paddle.logical_not(paddle.isfinite(value)).any()

        def complain() -> None:
            raise_when(paddle.isnan(value).any(), _NAN)
            raise_when(paddle.isinf(value).any(), _INFINITE)

        if is_seen(_NAN) or is_seen(_INFINITE):
            complain()
        else:  # the host is only asked when it has to be
            paddle.static.nn.cond(strange, complain)


_NAN: Final = ValueError("cannot convert float NaN to integer")
_INFINITE: Final = OverflowError("cannot convert float infinity to integer")


def _cast(kind: type) -> Any:
    def cast(thing: object = 0, /, *others: Any, **options: Any) -> Any:
        if isinstance(thing, Choice):
            return over(cast, thing)
        if is_array(thing) and not others and not options:
            return thing.d2s_number(kind)
        if isinstance(thing, HostText) and not options:
            return thing.d2s_number(kind, *others)
        if current() is not None and is_tensor(thing) and not others and not options:
            _check_number(thing, kind)
            return to_number(thing, kind)
        if current() is not None and not others and not options:
            asked = special_method(thing, f"__{kind.__name__}__", "__index__")
            if asked is not None:
                number = asked(thing)
                return cast(number) if is_tensor(number) else number
        return kind(thing, *others, **options)

    cast.__name__ = cast.__qualname__ = kind.__name__
    return cast


int_ = _cast(int)
float_ = _cast(float)


def bool_(thing: object = False, /) -> Any:
    """``bool``."""
    test = condition(thing)
    if bridge.is_value(test):
        return mark_number(paddle.assign(test), bool)
    return bool(test)


def len_(thing: Any, /) -> Any:
    """``len``: an int where the dimension is known, else a 0-D value that stands for one."""
    if isinstance(thing, Choice):
        return over(len_, thing)
    if isinstance(thing, DynamicList):
        return thing.d2s_len()
    if isinstance(thing, Indexed):
        if thing.is_iterator:
            kind = thing.kind
            home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            raise TypeError(f"object of type '{home}{kind.__name__}' has no len()")
        return thing.length
    if is_array(thing) or isinstance(thing, HostText):
        return thing.d2s_len()
    if is_view(thing):
        return _length(length_of(thing))
    if current() is None:
        return len(thing)
    if bridge.is_array(thing):
        return mark_number(paddle.tensor.array_length(thing).reshape([]), int)
    if not is_tensor(thing):
        method = getattr(type(thing), "__len__", None)
        # Python's len() would insist on an int; the run may be what knows it.
        return _length(method(thing)) if isinstance(method, types.FunctionType) else len(thing)
    if not list(thing.shape):
        raise AssertionError("len() of a 0-D tensor is wrong")
    if thing.shape[0] >= 0:
        return int(thing.shape[0])
    return mark_number(paddle.shape(thing)[0].astype("int64"), int)


def _length(given: Any) -> Any:
    """What a ``__len__`` of the user's gives, as ``len`` gives it."""
    negative = ValueError("__len__() should return >= 0")
    if is_tensor(given):
        raise_when(given < 0, negative)
    elif type(given) is int and given < 0:
        raise negative
    return given


def abs_(thing: Any, /) -> Any:
    """``abs``."""
    if isinstance(thing, Choice):
        return over(abs_, thing)
    kind = number_kind(thing)
    if kind is not None and bridge.is_value(thing):
        if kind is bool:
            return to_number(thing, int)
        return mark_number(paddle.abs(thing), kind)
    return abs(thing)


def round_(number: Any, ndigits: Any = None) -> Any:
    """``round`` of a number that the run knows; dygraph tensors have none."""
    if isinstance(number, Choice):
        return over(lambda found: round_(found, ndigits), number)
    if current() is None or not is_tensor(number):
        return round(number, ndigits)
    kind = number_kind(number)
    if kind is None:
        raise TypeError("type Tensor doesn't define __round__ method")
    if ndigits is not None and (type(ndigits) is not int or not 0 <= ndigits <= 22):
        raise error_here(
            UnsupportedInGraphError,
            "round() of a number that the run decides is asked for digits that are not known "
            "now, or left of the point",
            "round to a constant number of digits right of the point",
        )
    if kind is not float:
        return to_number(number, int)
    if ndigits is None:
        finite = paddle.isfinite(number)
        raise_when(paddle.isnan(number), _NAN)
        raise_when(paddle.isinf(number), _INFINITE)
        whole = _half_even(paddle.where(finite, number, wide(0.0)), wide(0.0))
        return mark_number(paddle.cast(whole, "int64"), int)
    return _rounded(number, ndigits)


def wide(number: float) -> Any:
    """A constant with all its 64 bits; as an operand in Python form it would lose half of them."""
    return paddle.full([], number, "float64")


def _rounded(number: object, ndigits: int) -> Any:
    """A float to ``ndigits`` decimals, correctly: the error of the product decides at a tie."""
    scale = wide(10.0**ndigits)
    product = paddle.multiply(number, scale)
    made = paddle.divide(_half_even(product, _lost(number, scale, product)), scale)
    made = paddle.where(made == wide(0.0), paddle.multiply(number, wide(0.0)), made)  # or -0.0
    kept = (paddle.abs(product) >= wide(2.0**52)) | ~paddle.isfinite(product)  # nothing to cut
    return mark_number(paddle.where(kept, number, made), float)


def _lost(left: object, right: object, product: object) -> Any:
    """What the product of two floats lacks, exactly (Veltkamp and Dekker)."""
    halves = []
    for factor in (left, right):
        big = paddle.multiply(factor, wide(134217729.0))
        high = paddle.subtract(big, paddle.subtract(big, factor))
        halves.append((high, paddle.subtract(factor, high)))
    (a, b), (c, d) = halves
    error = paddle.subtract(paddle.multiply(a, c), product)
    for pair in ((a, d), (b, c), (b, d)):
        error = paddle.add(error, paddle.multiply(*pair))
    return error


def _half_even(product: object, error: object) -> Any:
    """The nearest whole number of ``product + error``, a small one; ties go to the even one."""
    floor = paddle.floor(product)
    rest, half, zero = paddle.subtract(product, floor), wide(0.5), wide(0.0)
    odd = paddle.remainder(floor, wide(2.0)) != zero
    up = (rest > half) | ((rest == half) & ((error > zero) | ((error == zero) & odd)))
    return paddle.add(floor, paddle.cast(up, "float64"))


def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    """``pow``."""
    if mod is None:
        return base**exp
    if any(is_tensor(each) or isinstance(each, Choice) for each in (base, exp, mod)):
        raise error_here(
            UnsupportedInGraphError,
            "pow() with a modulus is asked for numbers that the run decides",
            "multiply in a loop, and take the rest each time",
        )
    return pow(base, exp, mod)


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent`` of whole numbers, one of which the run knows: no rounding.

    As in Python it is a float where the exponent is negative.
    """
    if type(exponent) in (int, bool):
        return _fraction(base, exponent) if exponent < 0 else _whole(base, exponent)
    negative = exponent < 0
    if bridge.is_value(base) or base == 0:
        raise_when(negative & (as_value(base) == 0), _zero_to_negative())
    return Choice(negative, _fraction(base, exponent), _whole(base, exponent), "power")


def _zero_to_negative() -> Exception:
    try:
        return ValueError(0**-1)
    except ZeroDivisionError as error:
        return error.with_traceback(None)


def _fraction(base: object, exponent: object) -> Any:
    """The power with a negative exponent."""
    if bridge.is_value(base) and not bridge.is_value(exponent):
        raise_when(as_value(base) == 0, _zero_to_negative())
    factors = [paddle.cast(as_value(each), "float64") for each in (base, exponent)]
    return mark_number(paddle.pow(*factors), float)


def _whole(base: Any, exponent: Any) -> Any:
    """The power with an exponent that is not negative, by squares: in 64 bits, as ints are here."""
    square = paddle.cast(as_value(base), "int64")
    made = wide_int(1)
    if not bridge.is_value(exponent):
        while exponent:
            if exponent & 1:
                made = paddle.multiply(made, square)
            exponent >>= 1
            square = paddle.multiply(square, square) if exponent else square
        return mark_number(made, int)
    rest = paddle.cast(exponent, "int64")
    large = rest > 63  # of -1, 0 and 1 only the parity counts, of others nothing is left
    rest = paddle.where(large, paddle.bitwise_and(rest, wide_int(1)) + 62, rest)
    for bit in range(6):
        taken = paddle.bitwise_and(rest, wide_int(1 << bit)) != 0
        made = paddle.where(taken, paddle.multiply(made, square), made)
        square = paddle.multiply(square, square)
    return mark_number(made, int)


def is_whole(number: object) -> Any:
    """``float.is_integer``."""
    return mark_number(paddle.isfinite(number) & (paddle.floor(number) == number), bool)


def _bit_length(number: object) -> object:
    """``int.bit_length``."""
    bits = paddle.arange(64, dtype="int64")
    left = paddle.bitwise_right_shift(paddle.reshape(paddle.abs(number), [1]), bits)
    return mark_number((left > 0).astype("int64").sum(), int)


_OF_NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "real": lambda number: number,
    "imag": lambda number: number_kind(number)() if number_kind(number) is not bool else 0,  # type: ignore[misc]
    "conjugate": lambda number: lambda: number,
    "numerator": lambda number: number,
    "denominator": lambda number: 1,
    "bit_length": lambda number: lambda: _bit_length(number),
}
"""Attributes of Python's numbers, of one that the run decides."""


def attributes_of_numbers() -> dict[str, Any]:
    """What values have that stand for numbers, by name; others keep what Paddle gives them."""
    names = {name for kind in NUMBER_DTYPES for name in dir(kind) if not name.startswith("_")}
    ours = [name for name in names if name in _OF_NUMBERS or not hasattr(bridge.Value, name)]
    made: dict[str, Any] = {
        name: property(_attribute(name, getattr(bridge.Value, name, None))) for name in ours
    }
    made["__deepcopy__"] = _deep_copied
    return made


def _deep_copied(value: bridge.Value, memo: dict[int, Any]) -> bridge.Value:
    """``copy.deepcopy`` of a tensor: a leaf, at which a gradient of its own arrives."""
    if number_kind(value):
        return value
    copy = paddle.assign(value)
    capture = current()
    if capture is not None and capture.gradients:
        stops = bool(bridge.taken(value, capture.facts()).stop_gradient)
        bridge.cut(copy)
        copy.stop_gradient = stops
        note_stops(copy, stops)
    memo[id(value)] = copy
    return copy


def of_arrays(name: str) -> Callable[[Any], Any]:
    """What gets a method that arrays of tensors have, and tensors of dygraph have not."""
    paddles = getattr(bridge.Value, name)

    def get(self: Any) -> Any:
        if not self.is_dense_tensor_array_type():
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        return paddles.__get__(self)

    return get


def _attribute(name: str, paddles: object) -> Callable[[object], object]:
    """What gets the attribute ``name`` of a value."""

    def get(self: object) -> object:
        kind = number_kind(self)
        if kind is None or not hasattr(kind, name):
            if paddles is None:
                raise AttributeError(f"'Tensor' object has no attribute {name!r}")
            return paddles.__get__(self)  # type: ignore[attr-defined]
        if name in _OF_NUMBERS:
            return _OF_NUMBERS[name](to_number(self, int) if kind is bool else self)
        raise error_here(
            NotStaticError,
            f"{name} asks for the value of a number that a tensor decides",
            "compute with the number itself, or with the tensor",
        )

    return get


BITS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "__and__": paddle.bitwise_and,
    "__or__": paddle.bitwise_or,
    "__xor__": paddle.bitwise_xor,
    "__lshift__": paddle.bitwise_left_shift,
    "__rshift__": paddle.bitwise_right_shift,
}
_SYMBOLS: Final = dict(zip(BITS, ("&", "|", "^", "<<", ">>"), strict=True))

_SWAPPED: Final = {f"__r{name[2:]}": name for name in BITS}

BITS.update({swapped: BITS[name] for swapped, name in _SWAPPED.items()})
"""Operators of the bits of whole numbers, and those with swapped operands."""


ARITHMETIC: Final = frozenset(
    f"__{swapped}{name}__"
    for name in ("add", "sub", "mul", "floordiv", "mod", "pow")
    for swapped in ("", "r")
)
"""Operators of which Python takes a truth value for 0 or 1."""


_DIVIDING: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "__truediv__": operator.truediv,
    "__floordiv__": operator.floordiv,
    "__mod__": operator.mod,
}


def check_divisor(mine: object, other: object, name: str) -> None:
    """Let a division of numbers raise where its divisor is zero on the run."""
    swapped = name.startswith("__r")
    divide = _DIVIDING.get(f"__{name[3:]}" if swapped else name)
    kinds = number_kind(mine), number_kind(other)
    if divide is None or None in kinds:
        return
    divisor = mine if swapped else other
    if is_tensor(divisor):
        raise_when(as_value(divisor) == 0, _divided_by_zero(divide, kinds))
    elif divisor == 0:
        raise _divided_by_zero(divide, kinds)


def _divided_by_zero(divide: Callable[[Any, Any], Any], kinds: tuple[Any, Any]) -> Exception:
    """What Python says of numbers of these kinds, the second of which is zero."""
    try:
        divide(kinds[0](), kinds[1]())
    except ZeroDivisionError as error:
        return error.with_traceback(None)
    raise AssertionError(kinds)


def bits(name: str, mine: object, other: object) -> Any:
    """An operator of bits, of numbers one of which the run knows."""
    swapped = name in _SWAPPED
    if float in (number_kind(mine), number_kind(other)):
        kinds = [_name(each, number_kind(each)) for each in (mine, other)]
        left, right = reversed(kinds) if swapped else kinds
        symbol = _SYMBOLS[_SWAPPED.get(name, name)]
        raise TypeError(f"unsupported operand type(s) for {symbol}: {left!r} and {right!r}")
    logical = number_kind(mine) is bool and number_kind(other) is bool and "shift" not in name
    operands = [
        paddle.cast(as_value(each), "bool" if logical else "int64") for each in (mine, other)
    ]
    if name[2] == "r" and name != "__rshift__":
        operands.reverse()
    if "shift" in name:
        raise_when(operands[1] < 0, ValueError("negative shift count"))
    return mark_number(BITS[name](*operands), bool if logical else int)


def wide_int(number: int) -> Any:
    """A constant of 64 bits."""
    return paddle.full([], number, "int64")


def divmod_(left: Any, right: Any, /) -> Any:
    """``divmod`` of numbers that the run knows; dygraph tensors have none."""
    if isinstance(left, Choice):
        return each(lambda found: divmod_(found, right), left)
    if isinstance(right, Choice):
        return each(lambda found: divmod_(left, found), right)
    if current() is None or not (is_tensor(left) or is_tensor(right)):
        return divmod(left, right)
    kinds = number_kind(left), number_kind(right)
    if None in kinds:
        names = [_name(operand, kind) for operand, kind in zip((left, right), kinds, strict=True)]
        raise TypeError(f"unsupported operand type(s) for divmod(): {names[0]!r} and {names[1]!r}")
    raise_when(as_value(right) == 0, _divided_by_zero(divmod, kinds))
    return left // right, left % right


def _name(thing: object, kind: type | None) -> str:
    if kind is not None:
        return kind.__name__
    return "Tensor" if is_tensor(thing) else type(thing).__name__
