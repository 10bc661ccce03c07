r"""Check that a tree is one that Python would compile and that passes may go on with.

``verify`` runs between passes under test.  It knows nothing of what the passes do: it holds the
tree against the rules of the language and of this project (every node once, every node with a
position), and says what is wrong as values, one ``Problem`` each.  A pass that leaves a problem
behind has a defect.

>>> tree = gast.parse("def f():\n    return x")
>>> verify(tree)
[]
>>> tree.body[0].body.append(gast.Break())
>>> for problem in verify(tree):
...     print(problem)
Break: has no lineno, col_offset, end_lineno
Break: 'break' outside of a loop

Reads trees and changes nothing.  Imports nothing of d2s.
"""

from __future__ import annotations

import types
import typing
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import gast

_FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
_SCOPES = (*_FUNCTIONS, gast.ClassDef)
_LOOPS = (gast.For, gast.AsyncFor, gast.While)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
# What a position is asked of; ``load`` gives one to the rest (arguments, keywords, aliases).
_PLACED = (gast.stmt, gast.expr, gast.excepthandler, gast.pattern)
_POSITION = ("lineno", "col_offset", "end_lineno")

# Fields that bind or delete the names in them. All others are read.
_CONTEXTS: dict[tuple[type[gast.AST], str], type[gast.AST]] = {
    (gast.Assign, "targets"): gast.Store,
    (gast.AugAssign, "target"): gast.Store,
    (gast.AnnAssign, "target"): gast.Store,
    (gast.For, "target"): gast.Store,
    (gast.AsyncFor, "target"): gast.Store,
    (gast.comprehension, "target"): gast.Store,
    (gast.withitem, "optional_vars"): gast.Store,
    (gast.NamedExpr, "target"): gast.Store,
    (gast.TypeAlias, "name"): gast.Store,
    (gast.ExceptHandler, "name"): gast.Store,
    (gast.Delete, "targets"): gast.Del,
    (gast.arguments, "posonlyargs"): gast.Param,
    (gast.arguments, "args"): gast.Param,
    (gast.arguments, "vararg"): gast.Param,
    (gast.arguments, "kwonlyargs"): gast.Param,
    (gast.arguments, "kwarg"): gast.Param,
}
# Fields that gast 0.7 declares otherwise than it fills them.
_CORRECTED: dict[tuple[type[gast.AST], str], Any] = {
    (gast.ExceptHandler, "name"): gast.Name | None,
    (gast.Match, "cases"): list[gast.match_case],
}
_MAY_BE_NONE = {
    (gast.Name, "annotation"),
    (gast.Dict, "keys"),
    (gast.arguments, "kw_defaults"),
    (gast.match_case, "guard"),
}


@dataclass(frozen=True)
class Problem:
    """One broken rule.

    Attributes:
        message: What is wrong, in words.
        line: The line of the node, when it has one.
        node: The type of the node.
    """

    message: str
    line: int | None
    node: str

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}: "
        return f"{place}{self.node}: {self.message}"


def verify(tree: gast.AST, *, free: Collection[str] = (), complete: bool = True) -> list[Problem]:
    """Hold a tree against all rules.

    Args:
        tree: A module or a function.
        free: Names that functions around ``tree`` bind: the closure of the function that ``tree``
            is. When ``tree`` is a function, what it declares ``nonlocal`` itself is added.
        complete: False between passes, while names may be declared ``nonlocal`` in a body that
            no enclosing function binds yet.

    Returns:
        The problems, by line. A tree that is no tree (a node twice, a thing that is no node, a
        field filled wrongly) is held against no further rule, because these presuppose one.
    """
    nodes = _Nodes(tree)
    problems = nodes.problems or [*_shapes(nodes)]
    if problems:
        return problems
    if complete:
        root = isinstance(tree, gast.FunctionDef | gast.AsyncFunctionDef)
        outside = _declared(nodes, tree, gast.Nonlocal) if root else set()
        problems += _unbound_nonlocals(nodes, frozenset(outside.union(free)))
    for rule in _RULES:
        problems += rule(nodes)
    return sorted(problems, key=lambda problem: problem.line or 0)


def _problem(node: Any, message: str) -> Problem:
    line = getattr(node, "lineno", None)
    return Problem(message, line if isinstance(line, int) else None, type(node).__name__)


def _fields(node: gast.AST) -> Iterator[tuple[str, Any]]:
    """The fields of a node that are set."""
    for field in node._fields:
        if hasattr(node, field):
            yield field, getattr(node, field)


class _Nodes:
    """A tree, walked once.

    Every node is gast's, and is in the tree once.  ``Load()``, ``Add()`` and their like say nothing
    but their type and may be shared; they are no nodes here.

    Attributes:
        root: the tree.
        all: its nodes.
        problems: what is no node of gast, or in the tree twice.
    """

    def __init__(self, root: gast.AST) -> None:
        self.root = root
        self.all: list[gast.AST] = []
        self.problems: list[Problem] = []
        self._children: dict[int, list[tuple[str, gast.AST]]] = {}
        self._own: dict[int, list[gast.AST]] = {}
        stack = [root] if self._says_something(root) else []
        while stack:
            node = stack.pop()
            if id(node) in self._children:
                self.problems.append(_problem(node, "is in the tree twice"))
                continue
            found = self._children[id(node)] = []
            self.all.append(node)
            for field, value in _fields(node):
                for item in value if isinstance(value, list) else (value,):
                    if isinstance(item, gast.AST) and self._says_something(item):
                        found.append((field, item))
                        stack.append(item)

    def _says_something(self, node: gast.AST) -> bool:
        kind = type(node)
        if getattr(gast, kind.__name__, None) is not kind:
            message = f"{kind.__module__}.{kind.__name__} is not a node type of gast"
            self.problems.append(_problem(node, message))
            return False
        return bool(kind._fields or kind._attributes)

    def children(self, node: gast.AST) -> list[tuple[str, gast.AST]]:
        """The nodes in the fields of ``node``, with the field."""
        return self._children[id(node)]

    def own(self, scope: gast.AST) -> list[gast.AST]:
        """The nodes below ``scope`` down to where functions and classes begin, these included.

        What such a definition evaluates outside of itself (decorators, defaults, bases) is ours.
        """
        known = self._own.get(id(scope))
        if known is not None:
            return known
        fields = ("body",) if isinstance(scope, _SCOPES) else scope._fields
        stack = [child for field, child in self.children(scope) if field in fields]
        found = self._own[id(scope)] = []
        while stack:
            node = stack.pop()
            found.append(node)
            inner = isinstance(node, _SCOPES)
            stack += [
                child for field, child in self.children(node) if not (inner and field == "body")
            ]
        return found


def _shapes(nodes: _Nodes) -> Iterator[Problem]:
    """Every field holds what its type says: statements in bodies, no None for an expression."""
    for node in nodes.all:
        for field, fits, needed in _fields_of(type(node)):
            if not hasattr(node, field):
                if needed:
                    yield _problem(node, f"has no {field!r}")
                continue
            value = getattr(node, field)
            if not fits(value):
                yield _problem(node, f"{_shown(value)} in {field!r}")


_Fits = Callable[[Any], bool]


_known: dict[type[gast.AST], list[tuple[str, _Fits, bool]]] = {}


def _fields_of(kind: type[gast.AST]) -> list[tuple[str, _Fits, bool]]:
    """The fields of a type of node: the name, what fits it, and whether it must be there."""
    found = _known.get(kind)
    if found is not None:
        return found
    found = _known[kind] = []
    for field, declared in kind._field_types.items():
        optional = (kind, field) in _MAY_BE_NONE
        needed = not optional and not _fitting(declared, optional=False)(None)
        fits = _fitting(_CORRECTED.get((kind, field), declared), optional=optional)
        found.append((field, fits, needed))
    return found


def _fitting(declared: Any, *, optional: bool) -> _Fits:
    """What tells whether a value is of the type ``declared``, or ``None`` where that may be."""
    if declared is object:
        return lambda value: True
    if typing.get_origin(declared) is list:
        item = _fitting(typing.get_args(declared)[0], optional=optional)
        return lambda value: isinstance(value, list) and all(map(item, value))
    if isinstance(declared, types.UnionType):
        sides = [_fitting(one, optional=optional) for one in typing.get_args(declared)]
        return lambda value: any(side(value) for side in sides)
    # A slice is an expression in ``ast`` since Python 3.9, and is not in gast.
    kinds = (gast.expr, gast.Slice) if declared is gast.expr else (declared,)
    if optional:
        kinds += (types.NoneType,)
    return lambda value: isinstance(value, kinds)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return type(value).__name__ if isinstance(value, gast.AST) else repr(value)


def _positions(nodes: _Nodes) -> Iterator[Problem]:
    """Every statement and expression has a position, and its end is not before its start."""
    # gast makes a node of the name in ``except ... as name``; Python has none there.
    handled = {id(node.name) for node in nodes.all if isinstance(node, gast.ExceptHandler)}
    for node in nodes.all:
        if not isinstance(node, _PLACED) or id(node) in handled:
            continue
        missing = [name for name in _POSITION if not _is_line(getattr(node, name, None))]
        if missing:
            yield _problem(node, f"has no {', '.join(missing)}")
        elif node.lineno < 1 or node.end_lineno < node.lineno:
            yield _problem(node, f"goes from line {node.lineno} to line {node.end_lineno}")


def _is_line(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _contexts(nodes: _Nodes) -> Iterator[Problem]:
    """Names are Store where they are bound, Del where they are deleted, Load everywhere else."""
    # The node is held against its context; a node without ctx hands its own to nobody.
    stack: list[tuple[gast.AST, type[gast.AST]]] = [(nodes.root, gast.Load)]
    while stack:
        node, expected = stack.pop()
        if isinstance(node, gast.expr):
            yield from _context(node, expected)
        for field, child in nodes.children(node):
            context = _CONTEXTS.get((type(node), field), gast.Load)
            if isinstance(node, gast.Tuple | gast.List | gast.Starred):
                context = expected
            stack.append((child, context))


def _context(node: Any, expected: type[gast.AST]) -> Iterator[Problem]:
    word = expected.__name__
    if "ctx" not in node._fields:
        if expected is not gast.Load:
            yield _problem(node, f"cannot stand where {word} is meant")
        return
    found = type(getattr(node, "ctx", None))
    if found is not expected:
        yield _problem(node, f"is {found.__name__} where {word} is meant{_called(node)}")
    elif expected is gast.Param and not isinstance(node, gast.Name):
        yield _problem(node, "is a parameter, but not a name")


def _called(node: Any) -> str:
    return f" ({node.id})" if isinstance(node, gast.Name) else ""


def _definitions(nodes: _Nodes) -> Iterator[Problem]:
    """Names and bodies are not empty, and no function has two parameters of one name."""
    for node in nodes.all:
        named = isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef)
        if named and not node.name:
            yield _problem(node, "has an empty name")
        if isinstance(node, gast.Name) and not node.id:
            yield _problem(node, "is an empty name")
        for field, value in _fields(node):
            empty = isinstance(value, list) and not value
            body = field in ("body", "cases", "names", "items") and not isinstance(node, gast.mod)
            if empty and body:
                yield _problem(node, f"has an empty {field!r}")
        if isinstance(node, gast.Try) and not node.handlers and not node.finalbody:
            yield _problem(node, "has neither 'except' nor 'finally'")
        if isinstance(node, _FUNCTIONS):
            for name, count in Counter(_parameters(nodes, node)).items():
                if count > 1:
                    yield _problem(node, f"has {count} parameters named {name!r}")


def _parameters(nodes: _Nodes, function: Any) -> Iterator[str]:
    for field, child in nodes.children(function.args):
        if (gast.arguments, field) in _CONTEXTS and isinstance(child, gast.Name):
            yield child.id


def _jumps(nodes: _Nodes) -> Iterator[Problem]:
    """``break`` and ``continue`` stand in a loop, ``return`` in a function."""
    # (node, in a loop of this function, in a function)
    stack = [(nodes.root, False, False)]
    while stack:
        node, in_loop, in_function = stack.pop()
        if isinstance(node, gast.Break | gast.Continue) and not in_loop:
            yield _problem(node, f"{type(node).__name__.lower()!r} outside of a loop")
        if isinstance(node, gast.Return) and not in_function:
            yield _problem(node, "'return' outside of a function")
        for field, child in nodes.children(node):
            if isinstance(node, _FUNCTIONS) and field == "body":
                stack.append((child, False, True))
            elif isinstance(node, gast.ClassDef) and field == "body":
                stack.append((child, False, False))
            elif isinstance(node, _LOOPS) and field == "body":
                stack.append((child, True, in_function))
            else:
                stack.append((child, in_loop, in_function))


def _unbound_nonlocals(nodes: _Nodes, free: frozenset[str]) -> Iterator[Problem]:
    """A ``nonlocal`` name is bound by a function around."""
    # (scope, names that functions around it bind)
    stack = [(nodes.root, free)]
    while stack:
        scope, bound = stack.pop()
        for statement in _own(nodes, scope, gast.Nonlocal):
            for name in statement.names:
                if name not in bound:
                    yield _problem(statement, f"no enclosing function binds {name!r}")
        if isinstance(scope, _FUNCTIONS):
            bound |= {*_parameters(nodes, scope), *_bound(nodes, scope)}
            bound -= _declared(nodes, scope, gast.Global)
        elif isinstance(scope, gast.ClassDef):
            bound |= {"__class__"}
        stack.extend((inner, bound) for inner in _own(nodes, scope, *_SCOPES))


def _declarations(nodes: _Nodes) -> Iterator[Problem]:
    """A name is not declared ``nonlocal`` where it is a parameter or ``global`` too."""
    for scope in nodes.all:
        if isinstance(scope, _SCOPES):
            parameters = set(_parameters(nodes, scope)) if isinstance(scope, _FUNCTIONS) else set()
            globals_ = _declared(nodes, scope, gast.Global)
            for statement in _own(nodes, scope, gast.Nonlocal):
                for name in statement.names:
                    if name in parameters:
                        yield _problem(statement, f"{name!r} is a parameter, too")
                    if name in globals_:
                        yield _problem(statement, f"{name!r} is global, too")


def _declared(nodes: _Nodes, scope: gast.AST, kind: type[gast.AST]) -> set[str]:
    return {name for statement in _own(nodes, scope, kind) for name in statement.names}


def _own(nodes: _Nodes, scope: gast.AST, *kinds: type[gast.AST]) -> Iterator[Any]:
    return (node for node in nodes.own(scope) if isinstance(node, kinds))


def _bound(nodes: _Nodes, scope: gast.AST) -> set[str]:
    """The names that the statements of a function bind, its parameters aside."""
    names: set[str] = set()
    own = nodes.own(scope)
    # A comprehension keeps its loop variables to itself.
    private = {
        id(target)
        for node in own
        if isinstance(node, _COMPREHENSIONS)
        for generator in node.generators
        for target in gast.walk(generator.target)
    }
    for node in own:
        if isinstance(node, gast.Name):
            if isinstance(node.ctx, gast.Store | gast.Del) and id(node) not in private:
                names.add(node.id)
        elif isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            names.add(node.name)
        elif isinstance(node, gast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, gast.MatchAs | gast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, gast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


_RULES: tuple[Callable[[_Nodes], Iterator[Problem]], ...] = (
    _positions,
    _contexts,
    _definitions,
    _jumps,
    _declarations,
)
