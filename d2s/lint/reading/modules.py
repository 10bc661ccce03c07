"""One file: its imports, functions and classes, and which of them are converted.

Converted are: functions under ``to_static``, functions and layers that are handed to it, and the
``forward`` of each class that is derived from ``paddle.nn.Layer``, as a layer is converted whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.analysis.scopes import dotted
from d2s.lint.reading import tables
from d2s.syntax.plain import to_gast
from d2s.syntax.trees import walk

_HINT: Final = re.compile(rb"to_static|\bLayer\b|\bdef forward\(")
Function = (gast.FunctionDef, gast.AsyncFunctionDef)


def worth_reading(source: bytes, converters: Iterable[str]) -> bool:
    """Whether a file may hold something that is converted; most do not, and are not parsed."""
    last = [name.rpartition(".")[2].encode() for name in converters]
    return bool(_HINT.search(source)) or any(name in source for name in last)


@dataclass
class Module:
    """One file.

    Attributes:
        tree: its gast tree.
        names: what names at its top level stand for in other modules.
        owners: the class around each method.
        roots: the functions that are converted.
        skipped: the functions that are called as they are.
        doubled: calls of ``numpy()`` that say nothing more: ``float(x.numpy())``.
        converters: further names that stand for ``to_static``.
    """

    tree: Any
    names: dict[str, str] = field(default_factory=dict)
    owners: dict[int, Any] = field(default_factory=dict)
    roots: list[Any] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)
    doubled: set[int] = field(default_factory=set)
    converters: frozenset[str] = frozenset()
    _functions: dict[str, list[Any]] = field(default_factory=dict)
    _classes: dict[str, Any] = field(default_factory=dict)

    def resolved(self, node: Any) -> str:
        """The dotted name of an expression, imports resolved; empty if it has none."""
        path = dotted(node)
        if path is None:
            return ""
        head, dot, rest = path.partition(".")
        return self.names.get(head, head) + dot + rest

    def is_converter(self, node: Any) -> bool:
        """Whether an expression is ``to_static``, plain or called with options.

        ``to_static(f)`` is a converted function.
        """
        while isinstance(node, gast.Call) and not node.args:
            node = node.func
        path = self.resolved(node)
        return path in tables.CONVERTERS or path in self.converters

    def bases(self, owner: Any) -> Iterator[Any]:
        """A class and those of this file that it is derived from."""
        seen: set[int] = set()
        waiting = [owner]
        while waiting:
            one = waiting.pop(0)
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            waiting += [known for base in one.bases if (known := self._class_of(base)) is not None]

    def _class_of(self, base: Any) -> Any:
        return self._classes.get(base.id) if isinstance(base, gast.Name) else None

    def is_layer(self, owner: Any) -> bool:
        """Whether a class is derived from ``paddle.nn.Layer``, as far as the file tells.

        A class of another file that has a ``forward`` in ours is taken for one.
        """
        found = [base for one in self.bases(owner) for base in one.bases]
        if any(self.resolved(base) in tables.LAYERS for base in found):
            return True
        foreign = [base for base in found if self._class_of(base) is None]
        return (
            any(self.resolved(base).rpartition(".")[2] not in tables.NO_LAYERS for base in foreign)
            and self.uses_paddle
            and self.method(owner, "forward") is not None
        )

    @property
    def uses_paddle(self) -> bool:
        """Whether the file imports Paddle."""
        return any(name.partition(".")[0] == "paddle" for name in self.names.values())

    def method(self, owner: Any, name: str) -> Any:
        """The method of a class of this file, inherited ones included."""
        for one in self.bases(owner):
            for item in one.body:
                if isinstance(item, Function) and item.name == name:
                    return item
        return None

    def class_named(self, name: str) -> Any:
        """The class of this file with that name."""
        return self._classes.get(name)

    def functions_named(self, name: str) -> list[Any]:
        """The functions of this file with that name."""
        return self._functions.get(name, [])


def read(text: str | bytes, converters: Iterable[str] = ()) -> Module:
    """Understand a file.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it has null bytes.
    """
    module = Module(to_gast(ast.parse(text)), converters=frozenset(converters))
    nodes = list(walk(module.tree))
    for node in nodes:
        _imports(module.names, node)
    for node in nodes:
        inner = _without_array(node)
        if _is_numpy(inner):
            module.doubled.add(id(inner))
        if isinstance(node, gast.ClassDef):
            module._classes.setdefault(node.name, node)
            for item in node.body:
                if isinstance(item, Function):
                    module.owners[id(item)] = node
        elif isinstance(node, Function):
            module._functions.setdefault(node.name, []).append(node)
            marks = [module.resolved(mark) for mark in node.decorator_list]
            if tables.SKIPPERS.intersection(marks):
                module.skipped.add(id(node))
    _find_roots(module, nodes)
    return module


def _without_array(node: Any) -> Any:
    """What ``float(...)``, ``int(...)``, ``bool(...)``, ``.item()`` or ``.tolist()`` stands at."""
    if not isinstance(node, gast.Call) or node.keywords:
        return None
    if isinstance(node.func, gast.Name) and node.func.id in ("int", "float", "bool"):
        return node.args[0] if len(node.args) == 1 else None
    if isinstance(node.func, gast.Attribute) and node.func.attr in ("item", "tolist"):
        return node.func.value if not node.args else None
    return None


def _is_numpy(node: Any) -> bool:
    return (
        isinstance(node, gast.Call)
        and isinstance(node.func, gast.Attribute)
        and node.func.attr == "numpy"
    )


def _imports(names: dict[str, str], node: Any) -> None:
    if isinstance(node, gast.Import):
        for alias in node.names:
            head = alias.name.partition(".")[0]
            names[alias.asname or head] = alias.name if alias.asname else head
    elif isinstance(node, gast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            names[alias.asname or alias.name] = f"{node.module}.{alias.name}"


def _find_roots(module: Module, nodes: list[Any]) -> None:
    found: dict[int, Any] = {}
    for node in nodes:
        if isinstance(node, Function):
            if any(map(module.is_converter, node.decorator_list)):
                found[id(node)] = node
        elif isinstance(node, gast.ClassDef):
            forward = next((i for i in node.body if getattr(i, "name", "") == "forward"), None)
            if isinstance(forward, Function) and module.is_layer(node):
                found[id(forward)] = forward
        elif isinstance(node, gast.Call) and module.is_converter(node.func):
            for function in _handed(module, node):
                found[id(function)] = function
    module.roots = [root for key, root in found.items() if key not in module.skipped]


def _handed(module: Module, call: Any) -> list[Any]:
    """The functions of this file that a call of ``to_static`` is given."""
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("function", "layer"))]
    names = [getattr(value, "attr", getattr(value, "id", "")) for value in given]
    return [function for name in names if name for function in module.functions_named(name)]
