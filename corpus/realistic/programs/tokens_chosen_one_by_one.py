"""Decoding: drafts with a bonus token, caches that evict, constrained beams, streams, mixtures of rules."""

import collections
import enum
import functools
import itertools
import math
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


class TinyLM(nn.Layer):
    """Context of the two last tokens, so that history matters."""

    def __init__(self, vocab=9, dim=6, seed=1):
        super().__init__()
        paddle.seed(seed)
        self.emb = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(2 * dim, dim)
        self.head = nn.Linear(dim, vocab)
        self.vocab = vocab

    def forward(self, ids):
        prev = F.pad(ids, [1, 0], value=0)[..., :-1]
        h = paddle.concat([self.emb(ids), self.emb(prev)], -1)
        return self.head(F.tanh(self.mix(h))) * 3.0


@program
def drafts_whose_length_adapts(convert):
    """Speculative decoding with given uniforms: accept, resample from the residual, a bonus token, statistics."""

    @dataclass
    class Stats:
        proposed: int = 0
        accepted: int = 0
        rounds: int = 0

        @property
        def rate(self):
            return self.accepted / self.proposed if self.proposed else 0.0

    def draw(probs, u):
        return paddle.searchsorted(paddle.cumsum(probs, -1), u.reshape([1])).clip(
            max=probs.shape[-1] - 1
        )

    class Speculator:
        def __init__(self, target, draft, k=3, adaptive=True):
            self.target, self.draft, self.k, self.adaptive = target, draft, k, adaptive
            self.stats = Stats()

        @paddle.no_grad()
        def generate(self, ids, uniforms, max_new=8, eos=None):
            start = ids.shape[0]
            it = iter(range(uniforms.shape[0]))
            take = lambda: uniforms[next(it)]
            done = False
            while ids.shape[0] - start < max_new and not done:
                proposal, qs = ids, []
                for _ in range(self.k):
                    q = F.softmax(self.draft(proposal.unsqueeze(0))[0, -1])
                    qs.append(q)
                    proposal = paddle.concat([proposal, draw(q, take())])
                p = F.softmax(self.target(proposal.unsqueeze(0))[0], -1)
                n = ids.shape[0]
                accepted = 0
                for j, q in enumerate(qs):
                    token = proposal[n + j]
                    if take() < p[n + j - 1][token] / q[token]:
                        accepted += 1
                    else:
                        residual = F.relu(p[n + j - 1] - q)
                        residual = residual / residual.sum()
                        ids = paddle.concat([proposal[: n + j], draw(residual, take())])
                        break
                else:
                    ids = paddle.concat([proposal, draw(p[-1], take())])
                self.stats.rounds += 1
                self.stats.proposed += self.k
                self.stats.accepted += accepted
                if self.adaptive:
                    self.k = min(self.k + 1, 4) if accepted == len(qs) else max(1, self.k - 1)
                if eos is not None:
                    new = ids[start:]
                    hit = (new == eos).nonzero()
                    if hit.shape[0] > 0:
                        ids = ids[: start + hit[0, 0] + 1]
                        done = True
            return ids[: start + max_new]

    for adaptive, eos in ((False, None), (True, None), (True, 4)):
        spec = Speculator(TinyLM(seed=1), TinyLM(seed=2), adaptive=adaptive)
        run = convert(spec.generate)
        for seed, new in ((0, 5), (1, 7)):
            u = paddle.to_tensor(np.random.RandomState(seed).rand(80).astype("float32"))
            yield attempt(lambda: run(paddle.to_tensor([1, 2]), u, new, eos))
            yield spec.stats, round(spec.stats.rate, 3), spec.k


@program
def heavy_hitters_kept_in_a_cache(convert):
    """H2O: a KV cache that evicts by accumulated attention, keeps the recent, with slots written in place."""

    class HeavyHitterCache:
        def __init__(self, capacity, dim, recent=2):
            self.capacity, self.recent = capacity, recent
            self.k = paddle.zeros([capacity, dim])
            self.v = paddle.zeros([capacity, dim])
            self.score = paddle.zeros([capacity])
            self.age = paddle.full([capacity], -1, "int64")
            self.used = 0
            self.clock = 0
            self.evicted = []

        def __len__(self):
            return self.used

        def slot(self):
            if self.used < self.capacity:
                self.used += 1
                return self.used - 1
            old = self.age <= self.clock - self.recent
            victim = paddle.where(old, self.score, paddle.full_like(self.score, math.inf)).argmin()
            self.evicted.append(self.age[victim])
            return victim

        def put(self, k, v):
            at = self.slot()
            self.k[at], self.v[at] = k, v
            self.score[at] = 0.0
            self.age[at] = self.clock
            self.clock += 1

        def attend(self, q):
            n = len(self)
            w = F.softmax(self.k[:n] @ q / math.sqrt(q.shape[-1]), 0)
            self.score[:n] = self.score[:n] * 0.9 + w
            return w @ self.v[:n]

    class Decoder(nn.Layer):
        def __init__(self, dim=4):
            super().__init__()
            paddle.seed(7)
            self.qkv = nn.Linear(dim, 3 * dim)
            self.cache = None

        def forward(self, x, reset=False, capacity=4):
            if reset or self.cache is None:
                self.cache = HeavyHitterCache(capacity, x.shape[-1])
            outs = []
            for row in x:
                q, k, v = self.qkv(row).chunk(3, -1)
                self.cache.put(k, v)
                outs.append(self.cache.attend(q))
            return paddle.stack(outs)

    net = Decoder()
    f = convert(net)
    x = paddle.randn([9, 4])
    with paddle.no_grad():
        yield f(x[:3]), len(net.cache), net.cache.age
        yield f(x[3:7]), net.cache.evicted, net.cache.score, net.cache.age
        yield f(x[7:8] * 5), net.cache.evicted, net.cache.clock
        yield f(x, reset=True, capacity=3), net.cache.evicted, net.cache.k


@program
def phrases_demanded_from_a_beam(convert):
    """Beams grouped in banks by the number of met constraints, each a state machine of a phrase, as in transformers."""

    class PhrasalConstraint:
        def __init__(self, ids):
            if not isinstance(ids, list) or len(ids) == 0:
                raise ValueError(f"`ids` has to be a non-empty list, but is {ids}.")
            self.ids, self.seqlen, self.pos, self.completed = ids, len(ids), -1, False

        def advance(self):
            return None if self.completed else self.ids[self.pos + 1]

        def update(self, token):
            stepped = completed = reset = False
            if token == self.ids[self.pos + 1]:
                self.pos += 1
                stepped = True
                if self.pos == self.seqlen - 1:
                    completed = self.completed = True
            else:
                reset = True
                self.pos = -1
            return stepped, completed, reset

        def remaining(self):
            return self.seqlen - (self.pos + 1)

        def copy(self):
            new = PhrasalConstraint(self.ids)
            new.pos, new.completed = self.pos, self.completed
            return new

    class Hyp(NamedTuple):
        score: paddle.Tensor
        tokens: tuple
        states: tuple

        @property
        def bank(self):
            return sum(c.seqlen - c.remaining() for c in self.states)

    def search(model, start, constraints, beams=3, steps=5):
        hyps = [Hyp(paddle.zeros([]), (start,), tuple(PhrasalConstraint(c) for c in constraints))]
        for _ in range(steps):
            pool = []
            for h in hyps:
                logp = F.log_softmax(model(paddle.to_tensor([h.tokens]))[0, -1])
                values, tokens = logp.topk(beams)
                wanted = {c.advance() for c in h.states} - {None}
                for t in itertools.chain(tokens.tolist(), sorted(wanted - set(tokens.tolist()))):
                    states = tuple(c.copy() for c in h.states)
                    for c in states:
                        if not c.completed:
                            c.update(t)
                    pool.append(Hyp(h.score + logp[t], (*h.tokens, t), states))
            banks = collections.defaultdict(list)
            for h in pool:
                banks[h.bank].append(h)
            ordered = [
                sorted(banks[b], key=lambda h: -float(h.score)) for b in sorted(banks, reverse=True)
            ]
            hyps = [h for row in itertools.zip_longest(*ordered) for h in row if h is not None][
                :beams
            ]
        done = [h for h in hyps if all(c.completed for c in h.states)]
        best = max(done or hyps, key=lambda h: float(h.score))
        return paddle.to_tensor(best.tokens), best.score, len(done)

    run = convert(search)
    model = TinyLM(seed=5)
    yield run(model, 1, [[3, 4]])
    yield run(model, 2, [[3, 4], [7]], beams=4)
    yield run(model, 2, [], beams=2, steps=3)
    yield attempt(lambda: run(model, 2, [[]]))
    with paddle.no_grad():
        model.head.bias[7] += 5.0
    yield run(model, 1, [[3, 4]])


@program
def processors_with_warmers_by_match(convert):
    """Sampling whose warpers come from specs through `match`; penalties by counts; forced ends; a seedless draw."""

    class Finish(enum.Enum):
        LENGTH = "length"
        STOP = "stop"
        LOOP = "loop"

    def warper(spec):
        match spec:
            case {"top_k": int(k)}:
                return lambda z, ids: paddle.where(
                    z < z.topk(min(k, z.shape[-1]))[0][-1], paddle.full_like(z, -1e9), z
                )
            case {"top_p": float(p)} if 0 < p <= 1:

                def nucleus(z, ids):
                    s, order = z.sort(descending=True), z.argsort(descending=True)
                    mass = F.softmax(s).cumsum()
                    cut = paddle.concat([paddle.zeros([1], "bool"), (mass > p)[:-1]])
                    s = paddle.where(cut, paddle.full_like(s, -1e9), s)
                    return paddle.scatter(z, order, s)

                return nucleus
            case {"repetition": float(r)}:

                def penal(z, ids):
                    seen = F.one_hot(ids, z.shape[-1]).sum(0) > 0
                    return paddle.where(seen, paddle.where(z > 0, z / r, z * r), z)

                return penal
            case {"temperature": 0 | 0.0}:
                return lambda z, ids: paddle.where(z == z.max(), z, paddle.full_like(z, -1e9))
            case {"temperature": t}:
                return lambda z, ids: z / t
            case ("ban", *tokens):
                bias = paddle.zeros([9])
                bias[paddle.to_tensor(tokens)] = -1e9
                return lambda z, ids: z + bias
            case _:
                raise ValueError(f"no such warper: {spec!r}")

    def sample(model, ids, specs, uniforms, stop=None):
        warpers = [warper(s) for s in specs]
        logs, finish = [], Finish.LENGTH
        for u in uniforms:
            z = functools.reduce(lambda z, w: w(z, ids), warpers, model(ids.unsqueeze(0))[0, -1])
            probs = F.softmax(z)
            token = (probs.cumsum() < u).sum().clip(max=probs.shape[0] - 1)
            ids = paddle.concat([ids, token.reshape([1])])
            logs.append(probs[token].log())
            if stop is not None and token == stop:
                finish = Finish.STOP
                break
            if ids.shape[0] >= 4 and (ids[-2:] == ids[-4:-2]).all():
                finish = Finish.LOOP
                break
        return ids, paddle.stack(logs).sum(), finish

    run = convert(sample)
    model = TinyLM(seed=11)
    u = paddle.to_tensor(np.random.RandomState(3).rand(6).astype("float32"))
    ids = paddle.to_tensor([1, 5, 2])
    for specs, stop in (
        ([{"temperature": 0.7}, {"top_k": 3}], None),
        ([{"repetition": 1.3}, {"top_p": 0.8}], 4),
        ([{"temperature": 0}], None),
        ([("ban", 0, 1, 2), {"top_p": 0.9}, {"temperature": 1.5}], 5),
        ([{"top_p": 1.5}], None),
    ):
        yield attempt(lambda: run(model, ids, specs, u, stop))
    ids, logp, why = run(model, ids[:2], [{"temperature": 2.0}], u[:4])
    logp.backward()
    yield ids, why, model.head.bias.grad


@program
def transducer_that_streams_by_chunks(convert):
    """A streaming RNN-T: encoder chunks with left context, a stateless predictor, partial and stable results."""

    class Result(NamedTuple):
        tokens: list
        stable: int
        times: list

    class StreamingTransducer(nn.Layer):
        def __init__(self, feat=4, dim=5, vocab=6, context=2, max_sym=2):
            super().__init__()
            paddle.seed(13)
            self.enc = nn.GRUCell(feat, dim)
            self.pred = nn.Embedding(vocab, dim)
            self.joint = nn.Linear(dim, vocab)
            self.context, self.max_sym, self.blank = context, max_sym, 0
            self.reset()

        def reset(self):
            self.h: Optional[paddle.Tensor] = None
            self.hist = [self.blank] * self.context
            self.tokens, self.times, self.frame = [], [], 0
            self.quiet = 0

        def predictor(self):
            return self.pred(paddle.to_tensor(self.hist[-self.context :])).mean(0)

        def forward(self, chunk, last=False):
            g = self.predictor()
            for x in chunk:
                _, self.h = self.enc(x.unsqueeze(0), self.h)
                emitted = 0
                while emitted < self.max_sym:
                    logits = self.joint(F.tanh(self.h[0] * 2 + g)) * 4
                    token = logits.argmax()
                    if token == self.blank:
                        break
                    self.hist = self.hist[1:] + [token]
                    self.tokens.append(token)
                    self.times.append(self.frame)
                    g = self.pred(
                        paddle.stack([paddle.to_tensor(t, dtype="int64") for t in self.hist])
                    ).mean(0)
                    emitted += 1
                self.quiet = self.quiet + 1 if emitted == 0 else 0
                self.frame += 1
            stable = len(self.tokens) if last or self.quiet > 2 else max(0, len(self.tokens) - 1)
            return Result([int(t) for t in self.tokens], stable, list(self.times))

    net = StreamingTransducer()
    net.eval()
    step = convert(net.forward)
    x = paddle.randn([10, 4]) * 2
    for a, b in ((0, 3), (3, 4), (4, 8), (8, 10)):
        yield attempt(lambda: step(x[a:b], last=b == 10)), net.frame, net.quiet
    net.reset()
    yield attempt(lambda: step(x[:5] * 0.1)), net.h


@program
def energies_of_a_lattice_of_segments(convert):
    """A semi-Markov decoder over spans with a cache of pieces, gradients of the path, k best by bags of back pointers."""

    @dataclass(order=True)
    class Entry:
        score: float
        back: Optional[tuple] = field(default=None, compare=False)

    class SpanScorer(nn.Layer):
        def __init__(self, dim=3, labels=2, longest=3):
            super().__init__()
            paddle.seed(17)
            self.w = self.create_parameter([labels, 2 * dim])
            self.length = self.create_parameter([longest + 1])
            self.trans = self.create_parameter([labels, labels])
            self.labels, self.longest = labels, longest

        def span(self, x, i, j):
            return self.w @ paddle.concat([x[i], x[j - 1]]) + self.length[j - i]

        def partition(self, x):
            n = x.shape[0]
            alpha = {0: paddle.zeros([self.labels])}
            for j in range(1, n + 1):
                terms = []
                for i in range(max(0, j - self.longest), j):
                    prev = (
                        alpha[i]
                        if i == 0
                        else paddle.logsumexp(alpha[i].unsqueeze(1) + self.trans, 0)
                    )
                    terms.append(prev + self.span(x, i, j))
                alpha[j] = paddle.logsumexp(paddle.stack(terms), 0)
            return paddle.logsumexp(alpha[n], 0)

        def decode(self, x):
            n = x.shape[0]
            best = [[None] * self.labels for _ in range(n + 1)]
            for j in range(1, n + 1):
                for y in range(self.labels):
                    for i in range(max(0, j - self.longest), j):
                        s = self.span(x, i, j)[y]
                        if i == 0:
                            cand = Entry(s, (0, None))
                        else:
                            prev = [best[i][z].score + self.trans[z, y] for z in range(self.labels)]
                            z = max(range(self.labels), key=prev.__getitem__)
                            cand = Entry(prev[z] + s, (i, z))
                        if best[j][y] is None or cand > best[j][y]:
                            best[j][y] = cand
            y = max(range(self.labels), key=lambda k: best[n][k].score)
            total, path, j = best[n][y].score, [], n
            while j > 0:
                i, z = best[j][y].back
                path.append((i, j, y))
                j, y = i, z
            return total, path[::-1]

        def loss(self, x, gold):
            score, prev = paddle.zeros([]), None
            for i, j, y in gold:
                score = score + self.span(x, i, j)[y]
                if prev is not None:
                    score = score + self.trans[prev, y]
                prev = y
            return self.partition(x) - score

    net = SpanScorer()
    loss, decode = convert(net.loss), convert(net.decode)
    for n, gold in ((4, [(0, 2, 1), (2, 4, 0)]), (6, [(0, 1, 0), (1, 4, 1), (4, 6, 1)])):
        x = paddle.randn([n, 3])
        value = loss(x, gold)
        value.backward()
        yield value, net.w.grad, net.trans.grad
        net.clear_gradients()
        yield attempt(lambda: decode(x))
