"""What an f-string shows of a tensor's numbers is left to the run (rule F1)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import NotStaticError
from tests.helpers import function_of, tensor


@pytest.mark.parametrize(
    "shown",
    [
        "x.numpy()[0]",
        "x.numpy()[0, 1]",
        "x.numpy()[-1, 0:2]",
        "x.numpy()[0][1]",
        "x.numpy().shape",
        "x.tolist()[1][:-1]",
        "x.numpy().astype(dtype='int64')[0]",
    ],
)
def test_numbers_in_a_text(shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    """F1: the same text as in dygraph, on every run."""
    function = function_of(f'def f(x):\n    print(f"numbers {{{shown}}}")\n    return x')
    static = d2s.to_static(function)
    inputs = [paddle.arange(6, dtype="float32").reshape([2, 3]) + start for start in (0, 5)]
    seen = []
    for which in (function, static, static):
        for x in inputs:
            which(x)
        seen.append(capfd.readouterr().out)
    assert seen[0].count("numbers ") == 2
    assert seen[1:] == [seen[0], seen[0]]


def test_numbers_that_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """F1: an argument of ``print`` is only shown, and so left to the run."""
    function = function_of("def f(x):\n    print('got', x.numpy(), x.tolist()[0])\n    return x")
    static = d2s.to_static(function)
    seen = []
    for which in (function, d2s.convert(function), static, static):
        for start in (0.0, 5.0):
            which(tensor(start, 1.0))
        seen.append(capfd.readouterr().out)
    assert seen[0].count("got ") == 2
    assert seen[1:] == [seen[0]] * 3


def test_numbers_that_another_function_is_given() -> None:
    """E5: it may do anything with them."""
    function = function_of("""
        def g(numbers):
            return len(memoryview(numbers))

        def f(x):
            return x * g(x.numpy())
    """)
    with pytest.raises(NotStaticError, match="memoryview"):
        d2s.to_static(function)(tensor(1.0, 2.0))


@pytest.mark.parametrize(
    "shown",
    ["{'%.2f' % x.sum().item()} of it", "{f'<{x}>'} of it", "{x.sum().item():{'%d.2f' % 7}}"],
)
def test_a_text_inside_of_a_text(shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    """F1: what is put into a text may be made of text itself, whose tensors the run fills in."""
    function = function_of(f'def f(x):\n    print(f"text {shown}")\n    return x')
    static = d2s.to_static(function)
    seen = []
    for which in (function, static, static):
        for x in (tensor(1.0, 2.0), tensor(5.0, -2.5)):
            which(x)
        seen.append(capfd.readouterr().out)
    assert seen[0].count("text ") == 2
    assert seen[1:] == [seen[0], seen[0]]
