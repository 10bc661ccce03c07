r"""What a stretch of code binds, changes and reads; one function scope at a time.

>>> import gast
>>> tree = gast.parse("y = x + 1\nouts.append(y)\nself.h = y\nx[0] = y")
>>> changes = changes_in(tree.body)
>>> sorted(changes.bound), sorted(changes.mutated), sorted(changes.attributes)
(['y'], ['outs', 'x'], ['self.h'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.analysis.walk import SCOPES, children, statements_in, walk
from d2s.syntax.trees import BACKWARDS

COMPREHENSIONS: Final = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)

MUTATORS: Final = frozenset(
    [
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "popitem",
        "add",
        "discard",
        "appendleft",
        "popleft",
        "extendleft",
    ]
)
"""Methods of lists, dicts, sets and deques that change the object itself."""


@dataclass(frozen=True)
class Changes:
    """What a stretch of code does to the state around it.

    Attributes:
        bound: variables that are bound, rebound or deleted.
        mutated: variables whose object is changed in place by a container method or subscript.
        attributes: dotted paths that are assigned, as ``self.h``.
        mutated_attributes: dotted paths whose object is changed in place, as ``self.cache``.
    """

    bound: frozenset[str] = frozenset()
    mutated: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    mutated_attributes: frozenset[str] = frozenset()


@dataclass
class _Collector:
    bound: set[str] = field(default_factory=set)
    mutated: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    mutated_attributes: set[str] = field(default_factory=set)

    def frozen(self) -> Changes:
        return Changes(
            frozenset(self.bound),
            frozenset(self.mutated),
            frozenset(self.attributes),
            frozenset(self.mutated_attributes),
        )


def dotted(node: Any) -> str | None:
    """``a.b.c`` as text when ``node`` is a chain of attributes on a variable."""
    parts: list[str] = []
    while isinstance(node, gast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, gast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def own_nodes(tree: Any) -> Iterator[Any]:
    """Nodes of ``tree`` in its own scope: nested functions appear, their insides do not.

    Comprehensions are walked through: a walrus in one binds in the scope around it.
    """
    stack = [tree] if isinstance(tree, gast.AST) else list(tree)
    stack.reverse()
    pop = stack.pop
    while stack:
        node = pop()
        if node is None:
            continue
        yield node
        kind = node.__class__
        values = node.__dict__
        if kind in _SCOPES:
            if kind is not gast.Lambda:
                stack += values["decorator_list"][::-1]
            continue
        for name in BACKWARDS[kind]:
            value = values.get(name)
            if value.__class__ is list:
                stack += value[::-1]
            elif value is not None:
                stack.append(value)


_SCOPES: Final = frozenset(SCOPES)

_HARMLESS: Final = frozenset(
    (
        gast.Constant,
        gast.BinOp,
        gast.UnaryOp,
        gast.BoolOp,
        gast.Compare,
        gast.Assign,
        gast.AugAssign,
        gast.Return,
        gast.If,
        gast.While,
        gast.For,
        gast.Tuple,
        gast.List,
        gast.Dict,
        gast.Expr,
        gast.FormattedValue,
        gast.IfExp,
        gast.JoinedStr,
        gast.Pass,
        gast.Raise,
        gast.Slice,
        gast.keyword,
    )
)
"""Nodes that bind and change nothing by themselves; what is below them is looked at."""


def changes_in(statements: Iterable[Any]) -> Changes:
    """What ``statements`` bind and change."""
    return changes_of(own_nodes(list(statements)))


def changes_of(nodes: Iterable[Any]) -> Changes:
    """What some code binds and changes, given what ``own_nodes`` says of it."""
    found = _Collector()
    hidden: set[int] = set()
    for node in nodes:
        kind = node.__class__
        if kind in _HARMLESS:
            continue
        if kind is gast.Name:
            if node.ctx.__class__ in _BINDING and id(node) not in hidden:
                found.bound.add(node.id)
        elif kind is gast.Attribute:
            if node.ctx.__class__ is not gast.Load:
                path = dotted(node)
                if path is not None:
                    found.attributes.add(path)
        elif kind is gast.Call:
            _called(found, node)
        elif kind is gast.Subscript:
            if node.ctx.__class__ is not gast.Load:
                _mutated(found, node.value)
        elif kind in COMPREHENSIONS:
            for generator in node.generators:
                hidden.update(id(name) for name in walk(generator.target))
        else:
            name = _name_bound_by(node)
            if name:
                found.bound.add(name)
    return found.frozen()


_BINDING: Final = frozenset((gast.Store, gast.Del))


def _name_bound_by(node: Any) -> str | None:
    """The variable that ``node`` binds without a ``Name`` that says so."""
    if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
        return str(node.name)
    if isinstance(node, gast.alias):
        return str(node.asname or node.name).split(".")[0]
    if isinstance(node, gast.MatchAs | gast.MatchStar):
        return node.name and str(node.name)
    if isinstance(node, gast.MatchMapping):
        return node.rest and str(node.rest)
    return None


def _called(found: _Collector, node: Any) -> None:
    """Note what the call ``node`` changes."""
    if not isinstance(node.func, gast.Attribute):
        return
    word = node.func.attr
    if word in MUTATORS or _is_inplace(word):
        _mutated(found, node.func.value)
        if node.args and _is_inplace(word):  # a function such as F.relu_(y)
            _mutated(found, node.args[0])
    elif word == "delitem" and len(node.args) == 2:
        _mutated(found, node.args[0])
    elif _is_store(node):
        _mutated(found, node.args[1])
    elif word == "assign":  # paddle.assign(x, output)
        outputs = [each.value for each in node.keywords if each.arg == "output"]
        for output in [*node.args[1:], *outputs]:
            _mutated(found, output)


def _is_store(node: Any) -> bool:
    """Whether ``node`` is ``d2s.setitem(value, container, key)``, a statement on its own."""
    return (
        node.func.attr == "setitem"
        and len(node.args) == 3
        and not isinstance(node.args[1], gast.Name)  # that is a variable which is bound as well
    )


def _is_inplace(name: str) -> bool:
    """Whether a method or function of this name changes a tensor in place, as Paddle names them."""
    return name in ("set_value", "increment") or (name.endswith("_") and not name.startswith("_"))


def _mutated(found: _Collector, target: Any) -> None:
    """Note that the object that ``target`` names changes (``a[0][1] = x`` changes ``a``)."""
    while isinstance(target, gast.Subscript):
        target = target.value
    path = dotted(target)
    if path is None:
        return
    (found.mutated_attributes if "." in path else found.mutated).add(path)


def reads_in(tree: Any) -> frozenset[str]:
    """Variables that ``tree`` reads, in nested scopes too.

    Those of nested functions are among them, those of comprehensions are not.
    """
    stack = [tree] if isinstance(tree, gast.AST) else list(tree)
    found: set[str] = set()
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind in COMPREHENSIONS:
            found |= _reads_of(node)
            continue
        if kind is gast.Name:
            if node.ctx.__class__ is gast.Load:
                found.add(node.id)
        elif kind is gast.Nonlocal:
            found.update(node.names)
        elif kind is gast.AugAssign and isinstance(node.target, gast.Name):
            found.add(node.target.id)
        stack += children(node)
    return frozenset(found)


def _reads_of(comprehension: Any) -> frozenset[str]:
    """What a comprehension reads of the variables around it."""
    own: set[str] = set()
    inside = [part for part in children(comprehension) if part not in comprehension.generators]
    for each in comprehension.generators:
        own.update(node.id for node in walk(each.target) if node.__class__ is gast.Name)
        inside += [each.iter, *each.ifs]
    first = comprehension.generators[0].iter
    return reads_in(first) | (reads_in(inside) - own)


CAPTURING: Final = frozenset((*SCOPES, gast.GeneratorExp))
"""Nodes whose code may run at any time after they were come to."""


def captured_names(function: Any) -> frozenset[str]:
    """Variables of ``function`` that nested functions, lambdas and classes may read at any time."""
    found: set[str] = set()
    for node in own_nodes(function.body):
        if node.__class__ in CAPTURING:
            found |= reads_in(node)
    return frozenset(found)


def parameters(function: Any) -> tuple[str, ...]:
    """The names of all parameters of ``function``."""
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args, arguments.vararg]
    names += [*arguments.kwonlyargs, arguments.kwarg]
    return tuple(name.id for name in names if name is not None)


def declared(function: Any, kind: Any) -> frozenset[str]:
    """Names that ``function`` declares ``global`` or ``nonlocal``."""
    return frozenset(
        name
        for node in statements_in(function.body)
        if isinstance(node, kind)
        for name in node.names
    )


def local_names(function: Any) -> frozenset[str]:
    """Every local variable of ``function``: parameters and what its body binds."""
    outside = declared(function, gast.Global | gast.Nonlocal)
    return (frozenset(parameters(function)) | changes_in(function.body).bound) - outside
