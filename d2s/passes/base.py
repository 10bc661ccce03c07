"""What every pass needs: the ``Pass`` record, the context, and small verbs that build trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.analysis.effects import Effects
from d2s.analysis.exits import FRAMED, Exits, looks_at_frame
from d2s.analysis.flow import Flow, flow_of
from d2s.analysis.marks import Mark, marks_in
from d2s.analysis.scopes import Changes, own_nodes
from d2s.analysis.walk import children, statements_in
from d2s.syntax import quote as quoting
from d2s.syntax.names import Names, names_in
from d2s.syntax.positions import Span, header, place, span_of
from d2s.syntax.source import FunctionSource
from d2s.syntax.trees import Rewriter
from d2s.syntax.vocabulary import NAMESPACE, WORDS


@dataclass(frozen=True)
class Pass:
    """One step of the transformation.

    Attributes:
        name: what ``d2s dump --passes`` shows.
        run: a function from the tree to the tree; it may reuse nodes of the tree that it is given.
        after: names of passes that must have run before.
        about: what the pass rewrites; where nothing of it occurs the pass is left out.  Empty for
            a pass that always runs.
        makes: what it brings in that other passes are about.
        keeps_flow: the statements that remain keep their flow facts (they are the same nodes,
            and what is live around them has not changed).
    """

    name: str
    run: Callable[[Any, Context], Any]
    after: tuple[str, ...] = ()
    keeps_flow: bool = False
    about: tuple[Mark, ...] = ()
    makes: tuple[Mark, ...] = ()


_BOUND_TO_FRAME: Final = (*FRAMED, gast.NamedExpr)
"""The marks of code that means something else in a function of its own."""


@dataclass
class Context:
    """What a pass may know besides the tree.

    ``names`` and ``marks`` grow for as long as one function is converted; what is known of the tree
    (``exits``, ``_effects``, and ``_flow`` unless the pass keeps it) is dropped by the pipeline
    after each pass; nothing else ever changes.

    Attributes:
        source: the user's function.
        names: the fresh names.
        marks: what occurs in the tree; more than that where a pass has taken something out.
        namespace: under which name this function's code reaches the operators.
        flags: variables that the pass ``returns`` sets to ``True`` right before a ``break``.
        exits: how control leaves the statements of the tree.
        resolve: what a global or closure name stands for now, or ``None`` (used to leave calls
            into Paddle as they are; never to fold a value).
    """

    source: FunctionSource
    names: Names
    marks: set[Mark]
    namespace: str = NAMESPACE
    resolve: Callable[[str], Any] = lambda name: None
    flags: set[str] = field(default_factory=set)
    exits: Exits = field(init=False)
    _flow: dict[int, Flow] = field(default_factory=dict)
    _generated: dict[int, Any] = field(default_factory=dict)
    _effects: Effects = field(init=False)

    def __post_init__(self) -> None:
        self.exits = self.fresh_exits()
        self._effects = Effects(self.is_generated)

    def fresh_exits(self) -> Exits:
        """An account of exits for a pass that changes the tree between two questions."""
        return Exits(frames=not self.marks.isdisjoint(FRAMED))

    @staticmethod
    def of(source: FunctionSource, resolve: Callable[[str], Any] = lambda name: None) -> Context:
        """The context in which ``source`` is converted."""
        names = Names({*names_in(source.tree), *source.free})
        return Context(source, names, marks_in(source.tree), names.fresh(NAMESPACE), resolve)

    def concerns(self, step: Pass) -> bool:
        """Whether ``step`` may have something to do."""
        return not step.about or not self.marks.isdisjoint(step.about)

    def flow(self, function: Any) -> Flow:
        """The flow facts of ``function``, computed once between two changes."""
        known = self._flow.get(id(function))
        if known is None or known.root is not function:
            known = self._flow[id(function)] = flow_of(function)
        return known

    def forget(self, *, flow: bool = True) -> None:
        """Drop what was known of the tree, which has changed; the flow facts only if asked."""
        self._effects.forget()
        self.exits.forget()
        if flow:
            self._flow.clear()

    def quote(self, template: str, at: Span, **values: Any) -> list[Any]:
        """Statements of ``template``; ``d2s`` in it stands for the namespace."""
        return self.generated(quoting.quote(template, at=at, d2s=self.namespace, **values))

    def expr(self, template: str, at: Span, **values: Any) -> Any:
        """The expression of ``template``; ``d2s`` in it stands for the namespace."""
        return quoting.quote_expr(template, at=at, d2s=self.namespace, **values)

    def generated(self, statements: list[Any]) -> list[Any]:
        """Note that the functions in ``statements`` are generated, not the user's."""
        self._generated.update(
            {id(node): node for node in statements if isinstance(node, gast.FunctionDef)}
        )
        return statements

    @property
    def generated_names(self) -> frozenset[str]:
        """The names of the functions that passes have made."""
        return frozenset(node.name for node in self._generated.values())

    def is_generated(self, function: Any) -> bool:
        """Whether ``function`` was made by a pass."""
        return id(function) in self._generated

    def changes(self, statements: list[Any]) -> Changes:
        """What ``statements`` change, the body functions that passes have made of them included."""
        return self._effects.of(statements).changes

    def written_by_functions(self, statements: list[Any]) -> frozenset[str]:
        """Variables that the user's functions among ``statements`` declare ``nonlocal``."""
        return self._effects.of(statements).written

    def is_word(self, node: Any) -> bool:
        """Whether ``node`` is ``d2s.WORD`` as generated code writes it."""
        return (
            node.__class__ is gast.Attribute
            and node.value.__class__ is gast.Name
            and node.value.id == self.namespace
            and node.attr in WORDS
        )

    def thunk(self, expression: Any, at: Span | None = None) -> Any | None:
        """``lambda: expression``, or ``None`` where that would change its meaning.

        Args:
            expression: what waits.
            at: where the lambda is made, if that happens before its own line is come to.
        """
        if not self.marks.isdisjoint(_BOUND_TO_FRAME):
            for node in own_nodes(expression):
                if isinstance(node, gast.NamedExpr | gast.Await | gast.Yield | gast.YieldFrom):
                    return None
                if looks_at_frame(node):
                    return None
        return self.expr("lambda: expression", at or header(expression), expression=expression)


def functions_in(tree: Any) -> Iterator[Any]:
    """``tree`` and the functions inside it, innermost first; class bodies are not entered."""
    for node in statements_in(tree.body):
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            yield from functions_in(node)
    yield tree


def assign(name: str, value: Any, at: Span) -> Any:
    """The statement ``name = value``."""
    return place(gast.Assign([quoting.name(name, gast.Store())], value, None), at)


def load(name: str, at: Span) -> Any:
    """The variable ``name``, read."""
    return place(quoting.name(name), at)


def constant(value: Any, at: Span) -> Any:
    """A constant."""
    return place(quoting.constant(value), at)


def if_(test: Any, body: list[Any], orelse: list[Any], at: Span) -> Any:
    """An ``if`` statement; an empty ``body`` turns the condition around."""
    if not body and orelse:
        test, body, orelse = negated(test, at), orelse, []
    return place(gast.If(test, body or [place(gast.Pass(), at)], orelse), at)


def negated(test: Any, at: Span) -> Any:
    """``not test``, without a double ``not``."""
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return test.operand
    return place(gast.UnaryOp(gast.Not(), test), at)


def in_text_order(names: Iterable[str], statements: list[Any]) -> tuple[str, ...]:
    """``names`` in the order in which they first occur in ``statements``; the rest sorted."""
    wanted = set(names)
    order: list[str] = []
    for statement in statements:
        nodes = [statement]  # the nodes near the top come first, as ``gast.walk`` has them
        for node in nodes:
            if not wanted:
                return tuple(order)
            if node.__class__ is gast.Name and node.id in wanted:
                order.append(node.id)
                wanted.discard(node.id)
            nodes += children(node)
    return tuple(order) + tuple(sorted(wanted))


@dataclass(frozen=True)
class State:
    """What a branch or loop body shares with the code around it.

    Attributes:
        names: the state as the operator gets it: variables, and dotted paths as ``self.h``.
        nonlocals: variables that the body function declares ``nonlocal``.
        globals_: variables that it declares ``global``.
    """

    names: tuple[str, ...]
    nonlocals: tuple[str, ...]
    globals_: tuple[str, ...]

    def declarations(self, at: Span, bound: frozenset[str] | None = None) -> list[Any]:
        """The ``nonlocal`` and ``global`` statements of a body function.

        Args:
            at: the position.
            bound: what the body binds, when it is only one of two sides.
        """
        found: list[Any] = []
        for kind, names in ((gast.Nonlocal, self.nonlocals), (gast.Global, self.globals_)):
            wanted = [name for name in names if bound is None or name in bound]
            if wanted:
                found.append(place(kind(wanted), at))
        return found


def key_of(key: Any) -> Any:
    """``key`` as an expression outside of brackets: ``1:`` is ``slice(1, None)``."""
    if isinstance(key, gast.Slice):
        parts = [key.lower, key.upper] + ([] if key.step is None else [key.step])
        at = span_of(key)
        arguments = [place(gast.Constant(None, None), at) if p is None else p for p in parts]
        return place(gast.Call(quoting.name("slice"), arguments, []), at)
    if isinstance(key, gast.Tuple):
        return place(gast.Tuple([key_of(item) for item in key.elts], gast.Load()), span_of(key))
    return key


class ScopeTransformer(Rewriter):
    """A transformer of one function's own statements; it enters no nested scope."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def block(self, statements: list[Any]) -> list[Any]:
        """The transformed statements, flat."""
        result: list[Any] = []
        for statement in statements:
            new = self.visit(statement)
            if new is None:
                continue
            result.extend(new if isinstance(new, list) else [new])
        return result


def each_function(transform: Callable[[Any, Context], None]) -> Callable[[Any, Context], Any]:
    """A ``run`` that calls ``transform`` on every function of the tree, innermost first."""

    def run(tree: Any, ctx: Context) -> Any:
        for function in functions_in(tree):
            transform(function, ctx)
        return tree

    return run


def shared_state(
    ctx: Context, function: Any, node: Any, statements: list[Any], targets: list[Any]
) -> State:
    """What the body function(s) made of ``statements`` share with ``function`` (rules B1, C2).

    Args:
        ctx: the context, for the flow facts.
        function: the function whose own scope ``node`` stands in.
        node: the ``if`` or loop; the flow facts know it by identity.
        statements: what moves into body functions.
        targets: targets of a ``for``, which the body binds.
    """
    flow = ctx.flow(function)
    changes = ctx.changes([*statements, *targets])
    after = flow.after.get(id(node), frozenset())
    entering = flow.entering.get(id(node), frozenset())
    carried = after | entering if isinstance(node, gast.While | gast.For) else after
    handed = (changes.bound | ctx.written_by_functions(statements)) & carried
    nonlocals = changes.bound & (after | entering)
    outside = flow.globals_
    private = changes.bound - nonlocals
    mutated = {name for name in changes.mutated if name not in private}
    paths = {
        path
        for path in changes.attributes | changes.mutated_attributes
        if path.split(".")[0] not in private
    }
    names = in_text_order(handed | mutated, [*targets, *statements]) + tuple(sorted(paths))
    return State(
        names,
        in_text_order(nonlocals - outside, [*targets, *statements]),
        tuple(sorted(nonlocals & outside)),
    )
