"""The catalogue of error codes: for each one what leads to it, a program that does, and the cure.

One file per code lies beside this one, ``D2S204.md``, and is the only source: ``d2s explain``
prints it, ``docs/errors`` is generated from it, and a test runs its programs.  Reads those files
and nothing else.

A new code is a class in ``d2s.errors``, a file here, its Chinese in
``corpus/translations/errors.md``, and a run of ``make errors``.

A file has a fixed form, which :func:`parse` holds it to:

    # Title, a phrase about the user's code

    What in the user's code leads to the error, in one or more paragraphs.

    ## Example        a program that raises this error (```python), or a command (```sh)
    ## Cure           what to do, in one or more paragraphs
    ## Instead        the example as it should be written; prints the same as dygraph (optional)
    ## See            a list of links to pages of the guide, the only links (optional)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent
_FENCE: Final = re.compile(r"```(python|sh)\n(.*?\n)```", re.DOTALL)
_LINK: Final = re.compile(r"- \[([^\]]+)\]\(([^)\s]+)\)")
_ORDER: Final = ("Example", "Cure", "Instead", "See")


@dataclass(frozen=True)
class Block:
    """A program or command of an entry.

    Attributes:
        language: ``python`` or ``sh``.
        text: its lines.
    """

    language: str
    text: str


@dataclass(frozen=True)
class Link:
    """Where to read more: a page of the guide, relative to ``docs/guide``."""

    text: str
    target: str


@dataclass(frozen=True)
class Entry:
    """What the catalogue says of one code.

    Attributes:
        code: the code, such as ``D2S204``.
        title: a phrase about the user's code.
        cause: what leads to the error; Markdown.
        example: a program or command that ends with it.
        cure: what to do; Markdown.
        instead: the example as it should be written, if it can be.
        see: where to read more.
    """

    code: str
    title: str
    cause: str
    example: Block
    cure: str
    instead: Block | None = None
    see: tuple[Link, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The same for other programs; ``json`` can write it."""
        return {
            "code": self.code,
            "title": self.title,
            "cause": self.cause,
            "example": self.example.text,
            "cure": self.cure,
            "instead": None if self.instead is None else self.instead.text,
            "see": [{"text": link.text, "target": f"guide/{link.target}"} for link in self.see],
            "docs": f"errors/{self.code}.md",
        }


def codes() -> tuple[str, ...]:
    """Every code of the catalogue, in order.

    >>> codes()[0]
    'D2S101'
    """
    return tuple(sorted(path.stem for path in _FOLDER.glob("D2S*.md")))


@cache
def entry(code: str) -> Entry:
    """The entry of ``code``.

    Raises:
        KeyError: there is no such code.

    >>> entry("D2S204").title
    'A condition that is not one element'
    """
    path = _FOLDER / f"{code}.md"
    if code not in codes():
        raise KeyError(code)
    return parse(code, path.read_text(encoding="utf-8"))


def parse(code: str, text: str) -> Entry:
    """Understand the file of one code.

    Raises:
        ValueError: the file has another form; the message says where.

    >>> parse("D2S999", "# Title")
    Traceback (most recent call last):
    ValueError: D2S999: the sections are [], not Example, Cure, Instead (optional), See (optional)
    """
    head, *rest = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)
    names, bodies = rest[::2], [body.strip() for body in rest[1::2]]
    if names[:2] != ["Example", "Cure"] or names != [name for name in _ORDER if name in names]:
        raise ValueError(
            f"{code}: the sections are {names}, not Example, Cure, Instead (optional), "
            "See (optional)"
        )
    sections = dict(zip(names, bodies, strict=True))
    title, _, cause = head.partition("\n")
    if not title.startswith("# ") or not cause.strip() or not all(bodies):
        raise ValueError(f"{code}: the title, the cause or a section is missing")
    instead = sections.get("Instead")
    return Entry(
        code,
        title.removeprefix("# ").strip(),
        cause.strip(),
        _block(code, sections["Example"]),
        sections["Cure"],
        None if instead is None else _block(code, instead),
        _links(code, sections.get("See", "")),
    )


def _block(code: str, text: str) -> Block:
    found = _FENCE.fullmatch(text)
    if found is None:
        raise ValueError(f"{code}: a section is not one block of python or sh: {text!r}")
    return Block(found[1], found[2])


def _links(code: str, text: str) -> tuple[Link, ...]:
    found = [_LINK.fullmatch(line) for line in text.splitlines()]
    if None in found:
        raise ValueError(f"{code}: a line is not a link, '- [text](page.md#anchor)': {text!r}")
    return tuple(Link(match[1], match[2]) for match in found if match)
