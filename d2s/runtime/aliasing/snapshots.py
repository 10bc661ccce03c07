"""What variables held at one moment, with the contents of lists, dicts and sets.

A side that changes a list in place can so be undone before the other side is captured::

    xs = [a, [b]]
    freeze(xs)                      Frozen(xs, (a, Frozen(xs[1], (b,))))
    xs.append(c); thaw(snapshot)    the same list, which holds a and [b] again
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from d2s.diagnostics.location import here
from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import LEAVES, is_tensor
from d2s.runtime.values.tree import is_mapping, is_sequence, kind_of, refill


@dataclass(frozen=True)
class Frozen:
    """A container and what it held when the snapshot was taken.

    Attributes:
        container: the list, dict or set itself, for its identity.
        items: frozen items of a list; ``(key, frozen value)`` pairs of a dict; a set's members.
    """

    container: Any
    items: tuple[Any, ...]

    @property
    def d2s_container(self) -> Any:
        """What a message speaks of."""
        return self.container

    def by_key(self) -> dict[Any, Any]:
        """The frozen items by key or position; none of a set, or of a list of the run."""
        if is_mapping(self.container):
            return dict(self.items)
        return dict(enumerate(self.items)) if is_sequence(self.container) else {}


def freeze(value: Any, depth: int = 0) -> Any:
    """A snapshot of ``value``: containers inside become :class:`Frozen`."""
    if depth > 20:
        return value
    kind = kind_of(value)
    if kind is not None and kind.mutable:
        items = [
            item if type(item) in LEAVES else freeze(item, depth + 1) for item in kind.items(value)
        ]
        return Frozen(
            value, tuple(zip(kind.keys(value), items, strict=True) if kind.mapping else items)
        )
    if isinstance(value, Choice):
        sides = freeze(value.true, depth + 1), freeze(value.false, depth + 1)
        if sides[0] is value.true and sides[1] is value.false:
            return value
        return value.like(*sides)
    if type(value) is tuple:
        parts = tuple(freeze(item, depth + 1) for item in value)
        return value if all(map(operator.is_, parts, value)) else parts
    if hasattr(type(value), "d2s_freeze"):
        return Frozen(value, value.d2s_freeze())
    return value


def frozen(container: Any, held: Any) -> Frozen:
    """A snapshot of ``container`` when it held the entries of ``held``."""
    return Frozen(container, freeze(held).items if is_mapping(held) else tuple(map(freeze, held)))


def thaw(snapshot: object) -> Any:
    """The value of a snapshot, its containers holding again what they held."""
    if isinstance(snapshot, Frozen):
        container, held = snapshot.container, snapshot.items
        if hasattr(type(container), "d2s_thaw"):
            container.d2s_thaw(held)
        elif is_mapping(container):
            refill(container, {key: thaw(item) for key, item in held})
        else:
            refill(container, [item if type(item) in LEAVES else thaw(item) for item in held])
        return container
    if type(snapshot) is tuple:
        return tuple(thaw(item) for item in snapshot)
    if isinstance(snapshot, Choice):
        sides = thaw(snapshot.true), thaw(snapshot.false)
        if sides[0] is snapshot.true and sides[1] is snapshot.false:
            return snapshot
        return snapshot.like(*sides)
    return snapshot


def container_of(value: object) -> object:
    """The list, dict or set that a snapshot is of; another value as it is."""
    return value.container if isinstance(value, Frozen) else value


def same_items(one: object, other: object) -> bool:
    """Whether two snapshots show the same objects, one by one, under the same conditions."""
    if isinstance(one, Choice) and isinstance(other, Choice):
        return (
            one.flag is other.flag
            and same_items(one.true, other.true)
            and same_items(one.false, other.false)
        )
    if isinstance(one, Frozen) and isinstance(other, Frozen):
        if one.container is not other.container:
            return False
        same = getattr(type(one.container), "d2s_same", same_items)
        return bool(same(one.items, other.items))
    if type(one) is tuple and type(other) is tuple and len(one) == len(other):
        for a, b in zip(one, other, strict=True):
            if a is not b and not same_items(a, b):
                return False
        return True
    return one is other or (not isinstance(one, Frozen) and _same_key(one, other))


def has_other_form(was: Frozen, now: Frozen) -> bool:
    """Whether a container has got another length or other keys, or a set other items."""
    before, after = list(was.by_key()), list(now.by_key())
    return before != after or not (after or same_items(was, now))


def tensors_in(snapshot: object) -> list[Any]:
    """The tensors of what was frozen, in its order."""
    if is_tensor(snapshot):
        return [snapshot]
    if isinstance(snapshot, Frozen):
        return tensors_in(snapshot.items)
    return (
        [found for item in snapshot for found in tensors_in(item)]
        if type(snapshot) is tuple
        else []
    )


def with_form(value: Any, form: object, instead: object) -> Any:
    """``value``, a choice maybe, with ``instead`` in the places of ``form``."""
    if is_same_choice(value, instead):
        return value
    if is_same_choice(value, form):
        return instead
    if not isinstance(value, Choice):
        return value
    sides = with_form(value.true, form, instead), with_form(value.false, form, instead)
    return value if sides[0] is value.true and sides[1] is value.false else value.like(*sides)


def is_same_choice(one: object, other: object) -> bool:
    """Whether two things are one, or choices between the same under the same conditions."""
    if isinstance(one, Choice) and isinstance(other, Choice):
        return (
            one.flag is other.flag
            and is_same_choice(one.true, other.true)
            and is_same_choice(one.false, other.false)
        )
    return one is other


def containers_beside(was: object, now: object) -> Iterator[tuple[Frozen, Frozen]]:
    """The containers in two snapshots of one thing, beside each other."""
    if isinstance(was, Frozen) and isinstance(now, Frozen):
        yield was, now
    elif isinstance(was, Choice) and isinstance(now, Choice):
        yield from containers_beside(was.true, now.true)
        yield from containers_beside(was.false, now.false)


def same_containers(one: object, other: object) -> bool:
    """Whether two snapshots are choices between the same containers, whatever these held."""
    if isinstance(one, Choice) and isinstance(other, Choice):
        return (
            one.flag is other.flag
            and same_containers(one.true, other.true)
            and same_containers(one.false, other.false)
        )
    if isinstance(one, Frozen) and isinstance(other, Frozen):
        return one.container is other.container
    if type(one) is tuple and type(other) is tuple and len(one) == len(other):
        return all(same_containers(a, b) for a, b in zip(one, other, strict=True))
    return one is other


def _same_key(one: object, other: object) -> bool:
    return type(one) is type(other) and isinstance(one, str | int | bool) and one == other


# -- what may be the same as another one -----------------------------------------------------------


def note_doubles(*containers: object, when: object = None) -> None:
    """Note that a list or dict may be the same as another one, on some runs.

    Args:
        containers: such lists and dicts.
        when: a bool value that is true on these runs, if it is known.
    """
    doubles = open_trace().doubles
    place = here()
    doubles.update((id(each), (freeze(each), place, when)) for each in containers)


def note_placed(container: object) -> None:
    """Note that a list of the run holds what a container of Python holds now.

    A change of it is refused where it is made, or where the branch or loop around it ends.
    """
    capture = open_trace()
    capture.placed[id(container)] = container
    capture.doubles.setdefault(id(container), (freeze(container), here(), _PLACED))


_PLACED: Final = object()
"""Marks what is noted by :func:`note_placed`."""


def as_double(made: Any, *stands_for: object) -> Any:
    """``made``, which may be the same as another one if what it stands for may.

    Of what a list of the run holds the list holds it, too.
    """
    if any(is_double(each) for each in stands_for):
        note_doubles(made)
    if any(map(is_placed, stands_for)):
        note_placed(made)
    return made


def is_placed(thing: object) -> bool:
    """Whether a list of the run holds what the list or dict ``thing`` held."""
    capture = current()
    return capture is not None and capture.placed.get(id(thing)) is thing


def is_double(thing: object) -> bool:
    """Whether ``thing`` is the same as another list or dict on some runs only."""
    capture = current()
    known = None if capture is None else capture.doubles.get(id(thing))
    return known is not None and known[2] is not _PLACED and not _is_ruled_out(known[2])


def _is_ruled_out(when: Any) -> bool:
    """Whether ``when`` is known to be false at the present place."""
    return when is not None and open_trace().facts().get(when.id, (when, True))[1] is False


def check_doubles() -> None:
    """Refuse what has changed a list or dict that may be the same as another one.

    Raises:
        ContainerInGraphError: (D2S207) it names the line of the loop that has left it.
    """
    capture = current()
    if capture is None:
        return
    for was, place, when in list(capture.doubles.values()):
        if same_items(freeze(was.container), was):
            continue
        try:
            if when is _PLACED:
                capture.check_placed(was.container)
            elif not _is_ruled_out(when):
                raise changed_double(was.container)
        except ContainerInGraphError as error:
            if place is not None:
                error.file, error.line, error.columns = place.file, place.line, None
            raise


def renew_doubles() -> None:
    """A branch is over, whose sides were checked: what it hands out holds its results now."""
    doubles = open_trace().doubles
    for key, (was, *others) in doubles.items():
        doubles[key] = (freeze(was.container), *others)


def kind_in_words(container: object) -> str:
    """The name of the class of a container, as the user knows it."""
    kind = getattr(type(container), "d2s_type", type)(container)
    return str(kind.__name__)


def changed_double(container: object) -> D2SError:
    """The refusal to change a list or dict that may be the same as another one."""
    word = kind_in_words(container)
    return error_here(
        ContainerInGraphError,
        f"a {word} is changed that has come out of a static loop, and is the same as another one "
        "on some runs only",
        f"change a copy: {word}(...)",
    )
