"""Which lines give a variable its value around one branch or loop; for the tables of messages.

Reads the user's own tree, not the rewritten one, and only when an error is made.  What is meant is
the last line in the order of the text, which is what a reader looks for; a line that is not sure to
exist is ``None`` rather than a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis.scopes import COMPREHENSIONS, MUTATORS, own_nodes, parameters
from d2s.syntax.positions import header
from d2s.syntax.printer import text_of

_BRANCHES: Final = (gast.If, gast.IfExp)
_LOOPS: Final = (gast.While, gast.For)
_WIDEST: Final = 40
_VALUE: Final = "value"
"""What operators call the value of a conditional expression."""


@dataclass(frozen=True)
class Side:
    """One side of a branch, or one moment of a loop.

    Attributes:
        where: what a reader would call it.
        line: the line that gives the variable its value there, when known.
    """

    where: str
    line: int | None


def sides_of(function: Any, line: int, path: str) -> tuple[Side, Side] | None:
    """The two sides of the branch whose condition stands on ``line``; ``None`` if there is none.

    Args:
        function: the gast ``FunctionDef`` of the user's function.
        line: a line of its file.
        path: the variable, or a path such as ``self.h`` or ``table['a']``.

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x, y):
    ...     if x > 0:
    ...         y = x
    ...     else:
    ...         print(y)
    ... ''').body[0]
    >>> sides_of(tree, 3, "y")
    (Side(where='if x > 0', line=4), Side(where='else', line=2))
    """
    statement = _statement_at(function, line, _BRANCHES if path != _VALUE else (gast.IfExp,))
    if statement is None:
        return None
    sides = Side(f"if {_short(text_of(statement.test))}", None), Side("else", None)
    if isinstance(statement, gast.IfExp):
        return _on(sides, statement.body.lineno, statement.orelse.lineno)
    returned = _is_returned(function, path)
    last = _last_return if returned else _last
    before = None if returned else _before(function, statement, path)
    true = last(statement.body, path) or before
    false = last(statement.orelse, path) or before
    if returned and false is None:
        false = _return_behind(function, statement)
    return _on(sides, true, false)


def moments_of(function: Any, line: int, path: str) -> tuple[Side, Side] | None:
    """Before the loop whose header stands on ``line``, and after a trip of it; ``None`` if none.

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x):
    ...     y = x
    ...     while y < 9:
    ...         y = y.astype("float64")
    ... ''').body[0]
    >>> moments_of(tree, 4, "y")
    (Side(where='before the loop', line=3), Side(where='after a trip', line=5))
    """
    statement = _statement_at(function, line, _LOOPS)
    if statement is None:
        return None
    moments = Side("before the loop", None), Side("after a trip", None)
    before = _before(function, statement, path)
    return _on(moments, before, _last(_trip(statement), path) or before)


def bound_in(function: Any, line: int, name: str) -> list[Side]:
    """Where a variable gets a value inside of the branch or loop whose header is on ``line``.

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     return y
    ... ''').body[0]
    >>> bound_in(tree, 3, "y")
    [Side(where='if x > 0', line=4)]
    """
    statement = _statement_at(function, line, (gast.If, *_LOOPS))
    if statement is None or _is_deleted(function, name):
        return []
    if isinstance(statement, _LOOPS):
        sides = [Side("in a trip of the loop", _last(_trip(statement), name))]
    else:
        where = f"if {_short(text_of(statement.test))}"
        sides = [
            Side(where, _last(statement.body, name)),
            Side("else", _last(statement.orelse, name)),
        ]
    return [side for side in sides if side.line is not None]


def _is_deleted(function: Any, name: str) -> bool:
    return any(
        isinstance(node, gast.Name) and node.id == name and isinstance(node.ctx, gast.Del)
        for node in gast.walk(function)
    )


def _trip(loop: Any) -> list[Any]:
    """What a trip runs, the target of a ``for`` first."""
    return [loop.target, *loop.body] if isinstance(loop, gast.For) else list(loop.body)


def _on(sides: tuple[Side, Side], first: int | None, second: int | None) -> tuple[Side, Side]:
    return Side(sides[0].where, first), Side(sides[1].where, second)


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _statement_at(function: Any, line: int, kinds: tuple[type, ...]) -> Any:
    """The innermost statement of one of ``kinds`` whose header is on ``line``; one only."""
    found = []
    for node in gast.walk(function):
        if isinstance(node, kinds):
            place = header(node.test if isinstance(node, gast.IfExp) else node)
            if place.line <= line <= place.end_line:
                found.append(node)
        elif kinds == (gast.IfExp,) and isinstance(node, gast.BoolOp) and node.lineno == line:
            return None  # its value has no name either
    statements = [node for node in found if isinstance(node, gast.stmt)] or found
    return statements[0] if len(statements) == 1 else None


def _last(statements: Iterable[Any], path: str) -> int | None:
    """The last line in ``statements`` that binds or changes ``path``."""
    return max(_lines(list(statements), path), default=None)


def _before(function: Any, statement: Any, path: str) -> int | None:
    """The last line on the way to ``statement`` that binds or changes ``path``; ``def`` counts."""
    way = _way_to(function.body, statement) or []
    root = path.split(".")[0].split("[")[0]
    return max(_lines(way, path), default=function.lineno if root in parameters(function) else None)


def _way_to(block: list[Any], statement: Any) -> list[Any] | None:
    """What stands before ``statement``, which is in ``block`` or deeper; not other sides."""
    for index, item in enumerate(block):
        if item is statement:
            return block[:index]
        for inner in _blocks(item):
            found = _way_to(inner, statement)
            if found is not None:
                head = [item.target] if isinstance(item, gast.For) else getattr(item, "items", [])
                return [*block[:index], *head, *found]
    return None


def _blocks(statement: Any) -> Iterator[list[Any]]:
    """The blocks of a compound statement, those of nested functions left out."""
    if isinstance(statement, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _lines(nodes: list[Any], path: str) -> Iterator[int]:
    hidden: set[int] = set()  # the variables of a comprehension are its own
    for node in own_nodes(nodes):
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                hidden.update(id(name) for name in gast.walk(generator.target))
        if id(node) not in hidden and (_is_of(node, path) or _changes(node, path)):
            yield int(node.lineno)


def _is_of(node: Any, path: str) -> bool:
    """Whether ``node`` binds ``path``, or something that it is a part of."""
    if isinstance(node, gast.Name | gast.Attribute | gast.Subscript):
        return isinstance(node.ctx, gast.Store) and _holds(text_of(node), path)
    if isinstance(node, gast.FunctionDef | gast.ClassDef):
        return _holds(node.name, path)
    if isinstance(node, gast.Import | gast.ImportFrom):
        names = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
        return any(_holds(name, path) for name in names)
    if isinstance(node, gast.MatchAs | gast.MatchStar):
        return bool(node.name and _holds(node.name, path))
    return False


def _changes(node: Any, path: str) -> bool:
    """Whether ``node`` changes the container at ``path``: ``items.append(x)``, ``d[k] = x``."""
    if isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute):
        return node.func.attr in MUTATORS and _holds(text_of(node.func.value), path)
    return (
        isinstance(node, gast.Subscript)
        and not isinstance(node.ctx, gast.Load)
        and _holds(text_of(node.value), path)
    )


def _holds(text: str, path: str) -> bool:
    return path == text or path.startswith((f"{text}.", f"{text}["))


# -- what a function returns -----------------------------------------------------------------------


def _is_returned(function: Any, path: str) -> bool:
    """Whether ``path`` is the variable that passes make of what a function returns."""
    root = path.split(".")[0].split("[")[0]
    return root.startswith("result") and not any(
        isinstance(node, gast.Name) and node.id == root for node in gast.walk(function)
    )


def _last_return(statements: Iterable[Any], path: str) -> int | None:
    return max(
        (node.lineno for node in own_nodes(list(statements)) if isinstance(node, gast.Return)),
        default=None,
    )


def _return_behind(function: Any, statement: Any) -> int | None:
    """The first ``return`` behind a branch, which is what its other side comes to."""
    end = statement.end_lineno
    return min(
        (
            node.lineno
            for node in own_nodes(function.body)
            if isinstance(node, gast.Return) and node.lineno > end
        ),
        default=None,
    )
