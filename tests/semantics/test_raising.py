"""What raises inside of branches, as Python has it (rules A1, F1).

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

from tests.helpers import assert_same, tensor

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
