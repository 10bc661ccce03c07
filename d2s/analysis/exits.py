"""How control leaves a stretch of code: by ``return``, ``break``, ``continue`` or ``raise``.

Nested functions are other code; a ``break`` inside an inner loop leaves that loop only.

:class:`Exits` keeps what it has found out about each statement, so that asking for a branch and
then for all the branches in it costs no more than the text; the functions below ask once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis.walk import SCOPES, children

LOOPS = (gast.For, gast.AsyncFor, gast.While)

_HOLDING: Final = frozenset(
    (*LOOPS, gast.If, gast.With, gast.AsyncWith, gast.Try, gast.TryStar, gast.Match)
)
"""Statements with statements inside of them that are the same code."""


def blocks_of(statement: Any) -> list[list[Any]]:
    """The statement lists inside ``statement``, in the order of the text."""
    if statement.__class__ not in _HOLDING:
        return []
    if isinstance(statement, gast.Match):
        return [case.body for case in statement.cases]
    if isinstance(statement, gast.Try | gast.TryStar):
        handled = [handler.body for handler in statement.handlers]
        blocks = [statement.body, *handled, statement.orelse, statement.finalbody]
    else:
        blocks = [statement.body, getattr(statement, "orelse", [])]
    return [block for block in blocks if block]


@dataclass(frozen=True)
class _Exit:
    """How control leaves one statement.

    Attributes:
        returns: some path through it returns.
        breaks, continues: some path leaves the loop around it, or its trip.
        raises: some path raises, by a statement.
        leaves: no path reaches its end.
        jumps: a ``return``, ``break`` or ``continue`` is in it, of whatever loop.
    """

    returns: bool = False
    breaks: bool = False
    continues: bool = False
    raises: bool = False
    leaves: bool = False
    jumps: bool = False


_ENDS: Final = {
    gast.Return: _Exit(returns=True, leaves=True, jumps=True),
    gast.Break: _Exit(breaks=True, leaves=True, jumps=True),
    gast.Continue: _Exit(continues=True, leaves=True, jumps=True),
    gast.Raise: _Exit(raises=True, leaves=True),
}
_GOES_ON: Final = _Exit()


class Exits:
    """How control leaves the statements of one tree, each found out once.

    Whoever changes the tree has to :meth:`forget` before the next question about a statement that
    contains the change.

    Args:
        frames: whether anything in the tree may belong to the frame that it is in.
    """

    def __init__(self, *, frames: bool = True) -> None:
        self._frames = frames
        self._known: dict[int, tuple[Any, _Exit]] = {}
        self._reasons: dict[int, tuple[Any, str | None]] = {}

    def forget(self) -> None:
        """Forget everything: the tree has changed."""
        self._known.clear()
        self._reasons.clear()

    def returns(self, statements: Iterable[Any]) -> bool:
        """Whether some path through ``statements`` returns."""
        return any(self._of(node).returns for node in statements)

    def breaks(self, statements: Iterable[Any]) -> bool:
        """Whether some path through ``statements`` does ``break`` of the loop around them."""
        return any(self._of(node).breaks for node in statements)

    def continues(self, statements: Iterable[Any]) -> bool:
        """Whether some path through ``statements`` does ``continue`` of the loop around them."""
        return any(self._of(node).continues for node in statements)

    def always_leaves(self, statements: Iterable[Any]) -> bool:
        """Whether no path through ``statements`` reaches their end (as far as syntax tells)."""
        return any(self._of(node).leaves for node in statements)

    def _of(self, node: Any) -> _Exit:
        if node.__class__ not in _HOLDING:
            return _ENDS.get(node.__class__, _GOES_ON)
        known = self._known.get(id(node))
        if known is None or known[0] is not node:
            known = self._known[id(node)] = (node, self._compound(node, blocks_of(node)))
        return known[1]

    def _compound(self, node: Any, blocks: list[list[Any]]) -> _Exit:
        inner = [self._of(statement) for block in blocks for statement in block]
        out = inner  # what may leave the loop around
        if isinstance(node, LOOPS):
            out = [self._of(statement) for statement in node.orelse]
        return _Exit(
            returns=any(one.returns for one in inner),
            breaks=any(one.breaks for one in out),
            continues=any(one.continues for one in out),
            raises=any(one.raises for one in inner),
            leaves=self._leaves(node),
            jumps=any(one.jumps for one in inner),
        )

    def _leaves(self, node: Any) -> bool:
        leaves = self.always_leaves
        if isinstance(node, gast.If):
            return leaves(node.body) and leaves(node.orelse)
        if isinstance(node, gast.With | gast.AsyncWith):
            # A context manager may swallow an exception, but not a return.
            return leaves(node.body) and not any(self._of(one).raises for one in node.body)
        if isinstance(node, gast.Try):
            return leaves(node.finalbody) or bool(
                node.handlers
                and leaves([*node.body, *node.orelse])
                and all(leaves(handler.body) for handler in node.handlers)
            )
        return False

    def stays_python(self, statement: Any) -> str | None:
        """Why ``statement`` cannot become functions, in words; ``None`` when it can.

        ``yield`` and ``await`` belong to the frame of the user's function, and so does what
        ``locals()`` or ``sys._getframe()`` see; a ``return``, ``break`` or ``continue`` inside
        ``finally`` swallows exceptions, which no rewriting of ours keeps.
        """
        if not self._frames and statement.__class__ not in _HOLDING:
            return None
        known = self._reasons.get(id(statement))
        if known is None or known[0] is not statement:
            known = self._reasons[id(statement)] = (statement, self._reason(statement))
        return known[1]

    def _reason(self, node: Any) -> str | None:
        blocks = blocks_of(node)
        if not blocks:
            return _frame_of(node)
        if isinstance(node, gast.AsyncFor | gast.AsyncWith):
            return "an await"
        reasons = [*map(_frame_of, _heads(node))] if self._frames else []
        reasons += [self.stays_python(inner) for block in blocks for inner in block]
        found = next((reason for reason in reasons if reason is not None), None)
        if found is not None:
            return found
        if isinstance(node, gast.Try | gast.TryStar) and any(
            self._of(inner).jumps for inner in node.finalbody
        ):
            return "a jump out of finally"
        if isinstance(node, gast.TryStar) and self._of(node).jumps:
            return "a jump out of except*"
        return None


def in_order(following: list[frozenset[int]]) -> tuple[list[int], bool]:
    """The parts behind the first one, in an order in which they follow each other.

    Args:
        following: for each part those that may follow it.

    Returns:
        The order, and whether one may follow that stands before it: they are gone through again.
    """
    order: list[int] = []
    begun: set[int] = set()
    again = False

    def visit(part: int) -> None:
        nonlocal again
        begun.add(part)
        for each in sorted(following[part]):
            if each not in begun:
                visit(each)
            elif each not in order:
                again = True
        order.insert(0, part)

    for part in range(len(following)):
        if part not in begun:
            visit(part)
    order.remove(0)
    return order, again


def returns(statements: Iterable[Any]) -> bool:
    """Whether some path through ``statements`` returns."""
    return Exits().returns(statements)


def jumps(statements: list[Any], kind: Any) -> bool:
    """Whether some path through ``statements`` does ``break`` (or ``continue``) of this loop."""
    exits = Exits()
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return (gast.Break in kinds and exits.breaks(statements)) or (
        gast.Continue in kinds and exits.continues(statements)
    )


def stays_python(statement: Any) -> str | None:
    """Why ``statement`` cannot become functions, in words; ``None`` when it can."""
    return Exits().stays_python(statement)


def return_lines(function: Any) -> tuple[int, ...]:
    """The lines of the return statements of ``function``, nested functions left out."""
    return tuple(
        sorted(
            node.lineno
            for statement in function.body
            for node in _walk_scope(statement)
            if isinstance(node, gast.Return)
        )
    )


_NAMESPACE_READERS: Final = frozenset({"locals", "eval", "exec"})
_READERS_WITHOUT_ARGUMENTS: Final = frozenset({"vars", "dir"})
_FRAME_READERS: Final = frozenset({"_getframe", "currentframe"})


FRAMED: Final = (
    gast.Yield, gast.YieldFrom, gast.Await, gast.comprehension,
    *_NAMESPACE_READERS, *_READERS_WITHOUT_ARGUMENTS, *_FRAME_READERS,
)  # fmt: skip
"""The marks of code that may belong to the frame that it is in."""


def looks_at_frame(node: Any) -> bool:
    """Whether ``node`` is a piece of code that sees in which frame it runs.

    >>> [looks_at_frame(gast.parse(text).body[0].value) for text in
    ...     ("locals", "vars()", "sys._getframe", "vars(x)", "x.eval()")]
    [True, True, True, False, False]
    """
    kind = node.__class__
    if kind is gast.Name:
        return node.id in _NAMESPACE_READERS or node.id in _FRAME_READERS
    if kind is gast.Attribute:
        return node.attr in _FRAME_READERS
    return (
        kind is gast.Call
        and isinstance(node.func, gast.Name)
        and node.func.id in _READERS_WITHOUT_ARGUMENTS
        and not (node.args or node.keywords)
    )


def _heads(node: Any) -> Iterator[Any]:
    """What is in a compound statement besides its blocks."""
    for name in ("test", "target", "iter", "subject"):
        part = getattr(node, name, None)
        if part is not None:
            yield part
    yield from getattr(node, "items", ())
    for handler in getattr(node, "handlers", ()):
        yield from (part for part in (handler.type, handler.name) if part is not None)
    for case in getattr(node, "cases", ()):
        yield from (part for part in (case.pattern, case.guard) if part is not None)


def _frame_of(tree: Any) -> str | None:
    """Why an expression or a simple statement belongs to the frame that it is in."""
    for node in _walk_scope(tree):
        kind = node.__class__
        if looks_at_frame(node):
            return "a look at the frame"
        if kind is gast.Yield or kind is gast.YieldFrom:
            return "a yield"
        if kind is gast.Await or (kind is gast.comprehension and node.is_async):
            return "an await"
    return None


def _walk_scope(tree: Any) -> Iterator[Any]:
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, SCOPES):
            stack += children(node)
