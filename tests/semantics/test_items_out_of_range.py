"""An item that is not there raises in branches and loops as in dygraph (rules A1, F1).

Paddle reads what the memory held before, and assigns nothing.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import function_of, scalar, tensor

BODIES = {
    "read in a static loop": """
        s = paddle.zeros([])
        for k in range(n + 1):
            s = s + x[k]
        return s
    """,
    "counted from the end": """
        s = paddle.zeros([])
        for k in range(n + 1):
            s = s + x[-k - 1]
        return s
    """,
    "read in a branch": """
        if x.sum() > 0:
            return x[n] * 2
        return x[0]
    """,
    "a row": """
        s = paddle.zeros([2])
        for k in range(n + 1):
            s = s + m[k]
        return s
    """,
    "a column": """
        s = paddle.zeros([2])
        for k in range(n + 1):
            s = s + m.t()[:, k]
        return s
    """,
    "one of a matrix": """
        s = paddle.zeros([])
        for k in range(n + 1):
            s = s + m[k, 1]
        return s
    """,
    "a part of a row": """
        s = paddle.zeros([1])
        for k in range(n + 1):
            s = s + m[k, 1:]
        return s
    """,
    "a number where the size is open": """
        s, y = paddle.zeros([]), x[:4 - n]
        for k in range(n + 1):
            s = s + y[1]
        return s
    """,
    "a Python number of it": """
        s = 0.0
        for k in range(n + 1):
            s = s + float(x[k])
        return s
    """,
    "assigned": """
        y = x * 2
        y[n] = 5.0
        return y
    """,
    "assigned in a branch": """
        y = x * 2
        if x.sum() > 0:
            y[n] = 5.0
        return y
    """,
    "assigned in a static loop": """
        y = x * 2
        for k in range(n + 1):
            y[k] = y[0] + k
        return y
    """,
    "augmented": """
        y = x * 2
        for k in range(n + 1):
            y[k] += 1.0
        return y
    """,
    "one of a matrix assigned": """
        y = m * 2
        for k in range(n + 1):
            y[k, 0] = 1.0
        return y
    """,
    "one of a row assigned, whose size is the second": """
        y = m.t() * 2
        y[0, n] = 1.0
        return y
    """,
    "a number of a matrix where the size is open": """
        y = m[: 4 - n]
        s = paddle.zeros([])
        for k in range(n + 1):
            s = s + y[1, 0]
        return s
    """,
    "a number of a matrix assigned where the size is open": """
        y = m[: 4 - n] * 2
        y[1, 0] = 5.0
        return y
    """,
    "a part of a row assigned": """
        y = m * 2
        for k in range(n + 1):
            y[k, 1:] = 1.0
        return y
    """,
}
X = tensor(1.0, 2.0, 3.0)


def _function(name: str) -> Any:
    body = textwrap.indent(textwrap.dedent(BODIES[name]), "    ")
    return function_of(f"def f(x, n):\n    m = paddle.stack([x, x * 3], 1)\n{body}")


def _outcome(function: Any, count: int, *, training: bool) -> Any:
    x = X.clone().detach()
    x.stop_gradient = not training
    try:
        found = function(x, scalar(count))
    except IndexError as error:
        text, _, _ = str(error).partition(")." if "[-" in str(error) else "\n")
        return text
    if training:
        found.sum().backward()
        return found.tolist(), x.grad.tolist()
    return found.tolist() if isinstance(found, paddle.Tensor) else found


@pytest.mark.sampled(3, also=["a part of a row assigned-False"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_an_item_that_is_not_there(name: str, training: bool) -> None:
    """A1: the same error, after calls on which all are there, and before others."""
    function = _function(name)
    static = d2s.to_static(function, full_graph=True)
    training = training and "Python number" not in name
    for count in (1, 2, 3, 2):
        want = _outcome(function, count, training=training)
        assert _outcome(static, count, training=training) == want
        assert ("out of bounds" in str(want)) == (count > 2)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float64", "complex64"])
def test_items_of_every_dtype(dtype: str) -> None:
    """A1: what is there is taken."""
    x = paddle.to_tensor(np.array([1, 0, 3]).astype(dtype))

    def f(x: Any, n: Any) -> Any:
        y = x[0]
        for k in range(n):
            y = x[k]
        return y

    static = d2s.to_static(f, full_graph=True)
    assert [static(x, scalar(n)).tolist() for n in (1, 2, 3)] == x.tolist()


def test_the_error_names_the_line() -> None:
    """F1: that of the item."""
    function = _function("one of a matrix")
    with pytest.raises(IndexError) as raised:
        d2s.to_static(function, full_graph=True)(X, scalar(3))
    last = raised.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (function.__code__.co_filename, 6)


PARTS = {
    "from the end": "return m[n:, -1].any()",
    "at a number of the run": "return m[n:, n - 2].sum()",
    "of a part": "return (m[n:][:, 1] + 1).sum()",
    "the other way round": "return m[:, n:][n - 2].sum()",
    "in a loop": """
        s = x.sum()
        for k in range(n):
            s = s + m[k + 1:, -1].sum() + m[:k, k].sum() + m[k + 1:][:, k].sum()
        return s
    """,
    "the first of none": "return m[n:][0].sum()",
    "beyond the end of none": "return m[n:][n - 2].sum()",
    "beyond the end beside none": "return m[3:][:, n].sum()",
}


@pytest.mark.sampled(3, also=["in a loop", "the first of none"])
@pytest.mark.parametrize("name", PARTS)
def test_items_of_what_may_have_no_elements(name: str) -> None:
    """A1, F1: an item beside them is empty, as in dygraph; one behind the end raises."""
    body = textwrap.indent(textwrap.dedent(PARTS[name]).strip(), " " * 8)
    function = function_of(f"def f(x, m, n):\n    if x.sum() > 0:\n{body}\n    return x.sum()\n")
    open_sizes = [paddle.static.InputSpec([None] * size, "float32") for size in (1, 2)]
    spec = [*open_sizes, paddle.static.InputSpec([], "int64")]
    static = d2s.to_static(function, input_spec=spec, full_graph=True)
    for rows in (3, 4):
        for n in (2, 3, 4):
            given = tensor(1.0, 2.0), paddle.arange(rows * 3.0).reshape([rows, 3]), scalar(n)
            seen = []
            for f in (function, static):
                try:
                    seen.append(f(*given).item())
                except IndexError as error:
                    seen.append(str(error).split("(at")[0].strip())
            assert seen[0] == seen[1], (rows, n)
