"""The command without Paddle: what needs none works, the rest says so; help, completion, Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d2s.cli import app

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = [info.name for info in app.registered_commands if info.name]
BLOCKED = """
import sys
sys.modules["paddle"] = None
from d2s_command import main
status = main()
sys.exit(status)
"""
LOADED = """
import sys
import d2s_command
try:
    d2s_command.main()
finally:
    heavy = {"paddle", "numpy", "rich", "gast", "beniget", "astor"} & set(sys.modules)
    print(*sorted(heavy), file=sys.stderr)
"""


def run(code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )


HELPS = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
LINT = ["lint", str(ROOT / "d2s" / "cli")]
QUICK = [*HELPS, ["explain", "D2S204"], ["explain", "--list"]]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("args", QUICK, ids=" ".join)
def test_what_needs_no_paddle_works_without(args: list[str]) -> None:
    done = run(BLOCKED, *args)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("args", QUICK, ids=" ".join)
def test_what_is_wanted_at_once_imports_nothing_slow(args: list[str]) -> None:
    """No timing: the packages that take the time are not there, so it works without Paddle, too."""
    done = run(LOADED, *args)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr.strip() == ""


def test_lint_needs_no_paddle() -> None:
    done = run(BLOCKED, *LINT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing found\n")


def test_what_needs_paddle_says_so(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("def f(x):\n    return x\n")
    done = run(BLOCKED, "dump", f"{tmp_path / 'net.py'}:f")
    assert done.returncode == 2
    assert "needs Paddle" in done.stderr
    assert done.stderr.rstrip().endswith("[D2S104]")
    assert "Traceback" not in done.stderr


def test_another_package_that_is_missing_is_no_missing_paddle() -> None:
    done = run(BLOCKED.replace("paddle", "rich"), "dump", "net.py:f")
    assert "ModuleNotFoundError" in done.stderr
    assert "D2S104" not in done.stderr


def test_a_program_that_imports_d2s_counts_hooks_at_once() -> None:
    """Hooks are counted from the import of d2s on, whichever of the two is imported first."""
    code = "import sys, d2s; print(*(name in sys.modules for name in ('paddle', %r)))"
    assert run(code % "d2s.paddle_bridge.running.steps").stdout.split() == ["True", "True"]


def test_a_program_pays_for_what_it_asks_for() -> None:
    """No timing: what takes the time is imported with the names that need it."""
    code = (
        "import sys, d2s\n"
        "rooms = 'd2s.runtime', 'd2s.passes', 'd2s.debug', 'd2s.selfcheck', 'd2s.lint'\n"
        "print(*(room in sys.modules for room in rooms))\n"
        "d2s.to_static; assert 'dump' in dir(d2s)\n"
        "print(*(room in sys.modules for room in rooms))\n"
    )
    lines = run(code).stdout.splitlines()
    assert lines == ["False False False False False", "True True False True False"]


def test_names_that_are_asked_for_in_the_command() -> None:
    code = (
        "import d2s_command, d2s, sys; assert 'paddle' not in sys.modules\n"
        "from d2s import to_static, options\n"
        "assert d2s.to_static is to_static and 'paddle' in sys.modules\n"
        "try: d2s.there_is_no_such\n"
        "except AttributeError as error: print(error)\n"
    )
    assert run(code).stdout == "module 'd2s' has no attribute 'there_is_no_such'\n"


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_has_whole_sentences_and_examples(name: str, columns: str) -> None:
    """Nothing is cut with dots, and nothing but a command to type is wider than the terminal."""
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": columns}).stdout
    page = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": columns}).stdout
    assert not re.search(r"[a-z] ?\.\.\.", listed + page)
    assert f"    d2s {name}" in page
    assert "-\n" not in listed + page
    for line in (listed + page).splitlines():
        assert len(line) <= int(columns) or line.startswith("    d2s ")
    summary = listed.split(f"\n  {name} ")[1].split("\n  ")[0]
    assert summary.strip()


def test_options_for_programs() -> None:
    """Every command has --json."""
    for name in COMMANDS:
        assert "--json" in CliRunner().invoke(app, [name, "--help"]).stdout, name


TYPED = {"_TYPER_COMPLETE_ARGS": "d2s explain D2S40"}


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "d2s explain D2S40", "COMP_CWORD": "2"}),
        ("zsh", TYPED),
        ("fish", {**TYPED, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_completion_of_codes(shell: str, asked: dict[str, str]) -> None:
    """What the scripts of ``--install-completion`` ask for, with titles where a shell has them."""
    code = "from d2s_command import main; main()"
    done = run(code, _D2S_COMPLETE=f"complete_{shell}", **asked)
    assert re.findall(r"D2S\d+", done.stdout) == ["D2S401", "D2S402", "D2S403", "D2S404"]
    assert ("A result that cannot be saved" in done.stdout) == (shell != "bash")


def test_no_colour_on_a_terminal() -> None:
    """NO_COLOR leaves the layout and takes the colours."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from d2s_command import main; main()", "explain", "D2S204"],
        stdout=follower,
        stderr=follower,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TERM": "xterm"},
    )
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    process.wait()
    os.close(leader)
    assert b"D2S204" in said
    assert not re.search(rb"\x1b\[[\d;]*3\dm", said)


def test_ctrl_c_has_a_status_of_its_own_and_leaves_no_file(tmp_path: Path) -> None:
    """130, not 1, which would say that something was found."""
    ready = tmp_path / "ready"
    (tmp_path / "net.py").write_text(
        f"import pathlib, time\npathlib.Path({str(ready)!r}).touch()\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", "from d2s_command import main; main()"]
    process = subprocess.Popen(
        [*command, "dump", str(tmp_path / "net.py:f"), "-o", str(tmp_path / "out.txt")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # A shell that runs in the background lets its children ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not ready.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130, said
    assert said.rstrip().endswith("interrupted")
    place = tmp_path / "net.py"
    assert f"importing {place} had not ended; it was at {place}:3" in said
    assert "Traceback" not in said
    assert {path.name for path in tmp_path.iterdir()} <= {"net.py", "ready", "__pycache__"}


def test_json_of_dump(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("\ndef f(x):\n    return x if x else 1\n")
    result = CliRunner().invoke(app, ["dump", f"{tmp_path / 'net.py'}:f", "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["name"], found["line"], found["language"]) == ("f", 2, "python")
    assert "d2s.ifelse" in found["text"]
