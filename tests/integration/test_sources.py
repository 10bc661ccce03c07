"""Where the text of a decorated function lies: converted, or dygraph with advice that applies."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FUNCTION = """
import paddle, d2s

@d2s.to_static
def halved(x):
    s = "\u00e9"
    while x.max() > 1:
        x = x / 2
    return x
"""
CALL = "\nprint('RESULT', halved(paddle.to_tensor([4.0])).tolist(), len(halved.programs))\n"
IMPORT = "import paddle; from net import halved" + CALL


def said(*command: str, given: str | None = None, path: Path | None = None) -> tuple[str, str]:
    """What Python prints, and its warnings."""
    folders = [os.environ.get("PYTHONPATH", ""), *([] if path is None else [str(path)])]
    done = subprocess.run(
        [sys.executable, *command], input=given, capture_output=True, text=True, check=False,
        timeout=240, env={**os.environ, "D2S_FULL_GRAPH": "0", "PYTHONPATH": ":".join(folders)},
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "RESULT" in line]
    assert lines, done.stderr[-2000:]
    return lines[0].partition("RESULT ")[2], done.stderr


@pytest.mark.slow
def test_command() -> None:
    """``python -c``: the text is among the arguments."""
    assert said("-c", FUNCTION + CALL)[0] == "[1.0] 1"


@pytest.mark.slow
def test_standard_input() -> None:
    """Nobody keeps it: dygraph, with one warning."""
    result, warned = said("-", given=FUNCTION + CALL)
    assert result == "[1.0] 0"
    assert warned.count("D2S101") == 1
    assert "linecache" not in warned


@pytest.mark.slow
def test_zip_file(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as packed:
        packed.writestr("net.py", FUNCTION)
    assert said("-c", IMPORT, path=tmp_path / "package.zip")[0] == "[1.0] 1"


@pytest.mark.slow
def test_bytecode_alone(tmp_path) -> None:
    source = tmp_path / "text.py"
    source.write_text(FUNCTION, encoding="utf-8")
    py_compile.compile(str(source), cfile=str(tmp_path / "net.pyc"))
    source.unlink()
    result, warned = said("-c", IMPORT, path=tmp_path)
    assert result == "[1.0] 0"
    assert warned.count("D2S101") == 1
    assert "d2s build" in warned


@pytest.mark.slow
def test_another_encoding(tmp_path) -> None:
    text = "# -*- coding: latin-1 -*-" + FUNCTION
    (tmp_path / "net.py").write_bytes(text.encode("latin-1"))
    assert said("-c", IMPORT, path=tmp_path)[0] == "[1.0] 1"
