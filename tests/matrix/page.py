"""The page that says what ran: ``docs/guide/versions.md``, from ``results.json`` beside this."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corpus.language import Language, Text, page_in, same, write
from corpus.language import table as heads

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "guide" / "versions.md"
BEGIN, END = "<!-- what ran: python -m tests.matrix -->", "<!-- end of what ran -->"


def results() -> list[dict[str, Any]]:
    """What the matrix has noted: a pair and a part of the tests each."""
    return list(json.loads(RESULTS.read_text()))


def _row(result: dict[str, Any], language: Language) -> str:
    failed = ", ".join(f"`{name}`" for name in result["failed"][:3])
    count, more = len(result["failed"]), len(result["failed"]) - 3
    shown = Text(f"{count}: {failed}", f"{count}：{failed}")[language] if failed else f"{count}"
    cells = (
        result["paddle"],
        result["python"],
        f"{result['part']} ({of})" if (of := result.get("of")) else result["part"],
        str(result["passed"]),
        str(result["refused"]),
        shown + Text(f" and {more} more", f"，另有 {more} 个")[language] * (more > 0),
        result["note"],
        result["date"],
    )
    return "| " + " | ".join(cells) + " |"


_TITLES = (
    Text("Paddle", "飞桨"),
    same("Python"),
    Text("tests", "测试"),
    Text("passed", "通过"),
    Text("refused", "被拒绝"),
    Text("failed", "失败"),
    Text("note", "备注"),
    Text("on", "日期"),
)


def table(found: list[dict[str, Any]], language: Language) -> str:
    """The table of the page."""
    ordered = sorted(found, key=lambda result: _order(result), reverse=True)
    rows = [_row(result, language) for result in ordered]
    return "\n".join([*heads(_TITLES, language), *rows])


def _order(result: dict[str, Any]) -> tuple[Any, ...]:
    numbers = [tuple(map(int, result[name].split("."))) for name in ("paddle", "python")]
    return (*numbers, result["part"])


def rendered(page: str, found: list[dict[str, Any]], language: Language) -> str:
    """The page with the table of ``found`` in its place."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table(found, language)}\n\n{END}{after}"


def write_page() -> None:
    """Write the table into the page, in both languages."""
    write(
        PAGE,
        lambda language: rendered(page_in(language, PAGE).read_text("utf-8"), results(), language),
    )
