"""Which tensor of dygraph a value is: what a dict or set looks it up by, and ``id`` (rule B5).

A tensor that is changed in place is another value of the program, and the same tensor; one that a
branch has chosen is one of several::

    buffer.add_(x)                      ->    still the key of table[buffer]
    y = one if x.sum() > 0 else other   ->    table[y] is refused where one or other is a key
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.tensors import is_tensor, number_kind
from d2s.runtime.values.tree import is_hashed, with_keys


def identities(tensor: object) -> dict[Any, Any] | None:
    """The tensors one of which ``tensor`` is, by their own ids, or those of values.

    ``None``: a trip of a static loop is under way, and it may be any.
    """
    capture = current()
    assert capture is not None
    notes, found = capture.notes, dict[Any, Any]()
    queue, seen, begins = list[Any]([tensor]), set[Any](), dict[Any, Any]()
    while queue:
        value = queue.pop()
        kept = value if bridge.is_eager(value) else bridge.tensor_of(value)
        if kept is not None:
            found[id(kept)] = kept
            continue
        if value.id in seen:
            continue
        seen.add(value.id)
        if value.id in notes.renewed:
            queue.append(notes.renewed[value.id][1])
        elif value.id in notes.copies:
            queue.append(value.get_defining_op().operand_source(0))
        elif value.id in notes.selected:
            queue.extend(notes.selected[value.id][1])
        elif value.id in notes.picks:
            queue.extend(notes.picks[value.id].items)
        elif value.id in begins:
            queue.append(begins[value.id])
        elif value.get_defining_op() is None:
            return None
        else:
            several = bridge.handed_on(value, begins)
            queue.extend(several)
            if not several:
                found[value.id] = value
    return found


def is_same_tensor(one: object, other: object) -> bool | None:
    """Whether two values are one tensor; ``None`` where they are none, or the run knows."""
    if not all(is_tensor(each) and number_kind(each) is None for each in (one, other)):
        return None
    mine, theirs = identities(one), identities(other)
    if mine is None or theirs is None or len(mine) > 1 or len(theirs) > 1:
        return None
    return mine.keys() == theirs.keys()


def as_stored(key: object, keys: Iterable[Any]) -> Any:
    """The one of ``keys`` that is the same tensor as ``key``; ``key`` itself if none is.

    Raises:
        UnsupportedInGraphError: (D2S205) it is one of them on some runs only.
    """
    if current() is None or not is_tensor(key) or number_kind(key) is not None:
        return key
    mine: Any = ...
    for other in keys:
        if other is key:
            return other
        if not is_tensor(other) or (bridge.is_eager(other) and bridge.is_eager(key)):
            continue
        mine = identities(key) if mine is ... else mine
        theirs = identities(other)
        if mine is None or theirs is None or (mine.keys() & theirs.keys()):
            if mine is None or theirs is None or len(mine) > 1 or len(theirs) > 1:
                raise _unknown("is looked up in a dict or set that has one of the things it may be")
            return other
    return key


def with_stored(owner: Any, arguments: Sequence[Any]) -> list[Any]:
    """``arguments`` of a method of ``owner``: of a dict or set, the first by :func:`as_stored`.

    So are the keys of a dict, or the items of a set, as ``update`` takes.
    """
    if not (arguments and is_hashed(owner)):
        return list(arguments)
    first, *others = arguments
    if not (is_hashed(first) and any(map(is_tensor, first))):
        return [as_stored(first, owner), *others]
    return [with_keys(first, [as_stored(key, owner) for key in first]), *others]


def id_(thing: object, /) -> int:
    """``id``: that of a tensor stays the same when it is changed in place."""
    if current() is None or not bridge.is_value(thing) or number_kind(thing) is not None:
        return id(thing)
    found = identities(thing)
    if found is not None and not any(map(_is_known, found.values())):
        return int(str(_begun(thing).id), 0)  # it has been made by the branch that has chosen it
    if found is None or len(found) > 1:
        raise _unknown("is asked for its id()")
    (number,) = found
    return int(str(number), 0)


def _is_known(tensor: object) -> bool:
    """Whether somebody may know a tensor here, and not only the branch that has made it."""
    return bridge.is_eager(tensor) or bridge.is_visible(tensor)


def _begun(value: Any) -> Any:
    """``value`` before it was changed in place or handed on."""
    capture = current()
    assert capture is not None
    notes = capture.notes
    while value.id in notes.renewed or value.id in notes.copies:
        copied = value.id in notes.copies
        source = value.get_defining_op().operand_source(0) if copied else None
        value = source if copied else notes.renewed[value.id][1]
    return value


def _unknown(what: str) -> Exception:
    return error_here(
        UnsupportedInGraphError,
        f"a tensor that a branch or loop has chosen {what}, and which one it is only the run knows",
        "use a number or text as the key, which is chosen in the same places",
    )
