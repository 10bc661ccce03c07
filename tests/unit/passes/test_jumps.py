"""Loops that keep their jumps, and loops whose returns stand in other statements (rules A1, B6)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

STAYS = {
    "break out of finally": """
    for v in vs:
        try:
            log.append(10 / v)
        finally:
            break
    """,
    "continue out of finally": """
    for v in vs:
        try:
            log.append(10 / v)
        finally:
            continue
    """,
    "break beside a yield": """
    for v in vs:
        if v == 0:
            break
        yield v
    else:
        yield 'all'
    """,
    "a look at the frame": """
    for v in vs:
        if v == 0:
            break
        log.append(sorted(key for key in locals() if key != "d2s"))
    """,
}


@pytest.mark.parametrize("name", STAYS)
def test_a_loop_that_stays_python(name: str) -> None:
    """A1: exceptions that are swallowed, trips, what ``locals()`` shows."""
    function = function_of(f"def f(vs, log):{STAYS[name]}\n    log.append('end')")
    seen: list[Any] = []
    for which in (function, d2s.convert(function)):
        for given in ([1, 0, 2], [0], [2, 5], []):
            log: list[Any] = []
            result = which(list(given), log)
            seen.append((list(result) if result is not None else None, log))
    assert seen[:4] == seen[4:]


RETURNS = {
    "match": """
        match mode:
            case {"kind": str() as kind} if v > 2:
                return v, kind
            case {"kind": _, **rest}:
                x = x + 1
    """,
    "with": """
        with paddle.no_grad():
            if v > 2:
                return v, 'with'
        x = x + 1
    """,
    "try": """
        try:
            if v > 2:
                return v, 'try'
        except ValueError:
            return v, 'handler'
        x = x + 1
    """,
    "the else of a loop": """
        for w in (1, 2):
            x = x + w
        else:
            if v > 2:
                return v, 'else'
    """,
    "an inner loop": """
        for w in (1, 2):
            if v > 1 + w:
                return v, 'inner'
            x = x + w
    """,
}


@pytest.mark.parametrize("name", RETURNS)
@pytest.mark.parametrize("over", ["x", "range(n)"])
def test_a_return_in_a_statement_of_a_loop(name: str, over: str) -> None:
    """B6: a return at any depth of a loop, also of one that a tensor decides."""
    function = function_of(f"def f(x, n, mode):\n    for v in {over}:{RETURNS[name]}\n    return x")
    inputs = [
        (given, scalar(count), {"kind": "k", "more": 1})
        for given, count in [(tensor(1.0, 3.0), 5), (tensor(0.5, 0.1), 2)]
    ]
    assert_same(function, *inputs, grad=False)


def test_one_side_of_a_ternary_that_yields() -> None:
    """A6: such an expression is Python's."""
    function = function_of("""
    def f(a, b):
        got = (yield 'a') if a else 0
        other = 1 if b else (yield 'b')
        yield got, other
    """)
    for given in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        assert list(d2s.convert(function)(*given)) == list(function(*given))


def test_a_side_of_a_ternary_that_looks_at_the_frame() -> None:
    """A1: ``locals()`` has the variables of the function, not those of a lambda."""
    function = function_of("def f(a):\n    b = 2\n    return locals()['b'] if a else a")
    assert d2s.convert(function)(1) == function(1) == 2


SOMETIMES = {
    "continue": """
        if v > 1:
            if v > 2:
                continue
            s = s + 10
    """,
    "break": """
        if v > 1:
            if v > 2:
                break
            s = s + 10
    """,
    "either": """
        if v > 1:
            s = s + 10
            if v > 3:
                break
            if v == 2:
                continue
        else:
            if v == 0:
                continue
            s = s + 100
    """,
}


@pytest.mark.parametrize("name", SOMETIMES)
@pytest.mark.parametrize("over", ["x", "range(n)"])
def test_a_side_that_sometimes_jumps(name: str, over: str) -> None:
    """C1: what stands behind the branch is run where it has not jumped."""
    function = function_of(f"""
def f(x, n):
    s = x.sum() * 0
    for v in {over}:{SOMETIMES[name]}
        s = s * 2 + v
    return s
""")
    assert_same(function, (tensor(0.0, 1.0, 2.0, 3.0, 1.0), scalar(6)), (tensor(1.0), scalar(2)))


def test_nothing_is_asked_where_nothing_follows() -> None:
    """C1: a flag that guards no statement is not read."""
    function = function_of("""
        def f(vs, box):
            for v in vs:
                with box:
                    with box:
                        if v > 1:
                            break
    """)
    assert "d2s.not_" not in d2s.code(function)


def test_a_target_of_several_names() -> None:
    """C5: the body takes the item apart."""
    function = function_of("""
        def f(pairs):
            found = []
            for (a, *b), c in pairs:
                found.append((a, b, c))
            for found[0], pairs in enumerate([3, 4]):
                pass
            return found, pairs, a, b, c
    """)
    given = [([1, 2, 3], 4), ([5], 6)]
    assert d2s.convert(function)(given) == function(given)
