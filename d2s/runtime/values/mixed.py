"""Tensors that are a Python number on some paths: ``best = 0``, and then ``best = score`` (B3, C4).

Such a value is computed with as the tensor that it is, or that the number becomes beside one.  A
note tells under which flag it is the number, and which one, for whoever can see the difference:
``isinstance``, a list that it is put into, the caller.

Inside of a static loop whose first trip alone has the number nobody may want to know.  Then the
note says whom to ask, and the loop is captured once more, with the flag as a loop variable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import OnceMoreError, current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import NUMBER_DTYPES, as_value, mark_number, number_kind


class AskedError(OnceMoreError):
    """Somebody asks on which paths a variable of a loop is a number.

    Attributes:
        loop: the plans of the loop.
        request: what they are to answer.
    """

    def __init__(self, loop: object, request: OnceMoreError) -> None:
        super().__init__()
        self.loop = loop
        self.request = request


class Mixed(NamedTuple):
    """When a value is a Python number.

    Attributes:
        flag: under this bool, or bool value; ``None`` if only ``asked`` helps.
        number: the number, a constant or a value; then any number of its type.
        asked: makes what is to be raised for the loop to tell.
    """

    flag: Any
    number: Any
    asked: Callable[[], AskedError] | None = None

    @property
    def kind(self) -> type:
        """The type of the number."""
        kind = number_kind(self.number)
        assert kind is not None
        return kind


def note_mixed(value: paddle.Tensor, mixed: Mixed) -> paddle.Tensor:
    """Note when ``value`` is a number."""
    capture = current()
    if capture is not None:
        capture.notes.sometimes[value.id] = (value, mixed)
    return value


def may_be_number(value: object) -> Mixed | None:
    """What is noted of ``value``, which may not be known yet."""
    capture = current()
    if capture is None or not capture.notes.sometimes or not bridge.is_value(value):
        return None
    found = capture.notes.sometimes.get(value.id)
    return None if found is None else found[1]


def mixed_of(value: object) -> Mixed | None:
    """When ``value`` is a Python number; ``None`` if it is a tensor on all paths.

    Raises:
        AskedError: a loop has to be captured again, to tell.
    """
    found = may_be_number(value)
    if found is not None and found.asked is not None:
        raise found.asked()
    return found


def as_mixed(thing: object) -> Mixed | None:
    """The same, also of a number; ``None`` for a tensor."""
    return may_be_number(thing) if number_kind(thing) is None else Mixed(True, thing)


def told_apart(value: Any) -> Any:
    """A tensor that is a Python number on some paths, with its two forms beside each other."""
    found = mixed_of(value)
    return value if found is None else Choice(found.flag, found.number, paddle.assign(value))


def number_as_value(number: Any) -> paddle.Tensor:
    """A number as a value of its exact dtype, marked as one."""
    kind = number_kind(number)
    assert kind is not None
    made = as_value(number)
    if made.dtype is not NUMBER_DTYPES[kind]:
        made = paddle.cast(made, NUMBER_DTYPES[kind])
    return mark_number(made, kind)
