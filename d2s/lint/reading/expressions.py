"""What an expression is: read along with the statements around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gast

from d2s.analysis.scopes import dotted
from d2s.lint.reading import calls, hints, outside, rules, tables
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.scope import Around
from d2s.lint.reading.values import (
    ITERABLE,
    NUMBER,
    PLAIN,
    TENSOR,
    TEXT,
    UNKNOWN,
    VECTOR,
    Kind,
    Value,
    item_of,
    join,
    together,
)


class Expressions:
    """Says of expressions what they are.

    Args:
        reader: reads the statements around them.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

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

    def _constant(self, node: Any) -> Value:
        return PLAIN

    def _name(self, node: Any) -> Value:
        found = self.reader.scope.get(node.id)
        if found is not None:
            return found
        path = self.reader.module.resolved(node)
        if path != node.id:
            return Value(Kind.NAMED, name=path)
        functions = self.reader.module.functions_named(node.id)
        free = [one for one in functions if id(one) not in self.reader.module.owners]
        if len(free) == 1:
            return Value(Kind.FUNCTION, home=free[0])
        owner = self.reader.module.class_named(node.id)
        return UNKNOWN if owner is None else Value(Kind.CLASS, home=owner)

    def _attribute(self, node: Any) -> Value:
        path = self.reader.module.resolved(node)
        if path and (dotted(node) or "").partition(".")[0] in self.reader.module.names:
            outside.named(self.reader, node, path)
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
        method = self.reader.module.method(owner.home, name)
        if method is not None:
            marks = [getattr(mark, "id", "") for mark in method.decorator_list]
            if "property" in marks:
                return self.reader.call(method, [], {}, owner.home, method)
            return Value(Kind.FUNCTION, home=method)
        found = self.reader.attribute(owner.home, name)
        return UNKNOWN if found is None else found

    def _subscript(self, node: Any) -> Value:
        owner, key = self.of(node.value), self.of(node.slice)
        if owner.kind is Kind.NAMED:
            outside.named(self.reader, node, owner.name)
        if owner.kind in (Kind.TENSOR, Kind.ARRAY):
            return Value(owner.kind)
        if owner.kind in (Kind.TABLE, *ITERABLE):
            if isinstance(node.slice, gast.Slice):
                return owner
            rules.item_read(self.reader, node, owner, key)
            return owner.item or UNKNOWN
        return UNKNOWN

    def _binary(self, node: Any) -> Value:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, gast.Mod):
            rules.template(self.reader, node, right)
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
        depth = len(self.reader.around)
        for part in node.values:
            values.append(self.of(part))
            if values[-1].decided:
                self.reader.around.append(Around("branch", self.reader.tries))
        del self.reader.around[depth:]
        if any(value.decided for value in values):
            return NUMBER if all(value.kind is not Kind.TENSOR for value in values) else TENSOR
        return together(values)

    def _compare(self, node: Any) -> Value:
        values = [self.of(part) for part in (node.left, *node.comparators)]
        if all(isinstance(op, gast.Is | gast.IsNot) for op in node.ops):
            rules.identity(self.reader, node)
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
        rules.condition(self.reader, node.test, test)
        decided = test.decided
        depth = len(self.reader.around)
        if decided:
            self.reader.around.append(Around("branch", self.reader.tries))
        found = join(self.of(node.body), self.of(node.orelse))
        del self.reader.around[depth:]
        return found

    def _sequence(self, node: Any) -> Value:
        items = [self.of(item) for item in node.elts]
        return Value(Kind.MANY, together(items))

    def _set(self, node: Any) -> Value:
        items = [self.of(item) for item in node.elts]
        for item, value in zip(node.elts, items, strict=True):
            rules.hashed(self.reader, item, value)
        return Value(Kind.SET, together(items))

    def _dict(self, node: Any) -> Value:
        for key in node.keys:
            if key is not None:
                rules.hashed(self.reader, key, self.of(key))
        return Value(Kind.TABLE, together(map(self.of, node.values)))

    def _comprehension(self, node: Any) -> Value:
        reader = self.reader
        before, depth = dict(reader.scope.values), len(reader.around)
        for part in node.generators:
            source = self.of(part.iter)
            reader.bind(part.target, item_of(source))
            if hints.is_open(reader, part.iter):
                reader.around.append(Around("loop", reader.tries))
            for test in part.ifs:
                if self.of(test).decided:
                    reader.around.append(Around("branch", reader.tries))
        if isinstance(node, gast.DictComp):
            rules.hashed(reader, node.key, self.of(node.key))
            found = Value(Kind.TABLE, self.of(node.value))
        else:
            item = self.of(node.elt)
            kind = {gast.SetComp: Kind.SET, gast.GeneratorExp: Kind.ITERATOR}
            found = Value(kind.get(type(node), Kind.MANY), item)
            if isinstance(node, gast.SetComp):
                rules.hashed(reader, node.elt, item)
        del reader.around[depth:]
        reader.scope.values = before
        return found

    def _text(self, node: Any) -> Value:
        with self.reader.showing():
            parts = [self.of(part.value) for part in node.values if hasattr(part, "conversion")]
        return TEXT if any(part.holds_decided for part in parts) else PLAIN

    def _lambda(self, node: Any) -> Value:
        return Value(Kind.FUNCTION, home=node)

    def _walrus(self, node: Any) -> Value:
        value = self.of(node.value)
        self.reader.bind(node.target, value)
        return value

    def _await(self, node: Any) -> Value:
        self.of(node.value)
        rules.awaited(self.reader, node)
        return UNKNOWN

    def _yield(self, node: Any) -> Value:
        if node.value is not None:
            self.of(node.value)
        rules.yielded(self.reader, node)
        return UNKNOWN

    def _slice(self, node: Any) -> Value:
        parts = [self.of(p) for p in (node.lower, node.upper, node.step) if p is not None]
        return NUMBER if any(part.decided for part in parts) else PLAIN

    def _starred(self, node: Any) -> Value:
        return item_of(self.of(node.value))

    def _call(self, node: Any) -> Value:
        if dotted(node.func) == "print" or calls.is_logging(self.reader.module, node.func):
            with self.reader.showing():
                return calls.call(self.reader, node)
        return calls.call(self.reader, node)


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
