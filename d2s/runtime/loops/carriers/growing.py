"""A list whose length the run decides, in a loop."""

from __future__ import annotations

from typing import Any

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import names_of
from d2s.runtime.aliasing.snapshots import Frozen, container_of, thaw
from d2s.runtime.control_flow.cond import select
from d2s.runtime.lists.becoming import KINDS, are_alike, of_python, shell_of
from d2s.runtime.lists.divided import rows_of_all
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.structures import union
from d2s.runtime.lists.merging import joint_element
from d2s.runtime.loops.carriers.carrier import Carrier, opens, seed
from d2s.runtime.loops.carriers.mismatch import in_words, mismatch
from d2s.runtime.loops.carriers.plans import Plan, Replan
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import carried, mark_number
from d2s.runtime.values.tree import is_indexed, is_mapping


class GrowingList(Carrier):
    """A list whose length the run decides: its TensorArrays and its length, or its rows.

    Attributes:
        form: the several lists of which it was one before the loop, as a tensor has decided.
    """

    def __init__(self, path: str, target: DynamicList, plan: Plan, depth: int) -> None:
        self.path = path
        self.target = target
        self.rebound = plan.rebound
        self.form: Choice | None = None
        self.held = len(target.origin or ())
        if plan.grow is not None:
            target.widen(plan.grow)
        if plan.rows or target.home != depth:
            rows = target.need_rows()
            if target.arrays:  # of the code around a branch, which would not see them grow
                target.set_rows(rows)
        self.arrays = bool(target.arrays)
        if self.arrays:
            self.inits = [*target.arrays, paddle.assign(target.length)]
        else:
            self.inits = [seed(row) for row in target.need_rows()]
            for init, leaf in zip(self.inits, target.element.leaves, strict=True):
                init.stop_gradient = leaf.stop_gradient and not plan.gradient

    def rebuild(self, values: list[paddle.Tensor]) -> DynamicList:
        target = self.target
        if self.rebound:
            self.seen = target.like(list(values))
            self.given = list(self.seen.rows or ())
            return self.seen
        if self.arrays:
            target.hold(list(values[:-1]), mark_number(values[-1], int))
        else:
            target.hold_rows(list(values))
        self.began = target.d2s_freeze()
        return target

    def split(self, after: object) -> list[paddle.Tensor]:
        target = container_of(after)
        if self.rebound:
            return self._next(self._fresh(target))
        if target is not self.target:
            raise Replan(self.path, rows=True, rebound=True)
        if not target.holds_still(self.began):
            target.check_placed()  # by this trip, and the next one changes it
        if self.arrays:
            return [*self.target.arrays, paddle.assign(self.target.length)]
        return self._next(self.target)

    def _next(self, target: DynamicList) -> list[paddle.Tensor]:
        rows = target.need_rows()
        for row, init in zip(rows, self.inits, strict=True):
            if opens(row, init):
                raise Replan(self.path, gradient=True)
        return [carried(row) for row in rows]

    def _fresh(self, after: object) -> DynamicList:
        """What a trip has bound the variable to, as a list like the one before."""
        target = self.target
        if self.seen.rows is None or any(
            a is not b for a, b in zip(self.seen.rows, self.given, strict=True)
        ):
            refuse_other_names(target if target.origin is None else target.origin, self.path)
        if type(after) is target.d2s_type():
            after = of_python(after, self.path, target.element)
        elif isinstance(after, Choice):
            whole = one_list(after, self.path)
            after = after if whole is None else whole
        if isinstance(after, DynamicList):
            joint = union(target.element, after.element)
            if joint != target.element:
                raise Replan(self.path, grow=joint, rows=True, rebound=True)
            rows = joint.converted(after.element, iter(after.need_rows()))
            after = target.like(rows)
        else:
            raise mismatch(
                ContainerInGraphError,
                f"the static loop changes {self.path!r} from a list to {in_words(after)}, or to a "
                "list with items of another structure",
                "keep it a list of the same kind of items",
                self.path,
                (target, after),
            )
        return after


class OtherName(Carrier):
    """Another name of a list that ``owner`` carries."""

    def __init__(self, path: str, owner: GrowingList) -> None:
        self.path = path
        self.owner = owner
        self.inits = []

    def rebuild(self, values: list[paddle.Tensor]) -> DynamicList:
        return self.owner.seen if self.owner.rebound else self.owner.target

    def split(self, after: object) -> list[paddle.Tensor]:
        if container_of(after) is not self.rebuild([]) or self.owner.rebound:
            raise error_here(
                ContainerInGraphError,
                f"{self.path!r} and {self.owner.path!r} are one list before a static loop, which "
                "binds one of them to another list",
                "begin with a copy of the list",
            )
        return []


class UnchangedList(Carrier):
    """A growing list that the loop does not change, as far as is known."""

    def __init__(self, path: str, target: DynamicList) -> None:
        self.path = path
        self.target = target
        self.inits = []
        self.before = target.d2s_freeze()

    def rebuild(self, values: list[paddle.Tensor]) -> DynamicList:
        return self.target

    def split(self, after: object) -> list[paddle.Tensor]:
        if container_of(after) is not self.target:
            raise Replan(self.path, carry=True, rows=True, rebound=True)
        if not self.target.holds_still(self.before):
            raise Replan(self.path, carry=True)
        return []


def refuse_other_names(container: object, path: str) -> None:
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


def choice_of(value: Any) -> Any:
    """The choice between containers that ``value``, a choice between snapshots, is one of."""
    if isinstance(value, Choice):
        return value.like(choice_of(value.true), choice_of(value.false))
    return container_of(value)


def one_list(value: Choice, path: str) -> DynamicList | None:
    """One list or deque of the run out of several of alike items, of different lengths."""
    if not all(isinstance(leaf, Frozen) for leaf in value.leaves()):
        return None
    whole = thaw(value)
    lists = whole.leaves()
    of_run = [isinstance(each, DynamicList) for each in lists]
    if not all(known or _is_list(each) for known, each in zip(of_run, lists, strict=True)):
        return None
    lengths = {-1 if known else len(each) for known, each in zip(of_run, lists, strict=True)}
    known_length = len(lengths) == 1 and -1 not in lengths
    if known_length or not are_alike(lists):
        return None
    # An item of the side that is not taken has any size: none is read out of its branch.
    element = joint_element(lists)
    if element is None:
        return None
    return shell_of(lists[0], path, element).like(rows_of_all(whole, element, select))


def _is_list(container: object) -> bool:
    return type(container) in KINDS and is_indexed(container) and not is_mapping(container)
