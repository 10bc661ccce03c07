"""A small language model in plain dygraph: a transformer decoder that writes token by token.

Nothing here knows of d2s.  The caches of keys and values grow by ``concat``, the first step has
none, and the loop ends as soon as every sequence has said its last word.
"""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn import functional as F


class Attention(nn.Layer):
    """Causal self-attention that remembers the keys and values it has seen."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape([batch, length, 3, self.heads, width // self.heads])
        q, k, v = qkv.transpose([2, 0, 3, 1, 4]).unbind(0)
        mask = None
        if cache is not None:
            k = paddle.concat([cache[0], k], axis=2)
            v = paddle.concat([cache[1], v], axis=2)
        else:
            mask = paddle.triu(paddle.full([length, length], -1e9), diagonal=1)
        scores = paddle.matmul(q, k, transpose_y=True) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores + mask
        mixed = paddle.matmul(F.softmax(scores), v)
        mixed = mixed.transpose([0, 2, 1, 3]).reshape([batch, length, width])
        return self.out(mixed), (k, v)


class Block(nn.Layer):
    """Attention and a feed-forward part, each behind a norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache=None):
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.down(F.gelu(self.up(self.norm2(x)))), cache


class Decoder(nn.Layer):
    """A language model with ``generate``."""

    def __init__(self, words=96, width=64, heads=4, layers=2, longest=256, end=1):
        super().__init__()
        self.end = end
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(longest, width)
        self.blocks = nn.LayerList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias_attr=False)

    def forward(self, ids, caches=None):
        """The scores of the next word after each of ``ids``, and the caches for the next call."""
        start = 0 if caches is None else caches[0][0].shape[2]
        places = paddle.arange(start, start + ids.shape[1])
        x = self.words(ids) + self.places(places)
        grown = []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, None if caches is None else caches[i])
            grown.append(cache)
        return self.head(self.norm(x)), grown

    @paddle.no_grad()
    def generate(self, ids, steps=32):
        """Take the best word each time."""
        token, caches = ids, None
        finished = paddle.zeros([ids.shape[0]], dtype="bool")
        for _ in range(steps):
            scores, caches = self(token, caches)
            best = scores[:, -1].argmax(-1)
            best = paddle.where(finished, paddle.full_like(best, self.end), best)
            token = best.unsqueeze(1)
            ids = paddle.concat([ids, token], axis=1)
            finished = finished | (best == self.end)
            if finished.all():
                break
        return ids

    @paddle.no_grad()
    def sample(self, ids, steps=32, temperature=1.0, top_k=8):
        """Draw each word from the ``top_k`` best."""
        token, caches = ids, None
        finished = paddle.zeros([ids.shape[0]], dtype="bool")
        for _ in range(steps):
            scores, caches = self(token, caches)
            best, words = paddle.topk(scores[:, -1] / temperature, top_k)
            drawn = paddle.multinomial(F.softmax(best, axis=-1), 1)
            token = paddle.take_along_axis(words, drawn, axis=1)
            token = paddle.where(finished.unsqueeze(1), paddle.full_like(token, self.end), token)
            ids = paddle.concat([ids, token], axis=1)
            finished = finished | (token.squeeze(1) == self.end)
            if finished.all():
                break
        return ids
