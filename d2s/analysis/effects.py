"""What statements change, the body functions among them that passes have made included.

A pass asks for a branch, then for the branches in it: each answer is put together from those of
the statements inside, which are kept, so that a nest is as cheap as a row.  Whoever changes the
tree has to :meth:`~Effects.forget` before the next question about what contains the change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis.scopes import Changes, changes_in, parameters
from d2s.syntax.trees import CODE, walk

_BLOCKS: Final = frozenset(("body", "orelse", "finalbody", "handlers", "cases"))

_COMPOUND: Final = frozenset(
    (
        gast.AsyncFor, gast.AsyncWith, gast.ExceptHandler, gast.For, gast.If, gast.Match, gast.Try,
        gast.TryStar, gast.While, gast.With, gast.match_case,
    )
)  # fmt: skip

_NOTHING: Final = Changes()


@dataclass(frozen=True)
class Effect:
    """What some statements do to the state around them.

    Attributes:
        changes: what they bind and change.
        written: variables that the user's functions among them declare ``nonlocal``.
    """

    changes: Changes = _NOTHING
    written: frozenset[str] = frozenset()


def _together(effects: list[Effect]) -> Effect:
    effects = [effect for effect in effects if effect is not _NO_EFFECT]
    if len(effects) < 2:
        return effects[0] if effects else _NO_EFFECT
    changes = [effect.changes for effect in effects]
    return Effect(
        Changes(
            _EMPTY.union(*[one.bound for one in changes]),
            _EMPTY.union(*[one.mutated for one in changes]),
            _EMPTY.union(*[one.attributes for one in changes]),
            _EMPTY.union(*[one.mutated_attributes for one in changes]),
        ),
        _EMPTY.union(*[effect.written for effect in effects]),
    )


_EMPTY: Final[frozenset[str]] = frozenset()
_NO_EFFECT: Final = Effect()


class Effects:
    """The effects of the statements of one tree, each found out once.

    Args:
        is_generated: whether a function was made by a pass.
    """

    def __init__(self, is_generated: Callable[[Any], bool]) -> None:
        self._is_generated = is_generated
        self._known: dict[int, tuple[Any, Effect]] = {}

    def forget(self) -> None:
        """Forget everything: the tree has changed."""
        self._known.clear()

    def of(self, statements: Iterable[Any]) -> Effect:
        """What ``statements`` (or targets) do together."""
        return _together([self._one(statement) for statement in statements])

    def _one(self, node: Any) -> Effect:
        known = self._known.get(id(node))
        if known is not None and known[0] is node:
            return known[1]
        if node.__class__ in _COMPOUND:
            found = self._compound(node)
        elif isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            found = self._function(node)
        else:
            changes = changes_in([node])
            found = _NO_EFFECT if changes == _NOTHING else Effect(changes)
        self._known[id(node)] = (node, found)
        return found

    def _compound(self, node: Any) -> Effect:
        found: list[Effect] = []
        values = node.__dict__
        for name in CODE[node.__class__]:
            value = values.get(name)
            if not value:
                continue
            if name in _BLOCKS:
                found += map(self._one, value)
            else:
                found.append(Effect(changes_in(value if isinstance(value, list) else [value])))
        return _together(found)

    def _function(self, node: Any) -> Effect:
        own = changes_in([node])
        if not self._is_generated(node):
            inner = (item for item in walk(node) if isinstance(item, gast.Nonlocal))
            return Effect(own, frozenset(name for item in inner for name in item.names))
        body = self.of(node.body)
        shared = {
            name
            for statement in node.body
            if isinstance(statement, gast.Nonlocal | gast.Global)
            for name in statement.names
        }
        changes = body.changes
        private = (changes.bound | set(parameters(node))) - shared
        found = Changes(
            (own.bound - {node.name}) | (changes.bound & shared),
            own.mutated | (changes.mutated - private),
            own.attributes | _outside(changes.attributes, private),
            own.mutated_attributes | _outside(changes.mutated_attributes, private),
        )
        return Effect(found, body.written)


def _outside(paths: frozenset[str], private: Collection[str]) -> frozenset[str]:
    return frozenset(path for path in paths if path.split(".")[0] not in private)
