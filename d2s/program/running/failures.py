"""From what Paddle says of a failed run to the error that dygraph raises, at the user's line.

The type is Paddle's own, the message dygraph's; the traceback's frames are the user's functions as
they stood when the operation was captured.  Which operation it was, Paddle tells of the outermost
block alone: the program is run once more with probes (``paddle_bridge.errors``).  Notes say on
what the operation worked and in which trip of a loop.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.conversion import originals
from d2s.diagnostics.location import Location, Span, user_line
from d2s.diagnostics.spans import span_of
from d2s.diagnostics.stacks import places_in_stack
from d2s.diagnostics.tracebacks import traceback_of
from d2s.errors import ContainerInGraphError

_VARYING: Final = "The dims of input in ArrayToTensor must be equal"

_UNEQUAL: Final = "is expected to be equal.But received input[0]'s shape"
"""What the operation that joins tensors says of different shapes."""

_FEW: Final = 8
"""How many elements of an operand are shown."""


def _writes_any_shape(operation: Any) -> bool:
    """Whether ``operation`` writes a tensor with an open dimension into a TensorArray."""
    return operation.name() == "pd_op.array_write_" and -1 in operation.operand_source(1).shape


def _varying(program: Any) -> ContainerInGraphError:
    """The error of a list that a static loop has given items of several shapes."""
    operations = list(bridge.operations(program))
    loops = [operation for operation in operations if operation.name() == "pd_op.while"]
    writes = [inner for loop in loops for inner in _within(loop) if _writes_any_shape(inner)]
    stacks = [operation for operation in operations if operation.name() == "pd_op.array_to_tensor"]
    places: dict[tuple[str, int], None] = {}
    for operation in writes or stacks:
        file, line = user_line(bridge.callstack(operation))
        if file is not None and line is not None:
            places[file, line] = None
    return _of_several_shapes("a list in a loop that a tensor ends", places)


def _unlike_rows(
    words: bridge.Words, failed: bridge.Failed | None, program: Any
) -> ContainerInGraphError | None:
    """The error of a list whose rows are of several shapes; ``None`` if the failure is another.

    Args:
        words: what Paddle says.
        failed: the operation, where it was found.
        program: the program.
    """
    if _UNEQUAL not in words.text:
        return None
    joins = [failed.operation] if failed else list(filter(_joins, bridge.operations(program)))
    if failed is None and words.stack:
        told = _places(words.stack)
        joins = [each for each in joins if places_of(each) == told]
    if not joins or not all(map(bridge.makes_rows, joins)):
        return None
    last = [places[-1] for places in map(places_of, joins) if places]
    places = dict.fromkeys((place.file, place.line) for place in last)
    return _of_several_shapes("a list or dict whose length a tensor decides", places)


def _joins(operation: Any) -> bool:
    """Whether ``operation`` puts tensors behind each other that may differ in other dimensions."""
    return operation.name() == "pd_op.concat" and -1 in operation.result(0).shape[1:]


def _of_several_shapes(what: str, places: dict[tuple[str, int], None]) -> ContainerInGraphError:
    """The error of ``what`` with items of different shapes, put into it at one of ``places``."""
    one_file, one_line = next(iter(places)) if len(places) == 1 else (None, None)
    listed = "" if len(places) == 1 else "; ".join(f"{one}:{other}" for one, other in places)
    return ContainerInGraphError(
        f"items of different shapes are put into {what}"
        + (f" (at one of {listed})" if listed else ""),
        cure="give every item the same shape, for example with paddle.nn.functional.pad, or end "
        "the loop by a Python number",
        file=one_file,
        line=one_line,
    )


def _within(operation: Any) -> Iterator[Any]:
    for block in bridge.blocks_of(operation):
        for inner in block.ops:
            yield inner
            yield from _within(inner)


Again = Callable[[Any, Callable[[Any], Any]], object]
"""Runs a copy of the program on what the failed run was given; see ``failed_operation``."""


def point_out(error: Exception, program: Any, again: Again | None) -> Exception:
    """What dygraph raises in the place of ``error``, which a run of ``program`` has raised.

    Args:
        error: the exception.
        program: the program.
        again: runs a copy of it; ``None`` if that might do harm.
    """
    if _VARYING in str(error):
        return _varying(program)
    made = in_dygraphs_words(error, [program])
    failed = None
    words = bridge.words_of(error)
    if words is not None and again is not None and not isinstance(error, MemoryError):
        with contextlib.suppress(Exception):  # what is known without it is said all the same
            failed = bridge.failed_operation(program, words, again)
    if words is not None:
        unlike = _unlike_rows(words, failed, program)
        if unlike is not None:
            return unlike
    if made is None or failed is None:
        return made or error
    trace = traceback_of(places_of(failed.operation))
    if failed.operation.name() == "pd_op.assert":
        return AssertionError().with_traceback(trace)
    made = type(error)(str(made)) if failed.beyond is None else _no_item(*failed.beyond)
    for note in _notes(failed):
        add_note(made, note)
    return made.with_traceback(trace)


def _places(stack: list[str]) -> list[Location]:
    return places_in_stack(stack, lambda place, called: span_of(originals(), place, called))


def _location(file: str, line: int, function: str, span: list[int] | None) -> Location:
    return Location(file, line, function, None if span is None else Span(*span))


def _no_item(index: int, axis: int, size: int) -> IndexError:
    """What dygraph says where a program takes an empty part of a tensor."""
    return IndexError(
        f"(OutOfRange) The starting index {index} of slice is out of bounds in tensor {axis}-th "
        f"axis, it should be in the range of [{-size}, {size})."
    )


def in_dygraphs_words(error: Exception, programs: list[Any]) -> Exception | None:
    """What dygraph says in the place of ``error``; ``None`` if no operation has failed.

    Its traceback is the one of the operation, as far as Paddle tells of it.

    Args:
        error: what Paddle has raised.
        programs: those in which the operation stands.
    """
    words = bridge.words_of(error)
    if words is None:
        return None
    made = type(error)(words.text)
    places = _places(words.stack)
    if places:
        return made.with_traceback(traceback_of(places))
    return _guessed(made, programs)


def places_of(operation: Any) -> list[Location]:
    """The user's frames under which ``operation`` was made, the outermost first."""
    noted = bridge.noted_source(operation)
    if noted is not None:
        return [_location(*place) for place in json.loads(noted)]
    places = _places(bridge.callstack(operation))
    if places or not operation.num_operands():
        return places
    maker = operation.operand_source(0).get_defining_op()  # loops and assertions keep no stack
    return [] if maker is None else _places(bridge.callstack(maker))


def _guessed(error: Exception, programs: list[Any]) -> Exception:
    """``error`` of an operation inside of a branch or loop that only its message tells of."""
    words = {_plain(word) for word in re.findall(r"[A-Za-z_]+", str(error))}
    words |= {word.removesuffix("op") for word in words}
    inside = [operation for program in programs for operation in _nested(program)]
    named = [item for item in inside if _plain(item.name().split(".")[-1]) in words]
    stacks = {tuple(places_of(operation)): None for operation in named or inside}
    found = [places for places in stacks if places]
    if len(found) == 1:
        return error.with_traceback(traceback_of(found[0]))
    lines = dict.fromkeys(f"{places[-1].file}:{places[-1].line}" for places in found)
    if lines:
        add_note(error, f"d2s: the operation stands on one of these lines: {'; '.join(lines)}")
    return error.with_traceback(None)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _nested(program: Any) -> Iterator[Any]:
    """Every operation in a branch or loop."""
    for operation in program.global_block().ops:
        yield from _within(operation)


def add_note(error: BaseException, text: str) -> None:
    """``error.add_note(text)``; before Python 3.11 the note is there for those who look."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        error.__notes__ = [*getattr(error, "__notes__", ()), text]


def _notes(failed: bridge.Failed) -> Iterator[str]:
    """On what the operation worked, and in which trips."""
    name = failed.operation.name().split(".")[-1].rstrip("_")
    given = ", ".join(f"{label} = {_shown(tensor)}" for label, tensor in failed.operands)
    places = places_of(failed.operation)
    where = f" at {places[-1].file}:{places[-1].line}" if places else ""
    if given:
        yield f"d2s: {name}{where} was given {given}"
    for loop, trip in reversed(failed.trips):
        places = places_of(loop)
        where = f" on line {places[-1].line}" if places else ""
        yield f"d2s: in trip {trip} of the loop{where}"


def _shown(tensor: Any) -> str:
    """Dtype, shape and, if they are few, elements."""
    kind = str(tensor.dtype).split(".")[-1]
    text = f"{kind}{list(tensor.shape)}"
    elements = bridge.elements(tensor) if tensor.size <= _FEW else None
    return text if elements is None else f"{text} {elements}"
