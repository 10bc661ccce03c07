"""Tensors without elements, on their way out of a branch or through a static loop.

Paddle 3.3 hands a value out of an ``if`` or ``while`` by sharing its memory, and leaves out a value
that has none: behind the block the variable keeps the contents, and the dimensions, of another run
or trip.  So what may be empty gets one more element along each dimension that may be 0, travels
like that, and is cut to its size again on the other side:

    before          y = x[:0]           after           y = pad(x[:0], 1)
    ...             yield y             ...             yield y
                                        outside         y = y[:-1]

Most values need none of that: their dimensions are known, or open ones that come from an input.
:func:`may_be_empty` asks Paddle's operations (``paddle_bridge.filled``).
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import carried


def may_be_empty(value: bridge.Value) -> bool:
    """Whether a run may give ``value`` no elements.

    Inputs count as filled where their dimensions are open: a call with an empty tensor has a
    program of its own, in which that dimension is 0.
    """
    capture = current()
    return not bridge.has_elements(value, {} if capture is None else capture.notes.filled)


def has_given_sizes(value: bridge.Value) -> bool:
    """Whether each open dimension of ``value`` comes from an argument and is no smaller there."""
    capture = current()
    known = {} if capture is None else capture.notes.given_sizes
    return bridge.has_elements(value, known, plain=True)


def note_filled(value: bridge.Value, *, given: bool) -> None:
    """Note that ``value``, which came out of a block or into one, has elements on every run.

    Args:
        value: on this side.
        given: its sizes are those of arguments.
    """
    capture = current()
    if capture is not None:
        capture.notes.filled[value.id] = value
        if given:
            capture.notes.given_sizes[value.id] = value


def axes_of(*values: Any) -> list[int]:
    """The dimensions that may be 0 in one of ``values``, which have one rank."""
    return [
        axis
        for axis, sizes in enumerate(zip(*(value.shape for value in values), strict=True))
        if any(size <= 0 for size in sizes)
    ]


def padded(value: bridge.Value, axes: list[int]) -> Any:
    """``value`` with one more element at the end of each of ``axes``.

    What was cut to its size and is handed on as it is has never been more than a copy.
    """
    given = list(value.shape)
    wide, axes = _uncut(value, axes)
    if wide is not None and not axes:
        return _opened(carried(wide), given)
    value = value if wide is None else wide
    dtype = value.dtype
    through = _THROUGH.get(dtype)
    wide = value if through is None else paddle.cast(value, through)
    amounts = [[0, int(axis in axes)] for axis in range(len(value.shape))]
    longer = paddle.nn.functional.pad(wide, [amount for pair in amounts for amount in pair])
    made = longer if through is None else paddle.cast(longer, dtype)
    made.stop_gradient = value.stop_gradient
    _note_copies(longer, made)
    if wide is not value:
        _note_copies(wide)
    return _opened(made, given)


def _opened(made: bridge.Value, given: list[int]) -> bridge.Value:
    """``made``, with an open dimension where what was given had one, if it was cut before."""
    shape = [-1 if size < 0 else mine for mine, size in zip(list(made.shape), given, strict=True)]
    if shape != list(made.shape):
        bridge.relax(made, shape)
    return made


def cut(value: bridge.Value, axes: list[int]) -> Any:
    """What :func:`padded` was given."""
    made = paddle.slice(value, axes, [0] * len(axes), [-1] * len(axes))
    made.stop_gradient = value.stop_gradient
    _note_copies(made)
    capture = current()
    if capture is not None:
        capture.notes.cuts[made.id] = made, value, axes
    return made


def _uncut(value: bridge.Value, axes: list[int]) -> tuple[bridge.Value | None, list[int]]:
    """What ``value`` is a cut of, and along which of ``axes`` it has no further element."""
    capture = current()
    if capture is None:
        return None, axes
    notes = capture.notes
    while value.id in notes.copies and value.id not in notes.cuts:
        producer = bridge.producer(value)
        if producer is None or producer[0] != "assign":
            return None, axes
        (value,) = producer[1]
    if value.id not in notes.cuts:
        return None, axes
    _, wide, along = notes.cuts[value.id]
    if not set(along) <= set(axes):
        return None, axes
    return wide, [axis for axis in axes if axis not in along]


def _note_copies(*values: Any) -> None:
    """Note that each of ``values`` is the tensor that its operation was given, to the user."""
    capture = current()
    if capture is not None:
        capture.notes.copies.update((value.id, value) for value in values)


def enter_blocks(program: Any) -> None:
    """Let branches and loops read what may be empty, and has a gradient, in a padded form.

    The gradient of such a value comes out of the block like any other value does.
    """
    axes: dict[int, list[int]] = {}

    def chosen(value: bridge.Value) -> bool:
        return not value.stop_gradient and may_be_empty(value)

    def before(value: bridge.Value) -> Any:
        axes[value.id] = axes_of(value)
        return padded(value, axes[value.id])

    bridge.pass_into_blocks(program, chosen, before, lambda form, value: cut(form, axes[value.id]))


_THROUGH: Final[dict[Any, str]] = {
    paddle.bool: "int32",
    paddle.int8: "int32",
    paddle.uint8: "int32",
    paddle.int16: "int32",
    paddle.float16: "float32",
    paddle.bfloat16: "float32",
}
"""Dtypes that the padding has no kernel for on every device, and one that holds their values."""
