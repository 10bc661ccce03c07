"""``python -m corpus.errors``: run the programs of the error catalogue, write ``docs/errors``.

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
from corpus.messages import messages
from d2s import cli
from d2s.diagnostics.catalogue import Block, Entry, codes, entry
from d2s.program.islands.breaks import REFUSALS

PAGES = Path(__file__).resolve().parents[1] / "docs" / "errors"
FILE = "net.py"
"""What the file of a program is called in messages."""

INTRODUCTION = """\
# Error codes

Every error of d2s ends with a code. Here is one page for each: what leads to it, a program that
does, what d2s says to it, and what to write instead. `d2s explain D2S204` prints the same in a
terminal, and [Errors](../guide/errors.md) says how to read and catch them.

Errors about functions that cannot be one program (D2S101, D2S103, D2S2xx, D2S304, D2S305, D2S307)
are raised where a function has to be one: with `full_graph=True`, and by `d2s.save`. Elsewhere it
runs as [several programs](../guide/islands.md), and a warning ([D2S310](D2S310.md)) says why.

<!-- Made by `make errors` from d2s/diagnostics/catalogue. -->
"""


SPLIT = (
    "You see it where a function has to be one program: with `full_graph=True` (or "
    "`D2S_FULL_GRAPH=1`), as in the example below, and from `d2s.save`. Elsewhere the function "
    "runs as [several programs](../guide/islands.md), and the warning [D2S310](D2S310.md) says the "
    "same once."
)
"""What a page adds about an error that another way of running the function avoids."""

MESSAGES_BEFORE = "All that ends with this code, with `…` for what is another each time:"

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


def pages() -> dict[str, str]:
    """The pages by file name, every example run.

    Raises:
        ExampleError: a program does not do what its entry says.
    """
    entries = [entry(code) for code in codes()]
    made = {f"{found.code}.md": page(found, message_of(found)) for found in entries}
    return {"index.md": index(entries), **made}


def index(entries: Sequence[Entry]) -> str:
    """The page that lists all codes."""
    rows = [
        f"| [{found.code}]({found.code}.md) | {found.title} | `{KINDS[found.code].__name__}` |"
        for found in entries
    ]
    return "\n".join(
        [INTRODUCTION, "| code | what it is about | class |", "|---|---|---|", *rows, ""]
    )


def page(found: Entry, message: str) -> str:
    """The page of one code.

    Args:
        found: what the catalogue says.
        message: what d2s says to the example.
    """
    kind = KINDS[found.code]
    also = [base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"]
    also = also[: also.index("Exception" if issubclass(kind, d2s.D2SError) else "UserWarning")]
    caught = f"`d2s.errors.{kind.__name__}`"
    if also:
        caught += f", which is {'an' if also[0][0] in 'AEIOU' else 'a'} `{also[0]}` as well"
    parts = [
        f"# {found.code}: {found.title}",
        found.cause,
        f"The class is {caught}.",
        *([SPLIT] if issubclass(kind, REFUSALS) else []),
        "## Example",
        _fenced(found.example),
        "d2s says:",
        f"```text\n{message}\n```",
        "## Cure",
        found.cure,
    ]
    if found.instead is not None:
        parts += ["## Instead", _fenced(found.instead)]
    said = messages().get(found.code)
    if said:
        parts += ["## Messages", MESSAGES_BEFORE, "```text\n" + "\n".join(said) + "\n```"]
    if found.see:
        links = "\n".join(f"- [{link.text}](../guide/{link.target})" for link in found.see)
        parts += ["## See", links]
    return "\n\n".join(parts) + "\n"


def _fenced(block: Block) -> str:
    return f"```{block.language}\n{block.text}```"


def main() -> int:
    """Write the pages; 1 when an example is wrong."""
    try:
        made = pages()
    except ExampleError as error:
        print(error, file=sys.stderr)
        return 1
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"{len(made) - 1} codes, in {PAGES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
