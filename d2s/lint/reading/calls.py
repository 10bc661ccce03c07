"""What a call is, and what calls it leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gast

from d2s.analysis.scopes import MUTATORS, dotted
from d2s.lint.reading import hints, outside, rules, tables, tensors
from d2s.lint.reading.modules import Module
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.values import (
    ARRAY,
    NUMBER,
    PLAIN,
    TENSOR,
    TENSORS,
    TEXT,
    UNKNOWN,
    VECTOR,
    Kind,
    Value,
    item_of,
    join,
    together,
)

_LEVELS: Final = frozenset(
    ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")
)
_CONTAINERS: Final = (Kind.MANY, Kind.TABLE, Kind.SET, Kind.PLAIN)


def call(reader: Reader, node: Any) -> Value:
    """Read a call: its parts, the rules about it, and what it gives."""
    rules.passed_on(reader, node)
    arguments = [reader.of(argument) for argument in node.args]
    keywords = {k.arg: reader.of(k.value) for k in node.keywords if k.arg}
    for keyword in node.keywords:
        if not keyword.arg:
            reader.of(keyword.value)
    if reader.module.is_converter(node.func):
        return arguments[0] if arguments else UNKNOWN
    if isinstance(node.func, gast.Attribute):
        found = _method(reader, node, arguments, keywords)
        if found is not None:
            return found
    called = reader.of(node.func)
    if isinstance(node.func, gast.Name) and reader.scope.get(node.func.id) is None:
        found = _builtin(reader, node, arguments)
        if found is not None:
            return found
    return _of_kind(reader, node, called, arguments, keywords)


def is_logging(module: Module, function: Any) -> bool:
    """Whether a function writes into a log: ``logging.info``, ``logger.info``, ``log.info``."""
    if not isinstance(function, gast.Attribute) or function.attr not in _LEVELS:
        return False
    owner = (dotted(function.value) or "").rpartition(".")[2].lower()
    return "log" in owner or module.resolved(function).startswith("logging.")


def _of_kind(
    reader: Reader,
    node: Any,
    called: Value,
    arguments: list[Value],
    keywords: dict[str, Value],
) -> Value:
    if called.kind is Kind.NAMED:
        every = [*arguments, *keywords.values()]
        outside.called(reader, node, called.name, every)
        if called.name in tables.GENERATORS and reader.reading:
            return UNKNOWN  # made of a seed, it is part of the program
        made = tables.of_named(called.name, every)
        if made.kind is Kind.TENSOR and hints.is_vector(called.name, node):
            return VECTOR
        if made.kind is Kind.LAYER:
            outside.layer_made(reader, node, made)
        return made
    if called.kind is Kind.LAYER:
        return called.item or TENSOR
    if called.kind is Kind.FUNCTION:
        if isinstance(called.home, gast.Lambda):
            return UNKNOWN
        owner = reader.module.owners.get(id(called.home))
        return reader.call(called.home, arguments, keywords, owner, node)
    if called.kind is Kind.CLASS:
        return Value(Kind.OBJECT, home=called.home)
    if called.kind is Kind.OBJECT:
        name = "forward" if reader.module.is_layer(called.home) else "__call__"
        method = reader.module.method(called.home, name)
        if method is not None:
            return reader.call(method, arguments, keywords, called.home, node)
    return UNKNOWN


def _method(
    reader: Reader, node: Any, arguments: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """A method that is known by its object; None when it has to be looked up."""
    name = node.func.attr
    if (dotted(node.func) or "").partition(".")[0] in reader.module.names:
        return None
    owner = reader.of(node.func.value)
    if owner.kind is Kind.UNKNOWN and name in tables.NUMPY_OF_TENSORS and not node.args:
        return _of_tensor(reader, node, name)
    if owner.kind is Kind.TENSOR:
        if name == "register_hook":
            tensors.hooked(reader, node)
        elif name == "view":
            tensors.viewed(reader, node, arguments)
        return _of_tensor(reader, node, name)
    if owner.kind is Kind.ARRAY:
        return NUMBER if name in ("item", "any", "all") else ARRAY
    if owner.kind is Kind.FILE:
        return outside.written(reader, node, arguments)
    if owner.kind is Kind.CLASS and name == "apply":
        rules.py_layer(reader, node, owner)
        return UNKNOWN
    if name in MUTATORS and owner.kind in (*_CONTAINERS, Kind.UNKNOWN):
        rules.mutated(reader, node, owner, arguments)
        return _changed(reader, node, owner, arguments)
    if owner.kind is Kind.TABLE and name in ("values", "items", "keys", "get"):
        return Value(Kind.MANY, owner.item) if name == "values" else UNKNOWN
    if owner.kind is Kind.PLAIN and name in ("format", "join"):
        return TEXT if any(value.holds_decided for value in arguments) else PLAIN
    return None


def _of_tensor(reader: Reader, node: Any, name: str) -> Value:
    if name in tables.NUMPY_OF_TENSORS:
        outside.leaves(reader, node, f"{name}()")
        return Value(Kind.MANY, NUMBER) if name == "tolist" else ARRAY
    if name == "item":
        return NUMBER
    if name in tables.PLAIN_OF_TENSORS:
        return PLAIN
    return TENSORS if name in tables.MANY_OF_TENSORS else TENSOR


def _changed(reader: Reader, node: Any, owner: Value, arguments: list[Value]) -> Value:
    """A container has changed: what its items are now, and what the call gives."""
    name, target = node.func.attr, node.func.value
    if name in ("pop", "popleft", "popitem", "setdefault"):
        return owner.item or UNKNOWN
    if isinstance(target, gast.Name) and arguments and owner.kind in _CONTAINERS:
        added = arguments[-1]
        if name in ("extend", "update"):
            added = item_of(added)
        known = owner.item
        item = added if known is None or known == PLAIN else join(known, added)
        kind = Kind.MANY if owner.kind is Kind.PLAIN else owner.kind
        if target.id in reader.scope.values:
            reader.scope.values[target.id] = Value(kind, item)
    return PLAIN


# -- built-ins ------------------------------------------------------------------------------------


def _number(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    return NUMBER if any(value.holds_decided for value in arguments) else PLAIN


def _folded(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    items = [item_of(value) for value in arguments[:1]]
    given = items if len(arguments) == 1 else arguments
    found = together(given)
    return NUMBER if node.func.id in ("any", "all") and found.decided else found


def _collected(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    kind = {"set": Kind.SET, "frozenset": Kind.SET}
    item = item_of(arguments[0]) if arguments else PLAIN
    if node.func.id in ("set", "frozenset") and arguments:
        rules.hashed(reader, node.args[0], item)
    return Value(kind.get(node.func.id, Kind.MANY), item)


def _zipped(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    items = [item_of(value) for value in arguments]
    return Value(Kind.MANY, Value(Kind.MANY, together(items)))


def _enumerated(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    return UNKNOWN


def _ranged(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    return Value(Kind.MANY, NUMBER if any(v.decided for v in arguments) else PLAIN)


def _next(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    rules.advanced(reader, node, arguments)
    return item_of(arguments[0]) if arguments else UNKNOWN


def _opened(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    outside.opened(reader, node)
    return Value(Kind.FILE)


def _asked(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    outside.called(reader, node, "input", arguments)
    return PLAIN


_BUILTINS: Final[dict[str, Callable[[Reader, Any, list[Value]], Value]]] = {
    **dict.fromkeys(("int", "float", "bool", "complex", "round", "divmod", "pow"), _number),
    **dict.fromkeys(("sum", "min", "max", "any", "all", "abs"), _folded),
    **dict.fromkeys(("list", "tuple", "sorted", "reversed", "set", "iter"), _collected),
    "frozenset": _collected,
    "zip": _zipped,
    "enumerate": _enumerated,
    "range": _ranged,
    "next": _next,
    "open": _opened,
    "input": _asked,
}


def _builtin(reader: Reader, node: Any, arguments: list[Value]) -> Value | None:
    name = node.func.id
    if name in reader.module.names or reader.module.functions_named(name):
        return None
    known = _BUILTINS.get(name)
    if known is not None:
        return known(reader, node, arguments)
    if name in ("str", "repr", "format"):
        return TEXT if any(value.holds_decided for value in arguments) else PLAIN
    if name == "dict":
        return Value(Kind.TABLE, together(arguments))
    return PLAIN if name in tables.PLAIN_CALLS and name not in ("super", "getattr") else None
