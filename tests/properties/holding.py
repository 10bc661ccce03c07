"""How a test says that a property holds for programs, and how long it looks for a smaller one."""

from __future__ import annotations

import time

from hypothesis import event, note

from d2s.testing import Program, Property, judge

PATIENCE = 45.0
"""Seconds for making a failing program smaller.

Hypothesis takes five minutes, and a test that takes as long is taken for one that hangs.
"""

OPEN = ("with no_grad",)
"""Constructs with a defect that is known.

- A tensor that a static loop assigns under ``no_grad`` prints another ``stop_gradient``: whether
  there was a trip decides it in dygraph.
"""


class Holding:
    """Holds programs to a property.

    Args:
        what: the property.
    """

    def __init__(self, what: Property) -> None:
        self.what = what
        self.failed: set[str] = set()
        self.until = float("inf")

    def __call__(self, program: Program) -> None:
        """Fail for a program for which the property does not hold."""
        text = repr(program)
        if time.monotonic() > self.until and text not in self.failed:
            return
        verdict = judge(self.what, program)
        if verdict.kind == "refused":
            event(f"refused with {verdict.cause}")
        if verdict.kind == "wrong":
            self.until = min(self.until, time.monotonic() + PATIENCE)
            self.failed.add(text)
            note(text)
            raise AssertionError(verdict.text)
