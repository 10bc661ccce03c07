"""The page that says what ran: ``docs/guide/versions.md``, from ``results.json`` beside this."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "guide" / "versions.md"
BEGIN, END = "<!-- what ran: python -m tests.matrix -->", "<!-- end of what ran -->"


def results() -> list[dict[str, Any]]:
    """What the matrix has noted: a pair and a part of the tests each."""
    return list(json.loads(RESULTS.read_text()))


def _row(result: dict[str, Any]) -> str:
    failed = ", ".join(f"`{name}`" for name in result["failed"][:3])
    more = len(result["failed"]) - 3
    shown = f"{len(result['failed'])}" + (f": {failed}" if failed else "")
    cells = (
        result["paddle"],
        result["python"],
        f"{result['part']} ({of})" if (of := result.get("of")) else result["part"],
        str(result["passed"]),
        str(result["refused"]),
        shown + (f" and {more} more" if more > 0 else ""),
        result["note"],
        result["date"],
    )
    return "| " + " | ".join(cells) + " |"


def table(found: list[dict[str, Any]]) -> str:
    """The table of the page."""
    head = "| Paddle | Python | tests | passed | refused | failed | note | on |"
    ordered = sorted(found, key=lambda result: _order(result), reverse=True)
    return "\n".join([head, "|---" * 8 + "|", *map(_row, ordered)])


def _order(result: dict[str, Any]) -> tuple[Any, ...]:
    numbers = [tuple(map(int, result[name].split("."))) for name in ("paddle", "python")]
    return (*numbers, result["part"])


def rendered(page: str, found: list[dict[str, Any]]) -> str:
    """The page with the table of ``found`` in its place."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table(found)}\n\n{END}{after}"
