"""Proofs that values have elements on every run (rules B1, C1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

from d2s import paddle_bridge as bridge

ALWAYS = [
    "x + 1",
    "paddle.arange(n)",
    "paddle.arange(k, n + k)",
    "paddle.arange(k + 2 * n, k + n, -1)",
    "paddle.arange(n, n + 1).unsqueeze(0).expand([n, -1])",
    "paddle.expand(x[:1], [n, 4])",
    "paddle.zeros([n, 2])",
    "paddle.uniform([n])",
    "w[:, :n]",
    "x[::2]",
    "x[-2:]",
    "w[:n + 1]",
    "paddle.repeat_interleave(x, 2, 0)",
    "paddle.einsum('ij,k->ijk', x, paddle.arange(n).astype('float32'))",
    "paddle.nn.functional.pad(x, [0, 1, 2, 0])",
    "paddle.nn.functional.pad(x[None, None], [0, 0, 0, 1], mode='replicate')",
    "paddle.multinomial(x, 1)",
    "paddle.concat([paddle.zeros([0, 4]), x[:, :1].expand([-1, 4])])",
    "paddle.chunk(x.reshape([n, 4]), 2, 1)[1]",
    "paddle.tile(x, [n * n, 1])",
    "paddle.zeros([paddle.shape(x).prod()])",
]
SOMETIMES_NOT = [
    "m",
    "m + x",
    "paddle.concat([m, m])",
    "paddle.concat([paddle.zeros([0, 8]), w[:k]])",
    "paddle.arange(k)",
    "paddle.arange(n - 1)",
    "paddle.arange(n, k)",
    "paddle.arange(k, k)",
    "paddle.arange(n, n + 1, -1)",
    "paddle.expand(m, [n, -1])",
    "paddle.zeros([k])",
    "paddle.uniform([k])",
    "paddle.uniform([k], min=1.0, max=2.0)",
    "w[:, k:]",
    "w[:k]",
    "w[n - 1:n]",
    "x[1:]",
    "x[n:]",
    "x[::-1][2::2]",
    "paddle.nn.functional.pad(m, [0, 1, 0, 1])",
    "paddle.masked_select(x, x > 0)",
    "paddle.split(x, [2, -1])[1]",
    "paddle.zeros([n // 2])",
    "paddle.zeros([(n * 0.5).astype('int64')])",
]


def _value(text: str) -> Any:
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        x = paddle.static.data("x", [-1, -1], "float32")
        k = paddle.static.data("k", [], "int64")
        w = paddle.static.data("w", [8, 8], "float32")
        names = {"paddle": paddle, "x": x, "k": k, "w": w, "n": paddle.shape(x)[0]}
        names["m"] = paddle.gather(x, paddle.nonzero(x[:, 0] > 0).flatten())
        return program, eval(text, names)


@pytest.fixture(autouse=True)
def _static() -> Any:
    paddle.enable_static()
    yield
    paddle.disable_static()


@pytest.mark.parametrize("text", ALWAYS)
def test_always(text: str) -> None:
    """B1: an argument has elements, and what is made of it."""
    _program, value = _value(text)
    assert bridge.has_elements(value, {})


@pytest.mark.parametrize("text", SOMETIMES_NOT)
def test_sometimes_not(text: str) -> None:
    """B1: what the run decides may be nothing."""
    _program, value = _value(text)
    assert not bridge.has_elements(value, {})


def test_sizes_of_arguments_alone() -> None:
    """E4: what is cut or counted may be of one element where the argument has more."""
    for text, plain in [("x * 2", True), ("x[:, 0]", True), ("w[:n]", False), ("x[::2]", False)]:
        _program, value = _value(text)
        assert bridge.has_elements(value, {})
        assert bridge.has_elements(value, {}, plain=True) is plain


def test_what_is_known_is_believed_and_added_to() -> None:
    """C1: a loop variable has no operation that makes it."""
    _program, value = _value("(m + 1) * 2")
    (inner, *_) = value.get_defining_op().operands_source()
    (m, *_) = inner.get_defining_op().operands_source()
    known = {m.id: m}
    assert bridge.has_elements(value, known)
    assert inner.id in known
    assert not bridge.has_elements(value, {})


def test_long_chains_take_no_stack() -> None:
    """B1: a function of any length."""
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        x = paddle.static.data("x", [-1], "float32")
        n = paddle.shape(x)[0]
        for _ in range(3000):
            x, n = x + 1, n + n
        row = paddle.zeros([n])
    assert bridge.has_elements(x, {})
    assert not bridge.has_elements(row, {})  # known no further than some operations back
