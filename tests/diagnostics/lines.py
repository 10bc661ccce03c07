"""The lines that code has, and those of them that are run."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from tests.diagnostics.failing_texts import FAILING
from tests.diagnostics.running_texts import VISITED

EVERY = {**FAILING, **{name: text for name, (text, _) in VISITED.items()}}


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def lines_in(code: types.CodeType) -> set[int]:
    return {line for inner in codes_in(code) for _, _, line in inner.co_lines() if line is not None}


def visited(file: str, call: Callable[..., Any], *arguments: Any) -> set[int]:
    """The lines of ``file`` that a trace function sees while ``call`` runs."""
    seen: set[int] = set()

    def tracer(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with contextlib.suppress(Exception):
            call(*arguments)
    finally:
        sys.settrace(before)
    return seen
