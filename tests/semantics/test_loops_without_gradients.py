"""C7: a program with loops that no gradient goes through trains as one without loops does."""

from __future__ import annotations

import textwrap
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

BODIES = {
    "a count": """
        n, v = paddle.to_tensor(0), x.detach()
        while v.sum() > 1:
            v, n = v * 0.5, n + 1
        return (x * w).sum() * n
    """,
    "a mask, written item by item": """
        mask, at = paddle.zeros([3]), paddle.to_tensor(0)
        while at < 3:
            if x[at] > 0.4:
                mask[at] = 1.0
            at = at + 1
        return (x * w * mask).tanh().sum()
    """,
    "under no_grad, with parameters in it": """
        with paddle.no_grad():
            v = x * 1
            while v.sum() < 20:
                v = v * w + 1
        return (x * v).sum()
    """,
    "in a branch": """
        y = x * w
        if x.sum() > 3:
            n = paddle.to_tensor(1)
            while n < x.sum():
                n = n * 2
            y = y * n.astype("float32")
        return (y * y).sum()
    """,
    "of which values are known only to its trips": """
        n, seen = paddle.to_tensor(0), paddle.to_tensor(0.0)
        while n < 4:
            seen = seen + (x * w).sum().detach()
            n = n + 1
        return x.sum() * seen
    """,
    "a loop in it that stops": """
        k, total = paddle.to_tensor(0), paddle.to_tensor(0)
        while k < 3:
            j = paddle.to_tensor(0)
            while j < k:
                j, total = j + 1, total + 1
            k = k + 1
        return (x * w).sum() * total
    """,
    "that prints": """
        k = paddle.to_tensor(0)
        while k < 2:
            print("k", int(k))
            k = k + 1
        return (x * w).sum() * k
    """,
}

TRAINED = {
    "a list, whose array Paddle makes a gradient of": """
        v = x.detach()
        found = [v.sum()]
        while v.sum() > 1:
            v = v * 0.5
            found.append(v.sum())
        return (w * paddle.stack(found).sum()).exp().sum() * x.sum()
    """,
    "one that gradients go through": """
        n, y = paddle.to_tensor(0), x
        while n < 3:
            y, n = y * w, n + 1
        return y.sum()
    """,
    "beside one of which no gradient comes": """
        n, y = paddle.to_tensor(0), x
        while n < 3:
            n = n + 1
        while y.sum() < 30:
            y = y * w + n
        return y.sum()
    """,
    "a list of what gradients go to": """
        found, n = [], paddle.to_tensor(0)
        while n < 3:
            found.append(x * w * n)
            n = n + 1
        return found[0].sum() + found[2].exp().sum() + len(found)
    """,
    "an item of a tensor written": """
        y, n = paddle.zeros([3]), paddle.to_tensor(0)
        while n < 3:
            y[n] = x[n] * w[n]
            n = n + 1
        return (y * y).sum()
    """,
}


def of(body: str) -> Any:
    return function_of("def f(x, w):\n" + textwrap.indent(textwrap.dedent(body), "    "))


def run(f: Any, numbers: list[float], times: int = 1) -> list[Any]:
    x, w = paddle.to_tensor(numbers), paddle.to_tensor([0.5, 1.5, 1.25])
    x.stop_gradient = w.stop_gradient = False
    result = f(x, w)
    for left in reversed(range(times)):
        result.backward(retain_graph=left > 0)
    gradients = [each.numpy().tolist() if each is not None else [] for each in (x.grad, w.grad)]
    return [float(result), *gradients[0], "w", *gradients[1]]


def close(expected: list[Any]) -> list[Any]:
    return [pytest.approx(each) if isinstance(each, float) else each for each in expected]


@pytest.mark.parametrize("full", [True, None])
@pytest.mark.parametrize("name", [*BODIES, *TRAINED])
def test_gradients_beside_loops(name: str, full: bool | None, capsys: Any) -> None:
    plain = of({**BODIES, **TRAINED}[name])
    f = d2s.to_static(plain, full_graph=full)
    for numbers in ([1.0, 2.0, 0.25], [0.1, 0.2, 0.3], [1.0, 2.0, 0.25], [4.0, 0.5, 1.0]):
        expected = run(plain, numbers)
        said = capsys.readouterr().out
        assert run(f, numbers) == close(expected)
        assert capsys.readouterr().out == said


@pytest.mark.parametrize("name", [*BODIES, *TRAINED])
def test_only_loops_of_gradients_are_computed_again(name: str) -> None:
    f = d2s.to_static(of({**BODIES, **TRAINED}[name]), full_graph=True)
    run(f, [1.0, 2.0, 0.25])
    (entry,) = f._programs.entries
    assert entry.runner.captured.has_loop == (name in TRAINED)


@pytest.mark.parametrize("name", [each for each in BODIES if each != "that prints"])
def test_a_second_backward_through_one_call(name: str) -> None:
    plain = of(BODIES[name])
    f = d2s.to_static(plain, full_graph=True)
    for numbers in ([1.0, 2.0, 0.25], [4.0, 0.5, 1.0]):
        assert run(f, numbers, 2) == close(run(plain, numbers, 2))
