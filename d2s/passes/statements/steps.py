"""Turn a generator into steps: a function that goes on to the next ``yield`` when it is called.

Only in a pipeline of its own (``pipeline.STEPPED``), for ``runtime.calls.resuming``: where the
generator has come to is a variable then, which a branch or loop that a tensor decides may change.

>>> show(PASS, '''
... def positive(xs):
...     for x in xs:
...         if x > 0:
...             yield x
...             print(x)
... ''')
def positive(xs):
    def step(frame, sent):
        now = frame.reached
        frame.reached = -1
        found = False
        item: object
        if not frame.begun:
            frame.begun = True
            frame.items = d2s.begun(frame.xs)
            frame.position = 0
            now = 1
        while now > 0:
            if now == 2:
                print(d2s.kept(frame.x))
                now = 1
            if now == 1:
                more, each = d2s.asked(d2s.kept(frame.items), d2s.kept(frame.position))
                if more:
                    frame.position = d2s.kept(frame.position)
                    frame.position += 1
                    frame.x = d2s.taken(each)
                    if frame.x > 0:
                        item = frame.x
                        found = True
                        frame.reached = 2
                        now = -1
                    else:
                        now = 1
                else:
                    now = -1
        return d2s.step(found, lambda: item)
    frame = d2s.stepped(step, ('items', 'position', 'x', 'xs'), False)
    frame.xs = xs
    return frame

The text is cut into parts at each ``yield``, and where a loop with one in it begins.  A variable of
one part alone is one of the function; the others are attributes of the iterator.  There is no loop
where no part leads back to one before it.

A generator is given back as it is where ``yield`` stands in an expression, or in a ``try``,
``with`` or ``match``; where it looks at its frame, deletes a variable or may read one that is not
bound; or where a function in it knows a variable that it binds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import gast

from d2s.analysis.definite import shared_names, unsure_in
from d2s.analysis.exits import Exits, in_order, looks_at_frame
from d2s.analysis.scopes import COMPREHENSIONS, changes_in, own_nodes, parameters, reads_in
from d2s.analysis.uses import EMPTY, handler_name
from d2s.analysis.walk import SCOPES
from d2s.passes.base import Context, Pass, ScopeTransformer, assign, constant, load
from d2s.syntax.positions import Span, header, place, span_of
from d2s.syntax.quote import name, quote
from d2s.syntax.trees import copied

END: Final = -1
"""Where a generator is that has ended, or is under way."""

_YIELDS: Final = (gast.Yield, gast.YieldFrom)
_LOOPS: Final = (gast.For, gast.While)


class OtherForm(Exception):
    """The generator cannot be cut."""


class _Ways(NamedTuple):
    """The parts that follow.

    Attributes:
        behind: where the text goes on.
        again, out: where ``continue`` and ``break`` go.
    """

    behind: int
    again: int
    out: int


class _Cutter:
    """Cuts the statements of a generator into parts.

    Attributes:
        parts: the statements of each; the last one on each path says which part follows.
        made: variables of generated code.
        returns: some path returns a value.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        wanted = ("frame", "step", "sent", "now", "found", "item")
        self.words = {word: ctx.names.fresh(word) for word in wanted}
        self.exits = Exits()
        self.parts: list[list[Any]] = [[]]
        self.made: list[str] = []
        self.returns = False

    def new(self) -> int:
        """The number of a new part."""
        self.parts.append([])
        return len(self.parts) - 1

    def is_cut(self, node: Any) -> bool:
        """Whether ``node`` cannot stand in a part as it is."""
        own = any(isinstance(each, (*_YIELDS, gast.Return)) for each in own_nodes([node]))
        return own or self.exits.breaks([node]) or self.exits.continues([node])

    def block(self, statements: list[Any], out: list[Any], ways: _Ways, at: Span) -> None:
        """Cut ``statements``, of which the first ones belong to the part that ``out`` is of."""
        for position, node in enumerate(statements):
            if not self.is_cut(node):
                out.append(node)
                continue
            rest = statements[position + 1 :]
            cut = _CUTS.get(type(node))
            if cut is None:
                raise OtherForm
            following = ways._replace(behind=self.new()) if rest else ways
            cut(self, node, out, following)
            if rest:
                self.block(rest, self.parts[following.behind], ways, span_of(rest[-1]))
            return
        out.append(self.jump(ways.behind, at))

    def jump(self, to: int, at: Span) -> Any:
        """Go on with another part."""
        return assign(self.words["now"], constant(to, at), at)

    def return_(self, node: Any, out: list[Any], ways: _Ways) -> None:
        at = span_of(node)
        if node.value is not None and not _is_none(node.value):
            _check_plain(node.value)
            self.returns = True
            out.append(assign(self.words["item"], node.value, at))
        out.append(self.jump(END, at))

    def break_(self, node: Any, out: list[Any], ways: _Ways) -> None:
        out.append(self.jump(ways.out, span_of(node)))

    def continue_(self, node: Any, out: list[Any], ways: _Ways) -> None:
        out.append(self.jump(ways.again, span_of(node)))

    def if_(self, node: Any, out: list[Any], ways: _Ways) -> None:
        _check_plain(node.test)
        at = header(node)
        sides: list[list[Any]] = [[], []]
        for side, statements in zip(sides, (node.body, node.orelse), strict=True):
            self.block(statements, side, ways, span_of(statements[-1]) if statements else at)
        out.append(place(gast.If(node.test, *sides), span_of(node)))

    def while_(self, node: Any, out: list[Any], ways: _Ways) -> None:
        self._loop(node, node.test, [], out, ways)

    def for_(self, node: Any, out: list[Any], ways: _Ways) -> None:
        _check_plain(node.iter)
        at = header(node)
        wanted = ("items", "position", "more", "each")
        names = {word: self.ctx.names.fresh(word) for word in wanted}
        self.made += [names["items"], names["position"]]
        begin = "items = d2s.begun(things)\nposition = 0"
        out += self.ctx.quote(begin, at, things=node.iter, **names)
        taken = self.ctx.quote("position += 1", at, **names)
        item = self.ctx.expr("d2s.taken(each)", at, each=load(names["each"], at))
        taken.append(place(gast.Assign([node.target], item, None), at))
        asks = self.ctx.quote("more, each = d2s.asked(items, position)", at, **names)
        body = [*taken, *node.body]
        node = place(gast.For(node.target, node.iter, body, node.orelse, None), at)
        self._loop(node, load(names["more"], at), asks, out, ways)

    def _loop(self, node: Any, test: Any, asks: list[Any], out: list[Any], ways: _Ways) -> None:
        """A loop: a part that begins with ``asks``, and goes on where ``test`` holds."""
        _check_plain(test)
        at, head = header(node), self.new()
        out.append(self.jump(head, at))
        body: list[Any] = []
        orelse: list[Any] = []
        inside = _Ways(behind=head, again=head, out=ways.behind)
        self.block(node.body, body, inside, span_of(node.body[-1]))
        self.block(node.orelse, orelse, ways, at)
        self.parts[head] += [*asks, place(gast.If(test, body, orelse), at)]

    def expression(self, node: Any, out: list[Any], ways: _Ways) -> None:
        """``yield`` or ``yield from`` as a statement."""
        found, at = node.value, span_of(node)
        if isinstance(found, gast.Yield):
            self._yield(found, out, ways.behind, at)
        elif isinstance(found, gast.YieldFrom):
            each = self.ctx.names.fresh("each")
            self.made.append(each)
            hand = place(gast.Expr(gast.Yield(load(each, at))), at)
            target = place(name(each, gast.Store()), at)
            loop = place(gast.For(target, found.value, [hand], [], None), at)
            self.for_(loop, out, ways)
        else:
            raise OtherForm

    def assigned(self, node: Any, out: list[Any], ways: _Ways) -> None:
        """``y = yield x``."""
        at = span_of(node)
        if not isinstance(node.value, gast.Yield):
            raise OtherForm
        resumed = self.new()
        self._yield(node.value, out, resumed, at)
        sent = place(gast.Assign(node.targets, load(self.words["sent"], at), None), at)
        self.parts[resumed] += [sent, self.jump(ways.behind, at)]

    def _yield(self, node: Any, out: list[Any], resumed: int, at: Span) -> None:
        value = constant(None, at) if node.value is None else node.value
        _check_plain(value)
        out += [
            assign(self.words["item"], value, at),
            assign(self.words["found"], constant(True, at), at),
            *quote("frame.reached = resumed", at=at, frame=self.words["frame"], resumed=resumed),
            self.jump(END, at),
        ]


_CUTS: Final = {
    gast.Return: _Cutter.return_,
    gast.Break: _Cutter.break_,
    gast.Continue: _Cutter.continue_,
    gast.If: _Cutter.if_,
    gast.While: _Cutter.while_,
    gast.For: _Cutter.for_,
    gast.Expr: _Cutter.expression,
    gast.Assign: _Cutter.assigned,
}
"""How the statements are cut that can be."""


def _is_none(node: Any) -> bool:
    return isinstance(node, gast.Constant) and node.value is None


def _check_plain(expression: Any) -> None:
    if any(isinstance(each, _YIELDS) for each in own_nodes([expression])):
        raise OtherForm


_ATTRIBUTES: Final = frozenset(
    ("go_on", "names", "returns", "reached", "begun", "fresh", "send", "close")
)
"""What the iterator has besides the variables."""


class _Steps:
    """The function of a generator that has been cut.

    Attributes:
        kept: variables that are kept between the steps, and as which attributes.
    """

    def __init__(self, tree: Any, ctx: Context) -> None:
        self.ctx = ctx
        self.at = header(tree)
        self.outside = [node for node in tree.body if isinstance(node, gast.Global | gast.Nonlocal)]
        statements = [node for node in tree.body if node not in self.outside]
        self.cutter = _Cutter(ctx)
        ways = _Ways(END, END, END)
        self.cutter.block(statements, self.cutter.parts[0], ways, span_of(tree.body[-1]))
        given = {each for node in self.outside for each in node.names}
        self.parameters = [each for each in parameters(tree) if each in reads_in(statements)]
        bound = changes_in(statements).bound | frozenset(self.cutter.made)
        names = shared_names(self.parts, bound - given - {*parameters(tree)}) | {*self.parameters}
        names |= bound & {*parameters(tree)}
        self.kept = {each: f"{each}_" if each in _ATTRIBUTES else each for each in names}

    def statements(self) -> list[Any]:
        """What the function does."""
        words, at = self.cutter.words, self.at
        parts = [_Keeping(self.ctx, words["frame"], self.kept, part).done() for part in self.parts]
        order, again = in_order([*map(self._following, parts)])
        inner: list[Any] = []
        for number in order:
            inner += quote(
                "if now == number:\n    part",
                at=span_of(parts[number][0]),
                now=words["now"],
                number=number,
                part=parts[number],
            )
        if len(order) == 1:
            inner = parts[1]
        if again or len(order) == 1:
            word = "while" if again else "if"
            inner = quote(f"{word} now > 0:\n    inner", at=at, now=words["now"], inner=inner)
        given = [
            place(
                gast.Assign([self._attribute(self.kept[each], gast.Store())], load(each, at), None),
                at,
            )
            for each in self.parameters
        ]
        # For the passes behind this one it is a function of its own, not a part of the user's.
        return quote(
            """
            def step(frame, sent):
                outside
                now = frame.reached
                frame.reached = -1
                found = False
                item: object
                if not frame.begun:
                    frame.begun = True
                    first
                others
                return d2s.step(found, lambda: item)
            frame = d2s.stepped(step, names, returns)
            given
            return frame
            """,
            at=at,
            d2s=self.ctx.namespace,
            **words,
            outside=self.outside,
            first=parts[0],
            others=inner,
            given=given,
            names=tuple(sorted(self.kept.values())),
            returns=self.cutter.returns,
        )

    def _following(self, part: list[Any]) -> frozenset[int]:
        """The parts that may follow one in the same step."""
        return frozenset(
            node.value.value
            for node in own_nodes(part)
            if isinstance(node, gast.Assign)
            and isinstance(node.targets[0], gast.Name)
            and node.targets[0].id == self.cutter.words["now"]
            and node.value.value != END
        )

    @property
    def parts(self) -> list[list[Any]]:
        """The parts of the text."""
        return self.cutter.parts

    def _attribute(self, attribute: str, ctx: Any) -> Any:
        return gast.Attribute(name(self.cutter.words["frame"]), attribute, ctx)


class _Keeping(ScopeTransformer):
    """Makes attributes of the variables that are kept.

    Args:
        ctx: the context.
        frame: the variable that has the iterator.
        kept: the attributes, by the variables.
        part: what is changed.
    """

    def __init__(self, ctx: Context, frame: str, kept: dict[str, str], part: list[Any]) -> None:
        super().__init__(ctx)
        self.frame = frame
        self.kept = kept
        self.part = part
        self.unsure = unsure_in(part, frozenset(kept).difference(parameters(ctx.source.tree)))

    def done(self) -> list[Any]:
        """The statements."""
        for node in own_nodes(self.part):
            find = _OTHERWISE.get(type(node), _none)
            if find(node) & self.kept.keys():
                raise OtherForm
        return self.block(self.part)

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.kept:
            return node
        at = span_of(node)
        found = place(gast.Attribute(name(self.frame), self.kept[node.id], node.ctx), at)
        if id(node) not in self.unsure:
            return found
        return self.ctx.expr("d2s.kept(found)", at, found=found)

    def visit_AugAssign(self, node: Any) -> Any:
        if not isinstance(node.target, gast.Name) or node.target.id not in self.kept:
            return self.generic_visit(node)
        read = load(node.target.id, span_of(node))
        self.unsure[id(read)] = read
        first = assign(node.target.id, read, span_of(node))
        return [self.visit(first), self.generic_visit(node)]

    def visit_Lambda(self, node: Any) -> Any:
        if not reads_in(node) & self.kept.keys():
            return node
        if {*parameters(node)} & self.kept.keys():
            raise OtherForm
        return self.generic_visit(node)


def _none(node: Any) -> frozenset[str]:
    return EMPTY


def _targets(node: Any) -> frozenset[str]:
    """The variables of a comprehension."""
    return EMPTY.union(*(changes_in([each.target]).bound for each in node.generators))


_OTHERWISE: Final[dict[type, Callable[[Any], frozenset[str]]]] = {
    **dict.fromkeys(COMPREHENSIONS, _targets),
    **dict.fromkeys((gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef), reads_in),
    gast.ExceptHandler: handler_name,
    gast.NamedExpr: lambda node: frozenset({node.target.id}),
    gast.Import: lambda node: changes_in([node]).bound,
    gast.ImportFrom: lambda node: changes_in([node]).bound,
    gast.Match: lambda node: changes_in([node]).bound,
}
"""The variables that something binds, or another function reads, and that stay variables."""


_AT_ONCE: Final = frozenset(
    ("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple")
)
"""Functions that use a generator expression up."""


def _can_be_cut(tree: Any, ctx: Context) -> bool:
    """Whether nothing in the generator but its form may keep it from being cut."""
    nodes = list(own_nodes(tree.body))
    used_up = {
        id(argument)
        for node in nodes
        if isinstance(node, gast.Call) and getattr(node.func, "id", None) in _AT_ONCE
        for argument in node.args
    }
    later = [
        node
        for node in nodes
        if isinstance(node, SCOPES)
        or (isinstance(node, gast.GeneratorExp) and id(node) not in used_up)
    ]
    bound = changes_in(tree.body).bound
    if any(reads_in(node) & bound for node in later) or any(map(_stays, nodes)):
        return False
    if any(isinstance(n, gast.Global | gast.Nonlocal) and n not in tree.body for n in nodes):
        return False
    yields = [node for node in nodes if isinstance(node, _YIELDS)]
    delegates = any(isinstance(node, gast.YieldFrom) for node in yields)
    takes = any(isinstance(n, gast.Assign) and isinstance(n.value, gast.Yield) for n in nodes)
    return bool(yields) and not (delegates and takes) and not ctx.flow(tree).unsure


def _stays(node: Any) -> bool:
    """Whether ``node`` deletes a variable, or sees in which frame it runs."""
    deletes = isinstance(node, gast.Delete)
    return looks_at_frame(node) or (
        deletes and any(isinstance(each, gast.Name) for each in node.targets)
    )


def run(tree: Any, ctx: Context) -> Any:
    """The function, cut; the same tree if it has another form."""
    if not isinstance(tree, gast.FunctionDef) or not _can_be_cut(tree, ctx):
        return tree
    whole = copied(tree)
    try:
        tree.body = _Steps(tree, ctx).statements()
    except OtherForm:
        return whole
    return tree


PASS = Pass(
    "steps",
    run,
    makes=(gast.If, gast.While, gast.Return, gast.Assign, gast.Tuple, gast.Compare),
)
