"""A dynamic list behind a branch: what its two sides have left becomes one list again.

The branch is given as a :class:`Sides`; its class is in ``control_flow``, which imports this room.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import live_holders, names_of
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.lists.becoming import are_alike, become_before
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.fixed import HandedOut, handed_out, owner_of_view
from d2s.runtime.lists.items.pools import are_one
from d2s.runtime.lists.items.rows import opened, zero_rows
from d2s.runtime.lists.items.structures import element_of, union
from d2s.runtime.lists.storage import ListSnapshot
from d2s.runtime.trace import error_here, open_trace, tentatively
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tree import children, entries

Builder = Callable[[list[Any]], Any]
"""Makes what stands behind a branch of the results of the ``if``."""


class Sides(Protocol):
    """The two sides of one ``if``; ``control_flow.merge.Merger`` is one.

    Attributes:
        op: the ``if``.
        state: the variables and attributes that the sides hand on, if they do.
    """

    op: Any
    state: Any

    def root(self, side: bool, container: object) -> object:
        """The container that ``container`` stands for at the end of ``side``."""

    def output(
        self, true: object, false: object, kind: type | None = None, root: int | None = None
    ) -> Builder:
        """Yield ``true`` from one side and ``false`` from the other."""

    def on(self, side: bool, make: Callable[[], Any]) -> Any:
        """What ``make`` gives when its operations go into ``side``."""

    def copied(self, side: bool, value: object, dtype: object = None) -> Any:
        """A copy of a tensor or number in ``side``."""

    def placeholder(self, side: bool, like: object) -> Any:
        """Zeros in ``side`` like a value; never read on the run."""

    def as_flag(self, side: bool, flag: object) -> Any:
        """A bool, or bool value, as a fresh bool value of ``side``."""

    def kept(self, side: bool, thing: object) -> Builder:
        """``thing`` of one side."""


def snapshot_of(frozen: Frozen) -> ListSnapshot:
    """What a list held when it was frozen."""
    return ListSnapshot(*frozen.items)


def join_lists(merger: Sides, target: DynamicList, true_end: Frozen, false_end: Frozen) -> Builder:
    """The list after a branch.

    Args:
        merger: the branch.
        target: the list.
        true_end, false_end: what it held at the end of each side.
    """
    true, false = snapshot_of(true_end), snapshot_of(false_end)
    if true.arrays and false.arrays:
        return _join_pending(merger, target, true, false)
    element = union(true.element, false.element)
    before, after = (
        _as_rows(merger, side, element, held) for side, held in ((True, true), (False, false))
    )
    same = all(left is right for left, right in zip(before, after, strict=True))
    outputs = [] if same else _outputs(merger, element, before, after)

    def build(results: list[Any]) -> DynamicList:
        target.element, target.placed = element, true.placed or false.placed
        held = () if target.arrays or target.pending else tuple(target.rows or ())
        if same and are_one(held, tuple(before)):
            return target  # nothing has become of it, of which a list that it is in is to be told
        target.hold_rows(list(before) if same else [output(results) for output in outputs])
        return target

    return build


def _as_rows(
    merger: Sides, side: bool, element: Element, held: ListSnapshot
) -> Sequence[paddle.Tensor]:
    """What a list held at the end of a side, as items of ``element``."""
    rows = held.rows or ()
    if held.element == element:
        return rows
    made: list[paddle.Tensor] = merger.on(side, lambda: element.converted(held.element, iter(rows)))
    return made


def _outputs(
    merger: Sides, element: Element, true: Sequence[paddle.Tensor], false: Sequence[paddle.Tensor]
) -> list[Builder]:
    """What gives the rows behind a branch, leaf by leaf."""
    return [
        merger.output(
            opened(merger.copied(True, left), leaf.shape),
            opened(merger.copied(False, right), leaf.shape),
        )
        for leaf, left, right in zip(element.leaves, true, false, strict=True)
    ]


def _join_pending(
    merger: Sides, target: DynamicList, true: ListSnapshot, false: ListSnapshot
) -> Builder:
    """The list after a branch whose sides have left different pending items."""
    base = len(target.pending)
    sides = true.pending[base:], false.pending[base:]
    builders = []
    for position in range(max(len(sides[0]), len(sides[1]))):
        entries = [side[position] if position < len(side) else None for side in sides]
        for entry in filter(None, entries):
            _note_views(target, entry[0])
        if entries[0] is not None and entries[1] is not None:
            item = _pending_item(merger, target, entries[0][0], entries[1][0])
            counts = _counts(merger, entries[0][1], entries[1][1])
        else:
            which = entries[0] is not None
            left, valid = entries[0] or entries[1] or (None, False)
            item = _item_of_side(merger, target, which, left)
            counts = _counts(merger, *((valid, False) if which else (False, valid)))
        builders.append((item, counts))

    def build(results: list[Any]) -> DynamicList:
        target.settle([(item(results), counts(results)) for item, counts in builders])
        return target

    return build


def _counts(merger: Sides, true: object, false: object) -> Builder:
    """Whether an item counts, from whether it does on each side."""
    if true is True and false is True:
        return lambda results: True
    return merger.output(merger.as_flag(True, true), merger.as_flag(False, false))


def _pending_item(merger: Sides, target: DynamicList, true: object, false: object) -> Builder:
    """The item that one side or the other has left: leaf by leaf, as the element says."""
    element = target.element
    pairs = [
        merger.on(True, lambda: element.flatten(true)),
        merger.on(False, lambda: element.flatten(false)),
    ]
    outputs = [
        merger.output(
            merger.copied(True, left),
            merger.copied(False, right),
            leaf.kind,
        )
        for left, right, leaf in zip(*pairs, element.leaves, strict=True)
    ]
    return lambda results: element.build([output(results) for output in outputs])


def _item_of_side(merger: Sides, target: DynamicList, side: bool, item: object) -> Builder:
    """The item that only one side has left."""
    element = target.element
    outputs = []
    leaves = merger.on(side, lambda: element.flatten(item))
    for value, leaf in zip(leaves, element.leaves, strict=True):
        mine, other = merger.copied(side, value), merger.placeholder(not side, value)
        outputs.append(merger.output(*((mine, other) if side else (other, mine)), leaf.kind))
    return lambda results: element.build([output(results) for output in outputs])


def _note_views(target: DynamicList, item: object) -> None:
    """Note that what was read out of another list is in ``target``, too, as it is made anew."""
    owner = owner_of_view(item)
    if owner is not None:
        owner.shared = target.shared = True
    for part in item.leaves() if isinstance(item, Choice) else children(item):
        _note_views(target, part)


def join_different(merger: Sides, true: Frozen, false: Frozen, name: str) -> Builder | None:
    """A growing list of one side and another list of the other, as one; ``None``: impossible."""
    target = true.container if isinstance(true.container, DynamicList) else false.container
    others = [snapshot.container for snapshot in (true, false) if snapshot.container is not target]
    if not are_alike([target, *others]):
        return None
    lists = (target, *others)
    known = [each for each in lists if names_of(each, name)]
    if not all(isinstance(each, DynamicList) for each in known):
        held = next(each for each in known if not isinstance(each, DynamicList))
        _ask_for_one(merger, held, (true, false))
        raise error_here(
            ContainerInGraphError,
            f"the {type(held).__name__} {names_of(held, name)[0]!r} is one of two behind a tensor "
            "branch, whose lengths tensors decide",
            f"use a copy of it there: {names_of(held, name)[0]}.copy()",
        )
    element = joint_element((true, false))
    if element is None:
        return None
    left, right = _rows_on(merger, element, True, true), _rows_on(merger, element, False, false)
    if not len(left) == len(right) == len(element.leaves):
        return None  # a static loop keeps the items of one in arrays
    outputs = _outputs(merger, element, left, right)
    refusal = functools.partial(
        _one_of, sorted({path for each in known for path in names_of(each, name)[:1]})
    )

    def build(results: list[Any]) -> DynamicList:
        made = target.like([output(results) for output in outputs], name, element)
        for each in known:  # neither sees a later change of the other
            each.placed = made.placed = True
            each.refusal = made.refusal = refusal
        return made

    return build


def _one_of(names: list[str]) -> Exception:
    """The refusal to change one of several lists or dicts that others know."""
    which = " or ".join(map(repr, names)) or "one that has another name"
    return error_here(
        ContainerInGraphError,
        f"a list, dict or set is changed that is {which} as a tensor decides, whose lengths "
        "tensors decide",
        "change each of them in a branch of its own; or use a copy: .copy()",
    )


def _ask_for_one(merger: Sides, held: object, ends: tuple[Frozen, Frozen]) -> None:
    """Ask for ``held`` to be one of the run before the branch, if one of ``ends`` is of its making.

    So it is where a function returns it early, and adds to it behind that::

        if x.sum() == 0:
            return found
        for value in x:
            if value > 1:
                found.append(value)
        return found
    """
    sides = zip((True, False), ends, strict=True)
    became = any(
        merger.root(side, end.container) is held for side, end in sides if end.container is not held
    )
    if not became or merger.state is None or not merger.state.repeats:
        return
    element = joint_element(ends)
    if element is not None:
        open_trace().drop(merger.op)
        become_before(held, element, merger.state)


def joint_element(things: Iterable[Any]) -> Element | None:
    """What the items of several containers, frozen or not, are; ``None`` where there is no such."""
    with tentatively():
        try:
            found = [element for thing in things for element in _elements(thing)]
            return functools.reduce(union, found) if found else None
        except ContainerInGraphError:
            return None


def _elements(thing: Any) -> Iterable[Element]:
    if isinstance(thing, DynamicList):
        return [thing.element]
    if not isinstance(thing, Frozen):
        return map(element_of, entries(thing))
    of_run = isinstance(thing.container, DynamicList)
    return [snapshot_of(thing).element] if of_run else map(element_of, thing.items)


def _rows_on(
    merger: Sides, element: Element, side: bool, snapshot: Frozen
) -> Sequence[paddle.Tensor]:
    """The rows of a list of one side."""
    if isinstance(snapshot.container, DynamicList):
        return _as_rows(merger, side, element, snapshot_of(snapshot))
    items = list(snapshot.items)
    rows: list[paddle.Tensor] = merger.on(side, lambda: rows_of(element, items))
    return rows


def rows_of(element: Element, items: list[Any]) -> list[paddle.Tensor]:
    """The rows of a list with these items."""
    made = DynamicList.of_rows("", element, [zero_rows(leaf) for leaf in element.leaves])
    if items:
        made.extend(items)
    return made.need_rows()


def kept_list(merger: Sides, side: bool, snapshot: Frozen) -> Builder:
    """A list that only one side of a branch has, in a fresh one."""
    target: DynamicList = snapshot.container
    held = snapshot_of(snapshot)
    known = sorted({holder.path for holder in live_holders(target)})[:1]
    outputs = []
    for row in held.rows or ():
        mine, other = merger.copied(side, row), merger.placeholder(not side, row)
        outputs.append(merger.output(*((mine, other) if side else (other, mine))))

    def build(results: list[Any]) -> DynamicList:
        rows = [output(results) for output in outputs]
        made = target.like(rows, None, held.element)
        made.origin = target.origin
        if known:
            made.placed, made.refusal = True, functools.partial(_one_of, known)
        owner = owner_of_view(target)
        return made if owner is None else handed_out(made, HandedOut((owner, owner)))

    return build
