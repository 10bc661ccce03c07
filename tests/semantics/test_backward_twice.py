"""A second backward through one call (rule C7): refused, for Paddle has freed what it needs."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import BackwardTwiceError
from tests.helpers import function_of, tensor

PROGRAMS = {
    "straight": "return x * x, x.sum()",
    "branch": "y = x\n    if x.sum() > 0: y = x * x\n    return y, x.sum()",
    "loop": "i = paddle.zeros([], 'int64')\n    y = x\n    while i < 2:\n        y = y * x\n"
    "        i = i + 1\n    return y, x.sum()",
}


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_refused_and_leaves_the_gradient_alone(body: str, keep: bool) -> None:
    """C7: Paddle would crash, or read what another call has written."""
    f = d2s.to_static(function_of(f"def f(x):\n    {body}"))
    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    first, second = f(x)
    first.sum().backward(retain_graph=keep)
    before = x.grad.tolist()
    with pytest.raises(BackwardTwiceError, match="add the losses up") as caught:
        second.backward()
    assert caught.value.file == __file__
    assert x.grad.tolist() == before


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_two_calls_may_each_go_back_once(body: str) -> None:
    """C7: also when the second call came before the first backward."""
    function = function_of(f"def f(x):\n    {body}")
    found = []
    for f in (function, d2s.to_static(function)):
        x = tensor(1.0, 2.0)
        x.stop_gradient = False
        one, two = f(x), f(x * 3)
        one[0].sum().backward()
        (two[0].sum() + two[1]).backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]
