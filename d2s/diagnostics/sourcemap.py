"""The source map: from a place in the generated text to the user's file, and back.

Nothing is recorded for it: the nodes of the rewritten tree carry the positions that they came from
(decision 0001), and the printed text parses to the same tree.  The two are walked side by side, and
each node gives one pair of places.

Lines are 1-based and columns 0-based, counted in characters.  :meth:`SourceMap.to_json` writes the
format "Source Map v3" (ECMA-426), which counts both from 0, and columns in UTF-16 code units.
"""

from __future__ import annotations

import ast
import bisect
import json
import linecache
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import Any, Final, NamedTuple

import gast

from d2s.diagnostics.columns import in_characters
from d2s.errors import ArgumentsError
from d2s.syntax.printer import to_source

_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_WORD: Final = re.compile(r"\s*(@|case )")
# Before Python 3.12 the parser does not know where the parts of an f-string stand.
_OPAQUE: Final = () if sys.version_info >= (3, 12) else (ast.JoinedStr,)


class Position(NamedTuple):
    """A place in a text: the line 1-based, the column 0-based, in characters."""

    line: int
    column: int


class Original(NamedTuple):
    """A place in the user's file."""

    file: str
    line: int
    column: int


class Segment(NamedTuple):
    """A stretch of a generated line, up to the next one, and where it came from.

    Attributes:
        generated: where it begins.
        original: where the code that it belongs to begins in the user's file.
        name: the variable that stands at both places, if one does.
    """

    generated: Position
    original: Position
    name: str | None


@dataclass(frozen=True)
class SourceMap:
    """The places of one generated function; made by :func:`d2s.source_map`.

    Attributes:
        text: the generated code, as ``d2s.code`` gives it.
        file: the user's file.
        content: the text of that file; ``None`` when it cannot be read.
        segments: in the order of the generated text.
    """

    text: str
    file: str
    content: str | None
    segments: tuple[Segment, ...]

    def original(self, line: int, column: int = 0) -> Original | None:
        """Where a place of the generated text came from; ``None`` for an empty line.

        Raises:
            ArgumentsError: (D2S301) there is no such line in the generated text.
        """
        place = _checked(line, column, len(self.text.splitlines()), "the generated code")
        index = bisect.bisect_right(self.segments, place, key=lambda item: item.generated)
        on_line = [item for item in self.segments[:index][-1:] if item.generated.line == line]
        if not on_line:  # left of the first one
            on_line = [item for item in self.segments[index:][:1] if item.generated.line == line]
        return Original(self.file, *on_line[0].original) if on_line else None

    def generated(self, line: int, column: int | None = None) -> tuple[Position, ...]:
        """Where the code of a place of the user's file has gone, in the order of the text.

        Args:
            line: a line of the user's file.
            column: a column in it; the code that begins last at or before it is meant. Without
                it, all that came from the line is.

        Returns:
            Where stretches of it begin; nothing for a line that the function does not have.

        Raises:
            ArgumentsError: (D2S301) no file has such a line or column.
        """
        _checked(line, column or 0, None, self.file)
        found = [item for item in self.segments if item.original.line == line]
        if column is not None:
            starts = [item.original.column for item in found if item.original.column <= column]
            found = [item for item in found if item.original.column == max(starts, default=-1)]
        return tuple(item.generated for item in found)

    def to_json(self, file: str | None = None, *, indent: int | None = None) -> str:
        """The map in the format "Source Map v3", for viewers and other tools.

        Args:
            file: the name of the generated file, for the field ``file``.
            indent: how many blanks a level is moved in; all on one line unless given.
        """
        names = list(dict.fromkeys(item.name for item in self.segments if item.name))
        data = {
            "version": 3,
            "file": file or f"{PurePath(self.file).stem}.generated.py",
            "sourceRoot": "",
            "sources": [self.file],
            "sourcesContent": [self.content],
            "names": names,
            "mappings": self._mappings({name: index for index, name in enumerate(names)}),
        }
        return json.dumps(data, indent=indent)

    def _mappings(self, names: dict[str, int]) -> str:
        new, old = self.text.split("\n"), (self.content or "").split("\n")
        lines: list[str] = [""] * len(new)
        before = [0, 0, 0, 0]  # source, line, column and name of the segment before
        for number, items in groupby(self.segments, key=lambda item: item.generated.line):
            column = 0
            parts = []
            for item in items:
                start = _utf16(new, item.generated)
                now = [0, item.original.line - 1, _utf16(old, item.original), before[3]]
                if item.name is not None:
                    now[3] = names[item.name]
                steps = [here - there for here, there in zip(now, before, strict=True)]
                numbers = [start - column, *(steps if item.name is not None else steps[:3])]
                parts.append("".join(map(vlq, numbers)))
                column, before = start, now
            lines[number - 1] = ",".join(parts)
        return ";".join(lines)


def vlq(number: int) -> str:
    """A number as base 64 digits of five bits, the lowest first, the sign in the lowest bit.

    >>> [vlq(number) for number in (0, 1, -1, 16)]
    ['A', 'C', 'D', 'gB']
    """
    rest = (abs(number) << 1) | (number < 0)
    digits = ""
    while True:
        rest, digit = rest >> 5, rest & 31
        digits += _DIGITS[digit | 32 if rest else digit]
        if not rest:
            return digits


def _utf16(lines: Sequence[str], place: Position) -> int:
    """A column, counted in UTF-16 code units."""
    if place.line > len(lines):
        return place.column
    before = lines[place.line - 1][: place.column]
    return len(before.encode("utf-16-le", errors="surrogatepass")) // 2


def _checked(line: Any, column: Any, last: int | None, what: str) -> Position:
    """The place, if it can be one.

    Raises:
        ArgumentsError: (D2S301) it cannot.
    """
    for name, value in (("line", line), ("column", column)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ArgumentsError(
                f"the {name} {value!r} is not a whole number",
                cure="count lines from 1, columns from 0",
            )
    if line < 1 or column < 0 or (last is not None and line > last):
        end = "" if last is None else f", which has {last} lines"
        raise ArgumentsError(
            f"line {line}, column {column} is no place in {what}{end}",
            cure="count lines from 1, columns from 0",
        )
    return Position(line, column)


# -- making one ------------------------------------------------------------------------------------


class _Stretch(NamedTuple):
    """A node of the generated text, and where it came from."""

    start: Position
    end: Position
    original: Position
    name: str | None


def source_map_of(tree: Any, file: str) -> SourceMap:
    r"""The source map of a rewritten function.

    Args:
        tree: its gast tree, every node with a position of ``file``.
        file: the user's file, as the code object names it.

    >>> tree = gast.parse("total = left  +  right")
    >>> made = source_map_of(tree, "net.py")
    >>> made.text, made.original(1, 15)
    ('total = left + right\n', Original(file='net.py', line=1, column=17))
    """
    text = to_source(tree).text
    old = linecache.getlines(file)
    places = _Places(text.split("\n"), [line.rstrip("\n") for line in old])
    parsed: Any = ast.parse(text)
    if not isinstance(tree, gast.Module):
        (parsed,) = parsed.body
    stretches = list(places.walk(parsed, gast.gast_to_ast(tree)))
    return SourceMap(text, file, "".join(old) or None, tuple(_segments(text, stretches)))


class _Places:
    """Walks the generated text's own tree beside the rewritten one.

    Attributes:
        new, old: the lines of the generated text, and of the user's file.
    """

    def __init__(self, new: list[str], old: list[str]) -> None:
        self.new = new
        self.old = old

    def walk(self, new: Any, old: Any) -> Iterator[_Stretch]:
        """One stretch for each node that has a place on both sides, outer ones first."""
        if getattr(new, "lineno", None) and getattr(old, "lineno", None):
            start = self._place(self.new, new.lineno, new.col_offset)
            end = self._place(self.new, new.end_lineno, new.end_col_offset)
            original = self._place(self.old, old.lineno, old.col_offset)
            yield _Stretch(start, end, original, self._name(new, original))
        if type(new) is not type(old) or isinstance(new, _OPAQUE):
            return  # the printer writes it in another way, such as -1
        for field in new._fields:
            mine, theirs = getattr(new, field, None), getattr(old, field, None)
            if isinstance(mine, ast.AST) and isinstance(theirs, ast.AST):
                yield from self.walk(mine, theirs)
            elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
                for one, other in zip(mine, theirs, strict=True):
                    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
                        yield from self.walk(one, other)

    @staticmethod
    def _place(lines: list[str], line: int, column: int) -> Position:
        known = 0 < line <= len(lines)
        return Position(line, in_characters(lines[line - 1], column) if known else column)

    def _name(self, node: ast.AST, original: Position) -> str | None:
        """The variable that a node is, if the user's file has the same at its place."""
        name = getattr(node, "id", None) or getattr(node, "arg", None)
        if not isinstance(name, str) or not 0 < original.line <= len(self.old):
            return None
        rest = self.old[original.line - 1][original.column :]
        behind = rest[len(name) : len(name) + 1]
        return name if rest.startswith(name) and not f"_{behind}".isidentifier() else None


def _segments(text: str, stretches: Sequence[_Stretch]) -> Iterator[Segment]:
    """What is known of each line: a segment wherever the innermost stretch is another one."""
    lines = text.split("\n")
    stretches = [*_words(lines, stretches), *stretches]
    borders = {place for item in stretches for place in (item.start, item.end)}
    for number, line in enumerate(lines, 1):
        borders.add(Position(number, len(line) - len(line.lstrip())))
    waiting = sorted(stretches, key=lambda item: item.start)[::-1]  # of one start, the outer last
    around: list[_Stretch] = []
    last: Segment | None = None
    for place in sorted(borders):
        while waiting and waiting[-1].start <= place:
            around.append(waiting.pop())
        around = [item for item in around if item.end > place]
        if not around or place.column >= len(lines[place.line - 1]):
            continue
        innermost = around[-1]
        name = innermost.name if innermost.start == place else None
        made = Segment(place, innermost.original, name)
        if last is None or not _continues(last, made):
            yield made
        last = made


def _words(lines: Sequence[str], stretches: Sequence[_Stretch]) -> Iterator[_Stretch]:
    """The words before a decorator and a pattern, which belong to no node."""
    for item in stretches:
        line = lines[item.start.line - 1][: item.start.column]
        if _WORD.fullmatch(line):
            begin = Position(item.start.line, len(line) - len(line.lstrip()))
            yield _Stretch(begin, item.start, item.original, None)


def _continues(last: Segment, made: Segment) -> bool:
    """Whether a segment says nothing new behind another one."""
    same_line = last.generated.line == made.generated.line
    return same_line and last.original == made.original and last.name is made.name is None
