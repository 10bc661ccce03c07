"""A function's own lines, those that it was rewritten to, and which belongs to which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from d2s.diagnostics.sourcemap import source_map_of

EMPTY: Final = "as it was written"


@dataclass(frozen=True)
class Fate:
    """What became of a construct.

    Attributes:
        kind: ``cond``, ``while_loop``, ``unrolled``, ``python``, ``skipped``, ``list``, ``host``,
            ``outside``.
        what: it in words.
        why: the reason; may be empty.
    """

    kind: str
    what: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


@dataclass(frozen=True)
class Hint:
    """Something to know or to change, with what to do.

    Attributes:
        text: what it is.
        cure: what to write instead; may be empty.
        code: the code of an error or warning; may be empty.
        file, line: where; ``None`` for the function as a whole.
    """

    text: str
    cure: str = ""
    code: str = ""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        code = f" [{self.code}]" if self.code else ""
        return f"{self.text}{code}" + (f"; {self.cure}" if self.cure else "")


@dataclass(frozen=True)
class Line:
    """One line of the user's.

    Attributes:
        number: in the file.
        text: the line.
        where: ``program``, ``capture`` (Python, while the program was captured), ``island`` or
            ``outside`` (Python between programs), or empty.
        operations: how many operations of the programs come of it.
        share: the part of the programs' time that it has; 0 where none was measured.
        fates: what became of what stands there.
        hints: what there is to know.
    """

    number: int
    text: str
    where: str = ""
    operations: int = 0
    share: float = 0.0
    fates: tuple[Fate, ...] = ()
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Generated:
    """What a function, or a stretch of it, was rewritten to.

    Attributes:
        title: what it is.
        lines: its text.
        links: for each line those of the user's file that it comes from.
    """

    title: str
    lines: tuple[str, ...]
    links: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Listing:
    """One function.

    Attributes:
        name: of the function.
        file, line: where it begins.
        lines: its own text.
        generated: what was made of it.
    """

    name: str
    file: str
    line: int
    lines: tuple[Line, ...]
    generated: tuple[Generated, ...] = field(default=())


def share_of_time(share: float) -> str:
    """The share of a line to read; empty where it has none worth telling.

    >>> share_of_time(0.384), share_of_time(0.001)
    ('38%', '')
    """
    return f"{share:.0%}" if share >= 0.005 else ""


def generated(title: str, tree: Any, file: str) -> Generated:
    """What was made of a stretch, with its links.

    Args:
        title: what it is.
        tree: the rewritten tree, every node with a position of ``file``.
        file: the user's file.
    """
    made = source_map_of(tree, file)
    lines = made.text.rstrip("\n").split("\n")
    links: list[set[int]] = [set() for _ in lines]
    for segment in made.segments:
        links[segment.generated.line - 1].add(segment.original.line)
    return Generated(title, tuple(lines), tuple(tuple(sorted(each)) for each in links))


def listing(name: str, file: str, text: str, first_line: int, made: Iterable[Generated]) -> Listing:
    """A function of whose lines nothing else is known."""
    return Listing(name, file, first_line, own_lines(text, first_line), tuple(made))


def own_lines(text: str, first_line: int) -> tuple[Line, ...]:
    """The lines of a definition, about which nothing else is known."""
    return tuple(Line(number, line) for number, line in enumerate(text.splitlines(), first_line))


def hints_at(hints: Iterable[Hint], file: str, line: int) -> tuple[Hint, ...]:
    """Those of ``hints`` that are about one line."""
    return tuple(each for each in hints if each.file == file and each.line == line)


def width_of(listings: Sequence[Listing]) -> int:
    """How many digits the line numbers need."""
    numbers = [line.number for each in listings for line in each.lines]
    return max(3, len(str(max(numbers, default=0))))
