"""Turn ``and``, ``or``, ``not``, ``in``, ``is`` and chained comparisons into operators.

The right operands are thunks, so that short circuit holds.  Single comparisons stay as they are,
because tensors overload them, unless both sides may be lists or tuples, which Python compares.
``is`` is converted only where a side may hold what a tensor has decided: a variable that the
function itself binds, or an attribute.

>>> show(PASS, '''
... def f(a, b, xs):
...     return not a or 0 < b < 3 and a in xs
... ''')
def f(a, b, xs):
    return d2s.or_(d2s.not_(a), lambda: d2s.and_(0 < b, lambda: b < 3, lambda: d2s.in_(a, xs)))

>>> show(PASS, '''
... def f(x, y):
...     return x.shape == y.shape and x > y
... ''')
def f(x, y):
    return d2s.and_(d2s.eq(x.shape, y.shape), lambda: x > y)

>>> show(PASS, '''
... def f(a, b):
...     return a() < b() < 3
... ''')
def f(a, b):
    return d2s.compare(a(), ('<', b), ('<', lambda: 3))
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import Span, place, put, span_of
from d2s.syntax.trees import Rewriter, copied, walk

SYMBOLS = {
    gast.Lt: "<", gast.LtE: "<=", gast.Gt: ">", gast.GtE: ">=", gast.Eq: "==", gast.NotEq: "!=",
    gast.In: "in", gast.NotIn: "not in", gast.Is: "is", gast.IsNot: "is not",
}  # fmt: skip
_EQUALITY = {gast.Eq: "eq", gast.NotEq: "ne"}
MEMBERSHIP = {gast.In: "in_", gast.NotIn: "not_in", gast.Is: "is_", gast.IsNot: "is_not"}


_COMPARING: Final = frozenset(f"__{name}__" for name in ("lt", "le", "gt", "ge"))
"""Methods that mostly compare what makes up an object, as tuples."""

_SEQUENCES: Final = (gast.Tuple, gast.List, gast.ListComp)


def _names_of_sequences(tree: Any) -> frozenset[str]:
    """The variables that a tuple or list is assigned to as it is written down."""
    return frozenset(
        target.id
        for node in walk(tree)
        if node.__class__ is gast.Assign and isinstance(node.value, _SEQUENCES)
        for target in node.targets
        if isinstance(target, gast.Name)
    )


class _Operators(Rewriter):
    def __init__(self, ctx: Context, tree: Any) -> None:
        self.ctx = ctx
        self.sequences = _names_of_sequences(tree)
        self.compares = tree.name in _COMPARING

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_BoolOp(self, node: Any) -> Any:
        self.generic_visit(node)
        at = span_of(node)
        word = "and_" if isinstance(node.op, gast.And) else "or_"
        first, *others = node.values
        thunks = []
        for operand in others:
            thunk = self.ctx.thunk(operand, at)
            if thunk is None:
                return node
            thunks.append(thunk)
        if self._is_word(first, word):  # and_(and_(a, b), c) is and_(a, b, c)
            first.args += [put(thunk, span_of(first)) for thunk in thunks]
            return first
        call = self.ctx.expr(f"d2s.{word}(first)", at, first=first)
        for thunk in thunks:
            inner = thunk.body
            if word == "and_" and self._is_word(inner, word):
                call.args += [
                    self._thunk(inner.args[0], at),
                    *(put(arg, at) for arg in inner.args[1:]),
                ]
            else:
                call.args.append(thunk)
        return call

    def _thunk(self, expression: Any, at: Span) -> Any:
        thunk = self.ctx.thunk(expression, at)
        assert thunk is not None  # it came out of a thunk
        return thunk

    def _is_word(self, node: Any, word: str) -> bool:
        return (
            isinstance(node, gast.Call) and self.ctx.is_word(node.func) and node.func.attr == word
        )

    def visit_UnaryOp(self, node: Any) -> Any:
        self.generic_visit(node)
        if not isinstance(node.op, gast.Not):
            return node
        return self.ctx.expr("d2s.not_(operand)", span_of(node), operand=node.operand)

    def visit_Compare(self, node: Any) -> Any:
        self.generic_visit(node)
        at = span_of(node)
        if len(node.ops) == 1:
            return self._single(node.left, node.ops[0], node.comparators[0], node)
        operands = [node.left, *node.comparators]
        if all(isinstance(middle, gast.Name | gast.Constant) for middle in operands[1:-1]):
            call = self.ctx.expr("d2s.and_()", at)
            for position, op in enumerate(node.ops):
                left = operands[position]
                if position:
                    left = copied(left)
                pair = place(gast.Compare(left, [op], [operands[position + 1]]), at)
                pair = self._single(pair.left, op, pair.comparators[0], pair)
                thunk = self.ctx.thunk(pair, at) if position else pair
                if thunk is None:
                    return node
                call.args.append(thunk)
            return call
        call = self.ctx.expr("d2s.compare(left)", at, left=node.left)
        for op, operand in zip(node.ops, node.comparators, strict=True):
            thunk = self.ctx.thunk(operand, at)
            if thunk is None:
                return node
            if (
                isinstance(operand, gast.Call)
                and isinstance(operand.func, gast.Name)
                and not (operand.args or operand.keywords)
            ):
                thunk = operand.func
            symbol = gast.Constant(SYMBOLS[type(op)], None)
            call.args.append(place(gast.Tuple([symbol, thunk], gast.Load()), at))
        return call

    def _single(self, left: Any, op: Any, right: Any, node: Any) -> Any:
        word = MEMBERSHIP.get(type(op))
        if word is None:
            return self._of_containers(left, op, right, node)
        sure = not (isinstance(left, _MAY_DIFFER) or isinstance(right, _MAY_DIFFER))
        if word.startswith("is") and sure:
            return node
        return self.ctx.expr(f"d2s.{word}(left, right)", span_of(node), left=left, right=right)

    def _of_containers(self, left: Any, op: Any, right: Any, node: Any) -> Any:
        """A comparison in which both sides may be lists, tuples or objects."""
        at = span_of(node)
        if type(op) in _EQUALITY:
            if not (_may_hold(left) and _may_hold(right)):
                return node
            return self.ctx.expr(
                f"d2s.{_EQUALITY[type(op)]}(left, right)", at, left=left, right=right
            )
        sides = (left, right)
        whole = self.compares and all(isinstance(side, _MAY_HOLD) for side in sides)
        if not (whole or any(map(self._is_sequence, sides))):
            return node
        thunk = self.ctx.thunk(right, at)
        if thunk is None:
            return node
        call = self.ctx.expr("d2s.compare(left)", at, left=left)
        call.args.append(
            place(gast.Tuple([gast.Constant(SYMBOLS[type(op)], None), thunk], gast.Load()), at)
        )
        return call

    def _is_sequence(self, node: Any) -> bool:
        return isinstance(node, _SEQUENCES) or (
            isinstance(node, gast.Name) and node.id in self.sequences
        )


_MAY_HOLD: Final = (
    gast.Attribute, gast.Call, gast.Dict, gast.IfExp, gast.List, gast.Name, gast.NamedExpr,
    gast.Subscript, gast.Tuple,
)  # fmt: skip
"""Expressions that may give a list, tuple, dict or object."""


def _may_hold(node: Any) -> bool:
    if isinstance(node, gast.BinOp):  # [n] + x.shape[1:]
        return any(isinstance(side, gast.List | gast.Tuple) for side in (node.left, node.right))
    return isinstance(node, _MAY_HOLD)


_MAY_DIFFER: Final = (
    gast.Attribute, gast.BoolOp, gast.Call, gast.Compare, gast.IfExp, gast.Name, gast.NamedExpr,
    gast.Subscript, gast.UnaryOp,
)  # fmt: skip
"""Expressions that may give one of several things, or a bool that the run knows."""


def run(tree: Any, ctx: Context) -> Any:
    """Convert the operators of every function, in lambdas and comprehensions too."""
    operators = _Operators(ctx, tree)
    tree.body = [operators.visit(statement) for statement in tree.body]
    return tree


PASS = Pass(
    "boolean",
    run,
    after=("conditional", "loops", "ternary"),
    about=(gast.BoolOp, gast.Not, gast.Compare),
)
