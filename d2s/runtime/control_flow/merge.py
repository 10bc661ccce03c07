"""Two sides of a branch become one: leaf by leaf (rules B2, B3, B4, B6).

:class:`Merger` walks what the two sides have left behind.  Tensors that both sides have become
outputs of the ``if``; equal constants stay constants; Python numbers that differ become 0-D
values; what cannot be one value becomes a :class:`Choice`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import (
    holders_of,
    is_in_an_alternative,
    names_of,
)
from d2s.runtime.aliasing.origins import is_known, is_known_outside, is_same_among
from d2s.runtime.aliasing.snapshots import (
    Frozen,
    as_double,
    container_of,
    freeze,
    has_other_form,
    same_items,
    thaw,
)
from d2s.runtime.control_flow.ends import (
    Ends,
    born,
    is_named_elsewhere,
    made_like,
    note_put,
    set_on_each,
)
from d2s.runtime.control_flow.forms.alternatives import Alternatives, settled
from d2s.runtime.control_flow.forms.form import Select
from d2s.runtime.control_flow.forms.views import lent
from d2s.runtime.control_flow.keeping import Keeping
from d2s.runtime.control_flow.outputs import Builder, once
from d2s.runtime.lists.becoming import SharedError, are_alike
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.fixed import owner_of_view
from d2s.runtime.lists.items.lookers import check_lookers
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.lists.merging import join_different, join_lists
from d2s.runtime.lists.storage import NeedsElementError
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values import tree
from d2s.runtime.values.cases import optional_parts, places_of
from d2s.runtime.values.choice import Choice, simplified
from d2s.runtime.values.constants import same_constant
from d2s.runtime.values.fields import is_object, missing_attribute, set_attributes
from d2s.runtime.values.mixed import Mixed, as_mixed, note_mixed, told_apart
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_one_tensor,
    carried,
    is_array,
    is_numeric,
    is_tensor,
    note_selected,
    number_kind,
    root_of,
    weak_dtype,
)
from d2s.runtime.values.tree import any_leaf, blank, is_indexed, is_mapping, is_plain, like, refill
from d2s.runtime.values.unbound import UNBOUND

RESULT: Final = "result"
"""The variable that passes make for what a function returns."""

SIDE_BY_SIDE: Final = 3
"""So many alternatives are kept beside each other, each as it is."""


class Merger(Keeping):
    """Makes one value of what the two sides of an ``if`` leave behind.

    Attributes:
        select: makes an ``if`` inside of a side, for one of two values; not needed where a
            ``raise`` has ended one.
    """

    def __init__(
        self, op: bridge.IfOp, left: tuple[bool, bool], select: Select | None = None
    ) -> None:
        super().__init__(op, left)
        self.select = select
        self._kept: list[object] = []

    def merge(self, true: object, false: object, name: str) -> Builder:
        """A builder for the one value of ``true`` and ``false``."""
        if self.left[0] or self.left[1]:
            return self.survivor(true, false, name)
        true, false = as_one_tensor(true, false)
        if true is false and not isinstance(true, Frozen):
            return lambda results: true
        if isinstance(true, Frozen) or isinstance(false, Frozen):
            return self.containers(true, false, name)
        if name == RESULT or not (is_numeric(true) and is_numeric(false)):
            true, false = self.told_apart(True, true), self.told_apart(False, false)
        absent = true is None or true is UNBOUND or false is None or false is UNBOUND
        if absent or isinstance(true, Choice) or isinstance(false, Choice):
            return self.eithers(true, false, name)
        kinds = number_kind(true), number_kind(false)
        if kinds[0] is not None and kinds[1] is not None:
            return self.numbers(true, false, name, kinds[0], kinds[1])
        if name == RESULT and (kinds[0] is None) is not (kinds[1] is None):
            return self.either(true, false, name)  # what is returned keeps its type
        if is_tensor(true) and (is_tensor(false) or kinds[1] is not None):
            return self.tensors(true, false, name, kinds)
        if is_tensor(false) and kinds[0] is not None:
            return self.tensors(true, false, name, kinds)
        if type(true) is type(false):
            if tree.is_tuple(true) and tree.is_tuple(false) and tree.size(true) == tree.size(false):
                return self.tuples(true, false, name)
            if is_array(true) and not true.d2s_is_like(false):
                return self.either(true, false, name)
            if is_object(true):
                return self.objects(true, false, name)
        if same_constant(true, false):
            return lambda results: true
        return self.either(true, false, name)

    def told_apart(self, side: bool, value: object) -> Any:
        """A tensor that is a Python number on some paths, with its two forms beside each other."""
        return self.on(side, lambda: told_apart(value))

    def numbers(self, true: object, false: object, name: str, left: type, right: type) -> Builder:
        """Two Python numbers: a constant when equal; a 0-D value where the run computes one."""
        if not is_tensor(true) and not is_tensor(false) and same_constant(true, false):
            return lambda results: true
        if left is not right or not (is_tensor(true) or is_tensor(false)):
            return self.either(true, false, name)
        dtype = NUMBER_DTYPES[left]
        return self.output(self.copied(True, true, dtype), self.copied(False, false, dtype), left)

    def tensors(
        self, true: Any, false: Any, name: str, kinds: tuple[type | None, type | None]
    ) -> Builder:
        """Two tensors, or a tensor and a Python number that takes its dtype (B3)."""
        kind = kinds[1] if kinds[0] is None else kinds[0]
        dtype = true.dtype if kinds[0] is None else false.dtype
        if kind is not None and weak_dtype(kind, dtype) != dtype:  # the tensor would not keep its
            return self.apart(true, false, name)
        if kind is None and (true.dtype != false.dtype or len(true.shape) != len(false.shape)):
            return self.apart(true, false, name)
        left, right = self.copied(True, true, dtype), self.copied(False, false, dtype)
        if len(left.shape) != len(right.shape):
            return self.apart(true, false, name)
        mixed = as_mixed(true), as_mixed(false)
        if mixed != (None, None):
            if len({each.kind for each in mixed if each is not None}) == 2:
                return self.apart(true, false, name)
            return self.mixed(*mixed, self.output(left, right))
        root = root_of(true) if root_of(true) == root_of(false) else None
        return self.named(true, false, lambda: self.output(left, right, None, root))

    def apart(self, true: object, false: object, name: str) -> Builder:
        """Both sides, and what is a number on some paths of one as one of two things."""
        return self.eithers(self.told_apart(True, true), self.told_apart(False, false), name)

    def mixed(self, true: Mixed | None, false: Mixed | None, value: Builder) -> Builder:
        """``value``, noted as the number that it is on some paths."""
        known = [each for each in (true, false) if each is not None]
        for each in known:
            if each.asked is not None:
                return lambda results: note_mixed(value(results), each)
        flags = [each is not None and each.flag for each in (true, false)]
        flag = self.output(self.as_flag(True, flags[0]), self.as_flag(False, flags[1]))
        first, kind = known[0].number, known[0].kind
        if all(same_constant(each.number, first) for each in known) and not is_tensor(first):
            return lambda results: note_mixed(value(results), Mixed(flag(results), first))
        left, right = (
            self.copied(side, kind(0) if each is None else each.number, NUMBER_DTYPES[kind])
            for side, each in ((True, true), (False, false))
        )
        number = self.output(left, right, kind)
        return lambda results: note_mixed(value(results), Mixed(flag(results), number(results)))

    def tuples(self, true: tuple[object, ...], false: tuple[object, ...], name: str) -> Builder:
        """Two tuples or named tuples of one length."""
        items = [
            self.merge(left, right, f"{name}[{index}]")
            for index, (left, right) in enumerate(
                zip(tree.members(true), tree.members(false), strict=True)
            )
        ]
        return lambda results: like(true, [item(results) for item in items])

    def objects(self, true: object, false: object, name: str) -> Builder:
        """Two objects of one class: a new one, where nobody else knows either of them."""
        known = any(
            ends.is_shared(thing) or is_named_elsewhere(thing, self.state)
            for ends, thing in zip(self.ends, (true, false), strict=True)
        )
        if known or made_like(true) is None:
            return self.either(true, false, name)
        attributes = self.attributes(self.ends[0], true, self.ends[1], false, name)
        return lambda results: set_attributes(made_like(true), attributes(results))

    def attributes(
        self, left: Ends, true: object, right: Ends, false: object, name: str
    ) -> Callable[[list[paddle.Tensor]], dict[str, object]]:
        """The attributes of what stands for two objects; one that a side lacks may be missing."""
        first, second = left.attributes(true), right.attributes(false)
        merged = {
            key: self.merge(first.get(key, UNBOUND), second.get(key, UNBOUND), f"{name}.{key}")
            for key in {**first, **second}
        }

        def build(results: list[paddle.Tensor]) -> dict[str, object]:
            found = {key: item(results) for key, item in merged.items()}
            for key, value in found.items():
                if isinstance(value, Choice):
                    value.missing = missing_attribute(type(true), key)
            return found

        return build

    def containers(self, true: object, false: object, name: str) -> Builder:
        """Two lists, dicts or sets, with what they held at the end of each side."""
        note_put(self.ends, (true, false))
        if not (isinstance(true, Frozen) and isinstance(false, Frozen)):
            return self.either(true, false, name)
        first, second = true.container, false.container
        if first is not second and not self.partners.are_one(first, second):
            return self.either(true, false, name)
        known = self._pairs.get((id(first), id(second)))
        if known is None:  # two names of one list stay names of one
            made = (self.contained if first is second else self.two_containers)(true, false, name)
            made = made if first is second else lent(self, true, false, made)
            known = self._pairs[id(first), id(second)] = once(made)
            self._kept += [first, second]
        return known

    def two_containers(self, true: Frozen, false: Frozen, name: str) -> Builder:
        """Two different lists, dicts or sets: one that stands for both, or one of two."""
        first, second = true.container, false.container
        if isinstance(first, DynamicList) or isinstance(second, DynamicList):
            joined = join_different(self, true, false, name)
            if joined is not None:
                return joined
        # A later change must reach the one that is meant.
        if any(is_known(each, name) for each in (first, second)) or not are_alike((first, second)):
            return self.either(true, false, name)
        return self.contained(true, false, name)

    def contained(self, true: Frozen, false: Frozen, name: str) -> Builder:
        """What one container holds, or a new one that stands for two of a kind."""
        first, second = true.container, false.container
        same = first is second
        if isinstance(first, DynamicList) and isinstance(second, DynamicList) and same:
            return join_lists(self, first, true, false)
        fresh = self.anew(first, second, name, same=same)
        if same and same_items(true, false) and not is_indexed(first):
            return lambda results: thaw(true)
        left, right = true.by_key(), false.by_key()
        if not is_indexed(first) or list(left) != list(right):  # the order of keys can be seen, too
            if not same:
                return self.either(true, false, name)
            check_lookers(first)
            if is_indexed(first) and not is_mapping(first):
                return self.with_attributes(self.grown(first, true, false, name), first, name)
            return self.with_attributes(self.either(true, false, name), first, name)
        parts = {key: self.merge(left[key], right[key], f"{name}[{key!r}]") for key in left}

        def build(results: list[paddle.Tensor]) -> object:
            made = {key: item(results) for key, item in parts.items()}
            contents = made if is_mapping(first) else [*made.values()]
            return as_double(refill(first, contents), first) if same else fresh(contents, results)

        return build

    def anew(
        self, first: object, second: object, name: str, *, same: bool
    ) -> Callable[[Any, list[paddle.Tensor]], Any]:
        """What makes a new list or dict that stands for two, from contents and results."""
        if same or not (dict_of(first) or dict_of(second)):
            return lambda made, results: as_double(born(like(first, made)), first, second)
        attributes = self.attributes(self.ends[0], first, self.ends[1], second, name)
        return lambda made, results: set_attributes(
            as_double(born(like(first, made)), first, second), attributes(results)
        )

    def with_attributes(self, form: Builder, target: object, name: str) -> Builder:
        """``form``, of a container ``target``, with the attributes that the two sides leave."""
        if not dict_of(target):
            return form
        attributes = self.attributes(self.ends[0], target, self.ends[1], target, name)
        return lambda results: set_on_each(form(results), attributes(results))

    def grown(self, target: list[Any], true: Frozen, false: Frozen, name: str) -> Builder:
        """One list that the two sides leave with different lengths."""
        capture = current()
        if _outlives_a_trip(target):
            longer = true.items if len(true.items) > len(false.items) else false.items
            raise NeedsElementError(target, element_of(longer[-1]))  # it grows from trip to trip
        if capture is not None:
            capture.divided.append(target)
        return self.either(true, false, name)

    def eithers(self, true: object, false: object, name: str) -> Builder:
        """One side is a ``Choice`` already, or absent: one flag and one value if possible."""
        if isinstance(true, Choice) and same_items(true, false):
            return lambda results: thaw(true)
        left = self.on(True, lambda: optional_parts(true))
        right = self.on(False, lambda: optional_parts(false))
        if left is None or right is None:
            return self.either(true, false, name)
        markers = {id(part[0]): part[0] for part in (left, right) if part[1] is not False}
        if len(markers) != 1 or (left[2] is None and right[2] is None):
            return self.either(true, false, name)
        like = left[2] if left[2] is not None else right[2]
        kind = number_kind(like)
        for part in (left, right):
            if part[2] is not None and (
                number_kind(part[2]) is not kind
                or (kind is None and (part[2].dtype != like.dtype))
                or (kind is None and len(part[2].shape) != len(like.shape))
            ):
                return self.either(true, false, name)
        (absent,) = markers.values()
        sides = []
        for side, part in ((True, left), (False, right)):
            if part[2] is not None:
                sides.append(self.copied(side, part[2]))
            elif is_tensor(like):
                sides.append(self.placeholder(side, like))
            else:
                sides.append(self.copied(side, type(like)(0)))
        value = self.named(left[2], right[2], lambda: self.output(sides[0], sides[1], kind))
        flag = self.output(self.as_flag(True, left[1]), self.as_flag(False, right[1]))
        known = type(left[1]) is bool and type(right[1]) is bool and left[1] is not right[1]
        body_first = left[1] if known else None
        return lambda results: Choice(flag(results), absent, value(results), name).chosen_at(
            places_of(true, false), body_first
        )

    def either(self, true: object, false: object, name: str) -> Builder:
        """Both sides as they are, and which one holds."""
        few = self.by_form(true, false, name)
        if few is not None:
            return few
        if isinstance(true, Choice) and is_same_among(true, false):
            return self.alternatives(true, false, name)
        flag = self.flag()
        kept = self.kept(True, true), self.kept(False, false)

        def build(results: list[paddle.Tensor]) -> object:
            left, right = kept[0](results), kept[1](results)
            if left is right:
                return left
            return simplified(Choice(flag(results), left, right, name).chosen_at(places_of(), True))

        return build

    def alternatives(self, true: Any, false: Any, name: str) -> Builder:
        """One choice on both sides, whose containers have changed: each stays itself."""
        if not isinstance(true, Choice):
            return self.merge(true, false, name)
        parts = [
            self.alternatives(*pair, name)
            for pair in ((true.true, false.true), (true.false, false.false))
        ]
        return lambda results: true.like(*(part(results) for part in parts))

    def by_form(self, true: object, false: object, name: str) -> Builder | None:
        """Many alternatives of few forms: which form holds, and one set of leaves for each.

        Else each branch behind another would double what a variable may be.  ``None`` where
        there are few, or one is no structure of tensors, numbers and constants.
        """
        sides = [(True, true), (False, false)]
        count = sum(thing.size if isinstance(thing, Choice) else 1 for _, thing in sides)
        capture = current()
        if self.select is None or count <= SIDE_BY_SIDE:
            return None
        if capture is None:
            return None
        if not all(self.is_value_like(side, thing, name) for side, thing in sides):
            return None
        both = [(side, self.on(side, functools.partial(settled, thing))) for side, thing in sides]
        choices = Alternatives()
        fit = [self.on(side, functools.partial(choices.add, thing)) for side, thing in both]
        if not all(fit) or len(choices.forms) == count:
            return None
        leaves = [
            self.on(side, functools.partial(self.flattened, choices, thing)) for side, thing in both
        ]
        outputs = [self.output(left, right) for left, right in zip(*leaves, strict=True)]

        def build(results: list[paddle.Tensor]) -> object:
            tag, *values = [output(results) for output in outputs]
            made = choices.build(tag, values, name)
            return made.chosen_at(places_of(true, false)) if isinstance(made, Choice) else made

        return build

    def is_value_like(self, side: bool, thing: object, name: str) -> bool:
        """Whether a copy of ``thing`` is as good: it cannot change, or nobody else knows it."""
        if isinstance(thing, Choice):
            return all(self.is_value_like(side, leaf, name) for leaf in thing.leaves())
        if isinstance(thing, tuple):
            return all(self.is_value_like(side, item, name) for item in tree.members(thing))
        container = container_of(thing)
        if is_plain(container):
            held = thing if isinstance(thing, Frozen) else freeze(thing)
            known = self.partners.is_shared(side, container) or is_known(container, name)
            return not (known or owner_of_view(container)) and all(
                self.is_value_like(side, each, name) for each in held.by_key().values()
            )
        plain = thing is None or thing is UNBOUND or type(thing) in (str, bytes)
        return plain or is_numeric(thing)

    def flattened(self, choices: Alternatives, thing: object) -> list[paddle.Tensor]:
        """Which form ``thing`` has, and its leaves, as a side of an ``if`` hands them out."""

        def choose(test: paddle.Tensor, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
            true, false = body(), orelse()
            shape = list(true.shape)
            if shape == list(false.shape) and all(size >= 0 for size in shape):
                made = paddle.where(test, true, false)
                note_selected(made, [true, false])
                return made
            assert self.select is not None
            return self.select(test, body, orelse)

        tag, leaves = choices.flatten(thing, choose)
        return [carried(value) for value in (tag, *leaves)]

    def aside(self, true: object, false: object) -> Builder:
        """What a container holds that no variable stands for any more."""
        name = "a list or dict that is known outside of the function"
        if self.left[0] or self.left[1]:
            return self.survivor(true, false, name)
        return self.either(true, false, name)

    def changed(self, side: bool, was: Frozen, now: Frozen, choice: Choice) -> Builder:
        """What a list or dict holds that only one side has changed: for all, or for that side.

        Args:
            side: the side.
            was, now: what it held before, and holds at the end of the side.
            choice: the ``if`` is on the flag of this, of which it is one of the things.
        """
        known = names_of(now.container)
        if not known and is_known_outside(now.container):
            known = ["a name outside of the function"]
        elsewhere = bridge.implied(choice.flag, not side, open_trace().facts())
        if not known and is_in_an_alternative(now.container, elsewhere):
            known = ["an item of a container"]
        if not known:
            return self.contents(side, now)
        if has_other_form(was, now):
            refusal = error_here(
                ContainerInGraphError,
                f"{choice.said} is one of several {plural(now.container)}, which a tensor decides; "
                f"its length, items or order changes, and it is known as {known[0]!r} too",
                cure_of_change(choice),
            )
            raise SharedError.of(now, refusal)
        pair = (now, was) if side else (was, now)
        fresh = [dataclasses.replace(part, container=blank(part.container)) for part in pair]
        return self.containers(fresh[0], fresh[1], choice.name)

    def survivor(self, true: object, false: object, name: str) -> Builder:
        """One side (or both) ends in a ``raise``: the other side's value is the value."""
        return self.kept(not self.left[0], false if self.left[0] else true)


def plural(container: object) -> str:
    """What several such containers are called."""
    kind = container.d2s_type() if isinstance(container, DynamicList) else type(container)
    return f"{kind.__name__}s"


def cure_of_change(choice: Choice) -> str:
    """What to do instead of changing one of several containers that others know."""
    name = choice.name if choice.said == repr(choice.name) else "it"
    return f"change a copy, which the other name does not see: {name} = {name}.copy()"


def _outlives_a_trip(target: object) -> bool:
    """Whether a list was there before the present trip of a loop."""
    capture = current()
    if capture is None or not any(block.kind == "loop" for block in capture.blocks):
        return False
    known = any(any_leaf(lambda part: part is target, values) for _, values in capture.loops)
    return known or any(
        block.kind == "loop" for holder in holders_of(target) for block in holder.left
    )
