"""Functions made inside of converted statements change what is around them (rule A4)."""

from __future__ import annotations

from tests.helpers import assert_same, scalar, tensor


def test_a_function_made_in_a_branch_changes_a_variable_around_it() -> None:
    """A4, B1: the variable is handed out of the branch, although only the function binds it."""

    def f(x):
        n = x * 0
        if x.sum() > 0:

            def bump():
                nonlocal n
                n = n + x

            bump()
            bump()
        return n

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0))


def test_a_function_made_in_a_loop_changes_a_variable_around_it() -> None:
    """A4, C2: the variable is a loop variable."""

    def f(x, n):
        total = x * 0
        for i in range(n):

            def add(value):
                nonlocal total
                total = total + value

            if i > 0:
                add(x * i)
        return total

    assert_same(f, (tensor(1.0, 2.0), scalar(3)), (tensor(1.0, 2.0), scalar(0)))
