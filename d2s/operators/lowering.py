"""What becomes of effects in a program that is saved: noted while it is captured, said once."""

from __future__ import annotations

import warnings

from d2s.diagnostics.location import Location
from d2s.errors import LoweredEffectWarning
from d2s.operators.context import current
from d2s.operators.hosts import places_here


def lowered(what: str) -> None:
    """Note what becomes of an effect, at the present line, in a program that is saved."""
    capture = current()
    places = places_here()
    if capture is not None and places:
        capture.lowered.setdefault(what, []).append(places[-1])


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
