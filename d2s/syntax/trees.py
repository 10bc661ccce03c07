"""Trees, fast: the nodes below a node, walks, copies, and the class that rewrites them.

A conversion comes by each node of the user's text some ten times, so that the cost of one step is
what conversion costs.  ``gast.walk``, ``copy.deepcopy`` and ``gast.NodeTransformer`` do the same
and take from three to six times as long: they ask each node for its fields by name, and go into
``Load()``, ``Add()`` and their like, which say nothing but their type.

Knows nothing of what a tree means; imports gast only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import gast

_SILENT: Final = frozenset(
    (
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs",
        "level", "module", "op", "ops", "rest", "simple", "type_comment",
    )
)  # fmt: skip
"""Fields that hold no code, whatever the node is."""

_PLAIN: Final = frozenset(
    (
        (gast.AsyncFunctionDef, "name"), (gast.ClassDef, "name"), (gast.Constant, "value"),
        (gast.FunctionDef, "name"), (gast.Global, "names"), (gast.MatchAs, "name"),
        (gast.MatchSingleton, "value"), (gast.MatchStar, "name"), (gast.Nonlocal, "names"),
        (gast.alias, "name"),
    )
)  # fmt: skip
"""Fields that hold no code, where others of the same name do."""


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of a node type that may hold code, in order; found when first asked for."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
        self[kind] = found = tuple(
            name for name in names if name not in _SILENT and (kind, name) not in _PLAIN
        )
        return found


class _Backwards(dict[type, tuple[str, ...]]):
    """The same, last field first: for stacks."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        self[kind] = found = CODE[kind][::-1]
        return found


CODE: Final = _Fields()
BACKWARDS: Final = _Backwards()


def children(node: Any) -> list[Any]:
    """The nodes right below ``node`` that are code, in the order of its fields."""
    found: list[Any] = []
    values = node.__dict__
    for name in CODE[node.__class__]:
        value = values.get(name)
        if value.__class__ is list:
            found += [item for item in value if item is not None]
        elif value is not None:
            found.append(value)
    return found


def walk(tree: Any) -> Iterator[Any]:
    """``tree`` and all nodes below it that are code, parents first.

    >>> [type(node).__name__ for node in walk(gast.parse("y = f(x)[0]").body[0])]
    ['Assign', 'Name', 'Subscript', 'Call', 'Name', 'Name', 'Constant']
    """
    stack = [tree]
    pop = stack.pop
    while stack:
        node = pop()
        if node is None:  # a key of ``{**other}``, a default that a keyword has not
            continue
        yield node
        values = node.__dict__
        for name in BACKWARDS[node.__class__]:
            value = values.get(name)
            if value.__class__ is list:
                stack += value[::-1]
            elif value is not None:
                stack.append(value)


def copied(node: Any) -> Any:
    """``node`` and what is below it, anew; ``Load()``, ``Add()`` and their like are shared.

    >>> tree = gast.parse("y = -x").body[0]
    >>> copy = copied(tree)
    >>> copy.value.operand.id = "z"
    >>> tree.value.operand.id, copy.lineno
    ('x', 1)
    """
    kind = node.__class__
    made = kind.__new__(kind)
    values = made.__dict__
    values.update(node.__dict__)
    for name in CODE[kind]:
        value = values.get(name)
        if value.__class__ is list:
            values[name] = [None if item is None else copied(item) for item in value]
        elif value is not None:
            values[name] = copied(value)
    return made


class _Visitors(dict[type, Callable[[Any, Any], Any] | None]):
    """The method of a rewriter for each node type; ``None`` for nodes that stay as they are."""

    def __init__(self, owner: type[Rewriter]) -> None:
        super().__init__()
        self.owner = owner

    def __missing__(self, kind: type) -> Callable[[Any, Any], Any] | None:
        found: Callable[[Any, Any], Any] | None
        found = getattr(self.owner, f"visit_{kind.__name__}", None)
        if found is None and kind is gast.Name:
            found = _annotation
        elif found is None and CODE[kind]:
            found = self.owner.generic_visit
        self[kind] = found
        return found


def _annotation(rewriter: Rewriter, node: Any) -> Any:
    """A variable, which has code below it only where it is a parameter with an annotation."""
    return node if node.annotation is None else rewriter.generic_visit(node)


class Rewriter:
    """A transformer of trees, used as ``gast.NodeTransformer`` is.

    A method ``visit_KIND`` gets a node of that kind and gives what stands in its place: a node, a
    list of nodes, or ``None`` for nothing.  Nodes without code in them come by only where there is
    a method for them.

    >>> class Twice(Rewriter):
    ...     def visit_Expr(self, node):
    ...         return [node, copied(node)]
    >>> tree = Twice().visit(gast.parse("if x: f()"))
    >>> len(tree.body[0].body)
    2
    """

    _visitors: _Visitors
    _watched: bool
    """Whether the class has a ``visit`` of its own, which then sees every node."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._visitors = _Visitors(cls)
        cls._watched = cls.visit is not Rewriter.visit

    def visit(self, node: Any) -> Any:
        """What stands in the place of ``node``."""
        method = self._visitors[node.__class__]
        return node if method is None else method(self, node)

    def generic_visit(self, node: Any) -> Any:
        """``node``, with everything below it rewritten."""
        visitors = self._visitors
        values = node.__dict__
        for name in CODE[node.__class__]:
            value = values.get(name)
            if value is None:
                continue
            if value.__class__ is list:
                self._rewrite(value)
                continue
            method = visitors[value.__class__]
            if self._watched:
                new = self.visit(value)
            elif method is None:
                continue
            else:
                new = method(self, value)
            if new is None:
                delattr(node, name)
            elif new is not value:
                values[name] = new
        return node

    def _rewrite(self, items: list[Any]) -> None:
        """Rewrite what stands in a list, in that list."""
        visitors = self._visitors
        changed: list[Any] | None = None
        for position, item in enumerate(items):
            new = item
            if item is not None:
                method = visitors[item.__class__]
                if self._watched:
                    new = self.visit(item)
                elif method is not None:
                    new = method(self, item)
            if new is not item and changed is None:
                changed = items[:position]
            if changed is None or (new is None and item is not None):
                continue
            if isinstance(new, list):
                changed += new
            else:
                changed.append(new)
        if changed is not None:
            items[:] = changed
