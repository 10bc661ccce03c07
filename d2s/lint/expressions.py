"""What an expression is: read along with the statements around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import gast

from d2s.analysis.scopes import dotted
from d2s.lint import calls, hints, outside, rules, tables
from d2s.lint.scope import Around
from d2s.lint.values import (
    NUMBER,
    PLAIN,
    TENSOR,
    TEXT,
    UNKNOWN,
    VECTOR,
    Kind,
    Value,
    join,
    together,
)

if TYPE_CHECKING:
    from d2s.lint.follow import Follower

_ITERABLE: Final = (Kind.MANY, Kind.DEQUE, Kind.SET, Kind.ITERATOR)


class Expressions:
    """Says of expressions what they are.

    Args:
        follower: reads the statements around them.
    """

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.shown = 0

    @contextmanager
    def showing(self) -> Iterator[None]:
        """For what ``print`` and its like show: the run makes the text."""
        self.shown += 1
        try:
            yield
        finally:
            self.shown -= 1

    def of(self, node: Any) -> Value:
        """What an expression is."""
        reader = _READERS.get(type(node))
        if reader is not None:
            return reader(self, node)
        return self._parts(node)

    def _parts(self, node: Any) -> Value:
        """An expression that no rule knows; those inside of it may be known."""
        for child in ast_children(node):
            self.of(child)
        return UNKNOWN

    def item_of(self, value: Value) -> Value:
        """What an item of a value is, or what iterating gives."""
        if value.kind is Kind.TENSOR:
            return TENSOR
        if value.kind is Kind.ARRAY:
            return NUMBER
        if value.kind in _ITERABLE and value.item is not None:
            return value.item
        return PLAIN if value.kind is Kind.PLAIN else UNKNOWN

    def _constant(self, node: Any) -> Value:
        return PLAIN

    def _name(self, node: Any) -> Value:
        found = self.follower.scope.get(node.id)
        if found is not None:
            return found
        path = self.follower.module.resolved(node)
        if path != node.id:
            return Value(Kind.NAMED, name=path)
        functions = self.follower.module.functions_named(node.id)
        free = [one for one in functions if id(one) not in self.follower.module.owners]
        if len(free) == 1:
            return Value(Kind.FUNCTION, home=free[0])
        owner = self.follower.module.class_named(node.id)
        return UNKNOWN if owner is None else Value(Kind.CLASS, home=owner)

    def _attribute(self, node: Any) -> Value:
        path = self.follower.module.resolved(node)
        if path and (dotted(node) or "").partition(".")[0] in self.follower.module.names:
            outside.named(self.follower, node, path)
            return Value(Kind.NAMED, name=path)
        owner = self.of(node.value)
        if owner.kind is Kind.TENSOR:
            if node.attr == "shape":
                return Value(Kind.MANY, PLAIN)
            return PLAIN if node.attr in tables.PLAIN_OF_TENSORS else TENSOR
        if owner.kind is Kind.OBJECT:
            return self._of_object(owner, node.attr)
        if owner.kind is Kind.LAYER and node.attr in ("weight", "bias"):
            return TENSOR
        if owner.kind is Kind.NAMED:
            return Value(Kind.NAMED, name=f"{owner.name}.{node.attr}")
        return UNKNOWN

    def _of_object(self, owner: Value, name: str) -> Value:
        method = self.follower.module.method(owner.home, name)
        if method is not None:
            marks = [getattr(mark, "id", "") for mark in method.decorator_list]
            if "property" in marks:
                return self.follower.call(method, [], {}, owner.home, method)
            return Value(Kind.FUNCTION, home=method)
        found = self.follower.attribute(owner.home, name)
        return UNKNOWN if found is None else found

    def _subscript(self, node: Any) -> Value:
        owner, key = self.of(node.value), self.of(node.slice)
        if owner.kind is Kind.NAMED:
            outside.named(self.follower, node, owner.name)
        if owner.kind in (Kind.TENSOR, Kind.ARRAY):
            return Value(owner.kind)
        if owner.kind in (Kind.TABLE, *_ITERABLE):
            if isinstance(node.slice, gast.Slice):
                return owner
            rules.item_read(self.follower, node, owner, key)
            return owner.item or UNKNOWN
        return UNKNOWN

    def _binary(self, node: Any) -> Value:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, gast.Mod):
            rules.template(self.follower, node, right)
            if isinstance(node.left, gast.Constant) and isinstance(node.left.value, str):
                return TEXT if right.holds_decided else PLAIN
        found = _arithmetic(left, right)
        return TENSOR if found == VECTOR and isinstance(node.op, gast.MatMult) else found

    def _unary(self, node: Any) -> Value:
        value = self.of(node.operand)
        if isinstance(node.op, gast.Not):
            return NUMBER if value.decided else value
        return value

    def _logic(self, node: Any) -> Value:
        values = []
        depth = len(self.follower.around)
        for part in node.values:
            values.append(self.of(part))
            if values[-1].decided:
                self.follower.around.append(Around("branch", self.follower.tries))
        del self.follower.around[depth:]
        if any(value.decided for value in values):
            return NUMBER if all(value.kind is not Kind.TENSOR for value in values) else TENSOR
        return together(values)

    def _compare(self, node: Any) -> Value:
        values = [self.of(part) for part in (node.left, *node.comparators)]
        if all(isinstance(op, gast.Is | gast.IsNot) for op in node.ops):
            rules.identity(self.follower, node)
            return PLAIN
        if VECTOR in values:
            return VECTOR
        if any(value.kind is Kind.TENSOR for value in values):
            return TENSOR
        if any(value.decided for value in values):
            return NUMBER
        return PLAIN if all(value.kind is Kind.PLAIN for value in values) else UNKNOWN

    def _ternary(self, node: Any) -> Value:
        test = self.of(node.test)
        rules.condition(self.follower, node.test, test)
        decided = test.decided
        depth = len(self.follower.around)
        if decided:
            self.follower.around.append(Around("branch", self.follower.tries))
        found = join(self.of(node.body), self.of(node.orelse))
        del self.follower.around[depth:]
        return found

    def _sequence(self, node: Any) -> Value:
        items = [self.of(item) for item in node.elts]
        return Value(Kind.MANY, together(items))

    def _set(self, node: Any) -> Value:
        items = [self.of(item) for item in node.elts]
        for item, value in zip(node.elts, items, strict=True):
            rules.hashed(self.follower, item, value)
        return Value(Kind.SET, together(items))

    def _dict(self, node: Any) -> Value:
        for key in node.keys:
            if key is not None:
                rules.hashed(self.follower, key, self.of(key))
        return Value(Kind.TABLE, together(map(self.of, node.values)))

    def _comprehension(self, node: Any) -> Value:
        follower = self.follower
        before, depth = dict(follower.scope.values), len(follower.around)
        for part in node.generators:
            follower.bind(part.target, self.item_of(self.of(part.iter)))
            if hints.is_open(follower, part.iter):
                follower.around.append(Around("loop", follower.tries))
            for test in part.ifs:
                if self.of(test).decided:
                    follower.around.append(Around("branch", follower.tries))
        if isinstance(node, gast.DictComp):
            rules.hashed(follower, node.key, self.of(node.key))
            found = Value(Kind.TABLE, self.of(node.value))
        else:
            item = self.of(node.elt)
            kind = {gast.SetComp: Kind.SET, gast.GeneratorExp: Kind.ITERATOR}
            found = Value(kind.get(type(node), Kind.MANY), item)
            if isinstance(node, gast.SetComp):
                rules.hashed(follower, node.elt, item)
        del follower.around[depth:]
        follower.scope.values = before
        return found

    def _text(self, node: Any) -> Value:
        with self.showing():
            parts = [self.of(part.value) for part in node.values if hasattr(part, "conversion")]
        return TEXT if any(part.holds_decided for part in parts) else PLAIN

    def _lambda(self, node: Any) -> Value:
        return Value(Kind.FUNCTION, home=node)

    def _walrus(self, node: Any) -> Value:
        value = self.of(node.value)
        self.follower.bind(node.target, value)
        return value

    def _await(self, node: Any) -> Value:
        self.of(node.value)
        rules.awaited(self.follower, node)
        return UNKNOWN

    def _yield(self, node: Any) -> Value:
        if node.value is not None:
            self.of(node.value)
        rules.yielded(self.follower, node)
        return UNKNOWN

    def _slice(self, node: Any) -> Value:
        parts = [self.of(p) for p in (node.lower, node.upper, node.step) if p is not None]
        return NUMBER if any(part.decided for part in parts) else PLAIN

    def _starred(self, node: Any) -> Value:
        return self.item_of(self.of(node.value))

    def _call(self, node: Any) -> Value:
        if dotted(node.func) == "print" or calls.is_logging(self.follower.module, node.func):
            with self.showing():
                return calls.call(self.follower, node)
        return calls.call(self.follower, node)


def _arithmetic(left: Value, right: Value) -> Value:
    kinds = {left.kind, right.kind}
    if VECTOR in (left, right):
        return VECTOR
    for kind in (Kind.TENSOR, Kind.ARRAY, Kind.NUMBER):
        if kind in kinds:
            return Value(kind)
    if kinds == {Kind.MANY}:
        return join(left, right)
    if Kind.TEXT in kinds:
        return TEXT
    return left if kinds == {Kind.PLAIN} else UNKNOWN


def ast_children(node: Any) -> list[Any]:
    """The expressions right below one."""
    found = []
    for name in node._fields:
        value = getattr(node, name, None)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, gast.expr):
                found.append(one)
    return found


_READERS: Final[dict[type, Callable[[Expressions, Any], Value]]] = {
    gast.Constant: Expressions._constant,
    gast.Name: Expressions._name,
    gast.Attribute: Expressions._attribute,
    gast.Subscript: Expressions._subscript,
    gast.BinOp: Expressions._binary,
    gast.UnaryOp: Expressions._unary,
    gast.BoolOp: Expressions._logic,
    gast.Compare: Expressions._compare,
    gast.IfExp: Expressions._ternary,
    gast.List: Expressions._sequence,
    gast.Tuple: Expressions._sequence,
    gast.Set: Expressions._set,
    gast.Dict: Expressions._dict,
    gast.ListComp: Expressions._comprehension,
    gast.SetComp: Expressions._comprehension,
    gast.DictComp: Expressions._comprehension,
    gast.GeneratorExp: Expressions._comprehension,
    gast.JoinedStr: Expressions._text,
    gast.Lambda: Expressions._lambda,
    gast.NamedExpr: Expressions._walrus,
    gast.Await: Expressions._await,
    gast.Yield: Expressions._yield,
    gast.YieldFrom: Expressions._yield,
    gast.Slice: Expressions._slice,
    gast.Starred: Expressions._starred,
    gast.Call: Expressions._call,
}
