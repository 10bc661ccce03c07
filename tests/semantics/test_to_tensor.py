"""``paddle.to_tensor`` of tensors: a copy, to which no gradient comes back (python.making)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

BODIES = """
paddle.to_tensor(x) * 2 + x
paddle.to_tensor(x * 3) * x
paddle.to_tensor(x, stop_gradient=False) * 2 + x
paddle.to_tensor(x, dtype="float64") + 0.1
paddle.to_tensor(x, "int64")
paddle.tensor(x) * 2 + x
paddle.tensor(x, requires_grad=True) * 2 + x
paddle.as_tensor(x) * 2 + x
paddle.asarray(x, dtype="float64") * 2 + x.astype("float64")
x.data * 2 + x
x.detach() * 2 + x
paddle.to_tensor([x.sum(), 0.1])
paddle.to_tensor([x.sum(), 1])
paddle.to_tensor([x.sum(), x.mean()]) * x
paddle.to_tensor([x.sum(), 0.1], dtype="float64")
paddle.to_tensor([[x.sum(), 1.0], [2.0, 3.0]])
paddle.to_tensor([[x[0], 1], [2, x[1]]])
paddle.to_tensor((x, x)) + x
paddle.to_tensor([x.argmax(), 7])
paddle.to_tensor([x.argmax(), x.sum()])
paddle.to_tensor(float(x.sum())) * x
paddle.to_tensor(int(x.sum())) * 2
paddle.to_tensor([float(x.sum()), 2.0]) * x
paddle.to_tensor([int(x.sum()), 2])
paddle.to_tensor([bool(x.sum() > 1), True])
paddle.to_tensor([float(x.sum()), x.mean()])
paddle.to_tensor([1.0, 2.0]) * x
paddle.to_tensor(2.5) * x
paddle.to_tensor([x.sum(), 1j])
""".strip().splitlines()


def outcome(function: Any, values: list[float]) -> list[Any]:
    """Result and gradient."""
    x = paddle.to_tensor(values, stop_gradient=False)
    result = function(x)
    seen: list[Any] = [result.tolist(), result.dtype, result.shape, result.stop_gradient]
    if not result.stop_gradient:
        result.sum().backward()
    return [*seen, None if x.grad is None else x.grad.tolist()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("body", BODIES)
def test_values_and_gradients(body: str) -> None:
    """B1, D1: dtype, shape, ``stop_gradient`` and gradients are those of dygraph."""
    function = function_of(f"def f(x): return {body}")
    static = d2s.to_static(function)
    for values in ([0.5, 2.0], [-1.25, 3.0], [0.5, 2.0]):
        assert outcome(static, values) == outcome(function, values)


def test_a_copy_is_no_alias() -> None:
    """C1: an item of it that is assigned does not change the tensor."""
    text = """
    def f(x):
        y = paddle.to_tensor(x)
        y[0] = 5.0
        return y, x
    """
    function = function_of(text)
    x = paddle.to_tensor([1.0, 2.0])
    assert [each.tolist() for each in d2s.to_static(function)(x)] == [[5.0, 2.0], [1.0, 2.0]]


def test_of_a_list_that_the_run_makes() -> None:
    """B6: its length is known to the run."""
    text = """
    def f(x, n):
        tensors, numbers = [], []
        for i in range(n):
            tensors.append(x * i)
            numbers.append(float(x[0]) + 0.5)
        return paddle.to_tensor(tensors), paddle.to_tensor(numbers)
    """
    function = function_of(text)
    static = d2s.to_static(function)
    for n in (3, 1, 4):
        given = paddle.to_tensor([0.25, 2.0]), paddle.to_tensor(n)
        for want, got in zip(function(*given), static(*given), strict=True):
            assert (got.tolist(), got.dtype) == (want.tolist(), want.dtype)


def test_of_alternatives() -> None:
    """B2: a branch has chosen what is made a tensor."""
    text = """
    def f(x):
        found = x if x.sum() > 0 else [x.sum(), x.mean()]
        return paddle.to_tensor(found) * 2
    """
    function = function_of(text)
    static = d2s.to_static(function)
    for values in ([0.5, 2.0], [-1.25, -3.0]):
        assert outcome(static, values) == outcome(function, values)


def test_in_dygraph_nothing_is_converted() -> None:
    """A1: outside of a capture Paddle's own function is called."""
    function = d2s.to_static(function_of("def f(x): return paddle.to_tensor(x)"))
    paddle.jit.enable_to_static(False)
    try:
        assert function([1, 2]).tolist() == [1, 2]
    finally:
        paddle.jit.enable_to_static(True)
