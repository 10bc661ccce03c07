"""Decoding loops: a transformer writes token by token, greedily, with caches that grow.

``dygraph`` and the converters get ``generate``; ``by hand`` is what people export today: one step
is a program (Paddle AST's), and the loop around it is Python.  Nothing ends the text early, so that
every peer writes as many tokens; the condition is computed and asked all the same.
"""

from __future__ import annotations

import functools

import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec

from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from d2s.bench.peers import Job
from d2s.bench.rounds import Calls
from d2s.bench.work import Prepared, Work

TOKENS = 32
BATCH, PROMPT, WORDS = 2, 8, 512
NEVER = -1
"""The word that would end a text."""

SMALL, REALISTIC = (64, 4, 2), (512, 8, 8)
"""Width, heads, layers."""


class Attention(nn.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape([batch, length, 3, self.heads, width // self.heads])
        return qkv.transpose([2, 0, 3, 1, 4]).unbind(0)

    def mix(self, q, k, v, mask):
        scores = paddle.matmul(q, k, transpose_y=True) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores + mask
        mixed = paddle.matmul(F.softmax(scores), v).transpose([0, 2, 1, 3])
        return self.out(mixed.flatten(2))

    def forward(self, x, cache, mask):
        q, k, v = self.split(x)
        if cache is not None:
            k = paddle.concat([cache[0], k], axis=2)
            v = paddle.concat([cache[1], v], axis=2)
        return self.mix(q, k, v, mask), (k, v)


class BufferAttention(Attention):
    """Keys and values lie in a buffer of the longest length, beside how many of them count."""

    def forward(self, x, cache, mask):
        q, k, v = self.split(x)
        keys, values, places = cache
        keys = paddle.put_along_axis(keys, places, k, axis=2)
        values = paddle.put_along_axis(values, places, v, axis=2)
        return self.mix(q, keys, values, mask), (keys, values, places)


class Block(nn.Layer):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache, mask):
        mixed, cache = self.attention(self.norm1(x), cache, mask)
        x = x + mixed
        return x + self.down(F.gelu(self.up(self.norm2(x)))), cache


class Decoder(nn.Layer):
    def __init__(self, width, heads, layers, tokens=TOKENS, attention=Attention):
        super().__init__()
        self.width, self.heads, self.longest = width, heads, PROMPT + tokens
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(self.longest, width)
        self.blocks = nn.LayerList([Block(width, heads, attention) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS)

    def forward(self, ids, caches):
        start = 0 if caches is None else caches[0][0].shape[2]
        x = self.words(ids) + self.places(paddle.arange(start, start + ids.shape[1]))
        mask = None
        if caches is None:
            mask = paddle.triu(paddle.full([ids.shape[1], ids.shape[1]], -1e9), diagonal=1)
        grown = []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, None if caches is None else caches[i], mask)
            grown.append(cache)
        return self.head(self.norm(x[:, -1])), grown

    def cache_spec(self):
        each = InputSpec([None, self.heads, None, self.width // self.heads], "float32")
        return [(each, each) for _ in self.blocks]

    def generate(self, ids, steps):
        token, caches = ids, None
        for _ in range(steps):
            scores, caches = self(token, caches)
            token = scores.argmax(-1).unsqueeze(1)
            ids = paddle.concat([ids, token], axis=1)
            if (token == NEVER).all():
                break
        return ids


class BufferDecoder(Decoder):
    def __init__(self, width, heads, layers, tokens=TOKENS):
        super().__init__(width, heads, layers, tokens, BufferAttention)

    def forward(self, ids, caches):
        start, caches = caches
        where = start + paddle.arange(ids.shape[1])
        x = self.words(ids) + self.places(where)
        late = paddle.arange(self.longest).unsqueeze(0) > where.unsqueeze(1)
        mask = late.astype("float32") * -1e9
        size = [ids.shape[0], self.heads, ids.shape[1], self.width // self.heads]
        places = where.reshape([1, 1, -1, 1]).expand(size)
        grown = []
        for block, (keys, values) in zip(self.blocks, caches):  # noqa: B905 - Paddle AST knows no `strict`
            x, (keys, values, _) = block(x, (keys, values, places), mask)
            grown.append((keys, values))
        return self.head(self.norm(x[:, -1])), (start + ids.shape[1], grown)

    def cache_spec(self):
        return InputSpec([], "int64"), super().cache_spec()

    def generate(self, ids, steps):
        size = [ids.shape[0], self.heads, self.longest, self.width // self.heads]
        empty = [(paddle.zeros(size), paddle.zeros(size)) for _ in self.blocks]
        token, caches = ids, (paddle.zeros([], "int64"), empty)
        for _ in range(steps):
            scores, caches = self(token, caches)
            token = scores.argmax(-1).unsqueeze(1)
            ids = paddle.concat([ids, token], axis=1)
            if (token == NEVER).all():
                break
        return ids


def work(make, size, tokens=TOKENS) -> Work:
    decoder = make(*size, tokens=tokens)
    decoder.eval()
    return Work(decoder.generate, (prompt(), tokens))


def prompt() -> paddle.Tensor:
    return (paddle.arange(BATCH * PROMPT).reshape([BATCH, PROMPT]) * 37) % WORDS


def one_step(make) -> Calls:
    """The peer that has a program for one step, and the loop in Python."""
    paddle.seed(0)
    given = make()

    def convert(generate):
        decoder = generate.__self__
        forward, spec = decoder.forward, [InputSpec([None, 1], "int64"), decoder.cache_spec()]
        step = paddle.jit.to_static(forward, input_spec=spec, full_graph=True, backend=None)
        decoder.forward = lambda ids, caches: (step if ids.shape[1] == 1 else forward)(ids, caches)
        return generate

    return Calls(Prepared(given, convert), given.mode)


class Generation(Scenario):
    """A scenario whose program by hand is that of one step."""

    def jobs(self) -> dict[str, Job]:
        return super().jobs() | {"by-hand": functools.partial(one_step, self.make)}


SCENARIOS = tuple(
    Generation(
        f"generation-{name}-{kind}",
        f"generate, {TOKENS} tokens, batch of {BATCH}, {size[2]} layers of {size[0]}, {title}",
        functools.partial(work, make, size),
        goals=(goal,),
        limit_s=60.0,
    )
    for name, size, goal in (
        ("small", SMALL, Goal(1 / 1.5, "dygraph")),
        ("large", REALISTIC, Goal(1, "dygraph")),
    )
    for kind, make, title in (
        ("concat", Decoder, "caches by concat"),
        ("buffer", BufferDecoder, "caches in a buffer"),
    )
)
