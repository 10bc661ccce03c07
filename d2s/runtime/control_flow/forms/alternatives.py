"""What a variable of a static loop may be: constants, and structures of tensors.

A loop that switches a variable between ``"up"`` and ``"down"``, or binds a tuple of tensors to a
name that was not bound, carries which of its :class:`Alternatives` holds, and the leaves of each
structure; the leaves of those that do not hold are zeros that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.runtime.control_flow.forms.form import (
    Form,
    Select,
    as_both,
    built,
    fits,
    form_of,
    has_rows,
    leaves_in,
    likes_of,
    of_any_length,
    sample_of,
    widen,
)
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.values.choice import Choice

MOST: Final = 8
"""How many different things one variable may be."""

MOST_TENSORS: Final = 4
"""How many of them are tensors: with more, each trip makes another one."""

GROWS: Final = 3
"""With so many lengths of a list, each trip makes it another one."""


def _alternatives(value: object) -> list[tuple[Any, Any]]:
    """Every alternative of ``value`` with its flag; ``Choice``s inside a tuple are no matter."""
    if isinstance(value, Choice):
        return value.alternatives()
    return [(value, None)]


class Alternatives:
    """The forms that a variable may have, in the order in which they were met.

    Attributes:
        forms: they.
        grows: a list of many lengths is one of any length, as it may be in a loop.
    """

    def __init__(self, forms: list[Form] | None = None, *, grows: bool = False) -> None:
        self.forms: list[Form] = list(forms or ())
        self.grows = grows

    @classmethod
    def of(cls, *values: object) -> Alternatives | None:
        """What may be one of ``values``, each of which may be a ``Choice``; ``None`` if too much.

        The first is from before a loop; a trip may have left the others.
        """
        made = cls(grows=True)
        fit = all(made.add(value, trip=number > 0) for number, value in enumerate(values))
        return made if fit else None

    def likes(self) -> list[Like]:
        """A description of each leaf."""
        return [like for form in self.forms for like in likes_of(form)]

    def add(self, value: object, *, trip: bool = False) -> bool:
        """Take in the form of ``value``, or of its alternatives; whether that is possible.

        Args:
            value: what the variable may be.
            trip: a trip has left it.
        """
        for item, _ in _alternatives(value):
            at = None if isinstance(item, Like) else self.position(item)
            if at is None and self.grows:
                at = self._grown(item)
            if at is None:
                form = form_of(item, trip=trip, grows=self.grows)
                if form is None or len(self.forms) == MOST or self._is_full_for(form):
                    return False
                self.forms.append(form)
            else:
                self._widen(at, item)
        return True

    def _is_full_for(self, form: Form) -> bool:
        """Whether one more tensor is too much."""
        kinds = [each.kind for each in (form, *self.forms) if isinstance(each, Like)]
        return isinstance(form, Like) and kinds.count(None) > MOST_TENSORS

    def _grown(self, value: object) -> int | None:
        """Which of the forms ``value`` has now, as a list in it has another length in each trip."""
        found = [form for form in self.forms if of_any_length(form, value) is not None]
        few = len(found) < GROWS and len(self.forms) < MOST
        if not found or (few and not any(map(has_rows, found))):
            return None
        joint: Form | None = found[0]
        for each in (*map(sample_of, found[1:]), value):
            joint = None if joint is None else of_any_length(joint, each)
        if joint is None:
            return None
        self.forms = [*(form for form in self.forms if form not in found), joint]
        for form in found:
            self._widen(-1, sample_of(form))
        return len(self.forms) - 1

    def position(self, value: object) -> int | None:
        """Which of the forms ``value`` has."""
        for index, form in enumerate(self.forms):
            if fits(form, value):
                return index
        return None

    def _widen(self, at: int, value: object) -> bool:
        """Let a form be one for the leaves of ``value``, too; whether anything changes."""
        form = self.forms[at]
        pairs = zip(likes_of(form), leaves_in(form, value, as_both), strict=True)
        changes = [widen(like, leaf) for like, leaf in pairs]
        return any(changes)

    def with_(self, value: object) -> Alternatives | None:
        """These, if ``value`` fits into them unchanged; else wider ones; ``None``: impossible."""
        same = True
        made = Alternatives(self.forms, grows=self.grows)
        for item, _ in _alternatives(value):
            at = made.position(item)
            if at is None:
                same = False
                if not made.add(item, trip=True):
                    return None
            elif made._widen(at, item):
                same = False
        return self if same else made

    def flatten(self, value: object, select: Select) -> tuple[Any, list[Any]]:
        """Which of the forms holds, as an int64 value, and the leaves of all of them.

        Args:
            value: what has one of the forms.
            select: how one of two leaves is chosen.
        """
        tag: Any = None
        found: dict[int, list[Any]] = {}
        for item, holds in reversed(_alternatives(value)):
            at = self.position(item)
            assert at is not None
            mine = paddle.full([], at, "int64")
            tag = mine if tag is None or holds is None else paddle.where(holds, mine, tag)
            leaves = leaves_in(self.forms[at], item, select)
            before = found.get(at)
            if before is not None and holds is not None:
                leaves = [
                    a if a is b else select(holds, _kept(a), _kept(b))
                    for a, b in zip(leaves, before, strict=True)
                ]
            found[at] = leaves
        return tag, [
            leaf
            for at, form in enumerate(self.forms)
            for leaf in found.get(at) or [like.zeros() for like in likes_of(form)]
        ]

    def build(self, tag: paddle.Tensor, leaves: list[Any], name: str) -> Any:
        """What the variable is, of which form and leaves."""
        rest = iter(leaves)
        made = [built(form, rest) for form in self.forms]
        result = made[-1]
        for at in reversed(range(len(made) - 1)):
            result = Choice(tag == at, made[at], result, name)
        return result


def _kept(thing: object) -> Callable[[], Any]:
    return lambda: thing


def settled(thing: object) -> Any:
    """``thing`` with one value in the place of each choice in a tuple, where that can be."""
    if isinstance(thing, Choice):
        return thing.spread(settled)
    if not isinstance(thing, tuple):
        return thing
    items = [
        item.get(check=False)
        if isinstance(item, Choice) and item.single and len(item.leaves()) == len(item._usable())
        else settled(item)
        for item in tuple.__iter__(thing)
    ]
    return tuple.__new__(type(thing) if hasattr(thing, "_make") else tuple, items)
