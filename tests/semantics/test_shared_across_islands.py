"""D1, E1: memory that islands share with the code around them, and the variables it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")


def size(x: Any) -> int:
    return len(bytes(memoryview(x.numpy())))


def fill(x: Any) -> None:
    x[0] = 7.0


def array_behind_a_break(x: Any) -> Any:
    a = np.exp(x.numpy()) * 2 + 3
    b = a[1:]
    b[0] = 42
    c = a[::-1]
    c[0] = size(x)
    return a, b, c


def array_in_a_callee(x: Any) -> Any:
    a = np.exp(x.numpy()) * 2 + 3 - np.sin(x.numpy())
    b = a[::-1]
    size(x)
    fill(b)
    return a, b


def tensor_in_a_callee(x: Any) -> Any:
    a = paddle.exp(x) * 2 + 3 - x.sin() * x.cos()
    b = a[1:]
    size(x)
    fill(b)
    return a, b


def tensor_by_keyword(x: Any) -> Any:
    a = paddle.exp(x) * 2 + 3 - x.sin() * x.cos()
    b = a.reshape([3, 1])
    size(x)
    fill(x=b)
    return a, b


def variables(x: Any) -> Any:
    a = x * 2 + x.sum() - x.mean() * x.max()
    size(a)
    b = a * 3 + a.sum() - a.mean() * a.max()
    return sorted(locals()), sorted(vars()), eval("a"), b


HEAD = """
    def f(x):
        a, b = x * 2 + 1 - 1, x * 3 + 2 - 2
        z = (a + b).tanh().exp() + 1
        c = {choice}
        n = size(c)
        {use}
"""

USES = {
    "is": "return c is a, c is b, z",
    "id": "return len({id(t) for t in (a, b, c)})",
    "an in-place method": "c.add_(paddle.ones([3])); return a, b, c, (a + 1).tanh().exp() + b",
    "an item": "c[0] = 7.0; return a, b, c, (a + 1).tanh().exp() + b",
    "a callee": "fill(c); return a, b, c",
    "a flag": "c.stop_gradient = False; return a.stop_gradient, b.stop_gradient",
}

CHOICES = {
    "a conditional": "a if x[0] > 0 else b",
    "the greatest": "max(a, b, key=lambda v: v.sum())",
    "an item": "[a, b][int(x[0] > 0)]",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_tensor_that_is_one_of_several(choice: str, use: str) -> None:
    """B5, F3: which one it is, code outside of the island sees as in dygraph."""
    text = HEAD.format(choice=choice, use=use.replace("; ", "\n        "))
    function = function_of(text, size=size, fill=fill, paddle=paddle)
    converted = d2s.to_static(function, full_graph=False)
    for values in ((2.0, 1.0, 3.0), (-1.0, -3.0, 1.0)):
        got, want = (f(tensor(*values)) for f in (converted, function))
        assert str(got) == str(want)


@pytest.mark.parametrize(
    "function",
    [array_behind_a_break, array_in_a_callee, tensor_in_a_callee, tensor_by_keyword, variables],
)
def test_as_in_dygraph(function: Any) -> None:
    """D1: what is changed through one name is seen through the other, island or not."""
    f = d2s.to_static(function, full_graph=False)
    for _ in range(3):
        got, want = f(tensor(1.0, 2.0, 3.0)), function(tensor(1.0, 2.0, 3.0))
        assert [np.asarray(each).tolist() for each in got] == [
            np.asarray(each).tolist() for each in want
        ]


def test_set_value_of_an_array() -> None:
    """E5: ``set_value`` takes an array of the run."""

    def f(x: Any) -> Any:
        y = paddle.zeros([3])
        y.set_value(x.numpy() * 2)
        return y + 1

    g = d2s.to_static(f, full_graph=True)
    for number in (1.0, 2.0):
        x = tensor(number, 2.0, 3.0)
        assert g(x).tolist() == f(x).tolist()
