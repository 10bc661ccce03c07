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
from corpus.language import Language, Text, page_in, same
from corpus.language import table as heads
from corpus.language import write as write_in_both

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


_TITLES = (
    Text("programs", "程序"),
    Text("tried", "试过"),
    same("right"),
    Text("not right", "不正确"),
    Text("not one program", "不是一个 Program"),
    Text("breaks", "切开处"),
    Text("programs in their place", "代替它们的 Program"),
    Text("operations inside", "其内的算子"),
    Text("time beside dygraph, median", "与动态图之比，中位数"),
    Text("slowest", "最慢"),
    Text("SOT right", "SOT 正确"),
    Text("SOT cuts", "SOT 切开处"),
)
_LINE = "|---|" + "---:|" * (len(_TITLES) - 1)


def table(found: Mapping[str, Found], language: Language) -> str:
    """The counts of each suite, and the programs that are not right or slower by more than 5 %."""
    suites: dict[str, list[tuple[str, Found]]] = collections.defaultdict(list)
    for key, each in sorted(found.items()):
        suite, _, name = key.partition("/")
        suites[suite].append((name, each))
    rows = [_row(f"`{suite}`", each, language) for suite, each in suites.items()]
    every = [each for some in suites.values() for each in some]
    rows.append(_row(Text("all", "全部")[language], every, language))
    head = heads(_TITLES, language)[0]
    return "\n".join([head, _LINE, *rows, "", _exceptions(found, language)])


def _row(title: str, programs: Iterable[tuple[str, Found]], language: Language) -> str:
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
        _of(sum(each.sot == "right" for each in peers), len(peers))[language] if peers else "-",
        str(sum(each.sot_pieces for each in peers)) if peers else "-",
    ]
    return f"| {' | '.join(cells)} |"


def _of(some: int, all_: int) -> Text:
    return Text(f"{some} of {all_}", f"{all_} 个中 {some} 个")


def _exceptions(found: Mapping[str, Found], language: Language) -> str:
    """The programs that are not as they should be, one line for each."""
    lines = []
    for key, each in sorted(found.items()):
        if each.verdict != "right":
            text = each.detail.replace("|", "/").replace("<", "&lt;")
            lines.append(f"- `{key}`: {each.verdict}: {text[:140].rstrip()}")
        elif each.is_slow:
            took = Text(
                f"takes {each.ratio:.2f} times as long as dygraph",
                f"用时为动态图的 {each.ratio:.2f} 倍",
            )
            more = Text(f", {each.extra_us:.1f} us more", f"，多 {each.extra_us:.1f} us")
            lines.append(f"- `{key}`: {took[language]}{more[language] * bool(each.extra_us)}")
    short = sum(each.ratio > _MORE and not each.is_slow for each in found.values())
    calls = Text(
        f"\n{short} more take at most {_CALL_US:g} us longer than dygraph, in calls so short that "
        "this is more than 5 %: what it takes to find out that the plain function is called.\n",
        f"\n另有 {short} 个比动态图最多慢 {_CALL_US:g} us，而调用非常短，因此超过 5%："
        "这是判断要调用原函数所需的时间。\n",
    )
    said = calls[language] * bool(short)
    if not lines:
        none = Text(
            "All are right, and none is slower than dygraph by more than 5 %.",
            "全部正确，没有一个比动态图慢 5% 以上。",
        )
        return f"{none[language]}\n{said}"
    head = Text(
        "Not right, or slower than dygraph by more than 5 %:", "不正确，或比动态图慢 5% 以上："
    )
    return f"{head[language]}\n\n" + "\n".join(lines) + "\n" + said


def page(text: str, shown: str) -> str:
    """The page ``text`` with this table between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{shown}\n{END}{tail}"


def write_page(found: Mapping[str, Found]) -> None:
    """Write the table into the page, in both languages."""

    def rendered(language: Language) -> str:
        text = page_in(language, PAGE).read_text(encoding="utf-8")
        return page(text, table(found, language))

    write_in_both(PAGE, rendered)
