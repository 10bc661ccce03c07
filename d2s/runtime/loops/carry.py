"""What a static loop carries from trip to trip (rules C2 to C4).

A *carrier* describes one piece of the state: which loop variables it needs, how the object that
the body sees is built from them, and how what the body leaves behind is taken apart again.  When
the body shows that a piece was described wrongly (a number becomes a float tensor, a list grows,
``None`` becomes a tensor, a dimension changes) the carrier raises :class:`Replan`, and the loop is
captured again with the better description.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import deque
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, D2SError, LoopMismatchError, Row
from d2s.runtime.aliasing.holders import names_of
from d2s.runtime.aliasing.origins import is_callers, note_form, origin_of
from d2s.runtime.aliasing.variables import Frozen, thaw
from d2s.runtime.control_flow.cond import select
from d2s.runtime.control_flow.ends import (
    Ends,
    born,
    is_born,
    is_named_elsewhere,
    made_like,
)
from d2s.runtime.control_flow.forms import Alternatives
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.likeness import Like, common, description_of, sample, wants_gradients
from d2s.runtime.trace import OnceMoreError, current, error_here, tentatively
from d2s.runtime.values.cases import optional_parts, places_of
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.constants import same_constant
from d2s.runtime.values.fields import attributes_of, is_object, set_attributes
from d2s.runtime.values.tables import describe, moments
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_dtype,
    as_value,
    carried,
    is_float,
    is_tensor,
    joint_kind,
    mark_number,
    note_carried,
    number_kind,
    root_of,
    root_to_change,
    weak_dtype,
)
from d2s.runtime.values.tree import blank, like, members, refill
from d2s.runtime.values.tree import pairs as items_of
from d2s.runtime.values.unbound import UNBOUND


class Replan(OnceMoreError):
    """The state at ``path`` needs another description: see :class:`Plan`."""

    def __init__(self, path: str, **changes: Any) -> None:
        super().__init__(path)
        self.path = path
        self.changes = changes


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
        shape: the relaxed shape of a tensor.
        gradient: a constant at first, which a trip makes differentiable.
        like: a value of the type that ``None`` or an unbound variable turns into.
        grow: an item that a list is appended with.
        anew: each trip makes a new list, dict or object; the one from before the loop stays as
            it is.
        rows: the growing list is asked for more than to be appended to.
        carry: the loop changes the growing list.
        rebound: the loop binds the variable to another growing list.
        choices: what the variable may be: constants, and structures of tensors.
    """

    lift: bool = False
    dtype: Any = None
    kind: Any = "as it is"
    shape: list[int] | None = None
    gradient: bool = False
    like: Any = None
    grow: Any = None
    anew: bool = False
    rows: bool = False
    carry: bool = False
    rebound: bool = False
    choices: Alternatives | None = None


class Plans(dict[str, Plan]):
    """Plans by path; a path that nothing is known of has the empty plan.

    Attributes:
        shared: the carriers of growing lists in the present attempt, by the list that they carry:
            a list that is known under two names is carried once.
        empties: a variable of the loop may have no elements.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[int, Growing] = {}
        self.empties = False

    def __missing__(self, path: str) -> Plan:
        self[path] = Plan()
        return self[path]

    def change(self, replan: Replan) -> None:
        """Take over what a capture has shown."""
        plan = self[replan.path]
        for name, value in replan.changes.items():
            setattr(plan, name, value)


class Carrier:
    """One piece of the loop's state; ``inits`` are its loop variables before the first trip."""

    inits: list[Any]

    def rebuild(self, values: list[Any]) -> Any:
        """The object that the body (or the code behind the loop) sees."""
        raise NotImplementedError

    def split(self, after: Any) -> list[Any]:
        """What the body left, as the next values of the loop variables."""
        raise NotImplementedError

    def lists(self) -> list[DynamicList]:
        """The lists in it whose arrays the loop carries."""
        return [growing.target for growing in self.growing() if growing.arrays]

    def growing(self) -> list[Growing]:
        """The carriers of growing lists in it."""
        return []


class Constant(Carrier):
    """A Python value that the loop does not change."""

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value
        self.inits = []

    def rebuild(self, values: list[Any]) -> Any:
        return self.value

    def split(self, after: Any) -> list[Any]:
        before = self.value
        if after is before or _same(before, after):
            return []
        if before is None or before is UNBOUND:
            if isinstance(after, Choice):
                parts = optional_parts(after)
                if parts is not None and parts[0] is before and parts[2] is not None:
                    raise Replan(self.path, like=Like(parts[2]))
            if is_tensor(after) or number_kind(after) is not None:
                raise Replan(self.path, like=Like(after))
        if number_kind(before) is not None and _numeric(after):
            raise Replan(self.path, lift=True)
        if is_born(after) and type(after) is type(before) and made_like(before) is not None:
            raise Replan(self.path, anew=True)
        choices = choices_of(before, after)
        if choices is not None:
            raise Replan(self.path, choices=choices)
        raise error_here(
            LoopMismatchError,
            f"the loop changes {self.path!r} from {describe(before)} to {_words(after)}",
            f"give {self.path!r} a tensor (or a structure of tensors of the final form) before "
            "the loop",
            _moments(self.path, before, after),
        )


def _numeric(value: Any) -> bool:
    """Whether ``value`` is a tensor or number, or surely one of several."""
    if isinstance(value, Choice):
        return all(_numeric(item) for item in value.leaves()) and value.single
    return is_tensor(value) or number_kind(value) is not None


def choices_of(*values: Any) -> Alternatives | None:
    """What may be one of ``values``, each of which may be a ``Choice``; ``None`` if too much.

    The first is from before the loop; a trip may have left the others.
    """
    choices = Alternatives()
    for number, value in enumerate(values):
        if not choices.add(value, trip=number > 0):
            return None
    return choices


def _seed(value: Any, gradient: bool = False) -> Any:
    """A copy of ``value`` to begin the loop with; with ``gradient`` it lets gradients through."""
    copy = carried(value)
    if gradient:
        copy.stop_gradient = False
    return copy


def _opens(value: Any, init: Any) -> bool:
    """Whether a trip makes differentiable what the loop began with as a constant."""
    return (
        wants_gradients()
        and is_float(value.dtype)
        and init.stop_gradient
        and not value.stop_gradient
    )


class Fixed(Constant):
    """A set, which the loop may read."""

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path, value)
        self.items = set(value)

    def split(self, after: Any) -> list[Any]:
        if isinstance(after, Frozen) and after.container is self.value:
            if set(after.items) != self.items:
                raise error_here(
                    ContainerInGraphError,
                    f"the loop changes the set {self.path!r}, and a set has no form in a program",
                    "use a list, or a tensor of flags",
                )
            return []
        return super().split(after)


class Leaf(Carrier):
    """A tensor, or a Python number."""

    def __init__(self, path: str, value: Any, plan: Plan) -> None:
        self.path = path
        self.before = value
        self.kind = number_kind(value)
        made = as_value(value)
        if plan.kind != "as it is":
            self.kind = plan.kind
        if plan.dtype is not None and made.dtype != as_dtype(plan.dtype):
            made = paddle.cast(made, plan.dtype)
        init = _seed(made, plan.gradient)
        if plan.shape is not None:
            bridge.relax(init, plan.shape)
        self.init = init
        self.inits = [init]
        self.root = root_to_change(value)
        self.became: type | None = None
        self.divided = False

    def rebuild(self, values: list[Any]) -> Any:
        (value,) = values
        note_carried(self.root, value)
        return value if self.kind is None else mark_number(value, self.kind)

    def split(self, after: Any) -> list[Any]:
        if isinstance(after, Choice) and _usable(after):
            after = after.get()
        kind = number_kind(after)
        if kind is None and not is_tensor(after):
            choices = choices_of(self.before, after)
            if choices is not None:
                raise Replan(self.path, choices=choices)
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} from {describe(self.init)} to {_words(after)}",
                f"keep {self.path!r} a tensor in every trip",
                _moments(self.path, self.before, after),
            )
        mine, dtype = self.kind, self.init.dtype
        if kind is not None and mine is not None:
            joint = joint_kind(mine, kind)
            if joint is not mine:
                raise Replan(self.path, kind=joint, dtype=NUMBER_DTYPES[joint], lift=True)
            return self._next(after, dtype)
        if kind is not None:
            self.became = kind
            return self._next(after, weak_dtype(kind, dtype))
        value = as_value(after)
        if mine is not None:
            raise Replan(self.path, kind=None, dtype=value.dtype, lift=True)
        if value.dtype != dtype:
            self._replan_as_choices(value)
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} from {describe(self.init)} to {describe(value)}",
                f"cast it: {self.path} = {self.path}.astype("
                f"'{str(value.dtype).split('.')[-1]}') before the loop, or keep its dtype",
                _moments(self.path, self.init, value),
            )
        before, now = list(self.init.shape), list(value.shape)
        if before == [] and now == [1] and _is_divided(value):
            self.divided = True  # t // 2 has the shape [1] in dygraph
            value, now = paddle.reshape(value, []), []
        if len(before) != len(now):
            self._replan_as_choices(value)  # total = 0, and then total + x
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} from shape {before} to shape {now}",
                f"begin with a tensor of {len(now)} dimensions, such as paddle.zeros({now}), or "
                "keep their number the same in every trip",
                _moments(self.path, self.init, value),
            )
        relaxed = [a if a == b else -1 for a, b in zip(before, now, strict=True)]
        if relaxed != before:
            raise Replan(self.path, shape=relaxed, lift=True)
        return self._next(value, dtype)

    def _replan_as_choices(self, value: Any) -> None:
        """Capture the loop again with a variable that may be what it was, or as ``value`` is."""
        choices = choices_of(self.before, value)
        if choices is not None:
            raise Replan(self.path, choices=choices)

    def settled(self, value: Any, tripped: Any) -> Any:
        """What the variable is behind the loop: without a trip it is what it was before.

        Args:
            value: the last value of the loop variable.
            tripped: a bool value, whether there was a trip.
        """
        capture = current()
        kind = number_kind(value)
        before = number_kind(self.before)
        if capture is None or not bridge.is_value(value):
            return value
        if kind is not None:
            return (
                value if before in (kind, None) else Choice(tripped, value, self.before, self.path)
            )
        if before is not None and self.became is None:
            capture.sometimes[value.id] = (value, ~tripped, before)
        elif before is None and self.became is not None:
            capture.sometimes[value.id] = (value, tripped, self.became)
        elif self.divided:
            return Choice(tripped, paddle.reshape(value, [1]), value, self.path)
        return value

    def _next(self, after: Any, dtype: Any) -> list[Any]:
        value = as_value(after)
        if value.dtype != as_dtype(dtype):
            return [paddle.cast(value, dtype)]
        if _opens(value, self.init):
            raise Replan(self.path, gradient=True, lift=True)
        if self.root != root_of(value):
            self.root = None
        return [carried(value)]


def _is_divided(value: Any) -> bool:
    """Whether ``value`` is ``t // 2`` or ``t % 2``."""
    producer = bridge.producer(value)
    return producer is not None and producer[0] in ("floor_divide", "remainder")


def _usable(value: Choice) -> bool:
    """Whether ``value`` is a tensor or number on every path on which it is bound."""
    absent = any(item is None for item in value.leaves())
    return value.single and not absent and _leaves_only(value)


def _leaves_only(value: Choice) -> bool:
    """Whether the alternatives of ``value`` that are there are tensors and numbers."""
    return all(
        is_tensor(item) or number_kind(item) is not None
        for item in value.leaves()
        if item is not None and item is not UNBOUND
    )


class Optional(Carrier):
    """A tensor that may be absent: ``None``, or not bound."""

    def __init__(self, path: str, absent: Any, like: Any, init: Any = None) -> None:
        self.path = path
        self.absent = absent
        self.like = like
        self.places = places_of(init)
        flag, value = paddle.full([], True, "bool"), None
        if isinstance(init, Choice):
            parts = optional_parts(init)
            if parts is not None:
                flag, value = parts[1], parts[2]
        first = like.zeros() if value is None else as_value(value)
        self.inits = [_seed(flag), _seed(first, not like.stop_gradient)]

    def rebuild(self, values: list[Any]) -> Any:
        flag, value = values
        if self.like.kind is not None:
            value = mark_number(value, self.like.kind)
        return Choice(flag, self.absent, value, self.path).chosen_at(self.places)

    def split(self, after: Any) -> list[Any]:
        if after is self.absent:
            return [paddle.full([], True, "bool"), self.like.zeros()]
        if isinstance(after, Choice):
            parts = optional_parts(after)
            if parts is None or parts[0] is not self.absent:
                if _usable(after):
                    after = after.get()
                flag = paddle.full([], False, "bool")
            else:
                flag, after = paddle.assign(parts[1]), parts[2]
        else:
            flag = paddle.full([], False, "bool")
        if not (is_tensor(after) or number_kind(after) is not None):
            choices = choices_of(self.absent, self.like, after)
            if choices is not None:
                raise Replan(self.path, choices=choices)
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} to {_words(after)}",
                "keep it a tensor in every trip",
                _moments(self.path, self.absent, after),
            )
        value = as_value(after)
        kind = number_kind(after)
        if kind is None and self.like.kind is not None:
            raise Replan(self.path, like=Like(after))
        if value.dtype != as_dtype(self.like.dtype):
            value = paddle.cast(value, self.like.dtype)
        shape = list(value.shape)
        if shape != self.like.shape:
            if len(shape) != len(self.like.shape):
                choices = choices_of(self.absent, self.like, after)
                if choices is not None:
                    raise Replan(self.path, choices=choices)
                raise error_here(
                    LoopMismatchError,
                    f"the loop changes {self.path!r} from shape {self.like.shape} to {shape}",
                    "keep the number of dimensions the same in every trip",
                    _moments(self.path, self.like.zeros(), value),
                )
            relaxed = [a if a == b else -1 for a, b in zip(shape, self.like.shape, strict=True)]
            if relaxed != self.like.shape:
                self.like.shape = relaxed
                raise Replan(self.path, like=self.like)
        if _opens(value, self.inits[1]):
            self.like.stop_gradient = False
            raise Replan(self.path, like=self.like)
        return [flag, carried(value)]


class Sequence(Carrier):
    """A tuple, a list of fixed length, a dict with fixed keys, or a dataclass."""

    def __init__(self, path: str, value: Any, plans: Plans, depth: int) -> None:
        self.path = path
        self.value = value
        self.rebound = plans[path].anew
        self.keys = _keys(value) or {}
        self.names = _names(value) if self.rebound else {}
        self.parts = [
            *(
                carrier_of(f"{path}[{key!r}]", item, plans, depth=depth)
                for key, item in self.keys.items()
            ),
            *(
                carrier_of(f"{path}.{name}", item, plans, depth=depth)
                for name, item in self.names.items()
            ),
        ]
        self.inits = [init for part in self.parts for init in part.inits]

    def rebuild(self, values: list[Any]) -> Any:
        items = []
        for part in self.parts:
            count = len(part.inits)
            items.append(part.rebuild(values[:count]))
            values = values[count:]
        value = self.value
        container = value.container if isinstance(value, Frozen) else value
        if isinstance(container, tuple):
            return like(container, items)
        if self.rebound:
            bare = made_like if is_object(container) else blank
            self.seen, self.given = container, items = born(bare(container)), items
        items, attributes = items[: len(self.keys)], items[len(self.keys) :]
        if self.names:
            set_attributes(container, dict(zip(self.names, attributes, strict=True)))
        if isinstance(container, dict):
            return refill(container, dict(zip(self.keys, items, strict=True)))
        return refill(container, items) if isinstance(container, list | deque) else container

    def growing(self) -> list[Growing]:
        return [found for part in self.parts for found in part.growing()]

    def _refusal(self, after: Any, keys: dict[Any, Any]) -> D2SError:
        return error_here(
            ContainerInGraphError,
            f"the static loop changes the form of {self.path!r} (its type, length or keys)",
            _cure_of_form(self.path, self.keys, keys),
            _moments(self.path, self.value, after),
        )

    def _other_type(self, mine: Any, after: Any) -> D2SError:
        return error_here(
            ContainerInGraphError,
            f"the static loop changes {self.path!r} from {describe(mine)} to {_words(after)}",
            "keep its type and form in every trip",
            _moments(self.path, self.value, after),
        )

    def _refuse_other_names(self, mine: Any) -> None:
        """Refuse a change of what the trip began with, where another name knows it too."""
        if isinstance(self.seen, dict):
            now = [item for _, item in items_of(self.seen)]
        else:
            now = [] if is_object(self.seen) else members(self.seen)
        if self.names:
            now += attributes_of(self.seen).values()
        if len(now) != len(self.given) or any(map(operator.is_not, now, self.given)):
            refuse_other_names(mine, self.path)

    def split(self, after: Any) -> list[Any]:
        container = after.container if isinstance(after, Frozen) else after
        mine = self.value.container if isinstance(self.value, Frozen) else self.value
        keys = _keys(after)
        if keys is None and not isinstance(container, DynamicList):
            choices = None if isinstance(mine, list | dict) else choices_of(self.value, after)
            if choices is not None:
                raise Replan(self.path, choices=choices)
            if isinstance(mine, dict) and isinstance(after, Choice):
                with tentatively():
                    raise NewKeysError(self._other_type(mine, after))
            raise self._other_type(mine, after)
        keys = keys or {}
        if isinstance(mine, list) and isinstance(container, DynamicList):
            item = sample_of(container)
            raise Replan(self.path, grow=item, rows=True, rebound=True)
        if isinstance(mine, list) and isinstance(container, list) and len(keys) != len(self.keys):
            added = list(keys.values())[len(self.keys) :] or [*keys.values(), *self.keys.values()]
            raise Replan(self.path, grow=description_of(added[0]))
        if type(container) is not type(mine) or list(keys) != list(self.keys):
            choices = None
            if not isinstance(mine, list | dict):
                choices = choices_of(self.value, after)
            if choices is not None:
                raise Replan(self.path, choices=choices)
            if isinstance(mine, dict) and type(container) is type(mine):
                with tentatively():
                    raise NewKeysError(self._refusal(after, keys))
            raise self._refusal(after, keys)
        names = _names(after) if self.rebound else {}
        if not isinstance(mine, tuple):
            if self.rebound:
                self._check_names(mine, container, names)
            elif container is not mine:
                raise Replan(self.path, anew=True)
        return [
            value
            for part, item in zip(
                self.parts, [*keys.values(), *(names[name] for name in self.names)], strict=True
            )
            for value in part.split(item)
        ]

    def _check_names(self, mine: Any, container: Any, names: dict[str, Any]) -> None:
        """Refuse what each trip would have to make anew, but others know or find changed."""
        self._refuse_other_names(mine)
        if names.keys() != self.names.keys():
            other = sorted(names.keys() ^ self.names.keys())
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} to a {type(container).__name__} with another "
                f"attribute, {other[0]!r}",
                "let it have the same attributes before the loop",
            )
        if (
            is_object(container)
            and container is not self.seen
            and (is_named_elsewhere(container, path=self.path))
        ):
            raise error_here(
                ContainerInGraphError,
                f"a static loop binds {self.path!r} to a {type(container).__name__} that another "
                "name knows as well",
                "bind it to one that the loop makes",
            )


class Growing(Carrier):
    """A list whose length the run decides: its TensorArrays and its length, or its rows."""

    def __init__(self, path: str, target: DynamicList, plan: Plan, depth: int) -> None:
        self.path = path
        self.target = target
        self.rebound = plan.rebound
        self.held = len(target.origin or ())
        if plan.grow is not None:
            target.widen_for(sample(plan.grow))
        if plan.rows or target.home != depth:
            target.need_rows()
        self.arrays = bool(target.arrays)
        if self.arrays:
            self.inits = [*target.arrays, paddle.assign(target.length)]
        else:
            self.inits = [_seed(row) for row in target.need_rows()]
            for init, leaf in zip(self.inits, target.element.leaves, strict=True):
                init.stop_gradient = leaf.stop_gradient and not plan.gradient

    def growing(self) -> list[Growing]:
        return [self]

    def rebuild(self, values: list[Any]) -> Any:
        target = self.target
        if self.rebound:
            self.seen = target.like(list(values))
            self.given = list(self.seen.rows or ())
            return self.seen
        if self.arrays:
            target.hold(list(values[:-1]), mark_number(values[-1], int))
        else:
            target.hold_rows(list(values))
        return target

    def split(self, after: Any) -> list[Any]:
        target = after.container if isinstance(after, Frozen) else after
        if self.rebound:
            return self._next(self._fresh(target))
        if target is not self.target:
            raise Replan(self.path, rows=True, rebound=True)
        if self.arrays:
            return [*target.arrays, paddle.assign(target.length)]
        return self._next(target)

    def _next(self, target: DynamicList) -> list[Any]:
        rows = target.need_rows()
        for row, init in zip(rows, self.inits, strict=True):
            if _opens(row, init):
                raise Replan(self.path, gradient=True)
        return [carried(row) for row in rows]

    def _fresh(self, after: Any) -> DynamicList:
        """What a trip has bound the variable to, as a list like the one before."""
        target = self.target
        if self.seen.rows is None or any(
            a is not b for a, b in zip(self.seen.rows, self.given, strict=True)
        ):
            refuse_other_names(target if target.origin is None else target.origin, self.path)
        if type(after) is list:
            after = DynamicList.of(after, self.path, target.sample())
        if not isinstance(after, DynamicList) or after.element.form != target.element.form:
            raise error_here(
                ContainerInGraphError,
                f"the static loop changes {self.path!r} from a list to {_words(after)}, or to a "
                "list with items of another structure",
                "keep it a list of the same kind of items",
                _moments(self.path, target, after),
            )
        return after


def refuse_other_names(container: Any, path: str) -> None:
    """Refuse a loop that changes and binds ``path`` if another name knows what it was before."""
    known = [f"is known as {name!r} as well" for name in names_of(container, path)]
    capture = current()
    if capture is not None and id(container) in capture.callers:
        known.append("is an argument, and the caller's")
    if known:
        word = "list" if isinstance(container, DynamicList) else type(container).__name__
        raise error_here(
            ContainerInGraphError,
            f"a static loop changes the {word} {path!r} and binds the name to other {word}s too; "
            f"the first one {known[0]}",
            f"begin with a copy: {path} = {path}.copy()",
        )


class Same(Carrier):
    """Another name of a list that ``owner`` carries."""

    def __init__(self, path: str, owner: Growing) -> None:
        self.path = path
        self.owner = owner
        self.inits = []

    def rebuild(self, values: list[Any]) -> Any:
        return self.owner.seen if self.owner.rebound else self.owner.target

    def split(self, after: Any) -> list[Any]:
        target = after.container if isinstance(after, Frozen) else after
        if target is not self.rebuild([]) or self.owner.rebound:
            raise error_here(
                ContainerInGraphError,
                f"{self.path!r} and {self.owner.path!r} are one list before a static loop, which "
                "binds one of them to another list",
                "begin with a copy of the list",
            )
        return []


class Untouched(Carrier):
    """A growing list that the loop does not change, as far as is known."""

    def __init__(self, path: str, target: DynamicList) -> None:
        self.path = path
        self.target = target
        self.inits = []
        self.before = target.d2s_freeze()

    def rebuild(self, values: list[Any]) -> Any:
        return self.target

    def split(self, after: Any) -> list[Any]:
        target = after.container if isinstance(after, Frozen) else after
        if target is not self.target:
            raise Replan(self.path, carry=True, rows=True, rebound=True)
        if not target.holds_still(self.before):
            raise Replan(self.path, carry=True)
        return []


class Chosen(Carrier):
    """One of several constants and structures of tensors: which one, and the leaves of each."""

    def __init__(self, path: str, value: Any, choices: Alternatives) -> None:
        self.path = path
        self.value = value
        self.choices = choices
        tag, leaves = choices.flatten(value, select)
        self.inits = [_seed(tag), *map(_seed, leaves)]
        for init, found in zip(self.inits[1:], choices.likes(), strict=True):
            if list(init.shape) != found.shape:
                bridge.relax(init, found.shape)
            init.stop_gradient = found.stop_gradient

    def rebuild(self, values: list[Any]) -> Any:
        return self.choices.build(values[0], list(values[1:]), self.path)

    def split(self, after: Any) -> list[Any]:
        choices = self.choices.with_(after)
        if choices is None and _is_of_tensors(after):
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} to a tensor of another dtype or number of "
                "dimensions in each trip",
                f"give {self.path!r} its final dtype and number of dimensions before the loop",
                _moments(self.path, self.value, after),
            )
        if choices is None:
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} to {_words(after)}, which is no tensor or "
                "structure of tensors",
                "keep it one of a few constants, or a structure of tensors",
                _moments(self.path, self.value, after),
            )
        if choices is not self.choices:
            raise Replan(self.path, choices=choices)
        tag, leaves = self.choices.flatten(after, select)
        return [carried(tag), *map(carried, leaves)]


def one_list(value: Choice, path: str) -> DynamicList | None:
    """One list of the run out of several of alike items, of different lengths."""
    leaves = value.leaves()
    if not all(
        isinstance(leaf, Frozen) and isinstance(leaf.container, list | DynamicList)
        for leaf in leaves
    ):
        return None
    items = [item for leaf in leaves if type(leaf.container) is list for item in leaf.items]
    lengths = {len(leaf.items) if type(leaf.container) is list else -1 for leaf in leaves}
    if not items or len(lengths) == 1:
        return None
    with tentatively():
        try:
            # An item of the side that is not taken has any size: none is read out of its branch.
            shared = DynamicList.for_items([thaw(item) for item in items], path)
        except ContainerInGraphError:
            return None

    def rows(part: Any) -> tuple[Any, ...]:
        if isinstance(part, Choice):
            found: tuple[Any, ...] = select(
                part.flag, lambda: rows(part.true), lambda: rows(part.false)
            )
            return found
        made = shared.like(shared.need_rows(), path)
        made.extend(thaw(part))
        return tuple(made.need_rows())

    return shared.like(list(rows(value)), path)


def sample_of(target: DynamicList) -> Any:
    """A description of the items of a list of a capture that will be dropped."""
    return description_of(target.sample())


def note_grown(target: Any, made: DynamicList) -> None:
    """Note what a list has become that a loop grows."""
    capture = current()
    if capture is not None:
        capture.grown[id(target)] = (target, made)


def _keys(value: Any) -> dict[Any, Any] | None:
    """The parts of a structure by key; ``None`` when it is none."""
    if isinstance(value, Frozen):
        if isinstance(value.container, list | deque):
            return dict(enumerate(value.items))
        return dict(value.items) if isinstance(value.container, dict) else None
    if isinstance(value, tuple):
        return dict(enumerate(value))
    return {} if is_object(value) else None


def _names(value: Any) -> dict[str, Any]:
    """The attributes of an object, or of a list or dict of the user's class."""
    return Ends().attributes(value.container if isinstance(value, Frozen) else value)


def path_of(path: str, value: Any, target: Any) -> str | None:
    """The path at which the object ``target`` stands in ``value``, or ``None``."""
    if value is target:
        return path
    parts: dict[Any, Any] = {}
    if isinstance(value, list | tuple):
        parts = dict(enumerate(value))
    elif isinstance(value, dict):
        parts = value
    for key, part in parts.items():
        found = path_of(f"{path}[{key!r}]", part, target)
        if found is not None:
            return found
    return None


def carrier_of(
    path: str, value: Any, plans: Plans, *, depth: int = 0, top: bool = False
) -> Carrier:
    """The carrier for ``value`` (a frozen snapshot) at ``path``.

    Args:
        path: the variable, or the way to the part of it.
        value: what it is before the loop.
        plans: what earlier captures have shown.
        depth: how many blocks are around the loop.
        top: the variable itself is bound in the body, so that a number surely changes.
    """
    plan = plans[path]
    value = possible(value)
    if plan.choices is not None:
        return Chosen(path, value, plan.choices)
    if isinstance(value, Frozen):
        return _of_container(path, value, plans, depth)
    if value is None or value is UNBOUND:
        if plan.like is not None:
            return Optional(path, value, plan.like)
        return Constant(path, value)
    if isinstance(value, Choice):
        parts = optional_parts(value)
        if parts is not None:
            return Optional(path, parts[0], plan.like or Like(parts[2]), value)
        if value.single and _leaves_only(value):
            return Leaf(path, value.get(), plan)
        whole = one_list(value, path)
        if whole is not None:
            note_form(origin_of(value), whole)
            return Growing(path, whole, plan, depth)
        choices = choices_of(value)
        if choices is None:
            raise error_here(
                ContainerInGraphError,
                f"{path!r} may be {' or '.join(map(_words, value.leaves()))} where a static loop "
                "begins, as a tensor has decided",
                "let it have one form on every path before the loop",
                value.table(),
            )
        if is_callers(value):
            raise error_here(
                ContainerInGraphError,
                f"{path!r}, an argument, has another length on different paths where a static "
                "loop begins that changes it",
                "fill a list or dict of the function's own, and return it",
            )
        return Chosen(path, value, choices)
    if is_tensor(value):
        return Leaf(path, value, plan)
    if number_kind(value) is not None:
        return Leaf(path, value, plan) if top or plan.lift else Constant(path, value)
    if isinstance(value, tuple) and value:
        return Sequence(path, value, plans, depth)
    if plan.anew and is_object(value):
        return Sequence(path, value, plans, depth)
    return Constant(path, value)


def _of_container(path: str, value: Frozen, plans: Plans, depth: int) -> Carrier:
    """The carrier of a list, dict, deque or set."""
    plan, container = plans[path], value.container
    known = plans.shared.get(id(container))
    if known is not None:
        return Same(path, known)
    if isinstance(container, DynamicList):
        if not (plan.carry or plan.rows or plan.grow is not None):
            return Untouched(path, container)
        made = Growing(path, container, plan, depth)
    elif plan.grow is not None:
        if type(container) is not list:
            raise error_here(
                ContainerInGraphError,
                f"{path!r}, a {type(container).__name__}, grows in a static loop, whose length "
                "only the run knows",
                "collect in a plain list, and fill the other one from it behind the loop",
            )
        like = sample(plan.grow)
        growing = DynamicList.of(thaw(value), path, like, arrays=not plan.rows)
        growing.origin = container
        note_grown(container, growing)
        made = Growing(path, growing, plan, depth)
    elif isinstance(container, list | dict | deque):
        return Sequence(path, value, plans, depth)
    else:
        return Fixed(path, container)
    plans.shared[id(container)] = made
    return made


def grow(plan: Plan, item: Any) -> None:
    """Note that a list is appended with an item like ``item``, a description."""
    plan.grow = item if plan.grow is None else common(plan.grow, item)
    plan.carry = True


def _same(before: Any, after: Any) -> bool:
    if isinstance(after, Frozen):
        return after.container is before
    return same_constant(before, after)


def _cure_of_form(path: str, before: Any, after: Any) -> str:
    """How to give a container before the loop the form that a trip gives it."""
    added = [key for key in after if key not in list(before)]
    if added and isinstance(added[0], str | float):
        return f"make the key {added[0]!r} before the loop: {path}[{added[0]!r}] = ..."
    return "give it its final form before the loop"


class _OpenList:
    """What stands for a growing list in a table."""

    d2s_words = "list of open length"


def _moments(path: str, before: Any, after: Any) -> list[Row]:
    """The table of a mismatch: what ``path`` is before the loop, and what a trip makes of it."""
    sides = after.leaves() if isinstance(after, Choice) else [after]
    return moments(path, _shown(before), map(_shown, sides))


def _shown(value: Any) -> Any:
    """A value as a table shows it: a snapshot as a container with its items."""
    container = value.container if isinstance(value, Frozen) else value
    if isinstance(container, DynamicList):
        return _OpenList()
    if not isinstance(value, Frozen):
        return value
    if isinstance(container, dict):
        return dict(value.items)
    return list(value.items) if isinstance(container, list) else container


def _is_of_tensors(value: Any) -> bool:
    """Whether ``value`` is a tensor on every path."""
    return all(map(is_tensor, value.leaves() if isinstance(value, Choice) else [value]))


def _words(value: Any) -> str:
    if isinstance(value, Choice):
        return "one of several things, and another one in each trip"
    if isinstance(value, HostText):
        return "text that contains a tensor, and grows or changes its form"
    return describe(value.container if isinstance(value, Frozen) else value)
