"""What Paddle says at its start and of each program is not heard in the tour and the commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from d2s.cli import app

ROOT = Path(__file__).resolve().parents[2]
NET = """
import paddle
import d2s

@d2s.to_static
def model(x):
    if x.sum() > 0:
        return x * 2
    return x - 1

def broken(x):
    return x.nothing(x + 1)

if __name__ == "__main__":
    print(model(paddle.ones([2, 2])).tolist())
"""
LINES = {
    "dump": "net.py:model",
    "test": "net.py:model --input-spec float32[2,2] --examples 2",
    "bench": "net.py:model --input float32[2,2]",
    "lint": "net.py",
    "explain": "net.py:model --input float32[2,2]",
    "report": "net.py:model --input float32[2,2] --profile -o page.html",
    "run": "--beside-paddle net.py",
    "doctor": "",
    "minimize": "net.py:broken --input float32[2,2] -o small.py",
    "build": "package -o built",
    "cache": "",
}
NOISE = re.compile(r"^[IW]\d{4} |ccache", re.MULTILINE)


def said(*command: str, where: Path) -> str:
    """All that a command says to somebody who has set nothing."""
    left_out = ("GLOG_", "D2S_", "PYTHONWARNINGS", "FLAGS_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(left_out)}
    done = subprocess.run(
        [sys.executable, *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=where,
        env=kept | {"PYTHONPATH": str(ROOT)}, timeout=500,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", [info.name for info in app.registered_commands])
def test_no_command_passes_it_on(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("def same(x):\n    return x\n")
    assert NOISE.findall(said("-m", "d2s", name, *LINES[name].split(), where=tmp_path)) == []


@pytest.mark.slow
def test_nor_does_the_tour() -> None:
    text = said("-m", "corpus.tour", where=ROOT)
    assert text.count("\n") > 50
    assert NOISE.findall(text) == []


@pytest.mark.slow
def test_it_is_there_to_be_heard(tmp_path: Path) -> None:
    """A program that the user starts himself says what Paddle says."""
    (tmp_path / "net.py").write_text(NET)
    assert len(NOISE.findall(said("net.py", where=tmp_path))) > 1
