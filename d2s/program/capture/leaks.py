"""What a program must not be: one that reads values of a block it has left, or only chooses."""

from __future__ import annotations

from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import AmbiguousValueError, LeakedValueError


def check_leaks(main: Any) -> None:
    """Refuse a program in which a value of a branch or loop body is used outside of it."""
    found = bridge.misplaced(main)
    if found is None:
        return
    file, line = user_line(bridge.callstack(found[0]))
    raise LeakedValueError(
        "a tensor that is made inside a branch or static loop is kept in an object and used "
        "outside of it",
        cure="hand it over through a local variable, or through an attribute or item that the "
        "branch or loop assigns by name",
        file=file,
        line=line,
    )


_CHOOSING: Final = frozenset(("pd_op.bitwise_and", "pd_op.bitwise_or", "pd_op.bitwise_not"))

_MOST_CHOICES: Final = 10_000
"""So many operations may say which of several values is meant; Paddle takes minutes to prepare
more of them.
"""


def check_choices(names: list[str]) -> None:
    """Refuse a program that does little but decide what its values are.

    Args:
        names: those of its operations.

    Raises:
        AmbiguousValueError: (D2S203).
    """
    choices = sum(name in _CHOOSING for name in names)
    if choices > max(_MOST_CHOICES, len(names) // 2):
        raise AmbiguousValueError(
            f"{choices} of the {len(names)} operations of the program say which of several values "
            "of Python's is meant, as many trips of a Python loop choose under a tensor condition",
            cure="keep what the loop chooses in a tensor, by paddle.where, or give the loop fewer "
            "trips",
        )
