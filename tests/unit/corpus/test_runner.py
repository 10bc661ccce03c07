"""Show that each comparison of the runner can fail: break one thing, and it is found by name."""

from __future__ import annotations

import dataclasses
import doctest
import itertools
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

import corpus.case
import corpus.facts
import corpus.record
import corpus.support
from corpus.case import (
    Case,
    CaseError,
    UnknownCaseError,
    load,
    load_all,
    parse_docstring,
    paths,
)
from corpus.runner import run_case
from tests.processes import python

Pair = namedtuple("Pair", "a b")
Couple = namedtuple("Couple", "a b")


@dataclasses.dataclass
class Box:
    a: object


def case(build: Callable[[], Any], *arguments: tuple[Any, ...], **settings: Any) -> Case:
    """A case made of a function and its inputs; tensors are made anew for every round."""
    return Case(
        "made", "", Path(__file__), "", (), (1,), build, lambda: _copies(arguments), **settings
    )


def _copies(arguments: tuple[tuple[Any, ...], ...]) -> list[tuple[Any, ...]]:
    return [
        tuple(paddle.to_tensor(a) if isinstance(a, np.ndarray) else a for a in each)
        for each in arguments
    ]


def verdict(of: Case, convert: Callable[..., Any]) -> str:
    return run_case(of, convert).verdict


def same(built: Any, **_: Any) -> Any:
    return built


def instead(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A converter that puts ``fn`` in the place of whatever it is given."""
    return lambda built, **_: fn


X = np.array([1.0, 2.0], dtype="float32")
WITHOUT = {"grad": False}


def every(grad: bool = False) -> list[Any]:
    """The cases; those of models on each run, the others at night.  None is imported here."""
    return [
        pytest.param(name, marks=() if path.parent.name == "models" else pytest.mark.slow)
        for name, path in paths().items()
        if not grad or "\nGRAD = False" not in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("name", every())
def test_a_case_equals_itself(name: str) -> None:
    assert verdict(load(name), same) == "right"


@pytest.mark.parametrize("name", every())
def test_a_case_needs_its_function(name: str) -> None:
    """No case is right when the converter answers None to everything."""
    of = load(name)
    # A layer is called through its class; the runner calls what convert() returns.
    assert verdict(of, instead(lambda *_: None)).startswith("WRONG")


FIRST = {
    "detach_and_clone": "WRONG result[2] is the bool True",
    "grad_inside_double": "failed ValueError: (InvalidArgument) The 0-th input does not appear",
    "grad_inside_two_steps": "failed ValueError: (InvalidArgument) The 0-th input does not appear",
    "no_grad_outside": "WRONG result[1] is the bool True",
    "tensor_hook": "failed RuntimeError: Cannot register hook",
}
"""What differs first in functions that look at gradients themselves."""


@pytest.mark.parametrize("name", every(grad=True))
def test_a_case_needs_its_gradients(name: str) -> None:
    def cut(built: Any, **_: Any) -> Any:
        def call(*arguments: Any) -> Any:
            with paddle.no_grad():
                return built(*arguments)

        return call

    text = verdict(load(name), cut)
    # A printed tensor shows its stop_gradient, so there the text differs first.
    assert text.startswith(FIRST.get(name, ("WRONG gradient of ", "WRONG printed "))), text


def test_every_program_is_plain_dygraph() -> None:
    for each in load_all():
        assert "d2s" not in each.path.read_text(encoding="utf-8"), each.path


def test_a_changed_value_is_wrong() -> None:
    plus = lambda built, **_: lambda x: built(x) + 1
    assert verdict(case(lambda: lambda x: x * 2, (X,)), plus).startswith(
        "WRONG result is 3.0 at [0], should be 2.0 (input 0"
    )


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (1, True, "is the bool True, should be the int 1"),
        (1, 1.0, "is the float 1.0"),
        (1.0, 1.1, "is the float 1.1"),
        ("a", "b", "is the str 'b'"),
        (None, 0, "is the int 0, should be None"),
        ((1, 2), [1, 2], "is list of 2, should be tuple of 2"),
        ((1, 2), (1, 2, 3), "is tuple of 3"),
        ((1, 2), (1, 3), "result[1] is the int 3"),
        ({"a": 1}, {"b": 1}, "result['a'] is missing"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "result['a'] is missing"),
        (Pair(1, 2), (1, 2), "is tuple of 2, should be Pair of 2"),
        (Pair(1, 2), Couple(1, 2), "is Couple of 2"),
        (Box(1), Box(2), "result.a is the int 2"),
        (X, X.tolist(), "is list of 2, should be ndarray"),
        (X, X.astype("float64"), "is ndarray float64"),
        (float("nan"), 1.0, "is the float 1.0, should be the float nan"),
    ],
)
def test_a_changed_python_value_is_wrong(right: object, wrong: object, says: str) -> None:
    of = case(lambda: lambda: right, (), **WITHOUT)
    assert verdict(of, same) == "right"
    text = verdict(of, instead(lambda: wrong))
    assert text.startswith("WRONG")
    assert says in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda t: t.astype("float64"),
            "Tensor paddle.float64 [2], should be Tensor paddle.float32 [2]",
        ),
        (lambda t: t.reshape([2, 1]), "Tensor paddle.float32 [2, 1]"),
        (lambda t: t.numpy(), "is ndarray"),
        (lambda t: t * float("nan"), "is nan"),
    ],
)
def test_a_changed_tensor_is_wrong(change: Callable[[Any], Any], says: str) -> None:
    text = verdict(case(lambda: lambda x: x + 1, (X,), **WITHOUT), instead(lambda x: change(x + 1)))
    assert text.startswith("WRONG")
    assert says in text


def test_integers_have_no_tolerance() -> None:
    big = np.array(2**40)
    of = case(lambda: lambda x: x, (big,), **WITHOUT)
    assert verdict(of, instead(lambda x: x + 1)).startswith("WRONG result")


def test_a_wrong_gradient_of_equal_values_is_wrong() -> None:
    of = case(lambda: lambda x: x * x, (X,))
    assert verdict(of, instead(lambda x: x * x.detach())).startswith(
        "WRONG gradient of arguments[0]"
    )


def test_a_lost_parameter_gradient_is_wrong() -> None:
    def lose(layer: Any, **_: Any) -> Any:
        return lambda x: x @ layer.weight + layer.bias.detach()

    assert verdict(case(lambda: paddle.nn.Linear(2, 2), (X,)), lose).startswith(
        "WRONG gradient of bias"
    )


def test_a_parameter_frozen_at_conversion_is_wrong() -> None:
    def freeze(layer: Any, **_: Any) -> Any:
        frozen = layer.weight.clone().detach()
        return lambda x: x @ (layer.weight - layer.weight.detach() + frozen) + layer.bias

    text = verdict(case(lambda: paddle.nn.Linear(2, 2), (X,)), freeze)
    assert text.startswith("WRONG result")
    assert "round 2" in text


def test_an_argument_that_is_not_changed_is_wrong() -> None:
    def append(parts: list[int]) -> int:
        parts.append(1)
        return 1

    of = Case("made", "", Path(__file__), "", (), (1,), lambda: append, lambda: [([],)], **WITHOUT)
    assert verdict(of, same) == "right"
    assert verdict(of, instead(lambda parts: 1)).startswith(
        "WRONG arguments[0] is list of 0, should be list of 1"
    )


class Counter(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", paddle.zeros([1]))
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.seen.add_(paddle.ones([1]))
        self.calls += 1
        return x * 2


@pytest.mark.parametrize(
    ("broken", "says"), [("seen", "WRONG self.seen"), ("calls", "WRONG self.calls")]
)
def test_lost_state_is_wrong(broken: str, says: str) -> None:
    def lose(layer: Any, **_: Any) -> Any:
        def call(x: Any) -> Any:
            out = layer(x)
            if broken == "seen":
                layer.seen.zero_()
            else:
                layer.calls = 0
            return out

        return call

    of = case(Counter, (X,), state=("calls",))
    assert verdict(of, same) == "right"
    assert verdict(of, lose).startswith(says)


def test_the_mode_reaches_the_layer() -> None:
    def always_train(layer: Any, **_: Any) -> Any:
        def call(x: Any) -> Any:
            layer.train()
            return layer(x)

        return call

    text = verdict(
        case(lambda: paddle.nn.Dropout(0.5), (X,), modes=("train", "eval")), always_train
    )
    assert text.startswith("WRONG")
    assert "eval" in text


def speak(x: Any) -> Any:
    print("text", x)
    return x * 2


def test_lost_print_is_wrong() -> None:
    of = case(lambda: speak, (X,), stdout=True)
    assert verdict(of, same) == "right"
    assert verdict(of, instead(lambda x: x * 2)).startswith("WRONG printed ''")


def test_text_from_below_python_is_seen_in_order() -> None:
    def low(x: Any) -> Any:
        import os

        print("a")
        os.write(1, b"b\n")
        print("c")
        return x * 2

    def high(x: Any) -> Any:
        print("a\nb\nc")
        return x * 2

    of = case(lambda: low, (X,), stdout=True)
    assert verdict(of, instead(high)) == "right"


def refuse(x: Any) -> Any:
    raise ValueError("no")


def refuse_elsewhere(x: Any) -> Any:
    raise ValueError("no")


def answer(error: BaseException) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def test_exceptions_are_compared() -> None:
    fine = lambda x: x * 2 if x.sum() > 0 else refuse(x)
    of = case(lambda: fine, (X,), (-X,), raises={1: ValueError})
    with_ = lambda bad: instead(lambda x: x * 2 if x.sum() > 0 else bad(x))
    assert verdict(of, same) == "right"
    assert verdict(of, instead(lambda x: x * 2)).startswith(
        "WRONG returned, should raise ValueError: no (input 1"
    )
    assert verdict(of, with_(answer(ValueError("yes")))).startswith(
        "WRONG raised ValueError: yes, should raise ValueError: no"
    )
    assert verdict(of, with_(answer(TypeError("no")))).startswith("WRONG raised TypeError: no")
    assert verdict(of, with_(refuse_elsewhere)).startswith("WRONG ValueError came from line")


class Coded(Exception):
    code = "D2S101"


def test_a_refusal_and_a_failure_are_told_apart() -> None:
    of = case(lambda: lambda x: x * 2, (X,))
    for where in (instead(answer(Coded("no"))), answer(Coded("no"))):
        assert verdict(of, where) == "refused D2S101"
    assert verdict(of, instead(answer(KeyError("k")))).startswith("failed KeyError: 'k' (input 0")
    assert verdict(of, answer(KeyError("k"))) == "failed KeyError: 'k' (conversion)"


def test_input_spec_reaches_the_converter() -> None:
    seen: list[Any] = []

    def convert(built: Any, **options: Any) -> Any:
        seen.append(options)
        return built

    run_case(case(lambda: lambda x: x * 2, (X,), input_spec=lambda: ["spec"]), convert)
    run_case(case(lambda: lambda x: x * 2, (X,)), convert)
    assert seen == [{"input_spec": ["spec"]}, {}]


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (case(lambda: refuse, (X,)), "RAISES does not announce"),
        (
            case(lambda: lambda x: x * 2, (X,), raises={0: ValueError}),
            "did not raise the announced ValueError",
        ),
        (case(lambda: lambda x: x.detach(), (X,)), "every gradient is zero"),
        (case(lambda: lambda x: x * 2, (X,), stdout=True), "nothing is printed"),
        (case(lambda: lambda x: x * 2), "inputs() yields nothing"),
    ],
)
def test_a_case_that_proves_nothing_fails(of: Case, says: str) -> None:
    text = verdict(of, same)
    assert text.startswith("failed the case itself")
    assert says in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "docstring"),
        ("A.\n\nrows: 1\n", "'exercises: ...', it has 0"),
        ("A.\n\nexercises: b\n", "'rows: ...', it has 0"),
        ("A.\n\nexercises: b\nrows: x\n", "not 'x'"),
        ("A.\n\nexercises: b\nrows: 1, 999\n", "not '999'"),
    ],
)
def test_a_bad_docstring_is_named(text: str | None, says: str) -> None:
    with pytest.raises(CaseError, match=r"somewhere\.py") as caught:
        parse_docstring(text, Path("somewhere.py"))
    assert says in str(caught.value)


def test_an_unknown_name_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownCaseError, match="did you mean newton"):
        load("newtn")


def test_the_command_line() -> None:
    assert python("-m", "corpus", "newton", "--converter", "none").returncode == 0
    unknown = python("-m", "corpus", "newtn")
    assert unknown.returncode == 2
    assert "corpus: no case is called 'newtn'; did you mean newton?" in unknown.stderr.splitlines()
    bad = python("-m", "corpus", "quicksort_partition", "--converter", "paddle-ast")
    assert bad.returncode == 1
    assert "failed" in bad.stdout


def test_doctests() -> None:
    for module in (corpus.case, corpus.facts, corpus.record, corpus.support):
        assert doctest.testmod(module).failed == 0


def test_rows_are_many() -> None:
    rows = set(itertools.chain.from_iterable(each.rows for each in load_all()))
    assert len(rows) >= 50
