"""Input that nobody has written: generated Python through conversion, junk on the command line."""

from __future__ import annotations

import contextlib
import io
import os
import textwrap
import types
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from d2s.cli import main
from d2s.errors import D2SError
from tests.helpers import function_of
from tests.hostile.sweep import check

QUICK, MANY = 10, 1000


def _python() -> st.SearchStrategy[str]:
    import hypothesmith  # it reads a grammar for seconds, not in each process that collects tests

    return hypothesmith.from_grammar()


PYTHON = st.deferred(_python)


def programs(examples: int) -> settings:
    """Generating a program is slow, and filters out a lot."""
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


def convert(source: str) -> None:
    """Convert a function whose body is ``source``, without running it."""
    text = f"def f(x):\n{textwrap.indent(source, '    ')}\n    return x\n"
    try:
        compile(text, "<made>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # it may stand in a module only, or holds a null character
        assume(False)
    made = function_of(text)
    assert isinstance(made, types.FunctionType)
    with contextlib.suppress(D2SError):
        check(made)


@programs(QUICK)
@given(PYTHON)
def test_any_python_is_converted_or_refused(source: str) -> None:
    """A5: nothing but an error with a code; what is printed compiles, and stays the same."""
    convert(source)


@pytest.mark.slow
@programs(MANY)
@given(PYTHON)
def test_much_python_is_converted_or_refused(source: str) -> None:
    """A5: the same for many programs."""
    convert(source)


# -- the command line ------------------------------------------------------------------------------

WORDS = [
    "dump", "explain", "test", "bench", "--help", "--version", "--json", "--list", "--passes",
    "--side-by-side", "--program", "--output", "-o", "D2S202", "made.py:f", "made.py", "made.py:",
    ":f", "missing.py:f", "folder:f", "binary.py:f", "--", "-", "", "os:getcwd", "1e9", "-1",
]  # fmt: skip

FILE = "def f(x):\n    if x > 0:\n        return x\n    return -x\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, a file of bytes, and a folder."""
    folder = tmp_path_factory.mktemp("junk")
    (folder / "made.py").write_text(FILE)
    (folder / "binary.py").write_bytes(bytes(range(256)))
    (folder / "folder").mkdir()
    return folder


def run(arguments: list[str], where: Path) -> tuple[int, str]:
    """Exit status, and all that is printed; an exception that leaves the command is a defect."""
    told = io.StringIO()
    before = Path.cwd()
    os.chdir(where)
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            try:
                status: object = main(arguments)
            except SystemExit as exit_:
                status = exit_.code
    finally:
        os.chdir(before)
    return status if isinstance(status, int) else int(bool(status)), told.getvalue()


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arguments=st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=4))
def test_any_words_on_the_command_line(place: Path, arguments: list[str]) -> None:
    """An answer, or a message and exit status 1 or 2; no traceback."""
    assume(not {"test", "bench"} & set(arguments) or "made.py:f" not in arguments)  # they run it
    status, told = run(arguments, place)
    assert status in (0, 1, 2)
    assert "Traceback (most recent call last)" not in told


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.binary(max_size=60)
    | st.text(max_size=60).map(lambda t: t.encode("utf-8", "replace"))
)
def test_any_file_on_the_command_line(place: Path, content: bytes) -> None:
    """A file that is no program is a message, and nothing is written."""
    target, output = place / "any.py", place / "out.py"
    target.write_bytes(content)
    with contextlib.suppress(SyntaxError, ValueError):
        compile(content, "any.py", "exec", dont_inherit=True)
        assume(False)  # a program: it would be run
    status, told = run(["dump", f"{target}:f", "-o", str(output)], place)
    assert status in (1, 2)
    assert "Traceback (most recent call last)" not in told
    assert not output.exists()


def test_what_cannot_be_written_leaves_the_file_as_it_was(place: Path) -> None:
    """A dump that fails does not touch what stood in the file."""
    output = place / "kept.py"
    output.write_text("mine\n")
    status, _ = run(["dump", "made.py:missing", "-o", str(output)], place)
    assert (status, output.read_text()) == (2, "mine\n")
    status, told = run(["dump", "made.py:f", "-o", str(place / "folder")], place)
    assert status in (1, 2)
    assert "Traceback" not in told
