"""``python -m corpus.errors``: run the programs of the error catalogue, write ``docs/errors``.

The Chinese pages, ``docs/zh/errors``, are made with them; ``corpus/translations/errors.md`` has
their words.

Each code has a program that ends with it, and mostly a form of it that works. Here they are run:
the first for its message, the second in dygraph and as a program. What is printed goes into the
pages, so that nobody types in what an error says.

Ends with 0, or with 1 when a program does not do what its entry says.
"""

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["D2S_FULL_GRAPH"] = "1"

import contextlib
import functools
import inspect
import io
import linecache
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import paddle

import d2s
import d2s.errors
from corpus.language import LANGUAGES, Language, Text, page_in, table
from corpus.messages import messages
from corpus.translated import MissingTranslationError, link_in_chinese, translated
from d2s import cli
from d2s.diagnostics.catalogue import Block, Entry, Link, codes, entry
from d2s.program.islands.breaks import REFUSALS

PAGES = Path(__file__).resolve().parents[1] / "docs" / "errors"
FILE = "net.py"
"""What the file of a program is called in messages."""

INTRODUCTION = Text(
    """\
# Error codes

Every error of d2s ends with a code. Here is one page for each: what leads to it, a program that
does, what d2s says to it, and what to write instead. `d2s explain D2S204` prints the same in a
terminal, and [Errors](../guide/errors.md) says how to read and catch them.

Errors about functions that cannot be one program (D2S101, D2S103, D2S2xx, D2S304, D2S305, D2S307)
are raised where a function has to be one: with `full_graph=True`, and by `d2s.save`. Elsewhere it
runs as [several programs](../guide/islands.md), and a warning ([D2S310](D2S310.md)) says why.

<!-- Made by `make errors` from d2s/diagnostics/catalogue. -->
""",
    """\
# 错误码

d2s 的每个错误都以错误码结尾。这里每个错误码有一页：什么会引发它、一个引发它的程序、d2s 对该程序说什
么，以及替代写法。`d2s explain D2S204` 在终端里打印同样的内容（英文），怎样阅读和捕获错误
见[错误](../guide/errors.md)。

关于不能成为一个 Program 的函数的错误（D2S101、D2S103、D2S2xx、D2S304、D2S305、D2S307），
在函数必须是一个 Program 的地方抛出：使用 `full_graph=True` 时，以及在 `d2s.save` 中。在其他地方，
函数作为[若干个 Program](../guide/islands.md) 运行，并有一条警告（[D2S310](D2S310.md)）说明原因。

d2s 打印的消息是英文，这些页面原样给出。

<!-- Made by `make errors` from d2s/diagnostics/catalogue and corpus/translations/errors.md. -->
""",
)


SPLIT = Text(
    "You see it where a function has to be one program: with `full_graph=True` (or "
    "`D2S_FULL_GRAPH=1`), as in the example below, and from `d2s.save`. Elsewhere the function "
    "runs as [several programs](../guide/islands.md), and the warning [D2S310](D2S310.md) says the "
    "same once.",
    "它出现在函数必须是一个 Program 的地方：使用 `full_graph=True`（或 `D2S_FULL_GRAPH=1`）时，"
    "如下面的示例，以及在 `d2s.save` 中。在其他地方，"
    "函数作为[若干个 Program](../guide/islands.md) 运行，由警告 [D2S310](D2S310.md) 说一次同样的内"
    "容。",
)
"""What a page adds about an error that another way of running the function avoids."""

MESSAGES_BEFORE = Text(
    "All that ends with this code, with `…` for what is another each time:",
    "以这个错误码结尾的全部消息，`…` 代表每次不同的内容：",
)

KINDS: dict[str, type[BaseException]] = {
    kind.code: kind
    for _, kind in inspect.getmembers(d2s.errors, inspect.isclass)
    if hasattr(kind, "code")
}
"""The class of each code."""


class ExampleError(Exception):
    """A program of the catalogue does something else than its entry says."""


# -- running ---------------------------------------------------------------------------------------


def message_of(found: Entry) -> str:
    """What d2s says to the example of an entry, its file called ``net.py``.

    Raises:
        ExampleError: it ends without an error of d2s, or with another one than it should.
    """
    with _folder() as folder:
        run = _commands if found.example.language == "sh" else _failure
        code, text = run(found.example.text, folder)
    if code is None:
        raise ExampleError(f"the example of {found.code} ends without an error")
    if code != found.code:
        raise ExampleError(f"the example of {found.code} says: {text}")
    return text.replace(f"{folder}{os.sep}", "")


def _failure(text: str, folder: Path) -> tuple[str | None, str]:
    """Code and text of the error or warning that a program ends with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _run(text, folder)
        except d2s.D2SError as error:
            return error.code, str(error)
    for warning in caught:
        code = getattr(warning.category, "code", None)
        if code is not None:
            place = f"{warning.filename}:{warning.lineno}: {warning.category.__name__}"
            return code, f"{place}: {warning.message}"
    return None, ""


def _commands(text: str, folder: Path) -> tuple[str | None, str]:
    """Code and text of the error that some commands end with."""
    said, printed = io.StringIO(), io.StringIO()
    for line in text.splitlines():
        if not line.startswith("d2s "):
            subprocess.run(line, shell=True, check=True, cwd=folder)
            continue
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            _status(shlex.split(line)[1:])
    for text in (said.getvalue().strip(), printed.getvalue().strip()):  # lint prints what it finds
        found = re.search(r"\[(D2S\d{3})\]$", text)
        if found:
            return found[1], text
    return None, said.getvalue().strip()


def _status(arguments: list[str]) -> int:
    try:
        return cli.main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


def results_of(found: Entry) -> tuple[str, str]:
    """What the better form of an entry prints in dygraph, and as a program.

    Raises:
        ExampleError: there is none.
    """
    if found.instead is None:
        raise ExampleError(f"{found.code} has no better form")
    printed = []
    for mode in (_dygraph, contextlib.nullcontext):
        said = io.StringIO()
        with mode(), _folder() as folder, contextlib.redirect_stdout(said):
            _run(found.instead.text, folder)
        printed.append(said.getvalue())
    return printed[0], printed[1]


@contextlib.contextmanager
def _dygraph() -> Iterator[None]:
    """No program is made: what ``to_static`` gives runs as it is, and so does what is saved."""
    saved: dict[str, Any] = {}

    def save(function: Any, path: str, **options: Any) -> None:
        saved[path] = function

    paddle.jit.enable_to_static(False)
    try:
        with mock.patch.multiple(d2s, save=save, load=saved.__getitem__):
            yield
    finally:
        paddle.jit.enable_to_static(True)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder of its own to work in, for a while."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="d2s-errors-") as name:
        os.chdir(name)
        try:
            yield Path(name).resolve()
        finally:
            os.chdir(before)


def _run(text: str, folder: Path) -> None:
    """Run a program as Python runs a file."""
    file = folder / FILE
    file.write_text(text, encoding="utf-8")
    try:
        with mock.patch.dict(sys.modules):
            exec(compile(text, str(file), "exec", dont_inherit=True), {"__name__": "__main__"})
    finally:
        paddle.disable_static()
        linecache.checkcache()


# -- pages -----------------------------------------------------------------------------------------


def pages() -> dict[Path, str]:
    """The pages by file, in both languages, every example run.

    Raises:
        ExampleError: a program does not do what its entry says.
        MissingTranslationError: a paragraph of the catalogue has no Chinese.
    """
    entries = [entry(code) for code in codes()]
    made = {}
    for language in LANGUAGES:
        made[page_in(language, PAGES / "index.md")] = index(entries, language)
    for found in entries:
        message = message_of(found)
        for language in LANGUAGES:
            file = page_in(language, PAGES / f"{found.code}.md")
            made[file] = page(found, message, language)
    return made


def index(entries: Sequence[Entry], language: Language) -> str:
    """The page that lists all codes."""
    titles = (Text("code", "错误码"), Text("what it is about", "关于什么"), Text("class", "类"))
    rows = [
        f"| [{found.code}]({found.code}.md) | {translated('errors', found.title, language)} "
        f"| `{KINDS[found.code].__name__}` |"
        for found in entries
    ]
    return "\n".join([INTRODUCTION[language], *table(titles, language), *rows, ""])


def page(found: Entry, message: str, language: Language) -> str:
    """The page of one code.

    Args:
        found: what the catalogue says.
        message: what d2s says to the example.
        language: that of the page.
    """
    kind = KINDS[found.code]
    also = [base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"]
    also = also[: also.index("Exception" if issubclass(kind, d2s.D2SError) else "UserWarning")]
    said = functools.partial(translated, "errors", language=language)
    parts = [
        f"# {found.code}: {said(found.title)}",
        said(found.cause),
        _caught(kind, also)[language],
        *([SPLIT[language]] if issubclass(kind, REFUSALS) else []),
        f"## {Text('Example', '示例')[language]}",
        _fenced(found.example),
        Text("d2s says:", "d2s 说：")[language],
        f"```text\n{message}\n```",
        f"## {Text('Cure', '修改建议')[language]}",
        said(found.cure),
    ]
    if found.instead is not None:
        parts += [f"## {Text('Instead', '替代写法')[language]}", _fenced(found.instead)]
    texts = messages().get(found.code)
    if texts:
        parts += [f"## {Text('Messages', '消息')[language]}", MESSAGES_BEFORE[language]]
        parts.append("```text\n" + "\n".join(texts) + "\n```")
    if found.see:
        parts.append(f"## {Text('See', '另见')[language]}")
        parts.append("\n".join(f"- {_link(link, language)}" for link in found.see))
    return "\n\n".join(parts) + "\n"


def _caught(kind: type[BaseException], also: Sequence[str]) -> Text:
    name = f"`d2s.errors.{kind.__name__}`"
    if not also:
        return Text(f"The class is {name}.", f"对应的类是 {name}。")
    article = "an" if also[0][0] in "AEIOU" else "a"
    return Text(
        f"The class is {name}, which is {article} `{also[0]}` as well.",
        f"对应的类是 {name}，它也是一种 `{also[0]}`。",
    )


def _link(link: Link, language: Language) -> str:
    if language == "en":
        return f"[{link.text}](../guide/{link.target})"
    text, target = link_in_chinese(f"guide/{link.target}")
    return f"[{text}](../{target})"


def _fenced(block: Block) -> str:
    return f"```{block.language}\n{block.text}```"


def main() -> int:
    """Write the pages; 1 when an example is wrong."""
    try:
        made = pages()
    except (ExampleError, MissingTranslationError) as error:
        print(error, file=sys.stderr)
        return 1
    for language in LANGUAGES:
        folder = page_in(language, PAGES)
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.md"):
            if old not in made:
                old.unlink()
    for file, text in made.items():
        file.write_text(text, encoding="utf-8")
    print(f"{len(codes())} codes, in {PAGES} and {page_in('zh', PAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
