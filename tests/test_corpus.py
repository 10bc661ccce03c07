"""Every case of the corpus, converted: values, gradients, state, text, exceptions."""

from __future__ import annotations

import pytest

import d2s
from corpus.case import load, names
from corpus.runner import run_case

REFUSED: dict[str, tuple[str, str]] = {
    "caught_error": (
        "D2S205",
        "the exception is raised on the run; the try statement that would catch it is over by then",
    ),
    "inplace_update": ("D2S304", "a captured program would lose what scale_() does to an argument"),
    "stack_machine": ("D2S207", "the list has another length behind each side of a tensor branch"),
}
"""Refused on purpose: name -> (code, reason). A case leaves the table when it runs."""


@pytest.mark.parametrize("name", names())
def test_case(name: str) -> None:
    """The rows that the case names in its docstring."""
    result = run_case(load(name), d2s.to_static)
    if name in REFUSED:
        code, reason = REFUSED[name]
        assert reason
        assert result.verdict == f"refused {code}", result.verdict
        return
    assert result.verdict == "right", f"{result.verdict}\n{result.trace}"
    assert result.calls > 0
