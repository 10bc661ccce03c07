"""Effects of captured programs happen on every run (rules F1 to F5).

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import (
    BreakWarning,
    ContainerInGraphError,
    NotStaticError,
    UnsupportedInGraphError,
)
from tests.helpers import assert_same, function_of, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
N = [scalar(n) for n in (0, 1, 3)]


def printed(function: Callable[..., Any], capfd: Any, *inputs: Any) -> str:
    capfd.readouterr()
    for given in inputs:
        function(*(given if isinstance(given, tuple) else (given,)))
    return capfd.readouterr().out


def same_text(function: Callable[..., Any], capfd: Any, *inputs: Any) -> None:
    static = d2s.to_static(function)
    want = printed(function, capfd, *inputs)
    assert want
    assert printed(static, capfd, *inputs) == want
    assert printed(static, capfd, *inputs) == want


def test_print_of_tensors(capfd) -> None:
    """F1: letter for letter, on every run."""

    def f(x):
        print("x is", x, x.sum(), sep=" | ", end=".\n")
        print(f"sum {x.sum()} and {x.shape} {x.dtype}")
        return x

    same_text(f, capfd, PLUS, MINUS)


def test_print_in_branches_and_loops(capfd) -> None:
    """F1: in program order, only on the path that runs."""

    def f(x, n):
        print("start")
        if x.sum() > 0:
            print("positive", x.sum())
        else:
            print("negative")
        for i in range(n):
            print("trip", i)
            if i % 2 == 0:
                x = x + 1
                print("even", x)
        print("end", n)
        return x

    same_text(f, capfd, *[(x, n) for x in (PLUS, MINUS) for n in N])


def test_print_of_python_values_only(capfd) -> None:
    """F1: text without tensors is printed on every run as well."""

    def f(x):
        print("hello", 1, [2], {"a": None})
        return x * 2

    same_text(f, capfd, PLUS, MINUS)


def test_formatted_text(capfd) -> None:
    """F1: f-strings, ``format`` and ``%`` of numbers that tensors hold."""

    def f(x):
        print(f"{float(x.sum()):.2f} {int(x.max())!r:>5}")
        print("loss", float(x.mean()))
        return x

    same_text(f, capfd, PLUS, MINUS)


@pytest.mark.row(118)
def test_logging(caplog) -> None:
    """F1: ``logging`` calls with tensor values happen on every run."""
    log = logging.getLogger("tests.effects")

    def f(x):
        if x.sum() > 0:
            log.warning("sum %s", x.sum())
        return x * 2

    def logged(function: Any) -> list[str]:
        caplog.clear()
        for x in (PLUS, MINUS, PLUS * 2):
            function(x)
        return [record.getMessage() for record in caplog.records]

    assert logged(d2s.to_static(f)) == logged(f)


def test_assert() -> None:
    """F1: type, message and arguments; the run decides, the next run works."""

    def f(x):
        assert x.sum() > 0, f"sum is {float(x.sum())}"
        return x * 2

    assert_same(f, PLUS, MINUS)


def test_assert_without_message_and_in_a_loop() -> None:
    """F1."""

    def f(x, n):
        for i in range(n):
            assert i < 2
            x = x + 1
        return x

    assert_same(f, *[(PLUS, n) for n in N])


def test_raise() -> None:
    """F1: under a tensor condition, with arguments."""

    def f(x):
        if x.sum() < 0:
            raise KeyError("negative", 3)
        return x * 2

    assert_same(f, PLUS, MINUS)


def test_raise_in_else_and_in_a_loop() -> None:
    """F1: the raising side binds nothing, and the other side's names are sure."""

    def f(x, n):
        if x.sum() > 0:
            y = x
        else:
            raise ValueError("not positive")
        for i in range(n):
            if i == 2:
                raise StopIteration
            y = y * 2
        return y

    assert_same(f, *[(x, n) for x in (PLUS, MINUS) for n in N])


class OwnError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code_ = code


@pytest.mark.row(119)
def test_an_exception_of_the_users() -> None:
    """F1: the very type with its arguments; from the original line."""

    def f(x):
        y = x * 2
        if x.sum() < 0:
            raise OwnError(
                7,
                "mine",
            )
        return y

    static = d2s.to_static(f)
    assert static(PLUS).tolist() == [2.0, 4.0]
    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            static(MINUS)
        assert (caught.value.args, caught.value.code_) == ((7, "mine"), 7)
        lines = [e.lineno for e in traceback.extract_tb(caught.value.__traceback__)]
        assert f.__code__.co_firstlineno + 3 in lines
    assert static(PLUS).tolist() == [2.0, 4.0]


def test_effects_before_an_exception_have_happened(capfd) -> None:
    """F1: program order."""

    def f(x):
        print("before")
        if x.sum() < 0:
            raise ValueError("no")
        print("after")
        return x

    static = d2s.to_static(f)
    static(PLUS)
    capfd.readouterr()
    with pytest.raises(ValueError, match="no"):
        static(MINUS)
    assert capfd.readouterr().out == "before\n"


class Counter(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.last = paddle.zeros([2])
        self.register_buffer("total", paddle.zeros([2]))

    def forward(self, x):
        self.total = self.total + x
        self.last = x * 2
        if x.sum() > 0:
            self.last = self.last + self.total
        return self.total * 1


def test_attributes_and_buffers_keep_their_values() -> None:
    """F3: as in dygraph, after every run; no symbolic value leaks."""
    plain, static = Counter(), d2s.to_static(Counter())
    for x in (PLUS, MINUS, PLUS, PLUS * 3):
        assert static(x).tolist() == plain(x).tolist()
        assert static.total.tolist() == plain.total.tolist()
        assert static.last.tolist() == plain.last.tolist()
        assert isinstance(static.last, paddle.Tensor)
        assert not isinstance(static.last, paddle.pir.Value)
    assert static.state_dict()["total"].tolist() == plain.state_dict()["total"].tolist()


@pytest.mark.row(97)
def test_an_attribute_changed_outside_is_seen() -> None:
    """F3: nothing is frozen at capture."""
    layer = d2s.to_static(Counter())
    layer(PLUS)
    layer.total = paddle.full([2], 100.0)
    assert layer(PLUS).tolist() == [101.0, 102.0]
    layer.total.set_value(paddle.zeros([2]))
    assert layer(PLUS).tolist() == [1.0, 2.0]


@pytest.mark.row(97)
def test_globals_and_closures_are_not_frozen() -> None:
    """F3: a tensor in a closure is read on every run."""
    weight = tensor(1.0, 1.0)

    def f(x):
        return x * weight

    static = d2s.to_static(f)
    assert static(PLUS).tolist() == [1.0, 2.0]
    weight = tensor(3.0, 3.0)
    assert static(PLUS).tolist() == [3.0, 6.0]


@pytest.mark.row(99)
def test_batch_norm_statistics() -> None:
    """F3."""
    paddle.seed(1)
    plain = paddle.nn.BatchNorm1D(2)
    static = d2s.to_static(paddle.nn.BatchNorm1D(2))
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(3):
        assert plain(x).numpy() == pytest.approx(static(x).numpy())
        assert plain._mean.numpy() == pytest.approx(static._mean.numpy())
        assert plain._variance.numpy() == pytest.approx(static._variance.numpy())
    plain.eval()
    static.eval()
    assert plain(x).numpy() == pytest.approx(static(x).numpy())


def test_effects_of_python_alone_are_refused(tmp_path) -> None:
    """F4: by a program; by default they happen on every call."""
    file = tmp_path / "calls"
    file.write_text("")

    def f(x):
        file.write_text(file.read_text() + "called ")
        return x * 2

    with pytest.raises(UnsupportedInGraphError, match="on each call"):
        d2s.to_static(f, full_graph=True)(PLUS)
    assert file.read_text() == ""
    static = d2s.to_static(f, full_graph=False)
    with pytest.warns(BreakWarning):
        static(PLUS)
    static(PLUS)
    static(PLUS)
    assert file.read_text() == "called called called "


def test_a_list_that_is_only_filled_grows_on_every_run() -> None:
    """F3: of one program, whatever the list holds by then."""
    calls: list[Any] = []

    def f(x):
        calls.append(1)
        calls.append(x * 2)
        return x

    static = d2s.to_static(f)
    for _ in range(3):
        static(PLUS)
    assert calls[::2] == [1, 1, 1]
    assert [each.tolist() for each in calls[1::2]] == [[2.0, 4.0]] * 3
    assert len(static.programs) == 1


@pytest.mark.row(99)
def test_dropout_in_train_and_eval() -> None:
    """F5: separate programs; a seed gives a mask again."""
    layer = d2s.to_static(paddle.nn.Dropout(0.5))
    x = paddle.ones([100])
    paddle.seed(3)
    first = layer(x).tolist()
    assert 0.0 in first
    assert layer(x).tolist() != first
    paddle.seed(3)
    assert layer(x).tolist() == first
    layer.eval()
    assert layer(x).tolist() == x.tolist()
    assert len(layer.forward.programs) == 2


@pytest.mark.row(127)
def test_leaving_a_value_in_an_object_does_not_break_later_calls() -> None:
    """F3: an object of the user's that is no layer."""

    class Box:
        def __init__(self) -> None:
            self.h = None

    box = Box()

    def f(x):
        box.h = x * 2
        return box.h + 1

    static = d2s.to_static(f)
    for x in (PLUS, MINUS):
        assert static(x).tolist() == (x * 2 + 1).tolist()
        assert box.h.tolist() == (x * 2).tolist()


def test_two_equal_effects_are_two(capfd) -> None:
    """F1: Paddle merges no host operators, and drops none whose output nobody reads."""

    def f(x):
        print("same", x)
        print("same", x)
        return x

    same_text(f, capfd, PLUS, MINUS)


class _RangeError(ValueError):
    def __init__(self, *, low, found):
        super().__init__(f"it is below {low}")
        self.low = low
        self.found = found


class _SlottedError(OSError):
    __slots__ = ("place",)

    def __init__(self, place, code):
        super().__init__(code, "text", "file")
        self.place = place


@pytest.mark.row(59)
def test_raise_of_a_class_with_its_own_init() -> None:
    """F1: attributes, notes, cause and what C keeps; ``__init__`` is not called again."""

    def f(x):
        if x.sum() < -2:
            raise _RangeError(low=3, found=x.sum()) from KeyError("cause")
        if x.sum() < 0:
            raise _SlottedError("here", 2)
        return x

    assert_same(f, PLUS, tensor(-1.0, -0.5))
    static = d2s.to_static(f)
    for _ in range(2):
        with pytest.raises(_RangeError) as caught:
            static(MINUS)
        error = caught.value
        assert (error.low, float(error.found)) == (3, -3.0)
        assert type(error.__cause__) is KeyError
        assert error.__cause__.args == ("cause",)
        with pytest.raises(_SlottedError) as slotted:
            static(tensor(-1.0, -0.5))
        assert (slotted.value.place, slotted.value.errno, slotted.value.filename) == (
            "here", 2, "file",
        )  # fmt: skip


@pytest.mark.row(62)
def test_text_kept_and_joined(capfd) -> None:
    """F1: ``%``, ``format``, ``join``, methods of text; out of a branch, too."""

    def f(x):
        total = x.sum()
        title = "no title"
        if total > 0:
            title = f"total {float(total):.1f}"
        parts = [f"{x[i].item():.2f}" for i in range(2)]
        print("%s and %.2f" % (total, total), "%d%%" % int(total))  # noqa: UP031
        print("{:>8.3f}|{!r}".format(float(total), total))  # noqa: UP032
        print(title + "!", title.upper(), ", ".join(parts).ljust(20) + "|")
        return x

    same_text(f, capfd, PLUS, MINUS)


@pytest.mark.row(6)
def test_text_of_constants_that_a_tensor_chooses() -> None:
    """F1, B2: such text is one of several constants: it can be returned and compared."""

    def f(x):
        kind = "falling"
        if x[1] >= x[0]:
            kind = "rising"
        text = f"the series is {kind}"
        other = "%s: %s" % ("kind", kind)  # noqa: UP031
        return x * (2 if text == "the series is rising" else 3), text, other

    assert_same(f, PLUS, MINUS)


@pytest.mark.row(71, 72)
def test_values_for_the_host_in_print(capfd) -> None:
    """F1, E5: ``tolist()`` and ``numpy()`` that are only printed."""

    def f(x):
        print("x", x.tolist(), x.detach().numpy().shape, x.numpy()[0])
        if x.sum() > 1:
            print(f"best {x.argmax().tolist()} of {x.numpy()}")
        return x

    same_text(f, capfd, PLUS, MINUS)


def test_values_for_the_host_elsewhere() -> None:
    """E5: what hashes them is refused, at its line."""

    def f(x):
        values = x.tolist()
        return x * hash(values[0])

    with pytest.raises(NotStaticError) as caught:
        d2s.to_static(f)(PLUS)
    assert caught.value.line == f.__code__.co_firstlineno + 2


def test_text_needed_at_capture_is_refused() -> None:
    """F1: D2S208, rather than a key that is wrong."""

    def f(x):
        text = f"{x.sum()}"
        return {"3.0": x}.get(text, -x)

    with pytest.raises(NotStaticError):
        d2s.to_static(f)(PLUS)


@pytest.mark.row(62)
def test_print_to_the_stream_of_the_run(monkeypatch) -> None:
    """F1: ``file=sys.stdout`` is looked up on each run."""

    def f(x):
        print("sum", x.sum().item(), file=sys.stdout)
        return x

    static = d2s.to_static(f)
    for number in range(3):
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            static(PLUS + number)
        assert stream.getvalue() == f"sum {3.0 + 2 * number}\n"


@pytest.mark.row(109)
def test_failing_operation_in_a_branch_names_the_line() -> None:
    """A failure of Paddle inside of a branch or loop points at the user's line."""

    def f(x, index):
        y = x * 2
        if x.sum() > 0:
            y = y + 1
            y = paddle.gather(y, index)
        return y

    static = d2s.to_static(f)
    with pytest.raises(Exception, match="Index") as caught:
        static(PLUS, paddle.to_tensor([9, 9]))
    line = f.__code__.co_firstlineno + 4
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == line
    if sys.version_info >= (3, 11):
        assert f"{__file__}:{line}" in "".join(caught.value.__notes__)


@pytest.mark.row(107)
def test_breakpoint_stops_at_the_users_line(monkeypatch) -> None:
    """F2: ``breakpoint()`` sees the frame of the user."""
    seen = []

    def hook() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno))

    monkeypatch.setattr(sys, "breakpointhook", hook)

    def f(x):
        if x.sum() > 0:
            breakpoint()
            x = x + 1
        breakpoint()
        return x

    d2s.to_static(f)(PLUS)
    first = f.__code__.co_firstlineno
    assert seen == [(__file__, first + 2), (__file__, first + 4)]


def test_print_before_an_exception_that_is_always_raised(capfd) -> None:
    """F1: each run prints first."""

    def f(x):
        print("sum", x.sum())
        raise ValueError("always")

    def quiet(function):
        def call(x):
            with pytest.raises(ValueError, match="always"):
                function(x)

        return call

    want = printed(quiet(f), capfd, PLUS, MINUS)
    assert want
    static = d2s.to_static(f)
    assert printed(quiet(static), capfd, PLUS, MINUS) == want
    assert len(static.programs) == 1


def drawn(function: Callable[..., Any]) -> list[Any]:
    """Results of some calls after the generators were seeded, and what they give next."""
    random.seed(3)
    np.random.seed(4)
    found: list[Any] = []
    for given in (PLUS, MINUS, PLUS, PLUS, MINUS, PLUS):
        try:
            found.append([str(item) for item in function(given)])
        except ValueError as error:
            found.append(str(error))
    return [*found, random.random(), np.random.rand()]


def test_random_numbers_of_python_and_numpy() -> None:
    """F2: drawn on every run, in the order of the calls, with dygraph's numbers."""

    def f(x):
        first = random.gauss(0, 1)
        if x.min() < 0:
            raise ValueError("nothing more is drawn")
        second = np.random.beta(0.4, 0.4)
        third = random.randint(1, 6)
        y = x * first + second if random.random() < 0.5 else x - third
        return y, third, np.random.randint(0, 50), random.gauss(0, 1), random.uniform(-1, 1)

    static = d2s.to_static(f)
    assert drawn(static) == drawn(f)
    assert len(static.programs) == 1


def test_capture_draws_nothing() -> None:
    """F2: the first run has the numbers that dygraph has."""

    def f(x):
        return x * random.random()

    random.seed(7)
    want = f(PLUS).tolist()
    random.seed(7)
    assert d2s.to_static(f)(PLUS).tolist() == pytest.approx(want)


def tensor_bound(x):
    return x * random.uniform(0, x.sum())


def state_of_the_generator(x):
    random.setstate(random.getstate())
    return x


def some_bytes(x):
    return x * random.randbytes(1)[0] if x.sum() > 0 else x


@pytest.mark.parametrize("function", [tensor_bound, state_of_the_generator, some_bytes])
def test_random_numbers_that_a_program_would_repeat(function: Any) -> None:
    """F5: refused, where a run cannot draw them."""
    with pytest.raises(UnsupportedInGraphError, match="repeated on every run"):
        d2s.to_static(function)(PLUS)


def test_saved_programs_draw_nothing(tmp_path) -> None:
    """F2: a saved program has no Python to draw with."""

    def f(x):
        return x * random.random()

    static = d2s.to_static(f, input_spec=[paddle.static.InputSpec([2])])
    assert static(PLUS).shape == [2]
    with pytest.raises(UnsupportedInGraphError, match="repeated on every run"):
        paddle.jit.save(static, str(tmp_path / "model"))


def test_items_of_different_shapes_in_a_static_loop() -> None:
    """D1: what only the run finds out has a code, too."""

    def f(x, count):
        parts = []
        for i in range(count):
            parts.append(x[: i + 1])
        return paddle.concat(parts)

    with pytest.raises(ContainerInGraphError, match="different shapes") as caught:
        d2s.to_static(f)(PLUS, scalar(2))
    line = f.__code__.co_firstlineno + 3
    assert str(caught.value).startswith(f"{__file__}:{line}: ")


@pytest.mark.parametrize(
    ("empty", "puts", "taken"),
    [
        ("{}", "parts[k] = x[:k]", "parts[int(sizes[0])]"),
        ("[]", "parts.insert(0, x[:k])", "parts[0]"),
        ("[]", "parts = [x[:k], *parts]", "parts[1]"),
    ],
)
def test_rows_of_different_shapes(empty: str, puts: str, taken: str) -> None:
    """D1, D3, H1: one program is refused with the line, where Paddle fails in joining the rows."""
    f = function_of(f"""
def f(x, sizes):
    parts, i = {empty}, 0
    while i < sizes.max():
        k = int(sizes[i])
        {puts}
        i += 1
    return {taken}.sum(), len(parts)
""")
    given = tensor(1.0, 2.0, 3.0), paddle.to_tensor([2, 1])
    with pytest.raises(ContainerInGraphError, match="different shapes") as caught:
        d2s.to_static(f, full_graph=True)(*given)
    assert ":5: " in str(caught.value)
    assert_same(f, given, static=d2s.to_static(f, full_graph=False), grad=False)


ROWS = """
def f(x, n):
    rows = []
    i = paddle.zeros([], "int64")
    {before}
    while i < n:
        {inside}
        rows.append(x[: i + 1])
        i = i + 1
    return [row.sum() for row in rows]
"""


@pytest.mark.parametrize(
    "parts",
    [
        {"before": "pass", "inside": "if x.sum() > 100:\n            print(x)"},
        {"before": "x = x * random.random()", "inside": "pass"},
        {"before": "print(n, x)", "inside": "print(i)"},
    ],
    ids=["a print that did not come", "a number drawn before", "prints"],
)
def test_a_run_that_is_refused_before_anything_has_happened(
    parts: dict[str, str], capfd: Any
) -> None:
    """H1, F1: dygraph does such a call, from its beginning, with the same numbers drawn."""
    f = function_of(ROWS.format(**parts), random=random)
    static = d2s.to_static(f, full_graph=False)
    for scale in (1.0, 1000.0):  # the second prints
        found = []
        for function in (f, static):
            random.seed(5)
            values = [row.item() for row in function(tensor(1.0, 2.0, 3.0) * scale, scalar(3))]
            found.append((values, random.random(), capfd.readouterr().out))
        assert found[0] == found[1]


def test_a_run_that_is_refused_after_something_has_happened() -> None:
    """H1, F1: that call is refused, as it would happen twice; those after it are right."""
    seen: list[float] = []
    note = d2s.host(lambda n: seen.append(n.item()))
    f = function_of(ROWS.format(before="note(n)", inside="pass"), note=note)
    static = d2s.to_static(f, full_graph=False)
    given = tensor(1.0, 2.0, 3.0), scalar(3)
    with pytest.raises(ContainerInGraphError, match="different shapes"):
        static(*given)
    assert seen == [3]
    assert [row.item() for row in static(*given)] == [1.0, 3.0, 6.0]
    assert seen == [3, 3]


def test_tensors_of_different_shapes_beside_a_list() -> None:
    """F1: what the function joins itself raises what Paddle raises."""

    def f(x, sizes):
        parts, i = [], 0
        while i < sizes.max():
            parts.insert(0, x[:2])
            i += 1
        return paddle.concat([x[: sizes[0]].unsqueeze(0), x[: sizes[1]].unsqueeze(0)]), parts

    with pytest.raises(ValueError, match="expected to be equal"):
        d2s.to_static(f, full_graph=True)(tensor(1.0, 2.0, 3.0), paddle.to_tensor([1, 2]))
