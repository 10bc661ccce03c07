"""Let a ``try`` handle what only the run can raise.

The handlers and the ``else`` become functions.  On Python values the statement stays Python's own;
what a tensor decides to raise in the body is handled, on the run, by ``d2s.handle`` (rule F1).

>>> show(PASS, '''
... def f(x):
...     try:
...         y = g(x)
...     except (ValueError, KeyError):
...         y = x
...     return y
... ''')
def f(x):
    def handler(error):
        nonlocal y
        y = x
    try:
        with d2s.attempt(lambda: ((ValueError, KeyError),), ('y',), lambda: (y, x)) as tried:
            y = g(x)
    except (ValueError, KeyError) as error:
        handler(error)
    else:
        d2s.handle(tried, (handler,), None, ('y',))
    return y

With ``finally`` everything is caught and, once the clause has run, raised again.

>>> show(PASS, '''
... def f(x):
...     try:
...         y = g(x)
...     finally:
...         print("done")
...     return y
... ''')
def f(x):
    try:
        with d2s.attempt(None, ('y',), lambda: (y, x)) as tried:
            y = g(x)
        d2s.settle(tried)
    finally:
        print('done')
    d2s.again(tried)
    return y

``contextlib.suppress`` catches and does nothing.

>>> import contextlib
>>> show(PASS, '''
... def f(x):
...     with suppress(KeyError):
...         x = g(x)
...     return x
... ''', resolve={"suppress": contextlib.suppress})
def f(x):
    with suppress(KeyError), d2s.attempt(lambda: (KeyError,), ('x',), lambda: (x,)) as tried:
        x = g(x)
    d2s.settle(tried)
    return x


A context manager that may be of a class of the user's is left through ``d2s.manage``: on the run
its ``__exit__`` is told of what a tensor decides to raise.

>>> show(PASS, '''
... def f(x, timer):
...     with timer as watch:
...         x = g(x)
...     return x
... ''')
def f(x, timer):
    with d2s.manage(timer, ('x',), lambda: (x, timer)) as watch:
        x = g(x)
    return x
"""

from __future__ import annotations

import ast
import contextlib
import copy
import sys
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis.exits import jumps, returns, stays_python
from d2s.analysis.scopes import dotted, reads_in
from d2s.analysis.walk import walk
from d2s.passes.base import (
    Context,
    Pass,
    ScopeTransformer,
    State,
    constant,
    functions_in,
    in_text_order,
    load,
)
from d2s.syntax.positions import Span, header, place
from d2s.syntax.quote import name


@dataclass(frozen=True)
class _Shared:
    """What parts of a ``try`` share with the code around it.

    Attributes:
        names: what they change and somebody reads afterwards, dotted paths too.
        nonlocals, globals_: variables that a function made of them declares.
    """

    names: tuple[str, ...]
    nonlocals: frozenset[str]
    globals_: frozenset[str]


class _Tries(ScopeTransformer):
    """Converts the ``try`` statements of ``function``, in generated bodies too."""

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.function = function
        tries = [node for node in walk(function) if node.__class__ is gast.Try]
        self.apart = {id(node): node for node in tries if _is_apart(function, node)}

    def visit_FunctionDef(self, node: Any) -> Any:
        if self.ctx.is_generated(node):
            self.generic_visit(node)
        return node

    def visit_Try(self, node: Any) -> Any:
        if stays_python(node):
            return self.generic_visit(node)
        after = self.ctx.flow(self.function).after.get(id(node), frozenset())
        final = (
            node.finalbody if _may_raise_later([*node.body, *node.handlers, *node.orelse]) else []
        )
        if not final:
            return self.handled(node, after)
        at = header(node.body[0])
        names = self.shared(
            [*node.body, *node.handlers, *node.orelse], after | reads_in(final)
        ).names
        reads = reads_in([*node.body, *node.handlers, *node.orelse])
        node.finalbody = []
        inner = (
            self.handled(node, after | reads_in(final)) if node.handlers else self.block(node.body)
        )
        final = self.block(final)
        tried = self.ctx.names.fresh("tried")
        within = self.within(inner, None, names, tried, reads)
        made = self.ctx.quote(
            """
            try:
                within
                d2s.settle(tried)
            finally:
                final
            d2s.again(tried)
            """,
            at,
            within=[within],
            tried=tried,
            final=final,
        )
        ast.copy_location(made[0], node)  # a debugger may stop at ``try:``
        return made

    def visit_With(self, node: Any) -> Any:
        several = len(node.items) > 1
        if several and any(self.suppressed(item.context_expr) is not None for item in node.items):
            node = self.nested(node)
        caught = self.suppressed(node.items[-1].context_expr)
        if stays_python(node) or not _may_raise_later(node.body):
            return self.generic_visit(node)
        if caught is None:
            return self.managed(node)
        after = self.ctx.flow(self.function).after.get(id(node), frozenset())
        names = self.shared(node.body, after).names
        tried = self.ctx.names.fresh("tried")
        reads = reads_in(node.body)
        within = self.within(self.block(node.body), caught, names, tried, reads)
        node.items.extend(within.items)
        node.body = within.body
        return [node, *self.ctx.quote("d2s.settle(tried)", header(node), tried=tried)]

    def nested(self, node: Any) -> Any:
        """A ``with`` of several managers as one in the other."""
        flow = self.ctx.flow(self.function)
        first, *rest = node.items
        inner = place(gast.With(rest, node.body, None), header(rest[0].context_expr))
        flow.after[id(inner)] = flow.after.get(id(node), frozenset())
        flow.nodes.append(inner)
        node.items, node.body = [first], [inner]
        return node

    def managed(self, node: Any) -> Any:
        """A ``with`` whose managers may be of a class of the user's."""
        after = self.ctx.flow(self.function).after.get(id(node), frozenset())
        leaves = returns([node]) or jumps([node], (gast.Break, gast.Continue))
        reads = reads_in([node])
        for index, item in enumerate(node.items):
            if self.is_library(item.context_expr):
                continue
            at = header(item.context_expr)
            rest = node.items[index + 1 :]
            body = [place(gast.With(rest, node.body, None), at)] if rest else node.body
            names = None if leaves else self.shared(body, after).names
            template = "d2s.manage(manager)" if leaves else "d2s.manage(manager, names, cells)"
            values = {} if names is None else {"cells": self.cells(names, reads, at)}
            item.context_expr = self.ctx.expr(
                template, at, manager=item.context_expr, names=names, **values
            )
        return self.generic_visit(node)

    def is_library(self, manager: Any) -> bool:
        """Whether ``manager`` is made by Paddle or the standard library, as far as names tell."""
        path = dotted(manager.func if isinstance(manager, gast.Call) else manager)
        if path is None:
            return False
        root, *rest = path.split(".")
        found = None if root in self.ctx.flow(self.function).locals_ else self.ctx.resolve(root)
        for part in rest:
            found = getattr(found, part, None)
        if found in (contextlib.closing, contextlib.ExitStack):
            return False  # they call what the user gives them
        home = str(getattr(found, "__module__", "") or "").split(".")[0]
        return home in ("paddle", "builtins", "_io") or home in sys.stdlib_module_names

    def suppressed(self, manager: Any) -> Any:
        """The exceptions that ``contextlib.suppress(...)`` names, as a tuple of one."""
        path = dotted(manager.func) if isinstance(manager, gast.Call) else None
        if path is None or manager.keywords or not all(map(dotted, manager.args)):
            return None
        root, *rest = path.split(".")
        found = self.ctx.resolve(root)
        for part in rest:
            found = getattr(found, part, None)
        if found is not contextlib.suppress:
            return None
        types = copy.deepcopy(manager.args)
        at = header(manager)
        caught = types[0] if len(types) == 1 else place(gast.Tuple(types, gast.Load()), at)
        return place(gast.Tuple([caught], gast.Load()), at)

    def handled(self, node: Any, after: frozenset[str]) -> list[Any]:
        """A ``try`` without ``finally``, whose results are read in ``after``."""
        at = header(node.body[0])
        if not _may_raise_later(node.body):
            return [self.generic_visit(node)]
        types = [
            place(name("BaseException"), at)
            if handler.type is None
            else copy.deepcopy(handler.type)
            for handler in node.handlers
        ]
        caught = place(gast.Tuple(types, gast.Load()), at)
        if self.ctx.thunk(caught) is None:
            return [self.generic_visit(node)]
        if not self.convertible(node):
            node.body = [self.within(self.block(node.body), caught, None, None, frozenset())]
            for handler in node.handlers:
                handler.body = self.block(handler.body)
            node.orelse = self.block(node.orelse)
            return [node]
        later = [*(statement for h in node.handlers for statement in h.body), *node.orelse]
        body = self.shared(node.body, after | reads_in(later)).names
        whole = self.shared([*node.body, *later], after)
        done: list[Any] = []
        functions: list[Any] = []
        for handler in node.handlers:
            made = self.handler(handler, after | reads_in(later), header(node), done)
            functions.append(load(made, at))
        orelse: Any = constant(None, at)
        if node.orelse:
            made = self.function_of(node.orelse, after | reads_in(later), header(node), done)
            orelse = load(made, at)
        tried = self.ctx.names.fresh("tried")
        reads = reads_in(node.body)
        node.body = [self.within(self.block(node.body), caught, body, tried, reads)]
        node.orelse = self.ctx.quote(
            "d2s.handle(tried, functions, orelse, names)",
            at,
            tried=tried,
            functions=place(gast.Tuple(functions, gast.Load()), at),
            orelse=orelse,
            names=whole.names,
        )
        return [*done, node]

    def handler(self, handler: Any, carried: frozenset[str], before: Span, done: list[Any]) -> str:
        """The name of the function that is made of ``handler``, which calls it from now on.

        Args:
            handler: of a ``try``.
            carried: what is read afterwards.
            before: where the function is defined.
            done: gets the definition.
        """
        bound = getattr(handler.name, "id", handler.name)
        at = header(handler.body[0])
        error = bound or self.ctx.names.fresh("error")
        made = self.ctx.names.fresh("handler")
        shared = self.shared(handler.body, carried)
        declarations = _declared(shared, at, {error})
        handler.name = name(error, gast.Store()) if bound is None else handler.name
        handler.type = handler.type or place(name("BaseException"), at)
        done.extend(
            self.ctx.quote(
                """
                def made(error):
                    statements
                """,
                before,
                made=made,
                error=error,
                statements=[*declarations, *self.block(handler.body)],
            )
        )
        handler.body = self.ctx.quote("made(error)", at, made=made, error=error)
        return made

    def function_of(
        self, statements: list[Any], carried: frozenset[str], before: Span, done: list[Any]
    ) -> str:
        at = header(statements[0])
        made = self.ctx.names.fresh("orelse")
        shared = self.shared(statements, carried)
        done.extend(
            self.ctx.quote(
                """
                def made():
                    statements
                """,
                before,
                made=made,
                statements=[*_declared(shared, at, set()), *self.block(statements)],
            )
        )
        return made

    def convertible(self, node: Any) -> bool:
        """Whether the handlers and the ``else`` can become functions."""
        leaves = returns([node]) or jumps([node], (gast.Break, gast.Continue))
        return not leaves and id(node) in self.apart

    def within(
        self,
        body: list[Any],
        caught: Any,
        names: tuple[str, ...] | None,
        tried: str | None,
        reads: frozenset[str],
    ) -> Any:
        """``body``, which reads ``reads``, inside of ``with d2s.attempt(...)``."""
        at = header(body[0])
        thunk = constant(None, at) if caught is None else self.ctx.thunk(caught)
        if names is None:
            call = self.ctx.expr("d2s.attempt(caught)", at, caught=thunk)
        else:
            call = self.ctx.expr(
                "d2s.attempt(caught, names, cells)",
                at,
                caught=thunk,
                names=names,
                cells=self.cells(names, reads, at),
            )
        target = None if tried is None else name(tried, gast.Store())
        return place(gast.With([gast.withitem(call, target)], body, None), at)

    def cells(self, names: tuple[str, ...], reads: frozenset[str], at: Span) -> Any:
        """``lambda: (...)``, whose closure holds the variables of ``names`` and ``reads``."""
        # What a body reads may be changed by what it calls; it has to be reached.
        known = self.ctx.flow(self.function).locals_ | set(self.ctx.source.free)
        roots = [*(path.split(".")[0] for path in names), *sorted(reads & known)]
        items = [name(root) for root in dict.fromkeys(roots)]
        found = place(gast.Tuple(items, gast.Load()), at)
        return self.ctx.expr("lambda: found", at, found=found)

    def shared(self, statements: list[Any], carried: frozenset[str]) -> _Shared:
        """What ``statements`` share with code that reads ``carried`` afterwards."""
        changes = self.ctx.changes(statements)
        outside = self.ctx.flow(self.function).globals_
        nonlocals = changes.bound & carried
        private = changes.bound - nonlocals
        mutated = {path for path in changes.mutated if path not in private}
        paths = {
            path
            for path in changes.attributes | changes.mutated_attributes
            if path.split(".")[0] not in private
        }
        names = in_text_order(nonlocals | mutated, statements) + tuple(sorted(paths))
        return _Shared(names, nonlocals - outside, nonlocals & outside)


def _declared(shared: _Shared, at: Span, private: set[str]) -> list[Any]:
    return State(
        (), tuple(sorted(shared.nonlocals - private)), tuple(sorted(shared.globals_))
    ).declarations(at)


def _is_apart(function: Any, node: Any) -> bool:
    """Whether no other code than handlers reads the exceptions that the ``try`` ``node`` names."""
    names = {getattr(handler.name, "id", handler.name) for handler in node.handlers} - {None}
    inside = sum(_uses(handler, names) for handler in node.handlers)
    return not names or _uses(function, names) == inside + _others(function, node, names)


def _uses(tree: Any, names: set[Any]) -> int:
    """How often ``tree`` mentions ``names``."""
    found = 0
    for node in walk(tree):
        if isinstance(node, gast.Name):
            found += node.id in names
        elif isinstance(node, gast.ExceptHandler):
            found += isinstance(node.name, str) and node.name in names
        elif isinstance(node, gast.Nonlocal | gast.Global):
            found += sum(item in names for item in node.names)
    return found


def _others(function: Any, node: Any, names: set[Any]) -> int:
    """How often other handlers than those of ``node`` that bind ``names`` mention them."""
    found = 0
    inside = {id(handler) for handler in node.handlers}
    for item in walk(function):
        if isinstance(item, gast.ExceptHandler) and id(item) not in inside:
            bound = getattr(item.name, "id", item.name)
            if bound in names:
                found += _uses(item, {bound})
    return found


def _may_raise_later(statements: list[Any]) -> bool:
    """Whether ``statements`` hold a call, a ``raise`` or an ``assert``, or what may fail."""
    return any(
        isinstance(node, gast.Call | gast.Raise | gast.Assert | gast.Subscript)
        or (isinstance(node, gast.Tuple | gast.List) and isinstance(node.ctx, gast.Store))
        or isinstance(getattr(node, "op", None), _DIVISIONS)
        for statement in statements
        for node in walk(statement)
    )


_DIVISIONS: Final = (gast.Div, gast.FloorDiv, gast.Mod, gast.Pow)
"""Operators that raise where their second operand is zero, or the first one is."""


def run(tree: Any, ctx: Context) -> Any:
    """Convert the ``try`` statements of every function that the user wrote."""
    for function in functions_in(tree):
        if not ctx.is_generated(function):
            function.body = _Tries(ctx, function).block(function.body)
    return tree


PASS = Pass("tries", run, after=("returns", "jumps", "unbound", "loops"), keeps_flow=True)
