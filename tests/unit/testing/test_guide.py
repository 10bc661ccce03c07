"""The tutorial shows what its commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d2s import cli

TEXT = (Path(__file__).parents[3] / "docs" / "guide" / "testing.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(d2s test [^\n]*)\n```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_is_shown(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the number of calls, which is hypothesis' own."""
    program = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]
    (tmp_path / "net.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    text = result.output.replace(f"{tmp_path}/", "")
    assert re.sub(r"\d+ calls", "N calls", text) == re.sub(r"\d+ calls", "N calls", shown)


def test_both_outcomes_are_shown() -> None:
    assert len(COMMANDS) == 2
