"""Loop variables whose items are written in place: where, and that nobody can tell.

Each function is called several times, and all results are looked at in the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.paddle_bridge.capturing.blocks import WhileOp
from d2s.paddle_bridge.preparing import block_memory
from d2s.paddle_bridge.walks import operations
from tests.helpers import function_of


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs that are made ready, as they run."""
    found = []

    def noted(program: Any, original: Any = block_memory.write_in_place) -> Any:
        handed = original(program)
        found.append(program)
        return handed

    monkeypatch.setattr(block_memory, "write_in_place", noted)
    return found


@pytest.fixture(params=[None, "0"], ids=["kept", "freed"], autouse=True)
def _memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that keep their values, and programs that give them back."""
    if request.param is not None:
        monkeypatch.setenv("D2S_KEEP_MEMORY_MB", request.param)


def names(program: Any) -> list[str]:
    """The operations that write into a table, in place or not."""
    words = ("set_value", "put_along_axis", "scatter", "assign")
    inside = [
        each for each in operations(program) if each.get_parent_block().parent_op.num_results()
    ]
    return sorted(each.name()[6:] for each in inside if any(word in each.name() for word in words))


def same(function: Callable[..., Any]) -> None:
    """Equal to dygraph, for results that are kept over several calls."""
    inputs = [
        (paddle.to_tensor([1.0, 2.0, 3.0]) * k, paddle.arange(15.0).reshape([5, 3]) * 0.1 * k, n)
        for k, n in ((1.0, 4), (0.5, 5), (-1.0, 2), (1.0, 0))
    ]
    arguments = [(x, y, paddle.to_tensor(n)) for x, y, n in inputs]
    converted = d2s.to_static(function, full_graph=True)
    with paddle.no_grad():
        right = [function(*(each.clone() for each in given)) for given in arguments]
        mine = [converted(*(each.clone() for each in given)) for given in arguments]
    for want, got in zip(right, mine, strict=True):
        for one, other in zip(want, got, strict=True):
            np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-5)


LOOP = """
def f(x, y, n):
    {begin}
    i = paddle.zeros([], "int64")
    while i < n:
        {body}
        i = i + 1
    return {result}
"""


def loop(body: str, begin: str = "t = y.clone()\ns = x.sum()", result: str = "t, s") -> Any:
    """A function with this body of a static loop."""
    texts = {"begin": begin.replace("\n", "\n    "), "body": body.replace("\n", "\n        ")}
    return function_of(LOOP.format(**texts, result=result), "f")


PUT = "paddle.put_along_axis(t, i.reshape([1, 1]).expand([1, 3]), x.reshape([1, 3]), 0)"
"""A table with a row of its own at ``i``."""


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("t[i] = x", 1),
        ("t[i, 1] = t[i - 1, 0] + s\nt[i, 2] = t[i, 1]\ns = s + t.sum()", 2),
        ("t[i] += x", 1),
        (f"t = {PUT}", 1),
        ("t = paddle.scatter(t, i.reshape([1]), x.reshape([1, 3]))", 1),
        ("if t[0].sum() > 1:\n    t[i] = x\n    t[0] = x", 2),
        ("if t[0].sum() > 1:\n    t[i] = x\nelse:\n    t[i] = -x", 2),
        ("j = paddle.zeros([], 'int64')\nwhile j < 3:\n    t[i, j] = s\n    j = j + 1", 1),
        (
            "j = paddle.zeros([], 'int64')\nwhile j < 3:\n    t[i, j] = s\n    if j > 1:\n"
            "        t[i, 0] = t[i, j] + 1\n    j = j + 1\ns = s + t.mean()",
            2,
        ),
    ],
)
def test_an_item_is_written_where_it_lies(prepared: list[Any], body: str, number: int) -> None:
    """A1: in branches and inner loops, too; no copy of the table is left in the loop."""
    same(loop(body))
    found = names(prepared[-1])
    assert len([name for name in found if name.endswith("_")]) == number
    assert not any(name in ("set_value_with_tensor", "put_along_axis", "scatter") for name in found)


@pytest.mark.parametrize(
    ("body", "begin", "result"),
    [
        (f"u = {PUT}\ns = s + t.sum()\nt = u", "t = y.clone()\ns = x.sum()", "t, s"),
        (f"k = t\nt = {PUT}", "t = k = y.clone()", "t, k"),
        (f"u = {PUT}\nt, k = u, t", "t = y.clone()\nk = y * 2", "t, k"),
        (f"k = {PUT}\nt = k * 2", "t = k = y.clone()", "t, k"),
        (
            f"if i > 1:\n    u = {PUT}\nelse:\n    u = k\nk = t\nt = u",
            "t = y.clone()\nk = y * 2",
            "t, k",
        ),
        (
            f"u = t\nj = paddle.zeros([], 'int64')\nwhile j < 2:\n    u = {PUT}\n"
            "    s = s + t.sum()\n    j = j + 1\nt = u * 0.5".replace("(t, i.", "(u, i."),
            "t = y.clone()\ns = x.sum()",
            "t, s",
        ),
    ],
)
def test_a_table_that_is_read_later_is_not_written(body: str, begin: str, result: str) -> None:
    """A1: by an operation behind it, or as another variable of the loop."""
    same(loop(body, begin, result))


@pytest.mark.parametrize(
    ("begin", "result"),
    [
        ("t = y.clone()", "t, y"),
        ("t = y * 1\nk = t.clone()", "t, k"),
        ("k = paddle.zeros([5, 3])\nt = k.clone()", "t, k"),
        ("t = paddle.zeros([5, 3])", "t, t + 1"),
    ],
)
def test_what_the_loop_begins_with_stays(begin: str, result: str) -> None:
    """A1: an argument, a constant and another variable, over several calls."""
    same(loop("t[i] = x", begin, result))


def test_two_variables_that_begin_as_one(prepared: list[Any]) -> None:
    """A1: Paddle makes one operation of equal ones; each variable has a copy of its own."""
    same(loop("t[i] = x\nk[i] = -x", "t = y.clone()\nk = y.clone()", "t, k"))
    assert len([name for name in names(prepared[-1]) if name.endswith("_")]) == 2


@pytest.mark.parametrize(
    ("begins", "twice", "written"),
    [("copied", False, True), ("shared", False, False), ("copied", True, False)],
)
def test_memory_that_others_have_is_not_written(begins: str, twice: bool, written: bool) -> None:
    """A1: what the loop begins with, or hands on as two of its variables."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            table = paddle.static.data("table", [5, 3])
            places = paddle.static.data("places", [1, 3], "int64")
            end = paddle.static.data("end", [1], "bool")
            first = paddle.assign(table) if begins == "copied" else table
            loop = WhileOp(end, [first, paddle.assign(table)])
            with loop.body() as (one, other):
                row = paddle.put_along_axis(one, places, 1.0, 0)
                loop.finish(paddle.logical_not(end), [row, row if twice else other])
            loop.results()
            handed = block_memory.write_in_place(program)
    finally:
        paddle.disable_static()
    assert bool(handed) is written
    assert ("put_along_axis_" in names(program)) is written


def _statements(draw: random.Random, depth: int, at: str) -> Iterator[str]:
    for _ in range(draw.randint(1, 4)):
        t, u, kind = draw.choice("ab"), draw.choice("ab"), draw.randrange(11)
        put = PUT.replace("(t, i", f"({t}, {at}")
        if kind < 2:
            row, added = draw.choice([at, "0", at + " - 1"]), draw.choice("xs")
            yield f"{t}[{at}] = {u}[{row}] + {added}"
        elif kind == 2:
            yield f"{t} = {put}"
        elif kind == 3:
            yield from (f"v = {put}", f"s = s + {t}.mean()", f"{u} = v")
        elif kind == 4:
            yield "a, b = b, a"
        elif kind == 5:
            yield f"{t} = {u} * 0.9"
        elif kind == 6:
            yield f"{t} = {u}.clone()"
        elif kind == 7:
            yield f"s = s * 0.5 + {t}[{at}].sum() * 0.1"
        elif kind == 8:
            yield f"keep = {t}.clone()"
        elif kind == 9 and depth < 2:
            yield f"if {draw.choice([t + '[0].sum() > 1', at + ' > 1'])}:"
            yield from ("    " + line for line in _statements(draw, depth + 1, at))
        elif depth < 1:
            yield from ("j = paddle.zeros([], 'int64')", "while j < 3:")
            yield from ("    " + line for line in _statements(draw, depth + 1, "j"))
            yield "    j = j + 1"
        else:
            yield f"{t}[{at}] += x"


@pytest.mark.parametrize("seed", range(8))
def test_tables_in_loops(seed: int) -> None:
    """A1: any mixture of writes, reads, copies, branches and loops."""
    draw = random.Random(seed)
    begin = "a = y.clone()\nb = y * 2\ns = paddle.zeros([])\nkeep = y * 3"
    function = loop("\n".join(_statements(draw, 0, "i")), begin, "a, b, s, keep")
    same(function)
