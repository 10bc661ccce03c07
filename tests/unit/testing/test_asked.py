"""Programs of which little can be asked; refusals, spies, inputs."""

from __future__ import annotations

from typing import Any

import paddle
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from paddle.static import InputSpec

from d2s.errors import NoInputsError, PassError
from d2s.testing import Program, Property, inputs_of, judge
from d2s.testing.properties.spies import Spy
from d2s.testing.worker import property_named


def program(body: str, *calls: Any, parameters: tuple[str, ...] = ("x",)) -> Program:
    head = f"def f({', '.join(parameters)}):\n"
    text = "import paddle\n\n\n" + head + "".join(f"    {line}\n" for line in body.splitlines())
    return Program(text, parameters, tuple(calls))


PLUS, MINUS = ([2.0, 1.0],), ([-3.0, 1.0],)


TRIED = {
    "a call that raises": ("gradients are slopes", "if x.sum() < 0:\n    raise ValueError('no')\n"
                           "return x * x", "right"),
    "a kink": ("gradients are slopes", "return paddle.abs(x - 1.0)", "right"),
    "nothing floating": ("gradients are slopes", "return x.shape", "right"),
    "no gradient": ("gradients are slopes", "return paddle.floor(x.detach() * 2.5)", "right"),
    "no program, no slope": (
        "gradients are slopes", "return x * memoryview(x.numpy())[0]", "D2S208",
    ),
    "no program, no lines": (
        "no Python on later calls", "return x * memoryview(x.numpy())[0]", "D2S208",
    ),
    "later calls that raise": ("no Python on later calls", "if x.sum() > 0:\n"
                               "    raise ValueError('no')\nreturn x * x", "right"),
    "nothing to save": ("saved and loaded", "if x.sum() > 0:\n    raise ValueError('no')\n"
                        "return x * x", "right"),
    "a number that varies": ("saved and loaded", "k = 0\nwhile x.sum() > 0:\n    x = x - 1\n"
                             "    k = k + 1\nreturn x, k, 3", "right"),
}  # fmt: skip


@pytest.mark.parametrize("case", TRIED)
def test_programs_of_which_little_can_be_asked(case: str) -> None:
    """A call without a result, or a result without a slope, is no find; a refusal is counted."""
    name, body, expected = TRIED[case]
    verdict = judge(property_named(name), program(body, PLUS, MINUS))
    assert (verdict.cause or verdict.kind) == expected, verdict.text
    assert verdict.kind != "wrong"


def test_an_error_of_ours_is_no_refusal() -> None:
    """D2S9xx says that d2s itself is wrong, and so does the verdict."""

    def fails(program: Program) -> None:
        raise PassError("a pass left a broken tree")

    verdict = judge(Property("fails", "A5", fails), program("return x", PLUS))
    assert (verdict.kind, verdict.cause) == ("wrong", "D2S901")


def test_a_spy_is_asked_for_a_whole_number() -> None:
    """A1: ``int`` is noted like every other question."""
    log: list[str] = []
    assert int(Spy(3.5, log)) == 3
    assert log == ["int(3.5)"]


class Called:
    def __call__(self, x: paddle.Tensor, k: int):
        return x * k


def unresolved(x: paddle.Tensor, y: NotThere.Tensor, k=3):  # noqa: F821
    return x


def unknown(x: paddle.Tensor, k: NotThere.Number):  # noqa: F821
    return x


def structured(pair, items):
    return pair[0] + items[0]


def test_inputs_of_objects_and_of_annotations_that_name_nothing() -> None:
    """A callable object has those of its ``__call__``; a text that ends in Tensor is one."""
    specs = [
        (InputSpec([2], "float32"), InputSpec([None], "int64")),
        [InputSpec([3], "float32"), 7],
    ]
    found: dict[str, list[Any]] = {"object": [], "texts": [], "specs": []}

    @settings(
        max_examples=3, phases=[Phase.generate], database=None,
        suppress_health_check=list(HealthCheck), deadline=None,
    )  # fmt: skip
    @given(inputs_of(Called()), inputs_of(unresolved), inputs_of(structured, specs))
    def each(one: Any, two: Any, three: Any) -> None:
        found["object"].append(one)
        found["texts"].append(two)
        found["specs"].append(three)

    each()
    with pytest.raises(NoInputsError, match=r"NotThere\.Number"):
        inputs_of(unknown)
    for call in found["object"]:
        assert isinstance(call["x"], paddle.Tensor)
        assert isinstance(call["k"], int)
    for call in found["texts"]:
        assert sorted(call) == ["x", "y"]
        assert all(isinstance(value, paddle.Tensor) for value in call.values())
    for call in found["specs"]:
        assert [type(value) for value in (call["pair"], call["items"])] == [tuple, list]
        assert call["pair"][0].shape == [2]
        assert call["pair"][1].dtype == paddle.int64
        assert call["items"][1] == 7
