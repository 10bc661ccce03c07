"""Functions of Paddle's whose operations keep a number, where the run decides the number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

import d2s
from d2s.errors import D2SError, HostResultError, NotStaticError
from d2s.runtime.calls import host_functions
from tests.helpers import scalar

X = np.random.RandomState(0).randn(4, 6).astype("float32")

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "histogram": lambda x, n: paddle.histogram(x.abs(), bins=5, min=0, max=float(n)),
    "a method": lambda x, n: x.histogram(bins=int(n), min=-1, max=1),
    "rot90": lambda x, n: paddle.rot90(x, int(n)),
    "leaky_relu": lambda x, n: F.leaky_relu(x, float(n) / 10),
    "softplus": lambda x, n: F.softplus(x, beta=float(n)),
    "elu": lambda x, n: F.elu(x, alpha=float(n)),
    "norm": lambda x, n: paddle.linalg.norm(x, p=float(n)),
    "renorm": lambda x, n: paddle.renorm(x, 2.0, 0, float(n)),
    "softmax": lambda x, n: F.softmax(x, axis=int(n) - 1),
    "max_pool1d": lambda x, n: F.max_pool1d(x.unsqueeze(0), int(n)),
    "tril": lambda x, n: paddle.tril(x, int(n)),
    "label_smooth": lambda x, n: F.label_smooth(x, epsilon=float(n) / 10),
    "smooth_l1_loss": lambda x, n: F.smooth_l1_loss(x, x * 0, delta=float(n)),
    "bincount": lambda x, n: paddle.bincount((x > 0).astype("int64").sum(0), minlength=int(n)),
}


def _called(f: Callable[..., Any], number: float, *, gradient: bool) -> list[Any]:
    x = paddle.to_tensor(X, stop_gradient=not gradient)
    result = f(x, scalar(number))
    found = [result.numpy().tolist(), str(result.dtype), result.stop_gradient]
    if not result.stop_gradient:
        (result**2).sum().backward()
        found.append(x.grad.numpy().tolist())
    return found


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_called_on_each_run(name: str, gradient: bool) -> None:
    """E5: the function is called with the number of the run; its gradient is dygraph's."""
    f = FUNCTIONS[name]
    converted = d2s.to_static(f)
    for number in (1.0, 2.0, 1.0):
        expected = _called(f, number, gradient=gradient)
        assert _called(converted, number, gradient=gradient) == expected
    assert len(converted.programs) == 1


def test_two_results_without_gradients() -> None:
    """E5: several results, of several dtypes."""

    def f(x: Any, k: Any) -> Any:
        values, places = paddle.kthvalue(x.detach(), int(k))
        return values * 2, places

    converted = d2s.to_static(f)
    for k in (1, 3):
        expected = f(paddle.to_tensor(X), scalar(k))
        found = converted(paddle.to_tensor(X), scalar(k))
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_in_a_static_loop() -> None:
    """E5: in each trip, with the number of the trip."""

    def f(x: Any, n: Any) -> Any:
        total, k = paddle.zeros([3]), paddle.zeros([], "int64")
        while k < n:
            k = k + 1
            total = total + paddle.histogram(x, bins=3, min=-int(k), max=int(k)).astype("float32")
        return total

    for n in (1, 3):
        x = paddle.to_tensor(X)
        assert d2s.to_static(f)(x, scalar(n)).tolist() == f(x, scalar(n)).tolist()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: paddle.diagonal(x, offset=int(n)),  # a view: a write would be seen in ``x``
        lambda x, n: F.rrelu(x, 0.1, float(n), training=True),  # draws random numbers
        lambda x, n: paddle.kthvalue(x, int(n))[0],  # one of two results has no gradient
    ],
)
def test_what_stays_refused(f: Callable[..., Any]) -> None:
    """E5: a view, random numbers, and gradients of some of the results are no matter of the run."""
    x = paddle.to_tensor(X, stop_gradient=False)
    with pytest.raises(NotStaticError, match="D2S208"):
        d2s.to_static(f)(x, scalar(1.0))
    expected = f(x, scalar(1.0)).shape
    assert d2s.to_static(f, full_graph=False)(x, scalar(1.0)).shape == expected


def test_another_form_on_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """E5: a result unlike all that were seen at capture is an error of the call, at its line."""
    monkeypatch.setattr(host_functions, "_STAND_INS", (1, 1))
    converted = d2s.to_static(lambda x, n: paddle.diag(x, offset=int(n)))
    assert converted(paddle.to_tensor(X[0]), scalar(-1.0)).shape == [7, 7]
    with pytest.raises(
        HostResultError, match=r"diag\(\) gives a result of shape \[8, 8\]"
    ) as caught:
        converted(paddle.to_tensor(X[0]), scalar(2.0))
    assert caught.value.file == __file__


def test_another_dtype_on_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """E5: so is one of another dtype, as dygraph gives here for no items."""
    monkeypatch.setattr(host_functions, "_SIZES", (2, 3))
    converted = d2s.to_static(lambda x, n: paddle.histogram(x[x > 0], 3, 0, float(n)))
    assert converted(paddle.to_tensor([1.0, -2.0]), scalar(2.0)).tolist() == [0, 1, 0]
    with pytest.raises(HostResultError, match=r"histogram\(\) gives a result of dtype"):
        converted(paddle.to_tensor([-1.0, -2.0]), scalar(2.0))


def test_a_tensor_that_is_too_large_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """E5: nothing is tried with it; the refusal stays."""
    monkeypatch.setattr(host_functions, "_MOST", 8)
    with pytest.raises(NotStaticError, match="D2S208"):
        d2s.to_static(lambda x, n: paddle.trace(x, offset=int(n)))(paddle.to_tensor(X), scalar(1))


def test_saved(tmp_path: Any) -> None:
    """E5: ``save`` refuses it with the line that needs Python."""

    def f(x: Any, n: Any) -> Any:
        return paddle.diag(x[0], offset=int(n))

    specs = [paddle.static.InputSpec([4, 6], "float32"), paddle.static.InputSpec([], "float32")]
    with pytest.raises(D2SError, match="diag"):
        d2s.save(d2s.to_static(f), str(tmp_path / "model"), input_spec=specs)
