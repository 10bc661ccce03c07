"""C7: whether a result stops gradients depends on the path that was taken, as in dygraph."""

from __future__ import annotations

import functools
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

PROGRAMS = {
    "early return": """
def f(x, w):
    if not (x > 0).any():
        return paddle.zeros([])
    return (x * w).sum()
""",
    "in a tuple": """
def f(x, w):
    if x.sum() < 0:
        return None, paddle.zeros([]), x.detach()
    return 3, (x * w).sum(), x * 2
""",
    "elif": """
def f(x, w):
    y = paddle.ones([2])
    much, some = x.sum() > 3, x.sum() > 0
    if much:
        y = x * w
    elif some:
        y = x * 1.5
    return y * 2, y + w
""",
    "unrolled": """
def f(x, w):
    total = paddle.zeros([])
    for i in range(2):
        if x[i] > 0:
            total = total + (x[i] * w).sum()
    return total / 2, total + w.sum()
""",
    "no_grad": """
def f(x, w):
    y = x
    if x.sum() > 0:
        with paddle.no_grad():
            y = x * w
    return y * 1
""",
    "state": """
def f(x, w):
    if x.sum() > 0:
        kept["last"] = (x * w).sum()
    else:
        kept["last"] = paddle.zeros([])
    return kept["last"] + 1
""",
    "a branch in a branch": """
def f(x, w):
    y = paddle.ones([2])
    if x.sum() > 0:
        z = x + 1
        if z[1] > 2:
            y = x * w
    else:
        y = x.detach()
    return y * 2
""",
    "trips of a loop": """
def f(x, w):
    total = rest = paddle.zeros([2])
    n = 0
    while (total < 1).any() and n < 4:
        rest = rest + (1 - total)
        total = total + x.detach() * w
        n += 1
    return rest, total, rest + w, n
""",
    "no trip": """
def f(x, w):
    total = paddle.zeros([2])
    while total.sum() < x.sum():
        total = total + x * w
    return total
""",
    "a branch in a loop": """
def f(x, w):
    best = paddle.zeros([])
    i = paddle.zeros([], "int64")
    while i < 2:
        if x[i] > best:
            best = (x[i] * w).sum()
        i = i + 1
    return best, best * 2
""",
    "a loop in a loop": """
def f(x, w):
    best, i = paddle.zeros([]), paddle.zeros([], "int64")
    while i < 2:
        j = paddle.zeros([], "int64")
        while j < 2 and x[i] > 0:
            if x[j] > 2:
                best = best + w[j]
            j = j + 1
        i = i + 1
    return best, i, best * 2
""",
    "a gradient that a trip ends": """
def f(x, w):
    y, n = x * w, paddle.zeros([])
    while y.sum() < 4:
        n = n + 1
        y = y.detach() + 3
    return y, n
""",
    "a loop in a branch": """
def f(x, w):
    y = x.detach()
    if x.sum() > 0:
        while y.sum() < 2:
            y = y + w
    return y, y * 2
""",
    "both": """
def f(x, w):
    if x.sum() > 0:
        y = x * w
    else:
        y = w * 2
    return y
""",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_path_that_was_taken_decides(name: str) -> None:
    """C7: ``stop_gradient``, ``is_leaf`` and the gradients, for runs on all paths."""

    def called(convert: Any) -> list[Any]:
        kept: dict[str, Any] = {}
        f = convert(function_of(PROGRAMS[name], "f", kept=kept))
        seen = []
        for values in ([1.0, 3.0], [-1.0, -3.0], [2.0, -1.0], [1.0, 0.5], [-1.0, -3.0]):
            x = paddle.to_tensor(values, stop_gradient=False)
            w = paddle.to_tensor([2.0, 0.5], stop_gradient=False)
            result = f(x, w)
            results = [*(result if isinstance(result, tuple) else [result]), *kept.values()]
            tensors = [each for each in results if isinstance(each, paddle.Tensor)]
            seen.append([(each.tolist(), each.stop_gradient, each.is_leaf) for each in tensors])
            live = [each.sum() for each in tensors if not each.stop_gradient]
            if live:
                sum(live).backward()
            gradients = [each.grad for each in (x, w)]
            seen.append([0 if each is None else each.tolist() for each in gradients])
        return seen

    static = called(functools.partial(d2s.to_static, full_graph=True))
    plain = called(lambda function: function)
    assert [[_dense(each) for each in part] for part in static] == [
        [_dense(each) for each in part] for part in plain
    ]


@pytest.mark.parametrize("gradient", [True, False])
def test_a_long_program(gradient: bool) -> None:
    """C7: nothing recurses as deep as a program is long."""

    def f(x: paddle.Tensor) -> paddle.Tensor:
        for _ in range(600):
            x = x * 1.0001 + 1
        return x

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=not gradient)
    result = d2s.to_static(f, full_graph=True)(x)
    assert result.stop_gradient is f(x).stop_gradient
    assert result.allclose(f(x))


def _dense(seen: Any) -> Any:
    """A gradient that there is not beside one of zeros: which of the two depends on the path."""
    return 0 if seen in ([0.0, 0.0], 0) else seen
