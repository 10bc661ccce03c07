"""Show what was made of a function: as text, beside the original, pass by pass, as a program.

Every function takes what it shows and returns plain text that ends with a newline; colours are
the terminal's business (``d2s.cli``).  Reads a ``Trace`` and changes nothing.  Knows no Paddle: a
program is whatever ``str`` turns into text.
"""

from __future__ import annotations

import bisect
import difflib
import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from d2s.markup.plain import readable
from d2s.syntax.printer import to_source
from d2s.syntax.printing.layout import Printed

if TYPE_CHECKING:
    from d2s.pipeline import Trace

_ELLIPSIS = "…"
_MIN_COLUMN = 10
_FALLBACK_SIZE = (100, 24)


def render_text(trace: Trace, *, exact: bool = False) -> str:
    """The generated code with two gutters: its own line number, and the original's.

    Args:
        trace: What the transformation made of a function.
        exact: The text that runs, to the letter; else calls and operators are plain where they
            stayed what they were.

    Returns:
        A header that names the function, and one line for each generated line. Lines on which no
        statement starts have an empty second gutter.
    """
    printed = _printed(trace, exact=exact)
    own = _digits(len(printed.lines))
    original = _digits(*(line for line in printed.lines if line is not None))
    rows = [_row("new", own, "old", original, _title(trace))]
    for number, (code, line) in enumerate(_numbered(printed), 1):
        rows.append(_row(number, own, "" if line is None else line, original, code))
    return _text(rows)


def render_pieces(trace: Trace, pieces: Sequence[tuple[str, Any]], *, exact: bool = False) -> str:
    """The same of a function that is several programs: the code between them, and that of each.

    Args:
        trace: What the transformation made of the whole function.
        pieces: A title and a tree each.
        exact: As for ``render_text``.
    """
    made = [(title, to_source(tree if exact else readable(tree))) for title, tree in pieces]
    own = _digits(*(len(printed.lines) for _, printed in made))
    original = _digits(*(line for _, printed in made for line in printed.lines if line is not None))
    rows = [_row("new", own, "old", original, _title(trace))]
    for title, printed in made:
        rows.append(_row("", own, "", original, f"# {title}"))
        for number, (code, line) in enumerate(_numbered(printed), 1):
            rows.append(_row(number, own, "" if line is None else line, original, code))
    return _text(rows)


def _printed(trace: Trace, *, exact: bool) -> Printed:
    return to_source(trace.tree if exact else readable(trace.tree))


def _row(own: object, own_width: int, line: object, line_width: int, code: str) -> str:
    return f"{own!s:>{own_width}} | {line!s:>{line_width}} | {code}"


def _title(trace: Trace) -> str:
    return f"{trace.source.name} ({trace.source.file}:{trace.source.first_line})"


def _numbered(printed: Printed) -> list[tuple[str, int | None]]:
    return list(zip(printed.text.removesuffix("\n").split("\n"), printed.lines, strict=True))


def _digits(*numbers: int) -> int:
    return max(3, len(str(max(numbers, default=0))))


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines)


def render_side_by_side(trace: Trace, width: int | None = None, *, exact: bool = False) -> str:
    """The original on the left, the generated code on the right, aligned by original line.

    Args:
        trace: What the transformation made of a function.
        exact: As for ``render_text``.
        width: Columns to use; those of the terminal when None.

    Returns:
        Rows that are at most ``width`` wide (or as wide as two columns of ten need); what does
        not fit is cut and ends with ``…``.
    """
    if width is None:
        width = shutil.get_terminal_size(_FALLBACK_SIZE).columns
    source = trace.source
    left = source.text.splitlines()
    right = _numbered(_printed(trace, exact=exact))
    left_digits = _digits(source.first_line + len(left))
    right_digits = _digits(len(right))
    free = width - left_digits - right_digits - len("  |  ")
    left_width = max(_MIN_COLUMN, free // 2)
    right_width = max(_MIN_COLUMN, free - free // 2)
    rows = []
    for before, after in _aligned(len(left), [line for _, line in right], source.first_line):
        old = f"{'':>{left_digits}} {'':{left_width}}"
        if before is not None:
            number = source.first_line + before
            old = f"{number:>{left_digits}} {_cut(left[before], left_width)}"
        new = ""
        if after is not None:
            new = f"{after + 1:>{right_digits}} {_cut(right[after][0], right_width)}"
        rows.append(f"{old} | {new}")
    return _text(rows)


def _aligned(
    height: int, lines: Sequence[int | None], first_line: int
) -> list[tuple[int | None, int | None]]:
    """Pairs of an index into the original and an index into the generated lines.

    A generated line stands beside the original line that it came from if that keeps both sides
    in order for as many lines as possible; otherwise it stands alone.
    """
    anchored = _longest_rise(lines)
    rows: list[tuple[int | None, int | None]] = []
    shown = 0  # how many original lines have been shown
    for index, line in enumerate(lines):
        place = None if line is None or index not in anchored else line - first_line
        if place is not None and shown <= place < height:
            rows += [(before, None) for before in range(shown, place)]
            rows.append((place, index))
            shown = place + 1
        else:
            rows.append((None, index))
    return rows + [(before, None) for before in range(shown, height)]


def _longest_rise(lines: Sequence[int | None]) -> set[int]:
    """The indices of a longest subsequence whose line numbers rise."""
    tails: list[int] = []  # tails[n]: the least line that n + 1 rising lines can end with
    ends: list[int] = []  # ends[n]: the index of that line
    previous: dict[int, int | None] = {}
    for index, line in enumerate(lines):
        if line is None:
            continue
        length = bisect.bisect_left(tails, line)
        if tails[length : length + 1] != [line]:  # of equal lines, the first is as good
            tails[length : length + 1] = [line]
            ends[length : length + 1] = [index]
            previous[index] = ends[length - 1] if length else None
    chosen: set[int] = set()
    step = ends[-1] if ends else None
    while step is not None:
        chosen.add(step)
        step = previous[step]
    return chosen


def _cut(line: str, width: int) -> str:
    """``line`` at exactly ``width`` terminal cells."""
    line = line.expandtabs()
    if cell_len(line) > width:
        line = set_cell_size(line, width - 1) + _ELLIPSIS
    return set_cell_size(line, width)


def render_passes(trace: Trace) -> str:
    """What each pass changed, as a unified diff against the step before it.

    Args:
        trace: A trace that kept its steps. The first one is the tree before all passes.

    Returns:
        One diff for each pass that changed something; last, one line with the names of the
        others.
    """
    blocks: list[str] = []
    unchanged: list[str] = []
    texts = [(step.name, to_source(step.tree).text.splitlines()) for step in trace.steps]
    for (old_name, old), (new_name, new) in pairwise(texts):
        diff = list(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))
        if diff:
            blocks.append(_text([f"=== {new_name}", *diff, ""]))
        else:
            unchanged.append(new_name)
    if unchanged:
        blocks.append(f"unchanged by: {', '.join(unchanged)}\n")
    return _text([f"=== {_title(trace)}", ""]) + "".join(blocks)


def render_program(program: object) -> str:
    """The text of a captured program, without blanks at the ends of its lines.

    Args:
        program: A Paddle program.
    """
    return _text(str(program).strip("\n").split("\n"))
