"""Tell of what is taken apart into several names: an iterator of Python's moves by that.

A branch must not move one from outside of it, as its items would be gone on both sides.

>>> show(PASS, '''
... def f(self, rows, x):
...     a, b = rows
...     a, b = b, a
...     (c, d), e = self.pairs[0]
...     rows, columns = x.shape
...     return a, b, c, d, e, rows
... ''')
def f(self, rows, x):
    a, b = d2s.parts(rows)
    a, b = b, a
    (c, d), e = d2s.parts(self.pairs[0])
    rows, columns = x.shape
    return a, b, c, d, e, rows

A list takes all items of one with ``+=``.  Most that stands there is a number or tensor, so the
function must have made the list, or the iterator:

>>> show(PASS, '''
... def f(rows, x, y):
...     found = []
...     found += rows
...     found += [x]
...     x += y
...     return found, x
... ''')
def f(rows, x, y):
    found = []
    found += d2s.parts(rows)
    found += [x]
    x += y
    return found, x
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gast

from d2s.analysis.walk import walk
from d2s.passes.base import Context, Pass
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter

_MAKERS: Final = frozenset(("enumerate", "filter", "iter", "map", "reversed", "zip", "itertools"))
"""Built-in functions that give iterators, and the module that does."""


class _Unpacking(Rewriter):
    def __init__(self, ctx: Context, tree: Any) -> None:
        self.ctx = ctx
        self.iterators = _bound_to(_makes_iterator, tree)
        self.lists = _bound_to(lambda value: isinstance(value, gast.List | gast.ListComp), tree)

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_Assign(self, node: Any) -> Any:
        if _may_be_iterator(node.value) and any(map(_is_plain_nest, node.targets)):
            node.value = self._parts(node.value)
        return node

    def visit_AugAssign(self, node: Any) -> Any:
        made = _is_named(node.value, self.iterators)
        if made or (_is_named(node.target, self.lists) and _may_be_iterator(node.value)):
            node.value = self._parts(node.value)
        return node

    def _parts(self, value: Any) -> Any:
        return self.ctx.expr("d2s.parts(value)", span_of(value), value=value)


def _is_named(expression: Any, names: frozenset[str]) -> bool:
    return isinstance(expression, gast.Name) and expression.id in names


def _bound_to(is_it: Callable[[Any], bool], tree: Any) -> frozenset[str]:
    """Variables that an assignment in ``tree`` binds to an expression of which ``is_it`` holds."""
    return frozenset(
        target.id
        for node in walk(tree)
        if isinstance(node, gast.Assign) and is_it(node.value)
        for target in node.targets
        if isinstance(target, gast.Name)
    )


def _makes_iterator(value: Any) -> bool:
    if not isinstance(value, gast.Call):
        return isinstance(value, gast.GeneratorExp)
    maker = value.func.value if isinstance(value.func, gast.Attribute) else value.func
    return _is_named(maker, _MAKERS)


def _is_plain_nest(target: Any) -> bool:
    """Whether a target is several names, none of which has a ``*``."""
    return isinstance(target, gast.Tuple | gast.List) and not any(
        isinstance(part, gast.Starred) for part in target.elts
    )


def _may_be_iterator(value: Any) -> bool:
    """Whether what an expression reads was there before, so that somebody may go on with it."""
    if isinstance(value, gast.Attribute):
        return bool(value.attr != "shape")
    return isinstance(value, gast.Name | gast.Subscript)


def run(tree: Any, ctx: Context) -> Any:
    """Tell of each value that an assignment takes apart, or adds to a list."""
    unpacking = _Unpacking(ctx, tree)
    tree.body = [unpacking.visit(statement) for statement in tree.body]
    return tree


PASS = Pass("unpacking", run, about=(gast.Tuple, gast.List, gast.AugAssign))
