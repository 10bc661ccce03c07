"""``itertools`` on what the run decides the length of: lists in the place of iterators."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from d2s.runtime.lists.iteration import count, indexed, islice_, iterator, tee, zip_
from d2s.runtime.loops.comprehensions import list_of
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice, each


def _is_of_run(thing: object) -> bool:
    return current() is not None and indexed(thing) is not None


def chain(*things: Any) -> Any:
    """``itertools.chain``."""
    if not any(map(_is_of_run, things)):
        return iterator(itertools.chain, *things)
    parts = [list_of(thing) for thing in things]
    return _joined([], parts)


def _joined(before: Any, parts: list[Any]) -> Any:
    """One list of those of ``before`` and of ``parts``, each of which may be one of several."""
    for place, part in enumerate(parts):
        if isinstance(part, Choice):
            return each(lambda found: _joined(before, [found, *parts[place + 1 :]]), part)  # noqa: B023 - called at once
        before = before + part
    return before


def islice(things: Any, *bounds: Any) -> Any:
    """``itertools.islice``."""
    if not _is_of_run(things):
        return islice_(things, *bounds)
    return list_of(things)[slice(*bounds)]


def pairwise(things: Any, /) -> Any:
    """``itertools.pairwise``."""
    if not _is_of_run(things):
        return iterator(itertools.pairwise, things)
    whole = list_of(things)
    return zip_(whole, whole[1:])


OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    itertools.chain: chain,
    itertools.count: count,
    itertools.islice: islice,
    itertools.pairwise: pairwise,
    itertools.tee: tee,
}
"""Classes of ``itertools``."""
