"""What holds for every program, each property with the rule that it states.

A property is a function that raises for a program for which it does not hold: an
``AssertionError`` says what differs, a ``D2SError`` that d2s refuses the program.  The rules are
those of the contract of d2s: A is what stays Python, B branches, C loops, D containers, E calls
and casts, F effects and state, G calls and the cache.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from d2s.errors import CheckError, D2SError
from d2s.testing.program import Program
from d2s.testing.properties.on_islands import split_as_dygraph
from d2s.testing.properties.on_python import (
    converted_twice,
    same_after_each_pass,
    same_as_python,
    same_lines,
)
from d2s.testing.properties.on_tensors import (
    gradients_are_slopes,
    no_python_on_later_calls,
    open_sizes_change_nothing,
    printed_is_the_same,
    same_as_dygraph,
    saved_and_loaded,
    state_over_calls,
)


@dataclass(frozen=True)
class Property:
    """Something that holds for every program.

    Attributes:
        name: in words.
        rules: the rules of the contract that it states.
        holds: raises for a program for which it does not hold.
        tensors: it is about programs on tensors; otherwise about programs on Python values.
        without: constructs that programs may not have for it, since it says nothing about them.
        one_size: all calls have arguments of one size.
    """

    name: str
    rules: str
    holds: Callable[[Program], None]
    tensors: bool = True
    without: tuple[str, ...] = ()
    one_size: bool = False


_NO_SLOPE: Final = (
    "detached", "with no_grad", "cast to float", "cast of dtype", "truth of a tensor",
    "state of a layer", "layer", "buffer", "layers in a list", "function of paddle",
    "while on a tensor", "global", "global read", "with int", "stack", "view",
    "return in with", "function of math", "other dtype on one side", "second derivative",
    "object over calls", "state of an object", "changed between calls",
)  # fmt: skip
"""Constructs that cut gradients, in dygraph too, or have single precision inside."""

_EFFECTS: Final = (
    "print", "logging", "assert", "raise", "exception of the user's", "with a context manager",
    "context manager that is left by an exception", "try around a raise", "suppress",
    "print of numbers", "object over calls", "changed between calls",
)  # fmt: skip

PROPERTIES: Final = (
    Property("same as dygraph", "B1 to B7, C1 to C7, D1 to E4, F1, F3", same_as_dygraph),
    Property("state over calls", "F3, F4, G2", state_over_calls),
    Property("gradients are slopes", "C7", gradients_are_slopes, without=_NO_SLOPE),
    Property("open sizes change nothing", "G2", open_sizes_change_nothing, one_size=True),
    Property("no Python on later calls", "G2", no_python_on_later_calls, without=_EFFECTS),
    Property("saved and loaded", "G3", saved_and_loaded),
    Property("printed is the same", "A2", printed_is_the_same),
    Property("split as dygraph", "H1", split_as_dygraph),
    Property("same as Python", "A1", same_as_python, tensors=False),
    Property("same after each pass", "A1", same_after_each_pass, tensors=False),
    Property("converted twice", "A2", converted_twice, tensors=False),
    Property("same lines", "F2", same_lines, tensors=False),
)
"""All of them; the first is the one that matters most."""


@dataclass(frozen=True)
class Verdict:
    """What came out when a property was tried on a program.

    Attributes:
        kind: ``right``, ``refused`` or ``wrong``.
        cause: the code of the refusal, or what is wrong in a word or two; equal for programs that
            are probably wrong for the same reason.
        text: all that is known.
    """

    kind: str
    cause: str = ""
    text: str = ""


def judge(what: Property, program: Program) -> Verdict:
    """Try a property on a program."""
    try:
        what.holds(program)
    except CheckError as error:
        report: Any = error.report
        kinds = sorted({item.kind for item in report.differences}) if report is not None else ["?"]
        return Verdict("wrong", " ".join(kinds), f"{error}\n{report}")
    except D2SError as error:
        if error.code.startswith("D2S9"):
            return Verdict("wrong", error.code, str(error))
        return Verdict("refused", error.code, str(error))
    except AssertionError as error:
        return Verdict("wrong", what.name, str(error))
    except Exception as error:  # a crash of d2s
        return Verdict("wrong", type(error).__name__, traceback.format_exc())
    return Verdict("right")
