"""What was noted of each failing program, and the page that is made of it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median

import paddle

from corpus import record
from corpus.failures.failure import GROUPS, Failure
from corpus.failures.shown import Shown
from corpus.support import escape

FOLDER = record.RESULTS / "failures"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "failures.md"
CONVERTERS = {"none": "dygraph", "paddle-ast": "Paddle AST", "d2s": "d2s"}
DYGRAPH, AST, D2S = CONVERTERS

SAME, WITHIN, OTHER = "same", "within", "other"


@dataclass(frozen=True)
class Told:
    """What one converter tells of one program, as it is kept.

    Attributes:
        hash: of the program's file.
        type: of the exception; empty if nothing failed.
        code: of an error of d2s.
        line: the line that is named.
        message: whether dygraph's message is the ``SAME``, is ``WITHIN`` this one, or neither.
        users, library: how many frames are shown.
        lines: how many lines are printed.
        lost: why there is no answer, if there is none.
    """

    hash: str
    type: str = ""
    code: str = ""
    line: int | None = None
    message: str = ""
    users: int = 0
    library: int = 0
    lines: int = 0
    lost: str = ""

    @classmethod
    def of(cls, shown: Shown, hash_: str, dygraph: Shown) -> Told:
        """What is kept of what was ``shown``."""
        if not shown.type:
            return cls(hash_)
        return cls(
            hash_,
            shown.type,
            shown.code,
            shown.line,
            message_kept(shown.message, dygraph.message),
            shown.users,
            shown.library,
            shown.lines,
        )


def message_kept(message: str, wanted: str) -> str:
    """Whether ``message`` is the wanted one, or shows the sentence of it.

    >>> message_kept("In user code: IndexError: index 7 of 3 [operator < gather > error]",
    ...              "(OutOfRange) index 7 of 3")
    'within'
    """
    if message == wanted:
        return SAME
    sentence = sentence_of(wanted)
    return WITHIN if sentence and sentence in " ".join(message.split()) else OTHER


def sentence_of(message: str) -> str:
    """What a message of Paddle says, without its kind, hint and place in C++.

    >>> sentence_of("(InvalidArgument) It is 7.\\n  [Hint: Expected 3.] (at /paddle/a.cc:3)")
    'It is 7.'
    """
    text = re.sub(r"^\(\w+\) ", "", message)
    return " ".join(re.split(r"\[Hint: |\(at /|\[operator <", text)[0].split())


@dataclass
class Notes:
    """What one converter told, by the name of the program."""

    converter: str
    paddle: str = ""
    python: str = ""
    told: dict[str, Told] = field(default_factory=dict)

    @property
    def current(self) -> bool:
        """Whether they were made with the Paddle and the Python that run now."""
        python = platform.python_version_tuple()
        return self.paddle == paddle.__version__ and self.python.split(".")[:2] == [*python[:2]]

    def note(self, name: str, told: Told) -> None:
        """Take what a program was answered by the Paddle and the Python that run now."""
        self.paddle, self.python = paddle.__version__, platform.python_version()
        self.told[name] = told


def read(converter: str, folder: Path = FOLDER) -> Notes:
    """The notes on a converter; empty where there are none."""
    data = record.load(folder / f"{converter}.json")
    told = {name: Told(**each) for name, each in data.pop("programs", {}).items()}
    return Notes(**{"converter": converter, **data}, told=told)


def write(notes: Notes, folder: Path = FOLDER) -> None:
    """Write the notes on a converter."""
    head = {"converter": notes.converter, "paddle": notes.paddle, "python": notes.python}
    told = {
        name: {key: value for key, value in vars(each).items() if value}
        for name, each in notes.told.items()
    }
    record.dump(folder / f"{notes.converter}.json", head, "programs", told)


def stale(notes: Notes, paths: Mapping[str, Path]) -> list[str]:
    """Why notes do not speak about the programs as they are; empty when they do."""
    problems = [f"{name}: not run" for name in paths if name not in notes.told]
    problems += [f"{name}: there is no such program" for name in notes.told if name not in paths]
    problems += [
        f"{name}: has changed"
        for name, told in notes.told.items()
        if name in paths and told.hash != record.digest(paths[name])
    ]
    return problems


# -- judgement -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """One program beside what a converter told of it."""

    failure: Failure
    dygraph: Told
    told: Told

    @property
    def fails(self) -> bool:
        """Whether there was an error at all, and not a silent success or a crash."""
        return bool(self.told.type)

    @property
    def type(self) -> bool:
        """Whether the error is of the right type: dygraph's, or the one with the code."""
        if self.failure.code:
            return self.told.code == self.failure.code
        return self.told.type == self.dygraph.type

    @property
    def line(self) -> bool:
        """Whether the line that fails is named."""
        return self.fails and self.told.line == self.failure.line

    @property
    def message(self) -> bool:
        """Whether the reader learns what dygraph says."""
        return self.told.message in (SAME, WITHIN)


def judge(failures: Sequence[Failure], notes: Mapping[str, Notes], converter: str) -> list[Judged]:
    """Every program that the converter was tried on."""
    return [
        Judged(each, notes[DYGRAPH].told[each.name], notes[converter].told[each.name])
        for each in failures
        if each.name in notes[converter].told and each.name in notes[DYGRAPH].told
    ]


# -- the page ------------------------------------------------------------------------------------

_INTRO = """\
# When a program fails

What a user is shown when a program fails: in dygraph, converted by Paddle's own converter
(`paddle.jit.to_static(full_graph=True)`), and converted by d2s. The {count} programs stand in
`corpus/failures/programs/`; each marks the line that an error has to name. Nobody typed in the
numbers: `make failures` runs the programs and writes this page.

{versions}

- **type**: the exception is of the very class that dygraph raises.
- **message**: the text of dygraph's exception is the text, or a part of it.
- **line**: the last line of the program's file that the text names is the one that fails. (In an
  error of d2s with a code it is the line that the error is about.)
- **frames**: how many places in the user's code the whole text shows as frames, and how many in
  Paddle, d2s or Python's library.
- **lines**: how many lines are printed when nobody catches the exception.
"""


def render(failures: Sequence[Failure], notes: Mapping[str, Notes]) -> str:
    """The text of the page."""
    plain = [each for each in failures if not each.code]
    ruled = [each for each in failures if each.code]
    parts = [
        _INTRO.format(count=len(failures), versions=_versions(notes)),
        "## Programs that fail in dygraph\n\n" + _totals(plain, notes),
        "## Programs that only a program cannot do\n\n" + _rules(ruled, notes),
        "## Every program\n\n" + _programs(failures, notes),
    ]
    return "\n".join(parts)


def _versions(notes: Mapping[str, Notes]) -> str:
    found = sorted({(each.paddle, each.python) for each in notes.values() if each.told})
    made = " and ".join(f"paddlepaddle {name} on Python {python}" for name, python in found)
    return f"Made with {made}, on the CPU." if made else "Nothing has been run yet."


def _share(flags: Sequence[bool]) -> str:
    return f"{100 * sum(flags) / len(flags):.1f} %" if flags else "-"


def _middle(numbers: Sequence[int]) -> str:
    return f"{median(numbers):g}" if numbers else "-"


def _totals(failures: Sequence[Failure], notes: Mapping[str, Notes]) -> str:
    lines = [
        "| | programs | type kept | message kept | line named | user's frames (median) "
        "| library frames (median) | lines printed (median) | lines printed (most) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for converter, title in CONVERTERS.items():
        judged = judge(failures, notes, converter)
        told = [each.told for each in judged if each.fails]
        cells = [
            title,
            str(len(judged)),
            _share([each.type for each in judged]),
            _share([each.message for each in judged]),
            _share([each.line for each in judged]),
            _middle([each.users for each in told]),
            _middle([each.library for each in told]),
            _middle([each.lines for each in told]),
            str(max((each.lines for each in told), default=0)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rules(failures: Sequence[Failure], notes: Mapping[str, Notes]) -> str:
    text = (
        "d2s answers these with an error that has a code, the line and a cure. Most of them run "
        "in dygraph.\n\n"
    )
    lines = ["| | programs | fail | with the right code | line named |", "|---|---|---|---|---|"]
    for converter in (AST, D2S):
        judged = judge(failures, notes, converter)
        coded = _share([each.type for each in judged]) if converter == D2S else "-"
        failed = [each for each in judged if each.fails]
        cells = [
            CONVERTERS[converter],
            str(len(judged)),
            str(len(failed)),
            coded,
            _share([each.line for each in failed]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return text + "\n".join(lines) + "\n"


def _programs(failures: Sequence[Failure], notes: Mapping[str, Notes]) -> str:
    known = {
        converter: {each.failure.name: each for each in judge(failures, notes, converter)}
        for converter in CONVERTERS
    }
    parts = []
    for group, members in groupby(failures, key=lambda each: each.group):
        titles = ["program", "what goes wrong", "raises", *CONVERTERS.values()]
        lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
        for each in members:
            dygraph = known[DYGRAPH].get(each.name)
            raises = each.code or (_short(dygraph.told.type) if dygraph else "-")
            cells = [f"`{each.name}`", escape(each.summary), escape(raises)]
            cells += [_cell(known[converter].get(each.name)) for converter in CONVERTERS]
            lines.append(f"| {' | '.join(cells)} |")
        title = f"{escape(GROUPS[group])} (`corpus/failures/programs/{group}`)"
        parts.append(f"### {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _short(type_: str) -> str:
    return type_.rpartition(".")[2]


def _cell(judged: Judged | None) -> str:
    """What happened to one program, in few words."""
    if judged is None:
        return "not run"
    told = judged.told
    if told.lost:
        return f"**{escape(told.lost)}**"
    if not told.type:
        return "runs" if judged.failure.code else "**runs**"
    wrong = [] if judged.type else [f"**{escape(_short(told.type))}**"]
    if not judged.line:
        wrong.append(f"**line {told.line}**" if told.line else "**no line**")
    if not judged.failure.code and not judged.message:
        wrong.append("other message")
    size = f"{told.users} + {told.library} frames, {told.lines} lines"
    return ", ".join([*wrong, size])
