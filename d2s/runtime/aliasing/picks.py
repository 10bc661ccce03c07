"""Items of Python lists that the run picks, as ``rows[i]``, and what is written into them.

In a program ``rows[i]`` is a value of its own, taken out of the items by its position::

    row = rows[i]           row = stack(rows)[i]
    row[0] = 7              row' = set_value(row); rows[k]' = where(i == k, row', rows[k]), each k

and the other way round, where an item changes while ``row`` is still read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.holders import is_same
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import as_value


@dataclass(frozen=True)
class Pick:
    """A value that is one of several.

    Attributes:
        value: the value.
        items: what it may be.
        position: which one it is, a 0-D integer.
    """

    value: Any
    items: tuple[Any, ...]
    position: Any

    def holds(self, item: paddle.Tensor) -> Any:
        """Whether the run has picked ``item``, which may stand in several places; 0-D bool."""
        found: Any = None
        for index, each in enumerate(self.items):
            if is_same(each, item):
                mine = self.position == index
                found = mine if found is None else found | mine
        return found

    def place_of(self, item: paddle.Tensor) -> int:
        """Where ``item`` stands among those of :meth:`different`."""
        return next(k for k, each in enumerate(self.different()) if is_same(each, item))

    def different(self) -> list[Any]:
        """The items, each once."""
        found: list[Any] = []
        for item in self.items:
            if not any(is_same(item, other) for other in found):
                found.append(item)
        return found


def note_pick(value: paddle.Tensor, items: list[Any], position: paddle.Tensor) -> None:
    """Note that ``value`` is the one of ``items`` at ``position``."""
    capture = current()
    if capture is not None:
        capture.notes.picks[value.id] = Pick(value, tuple(items), position)
        capture.notes.sharing[value.id] = (value, [as_value(item) for item in items])


def picks_of(item: paddle.Tensor) -> list[Pick]:
    """The picks that ``item`` may be."""
    capture = current()
    picks = [] if capture is None else list(capture.notes.picks.values())
    return [pick for pick in picks if any(is_same(each, item) for each in pick.items)]


def merged(holds: paddle.Tensor, fresh: paddle.Tensor, old: paddle.Tensor) -> list[Any]:
    """``fresh`` where ``holds``, else ``old``, as the last of the values that are made for it.

    It is an item assignment, so that views of ``old`` are noticed.
    """
    before = as_value(old)
    if not list(before.shape):
        return [paddle.where(holds, fresh, before)]
    made = paddle.where(paddle.expand(holds, before.shape), fresh, before)
    return [made, bridge.with_item(before, ..., made)]
