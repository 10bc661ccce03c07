"""Layers that a function reaches through its closure, with counters and tensors of their own."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar


class Counting(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("counts", paddle.zeros([2]))
        self.plain = paddle.zeros([2])
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.counts = self.counts * 0.5 + x.sum(0)
        self.plain = self.plain + x.sum(0)
        return x * self.calls


def test_a_counter_beside_buffers() -> None:
    """F3: when the counter becomes an input, the buffers beside it are still state."""

    def run(convert: Any) -> list[Any]:
        layer = Counting()
        step = convert(lambda x: layer(x) * 2)
        seen = []
        for scale in (1.0, 2.0, 3.0, 4.0):
            y = step(paddle.ones([2, 2]) * scale)
            state = layer.counts.tolist(), layer.plain.tolist(), layer.calls
            seen.append((y.tolist(), *state))
        return seen

    assert run(d2s.to_static) == run(lambda function: function)


TABLES = {
    "behind a branch": "if x > 0:\n    self.count = self.count + x\n"
    "return 'count' in self.__dict__",
    "in a branch": "if x > 0:\n    self.count = x\n    return 'count' in vars(self)\nreturn False",
    "in a loop": "found = []\nwhile x < 3:\n    found.append('count' in self.__dict__)\n"
    "    self.count = self.count + x\n    x = x + 1\nreturn found",
    "all buffers": "self.count = x\nreturn len(list(self.buffers()))",
    "buffers by name": "if x > 0:\n    self.count = self.count + x\n"
    "return [name for name, _ in self.named_buffers()]",
    "buffers": "if x > 0:\n    self.count = self.count + x\nreturn 'count' in self._buffers",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_a_layer_out_of_which_an_attribute_moves(name: str) -> None:
    """F3: in which of them it is, no program says; between islands dygraph does."""
    body = "\n".join(f"    {line}" for line in TABLES[name].splitlines())
    forward = function_of(f"def forward(self, x):\n{body}\n")

    def made() -> Any:
        layer = type("Counting", (paddle.nn.Layer,), {"forward": forward})()
        layer.count = 0
        return layer

    with pytest.raises(UnsupportedInGraphError, match="moves from one to the other") as caught:
        d2s.to_static(made(), full_graph=True)(scalar(1.0))
    assert caught.value.code == "D2S205"
    plain, converted = made(), d2s.to_static(made(), full_graph=False)
    for value in (-1.0, 1.0, 2.0):
        assert converted(scalar(value)) == plain(scalar(value))


def test_tables_of_a_layer_with_a_number_of_the_run() -> None:
    """F3: a size that the run decides is a Python number in dygraph, and moves nowhere."""

    class Caching(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.cached: Any = None
            self.scale = 1.0

        def forward(self, x: Any) -> Any:
            rows = x.shape[0]
            if rows != self.cached:
                self.cached = rows
            if rows > 3:
                self.scale = rows * 2.0
            return x * self.cached * self.scale, "cached" in self.__dict__

    plain, layer = Caching(), Caching()
    spec = [paddle.static.InputSpec([None, 4])]
    converted = d2s.to_static(layer.forward, input_spec=spec, full_graph=True)
    for rows in (2, 5, 3):
        x = paddle.ones([rows, 4])
        (found, asked), (expected, kept) = converted(x), plain.forward(x)
        assert found.tolist() == expected.tolist()
        assert asked == kept
        assert (layer.cached, layer.scale) == (plain.cached, plain.scale)
        assert type(layer.cached) is int


@pytest.mark.parametrize("kind", [paddle.nn.GRU, paddle.nn.LSTM, paddle.nn.GRUCell])
def test_a_state_that_is_forgotten_on_some_runs(kind: Any) -> None:
    """F3: what a recurrent layer is given is a tensor of the state, which may be ``None`` again."""
    paddle.seed(3)
    layer = kind(3, 4)
    layer.eval()
    shape = [2, 3] if kind is paddle.nn.GRUCell else [1, 2, 3]

    class Session:
        hidden: Any = None

        def accept(self, x: Any) -> Any:
            out, self.hidden = layer(x, self.hidden)
            if out.mean() > 0:
                self.hidden = None
            return out

    chunks = [paddle.randn(shape) for _ in range(6)]
    seen = []
    for full_graph in (None, True, False):
        session = Session()
        step = session.accept
        if full_graph is not None:
            step = d2s.to_static(step, full_graph=full_graph)
        with paddle.no_grad():
            seen.append([(step(x).tolist(), session.hidden is None) for x in chunks])
    for found in seen[1:]:
        for (want, none), (got, forgotten) in zip(seen[0], found, strict=True):
            assert paddle.allclose(paddle.to_tensor(want), paddle.to_tensor(got), rtol=1e-5)
            assert none == forgotten


class Attended(paddle.nn.Layer):
    """Keeps tensors that were ``None`` before, in another order than they were named."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)
        self.length = self.keys = self.values = None

    def forward(self, x):
        self.values = x * 2
        if x.sum() > 0:
            self.keys = self.linear(self.values)
        else:
            self.keys = self.linear(x)
        self.length = paddle.shape(self.keys)[0]
        return self.keys + 1


def test_buffers_have_the_order_in_which_they_were_set() -> None:
    """F3: that of ``named_buffers``, of ``state_dict``, and of what goes over them."""

    def names(layer, converted):
        return [
            [converted(paddle.ones([2, 2])).shape, [*dict(layer.named_buffers())]] for _ in "ab"
        ]

    plain, layer = Attended(), Attended()
    assert names(layer, d2s.to_static(layer, full_graph=True)) == names(plain, plain)
    assert layer._built is plain._built


def test_a_layer_that_is_made_in_the_program_is_called_there() -> None:
    """A1: Paddle's own notes of its calls are its own."""

    def f(x):
        soft = paddle.nn.Softmax()
        return soft(x) + soft(x * 2)

    assert_same(f, paddle.to_tensor([1.0, 2.0]), static=d2s.to_static(f, full_graph=True))
