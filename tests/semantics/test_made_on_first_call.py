"""Layers, parameters and buffers that a function makes when it is called (rules A1, F3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of

nn: Any = paddle.nn


class Absent(nn.Layer):  # type: ignore[misc]
    """Its layer is ``None`` until the first call."""

    def __init__(self) -> None:
        super().__init__()
        self.fc: Any = None

    def forward(self, x: Any) -> Any:
        if self.fc is None:
            self.fc = nn.Linear(x.shape[-1], 2)
        return self.fc(x)


class Unknown(nn.Layer):  # type: ignore[misc]
    """Its layers are no attributes until the first call; one has buffers of its own."""

    def forward(self, x: Any) -> Any:
        if not hasattr(self, "part"):
            self.part = nn.Sequential(nn.Linear(x.shape[-1], 3), nn.BatchNorm1D(3), nn.ReLU())
        return self.part(x)


class Bare(nn.Layer):  # type: ignore[misc]
    """A parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight: Any = None

    def forward(self, x: Any) -> Any:
        if self.weight is None:
            self.weight = self.create_parameter([x.shape[-1]])
        return x * self.weight


class Built(nn.Layer):  # type: ignore[misc]
    """A method of it makes the layers."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.LayerList()
        self.built = False

    def build(self, size: int) -> None:
        for _ in range(2):
            self.parts.append(nn.Linear(size, size))
        self.add_sublayer("head", nn.Linear(size, 1))
        self.built = True

    def forward(self, x: Any) -> Any:
        if not self.built:
            self.build(x.shape[-1])
        for part in self.parts:
            x = paddle.tanh(part(x))
        return self.head(x)


class Nested(nn.Layer):  # type: ignore[misc]
    """A layer below makes it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Absent()

    def forward(self, x: Any) -> Any:
        return self.inner(x) * 2


def _trained(kind: type, convert: Callable[[Any], Any]) -> list[Any]:
    paddle.seed(5)
    net = kind()
    convert(net)
    data = paddle.randn([4, 6, 3])
    seen: list[Any] = [net(data[0]).numpy(), paddle.rand([2]).numpy()]
    sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    for x in data:
        loss = net(x).square().mean()
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        seen.append(loss.numpy())
    return [*seen, *((name, value.numpy()) for name, value in net.state_dict().items())]


@pytest.mark.parametrize("kind", [Absent, Unknown, Bare, Built, Nested])
def test_what_the_first_call_makes_is_made_once_and_trained(kind: type) -> None:
    """F3: the parameters are the user's, from the user's generator, and are trained."""
    want, got = _trained(kind, lambda net: net), _trained(kind, d2s.to_static)
    assert len(want) == len(got)
    for one, other in zip(want, got, strict=True):
        if isinstance(one, tuple):
            assert one[0] == other[0]
            one, other = one[1], other[1]
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def test_the_calls_after_the_first_are_one_program() -> None:
    """G2: only the call that makes the layer runs in dygraph."""
    net = d2s.to_static(Absent())
    for _ in range(3):
        net(paddle.ones([2, 3]))
    assert [info.runs for info in net.forward.programs] == [2]


def test_one_for_each_size_in_a_dict() -> None:
    """F3: a table of layers grows as in dygraph."""
    names: dict[Any, Any] = {}
    converted = d2s.to_static(
        function_of(
            """
            def f(x):
                size = x.shape[-1]
                if size not in table:
                    table[size] = paddle.nn.Linear(size, 2)
                return table[size](x)
            """,
            table=names,
        )
    )
    for size in (3, 4, 3, 4, 5):
        x = paddle.ones([2, size])
        got = converted(x)
        np.testing.assert_allclose(got.numpy(), names[size](x).numpy(), rtol=1e-6)
    assert sorted(names) == [3, 4, 5]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return paddle.nn.Linear(3, 2)(x)",
        "def f(x):\n    return paddle.nn.Linear(3, x.shape[0])",
        "def f(x):\n    w = paddle.create_parameter([3], 'float32')\n    return x * w",
        "def f(x):\n    last.append(paddle.nn.Linear(3, 2))\n    return x + 1",
    ],
)
def test_what_each_call_makes_is_refused(text: str) -> None:
    """F4: a program would have one for all its runs; the first call says so."""
    converted = d2s.to_static(function_of(text, "f", last=[]))
    with pytest.raises(UnsupportedInGraphError, match="makes a new one on each call"):
        converted(paddle.ones([2, 3]))


def test_parameters_that_each_call_makes_and_drops() -> None:
    """A1: a cell that is made to get the parameters of another layer leaves nothing behind."""

    class Net(nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(4, 5)

        def forward(self, x: Any) -> Any:
            cell = nn.GRUCell(4, 5)
            cell.weight_ih, cell.weight_hh = self.rnn.weight_ih_l0, self.rnn.weight_hh_l0
            cell.bias_ih, cell.bias_hh = self.rnn.bias_ih_l0, self.rnn.bias_hh_l0
            state = paddle.zeros([2, 5])
            for step in range(3):
                _, state = cell(x[:, step], state)
            return state

    net = Net()
    x = paddle.randn([2, 3, 4])
    want = net(x).numpy()
    converted = d2s.to_static(net)
    for _ in range(2):
        np.testing.assert_allclose(converted(x).numpy(), want, rtol=1e-5, atol=1e-6)
    assert len(net.parameters()) == 4


class Rope(nn.Layer):  # type: ignore[misc]
    """Tables that are made anew when a longer text comes."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0
        self.grow(3)

    def grow(self, size: int) -> None:
        self.longest = size
        angles = paddle.arange(size).astype("float32").unsqueeze(1) * 0.1
        self.register_buffer("cos", angles.cos(), persistable=False)
        self.register_buffer("sin", angles.sin())

    def forward(self, x: Any) -> Any:
        if x.shape[0] > self.longest:
            self.grow(x.shape[0])
        return x * self.cos[: x.shape[0]] + self.sin[: x.shape[0]]


class Mean(nn.Layer):  # type: ignore[misc]
    """A buffer that the first call registers and each call renews."""

    def forward(self, x: Any) -> Any:
        if not hasattr(self, "mean"):
            self.register_buffer("mean", paddle.zeros([x.shape[-1]]))
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        return x - self.mean


@pytest.mark.parametrize("kind", [Rope, Mean])
def test_buffers_that_a_call_registers(kind: type) -> None:
    """F3: they are buffers afterwards, persistent or not, and hold what the run has computed."""

    def seen(net: Any) -> list[Any]:
        found: list[Any] = []
        for size in (2, 3, 5, 4, 7):
            found.append(net(paddle.ones([size, 2]) * size).numpy())
            found += [sorted(net.state_dict()), sorted(name for name, _ in net.named_buffers())]
            found += [buffer.numpy() for buffer in net.buffers()]
        return found

    for want, got in zip(seen(kind()), seen(d2s.to_static(kind())), strict=True):
        if isinstance(want, list):
            assert want == got
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
