"""What a program must not read: values of a block it has left, parameters that it has made."""

from __future__ import annotations

from typing import Any

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import LeakedValueError, UnsupportedInGraphError


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


def check_parameters(main: Any, known: list[Any]) -> None:
    """Refuse a program that reads a parameter which the captured code has made.

    Args:
        main: the program.
        known: the values of the parameters that were there before.
    """
    ids = {value.id for value in known}
    for operation in bridge.operations(main):
        if operation.name() == "builtin.parameter" and operation.result(0).id not in ids:
            file, line = user_line(bridge.callstack(operation))
            raise UnsupportedInGraphError(
                "a layer with parameters, or a parameter, is made in a converted function; dygraph "
                "makes a new one on each call",
                cure="make it once, outside of the function",
                file=file,
                line=line,
            )
