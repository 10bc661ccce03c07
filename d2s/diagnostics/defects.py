"""The last line of defence: what nobody has foreseen leaves with a code and the user's line.

An exception out of d2s, or of Paddle as d2s has called it, that dygraph does not raise is no
exception of the user's.  It becomes a :class:`~d2s.errors.DefectError`, whose cause it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.location import Location, here
from d2s.diagnostics.tracebacks import places_in
from d2s.errors import D2SError, DefectError

_NEVER: Final = (D2SError, Warning, MemoryError, RecursionError)

_OF_CAPTURES: Final = re.compile(
    r"\b(DynamicList|HostText|Indexed|Choice)\b|<class '[\w.]*pir\.Value'>|dy2static"
    r"|must be \w+, but got [\w.]*pir\.Value|vector<Value>, but got"
    r"|\breturned (non-\w+ \(type )?(Tensor|[\w.]*pir\.Value)\)?$"
    r"|not supported in static( graph)? mode|^We only support '\w+\(\)' in dynamic graph mode"
)
"""What messages say of things that there are in a capture only."""


_VALUE: Final = "paddle.base.libpaddle.pir.Value"


def defect_of(error: BaseException) -> DefectError | None:
    """The coded error in the place of ``error``; ``None`` if that may be the user's.

    Args:
        error: an exception that was caught.
    """
    if not isinstance(error, Exception) or isinstance(error, _NEVER):
        return None
    if not is_defect(error) and not _OF_CAPTURES.search(_text(error)):
        return None
    return as_defect(error)


def _text(error: Exception) -> str:
    """What ``error`` says; nothing where a ``__str__`` of the user's raises itself."""
    try:
        return str(error)
    except Exception:
        return ""


def as_defect(error: Exception, what: str = "") -> DefectError:
    """The coded error in the place of ``error``, which dygraph does not raise.

    Args:
        error: what d2s or Paddle has raised.
        what: the call that it was raised for, if that is known.
    """
    places = _of_users(places_in(error.__traceback__))
    place = places[-1] if places else here()
    lines = _text(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    said = said.replace(_VALUE, "Tensor")
    made = DefectError(
        f"{what or 'what dygraph does here'} fails while the program is captured ({said})",
        cure="compute this part outside of the converted function, or leave the function in "
        "dygraph; please report it with the text of the function and with the traceback that "
        "D2S_FULL_TRACEBACK=1 shows",
        file=None if place is None else place.file,
        line=None if place is None else place.line,
    )
    made.__cause__ = error
    return made


def _of_users(places: Iterable[Location]) -> list[Location]:
    return [place for place in places if not place.file.startswith("<frozen")]
