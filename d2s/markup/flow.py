"""The control flow of a program: branches, loops, host operators, and counts of what is between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from d2s.markup.page import escaped


@dataclass(frozen=True)
class Flow:
    """A part of a program.

    Attributes:
        kind: ``operations``, ``if``, ``while`` or ``host``.
        operations: how many operations it has, those inside included.
        lines: the lines of the user's that it comes from.
        keys: the same as links, see ``markup.code``.
        blocks: a name and the parts of each block.
        text: what else there is to say.
    """

    kind: str
    operations: int
    lines: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    blocks: tuple[tuple[str, tuple[Flow, ...]], ...] = ()
    text: str = ""

    def walk(self) -> Iterator[Flow]:
        """It and all parts of it."""
        yield self
        for _, parts in self.blocks:
            for part in parts:
                yield from part.walk()

    @property
    def title(self) -> str:
        """It in words."""
        words = {"if": "cond", "while": "while_loop", "host": "host"}.get(self.kind, "")
        where = lines_in_words(self.lines)
        if self.kind == "operations":
            count = counted(self.operations, "operation")
            return f"{count}, {where}" if where else count
        said = f": {self.text}" if self.text else ""
        return f"{words} {where}{said}".strip()


def counted(number: int, what: str) -> str:
    """A number with its noun.

    >>> counted(1, "operation"), counted(2, "operation")
    ('1 operation', '2 operations')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def lines_in_words(lines: tuple[int, ...]) -> str:
    """Line numbers to read.

    >>> lines_in_words((3,)), lines_in_words((3, 4, 9)), lines_in_words(())
    ('line 3', 'lines 3 to 9', '')
    """
    if not lines:
        return ""
    first, last = min(lines), max(lines)
    return f"line {first}" if first == last else f"lines {first} to {last}"


_ROW: Final = 26
_GAP: Final = 8
_PAD: Final = 10
_LETTER: Final = 7
_NARROW: Final = 120
"""Sizes of the picture, in units of its own."""


@dataclass(frozen=True)
class _Box:
    """A part with its place: all sizes are known, from the inside out."""

    width: int
    height: int
    marks: tuple[str, ...]
    """What is drawn, relative to its corner."""


def picture(parts: tuple[Flow, ...], label: str) -> str:
    """The parts of a program, one below the other, as an SVG element.

    Args:
        parts: of the program's outermost block.
        label: what it shows, for those who cannot see it.
    """
    box = _stacked([_drawn(part) for part in parts])
    width, height = box.width + 2, box.height + 2
    return (
        f'<svg class="flow" viewBox="-1 -1 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escaped(label)}">{"".join(box.marks)}</svg>'
    )


def _moved(box: _Box, x: int, y: int) -> str:
    return f'<g transform="translate({x} {y})">{"".join(box.marks)}</g>'


def _text_width(text: str) -> int:
    return max(_NARROW, len(text) * _LETTER + 2 * _PAD)


def _stacked(boxes: list[_Box]) -> _Box:
    """Boxes one below the other, with lines between them."""
    width = max((box.width for box in boxes), default=_NARROW)
    y, marks = 0, []
    for index, box in enumerate(boxes):
        if index:
            middle = width // 2
            marks.append(f'<path class="wire" d="M{middle} {y}v{_GAP}"/>')
            y += _GAP
        marks.append(_moved(box, (width - box.width) // 2, y))
        y += box.height
    return _Box(width, max(y, _ROW), tuple(marks))


def _beside(boxes: list[_Box]) -> _Box:
    x, marks = 0, []
    for box in boxes:
        marks.append(_moved(box, x, 0))
        x += box.width + _PAD
    return _Box(max(x - _PAD, 0), max((box.height for box in boxes), default=0), tuple(marks))


def _drawn(part: Flow) -> _Box:
    title = part.title
    keys = escaped(" ".join(part.keys))
    inner = _beside([_block(name, parts) for name, parts in part.blocks])
    width = max(_text_width(title), inner.width + 2 * _PAD if part.blocks else 0)
    height = _ROW + (inner.height + _PAD if part.blocks else 0)
    marks = [
        f'<g class="node {escaped(part.kind)}" data-k="{keys}" tabindex="0">',
        f"<title>{escaped(title)}; {counted(part.operations, 'operation')}</title>",
        f'<rect width="{width}" height="{height}" rx="5"/>',
        f'<text x="{_PAD}" y="17">{escaped(title)}</text></g>',
    ]
    if part.blocks:
        marks.append(_moved(inner, (width - inner.width) // 2, _ROW))
    return _Box(width, height, tuple(marks))


def _block(name: str, parts: tuple[Flow, ...]) -> _Box:
    """One side of a branch, or the body of a loop."""
    count = sum(part.operations for part in parts)
    title = f"{name} ({counted(count, 'operation')})"
    inner = _stacked([_drawn(part) for part in parts])
    width = max(_text_width(title), inner.width)
    mark = f'<text class="side" x="{_PAD}" y="14">{escaped(title)}</text>'
    if not parts:
        return _Box(width, 20, (mark,))
    return _Box(width, inner.height + 20, (mark, _moved(inner, (width - inner.width) // 2, 20)))
