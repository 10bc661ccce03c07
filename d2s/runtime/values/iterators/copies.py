"""What an iterator of Python's will give, of a copy of it.

::

    zip(cycle("ab"), rows)    ->    zip(a copy of the cycle, a copy of the iterator of rows)

Of an iterator that runs code of somebody's (a generator, ``map``) there is no copy.
"""

from __future__ import annotations

import collections
import copy
import itertools
import warnings
from collections.abc import Iterator
from typing import Any, Final


def replaced(thing: Any, way: tuple[int, ...], value: object) -> Any:
    """A tuple in which something else stands at the end of ``way``."""
    if not way:
        return value
    parts = list(thing)
    parts[way[0]] = replaced(parts[way[0]], way[1:], value)
    return tuple.__new__(type(thing), parts)


class NoMore:
    """What is told where an iterator has no more items."""

    def __repr__(self) -> str:
        return "no more items"


NO_MORE: Final = NoMore()


def upcoming(iterator: Iterator[Any], number: int) -> Any:
    """The item that an iterator gives after ``number`` others; ``NO_MORE`` if there is none.

    Raises:
        TypeError: nobody can tell: see :func:`copy_of`.
    """
    ahead = copy_of(iterator)
    if ahead is None:
        raise TypeError
    return next(itertools.islice(ahead, number, None), NO_MORE)


def copy_of(iterator: Iterator[Any]) -> Iterator[Any] | None:
    """An iterator that gives what ``iterator`` will give, and leaves it where it is.

    ``None`` where code would run that somebody has written, or nobody can tell.
    """
    kind: Any = type(iterator)
    if kind in _LEAVES:
        return copy.copy(iterator)
    if kind not in _OVER_OTHERS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.14 has it no more
        reduced: Any = iterator.__reduce__()
    _, given, *state = reduced
    parts = [_copied_part(part) for part in given]
    kept = [_copied_state(kind, each) for each in state]
    if any(part is None for part in parts) or any(each is None for each in kept):
        return None
    made = kind(*parts)
    for each in kept:
        made.__setstate__(each)
    found: Iterator[Any] = made
    return found


def _copied_part(part: Any) -> Any:
    """What an iterator is made of, copied where it is an iterator itself."""
    return copy_of(part) if isinstance(part, Iterator) else part


def _copied_state(kind: type, state: Any) -> Any:
    """What else an iterator is given, copied likewise; ``None`` where it cannot be."""
    if kind is itertools.cycle:
        return list(state[0]), state[1]
    if kind is not itertools.chain:
        return state
    source, *active = state
    if type(source) not in (type(iter(())), type(iter([]))):
        return None
    parts = [_copied_part(part) for part in (*copy.copy(source), *active)]
    if any(part is None for part in parts):
        return None
    return (iter(tuple(parts[:-1])), parts[-1]) if active else (iter(tuple(parts)),)


_ITERATED: Final[tuple[Any, ...]] = (
    *((), [], "", "\u00e9", b"", range(0), range(2**70)),
    *({}, {}.items(), {}.values(), set(), collections.deque()),
)
"""One of each kind that such an iterator goes over."""

_LEAVES: Final = frozenset(
    (
        *(type(iter(each)) for each in _ITERATED),
        *(type(reversed([])), reversed, itertools.count, itertools.repeat),
        *(itertools.combinations, itertools.combinations_with_replacement),
        *(itertools.permutations, itertools.product),
    )
)
"""Iterators that take their items from no other one."""

_OVER_OTHERS: Final = frozenset(
    (
        *(enumerate, zip, itertools.chain, itertools.compress, itertools.cycle),
        *(itertools.islice, itertools.zip_longest),
    )
)
"""Iterators that are copied with those they take their items from."""


def parts_of(iterator: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """An iterator, and those that it takes its items from."""
    yield iterator
    if type(iterator) in _OVER_OTHERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            reduced: Any = iterator.__reduce__()
        state = reduced[2] if len(reduced) > 2 and isinstance(reduced[2], tuple) else ()
        source = copy.copy(state[0]) if type(iterator) is itertools.chain and state else ()
        for part in (*reduced[1], *state[1:], *source):
            if isinstance(part, Iterator):
                yield from parts_of(part)


def goes_ahead(kind: type) -> bool:
    """Whether iterators of a class have ``AheadFields``, if they can be copied."""
    return kind is not itertools.count and (kind in _LEAVES or kind in _OVER_OTHERS)
