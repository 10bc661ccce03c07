"""What a value that may be one of several costs (rule B4)."""

from __future__ import annotations

from tests.helpers import assert_same, tensor


def test_one_of_two_numbers_is_one_number() -> None:
    """B4: it is used at once, without a branch for each of the numbers."""

    def f(x):
        n = 1 if x.sum() > 0 else 2
        return x + n, x * (n + 1), -n

    static = assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 1.0))
    assert str(static.main_program).count("pd_op.if") == 1
