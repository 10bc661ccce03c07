"""From a Python function to its converted form, once per code object.

Joins source, pipeline, loader and operators.  The code of a function is transformed on the first
call; every function object (a new closure, say) only gets its own cells.
"""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast

from d2s.analysis.scopes import local_names, parameters, reads_in
from d2s.operators import NAMESPACE
from d2s.operators.calls import set_converter
from d2s.pipeline import Trace, transform
from d2s.syntax.load import bind, compile_tree
from d2s.syntax.source import source_of

_lock = threading.RLock()


@dataclass(frozen=True)
class Reads:
    """What a function reads besides its arguments.

    Attributes:
        outside: names of globals and of the closure.
        attributes: names of attributes of its first parameter.
    """

    outside: tuple[str, ...]
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class _Converted:
    """The transformed code of one code object."""

    code: types.CodeType
    namespace: str
    reads: Reads


_known: dict[int, tuple[weakref.ref[types.CodeType], _Converted]] = {}
_made: dict[int, weakref.ref[types.CodeType]] = {}


def resolver(function: types.FunctionType) -> Callable[[str], Any]:
    """What a name means in ``function`` now: closure, globals, built-ins; else ``None``."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def resolve(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                return None
        scope = function.__globals__
        if name in scope:
            return scope[name]
        builtins = scope.get("__builtins__", {})
        return (builtins if isinstance(builtins, dict) else vars(builtins)).get(name)

    return resolve


def trace_of(function: types.FunctionType, *, keep_steps: bool = False) -> Trace:
    """What the transformation makes of ``function``, afresh.

    Raises:
        NotAFunctionError, NoSourceError, SyntaxNotSupportedError: see ``syntax.source``.
    """
    return transform(source_of(function), resolve=resolver(function), keep_steps=keep_steps)


def convert_function(function: types.FunctionType) -> types.FunctionType:
    """The converted form of a plain Python function; a converted one is returned as it is."""
    code = function.__code__
    made = _made.get(id(code))
    if made is not None and made() is code:
        return function
    known = _known.get(id(code))
    if known is None or known[0]() is not code:
        with _lock:
            known = _known.get(id(code))
            if known is None or known[0]() is not code:
                known = _convert(function)
    converted = known[1]
    return bind(converted.code, function, {converted.namespace: NAMESPACE})


def _convert(function: types.FunctionType) -> tuple[weakref.ref[types.CodeType], _Converted]:
    code = function.__code__
    trace = trace_of(function)
    free = (*code.co_freevars, trace.namespace)
    compiled = compile_tree(trace.tree, free, code, trace.generated, function.__qualname__)
    note_made(compiled)
    key = id(code)
    entry = (
        weakref.ref(code, lambda ref: _drop(_known, key, ref)),
        _Converted(compiled, trace.namespace, _reads(trace.source.tree)),
    )
    _known[key] = entry
    return entry


def _reads(tree: Any) -> Reads:
    names = reads_in(tree.body) - local_names(tree)
    first = next(iter(parameters(tree)), None)
    attributes = {
        node.attr
        for node in gast.walk(tree)
        if isinstance(node, gast.Attribute)
        and isinstance(node.value, gast.Name)
        and node.value.id == first
    }
    return Reads(tuple(sorted(names)), tuple(sorted(attributes)))


def reads_of(function: types.FunctionType) -> Reads:
    """What a function that was converted reads; nothing is known of others."""
    known = _known.get(id(function.__code__))
    return known[1].reads if known is not None else Reads((), ())


def note_made(code: types.CodeType) -> None:
    """Remember that ``code`` and the functions in it are converted already."""
    key = id(code)
    _made[key] = weakref.ref(code, lambda ref: _drop(_made, key, ref))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            note_made(constant)


def _drop(table: dict[int, Any], key: int, ref: Any) -> None:
    entry = table.get(key)
    if entry is not None and (entry is ref or (isinstance(entry, tuple) and entry[0] is ref)):
        del table[key]


def forget_all() -> None:
    """Drop every conversion; the next call of a function converts it again."""
    with _lock:
        _known.clear()


set_converter(convert_function)
