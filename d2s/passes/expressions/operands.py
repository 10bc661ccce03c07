"""Bind the operands that wait for a call to variables, so that a change in place reaches them.

Only in pipelines of their own (``pipeline.BOUND``), for a capture in which a tensor was changed in
place while another operand of the same expression was its view: Python keeps such an operand where
nothing can put other contents in its place.

>>> show(PASS, '''
... def f(parent, a, b):
...     a, b = find(parent, a), find(parent, b)
...     if parent[a] != find(parent, b):
...         return parent[a] + a, clear(parent)
...     return join(parent, a, size=count(parent))
... ''')
def f(parent, a, b):
    operand = find(parent, a)
    operand_2 = find(parent, b)
    a, b = operand, operand_2
    operand_3 = parent[a]
    operand_4 = find(parent, b)
    if operand_3 != operand_4:
        operand_5 = parent[a] + a
        operand_6 = clear(parent)
        return operand_5, operand_6
    operand_7 = count(parent)
    return join(parent, a, size=operand_7)

>>> show(PASS, '''
... def f(rows):
...     return f"{rows}: {fill(rows)!r:>5}", rows if rows else []
... ''')
def f(rows):
    operand = f'{rows}'
    operand_2 = f'{operand}: {fill(rows)!r:>5}'
    operand_3 = rows if rows else []
    return operand_2, operand_3

>>> show(PASS, '''
... def f(parent, a, b):
...     while find(parent, a) != find(parent, b):
...         b = b + 1
...     return b
... ''')
def f(parent, a, b):
    while True:
        operand = find(parent, a)
        operand_2 = find(parent, b)
        if not operand != operand_2:
            break
        b = b + 1
    return b

What need not be evaluated (behind ``and``, in a comprehension) stays where it is.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import gast

from d2s.analysis.exits import looks_at_frame
from d2s.analysis.scopes import captured_names, local_names, own_nodes
from d2s.analysis.walk import walk
from d2s.passes.base import (
    Context,
    Pass,
    ScopeTransformer,
    assign,
    constant,
    each_function,
    if_,
    load,
    negated,
)
from d2s.syntax.positions import place, span_of

_Place = tuple[Any, str, int | None]
"""Where an operand stands: the node, the field, and the index if that is a list."""

_FIELDS: Final[dict[Any, tuple[str, ...]]] = {
    gast.Attribute: ("value",), gast.BinOp: ("left", "right"), gast.IfExp: ("test",),
    gast.List: ("elts",), gast.Set: ("elts",), gast.Slice: ("lower", "upper", "step"),
    gast.Tuple: ("elts",), gast.UnaryOp: ("operand",), gast.keyword: ("value",),
}  # fmt: skip
"""The fields with the operands that an expression evaluates in any case, in their order."""


def _in_fields(node: Any, *names: str) -> Iterator[_Place]:
    for name in names:
        found = getattr(node, name)
        if isinstance(found, list):
            yield from ((node, name, index) for index in range(len(found)))
        elif found is not None:
            yield node, name, None


def _operands(node: Any, is_module: Callable[[Any], bool]) -> list[_Place]:
    """The operands that ``node`` evaluates in any case, in their order; none where that is open.

    Args:
        node: an expression.
        is_module: whether an expression is a module, of which a call changes nothing.
    """
    if isinstance(node, gast.Call):
        callee, first = node.func, [*_in_fields(node, "func")]
        if isinstance(
            callee, gast.Attribute
        ):  # the method is looked up when the arguments are known
            first = [] if is_module(callee.value) else [*_in_fields(callee, "value")]
        elif isinstance(callee, gast.Name):
            first = []
        found = [*first, *_in_fields(node, "args")]
        found += [spot for each in node.keywords for spot in _in_fields(each, "value")]
        unpacks = any(each.arg is None for each in node.keywords)
    elif isinstance(node, gast.Dict):
        both = zip(_in_fields(node, "keys"), _in_fields(node, "values"), strict=True)
        found, unpacks = [spot for pair in both for spot in pair], None in node.keys
    elif isinstance(node, gast.Compare):
        found, unpacks = [(node, "left", None), (node, "comparators", 0)], False
    elif isinstance(node, gast.BoolOp):
        found, unpacks = [(node, "values", 0)], False
    elif isinstance(node, gast.Subscript):
        found, unpacks = [(node, "value", None), *_in_index(node, "slice")], False
    else:
        found, unpacks = [*_in_fields(node, *_FIELDS.get(type(node), ()))], False
    return [] if unpacks or any(isinstance(_at(each), gast.Starred) for each in found) else found


def _in_index(node: Any, name: str, index: int | None = None) -> Iterator[_Place]:
    """The operands in an index; a slice cannot be bound to a variable, but its bounds can."""
    part = _at((node, name, index))
    if isinstance(part, gast.Slice):
        yield from _in_fields(part, *_FIELDS[gast.Slice])
    elif isinstance(part, gast.Tuple):
        for number in range(len(part.elts)):
            yield from _in_index(part, "elts", number)
    else:
        yield node, name, index


def _at(spot: _Place) -> Any:
    node, name, index = spot
    return getattr(node, name) if index is None else getattr(node, name)[index]


def _put(spot: _Place, operand: Any) -> None:
    node, name, index = spot
    if index is None:
        setattr(node, name, operand)
    else:
        getattr(node, name)[index] = operand


_CALLS: Final = (
    *(gast.Call, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp),
    *(gast.IfExp, gast.BoolOp),
)
"""What runs code of a function, or what becomes a call."""


def _calls(node: Any) -> bool:
    return any(isinstance(part, _CALLS) for part in walk(node))


class _Operands(ScopeTransformer):
    """Binds operands in one function."""

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.own = local_names(function) - captured_names(function)

    def lowered(self, node: Any, before: list[Any]) -> Any:
        """What is left of ``node``; ``before`` gets the statements that come before it."""
        if isinstance(node, gast.JoinedStr):
            return self.lowered_text(node, before)
        places = _operands(node, self.is_module)
        last = max((i for i, each in enumerate(places) if _calls(_at(each))), default=-1)
        for each in places[: last + 1]:
            operand = self.lowered(_at(each), before)
            _put(each, self.bound(operand, before) if last else operand)
        return node

    def lowered_text(self, node: Any, before: list[Any]) -> Any:
        """An f-string, whose parts are formatted one after the other."""
        parts = [each for each in node.values if isinstance(each, gast.FormattedValue)]
        last = max((i for i, each in enumerate(parts) if _calls(each.value)), default=-1)
        if any(each.format_spec is not None and _calls(each.format_spec) for each in parts):
            return node
        for index, each in enumerate(parts[: last + 1]):
            each.value, at = self.lowered(each.value, before), span_of(each)
            if index < last:
                alone = gast.FormattedValue(each.value, each.conversion, each.format_spec)
                text = place(gast.JoinedStr([place(alone, at)]), at)
                each.value, each.conversion = self.bound(text, before), -1
                each.format_spec = None
        return node

    def is_module(self, node: Any) -> bool:
        """Whether ``node`` is a module, or one in it, by its name."""
        while isinstance(node, gast.Attribute):
            node = node.value
        named = isinstance(node, gast.Name) and node.id not in self.own
        return named and isinstance(self.ctx.resolve(node.id), types.ModuleType)

    def bound(self, node: Any, before: list[Any]) -> Any:
        """A variable with the value of ``node``, unless it is one, or a constant."""
        own = isinstance(node, gast.Name) and node.id in self.own
        if own or isinstance(node, gast.Constant):
            return node
        name, at = self.ctx.names.fresh("operand"), span_of(node)
        before.append(assign(name, node, at))
        return load(name, at)

    def visit_Assign(self, node: Any) -> Any:
        before: list[Any] = []
        if node.value is not None:
            node.value = self.lowered(node.value, before)
        return [*before, node]

    visit_Expr = visit_Assign
    visit_Return = visit_Assign

    def visit_AugAssign(self, node: Any) -> Any:
        """Python reads the variable first; no call binds it anew."""
        before: list[Any] = []
        if isinstance(node.target, gast.Name) and node.target.id in self.own:
            node.value = self.lowered(node.value, before)
            if _calls(node.value):
                node.value = self.bound(node.value, before)
        return [*before, node]

    def visit_If(self, node: Any) -> Any:
        before: list[Any] = []
        node.test = self.lowered(node.test, before)
        self.generic_visit(node)
        return [*before, node]

    def visit_While(self, node: Any) -> Any:
        before: list[Any] = []
        if not node.orelse:  # a break would leave that out
            node.test = self.lowered(node.test, before)
        self.generic_visit(node)
        if before:
            at = span_of(node.test)
            ends = if_(negated(node.test, at), [place(gast.Break(), at)], [], at)
            node.test, node.body = constant(True, at), [*before, ends, *node.body]
        return node

    def visit_For(self, node: Any) -> Any:
        before: list[Any] = []
        node.iter = self.lowered(node.iter, before)
        self.generic_visit(node)
        return [*before, node]


_LEFT_ALONE: Final = (gast.NamedExpr, gast.Await, gast.Yield, gast.YieldFrom)


def _bind(function: Any, ctx: Context) -> None:
    nodes = list(own_nodes(function.body))
    if not any(isinstance(node, _LEFT_ALONE) or looks_at_frame(node) for node in nodes):
        function.body = _Operands(ctx, function).block(function.body)


PASS = Pass(
    "operands",
    each_function(_bind),
    after=("subscripts", "walrus"),
    about=_CALLS,
    makes=(gast.If, gast.Not, gast.Break),
)
