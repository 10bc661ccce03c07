"""Let a list comprehension or generator expression decide between Python and a static loop.

What plainly iterates Python values, and has no filter, stays as it is.

>>> show(PASS, '''
... def f(xs, model):
...     kept = [x * 2 for x in xs if x.sum() > 0]
...     total = sum(w * x for w, x in zip(model.weights, kept))
...     return total, [total * i for i in range(3)]
... ''')
def f(xs, model):
    kept = d2s.list_(xs, lambda x: x * 2, lambda x: x.sum() > 0)
    total = sum(d2s.generator(zip(model.weights, kept), lambda w, x: w * x))
    return total, [total * i for i in range(3)]

Sets and dicts are made of such lists, as the run may decide their keys.

>>> show(PASS, '''
... def f(rows, table):
...     return {row.sum() for row in rows}, {i: 1 for i in range(3)}
... ''')
def f(rows, table):
    return d2s.set_(d2s.list_(rows, lambda row: row.sum())), d2s.dict_([(i, 1) for i in range(3)])

The function of a target that has a target in it takes that apart, too.

>>> show(PASS, '''
... def f(beams):
...     return [(score, rank) for rank, (score, _) in enumerate(beams)]
... ''')
def f(beams):
    return d2s.list_(
        enumerate(beams), lambda rank, item: d2s.apart(item, lambda score, _: (score, rank))
    )

A name that ``:=`` binds is one of the function around.

>>> show(PASS, '''
... def f(xs):
...     found = [s for x in xs if (s := x * x) > 2]
...     return found, s
... ''')
def f(xs):
    def element(x):
        return s
    def accept(x):
        nonlocal s
        return (s := x * x) > 2
    found = d2s.list_(xs, element, accept, ('s',))
    return found, s
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.exits import looks_at_frame
from d2s.analysis.scopes import COMPREHENSIONS, declared, own_nodes
from d2s.analysis.walk import walk
from d2s.passes.base import Context, Pass, ScopeTransformer, each_function
from d2s.syntax.positions import Span, place, span_of
from d2s.syntax.quote import constant, name

CONSUMERS: Final = frozenset(
    {"sum", "any", "all", "min", "max", "list", "tuple", "set", "sorted", "next"}
)
"""Built-in functions that take all items of their one argument."""

SEARCHES: Final = frozenset({"any", "all", "next"})
"""Those of them that stop at the item that decides."""

PLAIN_CALLS: Final = frozenset({"range", "enumerate", "zip", "reversed"})


class _Comprehensions(ScopeTransformer):
    """Converts the comprehensions of ``function``, inner ones first.

    Attributes:
        hoisted: functions to define before the present statement; ``None`` where that is not
            possible, in a lambda or another comprehension.
    """

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.function = function
        self.globals_ = declared(function, gast.Global)
        self.hoisted: list[Any] | None = None

    def visit(self, node: Any) -> Any:
        if not isinstance(node, gast.stmt) or isinstance(
            node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef
        ):
            return super().visit(node)
        before, self.hoisted = self.hoisted, []
        try:
            made = super().visit(node)
            return [*self.hoisted, made] if self.hoisted else made
        finally:
            self.hoisted = before

    def inside(self, node: Any) -> Any:
        """``node``, which has variables of its own, with the comprehensions in it converted."""
        before, self.hoisted = self.hoisted, None
        try:
            return self.generic_visit(node)
        finally:
            self.hoisted = before

    visit_Lambda = inside

    def visit_SetComp(self, node: Any) -> Any:
        return self.listed(node, "set_", node.elt)

    def visit_DictComp(self, node: Any) -> Any:
        pair = place(gast.Tuple([node.key, node.value], gast.Load()), span_of(node.key))
        return self.listed(node, "dict_", pair)

    def listed(self, node: Any, word: str, element: Any) -> Any:
        """A set or dict comprehension, made of a list of its items."""
        at = span_of(node)
        items = place(gast.ListComp(element, node.generators), at)
        return self.ctx.expr(f"d2s.{word}(items)", at, items=self.visit_ListComp(items))

    def visit_Call(self, node: Any) -> Any:
        consumer = ""
        if (
            isinstance(node.func, gast.Name)
            and node.func.id in CONSUMERS
            and (len(node.args) == 1 or (node.func.id == "next" and len(node.args) == 2))
            and isinstance(node.args[0], gast.GeneratorExp)
        ):
            consumer = node.func.id
            rest = [self.visit(argument) for argument in node.args[1:]]
            node.args = [self.converted(node.args[0], "generator", consumer), *rest]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        return self.generic_visit(node)

    def visit_ListComp(self, node: Any) -> Any:
        return self.converted(node, "list_", "")

    def visit_GeneratorExp(self, node: Any) -> Any:
        return self.converted(node, "generator", "")

    def converted(self, node: Any, word: str, consumer: str) -> Any:
        """The comprehension ``node`` as a call of an operator, or as it is."""
        first = node.generators[0]
        self.tell_apart(first.target)
        lazy = isinstance(node, gast.GeneratorExp) and not consumer
        suits = _suits(node) and not (lazy and first.ifs and _binds(node))
        if not suits or (not first.ifs and _plain(first.iter)):
            return self.inside(node)
        walrus = _binds(node)
        if walrus and self.hoisted is None:
            return self.inside(node)
        first.iter = self.visit(first.iter)
        at = span_of(node)
        ifs = first.ifs
        test = None
        if ifs:
            test = ifs[0] if len(ifs) == 1 else place(gast.BoolOp(gast.And(), list(ifs)), at)
        before, hoisted = self.hoisted, self.hoisted
        self.hoisted = None
        try:
            element = self.visit(node.elt)
            test = None if test is None else self.visit(test)
        finally:
            self.hoisted = before
        make = self.function_of if walrus else self.lambda_of
        arguments = [first.iter, make("element", first.target, element, at, hoisted)]
        if test is not None:
            arguments.append(make("accept", first.target, test, at, hoisted))
        elif walrus:
            arguments.append(place(constant(None), at))
        if walrus:
            arguments.append(place(constant(tuple(walrus)), at))
        call = self.ctx.expr(f"d2s.{word}()", at)
        call.args = arguments
        if consumer and (test is not None or consumer in SEARCHES):
            call.keywords = [place(gast.keyword("consumer", place(constant(consumer), at)), at)]
        return call

    def tell_apart(self, target: Any) -> None:
        """Rename the first ones of equal variables of a target: ``for name, _, _ in rows``."""
        names = [part for part in walk(target) if isinstance(part, gast.Name)]
        bound = [part for part in names if isinstance(part.ctx, gast.Store)]
        bound.sort(key=lambda part: (part.lineno, part.col_offset))
        last = {part.id: part for part in bound}
        for part in bound:
            if last[part.id] is not part:
                part.id = self.ctx.names.fresh(part.id)

    def lambda_of(
        self, wish: str, target: Any, value: Any, at: Span, hoisted: list[Any] | None
    ) -> Any:
        """``lambda target: value``."""
        parts = [target] if isinstance(target, gast.Name) else target.elts
        names = []
        for part in parts:
            if isinstance(part, gast.Name):
                names.append(part.id)
                continue
            names.append(self.ctx.names.fresh("item"))
            inner = self.lambda_of(wish, part, value, at, hoisted)
            item = place(name(names[-1]), at)
            value = self.ctx.expr("d2s.apart(item, inner)", at, item=item, inner=inner)
        made = self.ctx.expr("lambda: value", at, value=value)
        made.args.args = [place(name(each, gast.Param()), at) for each in names]
        return made

    def function_of(
        self, wish: str, target: Any, value: Any, at: Span, hoisted: list[Any] | None
    ) -> Any:
        """The name of a function that is defined before the statement."""
        assert hoisted is not None
        known = self.ctx.names.fresh(wish)
        (made,) = self.ctx.quote(
            """
            def function():
                return value
            """,
            at,
            function=known,
            value=value,
        )
        names_ = _targets(target) or []
        made.args.args = [place(name(each, gast.Param()), at) for each in names_]
        bound = _bound_in(value)
        for kind, names in (
            (gast.Global, [each for each in bound if each in self.globals_]),
            (gast.Nonlocal, [each for each in bound if each not in self.globals_]),
        ):
            if names:
                made.body.insert(0, place(kind(names), at))
        hoisted.append(made)
        return place(name(known), at)


def _targets(target: Any) -> list[str] | None:
    """The variables of a target that functions can have as their parameters."""
    if isinstance(target, gast.Name):
        return [target.id]
    if not isinstance(target, gast.Tuple | gast.List) or len(target.elts) < 2:
        return None
    parts = [_targets(item) for item in target.elts]
    names = [each for part in parts for each in part or ()]
    return names if None not in parts and len(set(names)) == len(names) else None


def _is_nested(target: Any) -> bool:
    return any(not isinstance(item, gast.Name) for item in getattr(target, "elts", ()))


def _bound_in(tree: Any) -> list[str]:
    """The names that ``:=`` binds, in the order of the text."""
    found = [node.target.id for node in own_nodes(tree) if isinstance(node, gast.NamedExpr)]
    return list(dict.fromkeys(found))


def _binds(node: Any) -> list[str]:
    parts = [node.elt, *node.generators[0].ifs]
    return list(dict.fromkeys(name for part in parts for name in _bound_in(part)))


def _suits(node: Any) -> bool:
    """Whether functions of the target do what the parts of the comprehension do."""
    if len(node.generators) != 1 or node.generators[0].is_async:
        return False
    targets = _targets(node.generators[0].target)
    if targets is None or (_binds(node) and _is_nested(node.generators[0].target)):
        return False
    for part in (node.elt, *node.generators[0].ifs):
        for inner in own_nodes(part):
            if isinstance(inner, gast.Await | gast.Yield | gast.YieldFrom):
                return False
            if looks_at_frame(inner) or _keeps(inner, targets):
                return False
            if isinstance(inner, gast.Name) and inner.id == "super":
                return False
            if isinstance(inner, COMPREHENSIONS) and _inner_walrus(inner):
                return False
    return True


def _inner_walrus(node: Any) -> bool:
    return any(isinstance(inner, gast.NamedExpr) for inner in walk(node))


def _keeps(node: Any, targets: list[str]) -> bool:
    """Whether ``node`` is code that runs later and reads the one variable of all trips."""
    if not isinstance(node, gast.Lambda):
        return False
    return any(isinstance(inner, gast.Name) and inner.id in targets for inner in walk(node))


def _plain(iterable: Any) -> bool:
    """Whether ``iterable`` is written down: a display, or a range of constants."""
    if isinstance(iterable, gast.List | gast.Tuple | gast.Set | gast.Dict | gast.Constant):
        return not any(isinstance(item, gast.Starred) for item in getattr(iterable, "elts", ()))
    if not isinstance(iterable, gast.Call) or iterable.keywords:
        return False
    function = iterable.func
    return (
        isinstance(function, gast.Name)
        and function.id in PLAIN_CALLS
        and all(map(_plain, iterable.args))
    )


def _lower(function: Any, ctx: Context) -> None:
    function.body = _Comprehensions(ctx, function).block(function.body)


PASS = Pass(
    "comprehensions",
    each_function(_lower),
    after=("conditional", "loops"),
    about=(gast.ListComp, gast.GeneratorExp, gast.SetComp, gast.DictComp),
    makes=(gast.BoolOp,),
)
"""After the statements are converted, so that their bodies declare what ``:=`` binds."""
