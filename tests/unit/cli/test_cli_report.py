"""``d2s report`` and ``d2s explain TARGET``: forms of output, exit status, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d2s.cli import app, main

NET = """
import paddle

print("the file says hello")


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(8, 8)

    def forward(self, x, n=2):
        for _ in range(n):
            x = self.linear(x)
        return x if x.mean() > 0 else -x


net = Net()


def clip(x, low=0.0):
    if x.mean() > low:
        x = x * 0.5
    return x


def broken(x):
    y = paddle.tanh(x * 2) + 1
    k = sum(y.numpy().tobytes()) % 7
    return y * k


def raises(x):
    raise KeyError("missing")


CONSTANT = 3


class Sized(paddle.nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x * self.size


class Unfinished(paddle.nn.Layer):
    def __init__(self):
        raise RuntimeError("not yet")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*args: str, status: int = 0) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, list(args))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.stdout


def test_explain_a_target(folder):
    text = said("explain", "net.py:clip", "--input", "x:float32[4]")
    assert text.startswith("clip (net.py:")
    assert "= cond: a tensor decides it" in text
    assert "dygraph" not in text.splitlines()[0]
    assert "hello" not in text
    assert "\x1b" not in text


def test_explain_a_code_is_as_before(folder):
    assert said("explain", "D2S204").startswith("# D2S204")


def test_report_a_layer(folder):
    text = said("report", "net.py:net", "-i", "float32[2,8]", "-i", "n=3")
    assert "agrees with dygraph" in text.splitlines()[0]
    assert "unrolled 3 times: it goes over a range" in text
    assert "first call" in text


@pytest.mark.parametrize("name", ["Net", "Net.forward"])
def test_a_class_of_layers_stands_for_an_object(folder, name):
    """Where it takes no arguments, as those of ``paddle.vision.models`` do."""
    text = said("explain", f"net.py:{name}", "-i", "float32[2,8]")
    assert text.startswith("Net.forward (net.py:")
    assert "1 program" in text.splitlines()[0]


def test_report_as_a_page(folder):
    text = said("report", "net.py:clip", "-i", "x:float32[4]", "--html", "out.html")
    assert text.count("\n") == 1
    assert "agrees with dygraph" in text
    page = Path("out.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "clip" in page
    assert page.endswith("</html>\n")


def test_json(folder):
    facts = json.loads(said("report", "net.py:clip", "-i", "x:float32[4]", "--json"))
    assert facts["check"]["ok"] is True
    assert facts["timing"]["calls"] > 0
    assert facts["programs"][0]["inputs"] == ["x: float32[4]"]
    facts = json.loads(said("explain", "net.py:clip", "-i", "x:float32[4]", "--json"))
    assert facts["check"] is None
    assert facts["share"]["operations_outside"] == 0


def test_into_a_file(folder):
    assert said("explain", "net.py:clip", "-i", "float32[4]", "-o", "out.txt") == ""
    assert "= cond" in Path("out.txt").read_text(encoding="utf-8")


def test_without_inputs(folder):
    result = CliRunner().invoke(app, ["explain", "net.py:Net.forward"])
    assert result.exit_code == 0
    assert "0 programs" in result.stdout
    assert "nothing was called; --input" in result.stderr


@pytest.mark.parametrize("command", ["explain", "report"])
def test_what_is_refused_is_found(folder, command):
    text = said(command, "net.py:broken", "-i", "float32[4]", status=1)
    assert "refused with D2S208" in text.splitlines()[0]
    assert "cure: " in text


def test_an_exception_of_the_users_is_no_finding(folder):
    assert "raises KeyError" in said("report", "net.py:raises", "-i", "float32[4]")


@pytest.mark.parametrize("command", ["explain", "report"])
@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nothing.py:f"], "D2S501"),
        (["net.py:"], "D2S501"),
        (["net.py"], "D2S501"),
        (["net.py:clop"], "D2S501"),
        (["net.py:Sized.forward", "-i", "float32[4]"], "D2S501"),
        (["net.py:Sized", "-i", "float32[4]"], "D2S501"),
        (["net.py:Unfinished", "-i", "float32[4]"], "D2S502"),
        (["net.py:CONSTANT"], "D2S102"),
        (["net.py:Sized"], "D2S501"),
        (["net.py:clip", "-i", "float33[4]"], "D2S503"),
        (["net.py:clip", "-i", "float32[None]"], "D2S506"),
        (["net.py:clip", "-i", ""], "D2S506"),
        (["net.py:clip", "-i", "float32[4]", "-i", "1", "-i", "2"], "D2S506"),
        (["net.py:clip", "-i", "float32[4]", "-o", "no/such/folder.txt"], "D2S504"),
        (["bad.py:f"], "D2S502"),
        (["fails.py:f"], "D2S502"),
    ],
)
def test_bad_input(folder, capsys, command, args, code):
    (folder / "bad.py").write_text("def f(:\n")
    (folder / "fails.py").write_text("raise RuntimeError('no')\n")
    assert main([command, *args]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.rstrip().endswith(f"[{code}]")
    assert "Traceback" not in captured.err


def test_a_page_that_cannot_be_written(folder, capsys):
    args = ["report", "net.py:clip", "-i", "float32[4]", "--html", "."]
    assert main(args) == 2
    assert "[D2S504]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        ["explain", "D2S204", "-i", "3"],
        ["explain", "net.py:clip", "--list"],
        ["report"],
    ],
)
def test_what_does_not_go_together(folder, args):
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2


@pytest.mark.parametrize("command", ["explain", "report"])
def test_help_has_examples(command):
    text = said(command, "--help")
    assert f"d2s {command} net.py:net --input" in text


def test_a_profile_needs_a_call(folder: Path) -> None:
    """Without --input nothing is called, so there is nothing to measure."""
    found = CliRunner().invoke(app, ["report", "net.py:clip", "--profile"])
    assert found.exit_code == 2
    assert "--input" in found.output
    found = CliRunner().invoke(
        app, ["report", "net.py:clip", "--profile", "--json", "--input", "float32[8]"]
    )
    assert found.exit_code == 0
    assert json.loads(found.stdout)["profile"]["seconds"] > 0


def test_the_page_of_a_code_is_written_to_a_file(folder: Path) -> None:
    """What ``explain`` says of a code goes where ``-o`` tells."""
    found = CliRunner().invoke(app, ["explain", "D2S204", "-o", "page.txt"])
    assert found.exit_code == 0
    assert "D2S204" in Path("page.txt").read_text()
