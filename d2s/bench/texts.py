"""Figures as text, the same in every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TITLES: Final[Mapping[str, str]] = {
    "dygraph": "dygraph",
    "paddle-ast": "Paddle AST",
    "paddle-sot": "Paddle SOT",
    "by-hand": "by hand",
    "floor": "floor",
    "d2s": "d2s",
}
"""What the peers are called for a reader, in the order of columns."""


def duration(seconds: float) -> str:
    """A time with its unit.

    >>> duration(0.0000123), duration(0.0123), duration(1.23), duration(0.12345)
    ('12.3 µs', '12.3 ms', '1.23 s', '123 ms')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def ratio(value: float) -> str:
    """A ratio, with as many digits as it has meaning.

    >>> ratio(0.348), ratio(3.14159), ratio(123.4)
    ('0.35x', '3.14x', '123x')
    """
    return f"{value:.0f}x" if value >= 100 else f"{value:.2f}x"


def failure(mine: Mapping[str, Any]) -> str:
    """The verdict on a peer that was not timed, in a word or two.

    >>> failure({"status": "fails", "detail": "Timeout: no answer in 20 s"})
    'fails: Timeout'
    """
    if mine["status"] == "wrong":
        return "wrong"
    return f"fails: {mine['detail'].partition(':')[0]}"
