"""Failures of Paddle while a program runs: dygraph's words for them, and which operation it was.

Tried on Paddle 3.3.1.  Of an operation inside of a branch or loop Paddle says only that the ``if``
or ``while`` has failed.  A copy of the program with a probe before each operation, run once more,
tells which one it was, what it was given and in which trip: probes are host operators, and in
trace mode operations run one by one in the order of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from d2s.paddle_bridge.capturing.capture import no_collection
from d2s.paddle_bridge.gate import keep_mode, static_lock
from d2s.paddle_bridge.preparing.items import ASSIGNMENTS, PART
from d2s.paddle_bridge.running.probes import (
    LOOP,
    PRESENT,
    SILENT,
    Listener,
    Spot,
    numbered,
    probed,
    readable,
)
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import CONSTANTS, HOST

_TAIL: Final = re.compile(r"\n *\[operator < (\S+) > error\](?: *\[operator < \S+ > error\])*\s*$")
_BLOCKS: Final = ("pd_op.if", "pd_op.while", "pd_op.pylayer")
_HEAD: Final = re.compile(r"^    (\w*)Error: ", re.MULTILINE)
_FRAME: Final = re.compile(r'^ *File ".+", line \d+, in .+$', re.MULTILINE)


class Words(NamedTuple):
    """What Paddle says of a failed run.

    Attributes:
        text: the message as dygraph has it.
        stack: the Python call stack of the operation, if it is shown.
        inside: whether it stands in a branch or loop.
    """

    text: str
    stack: list[str]
    inside: bool


def words_of(error: BaseException) -> Words | None:
    """What Paddle says in ``error``; ``None`` if no operation of a program has failed."""
    text = str(error)
    head, tail = _HEAD.search(text), _TAIL.search(text)
    if head is None or tail is None or not text.startswith("In user code:"):
        return None
    body = re.sub(r"^    ", "", _TAIL.sub("", text[head.end() :]), flags=re.MULTILINE)
    return Words(f"({head[1]}) {body}\n", _frames(text[: head.start()]), tail[1] in _BLOCKS)


def _frames(text: str) -> list[str]:
    return [frame.strip() for frame in _FRAME.findall(text)]


# -- which operation -----------------------------------------------------------------------------


class Failed(NamedTuple):
    """An operation that has failed.

    Attributes:
        operation: the operation, of the program that was asked about.
        operands: name and tensor of what it was given, where that is a tensor.
        trips: the loops around it, the outermost first, and in which trip of each it was, from 1.
        beyond: for an item that is not there: the index, the axis and its size.
    """

    operation: Any
    operands: list[tuple[str, Any]]
    trips: list[tuple[Any, int]]
    beyond: tuple[int, int, int] | None = None


_MOST_TO_FIND: Final = 5000
"""The most operations of a program that is run again to find the one that has failed."""

_MOST_TO_TELL: Final = 500
"""The same where Paddle shows its call stack, so that only what it was given is to be learned."""


def failed_operation(
    program: Any, words: Words, run: Callable[[Any, Callable[[Any], Any]], object]
) -> Failed | None:
    """Which operation of ``program`` fails, found by running a copy of it.

    Paddle needs longer to make a larger program ready than in proportion.

    Args:
        program: the program.
        words: what Paddle says.
        run: runs the copy, given it and what finds the copy of a value; expected to raise.

    Returns:
        The operation; ``None`` when the copy does not fail in one, is too large, or must not be
        run.
    """
    spots = numbered(program)
    names = {spot.operation.name() for spot in spots}
    if any(name.startswith("py_op.") and not name.startswith(HOST) for name in names):
        return None  # an operator of the user's in Python, whose effects would happen again
    if len(spots) > (_MOST_TO_TELL if words.stack else _MOST_TO_FIND):
        return None
    record = _Record(spots, _suspects(spots, words))
    with static_lock, keep_mode(), no_collection():
        copy, find = probed(program, record.suspects)
    before, PRESENT.record = PRESENT.record, record
    try:
        run(copy, find)
    except Exception as error:
        return None if words_of(error) is None else record.found()
    finally:
        PRESENT.record = before
    return None


def _suspects(spots: list[Spot], words: Words) -> set[int]:
    """The numbers of the operations that are to tell when they run."""

    def may_be_it(spot: Spot) -> bool:
        name = spot.operation.name()
        if name in SILENT or name.startswith(HOST):
            return False
        if words.inside or spot.around:
            return words.inside and bool(spot.around)
        return not words.stack or _frames("\n".join(spot.operation.callstack)) == words.stack

    return {
        number
        for number, spot in enumerate(spots)
        if may_be_it(spot) or _takes_an_item(spot.operation)
    }


def _axes_of_items(operation: Any) -> list[int]:
    """The axes of which ``x[i]`` or an assignment to it takes one item; none for other operations.

    The indices are its operand ``starts``.
    """
    if operation.name() not in {PART, *ASSIGNMENTS} or "starts" not in operation.get_input_names():
        return []
    attributes = operation.attrs()
    return list(attributes.get("decrease_axis", attributes.get("decrease_axes", ())))


def _starts(operation: Any) -> Any:
    """The operation that has made the indices of ``operation``, which takes items by them."""
    at = operation.get_input_names().index("starts")
    return operation.operand_source(at).get_defining_op()


def _takes_an_item(operation: Any) -> bool:
    """Whether ``operation`` is ``x[i]``, or assigns to it, with an index that the run decides."""
    return bool(_axes_of_items(operation)) and _starts(operation).name() not in CONSTANTS


def _constant_starts(operation: Any) -> list[int] | None:
    """The indices of ``x[3]``, which the program knows; ``None`` for other operations."""
    if not _axes_of_items(operation) or _takes_an_item(operation):
        return None
    value: list[int] | None = _starts(operation).attrs().get("value")
    return value


def _named(operation: Any, tensors: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Of what a probe has told, the tensors, each with the name that the operation has for it."""
    names = [operation.get_input_names()[index] for index in readable(operation)]
    return [pair for pair in zip(names, tensors, strict=True) if pair[1] is not None]


class _Record(Listener):
    """What the probes of one run have told."""

    def __init__(self, spots: list[Spot], suspects: set[int]) -> None:
        self.spots = spots
        self.suspects = suspects
        self.last: tuple[int, tuple[Any, ...]] | None = None
        self.trips: dict[int, int] = {}
        self.items: dict[int, tuple[int, tuple[int, int, int]]] = {}

    def about_to(self, number: int, tensors: tuple[Any, ...]) -> None:
        """An operation runs next."""
        operation = self.spots[number].operation
        if operation.name() == LOOP:
            self.trips[number] = 0
        self.last = number, tensors
        if _takes_an_item(operation):
            given = dict(_named(operation, tensors))
            tensor, starts = given.get(operation.get_input_names()[0]), given.get("starts")
            if tensor is not None and starts is not None:
                self._look_at_item(number, tensor, starts.tolist())

    def _look_at_item(self, number: int, tensor: Any, starts: list[int]) -> None:
        """Note an index that is out of range: Paddle takes nothing then, and goes on with it."""
        operation = self.spots[number].operation
        taken = _axes_of_items(operation)
        for axis, start in zip(operation.attrs()["axes"], starts, strict=False):
            size = tensor.shape[axis]
            if axis in taken and not -size <= start < size:
                self.items[operation.result(0).id] = number, (start, axis, size)

    def trip(self, number: int) -> None:
        """A trip of the loop ``number`` begins."""
        self.trips[number] = self.trips.get(number, 0) + 1

    def found(self) -> Failed | None:
        """The operation that no other one has followed, or what it was given nothing by."""
        if self.last is None:
            return None
        number, tensors = self.last
        spot = self.spots[number]
        starts = _constant_starts(spot.operation)
        if starts is not None and tensors:
            self._look_at_item(number, tensors[0], starts)
        own = self.items.get(spot.operation.result(0).id) if spot.operation.results() else None
        if own is not None:
            return Failed(spot.operation, [], self._trips(spot), own[1])
        for value in spot.operation.operands_source():
            if not is_fake(value) and value.id in self.items:
                maker, beyond = self.items[value.id]
                spot = self.spots[maker]
                return Failed(spot.operation, [], self._trips(spot), beyond)
        return Failed(spot.operation, _named(spot.operation, tensors), self._trips(spot))

    def _trips(self, spot: Spot) -> list[tuple[Any, int]]:
        return [
            (self.spots[number].operation, self.trips[number])
            for number in spot.around
            if number in self.trips
        ]


def elements(tensor: Any) -> Any:
    """The elements of a tensor that an operation was given; ``None`` where it has none."""
    return tensor.tolist() if tensor._is_initialized() and tensor.size else None


# -- programs of files ---------------------------------------------------------------------------

_SOURCE: Final = "d2s_source"
"""The attribute that holds where an operation comes from."""


def note_source(operation: Any, text: str) -> None:
    """Let ``operation`` carry ``text`` with it, into a file as well."""
    operation.set_str_attr(_SOURCE, text)


def noted_source(operation: Any) -> str | None:
    """What :func:`note_source` has noted."""
    return str(operation.str_attr(_SOURCE)) if operation.has_attr(_SOURCE) else None


_ROWS: Final = "d2s_rows"
"""The attribute of an operation that puts items of a list behind each other."""


def note_rows(value: Any) -> None:
    """Note that ``value`` is made of the items of a list, which have to be of one size."""
    value.get_defining_op().set_bool_attr(_ROWS, True)


def makes_rows(operation: Any) -> bool:
    """Whether :func:`note_rows` has noted that of what ``operation`` makes."""
    return bool(operation.has_attr(_ROWS))


class SavedProgram(NamedTuple):
    """One program of a loaded layer.

    Attributes:
        program: the program.
        inputs: its input values.
        outputs: its output values.
        parameters: its values for parameters.
        tensors: the parameters; ``None`` before the first run.
    """

    program: Any
    inputs: list[Any]
    outputs: list[Any]
    parameters: list[Any]
    tensors: list[Any] | None


def saved_programs(layer: Any) -> dict[str, SavedProgram]:
    """The programs of a layer that ``paddle.jit.load`` has made, by the names of its methods."""
    found = {}
    for name, holder in getattr(layer, "_program_holder_dict", {}).items():
        if not hasattr(holder, "persistable_vars"):
            continue  # of a Paddle before 3.0
        partial = layer._get_partial_program_layer(name)
        found[name] = SavedProgram(
            holder.infer_program,
            list(holder.input_vars),
            list(holder.output_vars),
            list(holder.persistable_vars),
            None if partial is None else list(partial._params),
        )
    return found
