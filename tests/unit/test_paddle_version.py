"""Bad input: another Paddle, or none, is one message with a code (D2S104)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FAKE = {
    "2.6.2": "__version__ = '2.6.2'\nclass nn:\n    class Layer: pass\n",
    "none": "raise ModuleNotFoundError(\"No module named 'paddle'\", name='paddle')\n",
}


def run(tmp_path: Path, version: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    package = tmp_path / "paddle"
    package.mkdir()
    (package / "__init__.py").write_text(FAKE[version])
    paths = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; "
    return subprocess.run(
        [sys.executable, "-c", paths + arguments[0], *arguments[1:]],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("version", FAKE)
def test_import_says_so(tmp_path: Path, version: str) -> None:
    done = run(tmp_path, version, "import d2s")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-2:]
    assert "D2S104" in last[1]
    assert ("2.6.2" if version == "2.6.2" else "not installed") in last[0]


@pytest.mark.parametrize("version", FAKE)
def test_the_command_exits_with_2_and_two_lines(tmp_path: Path, version: str) -> None:
    (tmp_path / "x.py").write_text("def f(x):\n    return x\n")
    target = str(tmp_path / "x.py:f")
    text = f"import d2s_command; sys.exit(d2s_command.main(['dump', {target!r}]))"
    done = run(tmp_path, version, text)
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("[D2S104]")
