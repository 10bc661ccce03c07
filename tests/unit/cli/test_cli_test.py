"""``d2s test``: exit status, what it says, and what it makes of bad input."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from d2s import cli
from d2s.errors import D2SError

FILE = """
import paddle
from paddle.static import InputSpec

import d2s


def good(x: paddle.Tensor, k: int = 2):
    if x.sum() > 0:
        x = x * k
    return x


def wrong(x: paddle.Tensor):
    y = x * 2
    return y if paddle.in_dynamic_mode() else y + 1


def refused(x: paddle.Tensor):
    return memoryview(x.numpy())[0]


def sometimes(x: paddle.Tensor, raw: bool):
    return memoryview(x.numpy())[0] if raw else x + 1


def raises(x: paddle.Tensor):
    raise ValueError("no")


def silent(x):
    return x


@d2s.to_static(input_spec=[InputSpec([None, 3], "float32", "x")])
def spec(x):
    total = x.sum()
    for row in x:
        total = total + row[0]
    return total


class Net(paddle.nn.Layer):
    def forward(self, x, /, scale: float = 2.0):
        return x * scale if x.sum() > 0 else x


net = Net()


class Sized(Net):
    def __init__(self, size):
        super().__init__()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def run(target: str, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["test", target, "--examples", "12", *options])
    if isinstance(result.exception, D2SError):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("name", ["good", "spec"])
def test_what_agrees(file: Path, name: str) -> None:
    code, text = run(f"{file}:{name}")
    assert code == 0
    assert text.startswith(f"{name}: ")
    assert "calls agree with dygraph in result, arguments, printed text, gradients" in text


def test_a_layer_with_an_input_spec(file: Path) -> None:
    code, text = run(f"{file}:net", "--input-spec", "float32[None,2]", "--no-grad")
    assert code == 0
    assert "gradients" not in text


def test_what_differs_is_shown_with_the_smallest_input(file: Path) -> None:
    code, text = run(f"{file}:wrong", "--no-grad")
    assert code == 1
    assert "wrong: the program differs from dygraph in 1 thing" in text
    assert f"first at {file}:" in text
    assert text.endswith("with\n  x = paddle.to_tensor([0.0], dtype='float32')\n")


def test_tolerances(file: Path) -> None:
    assert run(f"{file}:wrong", "--no-grad", "--atol", "2")[0] == 0


def test_one_seed_gives_one_run(file: Path) -> None:
    assert run(f"{file}:good", "--seed", "3") == run(f"{file}:good", "--seed", "3")


def test_a_refusal_is_its_error(file: Path) -> None:
    with pytest.raises(D2SError) as caught:
        run(f"{file}:refused")
    assert caught.value.code == "D2S208"


def test_a_refusal_of_some_calls_is_counted(file: Path) -> None:
    code, text = run(f"{file}:sometimes")
    assert code == 0
    assert "more were refused with D2S208: memoryview() asks for the numbers" in text


def test_calls_that_all_raise_are_suspicious(file: Path) -> None:
    code, text = run(f"{file}:raises")
    assert code == 0
    assert "every call raises: the inputs may not be what the function takes" in text


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        ("silent", [], "D2S604"),
        ("Sized.forward", [], "D2S501"),
        ("nothing", [], "D2S501"),
        ("good", ["--input-spec", "float[2]"], "D2S503"),
        ("silent", ["--input-spec", "float32[2]", "--input-spec", "float32[2]"], "D2S302"),
    ],
)
def test_bad_input(file: Path, target: str, options: list[str], code: str) -> None:
    with pytest.raises(D2SError) as caught:
        run(f"{file}:{target}", *options)
    assert caught.value.code == code
    assert caught.value.cure
