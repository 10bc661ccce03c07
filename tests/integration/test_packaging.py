"""The wheel and the source distribution: built, checked, and installed where nothing else is.

Needs the network, as ``pip`` does: night only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CONTENTS = """
import importlib.resources
import d2s

assert "site-packages" in d2s.__file__, d2s.__file__
assert (importlib.resources.files("d2s") / "py.typed").is_file()
print(len(list((importlib.resources.files("d2s.diagnostics") / "catalogue").iterdir())))
"""

PROGRAM = """
import paddle
import d2s

@d2s.to_static(full_graph=True)
def halved(x):
    while x.max() > 1:
        x = x / 2
    return x

print(halved(paddle.to_tensor([4.0])).tolist())
"""


def run(*command: object, where: Path) -> str:
    """What a command prints; it knows nothing of this checkout and its environment."""
    kept = {
        name: text for name, text in os.environ.items() if not name.startswith(("D2S", "PYTHON"))
    }
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True, text=True, check=False, cwd=where, env=kept, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, the wheel made of the source distribution, as ``twine`` likes them."""
    home = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "venv", home / "tools", where=home)
    python = home / "tools" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "build", "twine", where=home)
    run(python, "-m", "build", "--outdir", home / "dist", ROOT, where=home)
    run(python, "-m", "twine", "check", "--strict", *(home / "dist").iterdir(), where=home)
    return home / "dist"


@pytest.mark.slow
def test_the_wheel_has_what_the_package_has(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("d2s/")}
    there = run("git", "ls-files", "d2s", where=ROOT).split()
    assert packed == set(there)


@pytest.mark.slow
def test_an_empty_environment(built: Path, tmp_path: Path) -> None:
    """The wheel with Paddle; and ``pip`` takes no Paddle that fails."""
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv", where=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", f"d2s[cpu] @ {wheel.as_uri()}", where=tmp_path)
    assert int(run(python, "-W", "ignore", "-c", CONTENTS, where=tmp_path)) > 40
    (tmp_path / "halved.py").write_text(PROGRAM)
    assert run(python, "-W", "ignore", "halved.py", where=tmp_path) == "[1.0]\n"
    dump = run(python.with_name("d2s"), "dump", "halved.py:halved", where=tmp_path)
    assert "d2s.while_(" in dump
    assert run(python, "-m", "d2s", "--version", where=tmp_path).startswith("d2s 0.")
    pair = [f"d2s[cpu] @ {wheel.as_uri()}", "paddlepaddle==2.6.2"]
    with pytest.raises(AssertionError, match=r"(?s)conflict"):
        run(python, "-m", "pip", "install", "--dry-run", *pair, where=tmp_path)
