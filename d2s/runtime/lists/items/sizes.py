"""Whether the sizes of a tensor differ from trip to trip, or from item to item.

A dimension that only the run knows may have one size in all trips of a loop, as a batch has, or
another one in each::

    ids = paddle.concat([ids, word], -1)    longer in each trip
    rows[i]                                 as long as this item

Items of one size are stored as they are, others filled up to the largest.  What is found here only
says which of the two is tried; a run in which the sizes of items do differ says so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current

FAR: Final = 64
"""So many operations back is looked."""


def is_cut(value: paddle.Tensor) -> bool:
    """Whether an item of a list, whose items have several sizes, has gone into ``value``."""
    capture = current()
    if capture is None or not capture.notes.cut or not _is_open(value):
        return False
    return any(each.id in capture.notes.cut for each, _ in _before(value))


def lengthens(start: Any, end: Any) -> bool:
    """Whether a trip makes a longer tensor of what it begins with."""
    if not (bridge.is_value(start) and bridge.is_value(end) and _is_open(start)):
        return False
    return any(longer and each.id == start.id for each, longer in _before(end))


def _is_open(value: paddle.Tensor) -> bool:
    return any(size < 0 for size in value.shape)


def _before(value: paddle.Tensor) -> list[tuple[Any, bool]]:
    """``value`` and what it was made of, and whether a ``concat`` stands between."""
    found, seen = [(value, False)], {value.id}
    for each, longer in found:
        operation = each.get_defining_op()
        if operation is None or len(found) > FAR:
            continue
        longer = longer or operation.name() == "pd_op.concat"
        ends = [operation]
        if operation.name() == "pd_op.if":
            ends += [block.ops[-1] for block in bridge.blocks_of(operation) if block.ops]
        for source in itertools.chain.from_iterable(map(_sources, ends)):
            if source.id not in seen and _is_open(source):
                seen.add(source.id)
                found.append((source, longer))
    return found


def _sources(operation: Any) -> Iterator[Any]:
    """The tensors that an operation is given."""
    for source in operation.operands_source():
        if source.is_combine():
            yield from _sources(source.get_defining_op())
        elif source.is_dense_tensor_type():
            yield source
