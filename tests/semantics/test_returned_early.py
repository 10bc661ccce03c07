"""A container that is handed out as it is on one side, and grows on the other (B4, D1, F3).

``if done: return found`` in front of a loop that appends to ``found``: both sides leave one list,
which becomes one of the run in front of the branch, under all of its names.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

ROWS = (
    [0.0, 0.5, 0.7],
    [3.0, 0.1, 2.0],
    [0.0, 0.0, 0.0],
    [1.5, 1.2, 3.0],
)
X = [(tensor(*row),) for row in ROWS]

KINDS = {
    "a list": ("[]", "found.append(v)"),
    "a list with items": ("[x[1], x[2]]", "found.append(v)"),
    "texts": ("['begin']", "found.append(f'{float(v):.2f}')"),
    "tuples": ("[]", "found.append((k, round(float(v), 2)))"),
    "a set": ("set()", "found.add(k)"),
    "a dict": ("{}", "found[k] = v"),
    "a deque": ("collections.deque(maxlen=2)", "found.append(v)"),
    "a Counter": ("collections.Counter()", "found[int(v)] += 1"),
    "a defaultdict": ("collections.defaultdict(list)", "found[int(v)].append(v)"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_returned_before_a_loop_fills_it(kind: str) -> None:
    """B4, D1: empty or as it was made on these runs, filled on the others."""
    made, put = KINDS[kind]
    function = function_of(
        f"""
        import collections

        def f(x):
            found = {made}
            if x.sum() == 0:
                return found
            for k, v in enumerate(x):
                if v > 1:
                    {put}
            return found
        """,
        "f",
    )
    assert_same(function, *X)


FORMS = {
    "behind a helper that is called in a loop": """
def found_in(x):
    found = []
    if x.sum() == 0:
        return found
    for v in x:
        if v > 1:
            found.append(v)
    return found

def f(x):
    firsts = []
    for k in range(2):
        found = found_in(x - k)
        if len(found) > 0:
            firsts.append(found[0])
    return firsts
""",
    "with a break": """
def f(x):
    found = []
    if x.sum() == 0:
        return found
    for k in x.argsort().tolist():
        if x[k] > 2 or len(found) >= 2:
            break
        found.append(k)
    return found
""",
    "under another name": """
def f(x):
    found = []
    other = found
    if x.sum() == 0:
        return other, other is found
    for v in x:
        if v > 1:
            found.append(v)
    other.append(x[0])
    return found, other is found
""",
    "in a static loop": """
def f(x):
    found = [x]
    other = found
    if x.sum() > 0:
        n = paddle.zeros([])
        while n < 3:
            found.append(x * n)
            n = n + 1
    return found, other, other is found
""",
    "by a function that knows it": """
def f(x):
    found = []
    get = lambda: found
    if x.sum() == 0:
        return get()
    for v in x:
        if v > 1:
            found.append(v)
    return get()
""",
    "twice": """
def f(x):
    found = []
    if x[0] == 0:
        return found
    for v in x:
        if v > 1:
            found.append(v)
    if x[1] < 1:
        return found
    for v in x:
        if v > 2:
            found.append(v * 2)
    return found
""",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_handing_it_out(form: str) -> None:
    """B4, D1: values and identities are those of dygraph."""
    assert_same(function_of(FORMS[form], "f"), *X)


@pytest.mark.parametrize("full_graph", [True, False])
def test_the_callers_list(full_graph: bool) -> None:
    """F3: it is the caller's own that is given back, and filled, from call to call."""

    def f(x: Any, found: list[Any]) -> Any:
        if x.sum() == 0:
            return found
        for v in x:
            if v > 1:
                found.append(v)
        return found

    converted = d2s.to_static(f, full_graph=full_graph)
    wants: list[Any] = []
    gots: list[Any] = []
    for (x,) in X:
        assert f(x, wants) is wants
        assert converted(x, gots) is gots
        assert [float(v) for v in wants] == [float(v) for v in gots]


@pytest.mark.parametrize("full_graph", [True, False])
def test_a_list_in_an_attribute(full_graph: bool) -> None:
    """F3: the object's list is the one that is given back."""

    class Box:
        def __init__(self) -> None:
            self.rows: list[Any] = []

        def run(self, x: Any) -> Any:
            if x.sum() == 0:
                return self.rows
            for v in x:
                if v > 1:
                    self.rows.append(v * 2)
            return self.rows

    want = Box()
    got = copy.deepcopy(want)
    run = d2s.to_static(got.run, full_graph=full_graph)
    for (x,) in X:
        expected = want.run(x)
        found = run(x)
        assert found is got.rows
        assert [float(v) for v in expected] == [float(v) for v in found]
