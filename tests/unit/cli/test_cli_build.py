"""``d2s build``: packages converted ahead of time do what they do in dygraph, without source."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d2s.cli import app
from d2s.errors import BuiltModuleError
from tests.processes import python

ROOT = Path(__file__).resolve().parents[3]
COMMAND = ["-c", "import sys; from d2s_command import main; sys.exit(main())"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_minloglevel": "3"}

FILES = {
    "__init__.py": '"""A package."""\nfrom .net import Net, scaled\nfrom .parts import helpers\n',
    "data.txt": "three",
    "parts/__init__.py": "",
    "parts/helpers.py": """\
# coding: latin-1
import contextlib

import paddle

NAME = "\xe9t\xe9"
COUNT = [0]


def shrink(x, *, times=None):
    while x.abs().max() > 1:
        x = x * 0.5
    return x if times is None else x * times


@contextlib.contextmanager
def counted():
    COUNT[0] += 1
    yield COUNT[0]
    COUNT[0] += 10


def maker(k):
    def inner(x):
        if x.sum() > k:
            return x - k
        return x + k

    return inner


def generated(x):
    for i in range(3):
        yield x + i


pick = lambda x: x if x.sum() > 0 else -x
""",
    "net.py": """\
from __future__ import annotations

import pathlib

import paddle

import d2s

from .parts.helpers import *
from .parts import helpers

HERE = pathlib.Path(__file__).parent


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        paddle.seed(1)
        self.linear = paddle.nn.Linear(2, 2)
        self.__secret = 2.0

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        with helpers.counted() as n:
            y = self.linear(x) * self.__secret
        out = []
        for part in generated(y):
            out.append(shrink(part))
        if len((HERE / "data.txt").read_text()) == 5:
            y = sum(out) + n
        return pick(y)

    def bad(self, x):
        if x.sum() > 0:
            raise ValueError(
                f"the sum is {float(x.sum())}"
            )
        return x


@d2s.to_static
def scaled(x, k: int = 2):
    added = maker(k)
    if x.mean() > 0:
        x = added(x)
    return [each for each in (x, x * k)]


split = d2s.to_static(lambda x: x, full_graph=False)


@d2s.to_static(full_graph=False)
def several(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    table = {y.sum().item(): 1}
    return y * len(table)
""",
    "broken.py": "import nothing_of_this_name\n",
    "__main__.py": "print('main')\n",
}

USE = """
import json, sys, traceback, warnings
warnings.simplefilter("ignore")
import paddle
import d2s
if "dygraph" in sys.argv:
    paddle.jit.enable_to_static(False)
import pkg
from pkg import net as module
found = {"name": pkg.helpers.NAME}
net = pkg.Net()
call = d2s.to_static(net)
x = paddle.to_tensor([[1.0, -2.0], [3.0, 4.0]])
for turn in range(2):
    found[f"net {turn}"] = call(x + turn).tolist()
found["scaled"] = [each.tolist() for each in pkg.scaled(x)]
found["maker"] = d2s.to_static(pkg.helpers.maker(3))(x).tolist()
found["several"] = module.several(x).tolist()
try:
    d2s.to_static(pkg.Net.bad)(net, x)
except ValueError as error:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    found["error"] = [str(error), frame.lineno, frame.name, frame.filename[-10:]]
    found["text"] = frame.line
x.stop_gradient = False
pkg.helpers.shrink(x * 8).sum().backward()
found["grad"] = x.grad.tolist()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package and its use; what dygraph gives; it built; and then without its source."""
    folder = tmp_path_factory.mktemp("build")
    for name, text in FILES.items():
        path = folder / "source" / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    (folder / "use.py").write_text(USE)
    (folder / "wanted.json").write_text(used(folder, "source", "dygraph").stdout)
    for name, options in (("with", []), ("without", ["--without-source"])):
        done = run(folder, "source/pkg", "-o", name, *options, "--json")
        assert done.returncode == 0, done.stderr
        (folder / f"{name}.json").write_text(done.stdout)
    shutil.rmtree(folder / "source")
    return folder


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return python(*COMMAND, "build", *args, cwd=folder, env=ENVIRONMENT)


def used(folder: Path, where: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The use of the package that lies there, in a process of its own."""
    path = os.pathsep.join([str(folder / where), str(ROOT)])
    given = {**ENVIRONMENT, "PYTHONPATH": path, **env}
    return python("use.py", *args, cwd=folder, env=given)


@pytest.mark.parametrize("where", ["with", "without"])
def test_it_does_what_dygraph_does_without_source_and_conversion(folder: Path, where: str) -> None:
    """Values, gradients, errors at their lines; and nothing is converted.

    What is several programs is split when it runs, from the text; without it, it runs in dygraph.
    """
    wanted = json.loads((folder / "wanted.json").read_text())
    done = used(folder, where, D2S_LOG="passes", D2S_LOG_JSON="1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    text = wanted.pop("text")
    assert found.pop("text") == (text if where == "with" else "")
    assert found == wanted
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    mine = [one["function"] for one in told if one["file"].startswith("pkg")]
    assert [name for name in mine if "several" not in name] == []


def test_what_is_told_of_it(folder: Path) -> None:
    told = json.loads((folder / "with.json").read_text())
    assert told["modules"] == 4
    assert told["functions"] >= 10
    assert [(each["file"], each["code"]) for each in told["left"]] == [("pkg/broken.py", "D2S502")]
    assert "nothing_of_this_name" in told["left"][0]["reason"]


def test_what_lies_beside(folder: Path) -> None:
    """The text of the functions, a map that leads to the user's lines, data, what is left."""
    built = folder / "with" / "pkg"
    text = (built / "net.d2s.py").read_text()
    compile(text, "net.d2s.py", "exec")
    assert "d2s.if_" in text or "d2s.ifelse" in text
    found = json.loads((built / "net.d2s.py.map").read_text())
    assert found["version"] == 3
    assert found["sources"] == ["pkg/net.py"]
    assert found["mappings"].count(";") == text.count("\n")
    assert "class Net" in found["sourcesContent"][0]
    without = json.loads((folder / "without" / "pkg" / "net.d2s.py.map").read_text())
    assert without["sourcesContent"] == [None]
    assert "class Net" not in (folder / "without" / "pkg" / "net.py").read_text()
    assert (built / "data.txt").read_text() == "three"
    assert (built / "broken.py").read_text() == FILES["broken.py"]
    assert (built / "__main__.py").read_text() == FILES["__main__.py"]
    assert "import paddle" in (built / "net.py").read_text()


def test_it_may_be_built_again_and_nothing_else_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def f(x):\n    return x if x > 0 else -x\n")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("def g(x):\n    return x\n")
    for _ in range(2):
        for name in ("one.py", "pkg"):
            done = run(tmp_path, name, "-o", "out")
            assert done.returncode == 0, done.stderr
            assert "1 function converted ahead of time" in done.stdout
    for name in ("one.py", "pkg"):
        before = sorted(tmp_path.rglob("*"))
        done = run(tmp_path, name, "-o", ".")
        assert done.returncode == 2
        assert "was not written by d2s build" in done.stderr
        assert done.stderr.rstrip().endswith("[D2S504]")
        assert sorted(tmp_path.rglob("*")) == before
    code = "import one; print(one.f(-3), one.__file__)"
    path = os.pathsep.join([str(tmp_path / "out"), str(ROOT)])
    shown = python("-c", code, cwd=tmp_path / "out", env={**ENVIRONMENT, "PYTHONPATH": path})
    assert shown.stdout.split() == ["3", str(tmp_path / "out" / "one.py")]


def test_a_module_of_another_d2s_is_refused() -> None:
    """D2S404, which is an ImportError."""
    from d2s import built

    with pytest.raises(BuiltModuleError, match=r"was built for d2s 0\.0\.1") as raised:
        built.run({"__name__": "net"}, "1 0.0.1 cb0d0d0a", "")
    assert raised.value.code == "D2S404"
    assert isinstance(raised.value, ImportError)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nothing"], "D2S501"),
        (["empty"], "D2S501"),
        (["text.txt"], "D2S501"),
        (["no-name.py"], "D2S501"),
        (["wrong.py"], "D2S502"),
        (["raises.py"], "D2S502"),
        (["json.py"], "D2S501"),
        (["good.py", "-o", "text.txt"], "D2S504"),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(
    tmp_path: Path, args: list[str], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("text")
    (tmp_path / "no-name.py").write_text("")
    (tmp_path / "wrong.py").write_text("def f(:\n")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    (tmp_path / "json.py").write_text("")
    (tmp_path / "good.py").write_text("")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["build", *args])
    assert getattr(result.exception, "code", None) == code
    assert not (tmp_path / "d2s-built").exists()
