"""Layers that a function reaches through its closure, with counters and tensors of their own."""

from __future__ import annotations

from typing import Any

import paddle

import d2s


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
