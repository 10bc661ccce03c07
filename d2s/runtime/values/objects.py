"""Whose a file, class or object is: the user's, or a library's."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours

_ignored_files: list[str] = []

KEEP_ELSEWHERE: Final = (
    "keep it in a tensor, a list, a dict or an attribute, or change it outside of the converted "
    "function"
)
"""The cure for a change that only Python can make."""


def changes(thing: Any, path: str) -> str:
    """What is said of a function that changes ``thing``, which a reader would call ``path``."""
    return (
        f"the function changes {path!r}, of type {type(thing).__name__!r}, which a run of its "
        "program would not do"
    )


def ignore_module(module: types.ModuleType) -> None:
    """Leave the functions of a module and of its submodules alone."""
    paths = [str(path) + os.sep for path in getattr(module, "__path__", ())]
    file = getattr(module, "__file__", None)
    for prefix in paths if hasattr(module, "__path__") else [file]:
        if prefix is not None and prefix not in _ignored_files:
            _ignored_files.append(prefix)


class _Paddles:
    """How many modules of ``paddle.jit.ignore_module`` are known."""

    known = 0


def _take_over() -> None:
    """Leave alone what ``paddle.jit.ignore_module`` was given."""
    for module in bridge.ignored_modules(_Paddles.known):
        _Paddles.known += 1
        if isinstance(module, types.ModuleType):
            ignore_module(module)


def _roots_of(*files: str | None) -> tuple[str, ...]:
    folders = [Path(file).parent for file in files if file]
    return tuple(str(path) + os.sep for folder in folders for path in (folder, folder.resolve()))


_PACKAGES: Final = _roots_of(paddle.__file__, np.__file__)
_KEEPS_STATE: Final = tuple(
    f"{root}{folder}{os.sep}"
    for root in _roots_of(paddle.__file__)
    for folder in ("quantization", str(Path("nn", "quant")))
)
"""Code of Paddle that is read as a user's: its layers keep tensors of one call for the next."""
_STDLIB: Final = tuple({sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib")})
_SITE: Final = tuple({sysconfig.get_paths()[key] + os.sep for key in ("purelib", "platlib")})


def is_library(file: str) -> bool:
    """Whether code of ``file`` is never converted: ours, Paddle, NumPy, the standard library.

    Of Paddle, what trains quantized models is converted.
    """
    _take_over()
    if is_ours(file) or file.startswith(("<frozen", *_PACKAGES, *_ignored_files)):
        return not file.startswith(_KEEPS_STATE)
    return _is_standard(file)


def _is_standard(file: str) -> bool:
    return file.startswith(_STDLIB) and not file.startswith(_SITE)


def stays(function: types.FunctionType) -> bool:
    """Whether a function is never converted: a library's, with two exceptions.

    What makes one ``<`` of another, and methods of the standard library's classes of data.
    """
    file = function.__code__.co_filename
    if not is_library(file):
        return is_of_named_tuple(function)
    derived = file == functools.__file__ and function.__name__ in COMPARING
    name, _, method = function.__qualname__.partition(".")
    kind = getattr(sys.modules.get(function.__module__), name, None) if method else None
    return not derived and not (isinstance(kind, type) and is_standard_data(kind))


def is_of_named_tuple(function: types.FunctionType) -> bool:
    """Whether ``function`` is the ``__new__`` that ``collections.namedtuple`` makes by ``eval``."""
    home = function.__globals__.get("__name__")
    return function.__name__ == "__new__" and str(home).startswith("namedtuple_")


COMPARING: Final = {
    "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__eq__": "==", "__ne__": "!=",
}  # fmt: skip
"""The methods of comparisons; ``functools.total_ordering`` makes some of others."""

LAYER_FIELDS: Final = frozenset(vars(paddle.nn.Layer()))
"""Attributes that Paddle itself gives every layer."""

BOOKKEEPING: Final = (
    LAYER_FIELDS
    - {"training", "_dtype", "_full_name"}
    - {
        "_parameters",
        "_buffers",
        "_sub_layers",
    }
)
"""Those that are Paddle's own business, as whether the layer has been called."""

_OF_THE_PROCESS: Final = frozenset(
    [
        *("abc", "asyncio", "concurrent", "contextlib", "enum", "functools", "importlib"),
        *("inspect", "logging", "multiprocessing", "queue", "selectors", "socket", "subprocess"),
        *("tempfile", "threading", "typing", "unittest", "warnings"),
    ]
)
"""Modules whose objects are no data: threads, loggers, descriptors, managers, tests."""


HEAP_TYPE: Final = 1 << 9
"""The flag of classes that are made by ``class``; most of those of C do not have it."""


def _holds_data(kind: type) -> bool:
    """Whether objects of a library's class are their attributes, as those of user's classes are.

    So are those of classes that the standard library writes in Python, as ``UserDict``.
    """
    if issubclass(kind, paddle.distribution.Distribution | paddle.metric.Metric):
        return True
    if kind.__dictoffset__ == 0:
        return False
    names = [getattr(base, "__module__", "builtins") for base in kind.__mro__ if base is not object]
    if names[0].split(".")[0] in _OF_THE_PROCESS:
        return False
    files = [getattr(sys.modules.get(name), "__file__", None) or "" for name in names]
    return all(_is_standard(file) and file.endswith(".py") for file in files)


class _Facts(NamedTuple):
    """What is known of a class: of the user's; or it has a base of a library's that holds data."""

    kind: type
    users: bool
    data: bool


_classes: dict[int, _Facts] = {}  # by identity: a metaclass may have no hash


def _facts_of(kind: type) -> _Facts:
    known = _classes.get(id(kind))
    if known is None or known.kind is not kind:
        home = getattr(kind, "__module__", "builtins")  # Paddle's PyLayer has none
        file = getattr(sys.modules.get(home), "__file__", None)
        foreign = home in sys.builtin_module_names and kind is not threading.local
        users = not foreign and not (file and is_library(file))
        data = any(map(_holds_data, kind.__mro__))
        users = users or "d2s_is_state" in vars(kind) or data
        known = _classes[id(kind)] = _Facts(kind, users, data)
    return known


def is_user_class(kind: type) -> bool:
    """Whether ``kind`` is of code that is no library's, or its objects hold data as such do."""
    return _facts_of(kind).users


def is_librarys_data(kind: type) -> bool:
    """Whether methods of a library read what objects of ``kind`` hold."""
    return _facts_of(kind).data


def is_standard_data(kind: type) -> bool:
    """Whether ``kind`` is of the standard library, and its methods are read as a user's are."""
    if not is_librarys_data(kind) or issubclass(kind, WEAK):
        return False
    return _is_standard(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


_KEPT: Final = frozenset(
    f"__{name}__"
    for name in [
        *("init", "new", "init_subclass", "class_getitem", "getattr", "setattr", "delattr", "dir"),
        *("repr", "str", "format", "hash", "sizeof", "copy", "deepcopy"),
        *("reduce", "reduce_ex", "getstate", "setstate"),
    ]
)
"""Methods that a class may have of its own and hold its items as Python's class does."""


def own_members(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class derived from one of Python's has besides: names, and what they stand for."""
    for owner in kind.__mro__:
        if owner.__module__ not in ("builtins", "collections", "typing"):
            for name, member in vars(owner).items():
                if name not in _KEPT:
                    yield name, member


def is_asked_by_python(kind: type) -> bool:
    """Whether such a class has methods that Python calls for an item, a length and the like."""
    own = own_members(kind)
    return any(name[:2] == "__" and type(member) is types.FunctionType for name, member in own)


def is_list(value: Any) -> bool:
    """Whether ``value`` is a list, or of a class of the user's that is one."""
    return type(value) is list or (isinstance(value, list) and is_user_class(type(value)))


def is_user_object(value: Any) -> bool:
    """Whether ``value`` is an object with attributes, of a class of the user's; no layer."""
    if isinstance(value, type | types.ModuleType | types.FunctionType | paddle.nn.Layer):
        return False
    if bridge.is_eager(value) or bridge.is_value(value) or not is_user_class(type(value)):
        return isinstance(value, types.SimpleNamespace)
    return dict_of(value) is not None


def dict_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an object as it keeps them; a ``__getattr__`` of its class is not asked."""
    kind = type(value)
    if hasattr(kind, "d2s_kind") or hasattr(kind, "d2s_value"):  # the program has the attributes
        return None
    if defines(kind, "__getattr__") or defines(kind, "__getattribute__"):
        try:
            found = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return None
    else:
        found = getattr(value, "__dict__", None)
    return found if isinstance(found, dict) else None


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that has a dictionary for them."""
    found = dict_of(value)
    assert found is not None
    return found


def on_class(kind: type, name: str, default: Any = None) -> Any:
    """The attribute ``name`` as a class of ``kind`` has it, bound to nothing."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), default)


def defines(kind: type, name: str) -> bool:
    """Whether a class of the user's gives objects of ``kind`` the special method ``name``."""
    for base in kind.__mro__:
        if name in vars(base):
            return is_user_class(base) and base.__module__ not in sys.builtin_module_names
    return False


def attribute(thing: Any, name: str, default: Any = None) -> Any:
    """``getattr``, but that no ``__getattr__`` or ``__getattribute__`` of the user's is asked."""
    if not any(defines(type(thing), asked) for asked in ("__getattr__", "__getattribute__")):
        return getattr(thing, name, default)
    if isinstance(thing, paddle.nn.Layer):
        for table in (thing._parameters, thing._buffers, thing._sub_layers):
            if name in table:
                return table[name]
    try:
        return object.__getattribute__(thing, name)
    except AttributeError:
        return default


def has_method(thing: Any, name: str) -> bool:
    """Whether an attribute can be called; a property is not asked, which may do anything."""
    asked = isinstance(on_class(type(thing), name), property | functools.cached_property)
    return not asked and callable(attribute(thing, name))


def owner_of(function: Any) -> Any:
    """The object that a method is bound to; ``None`` for anything else."""
    return function.__self__ if hasattr(type(function), "__self__") else None


WEAK_CURE: Final = (
    "keep the object itself in an attribute, or look the reference up outside of the converted "
    "function"
)

WEAK: Final = (
    weakref.ProxyType,
    weakref.CallableProxyType,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
    weakref.finalize,
)
"""What stands for an object, or holds some, without keeping them alive; no reference itself."""

_MODULES: Final = frozenset(("weakref", "_weakref", "_weakrefset"))


def is_weak(callee: Any) -> bool:
    """Whether calling ``callee`` makes, asks or changes weak references."""
    return isinstance(callee, weakref.ref) or attribute(callee, "__module__") in _MODULES


def weak_cause(what: str) -> str:
    """What is said of weak references under the name ``what``."""
    return f"the function uses {what}, but a program keeps alive whatever it has read"
