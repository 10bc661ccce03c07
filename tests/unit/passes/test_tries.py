"""``with`` statements whose bodies Python leaves by a jump (rules B6, F1)."""

from __future__ import annotations

from tests.helpers import assert_same, function_of, tensor


class Swallows:
    """A context manager that lets no ``ValueError`` out."""

    def __enter__(self) -> Swallows:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        return kind is ValueError


def left_by_a_return(jump: str) -> object:
    return function_of(
        f"""
        def f(x):
            for v in [1]:
                try:
                    pass
                finally:
                    {jump}
            with Swallows():
                if x.sum() > 0:
                    raise ValueError("positive")
                return x
            return x * 3
        """,
        "f",
        Swallows=Swallows,
    )


def test_a_body_that_a_return_leaves_behind_a_finally_with_a_break() -> None:
    """B6: the ``break`` is that of the loop before it."""
    assert_same(left_by_a_return("break"), tensor(1.0, 2.0), tensor(-1.0, -2.0))


def test_a_body_that_a_return_leaves() -> None:
    """B6: it is known on which runs it has returned."""
    assert_same(left_by_a_return("pass"), tensor(1.0, 2.0), tensor(-1.0, -2.0))
