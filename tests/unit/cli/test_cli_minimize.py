"""``d2s minimize``: a file to attach, smaller than the one that shows it, and showing the same."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d2s.cli import app
from d2s.cli.minimize import code_of
from tests.processes import python

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-c", "import sys; from d2s_command import main; sys.exit(main())"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_minloglevel": "3"}

NET = """
import math
import time

import paddle

TEMPLATE = "%f"


def scale(x: paddle.Tensor, k: int):
    y = x * k + math.pi
    if x.sum() > -1e30:
        z = hash(y.sum().item())
        y = y + z
    TEMPLATE % x.sum()
    return y


def slow(x):
    y = x + 1
    if not paddle.in_dynamic_mode():
        import signal
        signal.pause()
    return y


def ends(x):
    if not paddle.in_dynamic_mode():
        import faulthandler
        faulthandler._sigsegv()
    return x


def good(x: paddle.Tensor):
    return x + 1


def unknown(x):
    return x


class Net(paddle.nn.Layer):
    def forward(self, x):
        return x
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    return tmp_path


def only(*names: str) -> str:
    """``NET`` with no other functions than these: each one more is one more to be left out."""
    tree = ast.parse(NET)
    kinds = (ast.FunctionDef, ast.ClassDef)
    tree.body = [x for x in tree.body if not isinstance(x, kinds) or x.name in names]
    return ast.unparse(tree) + "\n"


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return python(*COMMAND[1:], "minimize", *args, cwd=folder, env=ENVIRONMENT)


def test_a_refused_function_with_made_up_inputs(net: Path) -> None:
    """The file is short, runs, and ends in the same error, for the same cause.

    What else has the code, here a template with a tensor, is not what was asked for.
    """
    (net / "net.py").write_text(only("scale", "slow"))
    done = run(net, "net.py:scale", "-o", "smallest.py")
    assert done.returncode == 0, done.stderr
    assert "D2S208: " in done.stderr
    text = (net / "smallest.py").read_text()
    assert text.startswith('"""D2S208: scale, cut down by d2s minimize.')
    program = text.split("if __name__")[0]
    assert "math" not in program
    assert "hash(" in program
    assert "TEMPLATE" not in program
    assert "slow" not in program
    assert "return [" in program
    assert len(program.splitlines()) < 20
    again = python("smallest.py", cwd=net, env=ENVIRONMENT)
    assert again.returncode == 1
    assert "[D2S208]" in again.stderr


@pytest.mark.parametrize(
    ("name", "symptom", "kept"),
    [
        pytest.param("slow", "hangs", "signal.pause(", marks=pytest.mark.slow),
        ("ends", "crashes with SIGSEGV", "_sigsegv("),
    ],
)
def test_what_hangs_or_crashes_is_made_smaller_too(
    net: Path, name: str, symptom: str, kept: str
) -> None:
    """Each program in a process of its own, with a time limit."""
    (net / "net.py").write_text(only("scale", name))
    limits = ["--limit", "2", "--seconds", "12", "--no-grad", "--json"]
    done = run(net, f"net.py:{name}", "-i", "x:float32[2]", *limits)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["symptom"] == symptom
    assert found["name"] == name
    assert found["after"] < found["before"]
    assert kept in found["text"]
    assert "def scale" not in found["text"]


def test_ctrl_c_leaves_the_smallest_so_far(net: Path) -> None:
    """The whole file, never a part of it; the status is that of an interrupt."""
    marks = net / "marks"
    with (net / "net.py").open("a") as file:
        file.write(f"\nwith open({str(marks)!r}, 'a') as file:\n    file.write('x')\n")
    process = subprocess.Popen(
        [*COMMAND, "minimize", "net.py:slow", "-i", "float32[2]", "--limit", "4", "-o", "out.py"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=net,
        env={**ENVIRONMENT, "D2S_LOG": "0"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Imported to be found, run as a program and in dygraph: then it is being made smaller.
    while not (marks.exists() and len(marks.read_text()) >= 3) and process.poll() is None:
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130, said
    assert "Traceback" not in said
    text = (net / "out.py").read_text()
    assert "(it was ended before it was done)" in text
    compile(text, "out.py", "exec")


def test_a_function_that_is_right(net: Path) -> None:
    done = run(net, "net.py:good", "--examples", "3")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.rstrip().endswith("good shows nothing that is wrong")
    done = run(net, "net.py:Net", "-i", "float32[2]")  # an object of it
    assert done.stderr.rstrip().endswith("Net shows nothing that is wrong")
    done = run(net, "net.py:scale", "-i", "float32[2]", "-i", "2", "--code", "204")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("scale does not show D2S204")


BAD = [
    (["none.py:f"], "D2S501"),
    (["net.py:god"], "D2S501"),
    (["net.py:Net.forward"], "D2S501"),
    (["net.py:unknown"], "D2S604"),
    (["net.py:scale", "-i", "x:float32[2"], "D2S506"),
    (["net.py:scale", "-i", "float32[2]"], "D2S506"),
    (["net.py:scale", "--input-spec", "x:float33[2]"], "D2S503"),
    (["broken.py:f"], "D2S502"),
    (["."], "D2S501"),
]


@pytest.mark.parametrize(("args", "code"), BAD, ids=lambda value: " ".join(value))
def test_bad_input(net: Path, args: list[str], code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the other commands say it, and nothing is written."""
    (net / "broken.py").write_text("def f(:\n")
    monkeypatch.chdir(net)
    before = sorted(path.name for path in net.iterdir())
    result = CliRunner().invoke(app, ["minimize", *args])
    assert getattr(result.exception, "code", None) == code
    assert [name for name in before if name != "__pycache__"] == sorted(
        path.name for path in net.iterdir() if path.name != "__pycache__"
    )


def test_codes_as_they_are_typed() -> None:
    assert [code_of(text) for text in ("d2s204", "204", "D2S204")] == ["D2S204"] * 3
    assert code_of("differs in result") == "differs in result"
    assert code_of(None) == ""
