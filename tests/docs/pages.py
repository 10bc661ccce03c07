"""The pages of the documentation and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(found["language"], found["text"])
        for found in _FENCE.finditer(page.read_text(encoding="utf-8"))
    ]


def python(page: Path) -> list[str]:
    """The Python of a page."""
    return [block.text for block in blocks(page) if block.language == "python"]


def headings(page: Path) -> list[int]:
    """The levels of the headings of a page, in order."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [len(found) for found in re.findall(r"^(#+) ", text, re.M)]


def rows(page: Path) -> tuple[int, int]:
    """How many rows of tables and items of lists a page has, without what a program has written."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(
        r"<!-- [\w ]+: .*?-->.*?<!-- (?:[\w ]+: end|end of [\w ]+) -->", "", text, flags=re.S
    )
    tables = re.findall(r"^\|", text, re.M)
    return len(tables), len(re.findall(r"^ *(?:-|\d+\.) ", text, re.M))
