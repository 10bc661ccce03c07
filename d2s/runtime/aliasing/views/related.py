"""Which tensors may share their storage in dygraph, on some run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s.runtime.aliasing.chosen import begun_with, sources_of
from d2s.runtime.aliasing.views.links import MAKERS, PARTS, UNKNOWN, link_of
from d2s.runtime.trace import ValueNotes, open_trace

_VIEWS: Final = (PARTS | UNKNOWN | MAKERS.keys()) - {"pd_op.if", "pd_op.while"}

_STORES: Final = ("set_value", "index_put")


def bases_of(value: paddle.Tensor, notes: ValueNotes) -> Iterator[Any]:
    """What ``value`` is, or may be, a view of."""
    yield from notes.sharing.get(value.id, (value, ()))[1]
    link, operation = link_of(value), value.get_defining_op()
    if link is not None:
        yield link.base
    elif operation is not None and operation.name() in _VIEWS and operation.num_operands():
        yield operation.operand_source(0)


def are_apart(one: paddle.Tensor, other: paddle.Tensor) -> bool:
    """Whether two values share no storage on any run, as far as loops are captured by now."""
    found = _related(one), _related(other)
    return not any(map(_is_of_a_list, (*found[0].values(), *found[1].values()))) and (
        found[0].keys().isdisjoint(found[1])
    )


def may_be_a_view(value: paddle.Tensor) -> bool:
    """Whether ``value`` may be a part of another tensor, or of a list of the run."""
    notes = open_trace().notes
    found = _related(value).values()
    return any(
        _is_of_a_list(each) or next(bases_of(each, notes), None) is not None for each in found
    )


def _is_of_a_list(value: paddle.Tensor) -> bool:
    """Whether ``value`` is an item of a list of the run, which may be any tensor that it holds."""
    operation = value.get_defining_op()
    return value.id in open_trace().notes.sharing or (
        operation is not None and "array" in operation.name()
    )


def _related(value: paddle.Tensor) -> dict[int, Any]:
    """What ``value`` is, was, may be, or is a part of, by their ids."""
    capture = open_trace()
    notes = capture.notes
    before: dict[int, list[Any]] = {}
    for was, now in begun_with(capture):
        before.setdefault(now.id, []).append(was)
    found: dict[int, Any] = {}
    queue = [value]
    while queue:
        each = queue.pop()
        if each.id in found:
            continue
        found[each.id] = each
        queue += [*sources_of(each, notes), *bases_of(each, notes), *before.get(each.id, ())]
        queue += [old for _, old in filter(None, [notes.renewed.get(each.id)])]
        operation = each.get_defining_op()
        stored = operation is not None and any(name in operation.name() for name in _STORES)
        if stored or each.id in notes.detached:
            queue.append(operation.operand_source(0))
    return found
