"""What mypy and pyright say of ``expected.py``, and that ``d2s.typed`` tells them the truth."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import paddle
import pytest

import d2s
from d2s import config

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPECTED = HERE / "expected.py"
CACHE = ROOT / ".cache" / "mypy"
"""What mypy knows of Paddle: it takes ten seconds to read it anew."""
LINES = list(enumerate(EXPECTED.read_text("utf-8").splitlines(), 1))
TYPES = {line: text.split("# is: ")[1] for line, text in LINES if "  # is: " in text}
ERRORS = {line for line, text in LINES if "  # error" in text}
OF_MYPY = {line for line, text in LINES if "  # mypy error" in text}
OF_PYRIGHT = {line for line, text in LINES if "  # pyright error" in text}

STRICT = """
[mypy]
strict = True
[mypy-paddle.*]
follow_imports = silent
ignore_errors = True
"""


def plain(shown: str) -> str:
    """A type without the modules of its names, defaults, and what only mypy writes."""
    shown = re.sub(r"[\w.]+\.(?=\w)", "", shown)
    shown = re.sub(r"\[\[(.*?)\], ", r"[(\1), ", shown)
    return re.sub(r" =(?: [\w.]+)?(?=[,)])", " = ...", shown)


def test_mypy(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(STRICT)
    command = [sys.executable, "-m", "mypy", "--config-file", str(tmp_path / "mypy.ini")]
    command += ["--cache-dir", str(CACHE), "--no-pretty", str(EXPECTED)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = re.findall(r"expected\.py:(\d+): (error|note): (.*)", told.stdout)
    types = re.compile(r'Revealed type is "(.*)"')
    shown = {
        int(line): plain(match[1])
        for line, _, text in found
        if (match := types.match(text)) is not None
    }
    assert shown == TYPES, told.stdout + told.stderr
    assert {int(line) for line, kind, _ in found if kind == "error"} == ERRORS | OF_MYPY, (
        told.stdout
    )


def test_pyright(tmp_path: Path) -> None:
    settings = {
        "include": [str(EXPECTED)],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--outputjson"]
    command += ["--pythonpath", sys.executable]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = [
        (each["range"]["start"]["line"] + 1, each["severity"], each["message"])
        for each in json.loads(told.stdout)["generalDiagnostics"]
    ]
    types = re.compile(r'Type of ".*" is "(.*)"')
    shown = {
        line: plain(match[1]) for line, _, text in found if (match := types.match(text)) is not None
    }
    assert shown == TYPES, told.stdout
    assert {line for line, kind, _ in found if kind == "error"} == ERRORS | OF_PYRIGHT, told.stdout


# -- what is said is what there is -----------------------------------------------------------------

TREE = {
    node.name: node
    for file in ("typed.py", "config.py")
    for node in ast.walk(ast.parse((ROOT / "d2s" / file).read_text("utf-8")))
    if isinstance(node, ast.ClassDef)
}


def keys(name: str) -> set[str]:
    """The keys of a ``TypedDict``."""
    return {
        each.target.id
        for each in TREE[name].body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def test_what_a_static_function_has() -> None:
    """Every attribute that a checker knows is there, before and after a call."""
    said = {
        each.name for each in ast.walk(TREE["StaticFunction"]) if isinstance(each, ast.FunctionDef)
    }

    @d2s.to_static
    def f(x):
        return x * 2

    f(paddle.ones([2]))
    assert {name for name in said | keys("StaticFunction") if not hasattr(f, name)} == set()
    assert len(said) > 20


def test_a_static_function_with_its_types() -> None:
    """An annotation that is evaluated names them, too."""
    assert str(d2s.StaticFunction[[int], str]).endswith("StaticFunction[[<class 'int'>], str]")


def test_the_options_of_options() -> None:
    assert keys("Changes") == {each.name for each in dataclasses.fields(config.Config)}


def test_the_options_of_save(tmp_path: Path) -> None:
    """Paddle takes each of them, and nothing else."""
    from paddle.jit import api

    source = inspect.getsource(api._parse_save_configs)
    known = ast.parse(source.strip()).body[0]
    (supported,) = (
        each.value
        for each in ast.walk(known)
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "supported_configs"
    )
    assert keys("SaveOptions") == set(ast.literal_eval(supported))


@pytest.mark.parametrize("name", sorted(keys("Options")))
def test_the_options_of_to_static(name: str) -> None:
    """``to_static`` takes each of them, and refuses another."""
    assert d2s.to_static(lambda x: x, **{name: True}) is not None
    with pytest.raises(d2s.D2SError, match=f"{name}s"):
        d2s.to_static(lambda x: x, **{f"{name}s": True})


def test_the_parameters_of_to_static() -> None:
    said = next(
        node
        for node in ast.walk(ast.parse((ROOT / "d2s" / "typed.py").read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        and node.name == "to_static"
        and len(node.body) == 1
        and not node.decorator_list
    )
    assert [each.arg for each in said.args.args] == [
        each.name
        for each in inspect.signature(d2s.to_static).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
