"""Who else knows an object: the variables of the functions that are under way.

A branch that leaves one list with two lengths, or a method that changes a tensor in place, makes a
new object.  Whoever holds the old one has to get the new one, or the program would not be what
dygraph does; this module finds these variables, attributes and items in the frames that the
capture runs in, and binds them anew.

Local variables of a frame are written as debuggers do it: through ``frame.f_locals`` (Python
3.13, PEP 667) or with ``PyFrame_LocalsToFast`` (before).
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard, TypeVar

from paddle.optimizer import Optimizer

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_d2s, is_paddle
from d2s.diagnostics.location import is_ours
from d2s.runtime.aliasing.slots import (
    Alternative,
    Cell,
    Fixed,
    Free,
    Item,
    Local,
    Somewhere,
    is_in_alternative,
    owner_of,
    parts_of,
)
from d2s.runtime.aliasing.snapshots import with_form
from d2s.runtime.trace import Block, current
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.fields import attributes_of, is_object
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tensors import LEAVES
from d2s.runtime.values.tree import children
from d2s.syntax.bytecode import is_read_later

DEPTH = 3
"""How far to look into containers and attributes of a variable."""


OUTSIDE = "<outside>"
"""In the place of a function's name: the place is watched, as a cell or an attribute may be."""


@dataclass(frozen=True)
class Holder:
    """A variable, attribute or item that holds an object.

    Attributes:
        path: how the user would write it, as ``y``, ``self.mean`` or ``parts[0]``.
        set: binds it to another object.
        get: what it holds now.
        left: the blocks being captured that it lies outside of.
        live: it may be read again.
        fixed: it is an item of a tuple; to bind it, what holds the tuple is bound to another one.
        place: equal for two paths to one variable, attribute or item.
        function: the name of the function whose variable it is, or where the path begins.
        frame: the frame that has the variable, if it is a variable itself.
        owner: the frame of the function whose variable the path begins with.
        chosen: it is an item of a tuple that is one of several things.
    """

    path: str
    set: Callable[[Any], None]
    get: Callable[[], Any]
    left: tuple[Block, ...]
    live: bool
    fixed: bool
    place: tuple[int, Any]
    function: str
    frame: types.FrameType | None = None
    owner: types.FrameType | None = None
    chosen: bool = False


def is_handed_on(holder: Holder, block: Block) -> bool:
    """Whether ``block`` hands on by name what ``holder`` holds.

    A variable of the same name in another function is another variable.
    """
    names = block.names if block.state is None else block.state.names
    if holder.path not in names and holder.path.split("[")[0] not in names:
        return False
    frame = block.frame
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if holder.owner is None or frame is None:
        return True
    return holder.owner is owner_of(frame, re.split(r"[.\[]", holder.path)[0])


def is_same(one: object, other: object) -> bool:
    """Whether two objects are one; Paddle makes new Python objects for one value of a program."""
    return one is other or (bridge.is_value(one) and bridge.is_value(other) and one.id == other.id)


def names_of(thing: object, name: str | None = None) -> list[str]:
    """Every variable, or path from one, that holds ``thing`` itself; sorted, none twice.

    Args:
        thing: any object.
        name: leave out what this path means where it is read, also where it is written in another
            way: in a method ``self.items`` may be the ``layer.items`` of the function around.  A
            variable of the same name in another function is another variable.
    """
    return _named(holders_of(thing), name)


def _named(found: list[Holder], name: str | None) -> list[str]:
    mine = next((holder.place for holder in found if holder.path == name), None)
    return sorted(
        {
            f"{holder.path} of {holder.function}" if holder.path == name else holder.path
            for holder in found
            if holder.place != mine and not (holder.path == name and holder.function == OUTSIDE)
        }
    )


def holders_of(thing: object) -> list[Holder]:
    """Who holds ``thing`` itself."""
    return _holders(lambda value: is_same(value, thing))


def holders_of_alternative(things: list[Any]) -> list[Holder]:
    """Who holds one of ``things``, or a choice of which it is an alternative."""
    return _holders(OneOf(things).is_in)


def holders_of_each(groups: list[list[Any]]) -> list[list[Holder]]:
    """What :func:`holders_of_alternative` says of each of ``groups``, in one walk."""
    if len(groups) < 2:
        return list(map(holders_of_alternative, groups))
    found = holders_of_alternative([thing for things in groups for thing in things])
    held = [(holder, holder.get()) for holder in found]
    wanted = map(OneOf, groups)
    return [[holder for holder, value in held if each.is_in(value)] for each in wanted]


def is_known_besides(thing: object, container: object) -> bool:
    """Whether ``thing`` may be read again in any place but one of ``container``."""
    found = {holder.place for holder in holders_of_alternative([thing]) if holder.live}
    inside = {place for place in found if place[0] == id(container)}
    return len(inside) > 1 or found != inside


def live_holders(thing: object) -> list[Holder]:
    """Who holds ``thing``, as itself or as one of several, and may be read again."""
    return live_holders_of(thing)[0]


def live_holders_of(*things: object) -> list[list[Holder]]:
    """The same of each of several things, in one walk."""
    found = holders_of_each([*map(sames, things)])
    return [[holder for holder in holders if holder.live] for holders in found]


def sames(thing: object) -> list[Any]:
    """``thing``, and what stands for it in a program or outside."""
    kept = thing if bridge.is_eager(thing) else bridge.tensor_of(thing)
    return [thing] if kept is None else [kept, bridge.as_value(kept)]


class OneOf:
    """Tells whether something is one of ``things``, as :func:`is_same` has it."""

    def __init__(self, things: list[Any]) -> None:
        self._ids = frozenset(map(id, things))
        self._values = frozenset(thing.id for thing in things if bridge.is_value(thing))

    def is_in(self, value: object) -> bool:
        """Whether ``value`` is one of them, or a choice of which one is an alternative."""
        if isinstance(value, Choice):
            return self.is_in(value.true) or self.is_in(value.false)
        return id(value) in self._ids or (bridge.is_value(value) and value.id in self._values)


def holders_where(is_it: Callable[[Any], bool]) -> list[Holder]:
    """Who holds something that ``is_it`` says is looked for."""
    return _holders(is_it)


def holders_of_form(form: object, instead: object = None) -> list[Holder]:
    """Who holds a container or choice, also as an alternative of another choice.

    Args:
        form: it, or a choice between the same things under the same conditions.
        instead: what has taken its place already, and may have it as an alternative.
    """
    return _holders(lambda value: with_form(value, form, instead) is not value)


def holders_of_container(container: object) -> list[Holder]:
    """Who has to have another one when ``container`` becomes one of the run.

    Who holds it; who may read a choice of which it is an alternative, or an alternative of which it
    is a part.
    """
    found = _holders(lambda value: with_form(value, container, None) is not value, through=True)
    return [
        each for each in found if each.live or not (each.chosen or isinstance(each.get(), Choice))
    ]


def choices_with(
    thing: object,
    apart: Choice | None = None,
    *,
    live: bool = False,
    name: str | None = None,
    bound: bool = False,
) -> list[str]:
    """The names of choices between several things of which ``thing`` is one; not of ``apart``.

    Args:
        thing: one of them.
        apart: the choice that is no other one.
        live: leave out what nobody reads again.
        name: leave out what this path means where it is read, as :func:`names_of` does.
        bound: whoever holds ``apart``, under the same conditions, is given another one.
    """

    def is_other(value: object) -> bool:
        if not _is_between(value, thing):
            return False
        if apart is None:
            return True
        if bound:
            return _is_between(with_form(value, apart, None), thing)
        leaves, mine = value.leaves(), apart.leaves()
        starts = range(len(leaves) - len(mine) + 1)
        return not any(
            all(a is b for a, b in zip(leaves[start:], mine, strict=False)) for start in starts
        )

    return _named([each for each in _holders(is_other) if each.live or not live], name)


def is_in_an_alternative(
    thing: object, facts: bridge.Facts | None = None, apart: frozenset[int] = frozenset()
) -> bool:
    """Whether an alternative of a choice that somebody may read has ``thing`` in it.

    It is none of :func:`names_of`: what is held under a condition may be changed under it.

    Args:
        thing: any object.
        facts: leave out the alternatives that these rule out.
        apart: the ids of choices that are left out.
    """
    inside = _Inside(functools.partial(is_same, thing), facts, apart)
    return any(holder.live for holder in _holders(inside.alternative_of))


def are_in_alternatives(things: list[Any]) -> list[bool]:
    """What :func:`is_in_an_alternative` says of each of several things, in one walk."""
    found = _holders(_Inside(OneOf(things).is_in).alternative_of) if things else []
    choices = [holder.get() for holder in found if holder.live]
    inside = [_Inside(functools.partial(is_same, thing)) for thing in things]
    return [any(map(each.alternative_of, choices)) for each in inside]


def is_held(thing: object, name: str | None = None) -> bool:
    """Whether somebody holds ``thing``, as it is or as one of several, or in one of several.

    What :func:`names_of`, :func:`choices_with` and :func:`is_in_an_alternative` say, in one walk.

    Args:
        thing: any object.
        name: a variable that does not count.
    """
    inside = _Inside(functools.partial(is_same, thing))
    found = _holders(
        lambda value: (
            is_same(value, thing) or _is_between(value, thing) or inside.alternative_of(value)
        )
    )
    held = [(holder, holder.get()) for holder in found]
    if _named([holder for holder, value in held if is_same(value, thing)], name):
        return True
    return any(
        (holder.path != name and _is_between(value, thing)) or inside.alternative_of(value)
        for holder, value in held
        if holder.live
    )


def _is_between(value: object, thing: object) -> TypeGuard[Choice]:
    """Whether ``value`` is a choice of which ``thing`` is an alternative."""
    return isinstance(value, Choice) and any(leaf is thing for leaf in value.leaves())


@dataclass
class _Inside:
    """Tells which choices have something in one of their alternatives.

    Attributes:
        is_it: whether a part is what is looked for.
        facts, apart: as :func:`is_in_an_alternative` has them.
        barren: how deep below a part there is nothing of it, by the part's id; with the part,
            whose id is no other's then.
    """

    is_it: Callable[[object], bool]
    facts: bridge.Facts | None = None
    apart: frozenset[int] = frozenset()
    barren: dict[int, tuple[int, object]] = field(default_factory=dict)

    def alternative_of(self, value: object) -> bool:
        """Whether ``value`` is such a choice."""
        if not isinstance(value, Choice) or id(value) in self.apart or not self._below(value):
            return False
        # Asked last, as it goes through the conditions of all branches.
        return self._below(possible(value, self.facts))

    def _below(self, value: object) -> bool:
        leaves = value.leaves() if isinstance(value, Choice) else [value]
        return any(self._in(part, DEPTH) for leaf in leaves for part in self._parts(leaf))

    def _in(self, part: object, depth: int) -> bool:
        if self.is_it(part):
            return True
        if depth == 0 or type(part) in LEAVES or self.barren.get(id(part), (0, 0))[0] >= depth:
            return False
        found = any(self._in(each, depth - 1) for each in self._parts(part))
        if not found:
            self.barren[id(part)] = depth, part
        return found

    @staticmethod
    def _parts(part: object) -> list[object]:
        return [*attributes_of(part).values()] if is_object(part) else children(part)


_COUNTED: Final[dict[types.CodeType, str]] = {}
"""Functions of ours with a variable that counts as one of the user's, by their code."""


def counted(name: str) -> Callable[[_Function], _Function]:
    """Let the variable ``name`` of a function of ours be bound anew as one of the user's is."""

    def note(function: _Function) -> _Function:
        _COUNTED[function.__code__] = name
        return function

    return note


_Function = TypeVar("_Function", bound=types.FunctionType | Callable[..., Any])


def _variables(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The variables of a frame that may hold what the user knows."""
    name = _COUNTED.get(frame.f_code)
    held = frame.f_locals
    return list(held.items()) if name is None else [(name, held[name])]


def _holders(is_it: Callable[[Any], bool], *, through: bool = False) -> list[Holder]:
    capture = current()
    if capture is None:
        return []
    found: list[Holder] = []
    walk = _Walk(is_it, through)
    blocks, left = list(capture.blocks), []
    frame: types.FrameType | None = sys._getframe(1)
    inside = True  # code of Paddle's that makes the change, as ``stft`` does with ``squeeze_``
    while frame is not None and frame is not capture.entry:
        while blocks and frame is blocks[-1].frame:
            left.append(blocks.pop())
        users = not is_ours(frame.f_code.co_filename) or frame.f_code in _COUNTED
        inside = inside and not users
        if users or (inside and is_paddle(frame) and not is_d2s(frame)):
            for name, value in _variables(frame):
                for path, place in walk.paths(name, value, Local(frame, name), DEPTH):
                    fixed = isinstance(place, Fixed)
                    live = (path != name and not fixed) or is_read_later(frame, name)
                    found.append(
                        Holder(
                            path,
                            place.set,
                            place.get,
                            tuple(left),
                            live,
                            fixed,
                            place.identity(),
                            frame.f_code.co_name,
                            frame if path == name else None,
                            owner_of(frame, name),
                            is_in_alternative(place),
                        )
                    )
        frame = frame.f_back
    known = {holder.place for holder in found}
    for tried in capture.attempts:
        around = tuple(reversed(capture.blocks[tried.depth :]))
        for function in tried.others:
            held = _held_by(function, walk, around)
            found += (holder for holder in held if holder.place not in known)
    for record in capture.watched():
        if record.large:
            continue
        scope = record.scope
        for key, value in () if isinstance(scope, set) else record.pairs():
            if is_it(value) and (id(scope), key) not in known:
                place = record.entry(key)
                found.append(
                    Holder(
                        place.path,
                        place.put,
                        place.get,
                        tuple(reversed(capture.blocks)),
                        True,
                        False,
                        (id(scope), key),
                        OUTSIDE,
                    )
                )
    return found


def _held_by(function: Any, walk: _Walk, left: tuple[Block, ...]) -> Iterator[Holder]:
    """What the end of a ``with`` statement holds, in no variable of a frame.

    Args:
        function: reaches its context manager, or goes on in the generator of one.
        walk: looks for what is looked for.
        left: the blocks inside of the statement.
    """
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        value = Cell(cell).get()
        if isinstance(value, types.FunctionType):
            yield from _held_by(value, walk, left)
            continue
        for path, place in walk.paths(name, value, Free(cell, name), DEPTH):
            fixed = isinstance(place, Fixed)
            yield Holder(
                path, place.set, place.get, left, True, fixed, place.identity(), code.co_name
            )


@dataclass
class _Walk:
    """What is looked for below the variables of all frames, which hold much in common.

    Attributes:
        is_it: whether a thing is looked for.
        through: look into the alternatives of choices, too.
        barren: how deep below an object there is nothing of it, by its id; with the object.
    """

    is_it: Callable[[Any], bool]
    through: bool = False
    barren: dict[int, tuple[int, object]] = field(default_factory=dict)

    def paths(self, path: str, value: object, place: Somewhere, depth: int) -> Iterator[_Path]:
        """The paths from a variable to what is looked for, and the place at the end of each."""
        if self.is_it(value):
            yield path, place
            return
        if depth == 0 or isinstance(value, types.ModuleType | types.FunctionType):
            return
        if isinstance(value, Optimizer):  # its parameters stay what they are
            return
        if isinstance(value, type) and not is_user_class(value):
            return
        if hasattr(type(value), "d2s_freeze") or hasattr(type(value), "d2s_keeps"):
            return  # what an operator's own object keeps is no name
        if self.barren.get(id(value), (0, None))[0] >= depth:
            return
        if isinstance(value, Choice):
            for leaf in value.leaves() if self.through else ():
                yield from self.paths(path, leaf, Alternative(place, leaf), depth - 1)
            return
        found = False
        below = depth - (not hasattr(type(value), "d2s_stands_for"))  # its attributes are variables
        for step, key, item, table in parts_of(value):
            if type(item) in LEAVES and not self.is_it(item):
                continue
            inside = Fixed(place, key) if table is None else Item(table, key)
            for each in self.paths(f"{path}{step.format(key)}", item, inside, below):
                found = True
                yield each
        if not found:
            self.barren[id(value)] = depth, value


_Path = tuple[str, Somewhere]
