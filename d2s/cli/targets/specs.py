"""One ``--input-spec``, understood: ``x:float32[None,8]``."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any, Final

import paddle

from d2s.cli.targets.find import either
from d2s.errors import InputSpecTextError

_DTYPES: Final = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
_SPEC: Final = re.compile(r"(?:(?P<name>\w+):)?(?P<dtype>\w+)\[(?P<shape>[^\[\]]*)\]")
_UNKNOWN: Final = ("None", "-1", "?")


@dataclass(frozen=True)
class InputSpecText:
    """One ``--input-spec``, understood.

    Attributes:
        name: The name of the input, or None.
        dtype: The dtype, as Paddle calls it.
        shape: The dimensions; None where one is unknown.
    """

    name: str | None
    dtype: str
    shape: tuple[int | None, ...]

    def to_paddle(self) -> paddle.static.InputSpec:
        """The same for Paddle."""
        dtype: Any = self.dtype  # one of ``_DTYPES``; Paddle's annotation lists them as literals
        return paddle.static.InputSpec(list(self.shape), dtype, self.name)


def parse_input_spec(text: str) -> InputSpecText:
    """Understand ``x:float32[None,8]`` or ``float32[None,8]``.

    Args:
        text: What stands after ``--input-spec``. An unknown dimension is None, -1 or ``?``.

    Raises:
        InputSpecTextError: It is not of this form.
    """
    match = _SPEC.fullmatch("".join(text.split()))
    name = match["name"] if match else None
    if match is None or not (name is None or name.isidentifier()):
        raise InputSpecTextError(
            f"--input-spec {text!r} cannot be understood", cure="write it like x:float32[None,8]"
        )
    dtype = match["dtype"]
    if dtype not in _DTYPES:
        close = difflib.get_close_matches(dtype, _DTYPES, 1) or _DTYPES
        raise InputSpecTextError(
            f"--input-spec {text!r}: there is no dtype {dtype!r}",
            cure=f"use {either(list(close))}",
        )
    shape: list[int | None] = []
    for dimension in match["shape"].removesuffix(",").split(",") if match["shape"] else ():
        if dimension in _UNKNOWN:
            shape.append(None)
        elif dimension.isascii() and dimension.isdigit():
            shape.append(int(dimension))
        else:
            raise InputSpecTextError(
                f"--input-spec {text!r}: {dimension!r} is not a dimension",
                cure="use a number, or None where the size is not known",
            )
    return InputSpecText(name, dtype, tuple(shape))
