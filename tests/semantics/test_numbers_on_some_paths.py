"""A variable that is a Python number on some paths and a tensor on the others, and who can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor


def seen(found: Any) -> Any:
    """Types and values: a number as it is, bit by bit."""
    if isinstance(found, paddle.Tensor):
        return str(found.dtype), list(found.shape), found.tolist()
    if isinstance(found, list | tuple):
        return type(found), [seen(item) for item in found]
    if isinstance(found, dict):
        return {key: seen(item) for key, item in found.items()}
    return type(found), repr(found)


BRANCHES = {
    "a float": "n = 0.1\nif x > 0:\n    n = x\nreturn n",
    "a large int": "n = 123456789\nif x > 0:\n    n = x\nreturn n",
    "in containers": "n = 0.1\nif x > 0:\n    n = x\nout = [n, (n,)]\nif x > 2:\n"
    "    out.append(n)\nreturn out, {'n': n}",
    "computed with": "n = 0.1\nif x > 0:\n    n = x\nreturn n * 3, -n, n + n, 7 / (n + 1)",
    "branch after branch": "n = 0.1\nif x > 0:\n    n = x\nif x > 1:\n    n = n + 1\nif x < -1:\n"
    "    n = n / 3\nreturn n",
    "another number": "n = 0.1\nif x > 0:\n    n = x\nif x < -1:\n    n = 0.7\nreturn n",
    "text": "n = 0.1\nif x > 0:\n    n = x\nreturn f'{n}', str(n)",
    "is_tensor": "n = 0.1\nif x > 0:\n    n = x\n"
    "return paddle.is_tensor(n), isinstance(n, float), type(n) is float",
    "is_tensor of a number of the run": "n = 0\nif x > 0:\n    n = 1\nreturn paddle.is_tensor(n)",
}

LOOPS = {
    "in a list": "n, out = 0, []\nwhile x < 3:\n    out.append(n)\n    if x > 1:\n"
    "        n = n + x\n    x = x + 1\nreturn out, n",
    "in a list, in the first trip": "n, out = 0, []\nwhile x < 3:\n    out.append(n)\n"
    "    n = n + x\n    x = x + 1\nreturn out, n",
    "asked in a trip": "n, k = 0, 0\nwhile x < 3:\n    if isinstance(n, int):\n        k += 1\n"
    "    if x > 1:\n        n = n + x\n    x = x + 1\nreturn k, n",
    "asked in the first trip": "n, k = 0, 0\nwhile x < 3:\n    if not paddle.is_tensor(n):\n"
    "        k += 1\n    n = n + x\n    x = x + 1\nreturn k, n",
    "kept from trip to trip": "n, last = 0, None\nwhile x < 3:\n    last = n\n    if x > 1:\n"
    "        n = n + x\n    x = x + 1\nreturn last, n",
    "kept in a dict": "n, d = 0, {'a': 0}\nwhile x < 3:\n    d['a'] = n\n    if x > 1:\n"
    "        n = n + x\n    x = x + 1\nreturn d, n",
    "set back": "n, out = 0.1, []\nwhile x < 3:\n    out.append(n)\n    n = x\n    if x > 1:\n"
    "        n = 0.3\n    x = x + 1\nreturn out, n",
    "counted on": "n = 0.1\nwhile x < 3:\n    if x > 2:\n        n = x\n    else:\n"
    "        n = n + 0.2\n    x = x + 1\nreturn n",
    "a tensor becomes a number": "n, out = x, []\nwhile x < 3:\n    out.append(n)\n    n = 0\n"
    "    if x > 1:\n        n = x\n    x = x + 1\nreturn out, n",
    "loop in loop": "n, out = 0, []\nwhile x < 3:\n    y = x\n    while y < 3:\n"
    "        out.append(n)\n        if y > 1:\n            n = n + y\n"
    "        y = y + 1\n    x = x + 1\nreturn out, n",
    "before the loop": "n = 0\nif x > 0:\n    n = x\nout = []\nwhile x < 3:\n    out.append(n)\n"
    "    if x > 1:\n        n = n + 1\n    x = x + 1\nreturn out, n",
    "left early": "best = 0.1\nfor i in range(100):\n    if x > 3:\n        break\n    if x > 1:\n"
    "        best = x * 1.0\n    x = x + 1\nreturn best",
}


def function_with(text: str) -> Callable[[Any], Any]:
    body = "\n".join(f"    {line}" for line in text.splitlines())
    return function_of(f"import paddle\ndef f(x):\n{body}\n")


@pytest.mark.parametrize("name", BRANCHES)
def test_behind_a_branch(name: str) -> None:
    """B3: the number is the very number, and everything tells it from a tensor."""
    plain = function_with(BRANCHES[name])
    converted = d2s.to_static(plain, full_graph=True)
    for value in (1.0, -0.5, -2.0, 3.0):
        assert seen(converted(scalar(value))) == seen(plain(scalar(value)))


@pytest.mark.sampled(3, also=["kept from trip to trip", "kept in a dict", "asked in a trip"])
@pytest.mark.parametrize("name", LOOPS)
def test_in_the_trips_of_a_loop(name: str) -> None:
    """C4: a trip that has the number has it, whoever asks."""
    plain = function_with(LOOPS[name])
    converted = d2s.to_static(plain, full_graph=True)
    for value in (0.0, 2.0, 1.0, 2.5, 5.0):
        assert seen(converted(scalar(value))) == seen(plain(scalar(value)))


@pytest.mark.parametrize("text", ["n = n + x * w", "n = x * w"])
def test_gradients(text: str) -> None:
    """C7: they flow on the paths on which it is a tensor."""
    plain = function_of(
        f"def f(x, w):\n    n = 0\n    while x < 3:\n        if x > 1:\n            {text}\n"
        "        x = x + 1\n    return n\n"
    )
    converted = d2s.to_static(plain, full_graph=True)
    for value in (0.0, 2.5, 5.0, 1.5):
        found = []
        for function in (plain, converted):
            weight = paddle.to_tensor(2.0, stop_gradient=False)
            result = function(scalar(value), weight)
            if isinstance(result, paddle.Tensor):
                result.backward()
            found.append((seen(result), weight.grad is None or weight.grad.item()))
        assert found[0] == found[1]


SUMS = {
    "tensors": ("x * 0.1", "sum(out), sum(out) + 1, sum(out, 2.5)"),
    "vectors": ("paddle.ones([2]) * x", "sum(out), paddle.ones([2]) + sum(out)"),
    "floats": ("float(x)", "sum(out), sum(out, 1.5), sum(out) * 2"),
    "ints": ("int(x)", "sum(out), sum(out, 1.5), x + sum(out)"),
}


@pytest.mark.parametrize("name", SUMS)
def test_the_sum_of_no_items(name: str) -> None:
    """E1: it is the number that the sum begins with."""
    item, use = SUMS[name]
    plain = function_with(
        f"out = []\nwhile x < 3:\n    out.append({item})\n    x = x + 1\nreturn {use}"
    )
    converted = d2s.to_static(plain, full_graph=True)
    for value in (0.0, 5.0, 2.0):
        assert seen(converted(scalar(value))) == seen(plain(scalar(value)))


RAISING = {
    "1 / n": "0", "x * 0 + 3 // n": "0", "3.5 % n": "0.0", "n ** -1": "0",
    "x.astype('int64') << n": "-1",
}  # fmt: skip
"""What raises for a number, and the number."""


@pytest.mark.parametrize("use", [*RAISING, "x / sum(out)"])
def test_an_operator_that_raises_for_the_number(use: str) -> None:
    """F1, B3: it raises where the variable is the number, and nowhere else."""
    if use == "x / sum(out)":
        text = "out = []\nif x > 0:\n    out.append(x)\nif x > 1:\n    out.append(x)\n"
        text += "return 1 / sum(out), [y / sum(out) for y in out]"
    else:
        made = "x.astype('int64')" if "<<" in use else "x * 2"
        text = f"n = {RAISING[use]}\nif x > 0:\n    n = {made}\nreturn {use}"
    assert_same(function_with(text), scalar(1.0), scalar(3.0), scalar(-1.0))


OPERATORS = "+ - * / // % ** @ & | ^ << >>".split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("start", ["1", "2.5", "True"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_computing_with_what_is_none_on_some_paths(
    operator: str, start: str, swapped: bool
) -> None:
    """F1: the run raises what Python raises for a number and None, in its words."""
    use = f"m {operator} n" if swapped else f"n {operator} m"
    plain = function_with(
        f"n, m = {start}, None\nif x > 0:\n    n = n + n if n is not True else False\n"
        f"if x > 5:\n    m = {start}\nreturn {use}"
    )
    assert_same(plain, scalar(-1.0), scalar(1.0))


NO_COMMON_DTYPE = {
    "an int64 or a float": "return n if x.sum() > 0 else 2.5",
    "of an if": "r = 2.5\nif x.sum() > 0:\n    r = n\nreturn r, r * 2, r + 1, x * r, f'{r}'",
    "a bool or an int": "return (x[0] > 0) or 4, (x[0] > 0) and 4",
    "an int64 or a float of or": "return n or 2.5, n and 2.5",
    "in a list": "l = [2.5, 1]\nif x.sum() > 0:\n    l[0] = n\n    l[1] = x[0] > 0\nreturn l",
    "in a dict": "d = {'a': 1.5}\nif x.sum() > 0:\n    d['a'] = n\nreturn d, d['a'] + 1",
    "a mask": "m = (x > 0) if x.sum() > 0 else 1\nreturn x * m, m",
    "large": "r = n + 16777216 if x.sum() > 0 else 0.5\nreturn r, int(r)",
    "chosen twice": "r = n if x.sum() > 0 else 2.5\nr = r * 2\nif r > 5:\n    r = r + 1\nreturn r",
    "in a static loop": "r, s = 2.5, x.sum()\nwhile s > 3:\n    s, r = s - 1, n\nreturn r, r + 1",
    "a number in a static loop": "r, s = n, 0\nwhile s < x.sum():\n    s, r = s + 1, 2.5\nreturn r",
    "left early": "r = 1.5\nfor v in x.astype('int64'):\n    if v > r:\n        r = v\nreturn r",
    "a condition": "r = n if x.sum() > 0 else 2.5\nif r > 3:\n    return r\nreturn r - 1",
}


@pytest.mark.sampled(3, also=["a number in a static loop"])
@pytest.mark.parametrize("name", NO_COMMON_DTYPE)
def test_a_number_that_would_give_a_tensor_another_dtype(name: str) -> None:
    """B3: the tensor keeps its own, and the number is a number: they are two forms."""
    lines = "".join(f"    {line}\n" for line in NO_COMMON_DTYPE[name].split("\n"))
    function = function_of(f"def f(x):\n    n = x.astype('int64').sum()\n{lines}")
    calls = tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(0.0, 0.0, 0.0)
    assert_same(function, *calls, static=d2s.to_static(function, full_graph=True))
    assert_same(function, *calls, static=d2s.to_static(function, full_graph=False))
