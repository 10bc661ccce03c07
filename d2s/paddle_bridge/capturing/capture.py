"""A program under capture: tensors of dygraph as its parameters, operators that take both."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import paddle

from d2s.paddle_bridge.capturing.exact import divisor, quotient
from d2s.paddle_bridge.capturing.parameters import forget, recorded
from d2s.paddle_bridge.methods import set_method, stand_in
from d2s.paddle_bridge.names import (
    EagerTensor,
    LayerHelperBase,
    Value,
    graph_tracing_guard,
    unique_name,
)
from d2s.paddle_bridge.values import as_value, is_value

_ARITHMETIC: Final = [
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__rtruediv__",
    "__floordiv__",
    "__rfloordiv__",
    "__mod__",
    "__rmod__",
    "__pow__",
    "__rpow__",
    "__matmul__",
    "__rmatmul__",
    "__and__",
    "__rand__",
    "__or__",
    "__ror__",
    "__xor__",
    "__rxor__",
    "__lshift__",
    "__rlshift__",
    "__rshift__",
    "__rrshift__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__eq__",
    "__ne__",
    "__neg__",
    "__invert__",
    "__getitem__",
    "__abs__",
]
_COPYING: Final = ("clone", "detach", "__deepcopy__")
"""Methods of dygraph tensors that crash in static mode, as the operators do."""

_READING: Final = (
    "item", "numpy", "tolist", "__array__", "__bool__", "__float__", "__int__", "__index__",
)  # fmt: skip
"""Methods of dygraph tensors that give their contents to Python."""

Said = Callable[[Exception, str, tuple[Any, ...]], Exception]
"""Given an exception, the name of an operator and its operands."""

_patch_lock = threading.RLock()
_patch_depth = 0
_saved: list[tuple[type, str, Any]] = []


def _eager_operator(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Any, *others: Any) -> Any:
        if paddle.in_dynamic_mode():
            return original(self, *others)
        return getattr(as_value(self), name)(*others)

    return operator


def _eager_method(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    if name != "__getitem__" or not isinstance(original, types.FunctionType):
        return _eager_operator(name, original)
    made: Callable[..., Any] = stand_in(
        original, lambda each: functools.wraps(each)(_eager_operator(name, each))
    )
    return made


def _reading_method(original: Callable[..., Any], noticed: Callable[[Any], None]) -> Any:
    def read(self: Any, *arguments: Any, **options: Any) -> Any:
        if not paddle.in_dynamic_mode():
            noticed(self)
            # tolist() is "only supported in dynamic graph mode", where this tensor is from.
            return getattr(original, "__wrapped__", original)(self, *arguments, **options)
        return original(self, *arguments, **options)

    return read


class Answer(NamedTuple):
    """What an expression gives that is no operation of tensors, in the place of its operand."""

    value: Any


def _value_operator(
    name: str,
    original: Callable[..., Any],
    adapt: Callable[[Any, Any, str], Any],
    finish: Callable[[tuple[Any, ...], str, Any], Any],
    said: Said,
) -> Any:
    def operator(self: Any, *others: Any) -> Any:
        adapted = [adapt(self, other, name) for other in others]
        if any(operand is NotImplemented for operand in adapted):
            return NotImplemented
        if adapted and isinstance(adapted[0], Answer):
            return adapted[0].value
        mine = self
        if name != "__matmul__" and others and is_value(others[0]):  # there, the second one adapts
            mine = adapt(others[0], self, "")
        divided = quotient(mine, adapted[0]) if name == "__truediv__" else None
        if divided is not None:
            return finish((self, *others), name, divided)
        if name == "__truediv__":
            adapted = [divisor(mine, adapted[0])]
        power = name == "__pow__" and _is_plain_power(mine, adapted[0])
        try:
            result = paddle.pow(mine, *adapted) if power else original(mine, *adapted)
        except Exception as error:
            failure = said(error, name, (mine, *adapted))
        else:
            return finish((self, *others), name, result)
        try:
            raise failure
        finally:
            del failure  # which knows this frame

    return operator


def _is_plain_power(base: Any, exponent: Any) -> bool:
    """Whether the power by a number is an operation of its own in dygraph, which rounds otherwise.

    That of integers does not round at all; with a negative exponent it does not come to an end.
    """
    if type(exponent) not in (int, float):
        return False
    return bool(base.is_floating_point()) or (type(exponent) is int and exponent >= 0)


@contextlib.contextmanager
def tensors_as_values(
    adapt: Callable[[Any, Any, str], Any],
    finish: Callable[[tuple[Any, ...], str, Any], Any],
    refusals: dict[str, Callable[..., Any]],
    noticed: Callable[[Any], None],
    said: Said,
) -> Iterator[None]:
    """While a program is captured, let dygraph tensors take part in expressions.

    Paddle 3.3 crashes when an operator of a dygraph tensor is called in static mode.  For the
    time of the capture the operators of both classes are wrapped; in dygraph mode (of another
    thread, say) the wrappers call the originals.

    Args:
        adapt: makes the second of two operands fit the first, for the operator of that name;
            ``NotImplemented`` leaves the expression to the second one.  Without a name it makes
            the first one fit the second.
        finish: sees the operands, the operator's name and the result, and gives the result.
        refusals: methods of values that are replaced, such as ``__bool__``.
        noticed: told of a dygraph tensor whose contents Python reads during the capture.
        said: from what Paddle has raised for an operator to what is to be raised.
    """
    global _patch_depth
    with _patch_lock:
        _patch_depth += 1
        if _patch_depth == 1:
            for name in _ARITHMETIC:
                for owner in (EagerTensor, Value):
                    original = getattr(owner, name, None)
                    if original is None or (owner is Value and name == "__getitem__"):
                        continue
                    _saved.append((owner, name, original))
                    if owner is EagerTensor:
                        set_method(owner, name, _eager_method(name, original))
                    else:
                        setattr(owner, name, _value_operator(name, original, adapt, finish, said))
            for name in _COPYING:
                original = getattr(EagerTensor, name)
                _saved.append((EagerTensor, name, original))
                setattr(EagerTensor, name, _eager_operator(name, original))
            for name in _READING:
                original = getattr(EagerTensor, name)
                _saved.append((EagerTensor, name, original))
                setattr(EagerTensor, name, _reading_method(original, noticed))
            for name, method in refusals.items():
                _saved.append((Value, name, getattr(Value, name, None)))
                setattr(Value, name, method)
    try:
        yield
    finally:
        with _patch_lock:
            _patch_depth -= 1
            if _patch_depth == 0:
                while _saved:
                    owner, name, original = _saved.pop()
                    if original is None:
                        delattr(owner, name)
                    else:
                        set_method(owner, name, original)


@contextlib.contextmanager
def checked_operations(checks: dict[str, Callable[..., None]]) -> Iterator[None]:
    """Call ``checks`` with an operation and its arguments before it is made.

    Args:
        checks: by the name of the operation in ``paddle._C_ops``; one that this Paddle does not
            have cannot be made.
    """

    def checked(check: Callable[..., None], original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any, **options: Any) -> Any:
            check(original, *arguments, **options)
            return original(*arguments, **options)

        return operation

    before = {name: getattr(paddle._C_ops, name) for name in checks if hasattr(paddle._C_ops, name)}
    for name, original in before.items():
        setattr(paddle._C_ops, name, checked(checks[name], original))
    try:
        yield
    finally:
        for name, original in before.items():
            setattr(paddle._C_ops, name, original)


@contextlib.contextmanager
def parameters_made(make: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Let ``make`` make the parameters that are asked for while a program is captured.

    Args:
        make: gets what makes one as Paddle does.
    """
    original = LayerHelperBase.create_parameter

    def create(helper: Any, *arguments: Any, **options: Any) -> Any:
        if paddle.in_dynamic_mode():
            return original(helper, *arguments, **options)
        return make(lambda: original(helper, *arguments, **options))

    LayerHelperBase.create_parameter = create
    try:
        yield
    finally:
        LayerHelperBase.create_parameter = original


@contextlib.contextmanager
def names_kept() -> Iterator[None]:
    """Where an exception leaves, the names that Paddle has made up are free again."""
    generator = unique_name.generator
    before = dict(generator.ids)
    try:
        yield
    except BaseException:
        generator.ids.clear()
        generator.ids.update(before)
        raise


_gc_lock = threading.Lock()
_gc_depth = 0
_gc_before = True


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's cyclic garbage collector out while a program is captured or differentiated.

    With the collector running, Paddle 3.3.1 was now and then left with dangling values while it
    built gradients, and the process died (4 of 4 runs of 40 captures under an eager collector);
    without it, in none of 6.  That freeing the program of a function that is gone is what does it
    is our guess.
    """
    global _gc_depth, _gc_before
    with _gc_lock:
        _gc_depth += 1
        if _gc_depth == 1:
            _gc_before = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _gc_lock:
            _gc_depth -= 1
            if _gc_depth == 0 and _gc_before:
                gc.enable()


@contextlib.contextmanager
def tracing(program: Any, check: Callable[[Any], None] = lambda tensor: None) -> Iterator[Any]:
    """Capture into ``program``; dygraph tensors become its parameters (``get_params…`` after).

    Args:
        program: the program.
        check: is given each of these tensors before, and may raise.
    """
    startup = paddle.static.Program()
    forget(program)
    try:
        with (
            paddle.static.program_guard(program, startup),
            graph_tracing_guard(program) as context,
            recorded(program, check),
        ):
            yield context
    except BaseException:
        forget(program)
        raise
