"""Names inside a program are its own: whatever tensors and arguments are called (rules A1, G3)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor


def results(count: int) -> list[Any]:
    """Results of programs, which Paddle calls ``output_0`` all of them."""
    made = [d2s.to_static(function_of(f"def f(x): return x * {k + 2}"))(tensor(1.0, 2.0))
            for k in range(count)]  # fmt: skip
    assert {each.name for each in made} == {"output_0"}
    return made


def test_two_tensors_of_one_name() -> None:
    """A1: results of other programs, read from outside and in a loop, with gradients."""
    a, b = results(2)
    function = function_of(
        """
        def f(x, n):
            for i in range(n):
                x = x * a + b
            return x, a * b, a - x
        """,
        a=a,
        b=b,
    )
    assert_same(function, (tensor(1.0, 2.0), paddle.to_tensor(2)), grad=True)
    assert_same(function_of("def f(x): return x * a + b, a * b", a=a, b=b), (tensor(1.0, 2.0),))


def of_one_name(*sizes: tuple[int, int]) -> list[Any]:
    """Layers made under a guard of names each, so that their parameters are called the same."""
    made = []
    for size in sizes:
        with paddle.utils.unique_name.guard():
            made.append(paddle.nn.Linear(*size))
    return made


@pytest.mark.parametrize("sizes", [((2, 3), (3, 2)), ((2, 2), (2, 2))])
def test_two_parameters_of_one_name(sizes: tuple[tuple[int, int], ...]) -> None:
    """A1: whatever their shapes; the gradient of each is its own."""
    first, second = of_one_name(*sizes)
    assert first.weight.name == second.weight.name
    source = """
    def f(x):
        y = second(paddle.tanh(first(x)))
        return y * 2 if y.sum() > 0 else y - x
    """
    function = function_of(source, first=first, second=second)
    converted = d2s.to_static(function, full_graph=True)
    for x in (tensor([1.0, 2.0]), tensor([-3.0, 0.5])):
        found = []
        for run in (function, converted):
            run(x).square().sum().backward()
            found.append([p.grad.numpy() for p in (*first.parameters(), *second.parameters())])
            for layer in (first, second):
                layer.clear_gradients()
        for want, got in zip(*found, strict=True):
            assert want == pytest.approx(got)


def test_tables_that_are_made_while_a_program_is_captured() -> None:
    """A1: Paddle's numbers for names begin again there: all of them are ``generated_tensor_0``."""
    source = """
    @functools.lru_cache
    def table(rows, columns):
        return paddle.arange(rows * columns, dtype="float32").reshape([rows, columns])

    @functools.lru_cache
    def window(size):
        return paddle.to_tensor([0.5] * size)

    def f(x):
        return (x * w * window(2)) @ table(2, 3) @ table(3, 2) + window(2)
    """
    outside = tensor(2.0, 3.0)
    outside.name = "generated_tensor_0"
    assert_same(function_of(source, w=outside, functools=functools), (tensor([1.0, 2.0]),))


@pytest.mark.parametrize("sizes", [((2, 3), (3, 2), (2, 2)), ((2, 2), (2, 2), (2, 2))])
def test_parameters_of_one_name_in_a_file(sizes: Any, tmp_path: Path) -> None:
    """A1: each is saved, for every method, and keeps the name by which an optimizer knows it."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.third = of_one_name(*sizes)
            self.scale = tensor(2.0, 3.0)

        def forward(self, x: Any) -> Any:
            y = self.second(paddle.tanh(self.first(x)))
            return y * self.scale if y.sum() > 0 else y - self.third(x)

        def behind(self, x: Any) -> Any:
            return self.third(x) * self.shift()

        def shift(self) -> Any:
            return self.scale + 1

    net = Net()
    names = [p.name for p in net.parameters()]
    spec = [paddle.static.InputSpec([2], "float32")]
    for method in ("forward", "behind"):
        setattr(net, method, d2s.to_static(getattr(net, method), input_spec=spec, full_graph=True))
    d2s.save(net, str(tmp_path / "net"))
    loaded = d2s.load(str(tmp_path / "net"))
    assert [p.name for p in net.parameters()] == names
    for x in (tensor(1.0, 2.0), tensor(-3.0, 0.5)):
        assert loaded(x).numpy() == pytest.approx(Net.forward(net, x).numpy())
        assert loaded.behind(x).numpy() == pytest.approx(Net.behind(net, x).numpy())


def test_a_file_has_the_parameter_that_was_read(tmp_path: Path) -> None:
    """A1: not another one of the layer, of the same name, that the program does not read."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.student, self.teacher = of_one_name((2, 2), (2, 2))

        def forward(self, x: Any) -> Any:
            return self.student(x)

    net = Net()
    path = str(tmp_path / "net")
    d2s.save(net, path, input_spec=[paddle.static.InputSpec([None, 2], "float32")])
    x = tensor([1.0, 2.0])
    assert d2s.load(path)(x).numpy() == pytest.approx(net(x).numpy())


def test_a_tensor_is_called_as_an_argument_is() -> None:
    """A1: ``x`` of outside is not the argument ``x``."""
    outside = tensor(5.0, 6.0)
    outside.name = "x"
    assert_same(function_of("def f(x): return x + p * 10, p * x", p=outside), (tensor(1.0, 2.0),))


def test_arguments_that_are_called_as_results_are() -> None:
    """A1: an argument ``output_1`` is read after the second result was computed."""
    source = """
    def f(output_0, output_1, output_0_0):
        return output_1 * 2, output_0 + output_1, output_0 * output_1 - output_0_0
    """
    assert_same(function_of(source), (tensor(1.0), tensor(3.0), tensor(7.0)))


def test_state_that_programs_have_written() -> None:
    """F3: a buffer that is a result, read by a program whose results are called the same."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.register_buffer("total", paddle.zeros([]))
            self.register_buffer("last", paddle.zeros([]))

        def forward(self, x: Any) -> Any:
            self.calls += 1
            self.last = self.total * self.calls
            self.total = self.total + x.sum()
            return x * self.calls + self.last

    plain, static = Net(), d2s.to_static(Net())
    for _ in range(4):
        x = tensor(1.0, 2.0)
        assert static(x).tolist() == plain(x).tolist()
        assert (static.total.item(), static.last.item()) == (plain.total.item(), plain.last.item())


def test_buffers_of_one_name_are_saved(tmp_path: Path) -> None:
    """G3: a saved layer finds each of them again."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            for name, value in zip("abc", results(3), strict=True):
                self.register_buffer(name, value)

        def forward(self, x: Any) -> Any:
            return x + self.a * 10 + self.b * 100 + self.c * 1000

    net = Net()
    net.eval()
    x = tensor(1.0, 2.0)
    wanted = net(x).tolist()
    static = d2s.to_static(net, input_spec=[paddle.static.InputSpec([2])])
    paddle.jit.save(static, str(tmp_path / "net"))
    assert paddle.jit.load(str(tmp_path / "net"))(x).tolist() == wanted


def annotated_in_blocks(x):
    if x.sum() > 4:
        y: list[paddle.Tensor]
        y = [x]
    else:
        y: list[paddle.Tensor]
        z: int  # noqa: F842
        y = [x + 1]
    for _ in range(2):
        w: float
        w = y[0].sum()
        x = x + w
    return y[0], x


def test_annotations_without_a_value_in_blocks() -> None:
    """A5: they make a variable local, and nothing more."""
    assert_same(annotated_in_blocks, tensor(1.0, 2.0), tensor(4.0, 5.0))


@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize(
    "found", ["locals()", "vars()", "dir()", "'{a.shape} {k}'.format(**locals())"]
)
def test_variables_that_are_shown_are_the_users(found: str, full_graph: bool) -> None:
    """A3: neither ``d2s`` nor the functions that branches and loops became are among them."""
    function = function_of(
        f"""
        def f(x, k=2):
            a = x * 2 if x.sum() > 0 else x
            if a.sum() > 3:
                a = a + 1
            else:
                a = a - 1
            for i in range(k):
                a = a + i
            shown = {found}
            return a, shown if isinstance(shown, str) else sorted(shown)
        """
    )
    converted = d2s.to_static(function, full_graph=full_graph)
    for x in (tensor(1.0, 2.0), tensor(3.0, 4.0)):
        want, got = function(x), converted(x)
        assert (want[0].tolist(), want[1]) == (got[0].tolist(), got[1])


def test_variables_that_only_some_runs_have() -> None:
    """A3: ``locals()`` behind a branch that binds one is refused, and right by default."""
    text = "def f(x):\n    if x.sum() > 1:\n        b = x\n    return sorted(locals()), x + 1"
    with pytest.raises(d2s.errors.AmbiguousValueError, match="'b'"):
        d2s.to_static(function_of(text), full_graph=True)(tensor(1.0))
    converted = d2s.to_static(function_of(text), full_graph=False)
    assert [converted(tensor(value))[0] for value in (1.0, 2.0, 1.0)] == [["x"], ["b", "x"], ["x"]]


def test_a_variable_called_locals() -> None:
    """A3: a function of the user's under that name is called as any other."""

    def f(x, locals, dir=lambda: 3):
        return x * locals() + dir()

    assert d2s.to_static(f, full_graph=True)(tensor(1.0), lambda: 2).tolist() == [5.0]
