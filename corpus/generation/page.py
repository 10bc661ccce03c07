"""The page about decoding loops, made from the verdicts that were kept: the first and the last."""

from __future__ import annotations

import collections
import html
import json
from pathlib import Path
from typing import Any

FIRST = Path(__file__).with_name("first.json")
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "generation.md"
SERVES = ("any batch and length", "any length", "one size")

HEAD = """\
# Decoding loops of other people

{total} decoding loops of published packages: models built small, with random weights, and the whole
loop run in dygraph and converted. `python -m corpus.generation` runs them. Five calls are compared,
tokens and scores: two prompts, two batches, two lengths, and a row that may end early.

- *lasts*: one program serves all of them through one `InputSpec`, and gives the same in Paddle
  Inference, saved, in a process without d2s; *lasts, not saved*: only the first half of it;
- *one program*: each call is one program, but there are several, or the sizes are fixed;
- *breaks*: right, but only as several programs with Python between them;
- *refused*, *failed*, *WRONG*, *crash*, *hang*: as they say; *left out*: dygraph itself fails.

Samplers draw so sharply here that what they draw is known; that the distribution is dygraph's is a
test (`tests/semantics/test_generation.py`).

"""


def read(file: Path | None) -> dict[str, Any]:
    """What a file of verdicts holds: package -> loop -> verdict."""
    if file is None or not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def text_of(first: dict[str, Any], now: dict[str, Any]) -> str:
    """The whole page."""
    rows, counts = [], collections.Counter[str]()
    for of in sorted({*first, *now}):
        firsts, known = first.get(of, {}), now.get(of, {})
        for name in sorted({*firsts, *known}):
            before = firsts.get(name, {})
            answer = known.get(name, {"verdict": "not run again", "detail": _detail(before)})
            if answer["verdict"] == "left out":
                continue
            counts[answer["verdict"]] += 1
            rows.append(
                f"| {of} | {name} | {_verdict(before)} | {_verdict(answer)} | {_serves(answer)} "
                f"| {_cell(answer.get('detail', ''))} |"
            )
    parts = [HEAD.format(total=len(rows))]
    parts.append(", ".join(f"{number} {kind}" for kind, number in counts.most_common()) + ".\n\n")
    parts.append("| package | loop | first | now | one program serves | what stands in the way |\n")
    parts.append("|---|---|---|---|---|---|\n")
    return "".join(parts) + "\n".join(rows) + "\n"


def _verdict(answer: dict[str, Any]) -> str:
    return str(answer.get("verdict", ""))


def _detail(answer: dict[str, Any]) -> str:
    return str(answer.get("detail", ""))


def _serves(answer: dict[str, Any]) -> str:
    number = answer.get("serves", {}).get("lasts")
    return "" if number is None else SERVES[number]


def _cell(text: str) -> str:
    return html.escape(text[:200]).replace("|", "\\|").replace("\n", " ")


def write() -> None:
    """Write the page."""
    PAGE.write_text(text_of(read(FIRST), read(RESULTS)), encoding="utf-8")
