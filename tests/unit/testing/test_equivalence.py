"""``assert_equivalent``: what it takes, what it compares, and what it says."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import CheckError, D2SError, StaticModeError
from d2s.selfcheck import check
from d2s.testing import assert_equivalent, equivalence


def half_or_double(x):
    return x * 2 if x.sum() > 0 else x * 0.5


def wrong_in_programs(x):
    """Stands for a defect: it asks how it is run."""
    y = x * 2
    if not paddle.in_dynamic_mode() and x.shape[0] == 3:
        y = y + 1
    return y


X = paddle.to_tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("inputs", "calls"),
    [
        (X, 1),
        ((X,), 1),
        ({"x": X}, 1),
        ([X, -X], 2),
        ([(X,), {"x": -X}, X * 3], 3),
        ([], 0),
    ],
)
def test_the_forms_of_inputs(inputs, calls: int) -> None:
    assert len(assert_equivalent(half_or_double, inputs)) == calls


def test_a_positional_only_parameter_by_name() -> None:
    def f(x, /, *, k):
        return x * k

    assert_equivalent(f, {"x": X, "k": 2})


def test_gradients_of_plain_tensors_are_compared() -> None:
    """A test that forgets ``stop_gradient = False`` compares gradients all the same."""
    assert X.stop_gradient
    assert "gradients" in assert_equivalent(half_or_double, X)[0].compared
    assert "gradients" not in assert_equivalent(half_or_double, X, grad=False)[0].compared
    assert X.stop_gradient
    assert X.grad is None


def test_a_tensor_that_is_passed_twice_stays_one() -> None:
    def f(x, y):
        return x * 2 if x is y else x

    assert_equivalent(f, (X, X))


def test_a_difference_names_the_line_and_the_call() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_equivalent(wrong_in_programs, [X, paddle.ones([3])])
    error = caught.value
    assert isinstance(error, CheckError)
    assert error.report.differences[0].name == "result"
    assert error.line == wrong_in_programs.__code__.co_firstlineno + 3
    if hasattr(error, "__notes__"):  # Python 3.11
        assert error.__notes__ == ["in call 2 of 2"]


def test_all_calls_go_to_one_converted_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: a program that is used again where it should not be shows."""
    targets = []

    def target_of(function, specs):
        targets.append(check.target_of(function, specs))
        return targets[-1]

    monkeypatch.setattr(equivalence, "target_of", target_of)
    assert_equivalent(half_or_double, [X, -X, X * 2])
    assert [len(target.converted.programs) for target in targets] == [1]


def test_tolerance_and_seed() -> None:
    def f(x):
        return x + (0.0 if paddle.in_dynamic_mode() else 1e-3)

    with pytest.raises(CheckError):
        assert_equivalent(f, X, grad=False)
    with pytest.raises(CheckError):
        assert_equivalent(f, X, grad=False, rtol=1e-6, atol=1e-6)
    assert_equivalent(f, X, grad=False, atol=1e-2)


def test_layers_methods_and_converted_functions() -> None:
    layer = paddle.nn.Linear(2, 2)
    assert "gradients" in assert_equivalent(layer, X)[0].compared
    assert_equivalent(layer.forward, X)
    assert_equivalent(d2s.to_static(half_or_double), [X, -X])


def test_what_d2s_refuses_is_raised_as_it_is() -> None:
    def f(x):
        return memoryview(x.numpy())[0]

    with pytest.raises(D2SError) as caught:
        assert_equivalent(f, X)
    assert caught.value.code == "D2S208"


def test_static_mode_is_refused() -> None:
    paddle.enable_static()
    try:
        with pytest.raises(StaticModeError):
            assert_equivalent(half_or_double, X)
    finally:
        paddle.disable_static()
