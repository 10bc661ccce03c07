"""What gradients read of tensors that were written since: the new contents, as in dygraph.

Dygraph keeps what a gradient reads by reference, and ``set_value`` and the steps of optimizers
write it unseen::

    y = w * w                            y = multiply(w, w)
    w.set_value(...)           ->        w1 = ...
    y.backward()                         g = multiply_grad(w1, w1, ones)

A backward behind the program reads in memory what it has read of the tensors that it is given, and
the views of these anew::

    return (h @ self.queue.T).sum()      y = matmul(h, transpose(queue))
    # which has been written             ...
                                         g = matmul_grad(h, transpose(queue), ones)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from d2s.paddle_bridge.capturing.leaves import is_copy
from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.walks import operations, parts_of

_NOW: Final[dict[int, Any]] = {}
_VIEWS: Final[set[int]] = set()

_MEMORY: Final = "d2s_memory"
"""An attribute of operations that give contents of a tensor: its name."""

_VIEW: Final = "d2s_view_in_memory"
"""An attribute of operations that give views of these."""


def let_be_in_memory(value: Any, tensor: Any, views: Iterable[Any]) -> None:
    """Note that gradients of the program read a value as the program leaves it in memory.

    Args:
        value: contents of a tensor.
        tensor: the value of that tensor, which the program is given.
        views: the views of ``value``.
    """
    for each in (tensor, value):
        each.get_defining_op().set_str_attr(_MEMORY, tensor.name)
    for view in views:
        view.get_defining_op().set_bool_attr(_VIEW, True)


def is_read_in_memory(tensor: Any) -> bool:
    """Whether gradients of the program read a tensor that it is given as it leaves that."""
    return bool(tensor.get_defining_op().has_attr(_MEMORY))


def reading_memory(program: Any) -> contextlib.AbstractContextManager[None]:
    """Let the gradients of ``program`` that are built meanwhile read what it leaves in memory."""
    contents: list[tuple[Any, str]] = []
    views: set[int] = set()
    for operation in operations(program):
        if operation.has_attr(_MEMORY):
            contents.append((operation.result(0), operation.attrs()[_MEMORY]))
        elif operation.has_attr(_VIEW):
            views.update(result.id for result in operation.results())
    given = [pair for pair in contents if not pair[0].get_defining_op().num_operands()]
    tensors = {name: tensor for tensor, name in given}
    return reading({value.id: tensors[name] for value, name in contents}, views)


@contextlib.contextmanager
def reading(now: Mapping[int, Any], views: set[int]) -> Iterator[None]:
    """Let the gradients that are built meanwhile read what values have become.

    Args:
        now: the present contents of values, by the ids of these.
        views: ids of the views of such values, as operations make them.
    """
    _NOW.update(now)
    _VIEWS.update(views)
    try:
        yield
    finally:
        _NOW.clear()
        _VIEWS.clear()


def as_written(operation: Any, inputs: Any, outputs: Any) -> tuple[Any, Any]:
    """``inputs`` and ``outputs`` of ``operation`` as its gradient finds them in dygraph."""
    if not _NOW or operation.num_regions() or operation.name().startswith("cf."):
        return inputs, outputs
    return _renewed(operation.operands_source(), inputs), _renewed(operation.results(), outputs)


def _renewed(values: list[Any], given: Any) -> Any:
    """What stands for ``values``, some of them lists, with the new contents of those that have."""
    if len(values) != len(given):
        return given
    found = []
    for value, stand_ins in zip(values, given, strict=True):
        parts = [value] if pir.is_fake_value(value) or not value.is_combine() else parts_of(value)
        if len(parts) != len(stand_ins):
            parts = stand_ins
        pairs = zip(parts, stand_ins, strict=True)
        found.append([stand_in if (now := _now(part)) is None else now for part, stand_in in pairs])
    return found


def _now(value: Any) -> Any:
    """The present contents of ``value``; ``None`` where it was not written."""
    if pir.is_fake_value(value):
        return None
    maker = value.get_defining_op()
    if is_copy(maker):
        return _now(maker.operand_source(0))
    known = _NOW.get(value.id)
    if known is not None or value.id not in _VIEWS:
        return known
    base = _now(maker.operand_source(0))
    if base is None:
        return None
    mapping = pir.IrMapping()
    for operand in maker.operands_source():
        if not pir.is_fake_value(operand):
            mapping.add(operand, operand)
    mapping.add(maker.operand_source(0), base)
    made = maker.clone(mapping, pir.CloneOptions(False, True, True))
    place = [each.id for each in maker.results()].index(value.id)
    view = made.result(place)
    view.stop_gradient = value.stop_gradient
    return view
