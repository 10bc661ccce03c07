"""``d2s run``: a program as Python runs it, every ``to_static`` served by d2s, and a summary."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import paddle
import pytest

from d2s.debug.watch import Watch
from tests.processes import python

ROOT = Path(__file__).resolve().parents[3]
TRAIN = """
import os
import sys

import paddle
from paddle import nn
from paddle.jit import to_static

import beside


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    @paddle.jit.to_static(full_graph=False)
    def forward(self, x):
        x = self.linear(x)
        if x.sum() > 0:
            return x
        return -x


@to_static
def halve(x):
    while x.max() > 1:
        x = x / 2
    return x


class Plain(nn.Layer):
    def __init__(self, scale):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.scale = scale

    def forward(self, x):
        if self.scale is None:
            return hash(x.sum().item())
        return self.inner(x) * self.scale


os.chdir("/")
net, plain, odd = Net(), Plain(2.0), Plain(None)
for size in (2, 3, 3):
    net(paddle.ones([size, 2]))
    print(halve(paddle.ones([size]) * 4).tolist())
    plain(paddle.ones([size, 2]))
    assert isinstance(odd(paddle.ones([size, 2])), int)
print(sys.argv[1:], __name__, os.path.basename(__file__), beside.NAME)
if "--fail" in sys.argv:
    def fails(x):
        raise ValueError("mine")

    to_static(fails)(paddle.ones([1]))
if "--exit" in sys.argv:
    sys.exit(7)
if "--text" in sys.argv:
    sys.exit("no good")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    return tmp_path


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = ("-W", "ignore", "-c", "import sys, d2s_command as c; sys.exit(c.main())", "run")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_minloglevel": "3"}
    return python(*command, *args, cwd=folder, env=environment)


def test_a_program_with_its_arguments_and_a_summary(folder: Path) -> None:
    done = run(folder, "train.py", "--epochs", "3", "-o", "x", "--help")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "[1.0, 1.0]"
    assert lines[-1] == "['--epochs', '3', '-o', 'x', '--help'] __main__ train.py beside"
    assert "d2s: 2 functions, 4 programs" in done.stderr
    assert "halve (" in done.stderr
    assert "1. first call; " in done.stderr
    assert "x has shape [-1], had [2]" in done.stderr


def test_a_module(folder: Path) -> None:
    done = run(folder, "--json", "-o", "summary.json", "-m", "train", "--exit")
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines()[-1] == "['--exit'] __main__ train.py beside"
    found = json.loads((folder / "summary.json").read_text())
    assert [one["name"] for one in found["functions"]] == ["Net.forward", "halve"]
    assert [one["calls"] for one in found["functions"]] == [3, 3]


def test_all_layers(folder: Path) -> None:
    """What d2s refuses runs as it is, and is named."""
    done = run(folder, "--all-layers", "--json", "-o", "summary.json", "train.py")
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "summary.json").read_text())
    by_name = {}
    for one in found["functions"]:
        by_name.setdefault(one["name"], []).append(one)
    plain, odd = by_name["Plain.forward"]
    assert plain["calls"] == 3
    assert plain["programs"]
    assert not plain["refused"]
    assert "[D2S208]" in odd["refused"]
    assert odd["calls"] == 1
    assert "Linear.forward" not in by_name  # inside of another layer


def test_a_program_that_fails(folder: Path) -> None:
    """The traceback has the program's frames only; the summary is there; the status is 1."""
    done = run(folder, "train.py", "--fail")
    assert done.returncode == 1
    trace = done.stderr[done.stderr.index("Traceback") : done.stderr.index("d2s: ")]
    files = [line.split(chr(34))[1] for line in trace.splitlines() if "File " in line]
    assert {Path(file).name for file in files} == {"train.py"}
    assert "ValueError: mine" in trace


def test_a_program_that_ends_with_a_text(folder: Path) -> None:
    done = run(folder, "train.py", "--text")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("no good")


@pytest.mark.parametrize("program", ["gone.py", "."])
def test_a_program_that_there_is_not(folder: Path, program: str) -> None:
    done = run(folder, program)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[D2S501]")


SPLIT = """
import sys

import paddle


@paddle.jit.to_static(full_graph=False)
def split(x):
    k = sum(x.numpy().tobytes()) % 7
    for _ in range(3):
        x = x * 0.5 + x.mean() - k
    return x.sum()


for _ in range(3):
    split(paddle.ones([3]))
if split.__class__.__module__.startswith("paddle") and "--fail" in sys.argv:
    raise ValueError("theirs")
"""


def test_a_function_of_several_programs_is_one_line(folder: Path) -> None:
    """Its islands are its programs, not functions of their own; the line between them is named."""
    (folder / "split.py").write_text(SPLIT)
    done = run(folder, "--json", "-o", "summary.json", "split.py")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((folder / "summary.json").read_text())["functions"]
    assert found["name"] == "split"
    assert found["calls"] == 3
    assert found["programs"]
    assert any("line 9: " in text and "[D2S208]" in text for text in found["breaks"])
    assert min(found["conversion_s"], found["capture_s"], found["run_s"]) > 0
    assert "not one program: line 9: " in run(folder, "split.py").stderr


PLAIN = """
import paddle


@paddle.jit.to_static(full_graph=True)
def twice(x):
    return x * 2


for _ in range(3):
    twice(paddle.ones([3]))
"""


@pytest.mark.parametrize(("text", "fails"), [(PLAIN, False), (SPLIT, True)])
def test_beside_paddle(folder: Path, text: str, fails: bool) -> None:
    """The same program in another process, by Paddle's own converter; an error of it is told."""
    (folder / "net.py").write_text(text)
    options = ["--fail"] if fails else []
    done = run(folder, "--beside-paddle", "--json", "-o", "summary.json", "net.py", *options)
    assert done.returncode == 0, done.stderr
    theirs = json.loads((folder / "summary.json").read_text())["by_paddle"]
    assert theirs["calls"] == 3
    assert 0 < theirs["first_s"] < theirs["seconds"]
    assert theirs["error"] == ("ValueError: theirs" if fails else "")
    assert theirs["status"] == int(fails)


def test_what_is_watched_is_left_as_it_was() -> None:
    before = paddle.nn.Layer.__call__
    with Watch(layers=True):
        assert paddle.nn.Layer.__call__ is not before
    assert paddle.nn.Layer.__call__ is before
