"""The wheel and the source distribution: built, checked, and installed where nothing else is.

That needs the network, as ``pip`` does: night only.  The lock and conda's recipe are held against
``pyproject.toml``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETTINGS["project"]

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
    for refused in ("2.6.2", "3.0.0", "3.1.0"):
        pair = [f"d2s[cpu] @ {wheel.as_uri()}", f"paddlepaddle=={refused}"]
        with pytest.raises(AssertionError, match=r"(?s)conflict"):
            run(python, "-m", "pip", "install", "--dry-run", *pair, where=tmp_path)


# -- what other installers read --------------------------------------------------------------------


def ranges(texts: list[str]) -> dict[str, str]:
    """By the names of packages, the versions that are asked for."""
    return {each.name: str(each.specifier) for each in map(Requirement, texts)}


def test_the_lock_has_what_the_project_asks_for() -> None:
    """Each package, in a version that it allows; else: ``make lock``."""
    lines = (ROOT / "requirements-dev.lock").read_text("utf-8").splitlines()
    locked: dict[str, list[str]] = {}
    for each in (Requirement(line) for line in lines if line and line.lstrip()[0] != "#"):
        (version,) = each.specifier
        locked.setdefault(each.name, []).append(version.version)
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"]]
    asked += [each for name in ("cpu", "dev", "testing", "examples") for each in extras[name]]
    wrong = [
        str(each)
        for each in map(Requirement, asked)
        if not locked.get(each.name) or not all(map(each.specifier.contains, locked[each.name]))
    ]
    assert wrong == []


def recipe() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8")))


def test_conda_asks_for_what_pip_asks_for() -> None:
    """The recipe names each package with the same range, Paddle as the extras do."""
    made = recipe()
    extras = PROJECT["optional-dependencies"]
    python = {"python": PROJECT["requires-python"]}
    needs = made["requirements"]
    assert ranges(needs["run"]) == ranges(PROJECT["dependencies"]) | python
    assert ranges(needs["run_constraints"]) == ranges([*extras["cpu"], *extras["gpu"]])
    assert ranges(needs["host"]) == ranges(SETTINGS["build-system"]["requires"]) | python | {
        "pip": ""
    }
    assert made["context"]["version"] == PROJECT["version"]
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert made["build"]["python"]["entry_points"] == scripts
    assert made["about"]["license"] == PROJECT["license"]
    assert made["about"]["summary"] == PROJECT["description"]


RENDERED = """
from pathlib import Path
from rattler_build.stage0 import Stage0Recipe

(made,) = Stage0Recipe.from_yaml(Path("conda/recipe.yaml").read_text()).render()
print(made.recipe.to_dict()["package"]["name"], made.recipe.to_dict()["requirements"]["run"])
"""


@pytest.mark.slow
def test_rattler_build_renders_the_recipe(tmp_path: Path) -> None:
    """The package is not built: that takes conda's channels."""
    run(sys.executable, "-m", "venv", tmp_path / "tools", where=tmp_path)
    python = tmp_path / "tools" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "py-rattler-build", where=tmp_path)
    assert run(python, "-c", RENDERED, where=ROOT).startswith("d2s ['python >=3.10', ")
