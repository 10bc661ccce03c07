"""The registry of what converts functions: ``conversion``, which knows the operators, fills it.

Operators call functions of the user's, which are to be converted; conversion binds operators into
the code that it makes.  Each needs the other, and imports go from conversion to the operators.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Convert = Callable[[types.FunctionType], types.FunctionType]
Cut = Callable[[types.FunctionType, str], types.FunctionType | None]


@dataclass(frozen=True)
class Converter:
    """What makes other functions of functions.

    Attributes:
        convert: gives the converted form of a plain function.
        ended: gives a generator function as one that does not yield, by the pipeline of that name:
            ``cut`` at its ``yield``, or ``handed`` the items on; ``None`` where it has another
            form.
    """

    convert: Convert
    ended: Cut


_registered: Final[list[Converter]] = []


def register(made: Converter) -> None:
    """Tell what converts functions, in the place of what has done so before."""
    _registered[:] = [made]


def converter() -> Converter:
    """What converts functions."""
    return _registered[0]
