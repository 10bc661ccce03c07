"""Decoders written by hand: beams with caches, transducers, drafts, tries, alignments, merges."""

import functools
import itertools
import math
import re
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass
from typing import Callable, Dict, List, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


class TinyAttentionLM(nn.Layer):
    """One block of attention with a cache that is passed from step to step."""

    def __init__(self, vocab=7, dim=8, heads=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(32, dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocab)
        self.heads, self.dim, self.vocab = heads, dim, vocab

    def forward(self, tokens, cache=None):
        b, n = tokens.shape
        past = 0 if cache is None else cache[0].shape[2]
        h = self.embed(tokens) + self.pos(paddle.arange(past, past + n))
        qkv = self.qkv(h).reshape([b, n, 3, self.heads, -1]).transpose([2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        if cache is not None:
            k = paddle.concat([cache[0], k], axis=2)
            v = paddle.concat([cache[1], v], axis=2)
        scores = q @ k.transpose([0, 1, 3, 2]) / math.sqrt(q.shape[-1])
        if n > 1:
            mask = paddle.triu(paddle.full([n, past + n], -1e9), diagonal=past + 1)
            scores = scores + mask
        out = (F.softmax(scores) @ v).transpose([0, 2, 1, 3]).reshape([b, n, self.dim])
        return self.head(h + self.proj(out)), (k, v)


@program
def beams_with_a_pool_of_hypotheses(convert):
    """Beam search: reordered caches, a length penalty, a heap of finished hypotheses, early stop."""

    Hypothesis = namedtuple("Hypothesis", "score tokens")

    class Pool:
        def __init__(self, size, alpha, early):
            self.size, self.alpha, self.early = size, alpha, early
            self.items: List[Hypothesis] = []

        def add(self, tokens, logp):
            score = logp / (len(tokens) ** self.alpha)
            self.items.append(Hypothesis(score, tokens))
            self.items.sort(key=lambda h: h.score, reverse=True)
            del self.items[self.size :]

        def done(self, best_running, length):
            if len(self.items) < self.size:
                return False
            if self.early:
                return True
            return self.items[-1].score >= best_running / length**self.alpha

    @convert
    @paddle.no_grad()
    def search(model, prompt, width=2, steps=5, eos=0, alpha=0.7, early=False):
        pool = Pool(width, alpha, early)
        beams = paddle.tile(prompt, [width, 1])
        logits, cache = model(beams)
        scores = paddle.to_tensor([0.0] + [-1e9] * (width - 1))
        for step in range(steps):
            logp = F.log_softmax(logits[:, -1]) + scores.unsqueeze(1)
            top, flat = logp.reshape([-1]).topk(2 * width)
            keep_scores, keep_rows, keep_tokens = [], [], []
            for s, f in zip(top.tolist(), flat.tolist()):
                row, token = divmod(f, model.vocab)
                if token == eos:
                    if len(keep_rows) < width:
                        pool.add(beams[row].tolist() + [eos], s)
                    continue
                if len(keep_rows) < width:
                    keep_scores.append(s)
                    keep_rows.append(row)
                    keep_tokens.append(token)
            if pool.done(max(keep_scores), beams.shape[1] + 1):
                break
            rows = paddle.to_tensor(keep_rows)
            tokens = paddle.to_tensor(keep_tokens).unsqueeze(1)
            scores = paddle.to_tensor(keep_scores)
            beams = paddle.concat([beams[rows], tokens], axis=1)
            logits, cache = model(tokens, tuple(c[rows] for c in cache))
        for row in range(width):
            if len(pool.items) < width:
                pool.add(beams[row].tolist(), scores[row].item())
        return [(round(h.score, 4), h.tokens) for h in pool.items]

    paddle.seed(5)
    model = TinyAttentionLM()
    model.eval()
    model.head.weight.set_value(model.head.weight * 3)
    for prompt, kwargs in [
        ([[1, 2]], {}),
        ([[3]], {"width": 3, "alpha": 1.0}),
        ([[4, 5, 6]], {"early": True, "steps": 7}),
    ]:
        yield search(model, paddle.to_tensor(prompt), **kwargs)


@program
def beams_held_in_tensors(convert):
    """The same search without Python numbers: finished beams are kept in place, in a batch."""

    @convert
    @paddle.no_grad()
    def search(model, prompts, width=2, max_steps=6, eos=0, penalty=0.6):
        batch, n = prompts.shape
        vocab = model.vocab
        sequences = prompts.unsqueeze(1).tile([1, width, 1]).reshape([batch * width, n])
        scores = paddle.full([batch, width], -1e9)
        scores[:, 0] = 0.0
        finished = paddle.zeros([batch, width], dtype="bool")
        lengths = paddle.full([batch, width], n, dtype="int64")
        offsets = (paddle.arange(batch) * width).unsqueeze(1)
        logits, cache = model(sequences)
        frozen = paddle.full([vocab], -1e9)
        frozen[eos] = 0.0
        for _ in range(max_steps):
            logp = F.log_softmax(logits[:, -1]).reshape([batch, width, vocab])
            logp = paddle.where(finished.unsqueeze(-1), frozen, logp)
            total = (scores.unsqueeze(-1) + logp).reshape([batch, width * vocab])
            scores, flat = total.topk(width, axis=1)
            parent, token = flat // vocab, flat % vocab
            rows = (parent + offsets).reshape([-1])
            finished = finished.reshape([-1])[rows].reshape([batch, width])
            lengths = paddle.take_along_axis(lengths, parent, axis=1) + (~finished).astype("int64")
            finished = finished | (token == eos)
            sequences = paddle.concat([sequences[rows], token.reshape([-1, 1])], axis=1)
            if finished.all():
                break
            logits, cache = model(token.reshape([-1, 1]), [c[rows] for c in cache])
        final = scores / ((5.0 + lengths.astype("float32")) / 6.0) ** penalty
        best = final.argmax(axis=1)
        sequences = sequences.reshape([batch, width, -1])
        out = paddle.stack([sequences[i, best[i]] for i in range(batch)])
        return out, final.max(axis=1), lengths

    paddle.seed(15)
    model = TinyAttentionLM()
    model.eval()
    model.head.weight.set_value(model.head.weight * 4)
    for prompts, kwargs in [
        ([[1, 2], [3, 4]], {}),
        ([[2], [5], [6]], {"width": 3}),
        ([[1, 2, 3]], {"max_steps": 9, "penalty": 0.0}),
        ([[6, 6], [1, 1]], {}),
    ]:
        yield search(model, paddle.to_tensor(prompts), **kwargs)


@program
def transducer_with_symbols_per_frame(convert):
    """Greedy decoding of a transducer: a predictor that moves with labels, a joint, a limit."""

    class Predictor(nn.Layer):
        def __init__(self, vocab, dim):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.rnn = nn.LSTMCell(dim, dim)

        def forward(self, label, state):
            out, state = self.rnn(self.embed(label), state)
            return out, state

    class Transducer(nn.Layer):
        def __init__(self, vocab=5, features=3, dim=6, blank=0):
            super().__init__()
            self.encoder = nn.Linear(features, dim)
            self.predictor = Predictor(vocab, dim)
            self.joint = nn.Linear(dim, vocab)
            self.blank = blank

        def start(self):
            return self.predictor(paddle.to_tensor([self.blank]), None)

        @convert
        @paddle.no_grad()
        def decode(self, features, max_symbols=3, carry=None):
            frames = self.encoder(features)
            pred, state = self.start() if carry is None else carry
            labels, times = [], []
            logp = paddle.zeros([])
            for t in range(frames.shape[0]):
                emitted = 0
                while emitted < max_symbols:
                    step = F.log_softmax(self.joint(paddle.tanh(frames[t] + pred[0])) * 2)
                    k = step.argmax()
                    logp = logp + step[k]
                    if k == self.blank:
                        break
                    labels.append(k)
                    times.append(t)
                    pred, state = self.predictor(k.reshape([1]), state)
                    emitted += 1
            return labels, times, logp, (pred, state)

    paddle.seed(29)
    model = Transducer()
    model.eval()
    rng = np.random.RandomState(4)
    carry = None
    for n, limit in [(4, 3), (6, 1), (2, 3), (5, 2)]:
        features = paddle.to_tensor(rng.randn(n, 3).astype("float32") * 3)
        labels, times, logp, carry = model.decode(features, max_symbols=limit, carry=carry)
        yield labels, times, logp, carry


@program
def drafts_that_are_accepted_or_not(convert):
    """Speculative decoding: a draft proposes, the target checks, the rest is resampled."""

    @dataclass
    class Stats:
        proposed: int = 0
        accepted: int = 0
        rounds: int = 0

        @property
        def rate(self):
            return self.accepted / self.proposed if self.proposed else 0.0

    class Bigram(nn.Layer):
        def __init__(self, vocab, sharp):
            super().__init__()
            self.table = nn.Embedding(vocab, vocab)
            self.sharp = sharp

        def forward(self, tokens):
            return F.softmax(self.table(tokens) * self.sharp, axis=-1)

    def draw(probs, u):
        cdf = probs.cumsum(-1)
        return (cdf < u * cdf[-1]).astype("int64").sum()

    class Speculative:
        def __init__(self, target, draft, gamma=3):
            self.target, self.draft, self.gamma = target, draft, gamma
            self.stats = Stats()

        @convert
        @paddle.no_grad()
        def generate(self, prompt, uniforms, length=8):
            tokens = prompt
            u = iter(uniforms)
            while tokens.shape[0] < length:
                self.stats.rounds += 1
                proposal = tokens
                q_rows = []
                for _ in range(self.gamma):
                    q = self.draft(proposal[-1])
                    q_rows.append(q)
                    proposal = paddle.concat([proposal, draw(q, next(u)).reshape([1])])
                p_rows = self.target(proposal[tokens.shape[0] - 1 :])
                accepted = 0
                for i, q in enumerate(q_rows):
                    token = proposal[tokens.shape[0] + i]
                    self.stats.proposed += 1
                    if next(u) > p_rows[i][token] / q[token]:
                        residual = (p_rows[i] - q).clip(min=0)
                        extra = draw(residual / residual.sum(), next(u))
                        break
                    accepted += 1
                else:
                    extra = draw(p_rows[-1], next(u))
                self.stats.accepted += accepted
                kept = proposal[: tokens.shape[0] + accepted]
                tokens = paddle.concat([kept, extra.reshape([1])])
            return tokens[:length]

    paddle.seed(31)
    target, draft = Bigram(5, 1.0), Bigram(5, 1.0)
    draft.table.weight.set_value(target.table.weight + 0.3 * paddle.randn([5, 5]))
    rng = np.random.RandomState(5)
    for gamma, length in [(3, 8), (2, 6), (3, 5)]:
        spec = Speculative(target, draft, gamma)
        uniforms = paddle.to_tensor(rng.rand(80).astype("float32"))
        yield spec.generate(paddle.to_tensor([1]), uniforms, length=length)
        yield spec.stats, round(spec.stats.rate, 3)


@program
def logits_processors_from_a_registry(convert):
    """Processors chosen by name: temperature, repetition, n-grams, nucleus, tries of allowed words."""

    PROCESSORS: Dict[str, Callable[..., Callable]] = {}

    def register(name):
        def wrap(factory):
            PROCESSORS[name] = factory
            return factory

        return wrap

    @register("temperature")
    def temperature(value):
        return lambda logits, history: logits / value

    @register("repetition")
    def repetition(penalty):
        def apply(logits, history):
            for token in set(history):
                logit = logits[token]
                logits[token] = logit / penalty if logit > 0 else logit * penalty
            return logits

        return apply

    @register("no_repeat_ngram")
    def no_repeat_ngram(n):
        def apply(logits, history):
            seen = defaultdict(set)
            for gram in zip(*(history[i:] for i in range(n))):
                seen[tuple(gram[:-1])].add(gram[-1])
            for token in sorted(seen.get(tuple(history[len(history) - n + 1 :]), ())):
                logits[token] = -1e9
            return logits

        return apply

    @register("top_p")
    def top_p(p):
        def apply(logits, history):
            order = logits.argsort(descending=True)
            probs = F.softmax(logits[order])
            remove = (probs.cumsum() - probs) > p
            return paddle.where(
                paddle.scatter(paddle.zeros_like(remove, "int32"), order, remove.astype("int32"))
                > 0,
                paddle.full_like(logits, -1e9),
                logits,
            )

        return apply

    class Trie(dict):
        @classmethod
        def of(cls, sequences):
            root = cls()
            for sequence in sequences:
                node = root
                for token in sequence:
                    node = node.setdefault(token, cls())
            return root

        def allowed(self, prefix):
            node = functools.reduce(lambda n, t: n.get(t, Trie()), prefix, self)
            return list(node)

    @register("trie")
    def trie(sequences):
        root = Trie.of(sequences)

        def apply(logits, history):
            allowed = root.allowed(history[1:])
            if not allowed:
                return logits
            mask = paddle.full_like(logits, -1e9)
            mask[paddle.to_tensor(allowed)] = 0.0
            return logits + mask

        return apply

    class Chain:
        def __init__(self, config):
            self.steps = [(name, PROCESSORS[name](value)) for name, value in config.items()]

        def __call__(self, logits, history):
            for _, step in self.steps:
                logits = step(logits, history)
            return logits

    paddle.seed(37)
    table = paddle.randn([6, 6]) * 2

    @convert
    def generate(start, config, length=6):
        chain = Chain(config)
        history = [start]
        total = 0.0
        for _ in range(length):
            logits = chain(table[history[-1]].clone(), history)
            token = int(logits.argmax())
            total += F.log_softmax(logits)[token]
            history.append(token)
        return history, total

    for start, config in [
        (0, {"temperature": 0.7}),
        (1, {"temperature": 1.5, "repetition": 1.8}),
        (2, {"no_repeat_ngram": 2, "top_p": 0.8}),
        (0, {"trie": [(1, 2, 3), (1, 4), (5, 0, 2)], "temperature": 0.5}),
    ]:
        yield generate(start, config)
    yield attempt(lambda: generate(0, {"beam": 3}))


@program
def forced_alignment_with_a_backtrace(convert):
    """Viterbi over a CTC lattice: repeats, blanks, a path walked back, word spans, confidences."""

    @dataclass
    class Span:
        label: int
        start: int
        end: int
        score: float

    @convert
    def align(logp, targets, blank=0):
        T = logp.shape[0]
        states = [blank]
        for t in targets:
            states += [t, blank]
        S = len(states)
        emit = logp[:, paddle.to_tensor(states)]
        alpha = paddle.full([S], -1e9)
        alpha[0] = emit[0, 0]
        if S > 1:
            alpha[1] = emit[0, 1]
        skip = paddle.to_tensor(
            [i >= 2 and states[i] != blank and states[i] != states[i - 2] for i in range(S)]
        )
        pointers = []
        for t in range(1, T):
            stay = alpha
            one = F.pad(alpha[:-1], [1, 0], value=-1e9)
            two = F.pad(alpha[:-2], [2, 0], value=-1e9)
            two = paddle.where(skip, two, paddle.full_like(two, -1e9))
            options = paddle.stack([stay, one, two])
            pointers.append(options.argmax(0))
            alpha = options.max(0) + emit[t]
        state = S - 1
        if S > 1 and alpha[S - 2] > alpha[S - 1]:
            state = S - 2
        score = alpha[state]
        path = [state]
        for pointer in reversed(pointers):
            state = state - int(pointer[state])
            path.append(state)
        path.reverse()
        spans = []
        for s, group in itertools.groupby(enumerate(path), key=lambda pair: pair[1]):
            frames = [t for t, _ in group]
            if states[s] != blank:
                mean = sum(emit[t, s] for t in frames) / len(frames)
                spans.append(Span(states[s], frames[0], frames[-1] + 1, mean.exp()))
        return score, path, spans

    rng = np.random.RandomState(14)
    for T, targets in [(6, [1, 2]), (8, [1, 1, 3]), (5, [2]), (6, [3, 2])]:
        logp = F.log_softmax(paddle.to_tensor(rng.randn(T, 4).astype("float32") * 2))
        score, path, spans = align(logp, targets)
        yield score, path
        yield spans


@program
def byte_pairs_and_edit_distances(convert):
    """A BPE tokeniser with a cache beside a model, and a weighted edit distance on its pieces."""

    class BPE:
        PATTERN = re.compile(r"\w+|[^\w\s]")

        def __init__(self, corpus, merges=8):
            words = Counter(self.PATTERN.findall(corpus))
            splits = {w: tuple(w) for w in words}
            self.ranks: Dict[Tuple[str, str], int] = {}
            for rank in range(merges):
                pairs = Counter()
                for w, n in words.items():
                    for pair in itertools.pairwise(splits[w]):
                        pairs[pair] += n
                if not pairs:
                    break
                best = max(pairs, key=lambda p: (pairs[p], p))
                self.ranks[best] = rank
                splits = {w: self.merged(s, best) for w, s in splits.items()}
            pieces = sorted({c for w in words for c in w} | {"".join(p) for p in self.ranks})
            self.vocab = {p: i for i, p in enumerate(["<unk>", *pieces])}

        @staticmethod
        def merged(symbols, pair):
            out, i = [], 0
            while i < len(symbols):
                if symbols[i : i + 2] == pair:
                    out.append(symbols[i] + symbols[i + 1])
                    i += 2
                else:
                    out.append(symbols[i])
                    i += 1
            return tuple(out)

        @functools.lru_cache(maxsize=64)
        def pieces(self, word):
            symbols = tuple(word)
            while len(symbols) > 1:
                best = min(itertools.pairwise(symbols), key=lambda p: self.ranks.get(p, math.inf))
                if best not in self.ranks:
                    break
                symbols = self.merged(symbols, best)
            return symbols

        def encode(self, text):
            words = self.PATTERN.findall(text.lower())
            return [self.vocab.get(p, 0) for w in words for p in self.pieces(w)]

    bpe = BPE("low lower lowest newer newest wide wider widest the new low")
    paddle.seed(41)
    embed = nn.Embedding(len(bpe.vocab), 4)

    @convert
    def distance(a, b, gap=1.0, return_path=False):
        x, y = bpe.encode(a), bpe.encode(b)
        ex, ey = embed(paddle.to_tensor(x)), embed(paddle.to_tensor(y))
        cost = 1 - F.cosine_similarity(ex.unsqueeze(1), ey.unsqueeze(0), axis=-1)
        rows = [[paddle.to_tensor(gap * j) for j in range(len(y) + 1)]]
        ops = []
        for i in range(1, len(x) + 1):
            row = [paddle.to_tensor(gap * i)]
            for j in range(1, len(y) + 1):
                best, op = rows[i - 1][j - 1] + cost[i - 1, j - 1], "sub"
                if rows[i - 1][j] + gap < best:
                    best, op = rows[i - 1][j] + gap, "del"
                if row[j - 1] + gap < best:
                    best, op = row[j - 1] + gap, "ins"
                row.append(best)
                ops.append(op)
            rows.append(row)
        total = rows[-1][-1]
        if return_path:
            return total, Counter(ops), len(x), len(y)
        return total

    for a, b, path in [
        ("the lower", "the newer", True),
        ("widest low", "lowest", True),
        ("new", "new", False),
        ("wider!", "the wide", True),
    ]:
        found = distance(a, b, gap=0.6, return_path=path)
        yield found
        total = found[0] if path else found
        total.backward()
        yield embed.weight.grad
        embed.clear_gradients()
    yield bpe.pieces.cache_info().misses, list(bpe.ranks)
