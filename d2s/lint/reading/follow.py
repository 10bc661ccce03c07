"""Read converted functions, and what they call in the same file, as the capture would run them.

Each statement is read in order, each loop twice (what it binds may come round), both sides of each
branch.  What is unknown stays so: a rule speaks only where a tensor is certain enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gast

from d2s.analysis.exits import jumps, returns
from d2s.analysis.scopes import changes_in, dotted
from d2s.lint.reading import expressions, hints, rules, tensors
from d2s.lint.reading.modules import Function, Module
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.scope import Around, Loop, Scope, merge
from d2s.lint.reading.values import (
    PLAIN,
    TENSOR,
    UNKNOWN,
    VECTOR,
    Kind,
    Value,
    item_of,
    join,
    together,
)

_DEPTH: Final = 12
"""So many calls deep a function is followed."""

_CALLS: Final = 2000
"""So many calls are followed from one root."""


class Follower(Reader):
    """Reads the functions of one file.

    Args:
        module: the file.
        file: its path, for the findings.
    """

    def __init__(self, module: Module, file: str) -> None:
        super().__init__(module, file)
        self.calls: dict[int, list[list[Value]]] = {}
        self.homes: dict[int, Scope] = {}
        self.attributes: dict[tuple[int, str], Value] = {}
        self._known: dict[tuple[Any, ...], Value] = {}
        self._budget = _CALLS
        self._expressions = expressions.Expressions(self)

    def of(self, node: Any) -> Value:
        return self._expressions.of(node)

    # -- functions --------------------------------------------------------------------------------

    def module_body(self) -> None:
        """Read the top level, for what names are there and which arguments roots get."""
        self.block(self.module.tree.body)

    def outer(self, function: Any, owner: Any) -> None:
        """Read a function that is not converted, for the roots in it and their arguments."""
        self.run(function, self.parameters(function, [], {}, owner), self.top)

    def root(self, function: Any, owner: Any) -> None:
        """Read a converted function, and say what was found."""
        given = self.calls.get(id(function), [])
        positions = max(map(len, given), default=0)
        columns = [
            [call[index] for call in given if index < len(call)] for index in range(positions)
        ]
        arguments = [VECTOR if VECTOR in column else together(column) for column in columns]
        self.loud = self.reading = True
        self._budget = _CALLS
        self._known.clear()
        values = self.parameters(function, arguments, {}, owner, likely=True)
        self.run(function, values, self.homes.get(id(function), self.top))
        self.loud = self.reading = False

    def parameters(
        self,
        function: Any,
        arguments: list[Value],
        keywords: dict[str, Value],
        owner: Any = None,
        *,
        likely: bool = False,
    ) -> dict[str, Value]:
        """What the parameters of a function are.

        Args:
            function: the function.
            arguments, keywords: what it is called with.
            owner: its class, if it is a method that is called on an object.
            likely: whether a parameter that is used as a tensor is one.
        """
        names = [*function.args.posonlyargs, *function.args.args]
        defaults = dict(
            zip(
                [name.id for name in names[::-1]],
                [self.of(value) for value in function.args.defaults[::-1]],
                strict=False,
            )
        )
        if owner is not None and names and not _is_static(function):
            arguments = [Value(Kind.OBJECT, home=owner), *arguments]
        tensors = hints.tensor_names(function, owner) if likely else frozenset()
        found: dict[str, Value] = {}
        for index, name in enumerate([*names, *function.args.kwonlyargs]):
            value = keywords.get(name.id)
            if value is None and index < min(len(arguments), len(names)):
                value = arguments[index]
            if value is None or value.kind is Kind.UNKNOWN:
                value = hints.annotated(self.module, name.annotation)
            if value is None:
                value = TENSOR if name.id in tensors else defaults.get(name.id, UNKNOWN)
            found[name.id] = value
        for rest in (function.args.vararg, function.args.kwarg):
            if rest is not None:
                found[rest.id] = UNKNOWN
        return found

    def run(self, function: Any, values: dict[str, Value], home: Scope) -> Value:
        """Read the body of a function; what it returns."""
        before = self.scope, self.loops, self.tries
        self.scope = Scope(home, function, dict(values))
        self.loops, self.tries, inner = [], 0, self.scope
        self.stack.append(function)
        depth = inner.depth = len(self.around)
        try:
            self.block(function.body)
        finally:
            self.stack.pop()
            del self.around[depth:]
            self.scope, self.loops, self.tries = before
        return together(inner.returned)

    def call(
        self, function: Any, arguments: list[Value], keywords: dict[str, Value], owner: Any, at: Any
    ) -> Value:
        if id(function) in self.module.skipped:
            return UNKNOWN
        self.calls.setdefault(id(function), []).append(arguments)
        if function in self.stack:
            rules.recursion(self, function, at)
            return UNKNOWN
        if not self.loud or len(self.stack) >= _DEPTH or self._budget <= 0:
            return UNKNOWN
        kinds = tuple((value.kind, value.item) for value in arguments)
        key = (id(function), kinds, tuple(sorted(keywords)), self.decided, self.in_loop)
        if key in self._known:
            return self._known[key]
        self._known[key] = UNKNOWN
        self._budget -= 1
        values = self.parameters(function, arguments, keywords, owner)
        generator = hints.is_generator(function)
        result = self.run(function, values, self.homes.get(id(function), self.top))
        if generator:
            result = Value(Kind.ITERATOR, UNKNOWN, home=function)
        self._known[key] = result
        return result

    # -- statements -------------------------------------------------------------------------------

    def block(self, statements: list[Any]) -> None:
        """Read statements in their order; what follows a way out is decided by who decides that."""
        depth = len(self.around)
        for statement in statements:
            _STATEMENTS.get(type(statement), Follower._other)(self, statement)
        del self.around[depth:]

    def _other(self, node: Any) -> None:
        """A statement that holds expressions only."""
        for name in ("value", "exc", "cause", "test", "msg", "subject"):
            if getattr(node, name, None) is not None:
                self.of(getattr(node, name))
        for case in getattr(node, "cases", ()):
            self.block(case.body)

    def _function(self, node: Any) -> None:
        self.homes[id(node)] = self.scope
        self.scope.values[node.name] = Value(Kind.FUNCTION, home=node)

    def _class(self, node: Any) -> None:
        self.scope.values[node.name] = Value(Kind.CLASS, home=node)
        for item in node.body:
            if isinstance(item, Function):
                self.homes[id(item)] = self.scope

    def _if(self, node: Any) -> None:
        test = self.of(node.test)
        rules.condition(self, node.test, test)
        decided = test.decided
        self.decisions += decided
        before = dict(self.scope.values)
        sides = []
        for body, holds in ((node.body, True), (node.orelse, False)):
            self.scope.values = hints.narrowed(self, node.test, before, holds=holds)
            if decided:
                self.around.append(Around("branch", self.tries))
            self.block(body)
            if decided:
                self.around.pop()
            sides.append(self.scope.values)
        ends = [bool(body) and _ends(body) for body in (node.body, node.orelse)]
        self.scope.values = sides[1] if ends[0] else sides[0] if ends[1] else merge(*sides)
        if decided:
            self.scope.merged |= changes_in([*node.body, *node.orelse]).bound
            if _leaves([*node.body, *node.orelse]):
                self.around.append(Around("rest", self.tries))

    def _while(self, node: Any) -> None:
        test = self.of(node.test)
        rules.condition(self, node.test, test)
        self._loop(node, decided=test.decided)

    def _for(self, node: Any) -> None:
        source = self.of(node.iter)
        rules.iterated(self, node, source)
        bound = hints.is_open(self, node.iter)
        self._loop(node, decided=bound, item=item_of(source), source=source)

    def _loop(
        self, node: Any, *, decided: bool, item: Value = UNKNOWN, source: Value = UNKNOWN
    ) -> None:
        loud, self.decisions = self.loud, self.decisions + decided
        before = dict(self.scope.values)
        path = dotted(node.iter) or "" if isinstance(node, gast.For | gast.AsyncFor) else ""
        loop = Loop(node, len(self.around), source=path)
        self.loops.append(loop)
        for last in (False, True):
            self.loud = loud and last
            kind = "loop" if decided else "rest" if loop.left else ""
            if kind:
                self.around.append(Around(kind, self.tries))
            if isinstance(node, gast.For | gast.AsyncFor):
                self.bind(node.target, item)
            elif last:
                self.of(node.test)
            self.block(node.body)
            if kind:
                self.around.pop()
            self.scope.values = merge(before, self.scope.values)
        self.loops.pop()
        self.loud = loud
        if loop.left or decided:
            self.scope.merged |= changes_in(node.body).bound
            rules.loop_left(self, node, source)
        if loop.left and returns(node.body):
            self.around.append(Around("rest", self.tries))
        self.block(node.orelse)

    def _try(self, node: Any) -> None:
        decisions = self.decisions
        self.tries += bool(node.handlers)
        self.block(node.body)
        self.tries -= bool(node.handlers)
        for handler in node.handlers:
            if handler.name is not None:
                self.scope.values[getattr(handler.name, "id", handler.name)] = UNKNOWN
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)
        if self.decisions > decisions:
            rules.finally_returns(self, node)

    def _with(self, node: Any) -> None:
        for item in node.items:
            value = self.of(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)

    def _return(self, node: Any) -> None:
        value = PLAIN if node.value is None else self.of(node.value)
        self.scope.returned.append(value)
        self._jump()
        if len(self.stack) == 1:
            rules.returned(self, node, value)

    def _jump(self, node: Any = None) -> None:
        """A way out of the innermost loop, or of all loops of the function."""
        if isinstance(node, gast.Continue):
            return
        for loop in self.loops[-1:] if node is not None else self.loops:
            loop.left = loop.left or any(
                one.kind != "loop" or index > loop.depth
                for index, one in enumerate(self.around)
                if index >= loop.depth
            )

    def _raise(self, node: Any) -> None:
        with self.showing():
            self._other(node)
        rules.raised(self, node, decided=self.decided)

    def _assert(self, node: Any) -> None:
        test = self.of(node.test)
        if node.msg is not None:
            with self.showing():
                self.of(node.msg)
        rules.raised(self, node, decided=test.decided)

    def _assign(self, node: Any) -> None:
        pairs = [(one, self.of(one.value)) for one in _apart(node)]
        for one, value in pairs:
            tensors.assigned(self, one, value)
            for target in one.targets:
                self.bind(target, value)

    def _ann_assign(self, node: Any) -> None:
        value = UNKNOWN if node.value is None else self.of(node.value)
        known = hints.annotated(self.module, node.annotation)
        self.bind(node.target, known if known is not None and value is UNKNOWN else value)

    def _aug_assign(self, node: Any) -> None:
        old, value = self.of(node.target), self.of(node.value)
        self.bind(node.target, join(old, value))

    def _import(self, node: Any) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if name != "*":
                self.scope.values.pop(name, None)

    def bind(self, target: Any, value: Value) -> None:
        if isinstance(target, gast.Name):
            self.scope.values[target.id] = value
        elif isinstance(target, gast.Tuple | gast.List):
            for part in target.elts:
                starred = isinstance(part, gast.Starred)
                inner = part.value if starred else part
                item = item_of(value)
                self.bind(inner, Value(Kind.MANY, item) if starred else item)
        elif isinstance(target, gast.Attribute):
            owner = self.of(target.value)
            tensors.attribute_set(self, target, owner)
            tensors.property_set(self, target, owner, value)
            if owner.kind is Kind.OBJECT:
                self.note_attribute(owner.home, target.attr, value)
        elif isinstance(target, gast.Subscript):
            owner, key = self.of(target.value), self.of(target.slice)
            rules.item_set(self, target, owner, key)

    def note_attribute(self, owner: Any, name: str, value: Value) -> None:
        """An attribute of an object of this file gets a value."""
        key = (id(owner), name)
        known = self.attributes.get(key)
        self.attributes[key] = value if known is None else join(known, value)

    def attribute(self, owner: Any, name: str) -> Value | None:
        for one in self.module.bases(owner):
            found = self.attributes.get((id(one), name))
            if found is not None:
                return found
        return None


def _apart(node: Any) -> list[Any]:
    """``a, b = x, y`` as two assignments; others as they are."""
    sides = [node.targets[0], node.value]
    if len(node.targets) > 1 or not all(isinstance(side, gast.Tuple) for side in sides):
        return [node]
    left, right = (side.elts for side in sides)
    if len(left) != len(right) or any(isinstance(p, gast.Starred) for p in (*left, *right)):
        return [node]
    return [
        gast.copy_location(gast.Assign([target], value, None), node)
        for target, value in zip(left, right, strict=True)
    ]


def _is_static(function: Any) -> bool:
    return any(getattr(mark, "id", "") == "staticmethod" for mark in function.decorator_list)


def _leaves(statements: list[Any]) -> bool:
    """Whether there is a way out of a loop or function among statements."""
    return returns(statements) or jumps(statements, gast.Break) or jumps(statements, gast.Continue)


def _ends(statements: list[Any]) -> bool:
    """Whether what follows statements is not reached from them."""
    return isinstance(statements[-1], gast.Return | gast.Raise | gast.Break | gast.Continue)


_STATEMENTS: Final[dict[type, Callable[[Follower, Any], None]]] = {
    gast.FunctionDef: Follower._function,
    gast.AsyncFunctionDef: Follower._function,
    gast.ClassDef: Follower._class,
    gast.If: Follower._if,
    gast.While: Follower._while,
    gast.For: Follower._for,
    gast.AsyncFor: Follower._for,
    gast.Try: Follower._try,
    gast.With: Follower._with,
    gast.AsyncWith: Follower._with,
    gast.Return: Follower._return,
    gast.Break: Follower._jump,
    gast.Continue: Follower._jump,
    gast.Raise: Follower._raise,
    gast.Assert: Follower._assert,
    gast.Assign: Follower._assign,
    gast.AnnAssign: Follower._ann_assign,
    gast.AugAssign: Follower._aug_assign,
    gast.Import: Follower._import,
    gast.ImportFrom: Follower._import,
}
