"""How control leaves a stretch of code: by ``return``, ``break``, ``continue`` or ``raise``.

Nested functions are other code; a ``break`` inside an inner loop leaves that loop only.
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.walk import SCOPES, children

LOOPS = (gast.For, gast.AsyncFor, gast.While)


def blocks_of(statement: Any) -> list[list[Any]]:
    """The statement lists inside ``statement``, in the order of the text."""
    if isinstance(statement, SCOPES):
        return []
    if isinstance(statement, gast.Match):
        return [case.body for case in statement.cases]
    blocks: list[list[Any]] = []
    if isinstance(statement, gast.Try | gast.TryStar):
        blocks.append(statement.body)
        blocks.extend(handler.body for handler in statement.handlers)
        blocks.extend([statement.orelse, statement.finalbody])
    else:
        for name in ("body", "orelse"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                blocks.append(block)
    return [block for block in blocks if block]


def returns(statements: list[Any]) -> bool:
    """Whether some path through ``statements`` returns."""
    return any(
        isinstance(statement, gast.Return) or any(returns(b) for b in blocks_of(statement))
        for statement in statements
    )


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


def jumps(statements: list[Any], kind: Any) -> bool:
    """Whether some path through ``statements`` does ``break`` (or ``continue``) of this loop."""
    for statement in statements:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, LOOPS):
            if statement.orelse and jumps(statement.orelse, kind):
                return True
        elif any(jumps(block, kind) for block in blocks_of(statement)):
            return True
    return False


def always_leaves(statements: list[Any]) -> bool:
    """Whether no path through ``statements`` reaches their end (as far as syntax tells)."""
    for statement in statements:
        if isinstance(statement, gast.Return | gast.Break | gast.Continue | gast.Raise):
            return True
        if isinstance(statement, gast.If):
            if (
                statement.orelse
                and always_leaves(statement.body)
                and always_leaves(statement.orelse)
            ):
                return True
        elif isinstance(statement, gast.With | gast.AsyncWith):
            # A context manager may swallow an exception, but not a return.
            if always_leaves(statement.body) and not _raises(statement.body):
                return True
        elif isinstance(statement, gast.Try):
            if always_leaves(statement.finalbody):
                return True
            if (
                statement.handlers
                and always_leaves([*statement.body, *statement.orelse])
                and all(always_leaves(handler.body) for handler in statement.handlers)
            ):
                return True
    return False


def _raises(statements: list[Any]) -> bool:
    return any(
        isinstance(statement, gast.Raise) or any(_raises(b) for b in blocks_of(statement))
        for statement in statements
    )


_NAMESPACE_READERS: Final = frozenset({"locals", "eval", "exec"})
_READERS_WITHOUT_ARGUMENTS: Final = frozenset({"vars", "dir"})
_FRAME_READERS: Final = frozenset({"_getframe", "currentframe"})


def looks_at_frame(node: Any) -> bool:
    """Whether ``node`` is a piece of code that sees in which frame it runs.

    >>> [looks_at_frame(gast.parse(text).body[0].value) for text in
    ...     ("locals", "vars()", "sys._getframe", "vars(x)", "x.eval()")]
    [True, True, True, False, False]
    """
    if isinstance(node, gast.Name):
        return node.id in _NAMESPACE_READERS or node.id in _FRAME_READERS
    if isinstance(node, gast.Attribute):
        return node.attr in _FRAME_READERS
    return (
        isinstance(node, gast.Call)
        and isinstance(node.func, gast.Name)
        and node.func.id in _READERS_WITHOUT_ARGUMENTS
        and not (node.args or node.keywords)
    )


def stays_python(statement: Any) -> str | None:
    """Why ``statement`` cannot become functions, in words; ``None`` when it can.

    ``yield`` and ``await`` belong to the frame of the user's function, and so does what
    ``locals()`` or ``sys._getframe()`` see; a ``return``, ``break`` or ``continue`` inside
    ``finally`` swallows exceptions, which no rewriting of ours keeps.
    """
    for node in _walk_scope(statement):
        if looks_at_frame(node):
            return "a look at the frame"
        if isinstance(node, gast.Yield | gast.YieldFrom):
            return "a yield"
        if isinstance(node, gast.Await | gast.AsyncFor | gast.AsyncWith):
            return "an await"
        if isinstance(node, gast.comprehension) and node.is_async:
            return "an await"
        if isinstance(node, gast.Try | gast.TryStar) and any(
            isinstance(item, gast.Return | gast.Break | gast.Continue)
            for final in node.finalbody
            for item in _walk_scope(final)
        ):
            return "a jump out of finally"
        if isinstance(node, gast.TryStar) and any(
            isinstance(item, gast.Return | gast.Break | gast.Continue) for item in _walk_scope(node)
        ):
            return "a jump out of except*"
    return None


def _walk_scope(tree: Any) -> Any:
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, SCOPES):
            stack += children(node)
