"""Which calls are left as they are written (rule E2)."""

from __future__ import annotations

import math

import numpy as np
import paddle
import pytest

import d2s
from conftest import show
from d2s.passes.expressions import calls
from tests.helpers import assert_same, function_of, scalar, tensor

KNOWN = {
    "paddle": paddle,
    "F": paddle.nn.functional,
    "np": np,
    "math": math,
    "relu": paddle.nn.functional.relu,
    "ValueError": ValueError,
}


@pytest.mark.parametrize(
    "call",
    [
        "paddle.ones([2, -1], dtype=paddle.int64)",
        "paddle.linalg.norm(paddle.eye(3))",
        "F.relu(paddle.full([2], 0.5))",
        "ValueError(x)",
    ],
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
        "paddle.add(x, x)",  # ``x`` may be one of several things
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


@pytest.mark.parametrize("takes", ["stack", "concat", "add_n"])
def test_a_list_that_grew_is_taken(takes: str) -> None:
    """D1: by each function that takes it as it is."""
    function = function_of(f"""
        def f(x):
            parts = []
            while x.sum() < 9:
                x = x * 2
                parts.append(x)
            return paddle.{takes}(parts)
    """)
    assert_same(function, tensor(1.0, 2.0), tensor(4.0, 1.0))


@pytest.mark.parametrize("takes", ["stack", "concat", "add_n", "hstack", "vstack", "dstack"])
def test_a_list_with_a_part_that_a_tensor_has_chosen(takes: str) -> None:
    """B4: a tensor on one path and nothing on the other is the tensor where it is used."""
    function = function_of(f"""
        def f(x):
            y = None
            if x.sum() > 0:
                y = x * 2
            parts = [x, y]
            return paddle.{takes}(parts)
    """)
    assert_same(function, tensor(1.0, 2.0), tensor(3.0, 4.0))


@pytest.mark.parametrize(
    "call",
    [
        *("cummax(w, 0)", "cummin(w, 0)", "cumprod(w, 0)", "flatten(w)", "median(w)"),
        *("nanmedian(w)", "nanquantile(w, 0.5)", "quantile(w, 0.5)", "repeat_interleave(w, 2)"),
        *("take(w, i)", "take(w, i, mode='wrap')", "view(w, [3, 1])", "view_as(w, x)"),
    ],
)
def test_what_refuses_a_parameter_in_a_program(call: str) -> None:
    """E2: such a function is given the value that the parameter has in the program."""
    weight = paddle.create_parameter([3], "float32")
    index = paddle.to_tensor([2, 0])
    function = function_of(
        f"def f(x):\n    found = paddle.{call}\n    return found, x * 2", "f", w=weight, i=index
    )
    assert_same(function, tensor(1.0, 2.0, 3.0))


@pytest.mark.parametrize("given", ["kinds[i]", "kind", "('sum' if x.sum() > 0 else 'mean')"])
def test_an_argument_that_a_tensor_has_chosen(given: str) -> None:
    """B4: an item of a list is one of several things, which Paddle cannot be given at once."""
    function = function_of(f"""
        def f(x, i):
            kinds = ["sum", "mean"]
            kind = kinds[i]
            return paddle.nn.functional.mse_loss(x, x * 2, reduction={given})
    """)
    assert_same(function, (tensor(1.0, 2.0), scalar(0)), (tensor(-1.0, 2.0, -4.0), scalar(1)))


def test_what_a_pass_has_made_is_called_as_it_is() -> None:
    """E2: handlers that became functions, and ``super``, need no conversion."""

    class Base:
        def f(self, x: object) -> object:
            return x

    class Derived(Base):
        def f(self, x: object) -> object:
            try:
                x = super().f(x)
            except ValueError:
                x = None
            return x

    text = d2s.code(Derived.f)
    assert "handler(" in text
    assert "d2s.call(handler)" not in text
    assert "d2s.call(super)" not in text


@pytest.mark.parametrize(
    "call",
    ["F.mse_loss(x, x * 2, reduction=words[i])", "F.mse_loss(x, x * 2, 'sum', words[i] or None)"],
)
@pytest.mark.parametrize("named", [False, True], ids=["in place", "by name"])
def test_an_item_that_a_tensor_chooses_is_looked_at(call: str, named: bool) -> None:
    """B4, E2: a function of Paddle's asks a text what it is: once for each that it may be."""
    if named:
        call = "word = words[i]\n    return " + call.replace("words[i]", "word")
    else:
        call = f"return {call}"
    function = function_of(
        f"def f(x, i):\n    words = ['mean', 'sum']\n    {call}\n", "f", F=paddle.nn.functional
    )
    assert_same(function, *((tensor(1.0, 2.0), scalar(i)) for i in (0, 1)))
