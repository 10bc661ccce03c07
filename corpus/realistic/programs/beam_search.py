"""Beam search as people write it: scores, caches, blocking, groups, constraints, stop rules."""

import math
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Callable, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program

NEG_INF = -1e9


def transition_table(vocab, seed, scale=1.5):
    rng = np.random.RandomState(seed)
    return paddle.to_tensor(rng.randn(vocab, vocab).astype("float32") * scale)


@program
def beam_search_with_gnmt_penalty(convert):
    """Beams in a [batch, beam] grid; the finished ones compete under the GNMT length penalty."""

    class Searcher:
        def __init__(self, table, beam=3, bos=0, eos=1, alpha=0.6):
            self.table = table
            self.beam = beam
            self.bos = bos
            self.eos = eos
            self.alpha = alpha
            self.vocab = table.shape[1]

        def penalty(self, length):
            return ((5.0 + length) / 6.0) ** self.alpha

        def expand(self, scores, last, finished):
            logp = F.log_softmax(self.table[last], axis=-1)
            frozen = paddle.full(shape=[self.vocab], fill_value=NEG_INF)
            frozen[self.eos] = 0.0
            logp = paddle.where(finished.unsqueeze(-1), frozen, logp)
            return scores.unsqueeze(-1) + logp

        @convert
        def search(self, batch, max_len=8):
            tokens = paddle.full(shape=[batch, self.beam, 1], fill_value=self.bos, dtype="int64")
            scores = paddle.full(shape=[batch, self.beam], fill_value=NEG_INF)
            scores[:, 0] = 0.0
            finished = paddle.zeros(shape=[batch, self.beam], dtype="bool")
            lengths = paddle.ones(shape=[batch, self.beam])
            for step in range(max_len):
                total = self.expand(scores, tokens[:, :, -1], finished)
                grown = lengths + (~finished).astype("float32")
                normed = total / self.penalty(grown).unsqueeze(-1)
                _, flat = paddle.topk(normed.reshape([batch, -1]), k=self.beam, axis=-1)
                parent = flat // self.vocab
                word = flat % self.vocab
                scores = paddle.take_along_axis(total.reshape([batch, -1]), flat, axis=1)
                lengths = paddle.take_along_axis(grown, parent, axis=1)
                finished = paddle.take_along_axis(finished.astype("int32"), parent, axis=1)
                finished = finished.astype("bool") | (word == self.eos)
                index = parent.unsqueeze(-1).expand([batch, self.beam, tokens.shape[-1]])
                tokens = paddle.take_along_axis(tokens, index, axis=1)
                tokens = paddle.concat(x=[tokens, word.unsqueeze(-1)], axis=-1)
                if finished.all():
                    break
            return tokens, scores / self.penalty(lengths), finished

    table = transition_table(7, seed=11)
    for alpha in (0.0, 0.6, 1.2):
        searcher = Searcher(table, alpha=alpha)
        yield searcher.search(2)
        yield searcher.search(batch=1, max_len=3)
    yield Searcher(table, beam=2, eos=4).search(3, max_len=5)


@program
def beam_search_with_ngram_blocking(convert):
    """No n-gram may occur twice in a hypothesis; the banned words come by comparing windows."""
    vocab = 6
    table = transition_table(vocab, seed=5, scale=2.5)

    def banned_words(ids, n):
        """[rows, vocab] mask of the words that would repeat an n-gram of the row."""
        rows, length = ids.shape
        mask = paddle.zeros(shape=[rows, vocab], dtype="float32")
        if length < n:
            return mask
        prefix = ids[:, length - n + 1 :]
        for start in range(length - n + 1):
            window = ids[:, start : start + n - 1]
            same = (window == prefix).all(axis=-1)
            following = F.one_hot(ids[:, start + n - 1], num_classes=vocab)
            mask = mask + following * same.astype("float32").unsqueeze(-1)
        return (mask > 0).astype("float32")

    @convert
    def search(bos, beam=2, max_len=9, no_repeat=2, eos=None, verbose=False):
        ids = paddle.to_tensor([[bos]] * beam, dtype="int64")
        scores = paddle.to_tensor([0.0] + [NEG_INF] * (beam - 1))
        history = []
        for step in range(max_len):
            logp = F.log_softmax(table[ids[:, -1]], axis=-1)
            if no_repeat:
                logp = logp + banned_words(ids, no_repeat) * NEG_INF
            candidates = (scores.unsqueeze(1) + logp).flatten()
            scores, flat = paddle.topk(candidates, k=beam)
            parent, word = flat // vocab, flat % vocab
            ids = paddle.concat(
                x=[paddle.index_select(ids, parent, axis=0), word.unsqueeze(1)], axis=1
            )
            history.append(scores[0])
            if verbose:
                print(f"step {step}: best {float(scores[0]):.3f}")
            if scores[0] < NEG_INF / 2:
                break
            if eos is not None and (ids[0, -1] == eos).all():
                break
        return ids, scores, history

    yield search(0)
    yield search(0, no_repeat=0)
    yield search(2, no_repeat=3, beam=3)
    yield search(3, no_repeat=2, eos=1, verbose=True)
    yield search(1, no_repeat=1, max_len=8)


@program
def beam_search_with_tuple_caches(convert):
    """A two-layer decoder whose caches are a list of (key, value), reordered with the beams."""

    class Block(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.qkv = nn.Linear(dim, 3 * dim)
            self.out = nn.Linear(dim, dim)
            self.norm = nn.LayerNorm(dim)
            self.dim = dim

        def forward(self, x, cache=None):
            q, k, v = paddle.split(self.qkv(self.norm(x)), num_or_sections=3, axis=-1)
            if cache is not None:
                past_k, past_v = cache
                k = paddle.concat(x=[past_k, k], axis=1)
                v = paddle.concat(x=[past_v, v], axis=1)
            weights = F.softmax(
                paddle.matmul(q, k, transpose_y=True) / math.sqrt(self.dim), axis=-1
            )
            return x + self.out(paddle.matmul(weights, v)), (k, v)

    class Decoder(nn.Layer):
        def __init__(self, vocab=9, dim=8, depth=2):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.blocks = nn.LayerList([Block(dim) for _ in range(depth)])
            self.head = nn.Linear(dim, vocab)

        def forward(self, ids, caches=None):
            x = self.embed(ids)
            new_caches = []
            for i, block in enumerate(self.blocks):
                x, cache = block(x, cache=None if caches is None else caches[i])
                new_caches.append(cache)
            return self.head(x[:, -1]), new_caches

    model = Decoder()
    model.eval()

    def reorder(caches, parents):
        return [
            tuple(paddle.index_select(part, index=parents, axis=0) for part in layer)
            for layer in caches
        ]

    @convert
    @paddle.no_grad()
    def generate(prompt, num_beams=3, max_new_tokens=5, eos_token_id=2):
        logits, caches = model(prompt)
        vocab = logits.shape[-1]
        scores, words = paddle.topk(F.log_softmax(logits[0], axis=-1), k=num_beams)
        caches = reorder(caches, paddle.zeros(shape=[num_beams], dtype="int64"))
        sequences = words.unsqueeze(-1)
        done = words == eos_token_id
        for _ in range(max_new_tokens - 1):
            logits, caches = model(sequences[:, -1:], caches=caches)
            logp = F.log_softmax(logits, axis=-1)
            stay = paddle.full_like(logp, NEG_INF)
            stay[:, eos_token_id] = 0.0
            logp = paddle.where(done.unsqueeze(-1), stay, logp)
            scores, flat = paddle.topk((scores.unsqueeze(-1) + logp).flatten(), k=num_beams)
            parents, words = flat // vocab, flat % vocab
            sequences = paddle.concat(x=[sequences[parents], words.unsqueeze(-1)], axis=-1)
            done = paddle.logical_or(done[parents], words == eos_token_id)
            caches = reorder(caches, parents)
            if bool(done.all()):
                break
        return sequences, scores, caches

    for prompt in ([[3, 4]], [[5]], [[1, 2, 3, 4]]):
        sequences, scores, caches = generate(paddle.to_tensor(prompt))
        yield sequences, scores, [k.shape for k, _ in caches], caches[-1][1]
    yield generate(paddle.to_tensor([[7, 7]]), num_beams=2, max_new_tokens=3)[:2]
    yield generate(paddle.to_tensor([[7, 7]]), eos_token_id=6)[:2]


@program
def beam_search_with_a_hypothesis_pool(convert):
    """The finished hypotheses wait in a pool; the search stops when no open beam can still win."""

    class Pool:
        def __init__(self, size, penalty=1.0, early_stopping=False):
            self.size = size
            self.penalty = penalty
            self.early_stopping = early_stopping
            self.items = []
            self.worst = 1e9

        def __len__(self):
            return len(self.items)

        def add(self, ids, log_prob):
            score = log_prob / (len(ids) ** self.penalty)
            if len(self) < self.size or score > self.worst:
                self.items.append((score, ids))
                if len(self) > self.size:
                    self.items = sorted(self.items, key=lambda item: item[0])[1:]
                self.worst = min(item[0] for item in self.items)

        def is_done(self, best, length):
            if len(self) < self.size:
                return False
            if self.early_stopping:
                return True
            return self.worst >= best / length**self.penalty

    table = transition_table(8, seed=21)

    @convert
    def search(start, beam=3, max_len=7, eos=0, penalty=1.0, early_stopping=False):
        pool = Pool(size=beam, penalty=penalty, early_stopping=early_stopping)
        rows = [[start] for _ in range(beam)]
        scores = [0.0] + [-1e9] * (beam - 1)
        vocab = table.shape[-1]
        steps = 0
        for step in range(1, max_len + 1):
            steps = step
            last = paddle.to_tensor([row[-1] for row in rows])
            logp = F.log_softmax(table[last], axis=-1)
            total = logp + paddle.to_tensor(scores).unsqueeze(-1)
            values, flat = paddle.topk(total.flatten(), k=2 * beam)
            fresh = []
            for value, index in zip(values.tolist(), flat.tolist()):
                parent, word = divmod(index, vocab)
                if word == eos:
                    pool.add(rows[parent] + [word], value)
                else:
                    fresh.append((rows[parent] + [word], value))
                if len(fresh) == beam:
                    break
            rows = [row for row, _ in fresh]
            scores = [score for _, score in fresh]
            if pool.is_done(best=scores[0], length=step + 1):
                break
        if not pool.items:
            for row, score in zip(rows, scores):
                pool.add(row, score)
        best = sorted(pool.items, key=lambda item: item[0], reverse=True)
        return best, steps

    yield search(3)
    yield search(3, early_stopping=True)
    yield search(5, beam=2, penalty=0.0)
    yield search(1, beam=4, max_len=3, eos=7)


@program
def diverse_beam_search_in_groups(convert):
    """Groups of beams choose in turn; a word taken by an earlier group costs a penalty."""
    vocab = 8
    table = transition_table(vocab, seed=31)

    @dataclass
    class Group:
        tokens: paddle.Tensor
        scores: paddle.Tensor
        chosen: List[paddle.Tensor] = field(default_factory=list)

    def start_group(bos, width):
        tokens = paddle.full(shape=[width, 1], fill_value=bos, dtype="int64")
        scores = paddle.concat([paddle.zeros([1]), paddle.full([width - 1], NEG_INF)])
        return Group(tokens=tokens, scores=scores)

    def advance(group, taken, strength):
        logp = F.log_softmax(table[group.tokens[:, -1]], axis=-1)
        biased = logp - strength * taken
        picked, flat = paddle.topk(
            (group.scores.unsqueeze(-1) + biased).flatten(), k=group.scores.shape[0]
        )
        parent, word = flat // vocab, flat % vocab
        total = (group.scores.unsqueeze(-1) + logp).flatten()
        group.scores = paddle.gather(total, index=flat)
        group.tokens = paddle.concat(
            x=[paddle.gather(group.tokens, index=parent), word.unsqueeze(-1)], axis=-1
        )
        group.chosen.append(word)
        return word

    @convert
    def search(bos, groups=2, width=2, max_len=4, strength=0.5):
        beams = [start_group(bos, width) for _ in range(groups)]
        overlaps = []
        for step in range(max_len):
            taken = paddle.zeros(shape=[vocab])
            for group in beams:
                word = advance(group, taken, strength)
                taken = taken + F.one_hot(word, num_classes=vocab).sum(axis=0)
            overlaps.append((taken > 1).astype("int64").sum())
        tokens = paddle.concat([group.tokens for group in beams], axis=0)
        scores = paddle.concat([group.scores for group in beams], axis=0)
        order = paddle.argsort(scores, descending=True)
        return dict(tokens=tokens[order], scores=scores[order], overlaps=overlaps), beams

    for strength in (0.0, 0.5, 5.0):
        result, beams = search(1, strength=strength)
        yield result, beams[0].chosen
    yield search(4, groups=3, width=2, max_len=3)
    yield search(2, groups=2, width=3)[0]


@program
def beam_search_with_logits_processors(convert):
    """A list of processors changes the scores before the beams are chosen."""

    class Processor:
        def __call__(self, ids, logits):
            raise NotImplementedError

    class MinLength(Processor):
        def __init__(self, min_length, eos):
            self.min_length, self.eos = min_length, eos

        def __call__(self, ids, logits):
            if ids.shape[-1] < self.min_length:
                logits = logits.clone()
                logits[:, self.eos] = NEG_INF
            return logits

    class RepetitionPenalty(Processor):
        def __init__(self, penalty):
            assert penalty > 0, f"penalty must be positive, got {penalty}"
            self.penalty = penalty

        def __call__(self, ids, logits):
            seen = paddle.take_along_axis(logits, ids, axis=1)
            seen = paddle.where(seen < 0, seen * self.penalty, seen / self.penalty)
            return paddle.put_along_axis(logits, ids, seen, axis=1)

    class ForcedLast(Processor):
        def __init__(self, max_length, eos):
            self.max_length, self.eos = max_length, eos

        def __call__(self, ids, logits):
            if ids.shape[-1] != self.max_length - 1:
                return logits
            forced = paddle.full_like(logits, fill_value=NEG_INF)
            forced[:, self.eos] = 0.0
            return forced

    class ProcessorList(list):
        def __call__(self, ids, logits):
            for processor in self:
                logits = processor(ids, logits)
            return logits

    table = transition_table(7, seed=41)

    @convert
    def search(start, processors, beam=2, max_length=6, eos=3):
        ids = paddle.to_tensor([[start]] * beam)
        scores = paddle.to_tensor([0.0] + [NEG_INF] * (beam - 1))
        done = paddle.zeros(shape=[beam], dtype="bool")
        while ids.shape[-1] < max_length and not done.all():
            logits = processors(ids, table[ids[:, -1]])
            logp = F.log_softmax(logits, axis=-1)
            pad = paddle.where(
                paddle.arange(7) == eos, paddle.zeros([7]), paddle.full([7], NEG_INF)
            )
            logp = paddle.where(done.unsqueeze(-1), pad.unsqueeze(0), logp)
            scores, flat = (scores.unsqueeze(-1) + logp).reshape([-1]).topk(k=beam)
            ids = paddle.concat([ids[flat // 7], (flat % 7).unsqueeze(-1)], axis=-1)
            done = done[flat // 7] | (flat % 7 == eos)
        return ids, scores

    yield search(0, ProcessorList())
    yield search(0, ProcessorList([MinLength(4, eos=3)]))
    yield search(1, ProcessorList([RepetitionPenalty(1.8), ForcedLast(5, eos=3)]), max_length=5)
    yield search(
        2, ProcessorList([MinLength(3, 3), RepetitionPenalty(1.2), ForcedLast(8, 3)]), beam=3
    )
    try:
        RepetitionPenalty(-1.0)
    except AssertionError as error:
        yield str(error)


@program
def beam_search_constrained_by_a_trie(convert):
    """Only words of a trie may be produced; the beams carry their node in the trie."""

    class Trie:
        def __init__(self, vocab, words):
            self.children = [{}]
            self.vocab = vocab
            for word in words:
                self.insert(word)

        def insert(self, word):
            node = 0
            for token in word:
                if token not in self.children[node]:
                    self.children[node][token] = len(self.children)
                    self.children.append({})
                node = self.children[node][token]

        @property
        def table(self):
            rows = [[kids.get(t, -1) for t in range(self.vocab)] for kids in self.children]
            return paddle.to_tensor(rows, dtype="int64")

    def allowed_scores(logits, nodes, table):
        allowed = table[nodes] >= 0
        return paddle.where(allowed, F.log_softmax(logits, axis=-1), paddle.to_tensor(NEG_INF))

    @convert
    def search(model_table, trie_table, beam=2, max_len=4, bos=0):
        vocab = model_table.shape[-1]
        nodes = paddle.zeros(shape=[beam], dtype="int64")
        last = paddle.full(shape=[beam], fill_value=bos, dtype="int64")
        scores = paddle.to_tensor([0.0] + [NEG_INF] * (beam - 1))
        out, leaves = [], None
        for _ in range(max_len):
            leaves = (trie_table[nodes] < 0).all(axis=-1)
            if leaves.all():
                break
            step = allowed_scores(model_table[last], nodes, trie_table)
            keep = F.one_hot(paddle.zeros_like(nodes), vocab)
            step = paddle.where(leaves.unsqueeze(-1), (1.0 - keep) * NEG_INF, step)
            scores, flat = paddle.topk((scores.unsqueeze(-1) + step).flatten(), k=beam)
            parents, words = flat // vocab, flat % vocab
            was_leaf = leaves[parents]
            out = [row[parents] for row in out] + [paddle.where(was_leaf, -1, words)]
            moved = trie_table[nodes[parents], words]
            nodes = paddle.where(was_leaf, nodes[parents], moved)
            last = words
        return paddle.stack(out, axis=-1), scores, nodes

    trie = Trie(6, [(1, 2), (1, 3, 4), (5,), (2, 2, 2)])
    for seed in (0, 1, 2):
        yield search(transition_table(6, seed=seed), trie.table)
    yield search(transition_table(6, seed=3), trie.table, beam=4)
    trie.insert((1, 2, 5, 5))
    yield search(transition_table(6, seed=3), trie.table, beam=3, bos=2)


@program
def beam_search_with_back_pointers(convert):
    """Every step stores words and parents only; the sequences are read backwards at the end."""
    Step = namedtuple("Step", ["words", "parents", "scores"])

    class History:
        def __init__(self):
            self.steps = []

        def push(self, **kwargs):
            self.steps.append(Step(**kwargs))

        @property
        def depth(self):
            return len(self.steps)

        def backtrace(self):
            rows = []
            index = None
            for step in reversed(self.steps):
                if index is None:
                    index = paddle.arange(step.words.shape[0])
                rows.append(paddle.gather(step.words, index))
                index = paddle.gather(step.parents, index)
            return paddle.stack(rows[::-1], axis=1)

    cell = nn.GRUCell(input_size=6, hidden_size=6)
    embed = nn.Embedding(9, 6)
    head = nn.Linear(6, 9)

    def score_next(words, hidden):
        hidden, _ = cell(embed(words), hidden)
        return F.log_softmax(head(hidden) * 4.0, axis=-1), hidden

    @convert
    def search(encoded, beam=3, max_steps=6, eos=1, patience=None):
        history = History()
        hidden = paddle.tile(encoded.unsqueeze(0), repeat_times=[beam, 1])
        words = paddle.zeros([beam], dtype="int64")
        scores = paddle.full([beam], NEG_INF)
        scores[0] = 0.0
        best, stale = None, 0
        for step in range(max_steps):
            logp, hidden = score_next(words, hidden)
            scores, flat = paddle.topk((scores[:, None] + logp).reshape([-1]), k=beam)
            parents, words = flat // 9, flat % 9
            hidden = hidden[parents]
            history.push(words=words, parents=parents, scores=scores)
            average = scores[0] / (step + 1)
            if best is None or average > best:
                best, stale = average, 0
            else:
                stale += 1
            if patience is not None and stale >= patience:
                break
            if words[0] == eos:
                break
        return history.backtrace(), [s.scores for s in history.steps], history.depth, best

    for seed in range(3):
        encoded = paddle.to_tensor(np.random.RandomState(seed).randn(6).astype("float32"))
        with paddle.no_grad():
            yield search(encoded)
            yield search(encoded, patience=2, eos=-1)
    yield search(paddle.ones([6]), beam=2, max_steps=3)


@program
def beam_search_with_coverage(convert):
    """A seq2seq step with attention; hypotheses that neglect the source are punished."""

    class Attention(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.query = nn.Linear(dim, dim, bias_attr=False)

        def forward(self, state, memory, mask=None):
            scores = paddle.matmul(memory, self.query(state).unsqueeze(-1)).squeeze(-1)
            if mask is not None:
                scores = scores + (1.0 - mask) * NEG_INF
            weights = F.softmax(scores, axis=-1)
            return paddle.matmul(weights.unsqueeze(1), memory).squeeze(1), weights

    class Translator(nn.Layer):
        def __init__(self, vocab=8, dim=6, beam=2, beta=0.3):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.attend = Attention(dim)
            self.update = nn.Linear(2 * dim, dim)
            self.head = nn.Linear(dim, vocab)
            self.beam, self.beta, self.vocab = beam, beta, vocab

        def coverage_penalty(self, coverage, mask):
            clipped = paddle.clip(coverage, min=1e-4, max=1.0)
            return self.beta * (paddle.log(clipped) * mask).sum(axis=-1)

        def forward(self, source, lengths=None, max_len=5, eos=0):
            memory = self.embed(source).tile([self.beam, 1, 1])
            mask = paddle.ones([self.beam, source.shape[1]])
            if lengths is not None:
                mask = (paddle.arange(source.shape[1]) < lengths).astype("float32")
                mask = mask.unsqueeze(0).expand([self.beam, -1])
            state = memory.mean(axis=1)
            ids = paddle.full([self.beam, 1], eos, dtype="int64")
            scores = paddle.to_tensor([0.0] + [NEG_INF] * (self.beam - 1))
            coverage = paddle.zeros_like(mask)
            trail = {"best": [], "coverage": []}
            for _ in range(max_len):
                context, weights = self.attend(state, memory, mask=mask)
                state = self.update(paddle.concat([self.embed(ids[:, -1]), context], -1)).tanh()
                logp = F.log_softmax(self.head(state), axis=-1)
                coverage = coverage + weights
                rank = (scores + self.coverage_penalty(coverage, mask)).unsqueeze(-1) + logp
                _, flat = rank.flatten().topk(self.beam)
                parent = flat // self.vocab
                scores = (scores.unsqueeze(-1) + logp).flatten()[flat]
                ids = paddle.concat([ids[parent], (flat % self.vocab).unsqueeze(-1)], axis=-1)
                state, coverage = state[parent], coverage[parent]
                trail["best"].append(scores.max())
                trail["coverage"].append(coverage.min(axis=-1))
                if (ids[:, -1] == eos).all():
                    break
            return ids, scores, trail

    model = convert(Translator())
    model.eval()
    rng = np.random.RandomState(4)
    for length in (3, 5, 4):
        source = paddle.to_tensor(rng.randint(1, 8, (1, length)))
        yield model(source)
        yield model(source, lengths=paddle.to_tensor(2), max_len=3)
    model.beta = 0.0
    yield model(source, eos=5)


@program
def stochastic_beam_search(convert):
    """Sampling without replacement: perturbed log-probabilities (Gumbel top-k) down the tree."""
    vocab = 6
    table = transition_table(vocab, seed=61)

    def gumbel_like(x):
        uniform = paddle.uniform(shape=x.shape, min=1e-6, max=1.0 - 1e-6)
        return -paddle.log(-paddle.log(uniform))

    def conditional_gumbel(phi, target):
        """Gumbels with location phi whose maximum along the row is the target."""
        noisy = phi + gumbel_like(phi)
        top = noisy.max(axis=-1, keepdim=True)
        v = target - noisy + paddle.log1p(-paddle.exp(paddle.clip(noisy - top, max=-1e-6)))
        return target - F.relu(v) - paddle.log1p(paddle.exp(-paddle.abs(v)))

    @convert
    def sample(start: int, k: int = 3, length: int = 4, temperature: Optional[float] = None):
        ids = paddle.full([1, 1], start, dtype="int64")
        phi = paddle.zeros([1, 1])
        perturbed = paddle.zeros([1, 1])
        for _ in range(length):
            logits = table[ids[:, -1]]
            if temperature is not None:
                logits = logits / temperature
            child_phi = phi + F.log_softmax(logits, axis=-1)
            child = conditional_gumbel(child_phi, perturbed)
            count = min(k, child.shape[0] * vocab)
            values, flat = paddle.topk(child.flatten(), k=count)
            parent = flat // vocab
            ids = paddle.concat([ids[parent], (flat % vocab).unsqueeze(-1)], axis=1)
            phi = child_phi.flatten()[flat].unsqueeze(-1)
            perturbed = values.unsqueeze(-1)
        return ids, phi.squeeze(-1), perturbed.squeeze(-1)

    for seed, k in ((1, 2), (2, 3), (3, 8)):
        paddle.seed(seed)
        yield sample(0, k=k)
        yield sample(4, k=k, temperature=0.5)
    paddle.seed(9)
    yield sample(2, length=2, temperature=2.0)


@program
def beam_search_over_a_model_callback(convert):
    """A general search: the step function, the state and the stop rule are the caller's."""

    @dataclass
    class SearchConfig:
        beam: int = 2
        max_len: int = 5
        eos: int = 0
        length_norm: Optional[Callable] = None
        threshold: Optional[float] = None

    def wu_norm(length):
        return ((5 + length) / 6) ** 0.9

    @convert
    def beam_search(step_fn, first_word, state, config=None):
        config = config or SearchConfig()
        logp, state = step_fn(first_word.reshape([1]), state)
        vocab = logp.shape[-1]
        scores, words = paddle.topk(logp[0], k=config.beam)
        state = {key: value.expand([config.beam] + value.shape[1:]) for key, value in state.items()}
        sequences = [words]
        alive = words != config.eos
        for t in range(1, config.max_len):
            if not alive.any():
                break
            logp, state = step_fn(words, state)
            stop = paddle.full([vocab], NEG_INF)
            stop[config.eos] = 0.0
            logp = paddle.where(alive.unsqueeze(-1), logp, stop)
            scores, flat = paddle.topk((scores.unsqueeze(-1) + logp).flatten(), k=config.beam)
            parents = flat // vocab
            words = flat % vocab
            sequences = [s[parents] for s in sequences] + [words]
            state = {key: paddle.gather(value, parents) for key, value in state.items()}
            alive = alive[parents] & (words != config.eos)
            if config.threshold is not None and scores[0] < config.threshold:
                break
        if config.length_norm is not None:
            lengths = sum((s != config.eos).astype("float32") for s in sequences) + 1.0
            scores = scores / config.length_norm(lengths)
        return paddle.stack(sequences, axis=1), scores, state

    cell = nn.SimpleRNNCell(5, 5)
    embed, head = nn.Embedding(7, 5), nn.Linear(5, 7)

    def rnn_step(words, state):
        out, hidden = cell(embed(words), state["hidden"])
        return F.log_softmax(3 * head(out), -1), {"hidden": hidden, "count": state["count"] + 1}

    def unigram_step(words, state):
        return F.log_softmax(
            paddle.tile(state["bias"], [words.shape[0] // state["bias"].shape[0], 1]), -1
        ), state

    start = {"hidden": paddle.zeros([1, 5]), "count": paddle.zeros([1, 1])}
    yield beam_search(rnn_step, paddle.to_tensor(3), start)
    yield beam_search(
        rnn_step, paddle.to_tensor(2), start, SearchConfig(beam=3, length_norm=wu_norm)
    )
    yield beam_search(rnn_step, paddle.to_tensor(2), start, SearchConfig(threshold=-2.0, max_len=9))
    bias = {"bias": paddle.to_tensor([[0.1, 0.9, -0.3]])}
    yield beam_search(unigram_step, paddle.to_tensor(1), bias, config=SearchConfig(max_len=3))


@program
def ctc_prefix_beam_search(convert):
    """CTC prefixes in a dict from tuple to (blank, non-blank) log-probability, frame by frame."""

    def logadd(*values):
        top = max(values)
        if top == -float("inf"):
            return top
        return top + math.log(sum(math.exp(v - top) for v in values))

    @convert
    def decode(logits, beam=3, blank=0, prune=None):
        logp = F.log_softmax(logits, axis=-1)
        prefixes = {(): (0.0, -float("inf"))}
        for t in range(logp.shape[0]):
            frame = logp[t].tolist()
            grown = {}

            def update(prefix, p_blank, p_word, store=grown):
                old = store.get(prefix, (-float("inf"), -float("inf")))
                store[prefix] = (logadd(old[0], p_blank), logadd(old[1], p_word))

            for prefix, (p_b, p_w) in prefixes.items():
                for token, p in enumerate(frame):
                    if prune is not None and p < prune:
                        continue
                    if token == blank:
                        update(prefix, logadd(p_b, p_w) + p, -float("inf"))
                    elif prefix and token == prefix[-1]:
                        update(prefix, -float("inf"), p_w + p)
                        update(prefix + (token,), -float("inf"), p_b + p)
                    else:
                        update(prefix + (token,), -float("inf"), logadd(p_b, p_w) + p)
            ranked = sorted(grown.items(), key=lambda item: (-logadd(*item[1]), item[0]))
            prefixes = dict(ranked[:beam])
        best, parts = next(iter(prefixes.items()))
        return list(best), logadd(*parts), len(prefixes)

    rng = np.random.RandomState(8)
    for frames in (3, 5, 6):
        logits = paddle.to_tensor(rng.randn(frames, 4).astype("float32") * 2)
        yield decode(logits)
        yield decode(logits, beam=1, prune=-2.5)
