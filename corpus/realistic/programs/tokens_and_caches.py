"""Merging, caching, accepting, sampling and blocking tokens."""

import math
from dataclasses import dataclass
from typing import Dict, Optional, Set, Tuple

import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import attempt, program

MERGES: Dict[Tuple[int, int], Tuple[int, int]] = {
    (1, 2): (0, 10),
    (3, 3): (1, 11),
    (10, 11): (2, 12),
    (2, 1): (3, 13),
    (12, 10): (4, 14),
}


def best_pair(ids) -> Optional[int]:
    best, where = None, None
    for k, pair in enumerate(zip(ids, ids[1:])):
        entry = MERGES.get(pair)
        if entry is not None and (best is None or entry[0] < best):
            best, where = entry[0], k
    return where


def bpe(ids: paddle.Tensor, limit: Optional[int] = None) -> paddle.Tensor:
    tokens = ids.tolist()
    merges = 0
    while len(tokens) > 1:
        where = best_pair(tokens)
        if where is None:
            break
        _, merged = MERGES[tuple(tokens[where : where + 2])]
        tokens[where : where + 2] = [merged]
        merges += 1
        if limit is not None and merges >= limit:
            print(f"stopped after {merges} merges: {tokens}")
            break
    return paddle.to_tensor(tokens)


@program
def bpe_merging(convert):
    """Byte-pair merging of token ids: the pair with the lowest rank is merged until none is left."""

    run = convert(bpe)
    yield run(paddle.to_tensor([1, 2, 3, 3, 1, 2]))
    yield run(paddle.to_tensor([2, 1, 2, 3, 3, 3]), limit=2)
    yield run(paddle.to_tensor([4, 4, 5]))


class CachedAttention(nn.Layer):
    def __init__(self, dim: int, heads: int, capacity: int):
        super().__init__()
        self.heads, self.head_dim, self.capacity = heads, dim // heads, capacity
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("keys", paddle.zeros([heads, capacity, self.head_dim]))
        self.register_buffer("values", paddle.zeros([heads, capacity, self.head_dim]))
        self.length = 0

    def reset(self):
        self.length = 0
        self.keys.zero_()
        self.values.zero_()

    def step(self, x):
        if self.length >= self.capacity:
            raise IndexError(f"cache of {self.capacity} is full")
        q, k, v = self.qkv(x).reshape([3, self.heads, self.head_dim]).unbind(0)
        self.keys[:, self.length] = k
        self.values[:, self.length] = v
        self.length += 1
        keys, values = self.keys[:, : self.length], self.values[:, : self.length]
        weights = F.softmax(
            (keys @ q.unsqueeze(-1)).squeeze(-1) / math.sqrt(self.head_dim), axis=-1
        )
        return self.out((weights.unsqueeze(-1) * values).sum(1).reshape([-1]))


class Generator(nn.Layer):
    def __init__(self, vocab=8, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attention = CachedAttention(dim, 2, 10)
        self.head = nn.Linear(dim, vocab)

    @paddle.no_grad()
    def forward(self, prompt, max_new: int = 5, eos: int = 3):
        self.attention.reset()
        for token in prompt:
            h = self.attention.step(self.embed(token))
        output = []
        for _ in range(max_new):
            token = self.head(h).argmax()
            if token == eos:
                break
            output.append(token)
            h = self.attention.step(self.embed(token))
        return paddle.stack(output) if output else paddle.zeros(
            [0], dtype="int64"
        ), self.attention.length


@program
def kv_cache_generation(convert):
    """Greedy generation with a preallocated key/value cache kept in buffers of the layer."""

    paddle.seed(8)
    model = convert(Generator())
    yield model(paddle.to_tensor([1, 2, 5]))
    yield model(paddle.to_tensor([4, 4]), max_new=7, eos=6)
    yield attempt(lambda: model(paddle.to_tensor([1, 2, 3, 4, 5, 6, 7]), max_new=9, eos=99))


class Bigram(nn.Layer):
    def __init__(self, vocab, seed):
        super().__init__()
        paddle.seed(seed)
        self.table = nn.Embedding(vocab, vocab)

    def forward(self, ids):
        return self.table(ids)


def propose(draft, last, k):
    tokens = []
    for _ in range(k):
        last = draft(last).argmax(-1)
        tokens.append(last)
    return paddle.stack(tokens)


def speculative(draft, target, start, length: int, k: int = 3):
    out = [start]
    stats = {"accepted": 0, "rejected": 0, "rounds": 0}
    while len(out) < length:
        stats["rounds"] += 1
        proposal = propose(draft, out[-1], k)
        context = paddle.concat([out[-1].reshape([1]), proposal[:-1]])
        wanted = target(context).argmax(-1)
        for i in range(k):
            if proposal[i] == wanted[i]:
                out.append(proposal[i])
                stats["accepted"] += 1
            else:
                out.append(wanted[i])
                stats["rejected"] += 1
                break
            if len(out) == length:
                break
    return paddle.stack(out), stats


@program
def speculative_decoding_of_bigrams(convert):
    """Speculative decoding: a cheap draft proposes a few tokens, the target accepts a prefix of them."""

    draft, target = Bigram(7, 1), Bigram(7, 2)
    near = Bigram(7, 2)
    near.table.weight.set_value(target.table.weight + 0.3 * draft.table.weight)
    run = convert(speculative)
    yield run(draft, target, paddle.to_tensor(2), 8)
    yield run(near, target, paddle.to_tensor(0), 9, k=4)
    yield run(target, target, paddle.to_tensor(5), 6, 2)


@dataclass(frozen=True)
class SamplingConfig:
    temperature: float = 1.0
    top_k: Optional[int] = None
    top_p: float = 1.0
    repetition_penalty: float = 1.0


def penalize(logits, seen, penalty):
    if penalty == 1.0 or not seen:
        return logits
    logits = logits.clone()
    for token in set(seen):
        value = logits[token]
        logits[token] = value / penalty if value > 0 else value * penalty
    return logits


def filter_logits(logits, config: SamplingConfig):
    if config.top_k is not None:
        threshold = logits.topk(config.top_k)[0][-1]
        logits = paddle.where(logits < threshold, paddle.full_like(logits, -1e9), logits)
    if config.top_p < 1.0:
        order = logits.argsort(descending=True)
        cumulative = F.softmax(logits[order], axis=-1).cumsum()
        for rank in range(len(cumulative)):
            if cumulative[rank] >= config.top_p:
                logits[order[rank + 1 :]] = -1e9
                break
    return logits


def sample(table, start, uniforms, config=SamplingConfig(), eos=0):
    tokens = [start]
    for u in uniforms:
        logits = penalize(table[tokens[-1]], tokens, config.repetition_penalty)
        if config.temperature == 0:
            token = int(logits.argmax())
        else:
            probs = F.softmax(filter_logits(logits / config.temperature, config), axis=-1)
            token = int((probs.cumsum() < u).sum())
        tokens.append(token)
        if token == eos:
            break
    return tokens


@program
def nucleus_sampling_with_penalties(convert):
    """Sampling step by step: temperature, repetition penalty, top-k, nucleus; the uniform numbers are given."""

    paddle.seed(21)
    table = paddle.randn([6, 6]) * 1.5
    uniforms = paddle.to_tensor([0.3, 0.8, 0.1, 0.55, 0.9])
    run = convert(sample)
    yield run(table, 2, uniforms)
    yield run(table, 3, uniforms, SamplingConfig(temperature=0.7, top_k=3, repetition_penalty=1.3))
    yield run(table, 1, uniforms, SamplingConfig(top_p=0.8))
    yield run(table, 4, uniforms, SamplingConfig(temperature=0, repetition_penalty=2.0))


class Trie:
    END = -1

    def __init__(self, phrases=()):
        self.root = {}
        for phrase in phrases:
            self.add(phrase)

    def add(self, phrase):
        node = self.root
        for token in phrase:
            node = node.setdefault(token, {})
        node[self.END] = True

    def allowed(self, prefix):
        node = self.root
        for token in prefix:
            node = node.get(token)
            if node is None:
                return []
        return [t for t in node if t != self.END]

    def complete(self, prefix):
        node = self.root
        for token in prefix:
            node = node[token]
        return self.END in node


def constrained_decode(logits_per_step, trie: Trie):
    prefix, total = [], paddle.zeros([])
    for logits in logits_per_step:
        options = trie.allowed(prefix)
        if not options:
            break
        mask = paddle.full_like(logits, float("-inf"))
        mask[options] = 0.0
        masked = logits + mask
        best = masked.argmax()
        if trie.complete(prefix) and masked[best] < 0:
            break
        total = total + masked[best]
        prefix.append(best.item())
    return prefix, total


@program
def phrases_of_a_trie_decoded(convert):
    """Greedy decoding constrained by a trie of allowed phrases."""

    trie = Trie([(1, 2), (1, 3, 4), (2, 2, 2), (5,)])
    run = convert(constrained_decode)
    paddle.seed(2)
    yield run(paddle.randn([4, 6]), trie)
    fixed = paddle.to_tensor([[0.0, 5, 1, 0, 0, 0], [0, 0, 1, 2, 0, 0], [0, 0, 0, 0, -3, 0]])
    yield run(fixed, trie)
    yield run(-fixed, trie)


class Decoder(nn.Layer):
    def __init__(self, vocab: int = 9, hidden: int = 8, eos: int = 1):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.head = nn.Linear(hidden, vocab)
        self.eos = eos

    def forward(self, state, start: int = 2, n: int = 2, min_length: int = 0, max_length: int = 12):
        seen: Set[Tuple[int, ...]] = set()
        tokens = [start]
        blocked = 0
        while len(tokens) < max_length:
            _, state = self.cell(self.embed(paddle.to_tensor([tokens[-1]])), state)
            logits = self.head(state)[0]
            if len(tokens) < min_length:
                logits[self.eos] = -1e9
            for candidate in logits.argsort(descending=True).tolist():
                gram = tuple(tokens[-(n - 1) :]) + (candidate,)
                if gram not in seen:
                    break
                blocked += 1
            else:
                print("no candidate left at", len(tokens))
                break
            seen.add(gram)
            tokens.append(candidate)
            if candidate == self.eos:
                break
        return tokens, blocked, state


@program
def ngram_blocking_decoder(convert):
    """Greedy decoding of a GRU that never repeats an n-gram, with a minimum length before the end token."""

    paddle.seed(14)
    decoder = convert(Decoder())
    yield decoder(paddle.zeros([1, 8]))
    yield decoder(paddle.randn([1, 8]) * 2, n=3, min_length=6)
    yield decoder(paddle.ones([1, 8]), start=4, max_length=5)
