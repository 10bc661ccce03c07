"""``d2s.call(f)``: what to call in place of ``f`` (rule E2).

A Python function of the user's becomes its converted form, a built-in its operator, a layer one
whose ``forward`` is converted; Paddle, C functions, the standard library and what is named in
``ignore_module`` or ``not_to_static`` stay as they are.
"""

from __future__ import annotations

import builtins
import functools
import logging
import os
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.errors import InplaceError, NotStaticError, TensorRecursionError
from d2s.operators import casts, effects, iteration
from d2s.operators.context import current, error_here
from d2s.operators.either import Either
from d2s.operators.lists import GrowingList
from d2s.operators.values import cast_plain, mark_number

SKIP: Final = "__d2s_not_to_static__"
"""The attribute that ``d2s.not_to_static`` sets on a function."""

RECURSION_LIMIT: Final = 60
"""How often a function may call itself under a tensor condition before it counts as endless."""

_ignored_files: list[str] = []
_converter: Callable[[types.FunctionType], Callable[..., Any]] | None = None


def set_converter(converter: Callable[[types.FunctionType], Callable[..., Any]]) -> None:
    """Tell how a plain function is converted; called once, by ``d2s.conversion``."""
    global _converter
    _converter = converter


def ignore_file(prefix: str) -> None:
    """Leave functions alone whose file begins with ``prefix``."""
    if prefix not in _ignored_files:
        _ignored_files.append(prefix)


def _roots_of(*files: str | None) -> tuple[str, ...]:
    return tuple(str(Path(file).resolve().parent) + os.sep for file in files if file)


_PACKAGES: Final = _roots_of(paddle.__file__, np.__file__)
_STDLIB: Final = tuple({sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib")})
_SITE: Final = tuple({sysconfig.get_paths()[key] + os.sep for key in ("purelib", "platlib")})


def is_library(file: str) -> bool:
    """Whether code of ``file`` is never converted: ours, Paddle, NumPy, the standard library."""
    if is_ours(file) or file.startswith(("<frozen", *_PACKAGES, *_ignored_files)):
        return True
    return file.startswith(_STDLIB) and not file.startswith(_SITE)


def call_method(thing: Any) -> Any:
    """The ``__call__`` that the class of ``thing`` defines, or ``None``."""
    for owner in type(thing).__mro__:
        if "__call__" in vars(owner):
            return vars(owner)["__call__"]
    return None


def call(function: Any) -> Any:
    """The function to call in place of ``function``."""
    if type(function) is types.FunctionType:
        return _function(function)
    if type(function) is types.MethodType:
        return _method(function)
    operator = _operator_of(function)
    if operator is not None:
        return operator
    original = getattr(function, "d2s_original", None)
    if original is not None:
        return call(original)
    if isinstance(function, functools.partial):
        return functools.partial(call(function.func), *function.args, **function.keywords)
    if isinstance(function, paddle.nn.Layer):
        return _layer(function)
    if isinstance(function, bridge.ASTStaticFunction):
        return call(function.dygraph_function)
    if isinstance(function, type | types.BuiltinFunctionType | types.BuiltinMethodType):
        return _plain(function)
    implementation = call_method(function)
    if isinstance(implementation, types.FunctionType):
        converted = _function(implementation, function)
        if converted is not implementation:
            return types.MethodType(converted, function)
    return _plain(function)


def _function(function: types.FunctionType, owner: Any = None) -> Any:
    special = _SPECIAL.get(function)
    if special is not None:
        return special
    if getattr(function, SKIP, False) or is_library(function.__code__.co_filename):
        return _plain(function)
    _watch_recursion(function)
    assert _converter is not None
    converted = _converter(function)
    capture = current()
    if capture is not None and capture.on_call is not None:
        capture.on_call(function, owner)
    return converted


def _method(method: types.MethodType) -> Any:
    owner, function = method.__self__, method.__func__
    if bridge.is_value(owner) or isinstance(owner, Either):
        return _tensor_method(owner, method)
    if isinstance(owner, logging.Logger) and function.__name__ in _LOG_METHODS:
        return effects.log_(method) if current() is not None else method
    if isinstance(function, types.FunctionType):
        converted = _function(function, owner)
        if converted is function:
            return method
        return types.MethodType(converted, owner)
    return types.MethodType(call(function), owner)


def _tensor_method(owner: Any, method: Any) -> Any:
    name = method.__name__
    if name in ("numpy", "tolist"):
        raise error_here(
            NotStaticError,
            f".{name}() asks for the values of a tensor while the program is being captured",
            "compute with the tensor itself, with functions of Paddle",
        )
    if name in ("item", "_item"):
        return lambda *index: _item(owner, *index)
    if name.endswith("_") and not name.endswith("__"):
        raise error_here(
            InplaceError,
            f"the in-place method .{name}() has no effect in a captured program",
            f"write x = x.{name[:-1]}(...) instead",
        )
    return _plain(method)


def _item(owner: Any, *index: Any) -> Any:
    """``.item()``: a 0-D value that stands for a Python number."""
    value = owner if not index else owner.flatten()[index[0]] if len(index) == 1 else owner[index]
    name = str(value.dtype).split(".")[-1]
    if name == "bool":
        return mark_number(cast_plain(value, "bool").reshape([]), bool)
    return casts.int_(value) if "int" in name else casts.float_(value)


def _plain(function: Any) -> Any:
    """``function`` as it is; while a program is captured, its arguments are made plain."""
    if current() is None:
        return function

    def plain(*arguments: Any, **options: Any) -> Any:
        return function(
            *(_made_plain(item) for item in arguments),
            **{key: _made_plain(item) for key, item in options.items()},
        )

    return plain if isinstance(function, types.FunctionType | types.MethodType) else function


def _made_plain(thing: Any) -> Any:
    if isinstance(thing, Either):
        return thing.get()
    if type(thing) in (list, tuple) and any(isinstance(item, Either) for item in thing):
        return type(thing)(_made_plain(item) for item in thing)
    return thing


def _layer(layer: Any) -> Any:
    """``layer`` as a function; its hooks run, its ``forward`` is converted."""
    forward = layer.forward
    original = getattr(forward, "d2s_original", None)
    if original is not None:
        forward = original
    elif isinstance(forward, bridge.ASTStaticFunction):
        forward = forward.dygraph_function
    converted = call(forward) if type(forward) is types.MethodType else forward
    function = getattr(forward, "__func__", None)
    if converted is forward or getattr(converted, "__func__", None) is function:
        return layer

    def run(*arguments: Any, **options: Any) -> Any:
        fields = layer.__dict__
        missing = "forward" not in fields
        before = fields.get("forward")
        fields["forward"] = converted
        try:
            return layer(*arguments, **options)
        finally:
            if missing:
                del fields["forward"]
            else:
                fields["forward"] = before

    return run


def _watch_recursion(function: types.FunctionType) -> None:
    """Refuse endless capture: a function that calls itself under a tensor condition (E3)."""
    capture = current()
    if capture is None or not capture.guarded:
        return
    code, count = function.__code__, 0
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        other = frame.f_code
        if (
            other.co_firstlineno == code.co_firstlineno
            and other.co_filename == code.co_filename
            and other.co_name == code.co_name
        ):
            count += 1
            if count > RECURSION_LIMIT:
                raise error_here(
                    TensorRecursionError,
                    f"{function.__name__!r} calls itself under a condition that only the run can "
                    "decide",
                    "write the recursion as a while loop",
                )
        frame = frame.f_back


def _map(function: Any, *things: Any) -> Any:
    return map(call(function), *(iteration.items_of(thing) for thing in things))


def _filter(function: Any, things: Any) -> Any:
    return filter(None if function is None else call(function), iteration.items_of(things))


def _sorted(things: Any, *, key: Any = None, reverse: bool = False) -> Any:
    items = iteration.items_of(things)
    return sorted(items, key=None if key is None else call(key), reverse=reverse)


def _stack(things: Any, axis: int = 0, *others: Any, **options: Any) -> Any:
    if not isinstance(things, GrowingList):
        return paddle.stack(_made_plain(things), axis, *others, **options)
    stacked = things.stacked()
    if axis in (0, -len(stacked.shape)):
        return stacked
    return paddle.moveaxis(stacked, 0, axis)


def _concat(things: Any, axis: Any = 0, *others: Any, **options: Any) -> Any:
    if not isinstance(things, GrowingList):
        return paddle.concat(_made_plain(things), axis, *others, **options)
    stacked = things.stacked()
    rank = len(stacked.shape) - 1
    axis = axis + rank if axis < 0 else axis
    moved = paddle.moveaxis(stacked, 0, axis)
    shape = paddle.shape(moved).astype("int64")
    sizes: list[Any] = [
        shape[index] if size < 0 else size for index, size in enumerate(moved.shape)
    ]
    return paddle.reshape(moved, [*sizes[:axis], -1, *sizes[axis + 2 :]])


def _add_n(things: Any, *others: Any, **options: Any) -> Any:
    if isinstance(things, GrowingList):
        return things.stacked().sum(0)
    return paddle.add_n(_made_plain(things), *others, **options)


_LOG_METHODS: Final = frozenset(
    ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")
)

_SPECIAL: Final[dict[Any, Callable[..., Any]]] = {
    paddle.stack: _stack,
    paddle.concat: _concat,
    paddle.add_n: _add_n,
}

_BUILTINS: Final[dict[Any, Callable[..., Any]]] = {
    builtins.abs: casts.abs_,
    builtins.all: casts.all_,
    builtins.any: casts.any_,
    builtins.bool: casts.bool_,
    builtins.enumerate: iteration.enumerate_,
    builtins.filter: _filter,
    builtins.float: casts.float_,
    builtins.int: casts.int_,
    builtins.isinstance: casts.isinstance_,
    builtins.len: casts.len_,
    builtins.map: _map,
    builtins.max: casts.max_,
    builtins.min: casts.min_,
    builtins.print: effects.print_,
    builtins.range: iteration.range_,
    builtins.reversed: iteration.reversed_,
    builtins.sorted: _sorted,
    builtins.sum: casts.sum_,
    builtins.zip: iteration.zip_,
}


def _operator_of(function: Any) -> Any:
    """The operator of a built-in, while a program is being captured."""
    try:
        found = _BUILTINS.get(function)
    except TypeError:  # not hashable: no built-in
        return None
    if found is None or current() is None:
        if found is _map or found is _filter or found is _sorted:
            return found
        return None
    return found
