"""What the captures of a loop so far have shown of its state (rules C2 to C4).

A capture that finds a variable to be another one than was planned (a number becomes a float
tensor, a list grows, a dimension changes) ends in a :class:`Replan`; the loop is captured again,
with the better plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

import paddle

from d2s.errors import D2SError
from d2s.runtime.control_flow.forms.alternatives import Alternatives
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.lists.items.structures import union
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.trace import OnceMoreError


class Replan(OnceMoreError):
    """The state at ``path`` needs another description: see :class:`Plan`."""

    def __init__(self, path: str, **changes: object) -> None:
        super().__init__(path)
        self.path = path
        self.changes = changes
        self.others: list[Replan] = []

    @property
    def widens(self) -> bool:
        """Whether a tensor only gets an open dimension, or lets gradients through."""
        return self.changes.keys() <= {"shape", "gradient", "lift"} and len(self.changes) == 2


class NewKeysError(OnceMoreError):
    """A trip gives a dict other keys: the loop is captured again, behind its first trip.

    Attributes:
        refusal: what is said where that does not help.
    """

    def __init__(self, refusal: D2SError) -> None:
        super().__init__()
        self.refusal = refusal


@dataclasses.dataclass
class Plan:
    """What earlier captures of the loop have shown of one piece of state.

    Attributes:
        lift: a constant that turned out to change.
        dtype: the dtype that a Python number must begin with.
        kind: its Python type, ``None`` once it becomes a tensor.
        number: the type of the number that a tensor is on some paths.
        exact: that number is not always the one before the loop.
        shape: the relaxed shape of a tensor.
        gradient: a constant at first, which a trip makes differentiable.
        like: a value of the type that ``None`` or an unbound variable turns into.
        grow: what the items are that a list is appended with.
        anew: each trip makes a new list, dict or object; the one from before the loop stays as
            it is.
        apart: what began as another name of one list, dict or tensor becomes another one.
        alone: a tensor that began as a view is none behind a trip.
        place: what a tensor may be a view of, see ``loops.views``.
        rows: the growing list is asked for more than to be appended to.
        carry: the loop changes the growing list.
        rebound: the loop binds the variable to another growing list, or to another one of several
            containers.
        choices: what the variable may be: constants, and structures of tensors.
    """

    lift: bool = False
    dtype: Any = None
    kind: type | str | None = "as it is"
    number: type | None = None
    exact: bool = False
    shape: list[int] | None = None
    gradient: bool = False
    like: Like | None = None
    grow: Element | None = None
    anew: bool = False
    apart: bool = False
    alone: bool = False
    place: Any = None
    rows: bool = False
    carry: bool = False
    rebound: bool = False
    choices: Alternatives | None = None

    def append(self, element: Element) -> None:
        """Note that a list is appended with an item of ``element``."""
        self.grow = element if self.grow is None else union(self.grow, element)
        self.carry = True


ENOUGH: Final = 3
"""After so many captures that have found variables without elements, any of them may be one."""


class Plans(dict[str, Plan]):
    """Plans by path; a path that nothing is known of has the empty plan.

    Attributes:
        empty: variables that may have no elements.
        own_sizes: variables whose sizes are not those of arguments.
        stops: the trips decide which variables have a gradient.
        unstable: what was planned anew the last time, for messages.
    """

    def __init__(self) -> None:
        super().__init__()
        self.empty: set[str] = set()
        self.own_sizes: set[str] = set()
        self._asked_for_empty = 0
        self.stops = False
        self.unstable = "the state of the loop"

    def __missing__(self, path: str) -> Plan:
        self[path] = Plan()
        return self[path]

    def note_sizes(self, empty: set[str], own: set[str]) -> None:
        """Note variables that a trip may leave empty, or with sizes of their own."""
        self.empty |= empty
        self.own_sizes |= own
        self._asked_for_empty += 1

    def may_be_empty(self, name: str) -> bool:
        """Whether a variable is to be carried as one that may have no elements."""
        return name in self.empty or self._asked_for_empty >= ENOUGH

    def change(self, replan: Replan) -> None:
        """Take over what a capture has shown."""
        for each in (replan, *replan.others):
            plan = self[each.path]
            for name, value in each.changes.items():
                setattr(plan, name, value)
        self.unstable = repr(replan.path)


def split_each(carriers: Iterable[Carrier], values: Iterable[object]) -> list[paddle.Tensor]:
    """What a trip has left in several pieces of state, as the next values of their variables.

    Caches that grow by a row in each trip ask for an open dimension one and all; they are planned
    anew together, not one in each capture of the loop.

    Raises:
        OnceMoreError: one of them is another one than was planned.
        D2SError: one of them cannot be carried.
    """
    found: list[paddle.Tensor] = []
    wider: list[Replan] = []
    for carrier, value in zip(carriers, values, strict=True):
        try:
            found += carrier.split(value)
        except Replan as replan:
            if replan.widens:
                wider += (replan, *replan.others)
            elif not wider:
                raise
        except (OnceMoreError, D2SError):
            if not wider:
                raise  # else it may be another one once the others are as planned
    if wider:
        wider[0].others = wider[1:]
        raise wider[0]
    return found


def replan_as_choices(path: str, *values: object) -> None:
    """Capture the loop again with a variable that may be any of ``values``, where that can be.

    Args:
        path: the variable.
        values: what it is before the loop; then what a trip may have left.
    """
    choices = Alternatives.of(*values)
    if choices is not None:
        raise Replan(path, choices=choices)
