"""What was found of each program, as a file, and the table that a page shows of it."""

from __future__ import annotations

import collections
import platform
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import paddle

from corpus import record

FILE = Path(__file__).parent / "results.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "islands.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


@dataclass(frozen=True)
class Found:
    """What is kept of one program.

    Attributes:
        hash: of its file.
        verdict, detail: of its suite, under the default.
        breaks, programs: how many; no breaks where it is one program.
        inside, outside: operations of warm calls, inside of programs and between them.
        ratio: the time of warm calls beside dygraph; the slowest of its functions.
        extra_us: microseconds by which a call of that one takes longer; 0 if not measured.
        left: why there is no time.
        sot, sot_pieces: the verdict of Paddle's SOT, and into how many pieces it cuts.
    """

    hash: str
    verdict: str
    detail: str = ""
    breaks: int = 0
    programs: int = 0
    inside: int = 0
    outside: int = 0
    ratio: float = 0.0
    extra_us: float = 0.0
    left: str = ""
    sot: str = ""
    sot_pieces: int = 0

    @property
    def is_slow(self) -> bool:
        """Whether it is slower than dygraph by more than the call of a converted function takes."""
        return self.ratio > _MORE and not 0 < self.extra_us <= _CALL_US


_MORE: Final = 1.05
_CALL_US: Final = 0.7
"""A call of a converted function that runs in dygraph takes so many microseconds at most."""


def read(file: Path = FILE) -> dict[str, Found]:
    """What is kept, by suite and name."""
    return {name: Found(**each) for name, each in record.load(file).get("programs", {}).items()}


def write(found: Mapping[str, Found], file: Path = FILE) -> None:
    """Keep it, one line for each program."""
    head = {"paddle": paddle.__version__, "python": platform.python_version()}
    rows = {
        name: {key: value for key, value in vars(each).items() if value or key == "hash"}
        for name, each in found.items()
    }
    record.dump(file, head, "programs", rows)


def stale(found: Mapping[str, Found], paths: Mapping[str, Path]) -> list[str]:
    """Why what is kept does not speak about the programs as they are; empty when it does."""
    return [
        f"{name}: {'there is no such program' if name not in paths else 'has changed'}"
        for name, each in found.items()
        if name not in paths or each.hash != record.digest(paths[name])
    ]


_HEAD = (
    "| programs | tried | right | not right | not one program | breaks | programs in their place "
    "| operations inside | time beside dygraph, median | slowest | SOT right | SOT cuts |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
)


def table(found: Mapping[str, Found]) -> str:
    """The counts of each suite, and the programs that are not right or slower by more than 5 %."""
    suites: dict[str, list[tuple[str, Found]]] = collections.defaultdict(list)
    for key, each in sorted(found.items()):
        suite, _, name = key.partition("/")
        suites[suite].append((name, each))
    rows = "".join(_row(f"`{suite}`", each) for suite, each in suites.items())
    rows += _row("all", [each for some in suites.values() for each in some])
    return f"{_HEAD}{rows}\n{_exceptions(found)}"


def _row(title: str, programs: Iterable[tuple[str, Found]]) -> str:
    every = [each for _, each in programs]
    cut = [each for each in every if each.breaks]
    right = sum(each.verdict == "right" for each in every)
    times = [each.ratio for each in cut if each.ratio]
    ran = sum(each.inside + each.outside for each in cut)
    share = f"{sum(each.inside for each in cut) / ran:.0%}" if ran else "-"
    peers = [each for each in cut if each.sot]
    cells = [
        title,
        str(len(every)),
        str(right),
        str(len(every) - right),
        str(len(cut)),
        str(sum(each.breaks for each in cut)),
        str(sum(each.programs for each in cut)),
        share,
        f"{statistics.median(times):.2f}" if times else "-",
        f"{max(times):.2f}" if times else "-",
        f"{sum(each.sot == 'right' for each in peers)} of {len(peers)}" if peers else "-",
        str(sum(each.sot_pieces for each in peers)) if peers else "-",
    ]
    return f"| {' | '.join(cells)} |\n"


def _exceptions(found: Mapping[str, Found]) -> str:
    """The programs that are not as they should be, one line for each."""
    lines = []
    for key, each in sorted(found.items()):
        if each.verdict != "right":
            text = each.detail.replace("|", "/").replace("<", "&lt;")
            lines.append(f"- `{key}`: {each.verdict}: {text[:140].rstrip()}")
        elif each.is_slow:
            took = f"takes {each.ratio:.2f} times as long as dygraph"
            more = f", {each.extra_us:.1f} us more" if each.extra_us else ""
            lines.append(f"- `{key}`: {took}{more}")
    short = sum(each.ratio > _MORE and not each.is_slow for each in found.values())
    said = (
        f"{short} more take at most {_CALL_US:g} us longer than dygraph, in calls so short that "
        "this is more than 5 %: what it takes to find out that the plain function is called.\n"
    )
    said = f"\n{said}" if short else ""
    if not lines:
        return f"All are right, and none is slower than dygraph by more than 5 %.\n{said}"
    head = "Not right, or slower than dygraph by more than 5 %:\n\n"
    return head + "\n".join(lines) + "\n" + said


def page(text: str, shown: str) -> str:
    """The page ``text`` with this table between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{shown}\n{END}{tail}"


def write_page(found: Mapping[str, Found]) -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page(text, table(found)), encoding="utf-8")
