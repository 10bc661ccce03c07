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
from corpus.language import Language, Text, same, section, table
from corpus.support import COMMA, NOT_RUN, escape
from corpus.translated import translated

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

_INTRO = Text(
    """\
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
""",
    """\
# 程序出错时

程序失败时用户会看到什么：在动态图里，用飞桨自带的方式转换
（`paddle.jit.to_static(full_graph=True)`），以及用 d2s 转换。共 {count} 个程序，
位于 `corpus/failures/programs/`；每个程序标出了错误应当指出的代码行。没有一个数字是手工填写
的：`make failures` 运行这些程序并生成本页。

{versions}

- **类型**：异常的类正是动态图所抛出的类。
- **消息**：动态图异常的文本就是它的文本，或是其中的一部分。
- **代码行**：文本最后指出的程序文件的行，就是失败的那一行。（对于 d2s 带错误码的错误，
是错误所针对的行。）
- **栈帧**：整段文本中显示了用户代码的多少处栈帧，以及飞桨、d2s 或 Python 标准库的多少处。
- **行数**：没有人捕获异常时，打印出多少行。
""",
)


def render(failures: Sequence[Failure], notes: Mapping[str, Notes], language: Language) -> str:
    """The text of the page."""
    plain = [each for each in failures if not each.code]
    ruled = [each for each in failures if each.code]
    fail = Text("Programs that fail in dygraph", "在动态图里失败的程序")
    cannot = Text("Programs that only a program cannot do", "只有静态图 Program 做不到的程序")
    every = Text("Every program", "每个程序")
    parts = [
        _INTRO[language].format(count=len(failures), versions=_versions(notes)[language]),
        section(fail, _totals(plain, notes, language), language),
        section(cannot, _rules(ruled, notes, language), language),
        section(every, _programs(failures, notes, language), language),
    ]
    return "\n".join(parts)


def _versions(notes: Mapping[str, Notes]) -> Text:
    found = sorted({(each.paddle, each.python) for each in notes.values() if each.told})
    if not found:
        return Text("Nothing has been run yet.", "还没有运行过任何程序。")
    made = " and ".join(f"paddlepaddle {name} on Python {python}" for name, python in found)
    with_ = "、".join(f"paddlepaddle {name}（Python {python}）" for name, python in found)
    return Text(f"Made with {made}, on the CPU.", f"在 CPU 上用 {with_}得到。")


def _share(flags: Sequence[bool]) -> str:
    return f"{100 * sum(flags) / len(flags):.1f} %" if flags else "-"


def _middle(numbers: Sequence[int]) -> str:
    return f"{median(numbers):g}" if numbers else "-"


TOTALS = (
    same(""),
    Text("programs", "程序数"),
    Text("type kept", "类型不变"),
    Text("message kept", "消息不变"),
    Text("line named", "指出代码行"),
    Text("user's frames (median)", "用户的栈帧（中位数）"),
    Text("library frames (median)", "库的栈帧（中位数）"),
    Text("lines printed (median)", "打印行数（中位数）"),
    Text("lines printed (most)", "打印行数（最多）"),
)


def _totals(failures: Sequence[Failure], notes: Mapping[str, Notes], language: Language) -> str:
    lines = table(TOTALS, language)
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


_RULES = (
    same(""),
    Text("programs", "程序数"),
    Text("fail", "失败"),
    Text("with the right code", "错误码正确"),
    Text("line named", "指出代码行"),
)


def _rules(failures: Sequence[Failure], notes: Mapping[str, Notes], language: Language) -> str:
    text = Text(
        "d2s answers these with an error that has a code, the line and a cure. Most of them run "
        "in dygraph.",
        "对这些程序，d2s 给出带错误码、代码行和修改建议的错误。其中大多数能在动态图里运行。",
    )
    lines = table(_RULES, language)
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
    return f"{text[language]}\n\n" + "\n".join(lines) + "\n"


_PROGRAMS = (
    Text("program", "程序"),
    Text("what goes wrong", "出了什么错"),
    Text("raises", "抛出"),
    *(same(title) for title in CONVERTERS.values()),
)


def _programs(failures: Sequence[Failure], notes: Mapping[str, Notes], language: Language) -> str:
    known = {
        converter: {each.failure.name: each for each in judge(failures, notes, converter)}
        for converter in CONVERTERS
    }
    parts = []
    for group, members in groupby(failures, key=lambda each: each.group):
        lines = table(_PROGRAMS, language)
        for each in members:
            dygraph = known[DYGRAPH].get(each.name)
            raises = each.code or (_short(dygraph.told.type) if dygraph else "-")
            summary = escape(translated("failures", each.summary, language))
            cells = [f"`{each.name}`", summary, escape(raises)]
            cells += [_cell(known[converter].get(each.name), language) for converter in CONVERTERS]
            lines.append(f"| {' | '.join(cells)} |")
        where = f"`corpus/failures/programs/{group}`"
        title = escape(GROUPS[group][language]) + Text(f" ({where})", f"（{where}）")[language]
        parts.append(f"### {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _short(type_: str) -> str:
    return type_.rpartition(".")[2]


RUNS = Text("runs", "能运行")
NO_LINE = Text("no line", "没有代码行")


def _cell(judged: Judged | None, language: Language) -> str:
    """What happened to one program, in few words."""
    if judged is None:
        return NOT_RUN[language]
    told = judged.told
    if told.lost:
        return f"**{escape(told.lost)}**"
    if not told.type:
        return RUNS[language] if judged.failure.code else f"**{RUNS[language]}**"
    wrong = [] if judged.type else [f"**{escape(_short(told.type))}**"]
    if not judged.line:
        line = Text(f"line {told.line}", f"第 {told.line} 行")
        wrong.append(f"**{(line if told.line else NO_LINE)[language]}**")
    if not judged.failure.code and not judged.message:
        wrong.append(Text("other message", "消息不同")[language])
    size = Text(
        f"{told.users} + {told.library} frames, {told.lines} lines",
        f"{told.users} + {told.library} 个栈帧，{told.lines} 行",
    )
    return COMMA[language].join([*wrong, size[language]])
