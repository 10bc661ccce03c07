"""In-place methods that have no form of their own in a program (rules E1, B4)."""

from __future__ import annotations

import re

import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of

SQUARE = paddle.arange(9, dtype="float32").reshape([3, 3])


@pytest.mark.parametrize(
    "call",
    [
        "normal_()",
        "uniform_()",
        "exponential_()",
        "bernoulli_(0.5)",
        "cauchy_()",
        "geometric_(0.5)",
        "log_normal_()",
        "cast_('int32')",
        "apply_(lambda v: v + 1)",
        "fill_diagonal_(1.0, wrap=True)",
        "fill_diagonal_(1.0, offset=1)",
        "unsqueeze(0).fill_diagonal_(1.0)",
        "reshape([1, 9]).fill_diagonal_(1.0)",
    ],
)
def test_a_coded_error_names_the_method_and_the_line(call: str) -> None:
    """E1: no wrong numbers, and no drawing of random numbers that dygraph would not draw."""
    function = function_of(f"def f(x):\n    y = x * 1\n    y.{call}\n    return y")
    with pytest.raises(D2SError) as caught:
        d2s.to_static(function)(SQUARE)
    (method,) = re.findall(r"\w+_(?=\()", call)
    assert f"{method}() changes a tensor in place" in str(caught.value)
    assert ":3:" in str(caught.value)


@pytest.mark.parametrize(
    "call", ["fill_diagonal_(1.5)", "zero_()", "fill_(2.0)", "scale_(2.0, 1.0)", "clip_(1, 4)"]
)
def test_a_method_with_a_plain_form(call: str) -> None:
    """B4: the tensor that the name stands for changes."""
    function = function_of(f"def f(x):\n    y = x * 1\n    z = y.{call}\n    return y, z + 1")
    assert_same(function, SQUARE, grad=False)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("trains", [False, True], ids=["reads", "trains"])
@pytest.mark.parametrize(
    "change",
    [
        "v = net.weight.flatten(); v[0] = 0.5",
        "v = net.weight[0]; v.add_(x.sum())",
        "v = net.weight.detach(); v[0] = 0.5",
        "v = net.weight.T\n        if x.sum() > 0: v[0] = 0.5",
        "v = net.weight.flatten(); net.weight.set_value(net.weight * 2)",
        "v = net.weight.detach(); net.weight.scale_(0.5)",
        "v = net.weight[1]; net.weight.add_(x.sum())",
    ],
)
def test_a_parameter_and_a_view_of_it(change: str, *, trains: bool) -> None:
    """B4, F3: refused, as the parameter would be another object, or the view stay as it was."""
    text = (
        "def f(x):\n    loss = net(x).mean()\n"
        f"    {'loss.backward()' if trains else 'pass'}\n    with paddle.no_grad():\n"
        f"        {change.replace('; ', chr(10) + ' ' * 8)}\n    return loss, v.sum(), net(x).sum()"
    )
    calls = [paddle.to_tensor([[1.0, 2.0]]), paddle.to_tensor([[3.0, -1.0]])]
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        paddle.seed(0)
        net = paddle.nn.Linear(2, 2)
        weight = net.weight
        f = convert(function_of(text, net=net, paddle=paddle))
        found.append([[each.numpy().tolist() for each in f(x)] for x in calls])
        assert net.weight is weight
        found[-1].append(weight.numpy().tolist())
    assert found[0] == found[1]
    with pytest.raises(D2SError) as caught:
        d2s.to_static(function_of(text, net=net, paddle=paddle), full_graph=True)(calls[0])
    assert caught.value.code == "D2S304"
    assert net.weight is weight


@pytest.mark.parametrize(
    "change",
    [
        "v = net.weight.detach() * 1; net.weight.set_value(v * 2)",
        "v = net.weight.flatten().clone(); v[0] = 0.5; net.weight.set_value(v.reshape([2, 2]))",
        "net.weight.set_value(net.weight.detach() - 0.1); v = net.weight.detach()",
        "u = net.weight.flatten(); v = u * 2; net.weight.set_value(v.reshape([2, 2]))",
    ],
)
def test_a_parameter_and_copies_of_it(change: str) -> None:
    """B4, F3: what is no view, or is not read again, is in nobody's way."""
    text = (
        "def f(x):\n    with paddle.no_grad():\n"
        f"        {change.replace('; ', chr(10) + ' ' * 8)}\n    return v.sum(), net(x).sum()"
    )
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        paddle.seed(0)
        net = paddle.nn.Linear(2, 2)
        weight = net.weight
        f = convert(function_of(text, net=net, paddle=paddle))
        found.append([[float(each) for each in f(paddle.ones([1, 2]))] for _ in range(3)])
        assert net.weight is weight
    assert found[0] == found[1]
