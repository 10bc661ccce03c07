"""Take a walrus that may not be reached out of its expression, so that a tensor may decide it.

Behind ``and``, ``or`` or a chained comparison and in an arm of a conditional expression a walrus
binds only where evaluation comes by: the expression becomes statements, with the same parts in the
same order, each evaluated once.

>>> show(PASS, '''
... def f(x, gate):
...     if gate > 0 and (top := x.max()) > 1:
...         x = x / top
...     return gate < 0 or (low := x.min()) < 0
... ''')
def f(x, gate):
    if gate > 0:
        top = x.max()
        if top > 1:
            x = x / top
    value = gate < 0
    if not value:
        low = x.min()
        value = low < 0
    return value

>>> show(PASS, '''
... def f(x):
...     n = 0
...     while x > 1 and (n := n + 1) < 5:
...         x = x / 2
...     return x, n
... ''')
def f(x):
    n = 0
    done = False
    while not done:
        done = True
        if x > 1:
            n = n + 1
            if n < 5:
                done = False
                x = x / 2
    return x, n

Only an expression before which nothing else of its statement is evaluated is taken out.
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.exits import jumps, looks_at_frame, returns
from d2s.analysis.scopes import captured_names, changes_in, local_names, own_nodes
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
from d2s.syntax.trees import copied

_FIRST: Final[dict[Any, str]] = {
    gast.Attribute: "value", gast.BinOp: "left", gast.BoolOp: "values", gast.Call: "func",
    gast.Compare: "left", gast.IfExp: "test", gast.List: "elts", gast.NamedExpr: "value",
    gast.Set: "elts", gast.Subscript: "value", gast.Tuple: "elts", gast.UnaryOp: "operand",
}  # fmt: skip
"""The field with the operand that an expression evaluates first."""


def _first(node: Any) -> Any | None:
    found = getattr(node, _FIRST.get(type(node), ""), None)
    return next(iter(found), None) if isinstance(found, list) else found


def _set_first(node: Any, operand: Any) -> None:
    name = _FIRST[type(node)]
    if isinstance(getattr(node, name), list):
        getattr(node, name)[0] = operand
    else:
        setattr(node, name, operand)


def _binds(node: Any) -> bool:
    """Whether ``node`` holds a walrus."""
    return any(isinstance(item, gast.NamedExpr) for item in own_nodes(node))


def _split(node: Any) -> int:
    """How many operands of ``node`` come before the first that may not be reached and binds."""
    operands: list[Any] = []
    if isinstance(node, gast.BoolOp):
        operands = node.values[1:]
    elif isinstance(node, gast.Compare):
        operands = node.comparators[1:]
    elif isinstance(node, gast.IfExp):
        operands = [node.body, node.orelse]
    return next((i for i, operand in enumerate(operands, 1) if _binds(operand)), 0)


def _waits(node: Any) -> bool:
    """Whether ``node`` begins with an expression that has to become statements."""
    return node is not None and (_split(node) > 0 or _waits(_first(node)))


def _begins_with_walrus(node: Any) -> bool:
    return node is not None and (
        isinstance(node, gast.NamedExpr) or _begins_with_walrus(_first(node))
    )


def _joined(node: Any, values: list[Any]) -> Any:
    """Some operands of the ``and`` or ``or`` that ``node`` is."""
    return values[0] if len(values) == 1 else place(gast.BoolOp(node.op, values), span_of(node))


class _Statements(ScopeTransformer):
    """Makes statements of what has to become some, in one function."""

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.own = local_names(function) - captured_names(function)
        self.unsure = ctx.flow(function).unsure

    # -- expressions -----------------------------------------------------------------------------

    def lowered(self, node: Any, before: list[Any], *, truth: bool) -> Any:
        """What is left of ``node``; ``before`` gets the statements that come before it.

        Args:
            node: an expression.
            before: the statements so far.
            truth: only the truth of ``node`` matters, not its value.
        """
        if not (_waits(node) or _begins_with_walrus(node)):
            return node
        at = span_of(node)
        if _split(node):
            name = self.ctx.names.fresh("test" if truth else "value")
            self.into(name, node, before, truth=truth)
            return load(name, at)
        decides = isinstance(node, gast.IfExp) or (
            isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not)
        )
        inner_truth = decides or (truth and isinstance(node, gast.BoolOp))
        _set_first(node, self.lowered(_first(node), before, truth=inner_truth))
        if not isinstance(node, gast.NamedExpr):
            return node
        before.append(assign(node.target.id, node.value, at))
        return load(node.target.id, at)

    def into(self, name: str, node: Any, before: list[Any], *, truth: bool) -> None:
        """Statements that set ``name`` to the value (or truth) of ``node``."""
        at = span_of(node)
        position = _split(node)
        if not position:
            before.append(assign(name, self.lowered(node, before, truth=truth), at))
        elif isinstance(node, gast.IfExp):
            test = self.lowered(node.test, before, truth=True)
            sides: tuple[list[Any], list[Any]] = ([], [])
            for side, arm in zip(sides, (node.body, node.orelse), strict=True):
                self.into(name, arm, side, truth=truth)
            before.append(if_(test, *sides, at))
        elif isinstance(node, gast.Compare):
            self.comparison(name, node, before, truth=truth)
        else:
            either = isinstance(node.op, gast.Or)
            if truth:
                before.append(assign(name, constant(either, at), at))
                head = _joined(node, node.values[:position])
                test = self.lowered(head, before, truth=True)
            else:
                position = 1
                self.into(name, node.values[0], before, truth=False)
                test = load(name, at)
            rest: list[Any] = []
            self.into(name, _joined(node, node.values[position:]), rest, truth=truth)
            before.append(if_(negated(test, at) if either else test, rest, [], at))

    def comparison(self, name: str, node: Any, before: list[Any], *, truth: bool) -> None:
        """A chained comparison: the first one, and the others if that holds."""
        at = span_of(node)
        bound = changes_in([node]).bound
        left = self.lowered(node.left, before, truth=False)
        middle = node.comparators[0]
        if not self.is_steady(middle, bound):
            left = self.kept(left, "left", before, bound)
            middle = self.lowered(middle, before, truth=False)
            middle = self.kept(middle, "middle", before, bound)
        test = place(gast.Compare(left, node.ops[:1], [copied(middle)]), at)
        if truth:
            before.append(assign(name, constant(False, at), at))
        else:
            before.append(assign(name, test, at))
            test = load(name, at)
        rest: list[Any] = []
        others = place(gast.Compare(middle, node.ops[1:], node.comparators[1:]), at)
        self.into(name, others, rest, truth=truth)
        before.append(if_(test, rest, [], at))

    def is_steady(self, node: Any, bound: frozenset[str]) -> bool:
        """Whether ``node`` may be evaluated twice, and later."""
        if isinstance(node, gast.Name):
            return node.id in self.own - bound and id(node) not in self.unsure
        return isinstance(node, gast.Constant)

    def kept(self, node: Any, wish: str, before: list[Any], bound: frozenset[str]) -> Any:
        """A variable with the value of ``node``, unless it is steady itself."""
        if self.is_steady(node, bound):
            return node
        name, at = self.ctx.names.fresh(wish), span_of(node)
        before.append(assign(name, node, at))
        return load(name, at)

    # -- statements ------------------------------------------------------------------------------

    def visit_Assign(self, node: Any) -> Any:
        if node.value is None or not _waits(node.value):
            return node
        before: list[Any] = []
        node.value = self.lowered(node.value, before, truth=False)
        if isinstance(node, gast.Expr) and isinstance(node.value, gast.Name):
            return before
        return [*before, node]

    visit_Expr = visit_Assign
    visit_Return = visit_Assign

    def visit_If(self, node: Any) -> Any:
        self.generic_visit(node)
        if not _waits(node.test):
            return node
        leaves = returns(node.body) or jumps(node.body, (gast.Break, gast.Continue))
        if not node.orelse and not leaves:
            return self.nested(node.test, node.body)
        before: list[Any] = []
        node.test = self.lowered(node.test, before, truth=True)
        return [*before, node]

    def nested(self, test: Any, body: list[Any]) -> list[Any]:
        """``if test: body`` without an ``else``: an ``and`` is an ``if`` in an ``if``."""
        before: list[Any] = []
        at = span_of(test)
        position = _split(test)
        if position and isinstance(test, gast.BoolOp) and isinstance(test.op, gast.And):
            body = self.nested(_joined(test, test.values[position:]), body)
            test = _joined(test, test.values[:position])
        test = self.lowered(test, before, truth=True)
        return [*before, if_(test, body, [], at)]

    def visit_While(self, node: Any) -> Any:
        self.generic_visit(node)
        if not _waits(node.test):
            return node
        at = span_of(node.test)
        done = self.ctx.names.fresh("done")
        goes_on = assign(done, constant(False, at), at)
        ends = assign(done, constant(True, at), at)
        node.body = [ends, *self.nested(node.test, [goes_on, *node.body])]
        node.test = negated(load(done, at), at)
        return [assign(done, constant(False, at), at), node]


def _lower(function: Any, ctx: Context) -> None:
    if not any(looks_at_frame(node) for node in own_nodes(function.body)):
        function.body = _Statements(ctx, function).block(function.body)


PASS = Pass(
    "walrus",
    each_function(_lower),
    after=("matches",),
    about=(gast.NamedExpr,),
    makes=(gast.If, gast.Not),
)
