"""What Paddle2ONNX cannot export, told before it writes a file that is none or ends the process.

``paddle.onnx.export`` saves the layer with ``paddle.jit.save``, and hands the file to Paddle2ONNX.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.errors import SaveError
from d2s.program.running.failures import places_of

_NAMED_OTHERWISE: Final = frozenset(
    ("data", "if", "while", "remainder", "arange", "nonzero", "increment_", "has_elements")
)
"""Operations that it takes under names that begin with other letters."""

_LETTERS: Final = 3
"""So many letters of a name are those of the name that it has in the list, at least."""


def check_exported(program: Any) -> None:
    """Refuse a program that Paddle2ONNX asks for and cannot export.

    Raises:
        SaveError: (D2S401) it has no form for an operation, which is named.
    """
    if not _is_asked():
        return
    known = _known()
    for operation in bridge.operations(program):
        dialect, _, name = operation.name().partition(".")
        if dialect != "pd_op":
            continue
        grows = name == "array_write_" and operation.get_parent_block() != program.global_block()
        if not grows and (name in _NAMED_OTHERWISE or name[:_LETTERS] in known):
            continue
        what = "a list that grows in a branch or loop (array_write_)" if grows else f"{name!r}"
        place = next(reversed(places_of(operation)), None)
        raise SaveError(
            f"Paddle2ONNX has no form for {what}",
            cure="export a function without it; Paddle Inference runs what d2s.save writes",
            file=None if place is None else place.file,
            line=None if place is None else place.line,
        )


def _is_asked() -> bool:
    frame = sys._getframe() if "paddle2onnx" in sys.modules else None
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("paddle2onnx."):
            return True
        frame = frame.f_back
    return False


def _known() -> set[str]:
    """How the names begin of the operations that it lists."""
    listed = sys.modules["paddle2onnx.paddle2onnx_cpp2py_export"].get_all_supported_operators_pir()
    plain = (each.removeprefix("elementwise_").removeprefix("reduce_") for each in listed)
    return {each[:_LETTERS] for each in plain}
