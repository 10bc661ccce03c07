"""``d2s bench``: inputs as text, what is called, the table, and every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import paddle
import pytest

from d2s.bench.environment import environment
from d2s.bench.peers import NoReferenceError, measure
from d2s.bench.rounds import Measured, Settings
from d2s.bench.work import CONVERTERS, Prepared, loss_of
from d2s.cli import bench, main
from d2s.cli.bench import Report, Request, parse_input, undecorated
from d2s.errors import BenchCallError, BenchInputError, InputSpecTextError, TargetError

NET = """
import paddle
import d2s

print("the file says hello")


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(4, 4)

    def forward(self, x, times=1):
        print("called")
        for _ in range(times):
            x = self.linear(x)
        return x


net = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())


def step(x):
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss


def shaped(x):
    y = x + 1
    return y.reshape([3])


@d2s.to_static
def decorated(x, k=2):
    return x * k if x.sum() > 0 else -x


class Sized(Net):
    def __init__(self, size):
        super().__init__()
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text(NET, encoding="utf-8")
    return str(path)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two peers, in forked processes: a new interpreter for each of four takes long."""

    def quick(jobs, settings, *, method, progress):
        jobs = {peer: jobs[peer] for peer in ("dygraph", "d2s")}
        return measure(jobs, Settings(1, 0.001, 100.0), method="fork", progress=progress)

    monkeypatch.setattr(bench, "measure", quick)


# -- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "shape", "dtype"),
    [
        ("x:float32[8, 64]", "x", [8, 64], paddle.float32),
        ("float64[2]", None, [2], paddle.float64),
        ("int64[3,]", None, [3], paddle.int64),
        ("m:bool[2,2]", "m", [2, 2], paddle.bool),
        ("float32[]", None, [], paddle.float32),
        ("complex64[2]", None, [2], paddle.complex64),
        ("float32[0,3]", None, [0, 3], paddle.float32),
    ],
)
def test_a_tensor_is_random(text: str, name, shape, dtype) -> None:
    found = parse_input(text)
    made = found.make(gradient=False)
    assert (found.name, made.shape, made.dtype) == (name, shape, dtype)
    assert made.stop_gradient


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("n:int64[]=10", 10, paddle.int64),
        ("n:int64[2]=-1", [-1, -1], paddle.int64),
        ("float32[]=0.5", 0.5, paddle.float32),
        ("bool[]=True", True, paddle.bool),
        ("n:int64[]=0", 0, paddle.int64),
    ],
)
def test_a_tensor_is_full_of_one_number(text: str, value, dtype) -> None:
    made = parse_input(text).make(gradient=True)
    assert (made.tolist(), made.dtype) == (value, dtype)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("n=10", "n", 10),
        ("10", None, 10),
        ("mode='mean'", "mode", "mean"),
        ("[1, 2]", None, [1, 2]),
        ("shape=(2, None)", "shape", (2, None)),
        (" flag = True", "flag", True),
    ],
)
def test_anything_else_is_a_value_of_pythons(text: str, name, value) -> None:
    found = parse_input(text)
    assert (found.name, found.make(gradient=True)) == (name, value)


def test_only_floating_point_tensors_get_gradients() -> None:
    assert not parse_input("float32[2]").make(gradient=True).stop_gradient
    assert parse_input("int64[2]").make(gradient=True).stop_gradient


def test_one_seed_gives_the_same_inputs() -> None:
    made = []
    for _ in range(2):
        paddle.seed(3)
        made.append(parse_input("float32[4]").make(gradient=False).tolist())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("text", "error", "cause"),
    [
        ("x:float32[None,8]", BenchInputError, "a size is open"),
        ("x:float32[?]", BenchInputError, "a size is open"),
        ("n:int64[]=[1, 2]", BenchInputError, "is not one number"),
        ("n:int64[]=ten", BenchInputError, "cannot be understood"),
        ("n=ten", BenchInputError, "cannot be understood"),
        ("", BenchInputError, "is empty"),
        ("x:float[8]", InputSpecTextError, "there is no dtype 'float'"),
        ("x:float32[a]", InputSpecTextError, "is not a dimension"),
    ],
)
def test_bad_inputs_are_refused(text: str, error, cause: str) -> None:
    with pytest.raises(error, match=cause):
        parse_input(text)


# -- what is called -------------------------------------------------------------------------------


def test_inputs_are_bound_by_name_and_in_order(file: str) -> None:
    inputs = parse_input("times=3"), parse_input("float32[2,4]")
    work = Request(f"{file}:net", inputs, "inference")()
    assert work.arguments[0].shape == [2, 4]
    assert work.arguments[1] == 3


@pytest.mark.parametrize("texts", [(), ("float32[2]", "float32[2]", "1"), ("y:float32[2]",)])
def test_inputs_that_are_not_the_functions_are_refused(file: str, texts) -> None:
    request = Request(f"{file}:decorated", tuple(map(parse_input, texts)), "inference")
    with pytest.raises(BenchInputError, match="inputs are not those of decorated"):
        request.check()


def test_a_function_that_raises_in_dygraph_is_refused_with_its_line(file: str) -> None:
    request = Request(f"{file}:shaped", (parse_input("float32[8]"),), "inference")
    with pytest.raises(BenchCallError, match="shaped raises ValueError in dygraph") as caught:
        request.check()
    assert caught.value.file == file
    assert caught.value.line == 1 + NET.splitlines().index("    return y.reshape([3])")


@pytest.mark.parametrize("name", ["Net", "Net.forward"])
def test_a_class_of_layers_stands_for_an_object(file: str, name: str) -> None:
    request = Request(f"{file}:{name}", (parse_input("float32[2,4]"),), "inference")
    request.check()
    assert type(request()).__name__ == "Work"


def test_a_method_needs_an_object(file: str) -> None:
    with pytest.raises(TargetError, match="cannot be called without an instance"):
        Request(f"{file}:Sized.forward", (parse_input("float32[2,4]"),), "inference").check()


def test_what_is_decorated_is_measured_as_it_was_written(file: str) -> None:
    work = Request(f"{file}:decorated", (parse_input("float32[2]"),), "inference")()
    assert type(work.function).__name__ == "function"


def test_a_decorated_layer_is_measured_as_it_was_written() -> None:
    layer = paddle.nn.Linear(2, 2)
    written = layer.forward.__func__
    assert undecorated(CONVERTERS["d2s"](layer)).forward.__func__ is written


def test_gradients_are_those_of_inputs_and_parameters(file: str) -> None:
    work = Request(f"{file}:net", (parse_input("float32[2,4]"),), "gradient")()
    prepared = Prepared(work, lambda function: function)
    prepared()
    once = prepared.values()
    assert len(once) == 4  # result, input, weight, bias
    assert all(value is not None for value in once)
    prepared()
    assert once[3].tolist() == prepared.values()[3].tolist()  # they do not add up


def test_a_training_step_is_called_as_it_is(file: str) -> None:
    work = Request(f"{file}:step", (parse_input("float32[2,4]"),), "step")()
    prepared = Prepared(work, lambda function: function)
    with work.mode():
        prepared()
        first = prepared.values()[0]
        prepared()
    assert first != prepared.values()[0]


def test_backward_needs_something_that_has_a_gradient(file: str) -> None:
    request = Request(f"{file}:decorated", (parse_input("int64[2]"),), "gradient")
    with pytest.raises(BenchCallError, match=r"raises ValueError in dygraph .*: no result"):
        request.check()


def test_the_loss_of_a_structure_is_the_sum_of_what_has_a_gradient() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert float(loss_of({"a": [x, None], "b": paddle.ones([3])})) == 3.0
    with pytest.raises(ValueError, match="no result depends"):
        loss_of([paddle.ones([2]), 1])


# -- the command ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("forked")
def test_figures_are_printed_for_programs(file: str, capfd) -> None:
    arguments = [f"{file}:decorated", "-i", "float32[2]", "-i", "k=3", "--rounds", "1", "--json"]
    with pytest.raises(SystemExit) as end:
        main(["bench", *arguments])
    assert end.value.code == 0
    report = json.loads(capfd.readouterr().out)
    assert report["inputs"] == ["float32[2]", "k=3"]
    assert report["call"] == "inference"
    assert {peer: found["status"] for peer, found in report["peers"].items()} == {
        "dygraph": "timed",
        "d2s": "timed",
    }
    assert report["peers"]["d2s"]["first_s"] > 0
    assert report["environment"]["paddle"] == paddle.__version__


@pytest.mark.usefixtures("forked")
def test_the_table_goes_into_a_file_without_what_the_function_prints(
    file: str, tmp_path: Path
) -> None:
    out = tmp_path / "table.txt"
    with pytest.raises(SystemExit) as end:
        main(["bench", f"{file}:net", "-i", "float32[2,4]", "--grad", "-o", str(out)])
    assert end.value.code == 0
    shown = out.read_text(encoding="utf-8")
    assert "forward and backward" in shown
    assert "hello" not in shown
    assert "called" not in shown
    assert "Paddle 3" in " ".join(shown.split())


def test_the_table_has_a_line_for_each_peer_and_says_who_fails() -> None:
    report = Report(
        Request("net.py:f", (parse_input("x:float32[2]"),), "inference"),
        Settings(),
        environment(),
        {
            "dygraph": Measured("timed", "", 0.5, 3, [0.25, 0.002]),
            "paddle-ast": Measured("fails", "ValueError: middle_0 [x]"),
            "d2s": Measured("timed", "", 1.0, 3, [0.001]),
        },
    )
    lines = report.text(100).splitlines()
    assert lines[0].strip() == "net.py:f(x:float32[2]): one call, no gradients"
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]
    assert rows[0] == ["dygraph", "2 ms", "126 ms", "98%", "1.00x", "500 ms"]
    assert rows[1][:2] == ["Paddle AST", "fails: ValueError"]
    assert rows[2] == ["d2s", "1 ms", "1 ms", "0%", "0.50x", "1 s"]
    assert "Paddle AST fails: ValueError: middle_0 [x]" in lines


@pytest.mark.parametrize("status", ["wrong", "fails"])
def test_the_exit_status_is_1_when_d2s_is_not_timed(file: str, monkeypatch, status: str) -> None:
    found = {"dygraph": Measured("timed", "", 1.0, 1, [1.0]), "d2s": Measured(status, "why")}
    monkeypatch.setattr(bench, "measure", lambda *given, **options: found)
    with pytest.raises(SystemExit) as end:
        main(["bench", f"{file}:decorated", "-i", "float32[2]"])
    assert end.value.code == 1


def test_a_function_that_fails_only_there_is_an_error(file: str, monkeypatch, capsys) -> None:
    def fail(*given, **options):
        raise NoReferenceError("dygraph fails: Timeout: no answer in 60 s")

    monkeypatch.setattr(bench, "measure", fail)
    assert main(["bench", f"{file}:decorated", "-i", "float32[2]"]) == 2
    assert "cannot be measured: dygraph fails: Timeout" in capsys.readouterr().err


def test_one_call_is_one_thing(file: str, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["bench", f"{file}:step", "--grad", "--step"])
    assert end.value.code == 2
    assert "choose one of --grad and --step" in capsys.readouterr().err


@pytest.mark.slow
def test_all_four_peers_run_in_new_interpreters(file: str, capfd) -> None:
    with pytest.raises(SystemExit):
        main(["bench", f"{file}:decorated", "-i", "float32[2]", "--rounds", "1", "--json"])
    peers = json.loads(capfd.readouterr().out)["peers"]
    assert list(peers) == list(CONVERTERS)
    assert [peers[name]["status"] for name in ("dygraph", "d2s")] == ["timed", "timed"]
