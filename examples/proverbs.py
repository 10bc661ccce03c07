"""How the tiny decoder learns a few proverbs, letter by letter."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

import d2s
from examples.letters import END, LETTERS, LINES, NOTHING, numbers
from examples.tiny_decoder import Decoder


def lessons():
    """What is read, and what should come next: the lines, padded."""
    longest = max(map(len, LINES)) + 1
    rows = [[*numbers(line), END] for line in LINES]
    ids = paddle.to_tensor([row + [NOTHING] * (longest - len(row)) for row in rows])
    return ids[:, :-1], ids[:, 1:]


def train(steps=80, seed=3):
    """A decoder that knows the lines, and its last loss."""
    paddle.seed(seed)
    model = Decoder(words=len(LETTERS), end=END)
    adam = paddle.optimizer.Adam(3e-3, parameters=model.parameters())

    @d2s.to_static
    def step(ids, following):
        scores, _ = model(ids)
        loss = F.cross_entropy(scores, following, ignore_index=NOTHING)
        loss.backward()
        adam.step()
        adam.clear_grad()
        return loss

    ids, following = lessons()
    for _ in range(steps):
        loss = step(ids, following)
    model.eval()
    return model, float(loss)
