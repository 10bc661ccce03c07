"""``reduce``, ``map``, ``chain`` and others over lists whose length a tensor decides (C5, D1)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [tensor(0.55, 0.72, 0.6, 0.4), tensor(0.4, 0.3, 0.1, 0.2), tensor(0.9, 0.1, 0.8, 0.7)]

EXPRESSIONS = [
    "functools.reduce(lambda a, b: a * 0.5 + b, reversed(list(c)), x[0] * 0)",
    "functools.reduce(lambda a, b: a + b, c, 0.0)",
    "functools.reduce(lambda a, b: a * 0.5 + b, [x[0], *c])",
    "sum(itertools.chain(c, [x[1]], c))",
    "list(itertools.islice(c, 2))",
    "[a * b for a, b in itertools.pairwise(c)]",
    "sum(map(lambda a, b: a * b, c, c[1:]), x[0] * 0)",
    "len(list(map(lambda v: v * 2, c))), len([v for v in filter(lambda v: v > 0.6, c)])",
    "(c or [x[0] * 0])[-1]",
    "len(c or [x[0], x[1]]), len([0.0, *reversed(c)])",
]


def of(expression: str) -> object:
    """A function of ``x`` that gives this of a list ``c`` of those that are large."""
    return function_of(
        f"""
import functools, itertools

def f(x):
    c = []
    for i in range(4):
        if x[i] > 0.5:
            c.append(x[i])
    return {expression}
""",
        "f",
    )


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_function_over_a_list_of_the_run(expression: str) -> None:
    """C5, D1: functions of Python that go over a list go over one of the run."""
    assert_same(of(expression), *X)


def test_reduce_of_nothing_raises_on_the_run() -> None:
    """F1: in Python's words, only where there is nothing."""
    f = of("functools.reduce(lambda a, b: a + b, c)")
    assert_same(f, X[0], X[2])
    with pytest.raises(TypeError, match="empty iterable with no initial value"):
        d2s.to_static(f, full_graph=True)(X[1])


def test_one_of_two_lists_that_another_name_knows_is_not_changed_behind_its_back() -> None:
    """B4: what stands for one of two lists is refused a change that the other would not see."""
    for change in ("c.append(x[2])", "top.append(x[2])"):
        text = f"""
def f(x):
    c = []
    for i in range(4):
        if x[i] > 0.5:
            c.append(x[i])
    top = c or [x[0] * 0]
    {change}
    return top, c
"""
        with pytest.raises(ContainerInGraphError, match="put into another one"):
            d2s.to_static(function_of(text, "f"), full_graph=True)(X[0])
