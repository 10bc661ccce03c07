"""Commands on modules that raise, and on places without functions; what they tell of both."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import paddle
import pytest
from typer.testing import CliRunner

from d2s import cli
from d2s.cli.bench import undecorated
from d2s.cli.explain import explain
from d2s.cli.targets.find import find
from d2s.errors import ArgumentsError, D2SError, TargetError, UserCodeError


def branchy(x):
    if x.sum() > 0:
        return x * 2
    return -x


class Net(paddle.nn.Layer):
    def forward(self, x):
        return branchy(x) + 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_modules_that_raise_when_they_are_imported(folder: Path) -> None:
    """D2S502: the line is that of the module; what d2s raises there stays as it is."""
    (folder / "rare_raises.py").write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    (folder / "rare_lacks.py").write_text("import rare_nowhere\n", encoding="utf-8")
    (folder / "rare_ours.py").write_text(
        "import d2s\nd2s.to_static(full_graph=3)(len)\n", encoding="utf-8"
    )
    (folder / "rare_stops.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    for name, line in (("rare_raises", 2), ("rare_lacks", 1)):
        with pytest.raises(UserCodeError) as caught:
            find(f"{name}:f")
        assert (caught.value.code, caught.value.line) == ("D2S502", line)
    with pytest.raises(ArgumentsError, match="full_graph"):
        find("rare_ours:f")
    with pytest.raises(KeyboardInterrupt):
        find("rare_stops:f")


def test_names_in_places_without_functions(folder: Path) -> None:
    """D2S501: the cure names no function where there is none."""
    (folder / "rare_values.py").write_text("limit = 3\n\n\nclass Held:\n    size = 1\n")
    (folder / "rare_comment.py").write_text("# nothing yet\n", encoding="utf-8")
    for target in ("rare_values.py:zzz", "rare_values.py:Held.zzz", "rare_comment.py:zzz"):
        with pytest.raises(TargetError) as caught:
            find(target)
        assert caught.value.code == "D2S501"
        assert caught.value.cure == "name a function that is defined there"


TESTED = """
import time

import paddle

import d2s


@d2s.not_to_static
def now():
    return float(time.perf_counter_ns() % 1000003)


def unsteady(x: paddle.Tensor, raw: bool):
    return x * now()


def some(x: paddle.Tensor, raw: bool):
    if raw:
        raise ValueError("no")
    return x


def wrong(x: paddle.Tensor, name: str):
    return x if paddle.in_dynamic_mode() else x + 1
"""


def test_what_a_search_says_of_calls_that_are_not_like_the_others(folder: Path) -> None:
    """``d2s test`` tells what it has not compared, and shows values that are no tensors."""
    (folder / "rare_tested.py").write_text(TESTED, encoding="utf-8")

    def run(name: str) -> tuple[int, str]:
        command = ["test", f"rare_tested.py:{name}", "--examples", "12"]
        result = CliRunner().invoke(cli.app, command)
        assert not isinstance(result.exception, D2SError), result.exception
        return result.exit_code, result.output

    code, text = run("unsteady")
    assert code == 0, text
    assert "dygraph itself differs from one call to the next in result" in text
    code, text = run("some")
    assert code == 0, text
    assert "of them raise" in text
    code, text = run("wrong")
    assert code == 1, text
    assert text.endswith("  name = ''\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_explanation_in_a_terminal_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds what the plain text holds, without the signs of Markdown."""
    texts = []
    for out in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", out)
        explain("D2S204")
        texts.append(out.getvalue())
    monkeypatch.undo()
    assert texts[0] != texts[1]
    assert all("D2S204" in text for text in texts)


def test_a_layer_that_is_not_decorated_is_measured_as_it_is() -> None:
    """``d2s bench`` changes nothing of it."""
    layer = Net()
    layer.forward = branchy
    assert undecorated(layer) is layer
    assert layer.forward is branchy
