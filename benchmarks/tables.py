"""A file of results as tables: of goals, of all figures, of growth, of memory, of two files.

A :class:`Sheet` is what all of them are; it can be shown on a terminal and written as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from benchmarks import growth
from benchmarks.goals import Goal, Verdict, judge
from d2s.bench.texts import TITLES, duration, failure, ratio

_MODES: Final = {"dygraph": "dygraph", "forward": "d2s, forward", "step": "d2s, whole step"}


@dataclass
class Sheet:
    """A table of text.

    Attributes:
        title: what it shows.
        headings: one for each column; the first column is text, the others figures.
        rows: the cells; one may have several lines.
        notes: lines below it.
    """

    title: str
    headings: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def rich(self) -> Table:
        """For a terminal."""
        out = Table(title=escape(self.title), title_justify="left", show_lines=self._has_lines())
        for index, heading in enumerate(self.headings):
            figures = index and heading not in ("goals", "remark", "peer")
            out.add_column(escape(heading), justify="right" if figures else "left")
        for row in self.rows:
            out.add_row(*(_coloured(cell) for cell in row))
        return out

    def markdown(self) -> str:
        """For a page."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        text = [f"| {' | '.join(cell.replace(chr(10), '<br>') for cell in row)} |" for row in lines]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([*text, *(["", *notes] if notes else [])]) + "\n"

    def _has_lines(self) -> bool:
        return any("\n" in cell for row in self.rows for cell in row)


_COLOURS: Final = {"met": "green", "missed": "red", "level": "yellow", "wrong": "bold red"}
_VERDICT: Final = re.compile(r"\b(met|missed|level|wrong)\b")


def _coloured(cell: str) -> str:
    return _VERDICT.sub(lambda found: f"[{_COLOURS[found[1]]}]{found[1]}[/]", escape(cell))


# -- scenarios -----------------------------------------------------------------------------------


def goals(scenarios: Mapping[str, Any]) -> Sheet:
    """Each scenario with its best times, and what is asked of d2s there."""
    sheet = Sheet("Best rounds", ("scenario", *TITLES.values(), "goals"))
    for name, found in scenarios.items():
        peers = found["peers"]
        base = next(iter(peers))
        cells = [_cell(peers.get(peer), peers[base], peer == base) for peer in TITLES]
        asked = "\n".join(str(each) for each in verdicts(found))
        sheet.rows.append((found["summary"], *cells, asked))
        sheet.notes += [
            f"{name}, {TITLES[peer]} {mine['status']}: {mine['detail']}"
            for peer, mine in peers.items()
            if mine["status"] != "timed"
        ]
    return sheet


def _cell(mine: Mapping[str, Any] | None, base: Mapping[str, Any], is_base: bool) -> str:
    if mine is None:
        return ""
    if mine["status"] != "timed":
        return failure(mine)
    time = duration(mine["best_s"])
    if is_base or base["status"] != "timed":
        return time
    return f"{time}\n{ratio(mine['best_s'] / base['best_s'])}"


def verdicts(found: Mapping[str, Any]) -> list[Verdict]:
    """Whether the goals of a scenario are met."""
    return [judge(Goal(**goal), found["peers"]) for goal in found["goals"]]


def figures(scenarios: Mapping[str, Any]) -> Sheet:
    """Every figure of every peer."""
    sheet = Sheet(
        "All figures",
        ("scenario", "peer", "best", "median", "spread", "first call", "calls a round", "remark"),
    )
    for name, found in scenarios.items():
        for peer, mine in found["peers"].items():
            sheet.rows.append((name, TITLES[peer], *_figures(mine)))
    return sheet


def _figures(mine: Mapping[str, Any]) -> Sequence[str]:
    if mine["status"] != "timed":
        return (failure(mine), "", "", "", "", "")
    first = "" if mine["first_s"] is None else duration(mine["first_s"])
    times = duration(mine["best_s"]), duration(mine["median_s"]), f"{mine['spread']:.0%}", first
    return (*times, str(mine["calls_per_round"]), mine["detail"])


# -- growth and memory ---------------------------------------------------------------------------


def curve(found: Mapping[str, Any]) -> Sheet:
    """One curve: for each size, a warm call and a first call of each peer, and d2s's capture."""
    peers = [peer for peer in TITLES if peer in found["points"][0]["peers"]]
    sheet = Sheet(found["summary"], (found["axis"], *(TITLES[peer] for peer in peers)))
    for point in found["points"]:
        cells = [_point(point["peers"].get(peer)) for peer in peers]
        sheet.rows.append((str(point["size"]), *cells))
    asked = growth.verdict(found)
    if asked is not None:
        sheet.notes.append(str(asked))
    return sheet


def _point(mine: Mapping[str, Any] | None) -> str:
    if mine is None:
        return "failed before"
    if mine["status"] != "timed":
        return failure(mine)
    lines = [duration(mine["best_s"])]
    if mine["first_s"] is not None:
        lines.append(f"first {duration(mine['first_s'])}")
    if mine.get("capture_s") is not None:
        lines.append(f"capture {duration(mine['capture_s'])}")
    return "\n".join(lines)


def memory(rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """Time and growth of the process, by model, trips and way of training."""
    sheet = Sheet(
        "Training through loops: one step, and the growth of the process",
        ("model", "trips", "remark", "a step", "of dygraph", "growth", "of dygraph", "first step"),
    )
    timed = [row for row in rows if "failed" not in row]
    base = {(row["model"], row["trips"]): row for row in timed if row["mode"] == "dygraph"}
    for row in rows:
        of = base.get((row["model"], row["trips"]))
        if row not in timed or of is None:
            what = f"{row['model']}, {row['trips']} trips, {_MODES[row['mode']]}"
            sheet.notes.append(f"{what} fails: {row.get('failed', 'so does dygraph')}")
            continue
        sheet.rows.append(
            (
                row["model"],
                str(row["trips"]),
                _MODES[row["mode"]],
                duration(row["best_s"]),
                ratio(row["best_s"] / of["best_s"]),
                f"{row['growth_mib']:.1f} MiB",
                ratio(row["growth_mib"] / of["growth_mib"]) if of["growth_mib"] > 0 else "",
                duration(row["first_s"]),
            )
        )
    return sheet


# -- a whole file, two files ---------------------------------------------------------------------


def sheets(report: Mapping[str, Any]) -> Iterator[Sheet]:
    """All tables of a file of results."""
    if report["scenarios"]:
        yield goals(report["scenarios"])
        yield figures(report["scenarios"])
    for found in report["growth"].values():
        yield curve(found)
    if report["memory"]:
        yield memory(report["memory"])


def summary(report: Mapping[str, Any]) -> str:
    """How many goals are met, in one line."""
    asked = [each for found in report["scenarios"].values() for each in verdicts(found)]
    asked += filter(None, map(growth.verdict, report["growth"].values()))
    counts = [
        (state, sum(each.state == state for each in asked))
        for state in ("met", "level", "missed", "unknown")
    ]
    return f"{len(asked)} goals: " + ", ".join(
        f"{count} {state}" for state, count in counts if count
    )


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Sheet:
    """What changed between two files: new time over old time, best rounds."""
    sheet = Sheet(
        "New time ÷ old time; ~ where the spread is as large", ("scenario", *TITLES.values())
    )
    before, after = _points(old), _points(new)
    for name in before | after:
        if name not in before or name not in after:
            sheet.rows.append((name, f"not in {'old' if name not in before else 'new'}"))
            continue
        pairs = [(before[name].get(peer), after[name].get(peer)) for peer in TITLES]
        sheet.rows.append((name, *(_change(*pair) for pair in pairs)))
    return sheet


def _points(report: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured, by a name for a reader."""
    found = {name: each["peers"] for name, each in report["scenarios"].items()}
    for name, each in report["growth"].items():
        for point in each["points"]:
            found[f"{name} {point['size']}"] = point["peers"]
    return found


def _change(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    if old is None and new is None:
        return ""
    states = [each["status"] if each else "absent" for each in (old, new)]
    if old is None or new is None or states != ["timed", "timed"]:
        return " → ".join(states)
    found = float(new["best_s"] / old["best_s"])
    close = abs(found - 1) <= max(old["spread"], new["spread"])
    return f"{'~ ' if close else ''}{found:.2f}"
