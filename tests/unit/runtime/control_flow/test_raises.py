"""Exceptions that the run decides: handlers, ``finally``, comprehensions, steps (rules A1, F1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import NotStaticError
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


def certain_behind_a_guard(x: Any, s: Any) -> Any:
    try:
        if s > 0:
            raise ValueError("small")
        return x * int("no number")  # Python raises it, on the runs that come here
    except KeyError:
        return x
    except ValueError as error:
        return x * 2, str(error)


def missing_behind_a_guard(x: Any, s: Any) -> Any:
    table: dict[str, Any] = {}
    try:
        if s > 0:
            raise ValueError("small")
        return table["k"]
    except KeyError:
        return x * 2
    except ValueError:
        return x * 3


def raised_for_the_outer_one(x: Any, s: Any) -> Any:
    y = x
    try:
        try:
            if s > 0:
                raise ValueError("a")
            else:
                raise KeyError("b")
        except TypeError:
            y = x * 5
    except (ValueError, KeyError) as error:
        y = x * 2 + len(str(error))
    return y


def a_handler_that_raises(x: Any, s: Any) -> Any:
    try:
        try:
            if s > 0:
                raise ValueError("a")
            else:
                raise KeyError("b")
        except ValueError:
            y = x * int("no number")
    except KeyError:
        y = x
    return y * 2


def finally_where_every_run_raises(x: Any, s: Any) -> Any:
    y = x
    try:
        try:
            if s > 0:
                y = x * 7
                raise ValueError("a")
            else:
                y = x * 9
                raise KeyError("b")
        finally:
            y = y + 1
    except (ValueError, KeyError):
        y = y * 2
    return y


def an_element_that_raises(x: Any, s: Any) -> Any:
    return [v * int("no number") for v in [x, s] if v.sum() > 5]


@pytest.mark.parametrize(
    "function",
    [
        certain_behind_a_guard,
        missing_behind_a_guard,
        raised_for_the_outer_one,
        a_handler_that_raises,
        finally_where_every_run_raises,
        an_element_that_raises,
    ],
)
def test_the_exception_goes_where_it_goes_in_dygraph(function: Any) -> None:
    """A1: to the handler, through ``finally``, or to the caller."""
    assert_same(function, *SIGNS)


def test_a_refusal_in_a_handler_is_no_exception_of_the_program() -> None:
    """E5: a handler that every run comes to asks for values, as does one that some come to."""

    def f(x, s):
        try:
            if s > 0:
                raise ValueError("a")
            else:
                raise KeyError("b")
        except ValueError:
            y = memoryview(x.numpy())[0]
        return y * 2

    with pytest.raises(NotStaticError, match="memoryview") as error:
        d2s.to_static(f)(*SIGNS[0])
    assert error.value.line == f.__code__.co_firstlineno + 7


def test_a_handler_that_names_no_class_is_gone_past() -> None:
    """A1: Python looks at it only when no handler before it fits."""

    def f(x, s):
        try:
            if s > 0:
                raise ValueError("a")
        except ValueError:
            return x * 5
        except 3:  # type: ignore[misc]  # noqa: B030 - it is what is tested
            return x * 2
        return x

    assert_same(f, *SIGNS)


def test_the_count_of_names_is_wrong_in_a_comprehension_with_a_filter() -> None:
    """C6: too many and too few items are Python's own errors, in its words."""

    def many(x, s):
        return [a * x + b for a, b in [(1, 2), (1, 2, 3)] if a * s > 0]

    def few(x, s):
        return [a * x + b for a, b in [(1, 2), (1,)] if a * s > 0]

    assert_same(many, *SIGNS)
    assert_same(few, *SIGNS)


def test_gather_fails_in_a_step_as_in_dygraph() -> None:
    """F1: the program of a training step is not run again to find where; nothing is changed."""
    layer = paddle.nn.Linear(3, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())

    def f(x, index):
        loss = (layer(x) * paddle.gather(x, index)).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    static = d2s.to_static(f)
    static(X, paddle.to_tensor([1]))
    before = layer.weight.numpy().tolist()
    said = []
    for function in (static, f):
        with pytest.raises(IndexError) as error:
            function(X, paddle.to_tensor([7]))
        said.append(str(error.value).splitlines()[0])
    assert said[0] == said[1]
    assert layer.weight.numpy().tolist() == before


@pytest.mark.parametrize("full", [False, True])
def test_what_paddle_has_raised_is_shown_on_demand(full: bool) -> None:
    """F1: with ``full_traceback`` it is the cause of what dygraph raises."""

    def f(x, index):
        return x * paddle.gather(x, index)

    with d2s.options(full_traceback=full), pytest.raises(IndexError) as error:
        d2s.to_static(f)(X, paddle.to_tensor([7]))
    assert (error.value.__cause__ is not None) is full
