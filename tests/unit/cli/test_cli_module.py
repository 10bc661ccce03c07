"""``python -m d2s`` is the command ``d2s``; any command can tell in JSON what d2s does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import python

ROOT = Path(__file__).resolve().parents[3]
SAME = [
    ["--help"],
    ["--version"],
    ["explain", "D2S204"],
    ["dump", "--help"],
    ["dump", "none.py:f"],
    ["run"],
    ["nothing"],
]
QUIET = {"GLOG_minloglevel": "3"}
COMMAND = ["-c", "import sys; from d2s_command import main; sys.exit(main())"]


def forked(*args: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """The same, where nothing hangs on how the interpreter has started."""
    return python(*args, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT), **QUIET, **env})


def run(*args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **QUIET, **env},
    )


@pytest.mark.parametrize("args", SAME, ids=" ".join)
def test_the_module_is_the_command(args: list[str]) -> None:
    """The same words, and the same exit status."""
    command, module = forked(*COMMAND, *args), forked("-m", "d2s", *args)
    found = (module.returncode, module.stdout, module.stderr)
    assert found == (command.returncode, command.stdout, command.stderr)


@pytest.mark.parametrize("options", [["-m"], ["-X", "utf8", "-m"], ["-Bm"]], ids=" ".join)
def test_the_module_loads_no_more_than_the_command(options: list[str]) -> None:
    done = run("-X", "importtime", *options, "d2s", "--version")
    assert done.stdout == run(*COMMAND, "--version").stdout
    assert " numpy" not in done.stderr
    assert " paddle" not in done.stderr


def test_hooks_are_counted_where_another_module_is_run(tmp_path: Path) -> None:
    """Only the command is told apart: what imports d2s counts hooks at once."""
    (tmp_path / "other.py").write_text(
        "import sys, d2s\n"
        "print('d2s.paddle_bridge.running.steps' in sys.modules, 'abs' in sys.argv)\n"
    )
    assert run("-m", "other", "d2s", "abs", cwd=tmp_path).stdout.strip() == "True True"


NET = """
import d2s

@d2s.to_static
def net(x):
    return x if x.sum() > 0 else -x
"""


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The events on stderr."""
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return [one["event"] for one in lines]


def test_events_as_json_beside_what_a_command_says(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET + "\nimport paddle\nnet(paddle.ones([2]))\n")
    done = forked(*COMMAND, "run", "--log-json", "net.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert told(done) == ["converted", "captured"]


def test_events_of_the_processes_that_a_program_starts(tmp_path: Path) -> None:
    """``D2S_LOG`` says which topics."""
    (tmp_path / "net.py").write_text(NET + "\nimport paddle\nnet(paddle.ones([2]))\n")
    text = "import subprocess, sys\nsubprocess.run([sys.executable, 'net.py'], check=True)\n"
    (tmp_path / "starts.py").write_text(text)
    done = forked(*COMMAND, "run", "--log-json", "starts.py", cwd=tmp_path, D2S_LOG="capture")
    assert done.returncode == 0, done.stderr
    assert told(done) == ["captured"]


@pytest.mark.slow
def test_events_of_the_processes_that_a_command_starts(tmp_path: Path) -> None:
    """The same for those that measure."""
    (tmp_path / "net.py").write_text(NET)
    done = run(
        *COMMAND, "bench", "net.py:net", "-i", "float32[2]", "--rounds", "1", "--log-json",
        cwd=tmp_path, D2S_LOG="capture",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "captured" in told(done)
    assert "converted" not in told(done)
