"""How an error looks on a terminal: the line, the marker, the table; and plainly elsewhere."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from d2s.diagnostics.render import rendered, show
from d2s.errors import AmbiguousValueError, D2SError, NoSourceError, Row

TEXT = """\
def f(x):
    total = x.sum()
    while total < 100:
        total = total.astype("float64")
    return total
"""
ROWS = [
    Row("total", "before the loop", "Tensor", "float32", "[]", 2),
    Row("total", "after a trip", "Tensor", "float64", "[]", 4),
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def lines(error: D2SError, width: int = 100, color: str | None = None) -> list[str]:
    """What a terminal of some width shows."""
    said = io.StringIO()
    console = Console(
        file=said,
        width=width,
        force_terminal=True,
        color_system=color,
        highlight=False,  # type: ignore[arg-type]
    )
    console.print(rendered(error, width))
    return [line.rstrip() for line in said.getvalue().splitlines()]


def wrong(file: str, **options: object) -> D2SError:
    """An error on the third line."""
    return AmbiguousValueError("it changes", cure="cast it", file=file, line=3, **options)  # type: ignore[arg-type]


def test_the_whole(file: str) -> None:
    """Place and cause, the line between its neighbours, the marker, the table, cure and code."""
    shown = lines(wrong(file, columns=(10, 21), table=ROWS), 300)
    assert shown[0] == f"{file}:3: it changes"
    assert shown[1:5] == [
        "  2 │     total = x.sum()",
        "  3 │     while total < 100:",
        "    │           ^^^^^^^^^^^",
        '  4 │         total = total.astype("float64")',
    ]
    assert [line.split() for line in shown[5:9] if "─" not in line] == [
        ["variable", "where", "type", "dtype", "shape", "line"],
        ["total", "before", "the", "loop", "Tensor", "float32", "[]", "2"],
        ["total", "after", "a", "trip", "Tensor", "float64", "[]", "4"],
    ]
    assert shown[9] == "  cure: cast it  [D2S203]"
    assert len(shown) == 10


def test_without_columns_the_whole_line_is_marked(file: str) -> None:
    """But not the blanks before it."""
    shown = lines(wrong(file), 300)
    assert shown[3] == "    │     ^^^^^^^^^^^^^^^^^^"


def test_the_first_and_the_last_line_have_one_neighbour(tmp_path: Path) -> None:
    """Nothing is shown that is not there."""
    path = tmp_path / "two.py"
    path.write_text("a = 1\nb = 2\n")
    for line, want in ((1, ["1", "", "2"]), (2, ["1", "2", ""])):
        shown = lines(NoSourceError("gone", file=str(path), line=line))[-3:]
        assert [text.partition("│")[0].strip() for text in shown] == want


def test_a_column_in_characters_is_a_column_of_the_terminal(tmp_path: Path) -> None:
    """Wide characters take two cells, tabs are expanded; the marker stays under the word."""
    path = tmp_path / "wide.py"
    path.write_text("\t値 = bad + 1\n", encoding="utf-8")
    error = NoSourceError("gone", file=str(path), line=1, columns=(5, 8))
    text, marker = lines(error)[-2:]
    assert text == "  1 │     値 = bad + 1"
    assert marker == "    │          ^^^"  # 4 blanks, 2 cells, " = "


def test_a_long_line_is_cut_around_the_place(tmp_path: Path) -> None:
    """The marker and what it marks are on the screen."""
    path = tmp_path / "long.py"
    path.write_text("x = [" + "1, " * 2000 + "bad, " + "2, " * 2000 + "]\n")
    start = path.read_text().index("bad")
    error = NoSourceError("gone", file=str(path), line=1, columns=(start, start + 3))
    text, marker = lines(error, 60)[-2:]
    assert len(text) <= 60
    assert text.index("bad") == marker.index("^^^")
    assert marker.count("^") == 3
    assert text.split("│")[1].startswith(" …")
    assert text.endswith("…")


def test_what_could_move_the_cursor_is_not_printed(tmp_path: Path) -> None:
    """Escapes in the user's file stay text."""
    path = tmp_path / "escape.py"
    path.write_text('x = "\x1b[31m\x07"\n')
    shown = "\n".join(lines(NoSourceError("gone", file=str(path), line=1)))
    assert "\x07" not in shown
    assert "\x1b[31m" not in shown


def test_markup_is_text(tmp_path: Path) -> None:
    """Brackets in a message or a line mean nothing."""
    path = tmp_path / "markup.py"
    path.write_text("x = y[bold] + z[/bold]\n")
    error = NoSourceError("the list [red] is [/red] gone", file=str(path), line=1)
    shown = lines(error, 300)
    assert "the list [red] is [/red] gone" in shown[0]
    assert shown[1] == "  1 │ x = y[bold] + z[/bold]"


@pytest.mark.parametrize(
    ("file", "line"), [(None, None), ("/nowhere/net.py", 3), ("<string>", 1), ("/nowhere", None)]
)
def test_a_file_that_cannot_be_read(file: str | None, line: int | None) -> None:
    """Then there are no lines, and all the rest."""
    shown = lines(NoSourceError("gone", cure="look", file=file, line=line), 300)
    place = "" if file is None else f"{file}:{line or 1}: "
    assert shown == [f"{place}gone", "  cure: look  [D2S101]"]


def test_a_line_that_is_not_there_any_more(file: str) -> None:
    """The file has become shorter."""
    assert len(lines(NoSourceError("gone", file=file, line=99), 300)) == 1


def test_without_a_cure_the_code_is_at_the_end_of_the_cause(file: str) -> None:
    """As in the plain text."""
    assert lines(NoSourceError("gone"))[-1] == "gone  [D2S101]"


def test_colours(file: str) -> None:
    """The cause is red, the code cyan, and the plain text is the same."""
    coloured = lines(wrong(file, columns=(10, 21), table=ROWS), color="standard")
    assert any("\x1b[1;31mit changes\x1b[0m" in line for line in coloured)
    assert "\x1b[36m[D2S203]\x1b[0m" in coloured[-1]
    stripped = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured]
    assert stripped == lines(wrong(file, columns=(10, 21), table=ROWS))


def test_elsewhere_it_is_the_plain_text(file: str) -> None:
    """A pipe or a log gets ``str(error)``."""
    said = io.StringIO()
    show(wrong(file, table=ROWS), said)
    assert said.getvalue() == f"{wrong(file, table=ROWS)}\n"


COMMAND = "import d2s.cli, sys; sys.exit(d2s.cli.main())"


def on_a_terminal(folder: Path, **environment: str) -> str:
    """What ``d2s dump`` says of a broken file on a terminal."""
    (folder / "broken.py").write_text("def f(x):\n    return x +\n")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, "dump", "broken.py:f"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "TERM": "xterm-256color",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONWARNINGS": "ignore",
            **environment,
        },
    ) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            text += chunk
    os.close(ours)
    assert process.returncode == 2
    return text.decode().replace("\r\n", "\n")


def test_the_command_line_uses_it(tmp_path: Path) -> None:
    """On a terminal: the line and the marker, in colour; NO_COLOR takes the colours only."""
    coloured = on_a_terminal(tmp_path)
    plain = on_a_terminal(tmp_path, NO_COLOR="1")
    assert "\x1b[1;31m" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", plain)
    for text in (coloured, plain):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert "  2 │     return x +\n" in shown
        assert re.search(r"^    │ +\^+$", shown, re.MULTILINE)
        assert "[D2S502]" in shown
