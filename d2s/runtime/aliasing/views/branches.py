"""Views behind a branch: of what the sides have left, and of what became of it.

What is the same view on both sides is one behind the branch.  What is one on one side only, or
one of another place, keeps a condition and that place, as further results of the ``if``::

    if v > best:            best, is_view, k = if(v > best, yield v, True, i,
        best = v                                            yield best, False, 0)
    y[0] = 7                y' = set_value(y); best' = where(is_view, y'[k], best)

That is made where a capture without it was refused (``Capture.places``).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.aliasing.views.links import (
    Link,
    as_number,
    chain_of,
    link_of,
    note_link,
    slice_link,
)
from d2s.runtime.aliasing.views.related import are_apart
from d2s.runtime.values.tensors import as_value, is_tensor, number_kind
from d2s.runtime.values.tree import is_indexed, pairs

Builder = Callable[[list[paddle.Tensor]], Any]

Makes = Callable[[Any], bool]
"""Whether a value is made in a side, and cannot be seen outside."""


class Joining(Protocol):
    """How an ``if`` gets further results; ``control_flow.outputs.Outputs`` knows."""

    def output(self, true: paddle.Tensor, false: paddle.Tensor) -> Builder:
        """Yield ``true`` from one side and ``false`` from the other."""

    def on(self, side: bool, make: Callable[[], Any]) -> Any:
        """What ``make`` gives when its operations go into ``side``."""

    def as_flag(self, side: bool, flag: object) -> paddle.Tensor:
        """A bool, or bool value, as a fresh bool value of ``side``."""


@dataclass(frozen=True)
class Place:
    """A view of which an ``if`` decides whether, and of what place, it is one.

    Attributes:
        pair: what the sides leave.
        bases: what it is a view of there.
        key: the parts of the index, of the results.
        where: whether it is a view, of the results; ``None`` where it is one on both sides.
    """

    pair: tuple[Any, Any]
    bases: tuple[Any, Any]
    key: tuple[Builder, ...]
    where: Builder | None


def places_in(outcomes: Sequence[tuple[Any, Any]], joining: Joining, makes: Makes) -> list[Place]:
    """The places of what two sides leave, as further results of the ``if``.

    Args:
        outcomes: what they leave in the same places, frozen.
        joining: the ``if``.
        makes: what cannot be seen outside.
    """
    leaves = [leaf for case in outcomes for leaf in _pairs(*case) if all(map(_is_plain, leaf))]
    values = [(as_value(true), as_value(false)) for true, false in leaves]
    pairs = {(true.id, false.id): (true, false) for true, false in values}
    found = []
    for true, false in pairs.values():
        if true.id == false.id or _common((true, false), pairs, makes) is not None:
            continue
        place = next(
            (
                place
                for links in itertools.product(_taken(true), _taken(false))
                if (place := _place((true, false), links, pairs, joining, makes)) is not None
            ),
            None,
        )
        if place is not None:
            found.append(place)
    return found


def _taken(value: paddle.Tensor) -> list[Link | None]:
    """How ``value`` was taken out of another one by an index; and ``None``, for not at all."""
    link = link_of(value)
    return [None] if link is None or link.key is None else [link, None]


def _place(
    pair: tuple[Any, Any],
    links: tuple[Link | None, Link | None],
    pairs: dict[tuple[int, int], tuple[Any, Any]],
    joining: Joining,
    makes: Makes,
) -> Place | None:
    """The place of ``pair``, which are what ``links`` say; ``None`` where that is not known."""
    known = [link for link in links if link is not None and link.key is not None]
    bases = _bases_of(links, pairs, makes)
    if not known or bases is None:
        return None
    for value, link, base in zip(pair, links, bases, strict=True):
        if link is None and not are_apart(value, base):
            return None
    keys = [link.key or () for link in known]
    parts = list(zip(*keys, strict=False))
    shape = list(bases[0].shape)
    if len(keys[0]) != len(keys[-1]) or not all(map(_may_join, parts, shape)):
        return None
    key = tuple(_joined_part(links, index, joining, makes) for index in range(len(keys[0])))
    flags = [link is not None and (True if link.where is None else link.where) for link in links]
    where = None
    if any(flag is not True for flag in flags):
        where = joining.output(joining.as_flag(True, flags[0]), joining.as_flag(False, flags[1]))
    return Place(pair, bases, key, where)


def _may_join(parts: tuple[Any, ...], size: int) -> bool:
    """Whether two parts of an index differ only in a number, and one of them is never outside."""
    if any(isinstance(part, slice) for part in parts):
        return all(isinstance(part, slice) and part == parts[0] for part in parts)
    return size > 0


def _joined_part(
    links: tuple[Link | None, Link | None], index: int, joining: Joining, makes: Makes
) -> Builder:
    """One part of an index: as both sides have it, or what the ``if`` gives."""
    parts = [None if link is None or link.key is None else link.key[index] for link in links]
    known = [part for part in parts if part is not None]
    ids = {part.id if bridge.is_value(part) else part for part in known if type(part) is not slice}
    if len(ids) < 2 and not (bridge.is_value(known[0]) and makes(known[0])):
        return lambda results: known[0]
    true, false = (
        joining.on(side, functools.partial(as_number, 0 if part is None else part))
        for side, part in zip((True, False), parts, strict=True)
    )
    return joining.output(true, false)


def _bases_of(
    links: tuple[Link | None, Link | None],
    pairs: dict[tuple[int, int], tuple[Any, Any]],
    makes: Makes,
) -> tuple[Any, Any] | None:
    """What both sides have of the tensor that ``links`` are views of."""
    bases = [None if link is None else link.base for link in links]
    for pair in pairs.values():
        if all(base is None or base.id == each.id for base, each in zip(bases, pair, strict=True)):
            return pair
    known = [base for base in bases if base is not None]
    if known and len({base.id for base in known}) == 1 and not makes(known[0]):
        return known[0], known[0]  # which no side has changed
    return None


def relink(
    merged: list[tuple[Any, Any, Any]],
    left: tuple[bool, bool],
    makes: Makes,
    places: Sequence[Place] = (),
    results: Sequence[Any] = (),
) -> None:
    """Note what is still a view behind an ``if``: of what its sides have left, and of what became.

    Args:
        merged: what the sides have left, and what became of it.
        left: the sides that a ``raise`` has ended.
        makes: what cannot be seen outside.
        places: of :func:`places_in`.
        results: of the ``if``.
    """
    leaves = [leaf for case in merged for leaf in _leaves(*case)]
    taken = [[leaf[side] for side in (0, 1) if not left[side]] + [leaf[2]] for leaf in leaves]
    values = [[as_value(each) for each in leaf] for leaf in taken if all(map(is_tensor, leaf))]
    bases = {tuple(each.id for each in sides): base for *sides, base in values}
    known = {(place.pair[0].id, place.pair[1].id): place for place in places}
    for *sides, view in values:
        ids = tuple(each.id for each in sides)
        if view.id in ids:
            continue
        found = _common(tuple(sides), bases, makes)
        place = known.get(ids) if len(ids) == 2 else None
        if found is not None:
            link, whole = found
            note_link(link, view, link.base if whole is None else whole)
        elif place is not None:
            one, other = (each.id for each in place.bases)
            base = place.bases[0] if one == other else bases.get((one, other))
            if base is not None:
                key = tuple(part(list(results)) for part in place.key)
                where = None if place.where is None else place.where(list(results))
                note_link(slice_link(view, base, key, where), view, base)


def _common(sides: tuple[Any, ...], bases: dict[Any, Any], makes: Makes) -> tuple[Link, Any] | None:
    """The view that all ``sides`` are of one of ``bases``, or of what no side has changed."""
    unchanged: tuple[Link, Any] | None = None
    for links in itertools.product(*map(chain_of, sides)):
        if len({link.form for link in links}) > 1 or any(map(makes, links[0].indexes)):
            continue
        whole = bases.get(tuple(link.base.id for link in links))
        if whole is not None:
            return links[0], whole
        if len({link.base.id for link in links}) == 1 and not makes(links[0].base):
            unchanged = links[0], None
    return unchanged


def _leaves(true: object, false: object, made: object) -> Iterator[tuple[Any, Any, Any]]:
    """What stands in one place of three things, two of them snapshots; no unchanged numbers."""
    if true is false and false is made and not _is_plain(true):
        return
    if isinstance(true, Frozen) and isinstance(false, Frozen):
        others, items = false.by_key(), dict(pairs(made) if is_indexed(made) else ())
        for key, one in true.by_key().items():
            if key in others and key in items:
                yield from _leaves(one, others[key], items[key])
    else:
        yield true, false, made


def _pairs(true: object, false: object) -> Iterator[tuple[Any, Any]]:
    """What stands in the same place of two snapshots."""
    if isinstance(true, Frozen) and isinstance(false, Frozen):
        others = false.by_key()
        for key, one in true.by_key().items():
            if key in others:
                yield from _pairs(one, others[key])
    else:
        yield true, false


def _is_plain(thing: object) -> bool:
    return is_tensor(thing) and number_kind(thing) is None
