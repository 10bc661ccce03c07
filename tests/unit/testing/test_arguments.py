"""Inputs that are made up: tensors, and calls from ``InputSpec``, annotations and defaults."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal, Optional

import numpy as np
import paddle
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from paddle.static import InputSpec

import d2s
from d2s.errors import InputSpecError, NoInputsError
from d2s.testing import inputs_of, tensors


def drawn(strategy: st.SearchStrategy[Any], count: int = 60) -> list[Any]:
    found: list[Any] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(value: Any) -> None:
        found.append(value)

    each()
    return found


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"],
)
def test_tensors_of_a_dtype(dtype: str) -> None:
    for tensor in drawn(tensors(dtype, [2, 3]), 20):
        assert str(tensor.dtype) == f"paddle.{dtype}"
        assert tensor.shape == [2, 3]
        assert tensor.stop_gradient is (dtype not in ("float16", "bfloat16", "float32", "float64"))


def test_tensors_are_small_finite_and_vary() -> None:
    found = drawn(tensors(bound=2.0))
    assert all(np.abs(tensor.numpy()).max() <= 2.0 for tensor in found)
    assert len({tuple(tensor.shape) for tensor in found}) > 5
    assert {len(tensor.shape) for tensor in found} == {0, 1, 2, 3}


def test_tensors_with_a_strategy_of_shapes() -> None:
    shapes = st.tuples(st.integers(1, 3), st.just(2))
    assert {tensor.shape[1] for tensor in drawn(tensors("int64", shapes), 20)} == {2}


def test_annotations() -> None:
    def f(
        x: paddle.Tensor,
        y: paddle.Tensor,
        k: int,
        mode: Literal["a", "b"],
        parts: list[paddle.Tensor],
        pair: tuple[int, str],
        rest: tuple[float, ...],
        maybe: Optional[bool],  # noqa: UP045
        other: dict[str, int] | None,
        array: np.ndarray,
        plain=3,
    ):
        return x

    calls = drawn(inputs_of(f), 100)
    for call in calls:
        assert list(call)[:3] == ["x", "y", "k"]
        assert "plain" not in call
        assert call["x"].shape == call["y"].shape == list(call["array"].shape)
        assert isinstance(call["k"], int)
        assert [type(item) for item in call["pair"]] == [int, str]
        assert all(isinstance(item, paddle.Tensor) for item in call["parts"])
    assert {call["mode"] for call in calls} == {"a", "b"}
    assert {call["maybe"] for call in calls} == {None, True, False}
    assert {type(call["other"]) for call in calls} == {dict, type(None)}


def test_an_input_spec_comes_first_and_open_sizes_agree() -> None:
    def f(x: int, y, k):
        return x

    specs = [InputSpec([None, 3], "float32"), {"t": InputSpec([None, -1], "int64")}, 7]
    calls = drawn(inputs_of(f, specs))
    for call in calls:
        assert call["x"].shape[0] == call["y"]["t"].shape[0]
        assert call["x"].shape[1] == 3
        assert str(call["y"]["t"].dtype) == "paddle.int64"
        assert call["k"] == 7
    assert len({call["x"].shape[0] for call in calls}) > 2


def test_input_specs_by_name() -> None:
    def f(x, y):
        return x

    call = drawn(inputs_of(f, [InputSpec([2], "float32", "y"), InputSpec([3], "bool", "x")]), 1)[0]
    assert (call["x"].shape, call["y"].shape) == ([3], [2])


def test_converted_functions_layers_and_methods() -> None:
    class Net(paddle.nn.Layer):
        @d2s.to_static(input_spec=[InputSpec([2, None], "float32")])
        def forward(self, x):
            return x

        def other(self, x: paddle.Tensor):
            return x

    net = Net()
    for target in (net, net.forward):
        assert [list(call) for call in drawn(inputs_of(target), 1)] == [["x"]]
    assert [list(call) for call in drawn(inputs_of(net.other), 1)] == [["x"]]


def test_what_nothing_is_said_about() -> None:
    def f(x):
        return x

    def g(x: object):
        return x

    for function, reason in ((f, "no annotation"), (g, "does not tell")):
        with pytest.raises(NoInputsError, match=reason) as caught:
            inputs_of(function)
        assert caught.value.code == "D2S604"
        assert caught.value.line == function.__code__.co_firstlineno
        assert "x: paddle.Tensor" in caught.value.cure


def test_too_many_specs() -> None:
    def f(x):
        return x

    with pytest.raises(InputSpecError, match="2 entries"):
        inputs_of(f, [InputSpec([2]), InputSpec([2])])


def test_without_hypothesis() -> None:
    """D2S603: the comparison works, a strategy says which package it needs."""
    text = """
import sys
sys.modules["hypothesis"] = None
import paddle, d2s.testing
d2s.testing.assert_equivalent(paddle.nn.Linear(2, 2), paddle.ones([2]))
try:
    d2s.testing.programs
except d2s.D2SError as error:
    print(error.code, isinstance(error, ImportError), error.cure)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["D2S603 True pip install 'd2s[testing]'"], done.stderr
