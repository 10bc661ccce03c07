"""What a program must not read: values of a block it has left."""

from __future__ import annotations

from typing import Any

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import LeakedValueError


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
