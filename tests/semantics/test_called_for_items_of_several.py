"""Functions that built-ins call for items of one of several lists, and that change something."""

from __future__ import annotations

import functools
import heapq
import itertools
import textwrap
from typing import Any

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

CALLS = {
    "list": "out = list(map(put, rows))",
    "for": "out = []\nfor y in map(put, rows):\n    out.append(y)",
    "star": "out = [*map(put, rows)]",
    "two": "out = list(map(lambda a, b: put(a) + b, rows, rows))",
    "sum": "out = [sum(map(put, rows))]",
    "filter": "out = list(filter(lambda v: put(v).sum() > 3, rows))",
    "sorted": "out = sorted(rows, key=lambda v: put(v).sum())",
    "max": "out = [max(rows, key=lambda v: put(v).sum())]",
    "min": "out = [min(rows, key=lambda v: put(v).sum())]",
    "reduce": "out = [functools.reduce(lambda a, b: a + put(b), rows)]",
    "reduce from": "out = [functools.reduce(lambda a, b: a + put(b), rows, x * 0)]",
    "starmap": "out = list(itertools.starmap(put, [(v,) for v in rows]))",
    "starmap of a zip": "out = list(itertools.starmap(lambda a, b: put(a) + b, zip(rows, rows)))",
    "sort": "out = list(rows)\nout.sort(key=lambda v: put(v).sum())",
    "nlargest": "out = heapq.nlargest(1, rows, key=lambda v: put(v).sum())",
    "comprehension": "out = [put(v) for v in rows]",
}
"""Each calls ``put`` for the items of ``rows``."""


class Box:
    def __init__(self, n: Any) -> None:
        self.n = n


CHANGES = {
    "tensor in a dict": ("seen = {'n': x * 0}", "seen['n'] = seen['n'] + v", "seen['n']"),
    "number in a dict": ("seen = {'n': 0}", "seen['n'] += 1", "seen['n']"),
    "list": ("seen = []", "seen.append(1)", "list(seen)"),
    "attribute": ("box = Box(0)", "box.n += 1", "box.n"),
    "variable": ("n = 0", "nonlocal n\nn += 1", "n"),
}
"""What ``put`` changes: how it begins, the change, and how it is read."""


def _function(call: str, change: str) -> Any:
    begin, changing, read = CHANGES[change]
    body = (
        f"{begin}\n"
        f"def put(v):\n{textwrap.indent(changing, '    ')}\n    return v * 2\n"
        "rows = [x, x + 1] if t > 0 else [x]\n"
        f"{CALLS[call]}\n"
        f"return out, {read}"
    )
    text = f"def f(x, t):\n{textwrap.indent(body, '    ')}\n"
    return function_of(text, Box=Box, functools=functools, heapq=heapq, itertools=itertools)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.sampled(2)
def test_what_it_changes(call: str, change: str) -> None:
    """A1: it changes what it changes for the list that the run takes, and for no other one."""
    x = tensor(1.0, 0.5)
    assert_same(_function(call, change), (x, scalar(1.0)), (x, scalar(-1.0)))


def test_accumulate_is_refused() -> None:
    """A1: what would be changed when the items are asked for is a coded error."""

    def f(x: Any, t: Any) -> Any:
        seen = []
        rows = [x, x + 1] if t > 0 else [x]

        def add(a: Any, b: Any) -> Any:
            seen.append(1)
            return a + b

        return list(itertools.accumulate(rows, add)), len(seen)

    with pytest.raises(UnsupportedInGraphError, match=r"accumulate\(\) calls a function"):
        d2s.to_static(f)(tensor(1.0), scalar(1.0))
    plain = d2s.to_static(f, full_graph=False)
    for sign in (1.0, -1.0):
        assert plain(tensor(1.0), scalar(sign))[1] == f(tensor(1.0), scalar(sign))[1]


def test_functions_that_only_compute_stay_one_operation() -> None:
    """A1: a key that changes nothing is used at once for both lists, as before."""

    def f(x: Any, t: Any) -> Any:
        rows = [3, 1, 2] if t > 0 else [5, 4]
        return x * max(rows, key=abs), sorted(rows), list(map(float, rows))

    assert_same(f, (tensor(1.0), scalar(1.0)), (tensor(1.0), scalar(-1.0)))
