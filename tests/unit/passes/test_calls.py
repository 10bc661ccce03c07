"""Which calls are left as they are written (rule E2)."""

from __future__ import annotations

import math

import numpy as np
import paddle
import pytest

from conftest import show
from d2s.passes import calls

KNOWN = {
    "paddle": paddle,
    "F": paddle.nn.functional,
    "np": np,
    "math": math,
    "relu": paddle.nn.functional.relu,
    "ValueError": ValueError,
}


@pytest.mark.parametrize(
    "call", ["paddle.add(x, x)", "paddle.linalg.norm(x)", "F.relu(x)", "ValueError(x)"]
)
def test_what_is_plainly_paddle_stays(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """E2: nobody looks at run time at what is known from the text."""
    text = f"def f(x):\n    return {call}"
    show(calls.PASS, text, resolve=KNOWN)
    assert capsys.readouterr().out.strip() == text


@pytest.mark.parametrize(
    "call",
    [
        "x.relu(x)",  # whatever ``x`` is
        "unknown(x)",
        "paddle.unknown(x)",
        "paddle.nn.Linear(2, 3)(x)",
        "np.random.rand(x)",  # a program would repeat the numbers
        "F.relu_(x)",  # in place
        "paddle.stack(x)",  # takes a list, which may have grown in the program
    ],
)
def test_what_may_be_more_asks_an_operator(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """E2: the operator finds out what is called."""
    show(calls.PASS, f"def f(x):\n    return {call}", resolve=KNOWN)
    function, _, arguments = call.rpartition("(")
    assert f"d2s.call({function})({arguments}" in capsys.readouterr().out


def test_a_name_of_the_function_is_not_the_global(capsys: pytest.CaptureFixture[str]) -> None:
    """E2: ``F`` is what the caller gives."""
    show(calls.PASS, "def f(x, F):\n    return F.relu(x)", resolve=KNOWN)
    assert "d2s.call(F.relu)(x)" in capsys.readouterr().out
