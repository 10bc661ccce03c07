"""What is easily overlooked: refusals, exceptions of the run, setters, lists under iteration."""

from __future__ import annotations

import warnings
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import ContainerInGraphError, InplaceError
from d2s.runtime.host.lowering import lowered
from d2s.runtime.values.tables import noted
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0))]

FILLS = (
    "normal_() uniform_() exponential_() bernoulli_() cauchy_() geometric_(0.5) log_normal_() "
    "random_() cast_('float64') resize_([1]) set_(x)"
).split()


@pytest.mark.parametrize("call", FILLS)
def test_what_has_no_form_without_a_place_is_refused(call: str) -> None:
    """F5: random fills, and what changes the dtype or the size."""
    f = function_of(f"def f(x):\n    y = x * 2\n    y.{call}\n    return y")
    with pytest.raises(InplaceError, match=call.partition("(")[0]):
        d2s.to_static(f)(X)


@pytest.mark.parametrize("call", ["paddle.tanh_(s)", "paddle.nn.functional.relu_(s)"])
@pytest.mark.parametrize("thing", [2.0, None, "text"])
def test_a_function_that_works_in_place_on_what_is_no_tensor(call: str, thing: Any) -> None:
    """A1: it raises what it raises in dygraph."""
    f = function_of(f"def f(x, s):\n    {call}\n    return x")
    with pytest.raises(Exception) as want:  # noqa: PT011 - whatever Paddle raises
        f(X, thing)
    with pytest.raises(type(want.value)):
        d2s.to_static(f)(X, thing)


class Slotted(ValueError):
    __slots__ = ("number",)

    def __init__(self, text: str, number: Any) -> None:
        super().__init__(text)
        self.number = number


@pytest.mark.parametrize("made", ["Slotted('small', x.sum())", "OSError(2, 'gone', 'file')"])
def test_an_exception_of_the_run_has_the_attributes_of_dygraph(made: str) -> None:
    """F1: those that it was given, and no others."""
    f = function_of(
        f"def f(x, s):\n    if s > 0:\n        raise {made}\n    return x", Slotted=Slotted
    )
    caught = []
    for function in (f, d2s.to_static(f)):
        with pytest.raises((ValueError, OSError)) as error:
            function(*SIGNS[0])
        caught.append(error.value)
    want, got = caught
    assert (type(got), str(got), vars(got)) == (type(want), str(want), vars(want))
    for name in ("number", "errno", "filename"):
        assert str(getattr(got, name, None)) == str(getattr(want, name, None))


def test_an_exception_of_the_run_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """F1: it is raised, and nothing is written about it on the way."""
    f = d2s.to_static(
        function_of(
            "def f(x, s):\n    if s > 0:\n        raise ValueError('positive')\n    return x"
        )
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="positive"):
            f(*SIGNS[0])
    written = "".join(capfd.readouterr())
    assert not any(word in written for word in ("positive", "Traceback", "HostStop"))


def test_two_exceptions_with_tensors_at_one_place_keep_apart() -> None:
    """F1: each path raises with the tensor of its own."""
    f = function_of("""
    def f(x, s):
        y = x
        try:
            for i in range(3):
                if s > i:
                    raise ValueError(x * i)
                if s < -i:
                    raise ValueError(x - i)
        except ValueError as error:
            y = error.args
        return y, x
    """)
    assert_same(f, *((X, scalar(s)) for s in (0.0, 1.0, 2.5, -1.0, -3.0)), grad=False)


class Scaled:
    """A property whose setter does not keep what it is given."""

    def __init__(self) -> None:
        self.kept = paddle.zeros([3])

    @property
    def value(self) -> Any:
        return self.kept

    @value.setter
    def value(self, value: Any) -> None:
        self.kept = value * 2


@pytest.mark.parametrize("around", ["if s > 0:", "for i in range(n):"])
def test_a_setter_runs_once_for_each_assignment(around: str) -> None:
    """F3: a branch or loop hands on what the setter assigns, not the property."""
    f = function_of(
        f"""
    def f(x, s, n):
        box = Scaled()
        {around}
            box.value = x + 1
        box.value = box.value + x
        return box.value, box.kept
    """,
        Scaled=Scaled,
    )
    assert_same(f, *((*signs, scalar(n)) for signs in SIGNS for n in (2, 1)), grad=False)


def test_a_setter_is_not_called_by_d2s(capsys: pytest.CaptureFixture[str]) -> None:
    """F3, F4: what it prints is printed for the assignments of the user's code alone."""

    class Talking(Scaled):
        @property
        def value(self) -> Any:
            return self.kept

        @value.setter
        def value(self, value: Any) -> None:
            print("set")
            self.kept = value

    f = function_of(
        """
    def f(x, s):
        box = Talking()
        if s > 0:
            box.value = x + 1
        return box.kept
    """,
        Talking=Talking,
    )
    d2s.to_static(f)(*SIGNS[0])
    assert capsys.readouterr().out == "set\n"


@pytest.mark.parametrize(
    "grows",
    [
        "if s > 0:\n                things.append(x)",
        "for i in range(n):\n                things.append(x)",
    ],
)
def test_a_list_that_grows_under_a_tensor_condition_while_it_is_iterated(grows: str) -> None:
    """D1: how many trips there are, only the run would know."""
    f = function_of(f"""
    def f(x, s, n):
        things = [x, x * 2]
        for thing in things:
            {grows}
        return things
    """)
    with pytest.raises(ContainerInGraphError, match="while it is iterated"):
        d2s.to_static(f)(*SIGNS[0], scalar(2))


@pytest.mark.parametrize("before", ["out = [x]", "out = []", "out = [x]\n            out.pop()"])
def test_a_list_that_is_made_inside_of_a_loop_and_grown_by_another(before: str) -> None:
    """D1: in each trip a new one, and in a branch of it too."""
    f = function_of(f"""
    def f(x, s, n):
        total = x
        for i in range(n):
            {before}
            for j in range(n):
                if s > 0:
                    out.append(x * j)
                    if j > i:
                        out.append(x * i)
                else:
                    out.append(total)
            total = total + len(out) + sum(out)
        return total
    """)
    assert_same(f, *((*signs, scalar(n)) for signs in SIGNS for n in (2, 1, 3)))


def test_a_list_of_a_comprehension_is_called_so_in_messages() -> None:
    """The message names what there is to name."""
    f = function_of(
        """
    def f(x, s):
        return [v for v in [x, -x] if v.sum() > s][:: scalar(2)]
    """,
        scalar=scalar,
    )
    with pytest.raises(ContainerInGraphError, match="'comprehension'"):
        d2s.to_static(f)(*SIGNS[0])


@pytest.mark.parametrize(
    "rows", ["n", "n - 1", "n * 2 - 2", "paddle.squeeze(paddle.shape(x)[:1]) - 1"]
)
def test_the_gradient_of_a_tensor_that_may_have_no_rows(rows: str) -> None:
    """C7, E4: its size is computed from that of the argument."""
    f = function_of(f"""
    def f(x, s):
        n = x.shape[0]
        h = paddle.ones([{rows}, 2])
        for i in range(s):
            if x.sum() > 0:
                h = paddle.tanh(h + x[1:][:1])
            else:
                h = h * x[0]
        return h.sum() + x.sum(), h
    """)
    spec = [InputSpec([None, 2], stop_gradient=False), InputSpec([], "int64")]
    static = d2s.to_static(f, input_spec=spec)
    shapes = [paddle.ones([n, 2]) * sign for n in (3, 2) for sign in (1, -1)]
    assert_same(f, *((x, scalar(2)) for x in shapes), static=static)


def test_what_is_lowered_is_noted_in_a_capture_only() -> None:
    """Outside of one there is no program to be saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowered("print shows the tensors")


def test_an_empty_note_is_no_note() -> None:
    """An exception looks as in dygraph where nothing is known to add."""
    assert not hasattr(noted(ValueError(), ""), "__notes__")
