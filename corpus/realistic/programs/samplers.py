"""Sampling the next token: filters, schedules, penalties, drafts, contrast, guidance."""

import math
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def bigram(vocab, seed, scale=1.5):
    rng = np.random.RandomState(seed)
    return paddle.to_tensor(rng.randn(vocab, vocab).astype("float32") * scale)


@program
def top_k_sampling(convert):
    """Top-k with temperature; greedy where the temperature is zero."""

    def top_k_filter(logits, top_k):
        top_k = min(top_k, logits.shape[-1])
        kept, _ = paddle.topk(logits, k=top_k, axis=-1)
        threshold = kept[:, -1:]
        return paddle.where(logits < threshold, paddle.full_like(logits, -1e10), logits)

    def pick(logits, temperature, top_k):
        if temperature == 0:
            return paddle.argmax(logits, axis=-1, keepdim=True)
        logits = logits / temperature
        if top_k:
            logits = top_k_filter(logits, top_k=top_k)
        return paddle.multinomial(F.softmax(logits, axis=-1), num_samples=1)

    table = bigram(9, seed=1)

    @convert
    def generate(prompt, max_new_tokens=6, temperature=1.0, top_k=None, eos_token_id=None):
        ids = prompt
        unfinished = paddle.ones(shape=[prompt.shape[0], 1], dtype="int64")
        for _ in range(max_new_tokens):
            token = pick(table[ids[:, -1]], temperature=temperature, top_k=top_k)
            if eos_token_id is not None:
                token = token * unfinished + eos_token_id * (1 - unfinished)
                unfinished = unfinished * (token != eos_token_id).astype("int64")
            ids = paddle.concat(x=[ids, token], axis=-1)
            if eos_token_id is not None and unfinished.max() == 0:
                break
        return ids

    prompt = paddle.to_tensor([[1, 2], [3, 4], [5, 6]])
    for temperature, top_k in ((1.0, None), (0.7, 3), (0, None), (1.5, 100)):
        paddle.seed(42)
        yield generate(prompt, temperature=temperature, top_k=top_k)
        yield generate(prompt[:2], temperature=temperature, top_k=top_k, eos_token_id=0)
    paddle.seed(3)
    yield generate(prompt[:, :1], max_new_tokens=12, eos_token_id=7)


@program
def nucleus_sampling(convert):
    """Top-p: the smallest set of words whose probability exceeds p, sampled and mapped back."""

    class NucleusSampler:
        def __init__(self, p=0.9, min_tokens_to_keep=1):
            self.p = p
            self.min_tokens_to_keep = min_tokens_to_keep
            self.sizes = []

        def filter(self, logits):
            sorted_logits = paddle.sort(logits, axis=-1, descending=True)
            order = paddle.argsort(logits, axis=-1, descending=True)
            cumulative = paddle.cumsum(F.softmax(sorted_logits, axis=-1), axis=-1)
            remove = cumulative > self.p
            remove[:, 1:] = remove[:, :-1].clone()
            remove[:, : self.min_tokens_to_keep] = False
            sorted_logits = paddle.where(
                remove, paddle.full_like(sorted_logits, -float("inf")), sorted_logits
            )
            return sorted_logits, order, (~remove).sum(axis=-1)

        @convert
        def __call__(self, logits):
            filtered, order, size = self.filter(logits)
            self.sizes.append(size)
            chosen = paddle.multinomial(F.softmax(filtered, axis=-1), num_samples=1)
            return paddle.take_along_axis(order, chosen, axis=-1).squeeze(-1)

    rng = np.random.RandomState(7)
    paddle.seed(11)
    for p in (0.3, 0.8, 0.99):
        sampler = NucleusSampler(p=p)
        for rows in (2, 4, 1):
            logits = paddle.to_tensor(rng.randn(rows, 8).astype("float32") * 2)
            yield sampler(logits)
        yield sampler.sizes
    keeper = NucleusSampler(p=0.01, min_tokens_to_keep=3)
    yield keeper(paddle.to_tensor([[0.0, 5.0, 1.0, 2.0]])), keeper.sizes


@program
def typical_sampling(convert):
    """Locally typical sampling: words whose surprise is near the entropy."""

    def typical_mask(logits, mass):
        logp = F.log_softmax(logits, axis=-1)
        p = logp.exp()
        entropy = -(p * logp).sum(axis=-1, keepdim=True)
        shift = paddle.abs(-logp - entropy)
        order = paddle.argsort(shift, axis=-1)
        ranked = paddle.take_along_axis(p, order, axis=-1).cumsum(axis=-1)
        last = (ranked < mass).astype("int64").sum(axis=-1, keepdim=True)
        last = paddle.clip(last, max=logits.shape[-1] - 1)
        limit = paddle.take_along_axis(paddle.sort(shift, axis=-1), last, axis=-1)
        return shift <= limit, entropy.squeeze(-1)

    table = bigram(10, seed=3, scale=2.0)

    @convert
    def generate(first, steps=5, mass=0.5, stop_entropy=None):
        token = first
        tokens, entropies = [first], []
        for step in range(steps):
            logits = table[token]
            keep, entropy = typical_mask(logits, mass=mass)
            entropies.append(entropy)
            if stop_entropy is not None and entropy.mean() < stop_entropy:
                break
            probs = F.softmax(logits, axis=-1) * keep.astype("float32")
            token = paddle.multinomial(probs / probs.sum(axis=-1, keepdim=True)).squeeze(-1)
            tokens.append(token)
        return paddle.stack(tokens, axis=1), paddle.stack(entropies)

    paddle.seed(5)
    for mass in (0.2, 0.6, 0.95):
        yield generate(paddle.to_tensor([1, 2, 3]), mass=mass)
    yield generate(paddle.to_tensor([0]), steps=8, stop_entropy=1.0)
    yield generate(paddle.to_tensor([4, 9]), steps=8, stop_entropy=1.2)


@program
def min_p_and_eta_filters(convert):
    """Filters as a chain of small objects, chosen by a config with optional fields."""

    @dataclass
    class SamplingConfig:
        temperature: float = 1.0
        min_p: Optional[float] = None
        eta: Optional[float] = None
        top_k: Optional[int] = None

        def warpers(self):
            chain = []
            if self.temperature != 1.0:
                chain.append(Temperature(self.temperature))
            if self.top_k is not None:
                chain.append(TopK(self.top_k))
            if self.min_p is not None:
                chain.append(MinP(self.min_p))
            if self.eta is not None:
                chain.append(Eta(self.eta))
            return chain

    class Temperature:
        def __init__(self, value):
            self.value = value

        def __call__(self, logits):
            return logits / self.value

    class TopK:
        def __init__(self, k):
            self.k = k

        def __call__(self, logits):
            values, indices = paddle.topk(logits, k=self.k)
            base = paddle.full_like(logits, -1e9)
            return paddle.put_along_axis(base, indices, values, axis=-1)

    class MinP:
        def __init__(self, ratio):
            self.ratio = ratio

        def __call__(self, logits):
            p = F.softmax(logits, axis=-1)
            floor = self.ratio * p.max(axis=-1, keepdim=True)
            return logits.masked_fill(p < floor, -1e9)

    class Eta:
        def __init__(self, epsilon):
            self.epsilon = epsilon

        def __call__(self, logits):
            p = F.softmax(logits, axis=-1)
            entropy = -(p * paddle.log(p + 1e-12)).sum(axis=-1, keepdim=True)
            limit = paddle.minimum(
                paddle.full_like(entropy, self.epsilon),
                math.sqrt(self.epsilon) * paddle.exp(-entropy),
            )
            drop = (p < limit) & (p < p.max(axis=-1, keepdim=True))
            return paddle.where(drop, paddle.full_like(logits, -1e9), logits)

    @convert
    def sample(logits, config=None, num_samples=1):
        config = SamplingConfig() if config is None else config
        for warp in config.warpers():
            logits = warp(logits)
        alive = (logits > -1e8).sum(axis=-1)
        probs = F.softmax(logits, axis=-1)
        return paddle.multinomial(probs, num_samples, replacement=True), alive

    paddle.seed(17)
    logits = bigram(12, seed=9)
    yield sample(logits[:3])
    yield sample(logits[:2], SamplingConfig(temperature=0.5, min_p=0.1), num_samples=4)
    yield sample(logits, SamplingConfig(eta=0.02))
    yield sample(logits[4:7], SamplingConfig(top_k=2), num_samples=5)
    yield sample(logits[4:5], SamplingConfig(temperature=2.0, top_k=6, min_p=0.2, eta=0.1))


@program
def penalised_sampling_with_counts(convert):
    """Presence, frequency and repetition penalties from counts kept across the steps."""
    Penalties = namedtuple("Penalties", ["presence", "frequency", "repetition"], defaults=[0, 0, 1])

    class Generation:
        def __init__(self, vocab, penalties=None):
            self.vocab = vocab
            self.penalties = penalties or Penalties()
            self.counts = None
            self.log = []

        def observe(self, token):
            hot = F.one_hot(token, num_classes=self.vocab)
            self.counts = hot if self.counts is None else self.counts + hot

        def penalise(self, logits):
            if self.counts is None:
                return logits
            seen = (self.counts > 0).astype(logits.dtype)
            logits = logits - self.penalties.presence * seen
            logits = logits - self.penalties.frequency * self.counts
            if self.penalties.repetition != 1:
                r = self.penalties.repetition
                shrunk = paddle.where(logits > 0, logits / r, logits * r)
                logits = paddle.where(seen > 0, shrunk, logits)
            return logits

        @convert
        def step(self, logits, greedy=False):
            logits = self.penalise(logits)
            if greedy:
                token = logits.argmax(axis=-1)
            else:
                token = paddle.multinomial(F.softmax(logits, axis=-1)).squeeze(-1)
            self.observe(token)
            self.log.append(token)
            return token

    table = bigram(6, seed=13)
    settings = (
        None,
        Penalties(presence=1.0),
        Penalties(frequency=0.8),
        Penalties(0.2, 0.3, repetition=1.5),
    )
    for penalties in settings:
        paddle.seed(23)
        run = Generation(vocab=6, penalties=penalties)
        token = paddle.to_tensor([0, 3])
        for t in range(5):
            token = run.step(table[token], greedy=t % 2 == 0)
        yield paddle.stack(run.log, axis=-1), run.counts, len(run.log)


@program
def mirostat_sampling(convert):
    """Mirostat 2: the surprise limit follows the observed surprise."""

    class Mirostat:
        def __init__(self, tau=2.0, rate=0.3):
            self.tau = tau
            self.rate = rate
            self.mu = paddle.to_tensor(2.0 * tau)

        @convert
        def sample(self, logits):
            p = F.softmax(logits, axis=-1)
            surprise = -paddle.log(p) / math.log(2.0)
            allowed = surprise <= self.mu
            if not allowed.any():
                allowed = surprise <= surprise.min()
            kept = p * allowed.astype(p.dtype)
            kept = kept / kept.sum()
            token = paddle.multinomial(kept, num_samples=1)
            observed = -paddle.log(kept[token]) / math.log(2.0)
            self.mu = self.mu - self.rate * (observed.squeeze() - self.tau)
            return token, observed, allowed.sum()

    table = bigram(15, seed=15, scale=1.0)
    for tau in (0.5, 2.0, 3.5):
        paddle.seed(31)
        chooser = Mirostat(tau=tau)
        token = paddle.to_tensor([0])
        trace = []
        for _ in range(6):
            token, observed, allowed = chooser.sample(table[token[0]])
            trace.append((token, observed, allowed))
        yield trace, chooser.mu


@program
def contrastive_search(convert):
    """Among the top k, the word whose state resembles the context least is preferred."""

    class TinyLM(nn.Layer):
        def __init__(self, vocab=10, dim=6):
            super().__init__()
            self.embedding = nn.Embedding(vocab, dim)
            self.rnn = nn.GRU(dim, dim)
            self.head = nn.Linear(dim, vocab)

        def forward(self, ids, state=None):
            hidden, state = self.rnn(self.embedding(ids), state)
            return self.head(hidden) * 3, hidden, state

    model = TinyLM()
    model.eval()

    def degeneration(context, candidates):
        context = F.normalize(context, axis=-1)
        candidates = F.normalize(candidates, axis=-1)
        return paddle.matmul(candidates, context, transpose_y=True).max(axis=-1)

    @convert
    @paddle.no_grad()
    def search(ids, k=3, alpha=0.6, max_new=4, eos=None):
        logits, hidden, state = model(ids)
        context = hidden[0]
        scores = []
        for _ in range(max_new):
            p, words = paddle.topk(F.softmax(logits[0, -1], axis=-1), k=k)
            wide = paddle.tile(state, repeat_times=[1, k, 1])
            next_logits, next_hidden, next_state = model(words.unsqueeze(-1), wide)
            penalty = degeneration(context, next_hidden[:, 0])
            value = (1 - alpha) * p - alpha * penalty
            best = paddle.argmax(value)
            scores.append(value[best])
            ids = paddle.concat([ids, words[best].reshape([1, 1])], axis=1)
            if eos is not None and words[best] == eos:
                break
            context = paddle.concat([context, next_hidden[best]], axis=0)
            state = next_state[:, best].unsqueeze(1)
            logits = next_logits[best].unsqueeze(0)
        return ids, scores, context.shape

    yield search(paddle.to_tensor([[1, 2, 3]]))
    yield search(paddle.to_tensor([[4, 5]]), k=5, alpha=0.1)
    yield search(paddle.to_tensor([[6]]), alpha=0.0, eos=3)
    yield search(paddle.to_tensor([[1, 2, 3, 9]]), k=2, max_new=6, eos=8)


@program
def decoding_constrained_by_an_automaton(convert):
    """A finite automaton (numbers with an optional fraction) masks the vocabulary at each step."""

    class Automaton:
        DIGITS, DOT, END = range(5), 5, 6

        def __init__(self):
            table = -np.ones((4, 7), dtype="int64")
            table[0, :5] = 1
            table[1, :5] = 1
            table[1, self.DOT] = 2
            table[1, self.END] = 3
            table[2, :5] = 2
            table[2, self.END] = 3
            table[3, self.END] = 3
            self.table = paddle.to_tensor(table)

        def mask(self, state):
            return self.table[state] >= 0

        def move(self, state, token):
            after = self.table[state, token]
            assert (after >= 0).all(), "the automaton has no such transition"
            return after

    automaton = Automaton()
    table = bigram(7, seed=19)

    @convert
    def generate(rows, max_len=7, sample=True, temperature=1.0):
        state = paddle.zeros([rows], dtype="int64")
        token = paddle.zeros([rows], dtype="int64")
        produced = []
        for step in range(max_len):
            logits = table[token] / temperature
            logits = paddle.where(automaton.mask(state), logits, paddle.full_like(logits, -1e9))
            if sample:
                token = paddle.multinomial(F.softmax(logits, axis=-1)).flatten()
            else:
                token = logits.argmax(-1)
            state = automaton.move(state, token)
            produced.append(token)
            if (state == 3).all():
                break
        return paddle.stack(produced, axis=1), state, len(produced)

    paddle.seed(2)
    for rows in (1, 3):
        yield generate(rows)
        yield generate(rows, sample=False)
    yield generate(2, max_len=4, temperature=3.0)

    @convert
    def replay(tokens):
        state = paddle.to_tensor([0])
        for i in range(tokens.shape[0]):
            state = automaton.move(state, tokens[i : i + 1])
        return state

    yield replay(paddle.to_tensor([1, 2, 5, 3, 6]))
    yield attempt(lambda: replay(paddle.to_tensor([5, 1])))
    yield replay(paddle.to_tensor([4, 6, 6]))


@program
def speculative_sampling(convert):
    """A draft model proposes, the target model accepts by ratio and resamples the rest."""
    draft_table = bigram(8, seed=25, scale=1.0)
    target_table = bigram(8, seed=26, scale=1.0)

    def propose(last, count):
        tokens, probs = [], []
        for _ in range(count):
            p = F.softmax(draft_table[last], axis=-1)
            last = paddle.multinomial(p, num_samples=1)[0]
            tokens.append(last)
            probs.append(p)
        return tokens, probs

    def residual(p, q):
        rest = F.relu(p - q)
        total = rest.sum()
        if total > 1e-8:
            return rest / total
        return p

    @convert
    def round_of(ids, gamma=3, uniforms=None):
        tokens, draft = propose(ids[-1], gamma)
        accepted = paddle.zeros([], dtype="int64")
        if uniforms is None:
            uniforms = paddle.uniform([gamma], min=0.0, max=1.0)
        previous = ids[-1]
        for i, token in enumerate(tokens):
            target = F.softmax(target_table[previous], axis=-1)
            ratio = target[token] / draft[i][token]
            if uniforms[i] > ratio:
                replacement = paddle.multinomial(residual(target, draft[i]), 1)
                return paddle.concat([ids, replacement]), accepted
            ids = paddle.concat([ids, token.reshape([1])])
            accepted += 1
            previous = token
        bonus = paddle.multinomial(F.softmax(target_table[previous], axis=-1), 1)
        return paddle.concat([ids, bonus]), accepted

    paddle.seed(13)
    ids = paddle.to_tensor([1])
    rates = []
    for round_index in range(4):
        ids, accepted = round_of(ids, gamma=2 + round_index % 2)
        rates.append(accepted)
        yield ids
    yield rates
    yield round_of(paddle.to_tensor([0, 1, 2]), uniforms=paddle.to_tensor([0.0, 0.0, 0.0]))
    yield round_of(paddle.to_tensor([0, 1, 2]), uniforms=paddle.to_tensor([0.0, 5.0, 0.0]))


@program
def guided_decoding_with_stop_sequences(convert):
    """Classifier-free guidance between a conditional and a plain model; stops at a suffix."""

    class Guided(nn.Layer):
        def __init__(self, vocab=7, dim=6):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.condition = nn.Linear(3, dim)
            self.mix = nn.Linear(dim, dim)
            self.head = nn.Linear(dim, vocab)

        def logits(self, ids, condition=None):
            h = self.embed(ids).mean(axis=1)
            if condition is not None:
                h = h + self.condition(condition)
            return self.head(F.gelu(self.mix(h))) * 5

        def forward(self, ids, condition, scale=1.5, max_new=6, stops=()):
            found = None
            for step in range(max_new):
                plain = F.log_softmax(self.logits(ids), axis=-1)
                if scale == 1:
                    guided = self.logits(ids, condition=condition)
                else:
                    conditional = F.log_softmax(self.logits(ids, condition=condition), axis=-1)
                    guided = plain + scale * (conditional - plain)
                token = paddle.multinomial(F.softmax(guided, axis=-1), num_samples=1)
                ids = paddle.concat([ids, token], axis=1)
                for stop in stops:
                    if ids.shape[1] < len(stop):
                        continue
                    tail = ids[:, -len(stop) :]
                    if (tail == paddle.to_tensor(list(stop))).all():
                        found = step
                        break
                if found is not None:
                    break
            return ids, found

    paddle.seed(101)
    model = Guided()
    model = convert(model)
    condition = paddle.to_tensor([[1.0, -1.0, 0.5]])
    prompt = paddle.to_tensor([[0, 1]])
    with paddle.no_grad():
        for scale in (0.0, 1, 3.0):
            paddle.seed(7)
            yield model(prompt, condition, scale=scale)
        for first in range(3):
            paddle.seed(first)
            yield model(prompt, condition, stops=((3,), (1, 1), (first, 4)))
        yield model(paddle.to_tensor([[2, 3, 4]]), -condition, max_new=3, stops=[(4, 4, 4)])


@program
def sampling_with_a_preallocated_cache(convert):
    """Keys and values are written into fixed buffers at a moving position; eos ends the loop."""

    class CachedAttention(nn.Layer):
        def __init__(self, dim, max_len):
            super().__init__()
            self.proj = nn.Linear(dim, 3 * dim)
            self.register_buffer("keys", paddle.zeros([max_len, dim]))
            self.register_buffer("values", paddle.zeros([max_len, dim]))
            self.register_buffer("position", paddle.zeros([1], dtype="int64"))
            self.max_len, self.dim = max_len, dim

        def reset(self):
            self.keys.zero_()
            self.values.zero_()
            self.position.zero_()

        def forward(self, x):
            q, k, v = self.proj(x).split(3, axis=-1)
            self.keys[self.position] = k
            self.values[self.position] = v
            visible = paddle.arange(self.max_len) <= self.position
            scores = paddle.matmul(self.keys, q.T).squeeze(-1) / self.dim**0.5
            scores = paddle.where(visible, scores, paddle.full_like(scores, -1e9))
            self.position.add_(paddle.ones([1], dtype="int64"))
            return paddle.matmul(F.softmax(scores, axis=-1).unsqueeze(0), self.values)

    class Generator(nn.Layer):
        def __init__(self, vocab=8, dim=4, max_len=10):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.attention = CachedAttention(dim, max_len)
            self.head = nn.Linear(dim, vocab)

        def forward(self, first, steps=5, eos=0, sample=True):
            token = first
            out = []
            for _ in range(steps):
                h = self.attention(self.embed(token))
                logits = 4 * self.head(h + self.embed(token))
                if sample:
                    token = paddle.multinomial(F.softmax(logits, -1), num_samples=1)[0]
                else:
                    token = logits.argmax(axis=-1)
                out.append(token)
                if token == eos:
                    break
            return paddle.concat(out)

    model = Generator()
    model.eval()
    convert(model)
    with paddle.no_grad():
        for seed in (0, 1):
            paddle.seed(seed)
            model.attention.reset()
            yield model(paddle.to_tensor([3]))
            yield model(paddle.to_tensor([2]), steps=3, eos=5)
            yield model.attention.position.clone(), model.attention.keys.clone()
        model.attention.reset()
        yield model(paddle.to_tensor([1]), sample=False, eos=7)
        yield model.attention.position.clone()


@program
def streaming_generation_with_callbacks(convert):
    """A generation loop that tells its listeners of each token; temperature anneals, and a
    window of recent tokens is avoided."""

    class Listener:
        def on_token(self, step, token, logp):
            pass

        def on_end(self, total):
            pass

    class Recorder(Listener):
        def __init__(self):
            self.tokens, self.logps, self.total = [], [], None

        def on_token(self, step, token, logp):
            self.tokens.append(token)
            self.logps.append(logp)

        def on_end(self, total):
            self.total = total

    class Printer(Listener):
        def on_token(self, step, token, logp):
            print(f"[{step}] {int(token)} ({float(logp):.2f})")

    def annealed(step, start=1.5, end=0.5, steps=6):
        return max(end, start - (start - end) * step / steps)

    table = bigram(9, seed=29)

    @convert
    def stream(first, steps=6, window=2, listeners=()):
        recent = deque(maxlen=window)
        token = first
        total = paddle.zeros([])
        for step in range(steps):
            logits = table[token].clone()
            for old in recent:
                logits[old] = -1e9
            logp = F.log_softmax(logits / annealed(step), axis=-1)
            token = paddle.multinomial(logp.exp(), num_samples=1).squeeze()
            total = total + logp[token]
            recent.append(token)
            for listener in listeners:
                listener.on_token(step, token, logp[token])
            if total < -12.0:
                break
        for listener in listeners:
            listener.on_end(total)
        return total

    for seed, window in ((0, 1), (1, 3), (2, 0)):
        paddle.seed(seed)
        recorder = Recorder()
        yield stream(paddle.to_tensor(0), window=window, listeners=[recorder])
        yield recorder.tokens, recorder.logps, recorder.total
    paddle.seed(5)
    yield stream(paddle.to_tensor(4), steps=3, listeners=[Printer()])
    yield stream(paddle.to_tensor(2), steps=12)
