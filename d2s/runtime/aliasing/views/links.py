"""What a value is a view of in dygraph, as the operation that made it says.

``row = y[0]`` is a view there; in a program it is a value with a :class:`Link` to ``y``::

    row = slice(y, 0)           take: y' -> y'[0]        put: y', row' -> y' with row' at 0
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current

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
DEPTH: Final = 20


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
        key: the index, where the view is ``base[key]``.
        where: on which runs it is a view, a bool value; ``None`` for all of them.
    """

    view: Any
    base: Any
    take: Callable[[Any], Any]
    put: Callable[[Any, Any], Any]
    straight: bool
    form: tuple[Any, ...]
    indexes: tuple[Any, ...] = ()
    steps: list[Any] = field(default_factory=list)
    key: tuple[Any, ...] | None = None
    where: Any = None

    def contents(self, base: paddle.Tensor) -> Any:
        """Those of the view, where those of what it is a view of are ``base``."""
        taken = self.take(base)
        if self.where is None:
            return taken
        shape = list(self.view.shape)
        return paddle.where(
            paddle.expand(self.where, shape) if shape else self.where, taken, self.view
        )

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

        conditions = [each for each in (self.where, below.where) if each is not None]

        return Link(
            self.view,
            below.base,
            lambda base: self.take(below.take(base)),
            put,
            self.straight and below.straight,
            (*below.form, *self.form),
            (*below.indexes, *self.indexes),
            self.steps,
            where=functools.reduce(paddle.logical_and, conditions) if conditions else None,
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


def as_number(part: Any) -> paddle.Tensor:
    """A number in an index as a 0-D value, which is nobody's tensor."""
    if not bridge.is_value(part):
        return paddle.full([], part, "int64")
    return paddle.assign(part) if part.dtype == paddle.int64 else paddle.cast(part, "int64")


def is_sometimes_a_view(value: paddle.Tensor) -> bool:
    """Whether the run decides if ``value`` is a view."""
    link = link_of(value)
    return link is not None and link.where is not None


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
    return slice_link(view, base, tuple(key))


def slice_link(
    view: paddle.Tensor, base: paddle.Tensor, key: tuple[Any, ...], where: Any = None
) -> Link:
    """The link of ``view``, which is ``base[key]``.

    Args:
        view, base: the two.
        key: a number, a 0-D value or a slice for each dimension.
        where: on which runs that holds, a 0-D bool value; ``None`` for all of them.
    """
    rest = [part for part in key if isinstance(part, slice)]
    behind = len(key) - len(rest)  # x[i, j, a:b] is one stretch, x[:, i] is none
    straight = not any(isinstance(part, slice) for part in key[:behind]) and all(
        part == slice(None) or (index == 0 and part.step is None) for index, part in enumerate(rest)
    )
    condition = () if where is None else (where,)
    return Link(
        view,
        base,
        lambda base: base[key],
        lambda base, item: bridge.with_item(base, key, item),
        straight and where is None,
        ("slice", *map(_form, (*condition, *key))),
        (*condition, *filter(bridge.is_value, key)),
        key=key,
        where=where,
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


def _is_straight(value: paddle.Tensor, depth: int = DEPTH) -> bool:
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
    for _ in range(DEPTH):
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
