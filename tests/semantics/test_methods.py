"""Built-in functions, casts and methods, where tensors and Python values meet (rules E1, F1)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

ROW = tensor(1.0, -2.0, 3.0)


@pytest.mark.parametrize(
    "expression",
    [
        "(x > 0).any().item(), (x > 9).any().item(), x.item(1), x.astype('int32').sum().item()",
        "list(filter(lambda v: v > 0, [x[0], x[1], x[2] * 5]))",
        "list(filter(None, [0, 1, 2])), list(filter(lambda v: v > 1, (1, 2)))",
        "list(filter(None, [x[0], x[1] * 0]))",
        "x.view_as(x.reshape([3, 1]))",
        "x.view([3, 1]), x.reshape([3, 1]).view([-1])",
        "int('ff', 16), int('7', base=8), str(b'a', 'ascii'), float('1.5'), bool('')",
        "round(x.sum()), round(x.sum(), 1), round(2.567, 2), int(x.sum() * 1.5), bool(x.sum())",
        "all(v > 0 for v in x if v > -3), all(v > 0 for v in x if v > 0)",
        "any(v > 2 for v in x if v > 0), any(v > 5 for v in x if v > 0)",
    ],
)
def test_values(expression: str) -> None:
    """E1: the same values, of the same Python types."""
    assert_same(function_of(f"def f(x):\n    return {expression}"), ROW, grad=False)


@pytest.mark.parametrize(
    "text",
    [
        "', '.join([str(x.sum()), 'and', f'{x[0]}'])",
        "'{} is {name}'.format(x[0], name=x.sum())",
        "'-'.join(str(v) for v in x)",
        "all(seen(v) for v in x if v > 0)",
        "any(seen(v) for v in x if v > 0)",
        "all([seen(v) for v in x])",
    ],
)
def test_text_and_order(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    """E1, F1: what is printed, and that ``all`` and ``any`` stop where Python's do."""
    function = function_of(f"""
def f(x):
    def seen(v):
        print('seen', v)
        return v > 1
    print({text})
    return x
""")
    static = d2s.to_static(function)
    told = []
    for which in (function, static, static):
        for x in (tensor(1.0, -2.0, 3.0), tensor(2.0, 3.0, -4.0)):
            which(x)
        told.append(capfd.readouterr().out)
    assert told[0]
    assert told[1:] == [told[0], told[0]]


def test_a_cast_of_what_may_be_nothing() -> None:
    """E1, B2: the path without a number raises what Python raises, and only that path."""

    def f(x):
        y = None
        if x.sum() > 0:
            y = x.sum()
        return float(y)

    assert_same(f, tensor(1.0), tensor(-1.0), grad=False)


def test_a_function_that_a_tensor_has_chosen() -> None:
    """B4: it is called by code of d2s and by code that is not converted."""

    def f(x):
        act = paddle.tanh
        if x.sum() > 0:
            act = paddle.exp
        first, second = map(act, [x, x * 2])
        return act(x), first, second, sorted([2, 1], key=lambda v: -v)

    assert_same(f, tensor(1.0), tensor(-1.0))


def test_items_of_what_a_tensor_has_chosen() -> None:
    """B4: a list on one path, a tuple or nothing on the other."""

    def f(x):
        pair = None
        if x.sum() > 0:
            pair = [x, x * 2]
        else:
            pair = (x - 1, x - 2)
        a, b = pair
        return a, b, pair[0], pair[-1]

    def g(x):
        pair = None
        if x.sum() > 0:
            pair = [x, x * 2]
        if x.sum() > 1:
            a, b = pair
            return a + b
        return x

    assert_same(f, tensor(1.0), tensor(-1.0))
    assert_same(g, tensor(2.0), tensor(-1.0))
