"""An error of d2s for a terminal: colours, the user's line, a marker under the place, the table.

``str(error)`` stays the plain text; this is the same content, laid out with rich, which honours
``NO_COLOR`` and ``TERM=dumb`` by itself.  Reads the user's file through ``linecache`` and writes
nothing; what cannot be read is left out, never an error.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from d2s.errors import D2SError, Row, texts_of

AROUND: Final = 1
"""How many lines are shown before and behind the user's line."""

_TAB: Final = 4
_CUT: Final = "…"


def show(error: D2SError, file: TextIO) -> None:
    """Print an error: laid out on a terminal, as plain text elsewhere.

    Args:
        error: any error of d2s.
        file: a stream, such as ``sys.stderr``.
    """
    if not file.isatty():
        print(error, file=file)
        return
    console = Console(file=file, highlight=False)
    console.print(rendered(error, console.width))


def rendered(error: D2SError, width: int = 100) -> RenderableType:
    """An error as rich prints it: place and cause, the lines, the table, the cure, the code.

    Args:
        error: any error of d2s.
        width: how many columns there are.
    """
    head = Text()
    if error.place:
        head.append(f"{error.place}: ", "bold")
    head.append(error.cause, "bold red")
    code = Text(f"[{error.code}]", "cyan")
    parts: list[RenderableType] = [head, *_excerpt(error, width)]
    if error.table:
        parts.append(Padding(_table(error.table), (0, 0, 0, 2)))
    if error.cure:
        parts.append(Text.assemble("  ", ("cure: ", "bold green"), error.cure, "  ", code))
    else:
        head.append("  ").append_text(code)
    return Group(*parts)


def _excerpt(error: D2SError, width: int) -> Iterator[Text]:
    """The user's line with its neighbours, and a marker under the place."""
    if error.file is None or error.line is None:
        return
    lines = linecache.getlines(error.file)
    if not 0 < error.line <= len(lines):
        return
    first, last = max(1, error.line - AROUND), min(len(lines), error.line + AROUND)
    shown = {number: _clean(lines[number - 1]) for number in range(first, last + 1)}
    before, marked = _marked(lines[error.line - 1], error.columns)
    gutter = len(str(last))
    room = max(width - gutter - len("    │ "), 20)
    start = max(0, len(before) - room // 3) if cell_len(before + marked) > room else 0
    for number, text in shown.items():
        yield Text.assemble((f"  {number:>{gutter}} │ ", "dim"), _window(text, start, room))
        if number == error.line:
            offset = cell_len(before[start:]) + (start > 0)
            length = max(1, min(cell_len(marked), room - offset))
            marker = " " * offset + "^" * length
            yield Text.assemble((f"  {'':>{gutter}} │ ", "dim"), (marker, "bold red"))


def _clean(line: str) -> str:
    """A line as a terminal can show it: no tabs, and nothing that moves the cursor."""
    text = line.rstrip("\r\n\f").expandtabs(_TAB)
    return "".join(char if char.isprintable() else "�" for char in text)


def _marked(line: str, columns: tuple[int, int] | None) -> tuple[str, str]:
    """What stands before the marked part of a line, and the part; both as :func:`_clean` has them.

    Without columns, all of the line is marked but for the blanks around it.
    """
    stripped = line.strip()
    begin = len(line) - len(line.lstrip())
    start, end = columns or (begin, begin + len(stripped))
    before = _clean(line[:start])
    return before, _clean(line[:end])[len(before) :] or " "


def _window(text: str, start: int, room: int) -> Text:
    """A line from ``start`` on, cut to ``room`` cells."""
    coloured = Syntax("", "python", theme="ansi_dark").highlight(text)
    coloured.rstrip()
    if start:
        coloured = Text.assemble((_CUT, "dim"), coloured[start:])
    coloured.truncate(room, overflow="ellipsis")
    return coloured


def _table(rows: Sequence[Row]) -> Table:
    headings, *lines = texts_of(rows)
    table = Table(*headings, box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for line in lines:
        table.add_row(*map(Text, line))
    return table
