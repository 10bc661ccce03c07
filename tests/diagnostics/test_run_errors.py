"""Errors while a program runs: those of dygraph, at the user's lines (rules A1, F1).

The functions are compared with themselves in dygraph: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import linecache
import sys
import textwrap
import threading
import traceback
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.paddle_bridge.running import errors
from tests.diagnostics.failing import Seen, ints, seen, tensor
from tests.processes import python

X = tensor(1.0, 2.0, 3.0)
FAR = ints(0, 9)


def pick(values, index):
    doubled = values * 2
    return paddle.gather(
        doubled,
        index,
    )


def top_level(x, index):
    y = x * 2
    return paddle.gather(y, index)


def after_a_helper(x, index):
    y = pick(x, ints(0)) + 1
    return pick(x, index) + y


def in_a_branch(x, index):
    y = x
    if x.sum() > 0:
        y = y + 1
        y = paddle.gather(y, index)
    return y


def in_an_else(x, index):
    if x.sum() < 0:
        y = paddle.gather(x, ints(0))
    elif x.max() > 100:
        y = paddle.gather(x, ints(1))
    else:
        y = paddle.gather(x, index)
    return y


def of_two_equal_operations(x, index):
    if x.sum() > 0:
        y = paddle.gather(x, ints(1, 1)) + paddle.gather(x, ints(0, 0))
        z = paddle.gather(y, index)
        w = paddle.gather(x, ints(2))
        x = z + w
    return x


def in_a_helper_in_a_branch(x, index):
    if x.sum() > 0:
        return pick(x, index)
    return x


def in_a_lambda(x, index):
    take = lambda values: paddle.gather(values, index)
    return take(x) if x.sum() > 0 else x


def in_an_operand(x, index):
    return (
        x.sum() > 0
        and pick(x, index).sum() > 0
        and x
    )  # fmt: skip


def in_a_nested_function(x, index):
    def inner(y):
        if y.sum() > 0:
            return paddle.gather(y, index)
        return y

    return inner(x + 1)


class Table(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.table = paddle.nn.Embedding(4, 2)

    def forward(self, ids):
        return self.table(ids)


class Model(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = Table()

    def look_up(self, ids, index):
        found = self.first(index)
        if ids.sum() > 0:
            found = found + self.first(index)
        return found

    def forward(self, ids, index):
        return self.look_up(ids, index)


def sizes_that_differ(x, index):
    positive = paddle.masked_select(x, x > 1)
    if x.sum() > 0:
        x = x + 1
        x = positive + x
    return x


def whole_division(x, index):
    return (x.astype("int64") // (index * 0)).sum()


def no_inverse(x, index):
    while x.sum() < 100:
        square = x.reshape([1, 3]) * paddle.zeros([3, 3])
        x = x + paddle.linalg.inv(square).sum()
    return x


def an_item(x, index):
    return x[index[1]]


def an_item_in_a_branch(x, index):
    if x.sum() > 0:
        y = x[index[0]]
        y = x[index[1]] + y
        return y
    return x


FUNCTIONS = [
    top_level, after_a_helper, in_a_branch, in_an_else, of_two_equal_operations,
    in_a_helper_in_a_branch, in_a_lambda, in_an_operand, in_a_nested_function, Model(),
    sizes_that_differ, whole_division, no_inverse, an_item, an_item_in_a_branch,
]  # fmt: skip


def same_error(function: Any, static: Any, *arguments: Any) -> Seen:
    """Both raise the same; what the static one raises."""
    want, got = seen(function, *arguments), seen(static, *arguments)
    assert got.facts == want.facts
    outer = ["__call__"] if isinstance(function, paddle.nn.Layer) else []  # `layer(x)` is Paddle's
    assert got.hidden == outer
    assert got.error.__cause__ is None
    assert got.error.__context__ is None
    return got


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: getattr(f, "__name__", "layer"))
def test_kernel_errors(function: Any) -> None:
    """A1: type, message, and the frames of all functions on the way; on every run."""
    static = d2s.to_static(Model() if isinstance(function, Model) else function)
    for _ in range(2):
        same_error(function, static, X, FAR)


@pytest.mark.parametrize("function", FUNCTIONS[:9], ids=lambda f: f.__name__)
def test_after_an_error_the_function_works(function: Any) -> None:
    """A1: the same program, with the values of dygraph."""
    static = d2s.to_static(function)
    near = ints(0, 1)
    want = function(X, near).tolist()
    assert static(X, near).tolist() == want
    seen(static, X, FAR)
    assert static(X, near).tolist() == want
    assert len(static.programs) == 1


UNIQUE = [
    top_level, after_a_helper, in_a_branch, in_a_helper_in_a_branch, in_an_operand,
    in_a_nested_function,
]  # fmt: skip


@pytest.mark.parametrize("function", UNIQUE, ids=lambda f: f.__name__)
def test_a_program_that_is_too_large_to_be_run_again(function: Any, monkeypatch) -> None:
    """A1: type, message and frames are the same where one operation alone can be meant."""
    monkeypatch.setattr(errors, "_MOST_TO_FIND", 0)
    monkeypatch.setattr(errors, "_MOST_TO_TELL", 0)
    got, want = seen(d2s.to_static(function), X, FAR), seen(function, X, FAR)
    assert got.facts == want.facts
    assert notes(got) == []


def test_a_large_program_with_several_operations_that_could_be_meant(monkeypatch) -> None:
    """The issue: rather no line than a wrong one; a note lists those that it can be."""
    monkeypatch.setattr(errors, "_MOST_TO_FIND", 0)
    got = seen(d2s.to_static(of_two_equal_operations), X, FAR)
    first = of_two_equal_operations.__code__.co_firstlineno
    assert got.frames == []
    (note,) = notes(got)
    start = "d2s: the operation stands on one of these lines: "
    assert note.startswith(start)
    lines = note.removeprefix(start).split("; ")
    assert sorted(lines) == [f"{__file__}:{first + line}" for line in (2, 3, 4)]


def test_a_warm_call_with_several_operations_that_could_be_meant(monkeypatch) -> None:
    """A1: the exception is dygraph's; it was said to be a defect of d2s."""
    monkeypatch.setattr(errors, "_MOST_TO_FIND", 0)
    static = d2s.to_static(of_two_equal_operations)
    for _ in range(3):
        static(X, ints(0, 1))
    got, want = seen(static, X, FAR), seen(of_two_equal_operations, X, FAR)
    assert type(got.error) is type(want.error)


def notes(got: Seen) -> list[str]:
    return list(getattr(got.error, "__notes__", []))


def columns(got: Seen) -> list[tuple[int | None, ...]]:
    """Where the expression of each of the user's frames begins and ends."""
    frames = traceback.extract_tb(got.error.__traceback__)[1:]
    return [
        (frame.lineno, frame.end_lineno, frame.colno, frame.end_colno)
        for frame in frames
        if frame.filename == __file__
    ]


def whole(line: int) -> tuple[int | None, ...]:
    """What Python underlines nothing for."""
    text = linecache.getline(__file__, line)
    return line, line, len(text) - len(text.lstrip()), len(text.rstrip())


AMBIGUOUS = {
    "in_a_lambda": 1,  # one of two calls on the line is of a function without a name
    "no_inverse": 1,  # `inv` is called `inverse` where it is defined
    "an_item": 1,  # two subscripts
    "an_item_in_a_branch": 1,
}
"""How many frames of a function have several expressions that could be meant."""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="columns came with Python 3.11")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: getattr(f, "__name__", "layer"))
def test_columns(function: Any) -> None:
    """The issue's point 1: the expression is underlined; nothing, where it is not sure."""
    want = columns(seen(function, X, FAR))
    static = d2s.to_static(Model() if isinstance(function, Model) else function)
    got = columns(seen(static, X, FAR))
    unsure = [mine for mine, right in zip(got, want, strict=True) if mine != right]
    assert unsure == [whole(mine[0]) for mine in unsure]
    assert len(unsure) <= AMBIGUOUS.get(getattr(function, "__name__", ""), 0)


def in_a_while(x, index):
    step = paddle.zeros([], "int64")
    total = x.sum()
    while step < 5:
        total = total + paddle.gather(x, step.reshape([1])).sum()
        step = step + 1
    return total


def in_nested_loops(x, index):
    total = x.sum()
    for i in range(index[0] + 2):
        for k in range(index[1]):
            position = i.astype("int64") + k.astype("int64") if i is not None else k
            total = total + paddle.gather(x, position.reshape([1])).sum()
    return total


def test_the_trip_of_a_loop() -> None:
    """The issue's point 3: where it is known, the trip; and what the operation was given."""
    got = same_error(in_a_while, d2s.to_static(in_a_while), X, FAR)
    first = in_a_while.__code__.co_firstlineno
    assert notes(got) == [
        f"d2s: gather at {__file__}:{first + 4} was given x = float32[3] [1.0, 2.0, 3.0], "
        "index = int64[1] [3]",
        f"d2s: in trip 4 of the loop on line {first + 3}",
    ]


def nested(x, rows):
    total = x.sum()
    for row in range(rows):
        k = paddle.zeros([], "int64")
        while k <= row:
            total = total + paddle.gather(x, k.reshape([1])).sum()
            k = k + 1
    return total


def test_the_trips_of_nested_loops() -> None:
    """The same of each loop, the innermost first; trips of an earlier round do not count."""
    got = seen(d2s.to_static(nested), tensor(1.0, 2.0), paddle.to_tensor(5))
    first = nested.__code__.co_firstlineno
    assert got.type is IndexError
    assert notes(got)[1:] == [
        f"d2s: in trip 3 of the loop on line {first + 4}",
        f"d2s: in trip 3 of the loop on line {first + 2}",
    ]


def test_large_operands_are_shown_by_their_shape() -> None:
    """The elements of many are not printed."""
    got = seen(d2s.to_static(top_level), paddle.ones([40]), ints(99))
    line = top_level.__code__.co_firstlineno + 2
    assert notes(got) == [
        f"d2s: gather at {__file__}:{line} was given x = float32[40], index = int64[1] [99]"
    ]


def open_sizes(x, y):
    if x.sum() > 0:
        return x.reshape([-1, 2]) + y
    return x


def test_under_open_sizes() -> None:
    """G2: a program for many sizes fails with dygraph's message for the very size."""
    static = d2s.to_static(open_sizes)
    for size in (2, 4, 6):
        static(paddle.ones([size]), paddle.ones([2]))
    same_error(open_sizes, static, paddle.ones([5]), paddle.ones([2]))
    assert static(paddle.ones([8]), paddle.ones([2])).shape == [4, 2]


def test_effects_are_not_repeated_to_explain_an_error(capfd) -> None:
    """F1: the run that finds the operation prints nothing, and changes nothing."""
    layer = paddle.nn.BatchNorm1D(3)

    def f(x, index):
        print("before", x.sum())
        y = layer(x)
        if x.sum() > 0:
            print("inside")
            return paddle.gather(y, index)
        return y

    static = d2s.to_static(f)
    rows = paddle.ones([2, 3])
    static(rows, ints(0, 1))
    mean = layer._mean.numpy().copy()
    capfd.readouterr()
    seen(static, rows, FAR)
    printed = capfd.readouterr().out
    assert printed.splitlines()[-1] == "inside"
    assert printed.count("before") == printed.count("inside") == 1
    once = mean * 0.9 + 0.1
    assert np.allclose(layer._mean.numpy(), once)  # moved by the run itself, once


def test_random_numbers_are_not_drawn_to_explain_an_error() -> None:
    """F5: what is drawn next is what dygraph draws next."""

    def f(x, index):
        y = paddle.nn.functional.dropout(x, 0.5)
        return paddle.gather(y, index)

    static = d2s.to_static(f)
    after = []
    for function in (f, static, static):
        paddle.seed(5)
        seen(function, X, FAR)
        after.append(paddle.rand([4]).tolist())
    assert after[0] == after[1] == after[2]


def test_errors_in_many_threads() -> None:
    """G4: each thread gets its own error with its own frames."""
    static = d2s.to_static(in_a_branch)
    static(X, ints(0))
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number] = [seen(static, X, ints(0, 10 + number)) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = seen(in_a_branch, X, FAR).frames
    for number, several in found.items():
        for got in several:
            assert got.type is IndexError
            assert f"received index element which is {10 + number} " in got.text
            assert got.frames == want
    assert static(X, ints(1)).tolist() == [3.0]


# -- backward --------------------------------------------------------------------------------------


class Twice(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return paddle.gather(gradient, paddle.full([2], 9, "int64"))


def through_a_py_layer(x):
    return Twice.apply(x).sum()


def through_a_hook(x):
    y = x * 2

    def hook(gradient):
        assert gradient.sum() > 100, f"only {float(gradient.sum())}"
        return gradient

    y.register_hook(hook)
    return y.sum()


def through_a_hook_and_a_loop(x):
    y = x * 2

    def hook(gradient):
        return paddle.gather(gradient, paddle.full([2], 9, "int64"))

    y.register_hook(hook)
    while y.sum() < 50:
        y = y * 2
    return y.sum()


@pytest.mark.parametrize(
    ("function", "kind", "line", "name"),
    [
        (through_a_py_layer, IndexError, Twice.backward.__code__.co_firstlineno + 2, "backward"),
        (through_a_hook, AssertionError, through_a_hook.__code__.co_firstlineno + 4, "hook"),
        (
            through_a_hook_and_a_loop,
            IndexError,
            through_a_hook_and_a_loop.__code__.co_firstlineno + 4,
            "hook",
        ),
    ],
)
def test_errors_of_the_backward(function: Any, kind: type, line: int, name: str) -> None:
    """C7: the exception itself, where dygraph has an OSError with its text; at the user's line."""
    static = d2s.to_static(function)
    for _ in range(2):
        x = tensor(1.0, 2.0)
        x.stop_gradient = False
        got = seen(static(x).backward)
        assert got.type is kind
        assert got.frames[-1] == (line, name)
        assert "In user code" not in got.text
        assert "operator <" not in got.text


def test_an_error_of_the_backward_does_not_come_up_later() -> None:
    """C7: the next run that fails raises its own."""
    static = d2s.to_static(through_a_hook)
    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    assert seen(static(x).backward).type is AssertionError
    assert seen(d2s.to_static(top_level), X, FAR).type is IndexError


# -- saved and loaded ------------------------------------------------------------------------------

SPEC = [
    paddle.static.InputSpec([None], "float32", "x"),
    paddle.static.InputSpec([None], "int64", "index"),
]


@pytest.mark.parametrize("function", [top_level, in_a_branch, in_a_helper_in_a_branch, an_item])
def test_a_loaded_program(function: Any, tmp_path) -> None:
    """G3: its errors are those of dygraph, at the lines that it was captured from."""
    path = str(tmp_path / "model")
    d2s.save(d2s.to_static(function), path, input_spec=SPEC)
    loaded = d2s.load(path)
    for _ in range(2):
        want, got = seen(function, X, FAR), seen(loaded, X, FAR)
        assert got.facts == want.facts
        assert got.hidden == []
    near = ints(0, 1)
    assert loaded(X, near).tolist() == function(X, near).tolist()


def test_a_loaded_layer_with_parameters(tmp_path) -> None:
    """G3: in a method of a layer within a layer; the trip of a loop is known, too."""
    path = str(tmp_path / "model")
    ids = paddle.static.InputSpec([None], "int64", "ids")
    index = paddle.static.InputSpec([None], "int64", "index")
    d2s.save(Model(), path, input_spec=[ids, index])
    got, want = seen(d2s.load(path), ints(1), FAR), seen(Model(), ints(1), FAR)
    assert got.facts == want.facts


def test_a_loaded_program_is_still_paddles(tmp_path) -> None:
    """G3: of the class that ``paddle.jit.load`` gives, and saved again as that one."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    ids = paddle.static.InputSpec([None], "int64", "ids")
    d2s.save(Table(), first, input_spec=[ids])
    loaded = d2s.load(first)
    assert isinstance(loaded, type(paddle.jit.load(first)))
    paddle.jit.save(loaded, second, input_spec=[ids])
    assert d2s.load(second)(ints(1, 2)).tolist() == loaded(ints(1, 2)).tolist()
    loaded.train()
    loaded(ints(3)).sum().backward()
    (weight,) = loaded.parameters()
    assert weight.grad is not None


def test_a_loaded_loop(tmp_path) -> None:
    """G3: with the trip."""
    path = str(tmp_path / "model")

    def f(x, index):
        step = paddle.zeros([], "int64")
        total = paddle.gather(x, index).sum()
        while step < 5:
            total = total + paddle.gather(x, step.reshape([1])).sum()
            step = step + 1
        return total

    d2s.save(d2s.to_static(f), path, input_spec=SPEC)
    got = seen(d2s.load(path), X, ints(0))
    assert got.frames == seen(f, X, ints(0)).frames
    assert notes(got)[-1].startswith("d2s: in trip 4 of the loop on line ")


def checked(x, index):
    total = x.sum()
    if total > 5:
        assert x.max() < 3, "too large"
    return x * index.sum()


@pytest.mark.filterwarnings("ignore:a saved program runs without Python")
def test_an_assertion_of_a_loaded_program(tmp_path) -> None:
    """F1: an AssertionError at its line; the message has not been saved."""
    path = str(tmp_path / "model")
    d2s.save(d2s.to_static(checked), path, input_spec=SPEC)
    got, want = seen(d2s.load(path), X, ints(0)), seen(checked, X, ints(0))
    assert (got.type, got.frames) == (want.type, want.frames)
    assert got.text == ""


def test_a_loaded_program_without_its_lines(tmp_path) -> None:
    """G3: the file beside the program is not needed; dygraph's words remain."""
    path = tmp_path / "model"
    d2s.save(d2s.to_static(in_a_branch), str(path), input_spec=SPEC)
    for content in ("no JSON", '{"forward": [["pd_op.other", "[]"]]}', None):
        if content is None:
            path.with_suffix(".d2s").unlink()
        else:
            path.with_suffix(".d2s").write_text(content)
        got, want = seen(d2s.load(str(path)), X, FAR), seen(in_a_branch, X, FAR)
        assert (got.type, got.text) == (want.type, want.text)
        assert got.frames == []


# -- on the screen ---------------------------------------------------------------------------------

SCRIPT = """
    import paddle, d2s

    def helper(y, i):
        return y.sum() + paddle.gather(y, i)

    @d2s.to_static
    def f(x, i):
        if x.sum() > 0:
            return helper(x, i) * 2
        return x

    f(paddle.ones([2]), paddle.to_tensor([7]))
"""


def printed(tmp_path: Any, **environment: str) -> str:
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(SCRIPT).lstrip("\n"))
    given = {"PYTHONPATH": ":".join(sys.path), "GLOG_minloglevel": "3", **environment}
    done = python("-W", "ignore", str(file), env=given)
    assert done.returncode == 1
    return done.stderr.replace(str(file), "net.py")


def test_what_python_prints(tmp_path) -> None:
    """The issue: the user's lines, Paddle's hint, and nothing else."""
    text = printed(tmp_path)
    lines = [line for line in text.splitlines() if line.strip(" ^~")]
    if sys.version_info >= (3, 11):  # before, Python does not print notes
        note = "d2s: gather at net.py:4 was given x = float32[2] [1.0, 1.0], index = int64[1] [7]"
        assert lines.pop() == note
    lines[-1] = lines[-1].split(" (at ")[0]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "net.py", line 12, in <module>',
        "    f(paddle.ones([2]), paddle.to_tensor([7]))",
        '  File "net.py", line 9, in f',
        "    return helper(x, i) * 2",
        '  File "net.py", line 4, in helper',
        "    return y.sum() + paddle.gather(y, i)",
        "IndexError: (OutOfRange) The element of Index must be less than the size of input dim "
        "size of axis which is 2, but received index element which is 7 in the 0 index.",
        "  [Hint: Expected p_index[i] < index_dim_size, but received p_index[i]:7 >= "
        "index_dim_size:2.]",
    ]


def test_the_full_traceback(tmp_path) -> None:
    """The issue: ``D2S_FULL_TRACEBACK=1`` shows the frames of d2s, and what Paddle said."""
    text = printed(tmp_path, D2S_FULL_TRACEBACK="1")
    assert "d2s/program/running/execute.py" in text
    assert "In user code:" in text
    assert "[operator < pd_op.if > error]" in text
