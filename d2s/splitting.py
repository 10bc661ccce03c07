"""A driver and its islands, for a function that cannot be one program.

Some statements of the function need Python on each call.  They stay as they were written; each
stretch of statements between them becomes a function of its own, an *island*, which is converted.
The function that is left, the *driver*, runs in dygraph and calls the islands:

>>> import gast
>>> from d2s.syntax.source import FunctionSource
>>> text = '''
... def f(x):
...     y = x * 2 + 1
...     y = paddle.tanh(y).sum()
...     n = y.numpy()
...     for i in range(3):
...         log(n, i)
...         y = y * i + 1 - x.mean()
...     return y
... '''
>>> source = FunctionSource(text, gast.parse(text).body[0])
>>> parts = split(source, frozenset({5, 7}), calls=frozenset({7}), least=3)
>>> from d2s.syntax.printer import to_source
>>> print(to_source(parts.driver).text)
def f(x):
    y = d2s.island_0(x)
    n = y.numpy()
    for i in range(3):
        d2s.through(log)(n, i)
        y = d2s.island_1(x, y, i)
    return y
<BLANKLINE>
>>> print(to_source(parts.islands[1].tree).text)
def f(x, y, i):
    y = y * i + 1 - x.mean()
    return y
<BLANKLINE>

A compound statement that holds such a statement stays Python, with islands in its blocks.  A
stretch is no island where that could mean something else: where it leaves a loop, where a variable
that it needs may be unbound, where a function made elsewhere shares variables with it, where an
exception out of it would be handled by code that reads what it has bound, where a gradient is asked
elsewhere of a variable that it binds and goes on with; nor where it is too small to be worth a
call.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import gast

from d2s.analysis.boundaries import Boundaries
from d2s.analysis.exits import Exits, blocks_of, stays_python
from d2s.analysis.scopes import CAPTURING, changes_in, declared, own_nodes, parameters, reads_in
from d2s.analysis.walk import walk
from d2s.passes.base import Context, in_text_order
from d2s.syntax import quote as quoting
from d2s.syntax.positions import Span, place, span_of
from d2s.syntax.source import FunctionSource
from d2s.syntax.trees import Rewriter, copied

_TRIPS: Final = 8
"""So many operations one in a loop counts for."""

_OPERATIONS: Final = (gast.Call, gast.BinOp, gast.Compare, gast.AugAssign, gast.Subscript)
_LOOPS: Final = (gast.For, gast.While)

_TRANSPARENT: Final = frozenset(
    ("no_grad", "enable_grad", "set_grad_enabled", "auto_cast", "nullcontext", "name_scope")
)
"""Context managers that handle no exception."""

_OF_VARIABLES: Final = frozenset(("locals", "vars", "dir", "eval", "exec"))
"""Functions that see the variables of who calls them."""

_OF_FRAMES: Final = _OF_VARIABLES | {"super", "globals"}
"""Functions that see who calls them."""


@dataclass(frozen=True)
class IslandTree:
    """A stretch of statements as a function.

    Attributes:
        number: its number in the driver.
        tree: the function; its body has the positions of the user's statements.
        lines: the first and the last line of the stretch.
        arguments: the variables that it takes.
        results: the variables that it gives back; ``None`` if it returns for the function.
        inplace: the function may change tensors in place, or ask which one a tensor is.
    """

    number: int
    tree: Any
    lines: tuple[int, int]
    arguments: tuple[str, ...]
    results: tuple[str, ...] | None
    inplace: bool = False


@dataclass(frozen=True)
class Parts:
    """What has become of a function.

    Attributes:
        driver: the function that is left.
        islands: the stretches of it.
        namespace: the name under which the driver reaches them.
        drives: calls in the driver go through the drivers of what is called.
    """

    driver: Any
    islands: tuple[IslandTree, ...]
    namespace: str
    drives: bool


def split(
    source: FunctionSource,
    broken: frozenset[int],
    *,
    calls: frozenset[int],
    least: int,
    stay: frozenset[tuple[int, int]] = frozenset(),
    resolve: Callable[[str], Any] = lambda name: None,
) -> Parts:
    """The driver and the islands of a function.

    Args:
        source: the user's function, its private names mangled.
        broken: the lines on which something needs Python.
        calls: those of them on which something is called that has a driver.
        least: so many operations make a stretch an island.
        stay: the first and last lines of stretches that are to be no islands.
        resolve: what a global or closure name stands for now, or ``None``.
    """
    ctx = Context.of(source, resolve)
    tree = copied(source.tree)
    if _shows_variables(tree):
        return Parts(tree, (), ctx.namespace, False)
    splitter = _Splitter(tree, broken, least, ctx)
    splitter.stay = stay
    left = splitter.block(tree.body, tail=True, handled=frozenset())
    through = _Through(ctx, splitter.bounds.flow.locals_, calls)
    told_apart = any(map(_tells_apart, left))
    changes = splitter.changes
    mutated = bool(changes.mutated or changes.mutated_attributes)
    inplace = told_apart or mutated or any(map(through.may_change, left))
    tree.body = [through.visit(statement) for statement in left]
    islands = tuple(replace(island, inplace=inplace) for island in splitter.islands)
    return Parts(tree, islands, ctx.namespace, through.drives)


def _tells_apart(statement: Any) -> bool:
    """Whether ``statement`` asks which object something is, or has to do with its flag."""
    return any(
        (isinstance(node, gast.Name) and node.id == "id")
        or (isinstance(node, gast.Attribute) and node.attr == "stop_gradient")
        or (
            isinstance(node, gast.Compare)
            and any(isinstance(symbol, gast.Is | gast.IsNot) for symbol in node.ops)
            and not any(isinstance(part, gast.Constant) for part in node.comparators)
        )
        for node in walk(statement)
    )


def taking_numbers(island: IslandTree, kinds: dict[str, str]) -> IslandTree:
    """``island``, which takes tensors in the place of some numbers.

    Args:
        island: the island.
        kinds: ``int`` or ``float`` for each of these arguments.
    """
    at = span_of(island.tree)
    tree = copied(island.tree)
    tree.body[:0] = [
        statement
        for name, kind in kinds.items()
        for statement in quoting.quote("name = kind(name)", at=at, name=name, kind=kind)
    ]
    return replace(island, tree=tree)


def _shows_variables(tree: Any) -> bool:
    """Whether a function shows all of its variables: those of its islands would be missing."""
    return any(
        isinstance(node, gast.Call)
        and isinstance(node.func, gast.Name)
        and node.func.id in _OF_VARIABLES
        and not (node.args and node.func.id in ("vars", "dir"))
        for node in own_nodes(tree.body)
    )


class _Splitter:
    """Splits one function."""

    def __init__(self, tree: Any, broken: frozenset[int], least: int, ctx: Context) -> None:
        self.tree = tree
        self.broken = broken
        self.least = least
        self.ctx = ctx
        self.bounds = Boundaries(tree)
        self.exits = Exits()
        self.changes = changes_in(tree.body)
        self.written = frozenset(
            name for node in walk(tree) if isinstance(node, gast.Nonlocal) for name in node.names
        )
        self.outside = {kind: declared(tree, kind) for kind in (gast.Global, gast.Nonlocal)}
        self.islands: list[IslandTree] = []
        self.stay: frozenset[tuple[int, int]] = frozenset()

    def block(self, statements: list[Any], *, tail: bool, handled: frozenset[str]) -> list[Any]:
        """``statements`` with islands among them.

        Args:
            statements: a block of the function.
            tail: what leaves its end leaves the function.
            handled: variables that are read by who handles an exception out of it.
        """
        done: list[Any] = []
        rest = list(statements)
        while rest:
            count = self._longest(rest, tail, handled)
            at = _around(rest[:count]) if count else None
            if at is not None and (at.line, at.end_line) in self.stay:
                done += rest[:count]
            elif count:
                done.append(self._island(rest[:count]))
            else:
                count = 1
                done.append(self._left(rest[0], tail and len(rest) == 1, handled))
            del rest[:count]
        return done

    def _longest(self, rest: list[Any], tail: bool, handled: frozenset[str]) -> int:
        """How many statements at the beginning of ``rest`` can be one island."""
        whole = next((n for n, each in enumerate(rest) if self._is_broken(each)), len(rest))
        for count in range(whole, 0, -1):
            stretch = rest[:count]
            if _weight(stretch) < self.least:
                break
            if self._stands_alone(stretch, tail and count == len(rest), handled):
                return count
        return 0

    def _is_broken(self, statement: Any) -> bool:
        first = min([statement.lineno, *(d.lineno for d in _decorators(statement))])
        last = statement.end_lineno or statement.lineno
        if any(line in self.broken for line in range(first, last + 1)):
            return True
        return stays_python(statement) is not None

    def _stands_alone(self, stretch: list[Any], tail: bool, handled: frozenset[str]) -> bool:
        """Whether ``stretch`` means the same as a function of its own."""
        if not self.bounds.reached(stretch):
            return False
        if self.exits.breaks(stretch) or self.exits.continues(stretch):
            return False
        returns = self.exits.returns(stretch)
        if returns and not (tail or self.exits.always_leaves(stretch)):
            return False
        bound = changes_in(stretch).bound
        if bound & handled or self.bounds.unsure(stretch) or self.bounds.parts(stretch):
            return False
        if any(isinstance(node, gast.Delete | gast.Global | gast.Nonlocal) for node in stretch):
            return False
        return not self._shares(stretch, bound)

    def _shares(self, stretch: list[Any], bound: frozenset[str]) -> bool:
        """Whether variables are shared with functions that are made here or there."""
        if (reads_in(stretch) | bound) & self.written:
            return True
        mine = {id(node) for node in own_nodes(stretch)}
        inside: frozenset[str] = frozenset()
        elsewhere: frozenset[str] = frozenset()
        rebound: frozenset[str] = frozenset()
        for node in own_nodes(self.tree.body):
            if isinstance(node, gast.Name) and not isinstance(node.ctx, gast.Load):
                if id(node) not in mine:
                    rebound |= {node.id}
            elif node.__class__ in CAPTURING:
                if id(node) in mine:
                    inside |= reads_in(node)
                else:
                    elsewhere |= reads_in(node)
        return bool(bound & elsewhere or inside & rebound & self.bounds.flow.locals_)

    def _island(self, stretch: list[Any]) -> Any:
        """The call of a new island made of ``stretch``."""
        at = _around(stretch)
        first = next(iter(parameters(self.tree)), None)
        reads = self.bounds.reads(stretch)
        if "super" in reads_in(stretch) and first is not None:
            reads |= {first}
        order = [name for name in parameters(self.tree) if name in reads]
        arguments = (*order, *in_text_order(reads - set(order), stretch))
        leaves = self.exits.always_leaves(stretch) or self.exits.returns(stretch)
        results = () if leaves else in_text_order(self.bounds.gives(stretch), stretch)
        number = len(self.islands)
        tree = self._function(stretch, arguments, results, at)
        lines = (at.line, at.end_line)
        given = None if leaves else results
        self.islands.append(IslandTree(number, tree, lines, arguments, given))
        call = place(
            gast.Call(
                gast.Attribute(quoting.name(self.ctx.namespace), f"island_{number}", gast.Load()),
                [quoting.name(name) for name in arguments],
                [],
            ),
            Span(at.line, at.column, at.line, at.column + 1),
        )
        here = span_of(call)
        if leaves:
            return place(gast.Return(call), here)
        if not results:
            return place(gast.Expr(call), here)
        return place(gast.Assign([_names(results, gast.Store())], call, None), here)

    def _function(
        self, stretch: list[Any], arguments: tuple[str, ...], results: tuple[str, ...], at: Span
    ) -> Any:
        body = [copied(node) for node in stretch]
        bound = changes_in(stretch).bound
        for kind, names in self.outside.items():
            if bound & names:
                body.insert(0, place(kind(sorted(bound & names)), at))
        if results:
            end = Span(at.end_line, at.end_column, at.end_line, at.end_column)
            body.append(place(gast.Return(_names(results, gast.Load())), end))
        taken = [gast.Name(name, gast.Param(), None, None) for name in arguments]
        made = gast.FunctionDef(
            self.tree.name,
            gast.arguments(taken, [], None, [], [], None, []),
            body,
            [],
            None,
            None,
            *([[]] if "type_params" in gast.FunctionDef._fields else []),
        )
        return place(made, at)

    def _left(self, statement: Any, tail: bool, handled: frozenset[str]) -> Any:
        """A statement that stays Python, with islands in its blocks."""
        for block, behind in self._blocks(statement, handled):
            inner = tail and isinstance(statement, gast.If | gast.With | gast.Match)
            block[:] = self.block(block, tail=inner, handled=behind)
        return statement

    def _blocks(
        self, statement: Any, handled: frozenset[str]
    ) -> Iterator[tuple[list[Any], frozenset[str]]]:
        """The blocks of a statement, each with what is read by who handles an exception in it."""
        after = self.bounds.flow.after.get(id(statement), frozenset())
        if isinstance(statement, gast.Try | gast.TryStar):
            final = reads_in(statement.finalbody)
            caught = reads_in(statement.handlers)
            if statement.handlers:
                caught |= after
            yield statement.body, handled | caught | final
            for handler in statement.handlers:
                yield handler.body, handled | final
            yield statement.orelse, handled | final
            yield statement.finalbody, handled
            return
        if isinstance(statement, gast.With | gast.AsyncWith) and not _handles_nothing(statement):
            handled |= after
        for block in blocks_of(statement):
            yield block, handled


class _Through(Rewriter):
    """Lets the calls in a statement go through the drivers of what is called."""

    def __init__(self, ctx: Context, own: frozenset[str], lines: frozenset[int]) -> None:
        self.ctx = ctx
        self.own = own
        self.lines = lines
        self.drives = False

    def visit_Call(self, node: Any) -> Any:
        self.generic_visit(node)
        function = node.func
        if self.lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
            return node
        if isinstance(function, gast.Name) and self._is_known(function.id):
            return node
        if isinstance(function, gast.Attribute) and _is_namespace(function, self.ctx):
            return node
        self.drives = True
        node.func = self.ctx.expr("d2s.through(function)", span_of(function), function=function)
        return node

    def may_change(self, statement: Any) -> bool:
        """Whether ``statement`` hands a variable to a function that may change it in place."""
        return any(
            isinstance(node, gast.Call)
            and not self._only_reads(node.func)
            and any(
                isinstance(part, gast.Name) and part.id in self.own
                for given in (*node.args, *(each.value for each in node.keywords))
                for part in walk(given)
            )
            for node in walk(statement)
        )

    def _only_reads(self, function: Any) -> bool:
        """Whether ``function`` is an island, built in, or of a module and no in-place one."""
        if isinstance(function, gast.Name):
            return self._is_known(function.id)
        if not isinstance(function, gast.Attribute):
            return False
        if _is_namespace(function, self.ctx):
            return True
        root = function.value
        while isinstance(root, gast.Attribute):
            root = root.value
        if not isinstance(root, gast.Name) or root.id in self.own:
            return False
        library = isinstance(self.ctx.resolve(root.id), types.ModuleType)
        return library and not function.attr.endswith("_")

    def _is_known(self, name: str) -> bool:
        """Whether ``name`` is a function of Python's own, or one that sees who calls it."""
        if name in _OF_FRAMES:
            return True
        found = None if name in self.own else self.ctx.resolve(name)
        return found is not None and getattr(builtins, name, None) is found

    def visit_FunctionDef(self, node: Any) -> Any:
        """Functions that are made in the function stay as they are."""
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef


def _is_namespace(function: Any, ctx: Context) -> bool:
    return isinstance(function.value, gast.Name) and function.value.id == ctx.namespace


def _decorators(statement: Any) -> list[Any]:
    return getattr(statement, "decorator_list", None) or []


def _handles_nothing(statement: Any) -> bool:
    """Whether each context manager of a ``with`` is known to let exceptions through."""
    for item in statement.items:
        called = item.context_expr
        called = called.func if isinstance(called, gast.Call) else called
        name = getattr(called, "attr", None) or getattr(called, "id", None)
        if name not in _TRANSPARENT:
            return False
    return True


def _weight(stretch: list[Any]) -> int:
    """How many operations are in ``stretch``, about."""
    total = 0
    for statement in stretch:
        for node in walk(statement):
            total += isinstance(node, _OPERATIONS)
            total += _TRIPS * isinstance(node, _LOOPS)
    return total


def _around(stretch: list[Any]) -> Span:
    """The span from the first statement to the last."""
    first, last = span_of(stretch[0]), span_of(stretch[-1])
    return Span(first.line, first.column, last.end_line, last.end_column)


def _names(names: tuple[str, ...], ctx: Any) -> Any:
    """One variable, or a tuple of several."""
    if len(names) == 1:
        return quoting.name(names[0], ctx)
    return gast.Tuple([quoting.name(name, ctx) for name in names], ctx)
