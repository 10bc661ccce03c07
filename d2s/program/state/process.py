"""What Python keeps for the whole process, and a function may set.

::

    np.seterr(all="raise")      would be set once, while the program is captured
    mode.set("beam")            of a context variable: the same
    with np.errstate(...):      is as it was when the capture ends, and so is part of a program

So the settings are looked at before and after a capture, and a program that would have to change
one is refused.  The variables of the context are those of a copy while a program is captured.
"""

from __future__ import annotations

import contextvars
import decimal
import gc
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import paddle

from d2s.program.keys.call_key import Identity


@dataclass(frozen=True)
class Setting:
    """Something that is set.

    Attributes:
        name: what a reader would call it.
        get: tells how it is.
        put: makes it so again.
        shared: other threads may set it meanwhile, so it counts only where the function has called
            what sets something.
    """

    name: str
    get: Callable[[], Any]
    put: Callable[[Any], object]
    shared: bool = True


def _decimals() -> list[Any]:
    found = decimal.getcontext()
    return [getattr(found, name) for name in _OF_DECIMALS] + [dict(found.traps)]


def _put_decimals(known: list[Any]) -> None:
    for name, value in zip(_OF_DECIMALS, known, strict=False):
        setattr(decimal.getcontext(), name, value)
    decimal.getcontext().traps.update(known[-1])


_OF_DECIMALS: Final = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _variables() -> dict[Identity, Identity]:
    """The variables of the context, but those of NumPy and ``decimal``."""
    items = contextvars.copy_context().items()
    return {Identity(each): Identity(value) for each, value in items if each.name not in _LOOKED_AT}


_LOOKED_AT: Final = ("numpy.ufunc.extobj", "decimal_context")


def _collector(known: tuple[bool, tuple[int, int, int]]) -> None:
    (gc.enable if known[0] else gc.disable)()
    gc.set_threshold(*known[1])


def _filters(known: list[Any]) -> None:
    warnings.filters[:] = known  # type: ignore[index]


SETTINGS: Final = (
    Setting("np.geterr()", np.geterr, lambda known: np.seterr(**known), shared=False),
    Setting(
        "np.get_printoptions()",
        np.get_printoptions,
        lambda known: np.set_printoptions(**known),
    ),
    Setting("decimal.getcontext()", _decimals, _put_decimals, shared=False),
    Setting("warnings.filters", lambda: list(warnings.filters), _filters),
    Setting("logging.root.manager.disable", lambda: logging.root.manager.disable, logging.disable),
    Setting("sys.getswitchinterval()", sys.getswitchinterval, sys.setswitchinterval),
    Setting("paddle.get_default_dtype()", paddle.get_default_dtype, paddle.set_default_dtype),
    Setting("gc", lambda: (gc.isenabled(), gc.get_threshold()), _collector),
    Setting("contextvars.copy_context()", _variables, lambda known: None, shared=False),
)
