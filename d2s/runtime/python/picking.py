"""One of several items, which a number or key of the run decides.

Where the items are alike they are stacked and indexed; else the result is a ``Choice`` of them.
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.chosen import note_pick
from d2s.runtime.python.comparing import eq
from d2s.runtime.trace import current, error_here, tentatively
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    condition,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
    passing,
)
from d2s.runtime.values.tree import is_tuple, like

FEW: Final = 4
"""So many items of a dict are told apart by a branch each."""

Case = tuple[paddle.Tensor, Any]
"""A bool value, and what is meant where it holds."""


def position_in(key: object, length: int, word: str = "list") -> paddle.Tensor:
    """An index of the run as a 0-D int64 value from 0 on; outside the run raises.

    Args:
        key: the index, a number or a tensor.
        length: how many items there are.
        word: what is indexed, in Python's words.
    """
    if number_kind(key) is float:
        words = {
            "deque": "sequence index must be integer, not 'float'",
            "string": "string indices must be integers, not 'float'",
        }
        plain = f"{word.split()[0]} indices must be integers or slices, not float"
        raise TypeError(words.get(word, plain))
    value = cast_plain(as_value(key), "int64")  # of a floating tensor, as ``__index__`` does
    if list(value.shape):
        value = paddle.reshape(value, [])
    raise_when((value < -length) | (value >= length), IndexError(f"{word} index out of range"))
    return paddle.where(value < 0, value + length, value)


def picked(items: list[Any], position: paddle.Tensor) -> Any:
    """The item at ``position``; tuples of one form part by part."""
    if items and all(item is items[0] for item in items):
        return items[0]
    columns = columns_of(items)
    if columns is not None:
        return like(items[0], [picked(column, position) for column in columns])
    if _are_stackable(items):
        return _out_of_stack(items, position)
    _wants_python()
    return chosen_of([(position == index, item) for index, item in enumerate(items)])


def columns_of(items: list[Any]) -> list[list[Any]] | None:
    """The parts of tuples of one type and length, side by side."""
    kinds = {type(item) for item in items}
    if len(kinds) != 1 or not is_tuple(items[0]):
        return None
    if len({len(item) for item in items}) != 1:
        return None
    return [list(column) for column in zip(*items, strict=True)]


def _are_stackable(items: list[Any]) -> bool:
    """Whether ``items`` are numbers of one type, or tensors of one dtype and shape."""
    kinds = {number_kind(item) for item in items}
    if len(kinds) != 1 or not all(is_tensor(item) or kinds != {None} for item in items):
        return False
    forms = {(str(value.dtype), *value.shape) for value in map(as_value, items)}
    return len(forms) == 1 and all(size >= 0 for size in next(iter(forms))[1:])


@passing
def _out_of_stack(items: list[Any], position: paddle.Tensor) -> paddle.Tensor:
    item = paddle.stack([as_value(item) for item in items])[position]
    kind = number_kind(items[0])
    if kind is None:
        note_pick(item, items, position)
        return item
    return mark_number(item, kind)


def case_of(known: list[Case]) -> Any:
    """The item under the flag that holds, where one does."""
    items = [item for _, item in known]
    if len(items) <= FEW or not _are_stackable(items):
        return chosen_of(known)
    position = paddle.full([], 0, "int64")
    for at, (holds, _) in enumerate(known):
        position = paddle.where(holds, paddle.full([], at, "int64"), position)
    return _out_of_stack(items, position)


def chosen_of(cases: list[Case]) -> Any:
    """The item of the first case that holds, the last one's if none does."""
    if not cases:
        raise IndexError("list index out of range")
    kinds = {number_kind(item) for _, item in cases}
    result = cases[-1][1]
    if len(kinds) == 1 and None not in kinds:
        (kind,) = kinds
        assert kind is not None
        result = as_value(result)
        for holds, item in reversed(cases[:-1]):
            result = paddle.where(holds, as_value(item), result)
        return mark_number(result, kind)
    for holds, item in reversed(cases[:-1]):
        if item is not result:
            result = Choice(holds, item, result, "item")
    return result


def _wants_python() -> None:
    """Among things of several kinds, the one of a trip is known where the trip is captured."""
    capture = current()
    if capture is not None:
        capture.needs_python()


# -- dicts -----------------------------------------------------------------------------------------


def likely(table: dict[Any, Any], key: object) -> list[tuple[Any, paddle.Tensor]]:
    """The keys of a dict that ``key`` may be, and whether it is, as bool values."""
    if number_kind(key) is None:
        found = [(known, condition(eq(key, known))) for known in table if type(known) is tuple]
        return [
            (known, paddle.full([], True, "bool") if holds is True else holds)
            for known, holds in found
            if holds is not False
        ]
    return [(number, key == number) for number in table if type(number) in NUMBER_DTYPES]


def cases_of(table: dict[Any, Any], key: object) -> tuple[list[Case], paddle.Tensor]:
    """The items of a dict with the flags under which they are meant, and the flag for none."""
    if not all(is_numeric(item) for item in table.values()):
        _wants_python()
    known = [(holds, table[number]) for number, holds in likely(table, key)]
    return known, none_of([holds for holds, _ in known])


def none_of(flags: list[paddle.Tensor]) -> paddle.Tensor:
    """Whether none of ``flags`` holds."""
    missing = paddle.full([], True, "bool")
    for holds in flags:
        missing = missing & ~holds
    return missing


def note_found(table: dict[Any, Any], key: object) -> None:
    """Note that the run goes on only where ``key`` is in a dict."""
    capture = current()
    if capture is not None and all(each.handler_of(KeyError) is None for each in capture.attempts):
        capture.found[id(table), id(key)] = (table, key, tuple(capture.blocks))


def was_found(table: dict[Any, Any], key: object) -> bool:
    """Whether ``key`` is in a dict of Python on every run that comes here."""
    capture = current()
    if capture is None or (id(table), id(key)) not in capture.found:
        return False
    _, _, blocks = capture.found[id(table), id(key)]
    return blocks == tuple(capture.blocks[: len(blocks)])


def refuse_others(flags: list[paddle.Tensor]) -> None:
    """Let the run refuse a number that is none of the keys of a dict, which it would get."""
    missing = none_of(flags)
    with tentatively():
        refusal = no_such_key()
    raise_when(missing, refusal)


def no_such_key() -> Exception:
    """The error of an assignment that would add a key which only the run knows."""
    return error_here(
        ContainerInGraphError,
        "an item of a dict is assigned under a number that only the run knows, and that is none of "
        "its keys",
        "make the keys before, or use a list or a tensor",
    )
