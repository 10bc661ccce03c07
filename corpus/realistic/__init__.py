"""Programs as engineers and researchers write them, by authors who know no more than the README.

A case of ``corpus.programs`` shows one construct; a program here is 30 to 120 lines of somebody's
work: a decoder, a solver, a simulation, with classes, settings, state over several calls and Python
that has nothing to do with tensors. They are a measure: a program is never changed to suit d2s, and
``first_verdicts.json`` keeps what d2s made of it when it saw it for the first time.

A file ``corpus/realistic/programs/<subject>.py`` holds any number of programs::

    from corpus.realistic import attempt, program


    @program
    def newton_with_line_search(convert):
        \"\"\"What it is, in a sentence.\"\"\"

        @convert
        def solve(x, tolerance=1e-6): ...

        for start in (1.0, 3.0):
            yield solve(paddle.to_tensor(start))
        yield attempt(lambda: solve(paddle.to_tensor(-1.0)))

``program`` marks a generator: it converts what it likes, calls it as often as it likes, and yields
what is to be compared, objects with their state too. It runs twice, with a ``convert`` that does
nothing and with the one under test, each time in a module that has been loaded anew.
``python -m corpus.realistic`` runs them; ``corpus.realistic.seen`` says what is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Convert = Callable[..., Any]
Program = Callable[[Convert], Iterator[object]]

PROGRAMS: dict[str, Program] = {}
"""The programs of the file that was loaded last, by name."""


def program(function: Program) -> Program:
    """Register a program: ``function(convert)`` yields the values that are compared."""
    if function.__name__ in PROGRAMS:
        raise ValueError(f"two programs of a file are called {function.__name__}")
    PROGRAMS[function.__name__] = function
    return function


@dataclass(frozen=True)
class Raised:
    """An exception as a value: its type, its text, and the code of an error of d2s."""

    type: str
    text: str
    code: str = ""

    @classmethod
    def by(cls, error: Exception) -> Raised:
        """Describe ``error``; of Paddle's own errors the type is compared, for the operator that
        the text is about may be another one in a program.
        """
        text = str(error)
        found = re.search(r"D2S\d{3}", text)
        of_paddle = "[Hint" in text or "(at " in text or re.match(r"\([A-Z]\w+\) ", text)
        code = found.group() if found else ""
        return cls(type(error).__name__, "a text of Paddle" if of_paddle else text, code)

    def __str__(self) -> str:
        return f"{self.type}: {self.text}" if self.text else self.type


def attempt(thunk: Callable[[], object]) -> object:
    """The value of ``thunk()``, or what it raised."""
    try:
        return thunk()
    except Exception as error:
        return Raised.by(error)
