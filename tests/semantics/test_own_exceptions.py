"""Exceptions of the user's classes: what their ``__init__`` makes of tensors is made on the run."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, -2.0, 3.0)


class DivergedError(Exception):
    """Formats a tensor into its text, and keeps it."""

    def __init__(self, loss: Any, step: int = 0) -> None:
        super().__init__(f"loss {float(loss):.2f} at {step}")
        self.loss = loss
        self.step = step


class LimitError(ValueError):
    """A tensor decides what it says."""

    def __init__(self, value: Any, *, limit: float) -> None:
        how = "far above" if value > 2 * limit else "above"
        super().__init__(how, limit)
        self.excess = value - limit


class OpenError(DivergedError):
    """One that builds on another."""

    def __init__(self, until: Any) -> None:
        super().__init__(until, step=7)
        self.args = (*self.args, "open")


@pytest.mark.parametrize(
    "make",
    [
        lambda loss: DivergedError(loss, 3),
        lambda loss: LimitError(loss, limit=0.5),
        lambda loss: OpenError(until=loss),
    ],
)
def test_raised(make: Any) -> None:
    """F1: type, text and arguments are those of dygraph, where a tensor decides."""

    def f(x):
        if x.sum() > 0:
            raise make(x.sum())
        return x * 2

    assert_same(f, X, -X, X * 0.3)


def test_caught() -> None:
    """A1: what the handler reads of it."""

    def f(x):
        try:
            if x.sum() > 1:
                raise LimitError(x.sum(), limit=1.0)
            if x.sum() < -1:
                raise DivergedError(x.min(), step=2)
        except LimitError as error:
            return x - error.excess
        except DivergedError as error:
            return x * error.loss + error.step
        return x

    assert_same(f, X, -X, X * 0.1)


def test_out_of_a_loop() -> None:
    """C1, F1: the text has the values of the trip that raises."""

    def f(x, n):
        for step in range(n):
            x = x * 2
            if x.max() > 10:
                raise DivergedError(x.max(), step)
        return x

    assert_same(f, (X, scalar(5)), (X, scalar(1)))


def test_raised_by_a_called_function() -> None:
    """E2, F1: out of methods, with a cause."""

    class Breaker:
        def __init__(self) -> None:
            self.failures = 0

        def check(self, value):
            if value > 2:
                raise OpenError(value - 1)

    def f(x):
        try:
            Breaker().check(x.max())
        except OpenError as error:
            raise LimitError(error.loss, limit=0.25) from error
        return x

    assert_same(f, X, -X * 0.5)


class CarriedError(Exception):
    """Carries a tensor as it is."""

    def __init__(self, found: Any) -> None:
        super().__init__("carried")
        self.found = found


CARRIED = {
    "attribute": "raise CarriedError(y * 2)",
    "argument": "raise ValueError('large', y * 2)",
    "list": "raise ValueError([y, {'a': y * 2}])",
    "cause": "raise ValueError('outer') from CarriedError(y * 2)",
}

RAISES = """
    def g(y):
        if y.sum() > 0:
            {raised}
        return y

    def f(x):
        return g((x * 3).tanh() + x)
"""


def held(error: BaseException) -> Any:
    """The tensor that is computed last."""
    if isinstance(error.__cause__, CarriedError):
        return error.__cause__.found
    if isinstance(error, CarriedError):
        return error.found
    return error.args[-1] if len(error.args) > 1 else error.args[0][1]["a"]


def gradients(function: Any) -> list[Any]:
    """Those that go back through what an exception has carried out."""
    seen = []
    for sign in (1.0, -1.0, 1.0):
        x = tensor(1.0, 0.5) * sign
        x.stop_gradient = False
        try:
            loss = function(x).sum()
        except (CarriedError, ValueError) as error:
            loss = (held(error) * 2).sum()
        loss.backward()
        seen.append(x.grad.numpy().round(4).tolist())
    return seen


@pytest.mark.parametrize("raised", CARRIED.values(), ids=CARRIED)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_a_gradient_through_an_exception(raised: str) -> None:
    """C7: it goes on to the argument by default; one program refuses it, as it would end there."""
    text = RAISES.format(raised=raised)
    function = function_of(text, "f", CarriedError=CarriedError)
    assert gradients(d2s.to_static(function, full_graph=False)) == gradients(function)
    with pytest.raises(UnsupportedInGraphError, match="where it would end"):
        gradients(d2s.to_static(function, full_graph=True))


def test_a_text_of_a_tensor_has_no_gradient() -> None:
    """C7: an exception that only says a number is part of a program, also by default."""
    text = RAISES.format(raised="raise ValueError(f'large {y.sum():.2f}', float(y.mean()))")
    function = d2s.to_static(function_of(text, "f"))
    x = tensor(1.0, 0.5)
    x.stop_gradient = False
    with pytest.raises(ValueError, match="large"):
        function(x)
    assert not function.breaks
