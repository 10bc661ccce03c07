"""What raises inside of branches, as Python has it (rules A1, F1).

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import NotStaticError, UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def test_an_assertion_on_a_python_value_in_a_branch() -> None:
    """F1: it fails on the runs that come to it, and on no other."""

    def f(x, flag):
        if x.sum() > 0:
            assert flag, "must hold"
            x = x * 2
        return x - 1

    assert_same(f, (PLUS, False), (MINUS, False), (PLUS, True), (MINUS, True))


def test_an_assertion_that_is_caught() -> None:
    """F1, A1: with a message or without, on a Python value or on a tensor."""

    def f(x, flag):
        try:
            if x.sum() > 2:
                assert flag
            assert x.sum() > 0, ("low", flag)
        except AssertionError as error:
            return x - 1, len(error.args)
        return x * 2, -1

    assert_same(f, *((x, flag) for x in (PLUS, MINUS) for flag in (True, False)))


def test_the_name_of_a_caught_exception_is_a_variable_elsewhere() -> None:
    """A1, F1: such a handler stays Python's."""

    def f(x, e):
        y = x + e
        try:
            if e > 1:
                raise ValueError("large")
            assert x.sum() > -9
            y = y * 2
        except ValueError as e:
            y = y - len(str(e))
        return y

    assert_same(f, (PLUS, 1.0), (MINUS, 2.0), (PLUS, 3.0))


class Odd:
    """No exception, and it minds being made."""

    def __init__(self) -> None:
        raise KeyError("made")


def test_what_is_no_exception_is_not_made() -> None:
    """A1: Python says so before it calls the class."""

    def f(x):
        if x.sum() > 0:
            raise Odd
        return x

    def g(x):
        if x.sum() > 0:
            raise 3  # noqa: B016 - what Python says of it is the point
        return x

    assert_same(f, PLUS, MINUS)
    assert_same(g, PLUS, MINUS)


def changes(name: str) -> Callable[[Any, Any], None]:
    """Something that a function does to the object ``c`` which it gets."""

    def item(x, c):
        c.items[0] = x + 1

    def key(x, c):
        c.table["a"] = x + 1

    def inner(x, c):
        c.nested["q"][0] = x - 1

    def number(x, c):
        c.count += 1

    return {"item": item, "key": key, "inner": inner, "number": number}[name]


def raises(name: str) -> Callable[[Any, Any, Any], None]:
    """A function that changes ``c`` by ``change`` where it raises a ValueError, or before."""

    def once(x, c, change):
        try:
            if x.sum() > 50:
                raise ValueError("a")
        except ValueError:
            change(x, c)
            raise

    def twice(x, c, change):
        try:
            try:
                if x.sum() > 50:
                    raise ValueError("a")
            except ValueError:
                change(x, c)
                raise
        except ValueError:
            raise

    def other(x, c, change):
        try:
            try:
                if x.sum() > 50:
                    raise ValueError("a")
            except ValueError:
                change(x, c)
                raise KeyError("b") from None
        except KeyError as error:
            change(x + 1, c)
            raise ValueError("c") from error

    def either(x, c, change):
        if x.sum() > 150:
            change(x, c)
            raise ValueError("a")
        if x.sum() > 50:
            change(x + 2, c)
            raise ValueError("b")
        change(x + 3, c)

    return {"once": once, "twice": twice, "other": other, "either": either}[name]


SUMS = (5.0, 100.0, 30.0, 130.0, 5.0, 200.0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["once", "twice", "other", "either"])
@pytest.mark.parametrize("what", ["item", "key", "inner", "number"])
def test_what_a_side_that_raises_has_changed(what: str, how: str) -> None:
    """F1, B4: the handler sees it under each name of it, where other functions have the names."""
    change, go = changes(what), raises(how)

    def f(x):
        c = SimpleNamespace(
            items=[x * 1, x * 2], table={"a": x * 1}, nested={"q": [x * 1]}, count=0
        )
        names = c.items, c.table, c.nested["q"]
        try:
            go(x, c, change)
            said = "fine"
        except ValueError as error:
            said = str(error)
        return said, c.items, c.table, c.nested, c.count, names[0][0], names[1]["a"], names[2][0]

    assert_same(f, *((tensor(value),) for value in SUMS))


@pytest.mark.parametrize("how", ["once", "twice", "other", "either"])
def test_a_count_of_what_was_raised(how: str) -> None:
    """F1, F4, G2: a number outside, which is an input once it has changed."""
    change, go = changes("number"), raises(how)

    def made():
        c = SimpleNamespace(count=0)

        def f(x):
            try:
                go(x, c, change)
                y = x * 2
            except ValueError:
                y = x + 1000
            return y, c.count

        return f

    plain, static = made(), d2s.to_static(made(), full_graph=True)
    for value in SUMS:
        want, got = plain(tensor(value)), static(tensor(value))
        assert (got[0].tolist(), got[1]) == (want[0].tolist(), want[1])
    assert len(static.programs) == 2


def test_a_python_exception_for_a_number_that_is_an_input() -> None:
    """F1, G2: what a handler makes of it in a program for any number is no program."""

    def made():
        c = [0]

        def f(x):
            try:
                if x.sum() > 50:
                    c[0] += 1
                    y = x * [0, 1, 2][c[0]]
                else:
                    y = x
            except IndexError:
                y = x + 1000
            return y, c[0]

        return f

    plain, static = made(), d2s.to_static(made(), full_graph=True)
    for value in SUMS:
        want, got = plain(tensor(value)), static(tensor(value))
        assert (got[0].tolist(), got[1]) == (want[0].tolist(), want[1])


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, KeyError])
def test_a_text_of_the_run_that_is_raised_again(kind: type[Exception]) -> None:
    """F1: nobody asks for it before the run."""

    def f(y, h):
        halvings = 0
        while True:
            try:
                y = y / 2
                if y.max() > 0.2 / h:
                    raise kind(f"diverged with h={h:g}")
            except kind:
                h /= 2
                halvings += 1
                if h < 0.2:
                    raise
            else:
                break
        return y, halvings

    assert_same(f, (tensor(5.0), 1.0), (tensor(0.3), 1.0), (tensor(1000.0), 1.0))


class Bad(Exception):
    """Its text and an attribute are of the run."""

    def __init__(self, place: int, value: float) -> None:
        super().__init__(f"value {place} is {value:.2f}")
        self.value = value


TAKEN_ON = {
    "the cause of another one": 'raise RuntimeError("gave up") from last',
    "raised behind the loop": "raise last",
    "its text": "return x, str(last)",
    "its attribute": "return x, last.value",
    "the wrong cause": 'raise RuntimeError("gave up") from str(last)',
}


@pytest.mark.parametrize("use", TAKEN_ON.values(), ids=TAKEN_ON)
def test_the_last_exception_that_was_caught(use: str) -> None:
    """F1, B4: a variable keeps it, and what it says, for the code behind the loop."""
    f = function_of(
        f"""
def f(x):
    last = None
    for k in range(3):
        try:
            if x.sum() > 3:
                raise Bad(k, float(x.sum()))
            return x * 2, k
        except Bad as error:
            last = error
            x = x - 2
    {use}
""",
        Bad=Bad,
    )
    assert_same(f, *((tensor(value),) for value in (1.0, 5.0, 7.5, -1.0, 9.0, 30.0)), grad=False)


def test_one_of_several_is_raised_that_may_be_none() -> None:
    """F1, A1: Python says what it says of what is no exception."""

    def f(x):
        error = None
        if x.sum() > 3:
            error = ValueError("large")
        if x.sum() > 1:
            raise error
        return x

    assert_same(f, *((tensor(value),) for value in (0.0, 2.0, 4.0)))


HOLDING = {
    "an argument": "raise ValueError('bad', x * 2)",
    "a number": "raise ValueError(float(x.sum()))",
    "a list": "raise ValueError([x * 2, {'a': x}])",
    "a text": "raise ValueError(f'bad {float(x.mean()):.2f}')",
    "a key that is missing": "return {x: 1}[x + 1]",
    "an item that is missing": "{x}.remove(x + 1)",
    "an attribute": "error = ValueError('bad')\n    error.value = x * 2\n    raise error",
    "a cause": "try:\n        raise KeyError(x + 1)\n"
    "    except KeyError as inner:\n        raise ValueError('outer') from inner",
    "a context": "try:\n        {}[x + 1]\n    except KeyError:\n        raise ValueError('outer')",
    "an assertion": "assert False, x * 2",
    "another function": "return thrown(x) + 1",
    "a loop": "for i in range(3):\n        if i == 2:\n            raise IndexError(i, x + i)",
    "a finally": "try:\n        thrown(x)\n    finally:\n        x = x + 1",
}


def thrown(x: Any) -> Any:
    raise ValueError(x * 3)


def told(error: BaseException | None) -> Any:
    """All that an exception says, and those behind it."""
    if error is None:
        return None
    behind = told(error.__cause__), told(error.__context__)
    return type(error), str(error), repr(error.args), repr(vars(error)), behind


@pytest.mark.sampled(3, also=["an item that is missing-False"])
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("holding", HOLDING)
def test_an_exception_of_each_call_that_holds_a_tensor(holding: str, full_graph: bool) -> None:
    """F1: where Python decides that it is raised; its tensors are those of the run."""
    text = f"def f(x, fails):\n    if not fails:\n        return x\n    {HOLDING[holding]}"
    f = function_of(text, "f", thrown=thrown)
    found: list[list[Any]] = [[], []]
    for seen, call in zip(found, (f, d2s.to_static(f, full_graph=full_graph)), strict=True):
        for values, fails in (((1.0,), True), ((1.0,), False), ((2.0, 3.0), True), ((4.0,), True)):
            try:
                seen.append(call(tensor(*values), fails).tolist())
            except Exception as error:
                seen.append(told(error))
    assert found[0] == found[1]


def test_an_exception_of_each_call_that_holds_a_tensor_is_not_saved(tmp_path: Any) -> None:
    """F1, H1: a file has nobody who could raise it."""
    f = d2s.to_static(thrown, input_spec=[InputSpec([None], "float32")])
    with pytest.raises(UnsupportedInGraphError, match="each call raises a ValueError"):
        d2s.save(f, str(tmp_path / "f"))


REFUSED = {
    "at once": "try:\n        raise KeyError(x + 1)\n    except KeyError:\n        hash(y)",
    "in a branch": "if x.sum() > 0:\n        try:\n            raise KeyError([x + 1])\n"
    "        except KeyError:\n            hash(y)",
    "with an attribute": "error = ValueError('bad')\n    error.value = {'x': x + 1}\n    try:\n"
    "        raise error\n    except ValueError:\n        hash(y)",
}


@pytest.mark.parametrize("refused", REFUSED)
def test_a_refusal_behind_an_exception_that_holds_a_tensor_can_be_shown(refused: str) -> None:
    """F1: a traceback shows that exception, too, and its tensors are gone with the program."""
    text = f"def f(x):\n    y = x.sum().item()\n    {REFUSED[refused]}\n    return x"
    f = d2s.to_static(function_of(text, "f"), full_graph=True)
    for _ in range(2):
        with pytest.raises(NotStaticError, match="hashed") as caught:
            f(PLUS)
        said = "".join(traceback.format_exception(caught.value))
        assert ("a tensor of the program" in said) is (refused != "with an attribute")
        assert "During handling of the above exception" in said
