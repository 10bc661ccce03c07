"""One program of a function, and why it was captured."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Final

from d2s.program.keys.call_key import Call
from d2s.program.keys.dimensions import is_open
from d2s.program.running.execute import Runner

CLOCK: Final = itertools.count(1)
"""Tells what was used last."""


@dataclass(frozen=True)
class Reason:
    """Why a program was captured.

    Attributes:
        kind: what sort of thing has changed; one of :data:`CURES`, or ``"first"``.
        subject: the argument or the value that has changed, as a reader would write it.
        text: the whole reason.
    """

    kind: str
    subject: str
    text: str


@dataclass
class Entry:
    """One program.

    Attributes:
        key: the key of the calls that it is for.
        call: such a call, without its tensors.
        runner: the program.
        reason: why it was captured.
        used: when it was last used, on a clock of its own.
        fallible: Paddle may fail in it where a program of the very sizes would not; it can be run
            again then.
    """

    key: Any
    call: Call
    runner: Runner
    reason: Reason
    used: int = field(default_factory=lambda: next(CLOCK))
    fallible: bool = False

    def __post_init__(self) -> None:
        opens = is_open(self.call) or self.runner.captured.opens
        self.fallible = opens and self.runner.repeatable
