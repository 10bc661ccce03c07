"""What a saved program cannot express, told before Paddle saves it."""

from __future__ import annotations

import types

import paddle

from d2s.analysis.exits import return_lines
from d2s.errors import SaveError
from d2s.program.capture.captured import Captured
from d2s.syntax.source import source_of


def check_saved(captured: Captured, function: types.FunctionType, owner: object, name: str) -> None:
    """Refuse a program that cannot be saved.

    Args:
        captured: the program.
        function: what the user has written.
        owner: the object whose method it is, or ``None``.
        name: its name, for messages.

    Raises:
        SaveError: (D2S401) it reads, takes or returns what Paddle cannot save.
    """
    _check_result(captured, function, name)
    unused = [
        leaf.path
        for leaf, value in zip(captured.leaves, captured.inputs, strict=True)
        if value.use_empty()
    ]
    if unused:
        raise SaveError(
            f"the argument {unused[0]!r} of {name!r} has no part in the result, "
            "which a saved program cannot express",
            cure="save a function without it",
        )
    if not captured.outputs:
        raise SaveError(
            f"{name!r} returns no tensor, so there is nothing to save",
            cure="return at least one tensor",
        )
    if captured.parameters[0] and not isinstance(owner, paddle.nn.Layer):
        raise SaveError(
            f"{name!r} is a function that reads parameters or tensors from outside, and "
            "Paddle saves those of a layer only",
            cure="make it the forward of a layer that holds them, or pass them as arguments",
        )


def _check_result(captured: Captured, function: types.FunctionType, name: str) -> None:
    """Raise SaveError (D2S401) if the result is none that a saved program can give."""
    if not (captured.ambiguous or captured.texts):
        return
    source = source_of(function)
    lines = return_lines(source.tree)
    if captured.texts:
        what = "text that is made of tensors, and a saved program gives tensors only"
        cure = "return the tensors, and make the text of what the loaded program gives"
    else:
        listed = " and ".join(map(str, lines))
        what = (
            f"a different structure on different paths (its returns stand on lines {listed}), "
            "which a saved program cannot express"
        )
        cure = "return the same structure of tensors on every path"
    raise SaveError(
        f"{name!r} returns {what}",
        cure=cure,
        file=source.file,
        line=lines[0] if lines else source.first_line,
    )
