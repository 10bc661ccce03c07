"""Names of one list or dict in a static loop (rule C3).

Each variable of a loop is carried by itself, so two that hold one list in some trips, and two lists
in others, would be two lists in all of them::

    while x.sum() < 10:
        a = [a[0] + x]
        b = a                   b was another list before the loop

That is as good as long as nobody changes one of them: such a change is refused.  Two names that
hold one list before the loop and after each trip are carried as names of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import (
    choices_with,
    holders_of,
    is_in_an_alternative,
    names_of,
)
from d2s.runtime.aliasing.origins import is_known_outside
from d2s.runtime.aliasing.reach import REACH
from d2s.runtime.aliasing.snapshots import (
    Frozen,
    freeze,
    is_double,
    is_placed,
    note_doubles,
    same_items,
)
from d2s.runtime.control_flow.ends import Ends
from d2s.runtime.trace import error_here, open_trace
from d2s.runtime.values.choice import Choice

Path = tuple[Any, ...]
"""A place: the index of a variable, then keys and attributes."""

Places = dict[Path, list[Frozen]]
"""What containers stand at a place."""


def places_of(values: list[Any]) -> Places:
    """The containers in the frozen ``values``, place by place; several where a tensor chooses."""
    found: Places = {}
    ends = Ends()
    queue: list[tuple[Path, Any]] = [((index,), value) for index, value in enumerate(values)]
    for path, thing in queue:  # which grows
        if isinstance(thing, Choice):
            queue += ((path, thing.true), (path, thing.false))
            continue
        if isinstance(thing, Frozen):
            found.setdefault(path, []).append(thing)
        if len(queue) < REACH:
            queue += (((*path, key), part) for key, part in ends.parts(thing))
    return found


class Doubles:
    """What the variables of a loop hold before it, and at the beginning of a trip.

    Args:
        names: the variables.
        before: what they held before the loop, frozen.
        given: what a trip begins with.

    Attributes:
        found: the places of what may be the same as what stands in another place.
    """

    def __init__(self, names: tuple[str, ...], before: list[Any], given: list[Any]) -> None:
        self.names = names
        found, flags = (
            {name for name in names if re.fullmatch(rf"{word}(_\d+)?", name)}
            for word in ("result", "returned")  # of ``return`` in a loop
        )
        one_each = len(found) == len(flags) == 1
        self._returned, self._flag = (found, names.index(min(flags))) if one_each else (set(), -1)
        self.before = places_of(before)
        self.given = places_of([freeze(value) for value in given])
        self.found: set[Path] = set()
        self._handed: set[Path] = set()

    def end(self, after: list[Any], forms: dict[int, Choice]) -> None:
        """A trip has left ``after``, frozen.

        Args:
            after: the variables.
            forms: of which several lists a variable is one, by its index, where all who hold one
                of the same several are given what the loop makes of it.

        Raises:
            ContainerInGraphError: (D2S207) it has changed what may be the same as another one.
        """
        for path, held in self.before.items():
            if any(is_double(each.container) for each in held):
                self.found.add(path)
                self._check(path, path)
            mine = _ids(self.given, path)
            for container in (each.container for each in held if id(each.container) not in mine):
                form = forms.get(path[0]) if len(path) == 1 else None
                self._check_others(path, container, form, several=len(held) > 1)
        left = places_of(after)
        self._find_placed(left)
        for places in (self.before, left):
            for one, other in _together(places):
                if _ids(self.given, one) & _ids(self.given, other):
                    continue
                if self._returned & {self.names[one[0]], self.names[other[0]]}:
                    self._handed |= {one, other}  # the trip that returns is the last one
                    continue
                self.found |= {one, other}
                self._check(one, other)
                self._check(other, one)

    def note(self, results: list[Any]) -> None:
        """The loop is over, and leaves ``results``, frozen."""
        for path, held in places_of(results).items():
            now = [each.container for each in held]
            before = [each.container for each in self.before.get(path, ())]
            known = [each for each in before if not _becomes(each, now) and _is_known(each)]
            if known or path in self.found:
                note_doubles(*known, *now)
            elif path in self._handed:
                flag = results[self._flag]
                note_doubles(*now, when=flag if bridge.is_value(flag) else None)

    def _find_placed(self, left: Places) -> None:
        """Find the places of what a trip has put into a list of the run, too.

        The next trip, and what follows the loop, have another container in its place, of which the
        list knows nothing.
        """
        for path, held in left.items():
            if any(is_placed(each.container) for each in held):
                self.found.add(path)
                if any(map(_is_changed, self.given.get(path, ()))):
                    what = "an item of a list, whose length a tensor decides, too"
                    raise _changes(self.names[path[0]], what)

    def _check(self, path: Path, other: Path) -> None:
        if any(map(_is_changed, self.given.get(path, ()))):
            name, known = self.names[path[0]], self.names[other[0]]
            raise _changes(name, f"one of {known!r} too in some trips and not in others")

    def _check_others(
        self, path: Path, container: object, form: Choice | None, *, several: bool
    ) -> None:
        """Refuse to change what stands for ``container`` in the trips, and is known otherwise.

        Args:
            path: its place.
            container: what was there before the loop.
            form: the choice of which everybody sees what the loop makes of it.
            several: it was one of several there, between which a tensor chooses.
        """
        if not any(map(_is_changed, self.given.get(path, ()))):
            return
        name = self.names[path[0]]
        known = choices_with(container, form, live=True, name=name, bound=True)
        if known:
            raise _changes(name, f"one of several of {known[0]!r} too, which a tensor decides")
        if is_in_an_alternative(container):
            raise _changes(name, "a part of one of several things too, which a tensor decides")
        if several and _is_known(container):
            known = names_of(container, name) or ["a name outside of the function"]
            raise _changes(name, f"one of several there, which a tensor decides, and {known[0]!r}")


def _changes(name: str, what: str) -> D2SError:
    return error_here(
        ContainerInGraphError,
        f"a static loop changes a list or dict of {name!r}, which is {what}",
        f"begin with a copy: {name} = {name}.copy()",
    )


def _together(places: Places) -> Iterator[tuple[Path, Path]]:
    """The first place of each container, with each other one of it."""
    first: dict[int, Path] = {}
    for path, held in places.items():
        for each in held:
            known = first.setdefault(id(each.container), path)
            if known != path:
                yield known, path


def _ids(places: Places, path: Path) -> set[int]:
    return {id(each.container) for each in places.get(path, ())}


def _becomes(container: object, now: list[Any]) -> bool:
    """Whether what stands in its place now is ``container`` itself, or what it has grown to."""
    grown = open_trace().grown.get(id(container), (container, container))[1]
    return any(each is container or each is grown for each in now)


def _is_changed(was: Frozen) -> bool:
    """Whether a trip has changed a container: itself, or what a branch has put in its place."""
    trace, key = open_trace(), id(was.container)
    return (
        key in trace.grown or key in trace.overwritten or not same_items(freeze(was.container), was)
    )


def _is_known(container: object) -> bool:
    return is_known_outside(container) or any(each.live for each in holders_of(container))
