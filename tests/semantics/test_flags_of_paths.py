"""C7: whether a result stops gradients depends on the path that was taken, as in dygraph."""

from __future__ import annotations

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
    "both": """
def f(x, w):
    if x.sum() > 0:
        y = x * w
    else:
        y = w * 2
    return y
""",
}


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

    static = called(d2s.to_static)
    plain = called(lambda function: function)
    assert [[_dense(each) for each in part] for part in static] == [
        [_dense(each) for each in part] for part in plain
    ]


def _dense(seen: Any) -> Any:
    """A gradient that there is not beside one of zeros: which of the two depends on the path."""
    return 0 if seen in ([0.0, 0.0], 0) else seen
