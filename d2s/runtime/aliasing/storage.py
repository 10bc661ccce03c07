"""Which tensors of a program share their storage in dygraph, and what a write does to the others.

``row = y[0]`` is a view there: a write to either is seen in both.  A program has values only, so
a write to one of them makes new values of all that somebody still reads.  What a value is a view
of is read from the operation that made it.

A write through a view leaves the gradient of the other tensors as it was recorded before: they
have new contents, and their gradient goes where it went (dygraph records nothing for them).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import as_value, is_tensor

UNKNOWN: Final = frozenset(
    f"pd_op.{name}"
    for name in ["split", "split_with_num", "unbind", "as_strided", "view_shape", "view_dtype"]
) | {"builtin.split", "builtin.parameter", "pd_op.data", "pd_op.if", "pd_op.while"}
"""What makes a value of which the order in storage is not known."""

PARTS: Final = frozenset(
    f"pd_op.{name}" for name in ("slice", "strided_slice", "unbind", "diagonal")
)
"""What gives parts of a tensor that are views of it, though not always known ones."""

_FAR: Final = 2**31 - 1
_DEPTH: Final = 20


@dataclass(frozen=True)
class Link:
    """A value that is a view of another one.

    Attributes:
        view: the view.
        base: what it is a view of.
        take: the view of other contents of the base.
        put: from the base and other contents of the view to those of the base.
        straight: the view's elements lie beside each other where the base's do.
        form: equal for links that are alike; values of the program in it are there by their ids.
        indexes: these values.
        steps: what ``put`` has made on the way.
    """

    view: Any
    base: Any
    take: Callable[[Any], Any]
    put: Callable[[Any, Any], Any]
    straight: bool
    form: tuple[Any, ...]
    indexes: tuple[Any, ...] = ()
    steps: list[Any] = field(default_factory=list)

    def between(self, view: paddle.Tensor, base: paddle.Tensor) -> Link:
        """The same for other contents of the two."""
        return dataclasses.replace(self, view=view, base=base)

    def through(self, below: Link) -> Link:
        """The view of what the base, by ``below``, is a view of."""

        def put(base: paddle.Tensor, item: paddle.Tensor) -> Any:
            middle = below.take(base)
            changed = self.put(middle, item)
            self.steps.extend((middle, changed))
            return below.put(base, changed)

        return Link(
            self.view,
            below.base,
            lambda base: self.take(below.take(base)),
            put,
            self.straight and below.straight,
            (*below.form, *self.form),
            (*below.indexes, *self.indexes),
            self.steps,
        )


def link_of(value: paddle.Tensor) -> Link | None:
    """What ``value`` is a view of, where that is known."""
    capture = current()
    if capture is None or not bridge.is_value(value):
        return None
    if value.id in capture.notes.links:
        found: Link | None = capture.notes.links[value.id]
        return found
    operation = value.get_defining_op()
    if operation is None or value.id in capture.notes.copies:
        return None
    name = operation.name()
    if name == "pd_op.assign" and value.id in capture.notes.detached:
        base = operation.operand_source(0)
        return Link(value, base, bridge_copy, lambda base, item: item, True, ("detach",))
    maker = MAKERS.get(name)
    if maker is None or value.id != operation.result(0).id:
        return None
    return maker(value, operation.operand_source(0), operation)


def bridge_copy(value: paddle.Tensor) -> Any:
    """A copy without gradient."""
    copy = paddle.assign(value)
    copy.stop_gradient = True
    return copy


def _sliced(view: Any, base: Any, operation: Any) -> Link | None:
    attributes = operation.attrs()
    axes, dropped = attributes["axes"], attributes.get("decrease_axis", [])
    lists = [_numbers(value) for value in operation.operands_source()[1:]]
    if any(found is None or len(found) != len(axes) for found in lists):
        return None
    columns = [found for found in lists if found is not None]
    strides = columns[2] if len(columns) > 2 else [1] * len(axes)
    key: list[Any] = [slice(None)] * len(base.shape)
    for axis, start, end, stride in zip(axes, columns[0], columns[1], strides, strict=True):
        if axis in dropped:
            key[axis] = start
        elif bridge.is_value(start) or bridge.is_value(end) or bridge.is_value(stride):
            return None
        else:
            key[axis] = slice(_near(start), _near(end), None if stride == 1 else stride)
    chosen = tuple(key)
    rest = [part for part in chosen if isinstance(part, slice)]
    behind = len(chosen) - len(rest)  # x[i, j, a:b] is one stretch, x[:, i] is none
    straight = not any(isinstance(part, slice) for part in chosen[:behind]) and all(
        part == slice(None) or (index == 0 and part.step is None) for index, part in enumerate(rest)
    )
    return Link(
        view,
        base,
        lambda base: base[chosen],
        lambda base, item: bridge.with_item(base, chosen, item),
        straight,
        ("slice", *map(_form, chosen)),
        tuple(filter(bridge.is_value, chosen)),
    )


def _form(part: object) -> Any:
    if isinstance(part, slice):
        return part.start, part.stop, part.step
    return part.id if bridge.is_value(part) else part


def _near(bound: int) -> int | None:
    return None if abs(bound) >= _FAR else bound


def _numbers(value: paddle.Tensor) -> list[Any] | None:
    """The numbers in an index operand, constants or 0-D values."""
    operation = value.get_defining_op()
    if operation is None:
        return None
    if operation.name() == "pd_op.full_int_array":
        return list(operation.attrs()["value"])
    if operation.name() != "pd_op.stack":
        return None
    combine = operation.operand_source(0).get_defining_op()
    if combine is None or any(list(part.shape) for part in combine.operands_source()):
        return None
    return list(combine.operands_source())


def _shaped(view: paddle.Tensor, base: paddle.Tensor, operation: Any) -> Link | None:
    before, after = list(base.shape), list(view.shape)
    if any(size < 0 for size in (*before, *after)):
        return None
    reorders = operation.name() in ("pd_op.reshape", "pd_op.flatten")
    if reorders and not _is_straight(base):
        return None  # it may be a copy in dygraph
    return Link(
        view,
        base,
        lambda base: paddle.reshape(base, after),
        lambda base, item: paddle.reshape(item, before),
        True,
        ("shape", *after),
    )


def _transposed(view: paddle.Tensor, base: paddle.Tensor, operation: Any) -> Link | None:
    order = list(operation.attrs()["perm"])
    back = [order.index(axis) for axis in range(len(order))]
    return Link(
        view,
        base,
        lambda base: paddle.transpose(base, order),
        lambda base, item: paddle.transpose(item, back),
        order == sorted(order),
        ("transpose", *order),
    )


MAKERS: Final[dict[str, Callable[[Any, Any, Any], Link | None]]] = {
    "pd_op.slice": _sliced,
    "pd_op.strided_slice": _sliced,
    "pd_op.reshape": _shaped,
    "pd_op.flatten": _shaped,
    "pd_op.squeeze": _shaped,
    "pd_op.unsqueeze": _shaped,
    "pd_op.transpose": _transposed,
}


def unknown_base(value: paddle.Tensor) -> Any | None:
    """What ``value`` is a part of, where it is not known which; ``None`` for anything else."""
    capture, operation = current(), value.get_defining_op()
    if operation is not None and operation.name() == "builtin.split":
        operation = operation.operand_source(0).get_defining_op()
    if operation is None or capture is None or link_of(value) is not None:
        return None
    if value.id in capture.notes.links or value.id in capture.notes.copies:
        return None
    if operation.name() not in PARTS:
        return None
    base = operation.operand_source(0)
    above = unknown_base(base)
    while above is None and (link := link_of(base)) is not None:
        base = link.base
        above = unknown_base(base)
    return base if above is None else above


def _is_straight(value: paddle.Tensor, depth: int = _DEPTH) -> bool:
    """Whether the elements of ``value`` lie beside each other in dygraph."""
    capture = current()
    operation = value.get_defining_op()
    if capture is None or operation is None or depth == 0:
        return False
    link = link_of(value)
    if link is not None:
        return link.straight and _is_straight(link.base, depth - 1)
    name = operation.name()
    if name == "pd_op.data" and value.id in capture.notes.roots:
        return capture.lies_straight(capture.notes.roots[value.id][1])
    if name == "builtin.parameter":
        tensor = bridge.tensor_of(value)
        return tensor is not None and bool(tensor.is_contiguous())
    if value.id not in capture.notes.links and (name in MAKERS or name in UNKNOWN):
        return False
    if "set_value" in name or "index_put" in name:
        return _is_straight(operation.operand_source(0), depth - 1)
    return value.id not in capture.notes.copies


def views_of(value: paddle.Tensor) -> Iterator[Link]:
    """The values that are views of ``value`` itself."""
    capture = current()
    if capture is None:
        return
    for link in list(capture.notes.links.values()):
        if link is not None and link.base.id == value.id:
            yield link
    for operation in value.all_used_ops():
        for result in operation.results():
            if result.id not in capture.notes.links:
                link = link_of(result)
                if link is not None and link.base.id == value.id:
                    yield link


def chain_of(value: paddle.Tensor) -> Iterator[Link]:
    """What ``value`` is a view of, what that is a view of, and so on, where it is known."""
    link = link_of(value)
    for _ in range(_DEPTH):
        if link is None:
            return
        yield link
        below = link_of(link.base)
        link = None if below is None else link.through(below)


def note_link(link: Link, view: paddle.Tensor, base: paddle.Tensor) -> None:
    """Note that ``view`` is the part of ``base`` that ``link`` says."""
    capture = current()
    if capture is not None and view.id != base.id:
        capture.notes.links[view.id] = link.between(view, base)


def relink(
    merged: list[tuple[Any, Any, Any]], left: tuple[bool, bool], makes: Callable[[Any], bool]
) -> None:
    """Note what is still a view behind an ``if``: of what its sides have left, and of what became.

    A ``raise`` has ended the sides that are ``left``; ``makes`` says what cannot be seen outside.
    """
    leaves = [leaf for case in merged for leaf in _leaves(*case)]
    taken = [[leaf[side] for side in (0, 1) if not left[side]] + [leaf[2]] for leaf in leaves]
    values = [[as_value(each) for each in leaf] for leaf in taken if all(map(is_tensor, leaf))]
    bases = {tuple(each.id for each in sides): base for *sides, base in values}
    for *sides, view in values:
        if view.id in [each.id for each in sides]:
            continue
        found: tuple[Link, Any] | None = None
        for links in itertools.product(*map(chain_of, sides)):
            if len({link.form for link in links}) > 1 or any(map(makes, links[0].indexes)):
                continue
            whole = bases.get(tuple(link.base.id for link in links))
            if whole is not None:
                found = links[0], whole
                break
            if len({link.base.id for link in links}) == 1 and not makes(links[0].base):
                found = links[0], links[0].base  # which no side has changed
        if found is not None:
            note_link(found[0], view, found[1])


def _leaves(true: object, false: object, made: object) -> Iterator[tuple[Any, Any, Any]]:
    """What stands in the same place of three things, two of them snapshots."""
    if isinstance(true, Frozen) and isinstance(false, Frozen) and type(made) is list:
        for case in zip(true.items, false.items, made, strict=False):
            yield from _leaves(*case)
    else:
        yield true, false, made


class Sharing:
    """All values of one storage, as a write to one of them finds them.

    Attributes:
        above: from the written value to the whole: what each is a view of.
    """

    def __init__(self, old: paddle.Tensor) -> None:
        self.old = old
        self.above: list[Link] = []
        at = old
        while (link := link_of(at)) is not None and len(self.above) < _DEPTH:
            self.above.append(link)
            at = link.base
        self.whole = at
        self.below: dict[int, list[Link]] = {}
        queue = [self.whole]
        while queue:
            at = queue.pop()
            if at.id not in self.below:
                self.below[at.id] = list(views_of(at))
                queue.extend(link.view for link in self.below[at.id])

    def others(self) -> list[Any]:
        """The values besides the one that is written."""
        found = {self.whole.id: self.whole}
        for links in self.below.values():
            found.update((link.view.id, link.view) for link in links)
        found.pop(self.old.id, None)
        return list(found.values())

    def settle(self, fresh: paddle.Tensor, wanted: set[int]) -> list[tuple[Any, Any]]:
        """Make new values of the others, after ``fresh`` was written.

        Args:
            fresh: what the written value has become.
            wanted: ids of the others that are still known to somebody.

        Returns:
            Old and new values, the written one's not among them.
        """
        capture = current()
        assert capture is not None
        made: dict[int, Any] = {self.old.id: fresh}
        group = {fresh.id}
        pairs: list[tuple[Any, Any]] = []
        at = fresh
        fixed: list[tuple[Any, Link | None]] = []
        for link in self.above:
            raw = link.put(link.base, at)
            base = with_contents(link.base, raw)
            group |= {raw.id, base.id, *(step.id for step in link.steps)}
            capture.notes.links[raw.id] = None
            fixed.append((at, link.between(at, base)))
            made[link.base.id] = base
            pairs.append((link.base, base))
            at = base
        fixed.append((at, None))
        queue = [self.whole]
        while queue:
            parent = queue.pop()
            for link in self.below[parent.id]:
                if link.view.id not in made and self._leads_to(link.view, wanted):
                    raw = link.take(made[parent.id])
                    view = with_contents(link.view, raw)
                    group |= {raw.id, view.id}
                    made[link.view.id] = view
                    pairs.append((link.view, view))
                    base = made[parent.id]
                    fixed.append((view, link.between(view, base)))
                if link.view.id in made:
                    queue.append(link.view)
        for value, link_ in fixed:
            capture.notes.links[value.id] = link_
        settled = frozenset(group)
        capture.notes.settled.update(dict.fromkeys(group, settled))
        for old, new in pairs:
            note_renewed(old, new)
        return pairs

    def _leads_to(self, view: paddle.Tensor, wanted: set[int]) -> bool:
        return view.id in wanted or any(
            self._leads_to(link.view, wanted) for link in self.below.get(view.id, ())
        )


def note_renewed(old: paddle.Tensor, new: paddle.Tensor) -> None:
    """Note that a write has put ``new`` in the place of ``old``."""
    capture = current()
    if capture is not None and new.id != old.id:
        capture.notes.renewed[new.id] = (new, old)


def with_contents(old: paddle.Tensor, new: paddle.Tensor) -> Any:
    """``new``, with the gradient of ``old``."""
    if old.stop_gradient:
        return bridge_copy(new)
    contents = bridge_copy(new)
    keep = bridge.static_py_layer(
        lambda context, before, after: paddle.assign(after),
        lambda context, gradient: (gradient, paddle.zeros_like(gradient)),
    )
    kept = keep([old, contents])
    kept.stop_gradient = False
    return kept
