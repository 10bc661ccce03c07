"""Codes, packings and decoders over sequences, with the bookkeeping that they need."""

import enum
from collections import defaultdict
from dataclasses import dataclass, field
from typing import List

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def arithmetic_coder_with_adaptive_counts(convert):
    """An integer range coder whose model counts as it goes; encoder and decoder stay in step."""

    TOP, HALF, QUARTER = 256, 128, 64

    class Model:
        def __init__(self, symbols, increment=4, limit=60):
            self.counts = paddle.ones([symbols], dtype="int64")
            self.increment, self.limit = increment, limit
            self.rescaled = 0

        def span(self, symbol):
            low = self.counts[:symbol].sum() if symbol > 0 else paddle.to_tensor(0)
            return low, low + self.counts[symbol], self.counts.sum()

        def find(self, value):
            edges = paddle.cumsum(self.counts)
            return int((edges <= value).sum())

        def update(self, symbol):
            self.counts[symbol] += self.increment
            if self.counts.sum() > self.limit:
                self.counts = (self.counts + 1) // 2
                self.rescaled += 1

    class Encoder:
        def __init__(self):
            self.low, self.high = paddle.to_tensor(0), paddle.to_tensor(TOP - 1)
            self.pending = 0
            self.bits: List[int] = []

        def emit(self, bit):
            self.bits.append(bit)
            self.bits.extend([1 - bit] * self.pending)
            self.pending = 0

        def push(self, low, high, total):
            width = self.high - self.low + 1
            self.high = self.low + width * high // total - 1
            self.low = self.low + width * low // total
            while True:
                if self.high < HALF:
                    self.emit(0)
                elif self.low >= HALF:
                    self.emit(1)
                    self.low, self.high = self.low - HALF, self.high - HALF
                elif self.low >= QUARTER and self.high < HALF + QUARTER:
                    self.pending += 1
                    self.low, self.high = self.low - QUARTER, self.high - QUARTER
                else:
                    break
                self.low, self.high = 2 * self.low, 2 * self.high + 1

        def finish(self):
            self.pending += 1
            self.emit(0 if self.low < QUARTER else 1)
            return self.bits

    @convert
    def encode(symbols, alphabet):
        model, encoder = Model(alphabet), Encoder()
        for s in symbols:
            encoder.push(*model.span(int(s)))
            model.update(int(s))
        return encoder.finish(), model.rescaled

    def decode(bits, n, alphabet):
        stream = iter(bits)
        model = Model(alphabet)
        low, high, value = 0, TOP - 1, 0
        for _ in range(8):
            value = 2 * value + next(stream, 0)
        out = []
        while len(out) < n:
            width = high - low + 1
            total = int(model.counts.sum())
            s = model.find(((value - low + 1) * total - 1) // width)
            a, b, _ = (int(v) for v in model.span(s))
            low, high = low + width * a // total, low + width * b // total - 1
            while True:
                if high < HALF:
                    pass
                elif low >= HALF:
                    low, high, value = low - HALF, high - HALF, value - HALF
                elif low >= QUARTER and high < HALF + QUARTER:
                    low, high, value = low - QUARTER, high - QUARTER, value - QUARTER
                else:
                    break
                low, high, value = 2 * low, 2 * high + 1, 2 * value + next(stream, 0)
            out.append(s)
            model.update(s)
        return out

    rng = np.random.RandomState(0)
    for n, alphabet in ((4, 3), (6, 2), (4, 3), (5, 4)):
        data = rng.choice(alphabet, n, p=np.arange(1, alphabet + 1) / sum(range(1, alphabet + 1)))
        bits, rescaled = encode(paddle.to_tensor(data), alphabet)
        yield bits, rescaled
        yield decode([int(b) for b in bits], n, alphabet) == data.tolist()


@program
def lempel_ziv_with_a_window(convert):
    """LZ77: longest match in a window, lazy matching, tokens of literals and copies."""

    @dataclass(frozen=True)
    class Literal:
        value: paddle.Tensor

        def expand(self, out):
            out.append(self.value)

    @dataclass(frozen=True)
    class Copy:
        offset: int
        length: int

        def expand(self, out):
            start = len(out) - self.offset
            for i in range(self.length):
                out.append(out[start + i])

    def longest(data, at, window, most):
        n = data.shape[0]
        best = (0, 0)
        for start in range(max(0, at - window), at):
            length = 0
            while at + length < n and length < most and data[start + length] == data[at + length]:
                length += 1
            if length > best[1]:
                best = (at - start, length)
        return best

    @convert
    def compress(data, window=4, shortest=2, most=6, lazy=False):
        tokens = []
        at = 0
        n = data.shape[0]
        while at < n:
            offset, length = longest(data, at, window, most)
            if lazy and length >= shortest and at + 1 < n:
                _, following = longest(data, at + 1, window, most)
                if following > length:
                    tokens.append(Literal(data[at]))
                    at += 1
                    continue
            if length >= shortest:
                tokens.append(Copy(offset, length))
                at += length
            else:
                tokens.append(Literal(data[at]))
                at += 1
        return tokens

    def expand(tokens):
        out = []
        for token in tokens:
            token.expand(out)
        return out

    for text, lazy in (("abab", False), ("aabaab", True), ("abca", False), ("aaaaa", False)):
        data = paddle.to_tensor([ord(c) for c in text])
        tokens = compress(data, lazy=lazy)
        yield [type(t).__name__ for t in tokens], len(tokens)
        yield "".join(chr(int(c)) for c in expand(tokens)) == text


@program
def suffix_array_by_doubling(convert):
    """Suffixes sorted by doubled ranks, the longest common prefixes, and search by bisection."""

    class SuffixArray:
        def __init__(self, text, order, lcp):
            self.text, self.order, self.lcp = text, order, lcp

        def __len__(self):
            return len(self.order)

        def __getitem__(self, k):
            return self.text[int(self.order[k]) :]

        def longest_repeat(self):
            if len(self) < 2:
                return None
            k = int(self.lcp.argmax())
            n = int(self.lcp[k])
            if n == 0:
                return None
            start = int(self.order[k])
            return self.text[start : start + n]

    @convert
    def build(text):
        n = text.shape[0]
        rank = text.astype("int64")
        width = 1
        rounds = 0
        while True:
            shifted = paddle.full([n], -1, dtype="int64")
            if width < n:
                shifted[: n - width] = rank[width:]
            key = rank * (max(n, 256) + 1) + shifted + 1
            order = paddle.argsort(key, stable=True)
            ordered = key[order]
            fresh = paddle.concat(
                [paddle.zeros([1], dtype="int64"), (ordered[1:] != ordered[:-1]).astype("int64")]
            )
            rank = paddle.scatter(rank, order, paddle.cumsum(fresh))
            rounds += 1
            if rank.max() == n - 1:
                break
            width *= 2
        return order, rank, rounds

    @convert
    def prefixes(text, order, rank):
        n = text.shape[0]
        lcp = paddle.zeros([n], dtype="int64")
        h = 0
        for i in range(n):
            if rank[i] > 0:
                j = order[rank[i] - 1]
                while i + h < n and j + h < n and text[i + h] == text[j + h]:
                    h += 1
                lcp[rank[i]] = h
                if h > 0:
                    h -= 1
            else:
                h = 0
        return lcp

    @convert
    def count(sa, pattern):
        def compare(k, strict):
            suffix = sa[k]
            for a, b in zip(suffix, pattern):
                if a < b:
                    return -1
                if a > b:
                    return 1
            return 0 if suffix.shape[0] >= pattern.shape[0] else -1

        lo, hi = 0, len(sa)
        while lo < hi:
            mid = (lo + hi) // 2
            if compare(mid, True) < 0:
                lo = mid + 1
            else:
                hi = mid
        first = lo
        while lo < len(sa) and compare(lo, False) == 0:
            lo += 1
        return lo - first

    for word, patterns in (
        ("banana", ("an", "x")),
        ("abab", ("ab", "b")),
        ("banana", ("na", "banana")),
    ):
        text = paddle.to_tensor([ord(c) - 96 for c in word])
        order, rank, rounds = build(text)
        lcp = prefixes(text, order, rank)
        yield order, rank, rounds, lcp
        sa = SuffixArray(text, order, lcp)
        yield sa.longest_repeat()
        for p in patterns:
            yield count(sa, paddle.to_tensor([ord(c) - 96 for c in p]))


@program
def sequences_packed_by_best_fit(convert):
    """Documents into rows of fixed length: best fit, splitting, segment ids, masks and losses."""

    @dataclass
    class Row:
        capacity: int
        pieces: list = field(default_factory=list)
        used: int = 0

        @property
        def room(self):
            return self.capacity - self.used

        def add(self, piece):
            if piece.shape[0] > self.room:
                raise OverflowError(f"{piece.shape[0]} into {self.room}")
            self.pieces.append(piece)
            self.used += piece.shape[0]

        def tensors(self, pad):
            ids = paddle.concat([*self.pieces, paddle.full([self.room], pad, dtype="int64")])
            segments = [
                paddle.full([p.shape[0]], i + 1, dtype="int64") for i, p in enumerate(self.pieces)
            ]
            segments.append(paddle.zeros([self.room], dtype="int64"))
            positions = [paddle.arange(p.shape[0]) for p in self.pieces]
            positions.append(paddle.zeros([self.room], dtype="int64"))
            return ids, paddle.concat(segments), paddle.concat(positions)

    class Packer:
        def __init__(self, length, pad=0, split=False):
            self.length, self.pad, self.split = length, pad, split
            self.dropped = 0

        def trim(self, document):
            body = document[document != self.pad]
            if body.shape[0] > self.length:
                if not self.split:
                    self.dropped += 1
                    return []
                return list(paddle.split(body, [self.length, body.shape[0] - self.length]))
            return [body] if body.shape[0] else []

        @convert
        def __call__(self, documents):
            rows = []
            pieces = [p for d in documents for p in self.trim(d)]
            for piece in sorted(pieces, key=len, reverse=True):
                fits = [r for r in rows if r.room >= piece.shape[0]]
                if fits:
                    min(fits, key=lambda r: r.room).add(piece)
                else:
                    rows.append(Row(self.length))
                    rows[-1].add(piece)
            if not rows:
                return None
            ids, segments, positions = map(paddle.stack, zip(*[r.tensors(self.pad) for r in rows]))
            return ids, segments, positions, [r.room for r in rows]

    @convert
    def loss_of(table, ids, segments, positions):
        x = table[ids] + 0.1 * positions.unsqueeze(-1)
        same = (segments.unsqueeze(1) == segments.unsqueeze(2)) & (segments > 0).unsqueeze(1)
        mask = same & paddle.tril(paddle.ones_like(same))
        scores = paddle.where(mask, x @ x.transpose([0, 2, 1]), paddle.to_tensor(-1e9))
        logits = F.softmax(scores) @ x @ table.T
        valid = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] > 0)
        if not valid.any():
            return logits.sum() * 0
        losses = F.cross_entropy(logits[:, :-1], ids[:, 1:], reduction="none").squeeze(-1)
        per = defaultdict(list)
        for s in range(1, int(segments.max()) + 1):
            chosen = valid & (segments[:, 1:] == s)
            if chosen.any():
                per[s].append(losses[chosen].mean())
        return sum(sum(v) for v in per.values()) / len(per)

    rng = np.random.RandomState(4)
    table = paddle.to_tensor(rng.randn(7, 4).astype("float32"), stop_gradient=False)
    loose, strict = Packer(8, split=True), Packer(6)
    for packer, sizes in (
        (loose, (3, 5, 2, 9)),
        (strict, (2, 4, 7, 1)),
        (loose, (8, 1, 1, 6)),
        (strict, (6, 3, 3, 2)),
    ):
        documents = []
        for n in sizes:
            body = rng.randint(1, 7, n)
            documents.append(
                paddle.to_tensor(np.concatenate([body, np.zeros(rng.randint(0, 3), "int64")]))
            )
        ids, segments, positions, room = packer(documents)
        yield ids, segments, positions, room, packer.dropped
        loss = loss_of(table, ids, segments, positions)
        loss.backward()
        yield loss, table.grad
        table.clear_gradient()
    yield strict([paddle.zeros([4], dtype="int64")])
    yield attempt(lambda: Row(2).add(paddle.ones([3])))


@program
def block_sparse_attention_with_global_tokens(convert):
    """BigBird: blocks that see neighbours, global and drawn blocks; empty blocks are skipped."""

    class Pattern:
        def __init__(self, block, window=1, glob=1, drawn=1, seed=0):
            self.block, self.window, self.glob, self.drawn = block, window, glob, drawn
            self.rng = np.random.RandomState(seed)
            self.layouts = {}

        def layout(self, n):
            if n not in self.layouts:
                rows = {}
                for i in range(n):
                    seen = set(range(self.glob))
                    if i < self.glob:
                        seen = set(range(n))
                    seen |= {j for j in range(i - self.window, i + self.window + 1) if 0 <= j < n}
                    rest = sorted(set(range(n)) - seen)
                    for _ in range(min(self.drawn, len(rest))):
                        seen.add(rest.pop(self.rng.randint(len(rest))))
                    rows[i] = sorted(seen)
                self.layouts[n] = rows
            return self.layouts[n]

    class BlockSparse(paddle.nn.Layer):
        def __init__(self, dim, heads, pattern):
            super().__init__()
            self.heads, self.pattern = heads, pattern
            self.qkv = paddle.nn.Linear(dim, 3 * dim)
            self.out = paddle.nn.Linear(dim, dim)
            self.skipped = 0

        def split(self, x):
            b, n, d = x.shape
            return x.reshape([b, n, self.heads, d // self.heads]).transpose([0, 2, 1, 3])

        def forward(self, x, padding=None):
            b, n, d = x.shape
            size = self.pattern.block
            extra = -n % size
            if padding is None:
                padding = paddle.zeros([b, n], dtype="bool")
            if extra:
                x = paddle.concat([x, paddle.zeros([b, extra, d])], axis=1)
                padding = paddle.concat([padding, paddle.ones([b, extra], dtype="bool")], axis=1)
            q, k, v = (self.split(t) for t in self.qkv(x).chunk(3, axis=-1))
            blocks = (n + extra) // size
            outs = []
            for i, seen in self.pattern.layout(blocks).items():
                here = slice(i * size, (i + 1) * size)
                if padding[:, here].all():
                    outs.append(paddle.zeros_like(q[:, :, here]))
                    self.skipped += 1
                    continue
                idx = paddle.concat([paddle.arange(j * size, (j + 1) * size) for j in seen])
                keys, values = k.index_select(idx, axis=2), v.index_select(idx, axis=2)
                scores = q[:, :, here] @ keys.transpose([0, 1, 3, 2]) / (d // self.heads) ** 0.5
                hidden = padding.index_select(idx, axis=1)[:, None, None, :]
                if hidden.any():
                    scores = scores.masked_fill(hidden, -1e9)
                outs.append(F.softmax(scores, axis=-1) @ values)
            y = paddle.concat(outs, axis=2).transpose([0, 2, 1, 3]).reshape([b, n + extra, d])
            return self.out(y[:, :n])

    paddle.seed(7)
    net = convert(BlockSparse(4, 2, Pattern(2)))
    rng = np.random.RandomState(5)
    for b, n, lengths in ((1, 8, None), (2, 9, (9, 5)), (1, 8, (3,)), (2, 6, None), (2, 9, (2, 3))):
        x = paddle.to_tensor(rng.randn(b, n, 4).astype("float32"))
        padding = None
        if lengths:
            padding = paddle.arange(n).unsqueeze(0) >= paddle.to_tensor(lengths).unsqueeze(1)
        y = net(x, padding)
        y.square().mean().backward()
        yield y, net.qkv.weight.grad, net.skipped
        net.clear_gradients()


@program
def watermark_put_in_and_found(convert):
    """Green lists seeded by the last token raise logits; a detector slides a z-score over windows."""

    class Watermark:
        def __init__(self, vocab, gamma=0.5, delta=2.0, key=15485863):
            self.vocab, self.gamma, self.delta, self.key = vocab, gamma, delta, key

        def green(self, previous):
            scores = (paddle.arange(self.vocab) * 7919 + previous * self.key) % 101
            k = int(self.vocab * self.gamma)
            mask = paddle.zeros([self.vocab], dtype="bool")
            mask[paddle.argsort(scores)[:k]] = True
            return mask

        def __call__(self, ids, logits):
            if len(ids) == 0:
                return logits
            spread = F.softmax(logits, axis=-1).max()
            if spread > 0.9:
                return logits
            return paddle.where(self.green(ids[-1]), logits + self.delta, logits)

    class Repetition:
        def __init__(self, penalty):
            self.penalty = penalty

        def __call__(self, ids, logits):
            for t in ids[-3:]:
                if logits[t] > 0:
                    logits[t] = logits[t] / self.penalty
                else:
                    logits[t] = logits[t] * self.penalty
            return logits

    class Chain(list):
        def __call__(self, ids, logits):
            for p in self:
                logits = p(ids, logits)
            return logits

    @convert
    def generate(table, start, steps, processors, end=0):
        ids = [start]
        for _ in range(steps):
            logits = processors(ids, table[ids[-1]].clone())
            token = logits.argmax()
            ids.append(token)
            if token == end:
                break
        return paddle.stack(ids)

    @convert
    def detect(mark, ids, window=4, threshold=1.5):
        n = ids.shape[0]
        hits = []
        for a, b in zip(ids[:-1], ids[1:]):
            hits.append(mark.green(a)[b])
        best, at = -float("inf"), None
        for start in range(max(1, n - window)):
            part = hits[start : start + window]
            count = sum(h.astype("float32") for h in part)
            expected = mark.gamma * len(part)
            z = (count - expected) / (len(part) * mark.gamma * (1 - mark.gamma)) ** 0.5
            if z > best:
                best, at = z, start
        if best > threshold:
            return "marked", best, at
        return "clean", best, None

    rng = np.random.RandomState(9)
    table = paddle.to_tensor(rng.randn(8, 8).astype("float32") * 1.5)
    mark = Watermark(8)
    for start, chain in (
        (3, Chain([mark])),
        (5, Chain([Repetition(1.5)])),
        (3, Chain([Repetition(1.3), mark])),
        (1, Chain()),
    ):
        ids = generate(table, paddle.to_tensor(start), 7, chain)
        yield ids
        yield detect(mark, ids)
        yield detect(mark, ids, window=2, threshold=1.9)


@program
def brackets_of_json_kept_by_a_stack(convert):
    """Decoding of a small JSON grammar: a stack of states decides which tokens are allowed."""

    class Kind(enum.IntEnum):
        OPEN = 0
        CLOSE = 1
        KEY = 2
        COLON = 3
        VALUE = 4
        COMMA = 5
        END = 6

    class State(enum.Enum):
        START = enum.auto()
        KEY = enum.auto()
        COLON = enum.auto()
        VALUE = enum.auto()
        AFTER = enum.auto()
        DONE = enum.auto()

    ALLOWED = {
        State.START: {Kind.OPEN},
        State.KEY: {Kind.KEY, Kind.CLOSE},
        State.COLON: {Kind.COLON},
        State.VALUE: {Kind.VALUE, Kind.OPEN},
        State.AFTER: {Kind.COMMA, Kind.CLOSE},
        State.DONE: {Kind.END},
    }

    class Grammar:
        def __init__(self, deepest=2):
            self.stack = [State.START]
            self.depth, self.deepest = 0, deepest

        def allowed(self):
            kinds = set(ALLOWED[self.stack[-1]])
            if self.depth >= self.deepest:
                kinds.discard(Kind.OPEN)
            return kinds

        def advance(self, kind):
            top = self.stack.pop()
            if kind == Kind.OPEN:
                self.depth += 1
                self.stack.append(State.DONE if top is State.START else State.AFTER)
                self.stack.append(State.KEY)
            elif kind == Kind.CLOSE:
                self.depth -= 1
            elif kind == Kind.KEY:
                self.stack.append(State.COLON)
            elif kind == Kind.COLON:
                self.stack.append(State.VALUE)
            elif kind == Kind.VALUE:
                self.stack.append(State.AFTER)
            elif kind == Kind.COMMA:
                self.stack.append(State.KEY)

        @property
        def finished(self):
            return not self.stack

    TEXT = {
        Kind.OPEN: "{",
        Kind.CLOSE: "}",
        Kind.KEY: '"k"',
        Kind.COLON: ":",
        Kind.VALUE: "1",
        Kind.COMMA: ",",
    }

    @convert
    def decode(logits, deepest=2):
        grammar = Grammar(deepest)
        chosen, score = [], paddle.zeros([])
        for row in logits:
            mask = paddle.full([len(Kind)], float("-inf"))
            for kind in grammar.allowed():
                mask[int(kind)] = 0.0
            logp = F.log_softmax(row + mask)
            kind = Kind(int(logp.argmax()))
            score = score + logp[int(kind)]
            grammar.advance(kind)
            if kind == Kind.END:
                break
            chosen.append(TEXT[kind])
        return "".join(chosen), score, grammar.finished, grammar.depth

    rng = np.random.RandomState(12)
    for n, deepest in ((3, 1), (5, 2), (8, 2), (5, 2)):
        yield decode(paddle.to_tensor(rng.randn(n, 7).astype("float32")), deepest)


@program
def layers_contrasted_while_decoding(convert):
    """DoLa: the layer that differs most from the last is subtracted; plausible tokens only."""

    class Block(paddle.nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.cell = paddle.nn.GRUCell(dim, dim)
            self.norm = paddle.nn.LayerNorm(dim)

        def forward(self, x, state):
            _, state = self.cell(x, state)
            return self.norm(x + state), state

    class Model(paddle.nn.Layer):
        def __init__(self, vocab=9, dim=6, layers=4):
            super().__init__()
            self.embed = paddle.nn.Embedding(vocab, dim)
            self.blocks = paddle.nn.LayerList([Block(dim) for _ in range(layers)])

        def head(self, h):
            return F.linear(h, self.embed.weight.T)

        def step(self, token, states):
            h = self.embed(token)
            exits, fresh = [], []
            for block, state in zip(self.blocks, states):
                h, state = block(h, state)
                exits.append(h)
                fresh.append(state)
            return exits, fresh

    def divergence(p, q):
        m = (p + q) / 2
        return 0.5 * (F.kl_div(m.log(), p, reduction="sum") + F.kl_div(m.log(), q, reduction="sum"))

    class Decoder:
        def __init__(self, model, candidates=(0, 1, 2), alpha=0.1):
            self.model, self.candidates, self.alpha = model, candidates, alpha
            self.usage = {c: 0 for c in candidates}

        def contrast(self, exits):
            final = F.softmax(self.model.head(exits[-1]), axis=-1)
            best, most = None, paddle.to_tensor(-1.0)
            for c in self.candidates:
                early = F.softmax(self.model.head(exits[c]), axis=-1)
                d = divergence(final, early)
                if d > most:
                    best, most, chosen = c, d, early
            self.usage[best] += 1
            scores = final.log() - chosen.log()
            plausible = final >= self.alpha * final.max()
            return paddle.where(plausible, scores, paddle.full_like(scores, -1e9)), best

        @convert
        def __call__(self, prompt, steps=5, end=None):
            states = [paddle.zeros([1, 6]) for _ in self.model.blocks]
            for token in prompt[:-1]:
                _, states = self.model.step(token.unsqueeze(0), states)
            token = prompt[-1:]
            out, layers = [], []
            while len(out) < steps:
                exits, states = self.model.step(token, states)
                scores, layer = self.contrast(exits)
                token = scores.argmax(-1)
                layers.append(layer)
                if end is not None and token == end:
                    break
                out.append(token)
            return paddle.concat(out) if out else None, layers

    paddle.seed(8)
    decoder = Decoder(Model())
    narrow = Decoder(decoder.model, candidates=(2,), alpha=0.5)
    with paddle.no_grad():
        for d, prompt, end in (
            (decoder, [1, 2], None),
            (decoder, [3], 0),
            (narrow, [4, 5, 6], None),
            (decoder, [7, 1], 5),
        ):
            yield d(paddle.to_tensor(prompt), end=end)
            yield d.usage
