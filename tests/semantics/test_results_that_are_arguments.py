"""A2, D1: a result that is an argument, a tensor of the state or another result on some runs is it.

What is done with it behind the call (a change in place, ``is``) is seen in the other one, as in
dygraph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s

INPUTS = [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.2], [0.5, 3.0, 1.0]]


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", paddle.ones([3]))
        self.weight = self.create_parameter([3])
        self.last: Any = None


NET = Net()


def returned_early(x: Any) -> Any:
    if x.sum() > 0:
        return x
    return x * 2


def of_the_state(x: Any) -> Any:
    return NET.kept if x.sum() > 0 else NET.weight


def behind_two_branches(x: Any) -> Any:
    y = x
    if x.sum() < 0:
        y = NET.kept
    return NET.weight if x[0] > 0.7 else y


def another_result(x: Any) -> Any:
    y = x * 2
    z = y
    if x.sum() > 0:
        z = z + 1
    return y, z


def item_of_a_list(x: Any) -> Any:
    found = [x, x * 2]
    if x.sum() > 0:
        found[1] = x
    return found


def assigned(x: Any) -> Any:
    NET.last = x if x.sum() > 0 else x * 2
    return NET.last


def copied(x: Any) -> Any:
    return x.clone() if x.sum() > 0 else x


def chosen_by_an_operation(x: Any) -> Any:
    return paddle.where(x.sum() > 0, x, x)


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        returned_early,
        of_the_state,
        behind_two_branches,
        another_result,
        item_of_a_list,
        assigned,
        copied,
        chosen_by_an_operation,
    ],
)
def test_it_is_the_same_tensor(function: Callable[[Any], Any], stops: bool) -> None:
    """D1: wherever it is known."""

    def called(convert: Any) -> Any:
        seen, run = [], convert(function)
        for numbers in INPUTS:
            x = paddle.to_tensor(numbers, stop_gradient=stops)
            result = run(x)
            found = list(result) if isinstance(result, list | tuple) else [result]
            known = [x, NET.kept, NET.weight, NET.last, *found]
            same = [[other is each for other in known] for each in found]
            seen.append((same, [(each.tolist(), each.stop_gradient) for each in found]))
        return seen

    assert called(lambda f: d2s.to_static(f, full_graph=True)) == called(lambda f: f)


def test_a_change_behind_the_call_is_seen() -> None:
    """D1: in the argument, on the runs on which the result is it."""
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        run, seen = convert(returned_early), []
        for numbers in INPUTS:
            x = paddle.to_tensor(numbers)
            run(x).add_(paddle.ones([3]))
            seen.append(x.tolist())
        assert seen == [[2.0, 3.0, 4.0], pytest.approx([-1.0, 0.5, 0.2]), [1.5, 4.0, 2.0]]


def test_gradients_arrive_at_the_argument() -> None:
    """C7: through a result that is it, and through one that is computed."""
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        run, seen = convert(returned_early), []
        for numbers in INPUTS:
            x = paddle.to_tensor(numbers, stop_gradient=False)
            run(x).sum().backward()
            seen.append(x.grad.tolist())
        assert seen == [[1.0] * 3, [2.0] * 3, [1.0] * 3]
