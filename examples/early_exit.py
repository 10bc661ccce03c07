"""A network that stops thinking when it is sure: easy inputs leave after few layers.

python examples/early_exit.py
"""

from __future__ import annotations

import time

import paddle
from paddle import nn
from paddle.nn import functional as F

import d2s


class EarlyExit(nn.Layer):
    """Blocks of layers, each with a head of its own."""

    def __init__(self, inputs=16, width=128, kinds=4, depth=8):
        super().__init__()
        self.stem = nn.Linear(inputs, width)
        self.blocks = nn.LayerList(
            [
                nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
                for _ in range(depth)
            ]
        )
        self.norms = nn.LayerList([nn.LayerNorm(width) for _ in range(depth)])
        self.heads = nn.LayerList([nn.Linear(width, kinds) for _ in range(depth)])

    @d2s.to_static
    def forward(self, x, sure: float = 0.9):
        """The probabilities of the first head that is sure of the whole batch, and its number."""
        x = self.stem(x)
        for number, (block, norm, head) in enumerate(
            zip(self.blocks, self.norms, self.heads, strict=True), 1
        ):
            x = x + block(norm(x))
            kinds = F.softmax(head(x))
            if kinds.max(-1).min() > sure:
                return kinds, number
        return kinds, len(self.blocks)

    @d2s.to_static
    def loss(self, x, kind):
        """Every head learns."""
        total = 0.0
        x = self.stem(x)
        for block, norm, head in zip(self.blocks, self.norms, self.heads, strict=True):
            x = x + block(norm(x))
            total = total + F.cross_entropy(head(x), kind)
        return total / len(self.blocks)


def points(count, noise, seed):
    """Points around one of four corners; far or near, which is what makes them easy or hard."""
    paddle.seed(seed)
    kind = paddle.randint(0, 4, [count])
    corners = paddle.eye(16)[:4] * 2
    return corners[kind] + noise * paddle.randn([count, 16]), kind


def main(steps=60):
    """Learn, and look at how deep inputs go; the losses and the exits."""
    paddle.seed(5)
    model = EarlyExit()
    adam = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
    losses = []
    for step in range(steps):
        loss = model.loss(*points(64, 0.8, step))
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    model.eval()
    exits = []
    with paddle.no_grad():
        for noise in (0.1, 0.5, 1.0, 1.5):
            for seed in range(3):
                x, _ = points(1, noise, 100 + seed)
                _, number = model(x, 0.95)
                exits.append(int(number))
        print("layers used, from easy to hard:", exits)
        x, _ = points(1, 0.1, 100)
        for _ in range(3):
            model(x, 0.95)
        start = time.perf_counter()
        for _ in range(200):
            model(x, 0.95)
        print(f"an easy input takes {(time.perf_counter() - start) / 200 * 1e3:.2f} ms")
    return losses, exits


if __name__ == "__main__":
    main()
