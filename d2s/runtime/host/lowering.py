"""What becomes of effects in a program that is saved: noted while it is captured, said once."""

from __future__ import annotations

import warnings

from d2s.diagnostics.location import Location
from d2s.errors import LoweredEffectWarning, SaveError
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import places_here


def lowered(what: str) -> None:
    """Note what becomes of an effect, at the present line, in a program that is saved."""
    capture = current()
    places = places_here()
    if capture is not None and places:
        capture.lowered.setdefault(what, []).append(places[-1])


def check_on_host(found: dict[str, list[Location]]) -> None:
    """Refuse to save a program in which Python has to do something on each run.

    Args:
        found: what it has to do, by the places of that.

    Raises:
        SaveError: (D2S401) with every place.
    """
    if not found:
        return
    places = [place for several in found.values() for place in several]
    texts = [
        f"{name}() ({', '.join(f'{p.file}:{p.line}' for p in dict.fromkeys(several))})"
        for name, several in found.items()
    ]
    raise SaveError(
        "a saved program runs without Python, which would have to call on each run: "
        + ", ".join(texts),
        cure="compute it with functions of Paddle, or take it out of what is saved",
        file=places[0].file,
        line=places[0].line,
    )


def tell_what_is_lowered(found: dict[str, list[Location]]) -> None:
    """Say once, of a program that is saved, what its effects have become.

    Args:
        found: what becomes of an effect, by the places of those.
    """
    if not found:
        return
    texts = [
        f"{what} (line{'s' if len(places) > 1 else ''} {', '.join(str(p.line) for p in places)})"
        for what, places in found.items()
    ]
    first = next(iter(found.values()))[0]
    text = f"a saved program runs without Python: {'; '.join(texts)}  [{LoweredEffectWarning.code}]"
    warnings.warn_explicit(text, LoweredEffectWarning, first.file, first.line)
