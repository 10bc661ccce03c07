"""What is known while one function is being captured: blocks, host effects, Python numbers.

There is one :class:`Capture` per program; it is made by ``program.capture`` and found here, per
thread, by every operator.  Outside of a capture :func:`current` is ``None`` and the operators
behave like Python.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from d2s.diagnostics.columns import columns_here
from d2s.diagnostics.location import Location, here
from d2s.errors import ContainerInGraphError, D2SError, Row
from d2s.paddle_bridge import Facts, IfOp, Value, WhileOp


class OnceMoreError(BaseException):
    """Ends an attempt to capture a loop, which is captured once more; never seen by user code."""


class BranchNeededError(OnceMoreError):
    """What is tried without a branch, for each alternative of a value, needs one."""


class NeedsPythonError(OnceMoreError):
    """The body of a loop wants a Python value that depends on the trip: the loop is unrolled.

    Attributes:
        reason: what was raised because of it, if anything.
    """

    def __init__(self, reason: BaseException | None = None) -> None:
        super().__init__()
        self.reason = reason


@dataclass
class Block:
    """A branch side or loop body that is being captured.

    Attributes:
        kind: ``"branch"`` or ``"loop"``.
        frame: the frame in which the block was entered.
        names: the state that the block hands on.
        left: a ``raise`` has ended this side; what it leaves behind is never read.
        state: what the block hands on, where more can join it.
        before: snapshots of what a loop began with, by ``names``.
        given: what a trip begins with, by ``names``.
        makes: whether a value is made in it, by each trip of a loop anew.
        cells: ids of the closure cells that are variables of a loop.
        known: bool values whose truth is known in it: ``value.id`` -> the value and its truth.
    """

    kind: str
    frame: types.FrameType | None = None
    names: tuple[str, ...] = ()
    left: bool = False
    state: Any = None
    before: list[Any] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    makes: Callable[[Any], bool] = lambda value: False
    cells: frozenset[int] = frozenset()
    known: Facts = field(default_factory=dict)


@dataclass
class Extent:
    """A stretch of the capture that ends as a whole: a side of a branch, or the body of a ``try``.

    Attributes:
        frame: the frame in which it was entered.
        names: the state that it hands on.
        guards: the ``if``s that were opened in it because something may have raised.
        raised: what the present path has raised for a ``try`` around.
    """

    frame: types.FrameType | None = None
    names: tuple[str, ...] = ()
    guards: list[Any] = field(default_factory=list)
    raised: Any = None


class Branching(Protocol):
    """How a program comes to branch; ``control_flow.cond.Branches`` knows."""

    def over(self, use: Callable[[Any], Any], choice: Any, *, changes: bool) -> Any:
        """``use`` of both sides of a choice, each in a side of an ``if``.

        Args:
            use: what is done with a side.
            choice: the choice.
            changes: ``use`` may change what it reaches, and not only the alternatives.
        """

    def raise_where(self, test: Any, make: Callable[[], Any]) -> None:
        """Raise the exception that ``make`` gives, on the runs on which ``test`` holds."""


@dataclass
class ValueNotes:
    """What is known of values of the program that their operations do not say.

    By ``value.id``; each table keeps the values too, so that the ids stay their own.

    Attributes:
        numbers: values that stand for a Python number, and its type.
        sometimes: values that are a Python number on some paths: on which (``values.mixed``).
        roots: values that are an argument's contents, changed in place or not: its index.
        links: what a value that a write has made is a view of.
        settled: values that one write has made of all tensors of one storage, by each of them.
        renewed: values that a write has put in the place of others, and those.
        filled, given_sizes: values of open shape that have elements on every run; of arguments'.
        cuts: values without the elements that others have more at the end of some axes.
        picks: values that are items of lists, which one the run decides: the pick.
        selected, taken: values that are one of several, with these; and the other way round.
        cut: items of lists of the run whose sizes differ.
        written: the newest contents of each argument that is changed in place, by its index.
        copies, detached: copies of others, made to hand them on; those that share their storage.
        sharing: values that share their storage in dygraph with others (picked items, rows).
        stops: when values stop gradients: ``True``, ``False`` or a condition.
        leaves: values that are the contents of leaves of the gradients, and those.
        names: names of values that were asked for theirs, the same where a loop is captured again.
        overwritten: values whose gradient reads what was written since, and the error for that.
        rewritten: values that were written, unseen by gradients: see ``aliasing.saved``.
        waited: values that an operand may have been when they were written into.
        begun: iterators of the run that were iterated, by their own ids, and the blocks then.
    """

    numbers: dict[int, tuple[Value, type]] = field(default_factory=dict)
    sometimes: dict[int, tuple[Value, Any]] = field(default_factory=dict)
    roots: dict[int, tuple[Value, int]] = field(default_factory=dict)
    links: dict[int, Any] = field(default_factory=dict)
    settled: dict[int, Any] = field(default_factory=dict)
    renewed: dict[int, tuple[Value, Value]] = field(default_factory=dict)
    filled: dict[int, Value] = field(default_factory=dict)
    given_sizes: dict[int, Value] = field(default_factory=dict)
    cuts: dict[int, tuple[Value, Value, list[int]]] = field(default_factory=dict)
    picks: dict[int, Any] = field(default_factory=dict)
    selected: dict[int, tuple[Value, tuple[Value, ...]]] = field(default_factory=dict)
    taken: dict[int, tuple[Value, tuple[Value, ...]]] = field(default_factory=dict)
    cut: dict[int, Value] = field(default_factory=dict)
    written: dict[int, Value] = field(default_factory=dict)
    copies: dict[int, Value] = field(default_factory=dict)
    detached: dict[int, Value] = field(default_factory=dict)
    sharing: dict[int, tuple[Value, list[Value]]] = field(default_factory=dict)
    stops: dict[int, tuple[Value, Any]] = field(default_factory=dict)
    leaves: dict[int, tuple[Value, Any]] = field(default_factory=dict)
    names: dict[int, tuple[Value, str]] = field(default_factory=dict)
    overwritten: dict[int, tuple[Value, D2SError]] = field(default_factory=dict)
    rewritten: dict[int, Any] = field(default_factory=dict)
    waited: dict[int, Value] = field(default_factory=dict)
    begun: dict[int, tuple[Any, tuple[Block, ...]]] = field(default_factory=dict)

    def copy(self) -> ValueNotes:
        """The same notes, which later ones are not added to."""
        return ValueNotes(**{each.name: dict(getattr(self, each.name)) for each in fields(self)})

    def rollback(self, known: ValueNotes) -> None:
        """Drop the notes on values of operations that were taken out of the program again.

        What shares storage stays: it is said of values that may have been there before.
        """
        for each in fields(self):
            if each.name not in ("copies", "detached", "sharing"):
                setattr(self, each.name, dict(getattr(known, each.name)))

    def forget(self, ids: list[int]) -> None:
        """Drop the notes on values that are gone; another value may get the id of one."""
        gone = frozenset(ids)  # what is written is noted by arguments
        for notes in [getattr(self, each.name) for each in fields(self) if each.name != "written"]:
            for number in gone & notes.keys():
                del notes[number]

    def shared(self) -> dict[int, tuple[Value, list[Value]]]:
        """Values that share their storage with others, though their operations do not say so."""
        detached = {
            number: (value, [value.get_defining_op().operand_source(0)])
            for number, value in self.detached.items()
        }
        return {**detached, **self.sharing}


@dataclass(frozen=True)
class Checkpoint:
    """What a capture knew before an attempt: see :class:`Capture`."""

    notes: ValueNotes
    refused: int
    grown: dict[int, tuple[Any, Any]]
    divided: list[Any]
    forms: dict[tuple[int, ...], tuple[Any, Any]]
    doubles: dict[int, Any]
    lent: list[Any]


@dataclass
class Capture:
    """State of one capture; it begins empty and ends with the capture.

    Attributes:
        branching: how an ``if`` is made, for values that need one where they are used.
        blocks: the branches and loops around the operation that is captured next.
        notes: what is known of values of the program.
        hosts: host functions of the program, which must live as long as it does.
        export: the program is to be saved: effects become Paddle's own operations.
        gradients: the program is captured to be differentiated (not under ``no_grad``).
        flags: what the function says of the ``stop_gradient`` of arguments, by their index.
        stopped: values with a history whose ``stop_gradient`` it has set: ``value.id`` -> value.
        refused: what was refused so far, also where user code has caught the error and goes on.
        attempts: the ``try`` statements whose bodies are being captured.
        extents: the sides of branches and bodies of ``try`` around the present code.
        raises: exceptions that the run may raise and a ``try`` catches, by number.
        handled: the exception that was being handled when the capture began.
        divided: lists of Python that a branch has left with two lengths.
        handed: attributes that a branch, loop or ``try`` hands on; some path may not set them.
        loops: the state of each static loop under capture: names, and what they held before.
        entry: the frame that the capture was begun from; frames around it are not captured.
        adopt: told of each object whose methods Python may call by itself.
        prepared: ids of layers whose ``forward`` and hooks are converted for the present call.
        on_call: told of each function before it runs converted, of its owner and the converted one.
        born: objects that the captured code has made, by their ids.
        begun: containers whose ``__init__`` has left another one in their place, and that one.
        making: the class of the container that a call expression is about to make.
        remembered: results under ``functools.lru_cache``, and the blocks they were computed in.
        outside: what a reader calls an object that only Python can change and that was there.
        was_there: tells whether an object, of a class that is no user's, was there before.
        on_read: told of each tensor of dygraph whose contents user code reads while it is captured.
        watched: gives what is watched of the state outside of the function.
        grown: lists that a static loop has grown, and what they have become, by their ids.
        callers: the containers of the caller's among the arguments, as the capture has them.
        overwritten: containers in the place of which a branch has put others, by their ids.
        forms: lists and dicts among which a choice is made: what they stand for, and the choice.
        leaving: what an exception of the run that is captured here leaves changed.
        goes_on: what cannot be a program runs in dygraph, which goes on with what this one gives.
        continues: an argument was computed of tensors that want gradients outside of the function.
        asked: ids of the values whose gradients ``paddle.grad`` gives.
        stored: tensors of the state that are changed in place, by root: a negative number.
        draw: gives what stands for the result of a call that each run makes anew.
        ask: gives what stands for a Python number that each run asks a function for, by its name.
        expressions: while entered, dygraph tensors take part in expressions.
        steps: gradients and optimizers that are part of the program.
        tentative: another capture is made if this one fails; it keeps no exception for the run.
        lies_straight: whether the elements of an argument lie beside each other; is relied upon.
        decided: conditions on numbers of the state are to be decided while it is captured.
        decides: tells how a condition on numbers of the state is, and relies on it; or ``None``.
        shadow: told of each operation on Python numbers: its name, operands and result.
        lowered: what becomes of effects in a program that is saved, by the lines on which.
        wanting: what Python has to do on each run of a program that is saved, by the lines.
        rolls: a loop over Python values that a tensor may leave is tried as a static loop.
        rolling, rolled: how many such attempts are around the present code; one has succeeded.
        bound: operands that wait for a call are bound to variables.
        places: views of which the run decides the place are told of writes to what they are of.
        at_once: how many values of several alternatives are being used without a branch for each.
        spreading: how many values of several alternatives are being used, each on its own.
        uses: how many choices that has made since the outermost of them.
        multiplied: how many times such a value was used inside of the use of another one.
        seeded: generators that the function has made of a known seed, by their ids.
        drawn: generators that host operators draw from, by their ids.
        moved: what branches and loops have taken items from, and the blocks then, by ids.
        stepping: whether ``iter(sequence)`` is written in Python; ``False`` where that was missed.
        counts: the attributes of iterators that it has met, by their ids.
        taking: gives the items of those that were there before, and watches them.
        makes: told that the code makes what belongs to a layer for good; it may refuse that.
        over: exceptions that have left a branch or loop, which is gone with its values, by id.
        placed: lists and dicts of Python that have been put into a list of the run, by their ids.
        doubles: lists and dicts that are others on some runs: what they hold, their loops, when.
        lent: objects that were taken out of lists of the run or put into them.
        found: dicts, and keys of the run that are in them wherever the program goes on.
        only_static: something that dygraph does not do is a part of the program.
        set_at: the last line on which something was set for the whole process.
        pooled: the classes whose objects are known by a number, and what is known of them.
        pools, tables: by class, these objects, and the lists of the run of their attributes.
        wishes: the classes of objects that were refused, and are not if known by a number.
        sets: whether a set of the run was "iterated", or made by more than "adding" to it.
        takes_in, taken_in: so are those that were there before; these, and what stands for each.
    """

    branching: Branching
    notes: ValueNotes = field(default_factory=ValueNotes)
    export: bool = False
    gradients: bool = True
    blocks: list[Block] = field(default_factory=list)
    hosts: list[Any] = field(default_factory=list)
    flags: dict[int, bool] = field(default_factory=dict)
    stopped: dict[int, Any] = field(default_factory=dict)
    refused: list[D2SError] = field(default_factory=list)
    attempts: list[Any] = field(default_factory=list)
    extents: list[Extent] = field(default_factory=list)
    raises: dict[int, Any] = field(default_factory=dict)
    handled: BaseException | None = None
    divided: list[Any] = field(default_factory=list)
    handed: set[tuple[int, str]] = field(default_factory=set)
    loops: list[tuple[tuple[str, ...], list[Any]]] = field(default_factory=list)
    entry: types.FrameType | None = None
    adopt: Callable[[Any], None] | None = None
    prepared: set[int] = field(default_factory=set)
    on_call: Callable[[Any, Any, Any], None] | None = None
    born: dict[int, Any] = field(default_factory=dict)
    begun: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    making: type | None = None
    remembered: dict[Any, tuple[Any, list[Block], Any]] = field(default_factory=dict)
    on_read: Callable[[Any], None] | None = None
    outside: Callable[[Any], str | None] | None = None
    was_there: Callable[[Any], bool] = lambda thing: True
    watched: Callable[[], list[Any]] = list
    grown: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    callers: dict[int, Any] = field(default_factory=dict)
    overwritten: dict[int, Any] = field(default_factory=dict)
    forms: dict[tuple[int, ...], tuple[Any, Any]] = field(default_factory=dict)
    leaving: Callable[[], tuple[list[Any], Callable[[Any, list[Any]], None]]] | None = None
    stored: dict[int, Any] = field(default_factory=dict)
    draw: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None
    ask: Callable[[str, Callable[[], Any]], Any] | None = None
    expressions: Callable[[], AbstractContextManager[None]] = nullcontext
    steps: Any = None
    goes_on: bool = False
    continues: bool = False
    asked: set[int] = field(default_factory=set)
    tentative: bool = False
    lies_straight: Callable[[int], bool] = lambda index: True
    lowered: dict[str, list[Location]] = field(default_factory=dict)
    wanting: dict[str, list[Location]] = field(default_factory=dict)
    decided: bool = False
    decides: Callable[[Any], bool | None] | None = None
    shadow: Callable[[str, tuple[Any, ...], Any], None] | None = None
    rolls: bool = True
    bound: bool = False
    places: bool = False
    rolling: int = 0
    rolled: bool = False
    at_once: int = 0
    spreading: int = 0
    uses: int = 0
    multiplied: int = 0
    seeded: dict[int, Any] = field(default_factory=dict)
    drawn: dict[int, Any] = field(default_factory=dict)
    stepping: bool | None = None
    moved: dict[int, tuple[Any, tuple[Block, ...]]] = field(default_factory=dict)
    counts: dict[int, Any] = field(default_factory=dict)
    taking: Any = None
    makes: Callable[[], None] = lambda: None
    over: dict[int, BaseException] = field(default_factory=dict)
    placed: dict[int, Any] = field(default_factory=dict)
    doubles: dict[int, Any] = field(default_factory=dict)
    lent: list[Any] = field(default_factory=list)
    found: dict[tuple[int, int], tuple[Any, Any, tuple[Block, ...]]] = field(default_factory=dict)
    only_static: bool = False
    set_at: Location | None = None
    pools: dict[type, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    wishes: set[type] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    pooled: dict[type, Any] = field(default_factory=dict)
    takes_in: bool = False
    taken_in: list[Any] = field(default_factory=list)

    @contextmanager
    def block(self, kind: str, names: tuple[str, ...] = ()) -> Iterator[Block]:
        """Enter a branch side or loop body, which hands on the state ``names``."""
        entered = Block(kind, sys._getframe(2), names)
        self.blocks.append(entered)
        try:
            yield entered
        finally:
            self.blocks.pop()
            entered.frame = None

    def facts(self) -> Facts:
        """The bool values whose truth is known at the present place."""
        return {number: fact for block in self.blocks for number, fact in block.known.items()}

    def checkpoint(self) -> Checkpoint:
        """What is known now, for :meth:`rollback`."""
        return Checkpoint(
            self.notes.copy(),
            len(self.refused),
            dict(self.grown),
            list(self.divided),
            dict(self.forms),
            dict(self.doubles),
            list(self.lent),
        )

    def rollback(self, known: Checkpoint) -> None:
        """Forget an attempt whose operations were taken out of the program again."""
        self.notes.rollback(known.notes)
        del self.refused[known.refused :]
        self.grown, self.divided, self.forms = known.grown, known.divided, known.forms
        self.lent, self.doubles = known.lent, known.doubles

    def drop(self, op: IfOp | WhileOp) -> None:
        """Take a branch or loop out of the program again that an exception leaves.

        Values in the frames of the exception may be gone with it: nobody may read them.
        """
        self.notes.forget(op.drop())
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, D2SError):  # else nobody asks
            self.over[id(error)] = error

    def check_placed(self, container: object) -> None:
        """Refuse to change what a list of the run holds too, which would not see it.

        Raises:
            ContainerInGraphError: (D2S207).
        """
        if id(container) in self.placed:
            word = type(container).__name__
            raise error_here(
                ContainerInGraphError,
                f"a {word} is changed when it has been put into a list whose length a tensor "
                "decides, which keeps what it held",
                f"put a copy into it: {word}(...)",
            )

    def needs_python(self) -> None:
        """What follows wants a Python value: an attempt to do without it ends here.

        Raises:
            NeedsPythonError: a loop around is captured with the number of the trip as a value.
        """
        if self.rolling:
            raise NeedsPythonError

    @property
    def guarded(self) -> bool:
        """Whether a tensor condition decides if the present code runs."""
        return bool(self.blocks)


class _Local(threading.local):
    capture: Capture | None = None


_local = _Local()


def current() -> Capture | None:
    """The capture under way in this thread."""
    return _local.capture


def open_trace() -> Capture:
    """The capture under way, where there surely is one."""
    capture = current()
    assert capture is not None
    return capture


@contextmanager
def capture_into(capture: Capture) -> Iterator[Capture]:
    """Make ``capture`` the current one."""
    before = _local.capture
    _local.capture = capture
    capture.handled = sys.exc_info()[1]
    capture.entry = sys._getframe(2)  # the caller of the context manager
    try:
        yield capture
    finally:
        _local.capture = before
        capture.entry = None
        capture.over.clear()  # with all that their frames hold


def error_here(
    kind: Callable[..., D2SError], cause: str, cure: str, table: Iterable[Row] = ()
) -> D2SError:
    """An error of ``kind`` at the user's present line."""
    place, at = here(), dict[str, Any]()
    if place is not None:
        at = {"file": place.file, "line": place.line, "columns": columns_here()}
    error = kind(cause, cure=cure, table=table, **at)
    capture = current()
    if capture is not None:
        capture.refused.append(error)
    return error


@contextmanager
def tentatively() -> Iterator[None]:
    """An attempt of ours whose refusals do not count."""
    capture = current()
    count = 0 if capture is None else len(capture.refused)
    try:
        yield
    finally:
        if capture is not None:
            del capture.refused[count:]
