"""Lines that messages name, and sources that are found, in functions of unusual build (B3, E2)."""

from __future__ import annotations

import linecache
import re
import sys
from typing import Any

import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def refusal(text: str, *arguments: Any) -> tuple[str, str]:
    """The code and the text with which a function is refused."""
    function = function_of(text)
    with pytest.raises(D2SError) as caught:
        d2s.to_static(function)(*arguments)
    assert caught.value.file == function.__code__.co_filename
    return caught.value.code, str(caught.value)


BEFORE = """
        def f(x, k):
            def helper(v):
                y = v
                return y

            class Held:
                y = 1

            {statement}
            return {{y: 0}}
"""


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("match k:\n                case [str() as y]:\n                    pass\n"
         "            if x.sum() > 0:\n                y = x", (10, 13)),
        ("match k:\n                case [_] as y:\n                    y = 'down'\n"
         "                    if x.sum() > 0:\n"
         "                        y = x", (11, 13)),
        ("try:\n                helper(k.missing)\n            except AttributeError:\n"
         "                y = helper('down')\n                if x.sum() > 0:\n"
         "                    y = x", (12, 14)),
    ],
)  # fmt: skip
def test_both_lines_of_a_merge_in_cases_and_handlers(
    statement: str, lines: tuple[int, int]
) -> None:
    """B3: the message names the line that binds each side, wherever the branch stands."""
    code, message = refusal(BEFORE.format(statement=statement), PLUS, ["down"])
    assert code == "D2S203"
    down, up = lines
    assert re.search(rf"y +if x.sum\(\) > 0 +Tensor +float32 +\[2\] +{up}\n", message), message
    assert re.search(rf"y +else +str 'down' +{down}\n", message), message


def test_a_conditional_expression_beside_an_or() -> None:
    """B3: which of the two values on the line it is cannot be said, so neither is named."""
    code, message = refusal(
        """
        def f(x, k):
            return {("up" if x.sum() > 0 else x) if (k or x is None) else "no": 0}
        """,
        PLUS,
        1,
    )
    assert code == "D2S203"
    assert "'up'" in message
    assert "Tensor" in message


def picks(xs, limit):
    for x in xs:
        match x:
            case int() if (yield x) or x > limit:
                yield "large"
            case _:
                yield "other"


def picks_and_looks(xs, limit):
    found = []
    for x in xs:
        match x:
            case int() as n if locals()["n"] > limit:
                found.append(n)
                continue
            case _:
                found.append("other")
    return found


def test_frames_that_stay_pythons() -> None:
    """A6: a ``yield`` or ``locals()`` in the guard of a case."""
    converted = d2s.convert(picks)
    assert list(converted([1, 5, "a"], 3)) == list(picks([1, 5, "a"], 3)) == [
        1, "other", 5, "large", "other",
    ]  # fmt: skip
    for items in ([1, 5, "a"], [7]):
        assert d2s.convert(picks_and_looks)(items, 3) == picks_and_looks(items, 3)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is of Python 3.11")
def test_a_jump_beside_an_except_star() -> None:
    """A5, C1: the loop is Python's, and what it does to tensors is as in dygraph."""
    function = function_of(
        """
        def f(x, items):
            for item in items:
                try:
                    if item is None:
                        continue
                    x = x * item
                except* ValueError:
                    x = x + 100
                if x.sum() > 0:
                    x = x + 1
            return x
        """
    )
    assert_same(function, (PLUS, [1.0, None, 2.0]), (MINUS, [None, 3.0]))


class Private:
    def make(self):
        __count = 0

        def more(x):
            nonlocal __count
            __count += 1
            return x * __count if x.sum() > 0 else x

        return more


def decorated(function):
    return function


@(lambda function: decorated(function))
def under_a_lambda(x):
    return x * 2 if x.sum() > 0 else x


def test_sources_of_functions_that_share_a_line_or_a_private_name() -> None:
    """A2, E2: a lambda of a decorator is not the function; ``nonlocal`` names are mangled."""
    assert_same(under_a_lambda, PLUS, MINUS)
    assert d2s.code(under_a_lambda).startswith("def under_a_lambda(x):")
    mine, theirs = Private().make(), d2s.convert(Private().make())
    for x in (PLUS, MINUS, PLUS):
        assert theirs(x).tolist() == mine(x).tolist()
    one = function_of("def f(x): return (lambda v: v * 2 if v.sum() > 0 else v)(x)")
    assert_same(one, PLUS, MINUS)


def test_a_file_in_which_something_else_stands_now() -> None:
    """D2S101: another function on the line is not the source."""
    function = function_of("def f(x):\n    return x * 2 if x.sum() > 0 else x\n")
    file = function.__code__.co_filename
    linecache.cache[file] = (9, None, ["def other(x):\n", "    return x * 2\n"], file)
    with pytest.raises(D2SError) as caught:
        d2s.convert(function)
    assert caught.value.code == "D2S101"
    assert d2s.to_static(lambda x: x * scalar(2.0))(PLUS).tolist() == [2.0, 4.0]
