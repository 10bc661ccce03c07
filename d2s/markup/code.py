"""Listings as HTML: the original and the generated code side by side, their lines linked.

A line of the user's has a key, made of the number of its listing and its own.  A generated line
has the keys of all lines that it comes from, and so have the boxes of a picture; the script of the
page marks what has a key in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from rich.style import Style
from rich.syntax import Syntax

from d2s.markup.listing import Fate, Generated, Hint, Line, Listing, share_of_time
from d2s.markup.page import escaped, page

_PLACES: Final = {
    "program": "in the program",
    "capture": "Python, while the program was captured",
    "island": "in one of several programs",
    "outside": "Python, between the programs",
}
"""What the colour beside a line says."""


def legend(listings: Sequence[Listing]) -> str:
    """What the colours and numbers beside the lines of some listings mean."""
    lines = [line for each in listings for line in each.lines]
    shown = {line.where for line in lines}
    said = [
        f'<span class="row {place}">{escaped(text)}</span>'
        for place, text in _PLACES.items()
        if place in shown
    ]
    if any(line.operations for line in lines):
        timed = (
            ", then the share of the programs' time" if any(line.share for line in lines) else ""
        )
        said.append(f"<span>behind the number of a line: its operations{timed}</span>")
    return f'<p class="soft legend">{"".join(said)}</p>' if said else ""


def code_page(title: str, place: str, listing: Listing, facts: Sequence[str] = ()) -> str:
    """A page with one function: its code side by side, and what else there is to say."""
    said = "".join(f"<li>{escaped(fact)}</li>" for fact in facts)
    return page(
        title,
        f"<header><h1>{escaped(title)}</h1><small>{escaped(place)}</small></header>\n"
        f"{listing_html(listing, keys_of([listing]))}\n" + (f"<ol>{said}</ol>" if said else ""),
    )


def text_page(title: str, text: str) -> str:
    """A page with a text as it is."""
    shown = f'<div class="card"><pre>{escaped(text)}</pre></div>'
    return page(title, f"<header><h1>{escaped(title)}</h1></header>\n{shown}")


def keys_of(listings: Sequence[Listing]) -> dict[tuple[str, int], str]:
    """The key of each line of some listings, by file and line."""
    return {
        (each.file, line.number): f"f{number}l{line.number}"
        for number, each in enumerate(listings)
        for line in each.lines
    }


def coloured(lines: Iterable[str]) -> list[str]:
    """Lines of Python as HTML, with the kinds of their words as classes."""
    text = Syntax("", "python", theme="ansi_dark").highlight("\n".join(lines))
    return ["".join(_runs(line.plain, line.spans)) for line in text.split("\n", allow_blank=True)]


def _runs(text: str, spans: Iterable[object]) -> Iterable[str]:
    """The pieces of a line between the borders of its spans."""
    names = [""] * len(text)
    for span in spans:
        style = getattr(span, "style", "")
        name = _class(style) if isinstance(style, Style) else ""
        first, last = getattr(span, "start", 0), getattr(span, "end", 0)
        names[first:last] = [name or old for old in names[first:last]]
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or names[end] != names[start]:
            piece = escaped(text[start:end])
            yield f'<i class="{names[start]}">{piece}</i>' if names[start] else piece
            start = end


def _class(style: Style) -> str:
    return "" if style.color is None else f"t-{escaped(style.color.name)}"


def listing_html(listing: Listing, keys: dict[tuple[str, int], str]) -> str:
    """A listing: left the user's lines with what is known of them, right the generated ones."""
    place = f"{PurePath(listing.file).name}:{listing.line}"
    timed = any(line.share for line in listing.lines)
    own = [
        _own(line, text, keys.get((listing.file, line.number), ""), timed=timed)
        for line, text in zip(
            listing.lines, coloured(line.text for line in listing.lines), strict=False
        )
    ]
    parts = [_generated(each, listing.file, keys) for each in listing.generated]
    return (
        f'<h3>{escaped(listing.name)} <small title="{escaped(listing.file)}">{escaped(place)}'
        f'</small></h3>\n<div class="pair">\n<div class="code own">{"".join(own)}</div>\n'
        f'<div class="code made">{"".join(parts)}</div>\n</div>'
    )


def _own(line: Line, text: str, key: str, *, timed: bool) -> str:
    said = [_fate(fate) for fate in line.fates] + [_hint(hint) for hint in line.hints]
    below = f'<div class="said">{"".join(said)}</div>' if said else ""
    count = str(line.operations) if line.operations else ""
    title = _PLACES.get(line.where, "")
    time = ""
    if timed:
        time = (
            f'<span class="t" style="--share:{line.share:.3f}" '
            f'title="share of the programs\' time">{share_of_time(line.share)}</span>'
        )
    return (
        f'<div class="row {escaped(line.where)}" data-k="{key}" tabindex="0">'
        f'<span class="n" title="{title}">{line.number}</span>'
        f'<span class="c" title="operations that come of this line">{count}</span>{time}'
        f"<code>{text}</code></div>{below}"
    )


def _fate(fate: Fate) -> str:
    why = f" <small>{escaped(fate.why)}</small>" if fate.why else ""
    return f'<p class="fate {escaped(fate.kind)}"><b>{escaped(fate.what)}</b>{why}</p>'


def _hint(hint: Hint) -> str:
    return f'<p class="hint">{hint_html(hint)}</p>'


def hint_html(hint: Hint) -> str:
    """A warning with its code and its cure."""
    code = f" <code>{escaped(hint.code)}</code>" if hint.code else ""
    cure = f"<br><small>cure: {escaped(hint.cure)}</small>" if hint.cure else ""
    return f"{escaped(hint.text)}{code}{cure}"


def _generated(made: Generated, file: str, keys: dict[tuple[str, int], str]) -> str:
    rows = []
    for number, (text, links) in enumerate(zip(coloured(made.lines), made.links, strict=False), 1):
        found = " ".join(keys[file, line] for line in links if (file, line) in keys)
        rows.append(
            f'<div class="row" data-k="{found}" tabindex="0"><span class="n">{number}</span>'
            f"<code>{text}</code></div>"
        )
    title = f'<div class="part">{escaped(made.title)}</div>' if made.title else ""
    return title + "".join(rows)
