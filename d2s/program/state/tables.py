"""Code that asks in which of its tables a layer keeps an attribute that a call moves.

Paddle keeps a number in ``layer.__dict__`` and a tensor in ``layer._buffers``.  While a program is
captured, what takes the place of a number stays in the first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import paddle

from d2s.errors import UnsupportedInGraphError
from d2s.program.state.tracker import Watch
from d2s.runtime.values.cases import Cases
from d2s.runtime.values.tensors import is_tensor, number_kind

_TABLES: Final = frozenset(("_buffers", "buffers", "named_buffers"))


def check_tables(watched: Iterable[Watch], function: Callable[..., object]) -> None:
    """Refuse a function that looks into the tables of a layer, and moves an attribute.

    Raises:
        UnsupportedInGraphError: (D2S205) ``"count" in self.__dict__`` where a call makes a tensor
            of the number ``self.count``.
    """
    for watch in watched:
        said = not watch.said.isdisjoint(_TABLES)
        for record in watch.scopes():
            layer = record.object
            if record.fields and isinstance(layer, paddle.nn.Layer) and record.scope is vars(layer):
                every = said or watch.probes.is_opened(layer)
                for name, value in record.scope.items():
                    if (
                        (every or name in watch.tabled)
                        and _may_be_tensor(value)
                        and not is_tensor(record.before.get(name))
                    ):
                        raise _refusal(record.entry(name).path, function)


def _may_be_tensor(value: Any) -> bool:
    """Whether ``value`` is a tensor in dygraph, too: a number that the run decides is none."""
    leaves = value.leaves() if isinstance(value, Cases) else [value]
    return any(is_tensor(leaf) and number_kind(leaf) is None for leaf in leaves)


def _refusal(path: str, function: Callable[..., object]) -> UnsupportedInGraphError:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return UnsupportedInGraphError(
        f"the function looks into __dict__ or _buffers of a layer, and {path!r}, where it puts a "
        "tensor, moves from one to the other",
        cure="make the attribute a buffer in __init__, or ask with hasattr or isinstance",
        file=None if code is None else code.co_filename,
        line=None if code is None else code.co_firstlineno,
    )
