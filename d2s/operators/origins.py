"""Which list or dict a variable still stands for after a branch that has divided it.

A list that only one side of a branch appends to is two lists behind it, as an ``Either``.  If the
caller knows the list as well, because it is an argument, each run must change the caller's.  What
has become of a container is in ``capture.grown``.
"""

from __future__ import annotations

from typing import Any

from d2s.operators.context import current
from d2s.operators.either import Either
from d2s.operators.state import Frozen


class Origins:
    """The containers that variables stand for at the ends of the two sides of one branch."""

    def __init__(self) -> None:
        capture = current()
        assert capture is not None
        self.capture = capture
        self.before = dict(capture.grown)
        self.ends: list[dict[int, tuple[Any, Any]]] = []
        self.found: list[list[Any]] = []

    def side(self, snapshot: list[Any]) -> None:
        """A side ends, with the state ``snapshot``."""
        self.ends.append(dict(self.capture.grown))
        self.found.append([origin_of(thing) for thing in snapshot])

    def back(self) -> None:
        """The other side begins, or the branch is dropped."""
        self.capture.grown = dict(self.before)

    def note(self, values: list[Any], left: list[bool]) -> None:
        """The branch is over: ``values`` are the state now; sides that have raised do not count."""
        counted = [index for index, gone in enumerate(left) if not gone]
        for index in counted:
            self.capture.grown.update(self.ends[index])
        for position, value in enumerate(values):
            roots = [
                self.found[index][position]
                for index in counted
                if position < len(self.found[index])
            ]
            if not roots or len(roots) != len(counted):
                continue
            root = roots[0]
            if root is None or any(other is not root for other in roots):
                continue
            if value is root:
                self.capture.grown.pop(id(root), None)
            elif isinstance(value, Either) or id(root) in self.capture.grown:
                note_form(root, value)


def note_form(root: Any, form: Any) -> None:
    """Note what the container ``root`` has become."""
    capture = current()
    leaves = _leaves(form)
    if capture is None or root is None:
        return
    capture.grown[id(root)] = (root, form)
    if leaves is not None:
        capture.forms[leaves] = (root, form)


def origin_of(thing: Any) -> Any:
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


def is_callers(thing: Any) -> bool:
    """Whether ``thing``, frozen, stands for a container among the arguments."""
    capture = current()
    return capture is not None and id(origin_of(thing)) in capture.callers


def _leaves(thing: Any) -> tuple[int, ...] | None:
    """The identities of the containers among which a choice is made; ``None`` if others are."""
    if isinstance(thing, Either):
        sides = _leaves(thing.true), _leaves(thing.false)
        return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]
    if isinstance(thing, Frozen):
        return (id(thing.container),)
    return (id(thing),) if isinstance(thing, list | dict) or hasattr(thing, "d2s_freeze") else None
