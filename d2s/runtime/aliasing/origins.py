"""Which list or dict a variable still stands for after a branch that has divided it.

A list that only one side of a branch appends to is two lists behind it, as a ``Choice``.  If
somebody outside of the function knows the list as well, each run must change that very list: the
caller's, where it is an argument or a part of one, or the one that a global, a closure cell or an
attribute holds.  What has become of a container is in ``capture.grown``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import (
    holders_of_form,
    is_handed_on,
    is_held,
    is_in_an_alternative,
)
from d2s.runtime.aliasing.reach import REACH
from d2s.runtime.aliasing.snapshots import (
    Frozen,
    freeze,
    is_same_choice,
    same_containers,
    same_items,
    with_form,
)
from d2s.runtime.aliasing.waiting import check_waiting
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, is_object
from d2s.runtime.values.tensors import LEAVES
from d2s.runtime.values.tree import get, is_indexed, is_mutable, kind_of, members, pairs, put

Path = tuple[Any, ...]
"""The position of a variable in the state, then indexes and keys from there."""


class Origins:
    """The containers that variables, and parts of them, stand for at the ends of a branch's sides.

    Args:
        before: the state before the branch, frozen.

    Attributes:
        grown: what containers had become before the branch.
        doubles: what may be the same as another list or dict, as it was before the branch.
        before: containers, and snapshots of what they held or had become.
        ends: for each side, what containers have become.
        found: for each side, the containers that the state stands for.
        sizes: for each side, how many slots the state had at its end.
        after: for each side, snapshots of the containers of ``before`` at its end.
        dropped: those that no variable stands for any more.
    """

    def __init__(self, before: list[Any]) -> None:
        capture = current()
        assert capture is not None
        self.capture = capture
        self.grown, self.doubles = dict(capture.grown), dict(capture.doubles)
        self.before: dict[int, tuple[Any, Any]] = {}
        for thing in snapshots_in(before).values():
            if origin_of(thing) is thing.container:
                self.before[id(thing.container)] = (thing.container, thing)
        for key, (root, form) in capture.grown.items():
            self.before[key] = (root, freeze(form))
        self.ends: list[dict[int, tuple[Any, Any]]] = []
        self.found: list[dict[Path, Any]] = []
        self.sizes: list[int] = []
        self.after: list[dict[int, Any]] = []
        self.dropped: set[int] = set()

    def side(self, snapshot: list[Any]) -> None:
        """A side ends, with the state ``snapshot``."""
        grown = dict(self.capture.grown)
        self.ends.append(grown)
        self.found.append(dict(_origins(snapshot)))
        self.sizes.append(len(snapshot))
        known = snapshots_in(snapshot)
        after = {}
        for key, (root, _) in self.before.items():
            form = grown[key][1] if key in grown else root
            after[key] = known[key] if form is root and key in known else freeze(form)
        self.after.append(after)

    def joined(self, outcomes: list[list[Any]]) -> None:
        """What has joined the state since a side ended stands there for what it did before."""
        for found, size, outcome in zip(self.found, self.sizes, outcomes, strict=True):
            found.update((path, root) for path, root in _origins(outcome) if path[0] >= size)

    def back(self) -> None:
        """The other side begins, or the branch is dropped."""
        self.capture.grown = dict(self.grown)
        self.capture.doubles.update(self.doubles)

    def leavings(self) -> Iterator[tuple[Any, Any, Any]]:
        """Containers that are changed on a side where nobody holds them at its end.

        Yields:
            The container, and a snapshot of what it has become at the end of each side.
        """
        for key, (root, _) in self.before.items():
            changed = [self._is_changed(key, side) for side in range(2)]
            held = [self._holds(root, side) for side in range(2)]
            lost = [is_changed and not held[side] for side, is_changed in enumerate(changed)]
            kept = [is_changed and held[side] for side, is_changed in enumerate(changed)]
            if any(lost) and not any(kept) and is_outer(root):
                self.dropped.add(key)
                yield root, self.after[0][key], self.after[1][key]

    def _holds(self, root: object, side: int) -> bool:
        """Whether the state stands for ``root`` at the end of a side, and not on some runs only."""
        other = self.found[1 - side]
        return any(
            each is root and (other.get(path) is root or not any(map(_is_side, path)))
            for path, each in self.found[side].items()
        )

    def _is_changed(self, key: int, side: int) -> bool:
        return not same_items(self.before[key][1], self.after[side][key])

    def note(self, values: list[Any], left: list[bool]) -> None:
        """The branch is over: ``values`` are the state now; sides that have raised do not count.

        Raises:
            ContainerInGraphError: (D2S207) a container that has another name has changed on one
                side, and no variable stands for what has become of it.
        """
        counted = [index for index, gone in enumerate(left) if not gone]
        for index in counted:
            self.capture.grown.update(self.ends[index])
        settled = set(self.dropped)
        now = frozenset(id(choice) for choice in _choices_in(values))
        for path, root in self._common(counted):
            value = _at(path, values)
            if value is root:
                if not self._is_alternative(root, counted):
                    self.capture.grown.pop(id(root), None)
                settled.add(id(root))
            elif _leaves(value) is not None:
                old = self.grown.get(id(root), (root, root))[1]
                if not is_same_choice(old, value):
                    check_waiting(root, old, value)
                    _bind_other_names(root, old, value, now)
                note_form(root, value)
                settled.add(id(root))
        for key, (root, _) in self.before.items():
            changed = any(self._is_changed(key, index) for index in counted)
            if changed and key not in settled:
                if self._is_known(root, now):
                    raise _lost(root)
                self.capture.overwritten[key] = root

    def _is_alternative(self, root: object, counted: list[int]) -> bool:
        """Whether ``root`` is one of several that it had become before, and still is on all sides.

        The state need not have the choice itself: a loop goes over one of several lists.
        """
        form = self.grown.get(id(root), (root, root))[1]
        now = [self.ends[index].get(id(root), (root, root))[1] for index in counted]
        return form is not root and all(each is form for each in now)

    def _is_known(self, root: object, now: frozenset[int]) -> bool:
        """Whether somebody may still look into ``root`` other than through the choices ``now``."""
        old = self.grown.get(id(root), (root, root))[1]
        return (
            is_outer(root)
            or any(holder.live and id(holder.get()) not in now for holder in holders_of_form(old))
            or is_in_an_alternative(root, apart=now)
        )

    def _common(self, counted: list[int]) -> Iterator[tuple[Path, Any]]:
        """The places that stand for one container on every side that counts."""
        if counted:
            first, *others = (self.found[index] for index in counted)
            for path, root in first.items():
                if all(other.get(path) is root for other in others):
                    yield path, root


def snapshots_in(things: Any) -> dict[int, Frozen]:
    """The snapshots of all containers in snapshots, by the containers' identities."""
    found: dict[int, Frozen] = {}
    queue = list(things)
    while queue:
        thing = queue.pop()
        if isinstance(thing, Frozen):
            if id(thing.container) not in found:
                found[id(thing.container)] = thing
                below = _items(thing).values()
                queue.extend(item for item in below if type(item) not in LEAVES)
        elif isinstance(thing, Choice):
            queue.extend((thing.true, thing.false))
        elif type(thing) is tuple:
            queue.extend(thing)
    return found


def _items(thing: object) -> dict[Any, Any]:
    """The parts of a snapshot, by index or key."""
    if isinstance(thing, tuple):
        return dict(enumerate(members(thing)))
    return thing.by_key() if isinstance(thing, Frozen) else {}


def _origins(snapshot: list[Any]) -> Iterator[tuple[Path, Any]]:
    """The container that each variable, and each part or alternative of one, stands for."""
    queue: list[tuple[Path, Any]] = [((index,), thing) for index, thing in enumerate(snapshot)]
    while queue:
        path, thing = queue.pop()
        root = origin_of(thing) if isinstance(thing, Frozen | Choice) else None
        if root is not None:
            yield path, root
        if len(path) < 20:
            below = _sides(thing) if root is None else _items(thing)
            queue.extend(
                ((*path, key), item) for key, item in below.items() if type(item) not in LEAVES
            )


def _sides(thing: object) -> dict[Any, Any]:
    """The alternatives of a choice, by its flag and the truth of that; the parts of a snapshot."""
    if isinstance(thing, Choice):
        return {(id(thing.flag), True): thing.true, (id(thing.flag), False): thing.false}
    return _items(thing)


def _is_side(key: object) -> bool:
    """Whether a key of a path is a side of a choice."""
    return type(key) is tuple and len(key) == 2 and type(key[1]) is bool


def _at(path: Path, values: list[Any]) -> Any:
    """What stands at a place now; ``None`` if there is no such place."""
    thing: Any = values
    for key in path:
        if isinstance(thing, Choice):
            thing = _sides(thing).get(key)
        elif kind_of(thing) is not None:
            thing = get(thing, key, None)
        else:
            return None
    return thing


def _choices_in(values: list[Any]) -> Iterator[Choice]:
    """The choices among ``values``, and in their containers and objects."""
    queue, seen = list(values), set[int]()
    while queue and len(seen) < REACH:
        thing = queue.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Choice):
            yield thing
            queue += (thing.true, thing.false)
        elif is_indexed(thing):
            queue.extend(item for _, item in pairs(thing) if type(item) not in LEAVES)
        elif is_object(thing):
            queue.extend(attributes_of(thing).values())


def note_form(root: object, form: object) -> None:
    """Note what the container ``root`` has become."""
    capture = current()
    leaves = _leaves(form)
    if capture is None or root is None:
        return
    capture.grown[id(root)] = (root, form)
    if leaves is not None:
        capture.forms[leaves] = (root, form)


def note_merged(true: object, false: object, made: object, *, live: bool) -> None:
    """Note what containers have become of which two snapshots hold what they were.

    Args:
        true, false: two snapshots, or what is in the same place of two.
        made: what they were merged to.
        live: that is so from here on; else where :func:`recall` brings it back.
    """
    if isinstance(made, Choice):
        root, leaves = origin_of(true), _leaves(made)
        if root is None or root is not origin_of(false):
            return
        if live:
            note_form(root, made)
        elif leaves is not None:
            open_trace().forms[leaves] = (root, made)
    elif isinstance(true, Frozen) and isinstance(false, Frozen) and is_indexed(made):
        others, items = false.by_key(), dict(pairs(made))
        for key, one in true.by_key().items():
            if key in others and key in items:
                note_merged(one, others[key], items[key], live=live)


def recall(snapshots: list[Any]) -> None:
    """The state is as in ``snapshots`` again: note what containers had become by then."""
    capture = current()
    assert capture is not None
    for root in snapshots_in(snapshots).values():
        capture.grown.pop(id(root.container), None)
    queue = list(snapshots)
    while queue:
        thing = queue.pop()
        leaves = _leaves(thing) if isinstance(thing, Choice) else None
        if leaves in capture.forms:
            root, form = capture.forms[leaves]
            capture.grown[id(root)] = (root, form)
        else:
            queue.extend(_items(thing).values())


def origin_of(thing: object) -> Any:
    """The container that ``thing``, frozen or not, stands for; ``None`` if it is none."""
    capture = current()
    leaves = _leaves(thing)
    if capture is None or leaves is None:
        return None
    if leaves in capture.forms:
        return capture.forms[leaves][0]
    for root, form in capture.grown.values():
        if _leaves(form) == leaves:
            return root
    return thing.container if isinstance(thing, Frozen) else None


def is_callers(thing: object) -> bool:
    """Whether ``thing``, frozen, stands for a container among the arguments."""
    capture = current()
    return capture is not None and id(origin_of(thing)) in capture.callers


def other_places(root: object) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Who holds ``root`` itself besides the local variables: the way there, and what binds it."""
    capture = current()
    if capture is None:
        return
    for record in capture.watched():
        if record.large:
            continue
        for key, item in pairs(record.now()):
            if item is root:
                place = record.entry(key)
                yield place.path, place.put
    for container in capture.callers.values():
        if is_indexed(container):
            for key, item in pairs(container):
                if item is root:
                    yield "part of an argument", functools.partial(put, container, key)


def _bind_other_names(root: object, old: object, new: object, now: frozenset[int]) -> None:
    """Let the variables, attributes and items that stood for ``root`` show what it is now.

    Args:
        root: the container.
        old: what it was before the branch: itself, or a choice.
        new: what it is now.
        now: the ids of the choices that show that already.

    Raises:
        ContainerInGraphError: (D2S207) one of them cannot be bound: it is an item of a tuple, or
            lies outside of a loop, or of the function.
    """
    for path, _ in other_places(root):
        raise _known_too(root, path)
    if is_in_an_alternative(root, apart=now):
        raise _known_too(root, "a part of one of several things")
    holders = [holder for holder in holders_of_form(old, new) if holder.live]
    for holder in holders:
        if holder.fixed or any(block.kind == "loop" for block in holder.left):
            raise _known_too(root, holder.path)
    for holder in holders:
        for block in holder.left:
            if block.state is not None and not is_handed_on(holder, block):
                block.state.join(holder.path, holder, root=root, form=old)
    for holder in holders:
        holder.set(with_form(holder.get(), old, new))


def _known_too(root: object, path: str) -> Exception:
    return error_here(
        ContainerInGraphError,
        f"a {_word(root)}, known as {path!r} too, has another length or other keys "
        "behind one side of a tensor branch than behind the other",
        "use one name for it, or keep its length and keys the same on both sides",
    )


def is_outer(root: object) -> bool:
    """Whether somebody outside of the function may know ``root``."""
    capture = current()
    if capture is None:
        return False
    return capture.callers.get(id(root)) is root or any(
        record.scope is root for record in capture.watched()
    )


def is_same_among(true: object, false: object) -> bool:
    """Whether both sides leave one choice with containers in it that each stand for themselves."""
    held = bool(snapshots_in([true]))
    return held and same_containers(true, false) and origin_of(true) is None


def is_known(container: object, name: str | None = None) -> bool:
    """Whether somebody but the variable ``name`` will see a later change of ``container``."""
    return is_known_outside(container) or is_held(container, name)


def is_known_outside(container: object) -> bool:
    """Whether somebody outside of the function knows ``container``, which is still itself."""
    capture = current()
    return capture is not None and id(container) not in capture.grown and is_outer(container)


def _lost(root: object) -> Exception:
    return error_here(
        ContainerInGraphError,
        f"a {_word(root)} that has another name too is changed on one side of a tensor "
        "branch, and another one takes its place on a side",
        "change it or replace it, not both: give the other one a name of its own",
    )


def _word(root: object) -> str:
    """What messages call a container."""
    kind: type = getattr(root, "d2s_type", lambda: type(root))()
    return kind.__name__


def _leaves(thing: object) -> tuple[int, ...] | None:
    """The identities of the containers among which a choice is made; ``None`` if others are."""
    if isinstance(thing, Choice):
        sides = _leaves(thing.true), _leaves(thing.false)
        return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]
    if isinstance(thing, Frozen):
        return (id(thing.container),)
    return (id(thing),) if is_mutable(thing) or hasattr(type(thing), "d2s_freeze") else None
