"""Numbers of the run as arguments of Paddle's functions (B3, A1).

What a program can do with them is right; where Paddle wants a Python number, there is a refusal
with a code, also in branches and loops; the process never ends.
"""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.nn import functional

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of

PLACES = {
    "plain": "return {call}",
    "branch": "y = x * 2\nif x.sum() > 0:\n    y = {call}\nreturn y",
    "loop": "y = x\nwhile n < 2:\n    y = {call}\n    n += 1\nreturn y",
    "try": (
        "try:\n"
        "    if x.sum() < -99:\n"
        "        raise ValueError('no')\n"
        "    y = {call}\n"
        "except KeyError:\n"
        "    y = x\n"
        "return y"
    ),
}

REFUSED = [
    "paddle.diagonal(m, offset=n)",
    "paddle.split(x, n)[0]",
    "paddle.chunk(x, n)[0]",
    "paddle.unbind(m, axis=n)[0]",
    "paddle.flatten(m, n - 1)",
    "paddle.transpose(m, [n, 1 - n])",
    "paddle.moveaxis(m, n, 0)",
    "m.amax(axis=n - 1)",
    "(m > 0).all(n - 1)",
    "(m > 0).any(axis=n - 1)",
    "paddle.strided_slice(m, n, [0], [1], [1])",
]

RIGHT = [
    "F.one_hot(paddle.zeros([3], 'int64'), num_classes=n + 1)",
    "paddle.split(x, [n, 4 - n])[0]",
    "paddle.repeat_interleave(x, n + 1)",
    "m.repeat_interleave(n + 1, axis=1)",
    "paddle.repeat_interleave(m, repeats=n + 1)",
    "paddle.lerp(x, x * 2, n * 0.25)",
    "x.lerp(y=x + 1, weight=float(x[0]) * 0.3)",
    "paddle.masked_fill(m, m > 2, n)",
    "m.masked_fill(m > 2, n * 0.5)",
    "paddle.put_along_axis(m, paddle.zeros([1, 4], 'int64'), n * 0.5, 0)",
    "paddle.where(x > 2, n * 0.5, x)",
    "(x > 2).where(x, n * 0.5)",
    "paddle.tril(m, diagonal=n)",
    "m.triu(n)",
    "paddle.rot90(m, n)",
    "paddle.histogram(x, 4, n, n + 2)",
    # These are called by each run, in dygraph.
    "paddle.diag(x, offset=n)",
    "paddle.trace(m, offset=n)",
    "paddle.kthvalue(x, n)[0]",
    "F.softmax(m, axis=n - 1)",
    "paddle.stack([m, m], axis=n - 1)",
    "paddle.histogram(x, bins=n)",
    "F.leaky_relu(x, n * 0.1)",
    "paddle.norm(x, p=n)",
    "paddle.logsumexp(m, axis=n - 1)",
    "paddle.roll(m, 1, axis=n - 1)",
    "paddle.flip(m, [n - 1])",
    "paddle.fft.fftn(m, axes=[n]).real()",
]


def made(call: str, place: str) -> Callable[..., Any]:
    body = PLACES[place].format(call=call)
    text = (
        "def f(x, k):\n"
        "    m = paddle.concat([x.unsqueeze(0)] * 4)\n"
        "    n = int(k)\n" + textwrap.indent(body, "    ") + "\n"
    )
    made: Callable[..., Any] = function_of(text, F=functional)
    return made


def given() -> tuple[Any, Any]:
    return paddle.to_tensor([1.0, 2.0, 3.0, 4.0]), paddle.to_tensor(1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", PLACES)
def test_where_paddle_wants_a_python_number(place: str) -> None:
    """A1: a refusal with a code, at the line of the call."""
    wrong = []
    for call in REFUSED:
        function = made(call, place)
        function(*given())  # dygraph goes
        try:
            d2s.to_static(function)(*given())
            wrong.append(f"{call}: not refused")
        except D2SError as error:
            if error.code not in ("D2S205", "D2S208") or error.line is None:
                wrong.append(f"{call}: {error}")
    assert wrong == []


@pytest.mark.parametrize("place", ["plain", "branch"])
@pytest.mark.parametrize("call", RIGHT)
def test_where_a_program_takes_it(call: str, place: str) -> None:
    """B3: a number of the run counts as the Python number that it stands for, with its dtype."""
    function = made(call, place)
    assert_same(function, *given())


SIZES = {
    "tril": "return x + paddle.tril(paddle.ones([n, n]), diagonal=n - 2).sum()",
    "branch": (
        "if n > 1:\n    x = x + paddle.tril(paddle.ones([n, n]), diagonal=n - 2).sum()\nreturn x"
    ),
    "branches": (
        "if x.sum() > 0:\n"
        "    if n > 1:\n"
        "        x = x + paddle.diag(paddle.ones([n]), offset=n - 2).sum()\n"
        "return x"
    ),
    "split": "if n > 1:\n    x = x + paddle.split(x, [1, n - 1])[0]\nreturn x",
    "unbind": "if n > 2:\n    x = x + x.unbind(0)[n - 1]\nreturn x",
    "loop": (
        "i = 0\n"
        "while i < n:\n"
        "    x = x + paddle.triu(paddle.ones([n, n]), n - 2).sum()\n"
        "    i += 2\n"
        "return x"
    ),
    "loop with a break": (
        "for i in range(3):\n"
        "    x = x + paddle.tril(paddle.ones([n, n]), diagonal=i).sum()\n"
        "    if x.sum() > 40:\n"
        "        break\n"
        "return x"
    ),
    "try": (
        "try:\n"
        "    if x.sum() < -99:\n"
        "        raise ValueError('no')\n"
        "    x = x + paddle.tril(paddle.ones([n, n]), diagonal=n - 2).sum()\n"
        "except KeyError:\n"
        "    x = x * 2\n"
        "return x"
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_as_a_python_number(name: str) -> None:
    """C3: where a function does not go with an open size, each size has a program of its own."""
    body = textwrap.indent(SIZES[name], "    ")
    function = function_of(f"def f(x):\n    n = x.shape[0]\n{body}\n")
    converted = d2s.to_static(function)
    for size in (4, 3, 5, 3):
        x = paddle.arange(size, dtype="float32")
        assert_same(function, x, static=converted)


def test_functions_that_are_not_paddles_are_not_said_to_be() -> None:
    """A1: the refusal of another library's function does not speak of Paddle's programs."""
    function = function_of(
        "def f(x):\n    return x * len(struct.pack('i', int(x[0])))\n", struct=struct
    )
    with pytest.raises((D2SError, TypeError)) as caught:
        d2s.to_static(function)(given()[0])
    assert "Paddle's programs take" not in str(caught.value)
