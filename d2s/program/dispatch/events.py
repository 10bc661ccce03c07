"""What is told of captures, of calls that no program fits, and of functions that are several."""

from __future__ import annotations

import textwrap
import time
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.log import event
from d2s.errors import D2SError
from d2s.program.dispatch.entry import Entry, Reason
from d2s.program.dispatch.program_cache import CURES, UNSETTLED
from d2s.program.running.execute import Runner

_LONG: Final = 300


@dataclass
class _Capture:
    """A capture that goes on.

    Attributes:
        runner: the program, once there is one.
    """

    runner: Runner | None = None


@contextmanager
def capturing(name: str, code: types.CodeType, reason: Reason) -> Iterator[_Capture]:
    """Tell of a capture when it is done; that it begins, and how it fails, with more detail."""
    begin = time.perf_counter()
    event("capture", "begins", name, f"capture begins: {reason.text}", code=code, level=10)
    now = _Capture()
    try:
        yield now
    except Exception as error:
        seconds = time.perf_counter() - begin
        number = error.code if isinstance(error, D2SError) else type(error).__name__
        event(
            "capture", "fails", name,
            f"capture failed after {seconds:.2f} s with {number}: {_first_line(error)}",
            code=code, seconds=round(seconds, 6), error=number, message=_first_line(error),
        )  # fmt: skip
        raise
    if now.runner is None:
        return
    seconds = time.perf_counter() - begin
    program = now.runner.captured
    operations = bridge.size_of(program.program)
    event(
        "capture", "captured", name,
        f"captured in {seconds:.2f} s, {operations} operations: {reason.text}",
        code=code, seconds=round(seconds, 6), operations=operations, reason=reason.text,
        kind=reason.kind,
        inputs=[f"{leaf.path}: {leaf.dtype}{list(leaf.shape)}" for leaf in program.leaves],
        guards=[guard.place.path for guard in program.guards],
    )  # fmt: skip


def kept(name: str, code: types.CodeType, what: str, error: BaseException) -> None:
    """A more general capture has failed; a narrower one is made in its place."""
    reason = f"{type(error).__name__}: {_first_line(error)}"
    event("capture", "narrower", name, f"{what}, because of {reason}", code=code, because=reason)


def differs(name: str, code: types.CodeType, found: Sequence[Reason], programs: int) -> None:
    """A call that none of the programs fits, and in what it differs from the closest one."""
    what = "; ".join(reason.text for reason in found) or "other arguments"
    many = "the program" if programs == 1 else f"any of {programs} programs"
    event(
        "guards", "differs", name,
        f"the call does not fit {many}: {textwrap.shorten(what, _LONG, placeholder=' ...')}",
        code=code, differs=[reason.text for reason in found], programs=programs,
    )  # fmt: skip


class Returning:
    """The reasons for captures that will come back, each of them told of once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def note(self, name: str, code: types.CodeType, entry: Entry) -> None:
        """Look at a new program: whether a call may differ from it in the same way again."""
        reason = entry.reason
        told = reason.kind, reason.subject
        if told in self._told or not _comes_back(entry):
            return
        self._told.add(told)
        event(
            "guards", "returns", name,
            f"{reason.text}; another value captures another program, so it may come to this often"
            f": {CURES[reason.kind]}",
            code=code, reason=reason.text, kind=reason.kind, subject=reason.subject,
            cure=CURES[reason.kind],
        )  # fmt: skip


def _comes_back(entry: Entry) -> bool:
    """Whether the next value, or size, of what has changed needs one more program."""
    kind, captured = entry.reason.kind, entry.runner.captured
    if kind == "shape":  # an open dimension takes each size
        return not any(-1 in leaf.shape for leaf in entry.call.leaves)
    lifted = {each.leaf.path for each in captured.lifted}  # these are inputs from now on
    return kind in UNSETTLED and entry.reason.subject not in lifted


def broken(name: str, code: types.CodeType, line: int, number: str, cause: str) -> None:
    """A function is not one program."""
    event(
        "islands", "break", name, f"no program can hold line {line}: {cause} [{number}]",
        code=code, at=line, error=number, cause=cause,
    )  # fmt: skip


def divided(name: str, code: types.CodeType, stretches: Sequence[tuple[int, int]]) -> None:
    """A function is run as islands, with Python between them."""
    lines = [f"{first}-{last}" for first, last in stretches]
    listed = ", ".join(lines) or "nothing"
    event(
        "islands", "divided", name, f"what can be programs: lines {listed}", code=code, lines=lines
    )


def rests(name: str, code: types.CodeType, lines: tuple[int, int], why: str) -> None:
    """An island runs in dygraph from now on."""
    event(
        "islands", "rests", name, f"lines {lines[0]}-{lines[1]} run in dygraph: {why}",
        code=code, lines=[f"{lines[0]}-{lines[1]}"], why=why,
    )  # fmt: skip


def slower(name: str, code: types.CodeType) -> None:
    """Calls of a function run in dygraph for a while, as its programs take longer."""
    event("islands", "slower", name, "calls run in dygraph: programs take longer", code=code)


def _first_line(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as failed:  # an exception of the user's may fail to say what it is
        text = f"{type(failed).__name__} in str() of it"
    return next(iter(text.strip().splitlines()), "")
