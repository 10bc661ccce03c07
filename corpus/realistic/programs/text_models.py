"""Tokenisers, n-gram models, alignment and tagging on tensors of ids."""

import math
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass
from typing import Dict, List, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def byte_pair_merges_on_ids(convert):
    """Learning BPE merges by counting pairs, then encoding: the best rank is merged first."""

    class BPE:
        def __init__(self, base):
            self.base = base
            self.merges: Dict[Tuple[int, int], int] = {}

        @property
        def vocab_size(self):
            return self.base + len(self.merges)

        def pair_keys(self, ids):
            return ids[:-1] * 1000 + ids[1:]

        def apply_merge(self, ids, pair, new_id):
            """Replaces non-overlapping occurrences of the pair from the left."""
            hits = (ids[:-1] == pair[0]) & (ids[1:] == pair[1])
            keep = [paddle.ones([], dtype="bool")]
            values = []
            for i in range(ids.shape[0]):
                hit = hits[i] if i < ids.shape[0] - 1 else paddle.zeros([], dtype="bool")
                merged = hit & keep[-1]
                values.append(paddle.where(merged, paddle.full([], new_id, dtype="int64"), ids[i]))
                keep.append(~merged)
            keep = paddle.stack(keep[:-1])
            return paddle.stack(values)[keep]

        @convert
        def learn_one(self, ids):
            keys = self.pair_keys(ids)
            unique, counts = paddle.unique(keys, return_counts=True)
            best = counts.argmax()
            if counts[best] < 2:
                return ids, None
            key = unique[best]
            return self.apply_merge(ids, (key // 1000, key % 1000), self.vocab_size), key

        def train(self, ids, max_merges):
            for _ in range(max_merges):
                ids, key = self.learn_one(ids)
                if key is None:
                    break
                self.merges[divmod(int(key), 1000)] = self.vocab_size
            return ids

        @convert
        def encode(self, ids):
            for pair, new_id in self.merges.items():
                if ids.shape[0] < 2:
                    break
                ids = self.apply_merge(ids, pair, new_id)
            return ids

    corpus = paddle.to_tensor([1, 2, 1, 2, 3, 1, 2, 3, 3, 1, 2, 1, 2])
    bpe = BPE(base=4)
    yield bpe.train(corpus, max_merges=4), bpe.merges, bpe.vocab_size
    yield bpe.encode(paddle.to_tensor([1, 2, 1, 2, 3]))
    yield bpe.encode(paddle.to_tensor([3, 3, 3]))
    yield bpe.encode(paddle.to_tensor([2]))


@program
def interpolated_ngram_language_model(convert):
    """Counts in tensors, Jelinek-Mercer interpolation, perplexity and a sampler."""

    class NGramModel:
        def __init__(self, vocab, order=3, weights=None):
            self.vocab, self.order = vocab, order
            self.counts = [paddle.zeros([vocab ** (n - 1), vocab]) for n in range(1, order + 1)]
            self.weights = weights or [1.0 / order] * order
            assert math.isclose(sum(self.weights), 1.0), f"weights sum to {sum(self.weights)}"

        def context_index(self, context):
            index = paddle.zeros([], dtype="int64")
            for token in context:
                index = index * self.vocab + token
            return index

        @convert
        def fit(self, ids):
            for n in range(1, self.order + 1):
                table = self.counts[n - 1]
                for i in range(n - 1, ids.shape[0]):
                    row = self.context_index([ids[j] for j in range(i - n + 1, i)])
                    table[row, ids[i]] += 1.0
            return self

        def distribution(self, context):
            p = paddle.zeros([self.vocab])
            for n, (weight, table) in enumerate(zip(self.weights, self.counts), start=1):
                tail = context[len(context) - n + 1 :] if n > 1 else []
                if len(tail) < n - 1:
                    p = p + weight / self.vocab
                    continue
                row = table[self.context_index(tail)]
                total = row.sum()
                if total > 0:
                    p = p + weight * row / total
                else:
                    p = p + weight / self.vocab
            return p

        @convert
        def perplexity(self, ids):
            logs = []
            for i in range(ids.shape[0]):
                context = [ids[j] for j in range(max(0, i - self.order + 1), i)]
                logs.append(paddle.log(self.distribution(context)[ids[i]] + 1e-9))
            return paddle.exp(-paddle.stack(logs).mean())

        @convert
        def sample(self, start, length=5):
            tokens = list(start)
            for _ in range(length):
                p = self.distribution(tokens[-(self.order - 1) :])
                tokens.append(paddle.multinomial(p, num_samples=1)[0])
            return paddle.stack(tokens)

    rng = np.random.RandomState(0)
    for order, weights in ((2, None), (3, [0.2, 0.3, 0.5])):
        model = NGramModel(vocab=4, order=order, weights=weights)
        model.fit(paddle.to_tensor(rng.randint(0, 4, 9)))
        model.fit(paddle.to_tensor([0, 1, 2, 3, 0, 1, 2]))
        yield model.counts
        for n in (4, 6):
            yield model.perplexity(paddle.to_tensor(rng.randint(0, 4, n)))
        paddle.seed(3)
        yield model.sample([paddle.to_tensor(0), paddle.to_tensor(1)])
    yield attempt(lambda: NGramModel(vocab=3, order=2, weights=[0.5, 0.9]))


@program
def wordpiece_longest_match(convert):
    """Greedy longest match of pieces against id sequences; unknown words become one id."""

    @dataclass(frozen=True)
    class Vocabulary:
        pieces: Tuple[Tuple[int, ...], ...]
        unk: int = -1

        def __len__(self):
            return len(self.pieces)

        @property
        def longest(self):
            return max(len(piece) for piece in self.pieces)

        def candidates(self, length):
            for index, piece in enumerate(self.pieces):
                if len(piece) == length:
                    yield index, paddle.to_tensor(piece)

    def find_piece(vocab, window):
        """The index of the piece equal to the window, or -1."""
        found = paddle.full([], -1, dtype="int64")
        for index, piece in vocab.candidates(window.shape[0]):
            if (window == piece).all():
                found = paddle.full([], index, dtype="int64")
        return found

    @convert
    def tokenize(word, vocab):
        n = word.shape[0]
        position = paddle.zeros([], dtype="int64")
        out = []
        while position < n:
            match = paddle.full([], -1, dtype="int64")
            width = paddle.zeros([], dtype="int64")
            for length in range(min(vocab.longest, n), 0, -1):
                if position + length <= n and match < 0:
                    window = word[position : position + length]
                    index = find_piece(vocab, window.reshape([length]))
                    if index >= 0:
                        match = index
                        width = width + length
            if match < 0:
                return paddle.to_tensor([vocab.unk])
            out.append(match)
            position = position + width
        return paddle.stack(out)

    vocab = Vocabulary(pieces=((1,), (2,), (1, 2), (2, 3), (1, 2, 3), (4, 4)))
    for word in ([1, 2, 3], [1, 1, 2], [2, 3, 4, 4], [3, 1], [1, 2, 1, 2, 3, 2]):
        yield tokenize(paddle.to_tensor(word), vocab)
    small = Vocabulary(pieces=((1,), (2,)), unk=99)
    yield tokenize(paddle.to_tensor([1, 2, 2, 1]), small)
    yield tokenize(paddle.to_tensor([5]), small), len(small)


@program
def linear_chain_crf(convert):
    """A CRF tagger: the forward algorithm with lengths, the score of tags, Viterbi."""

    class CRF(nn.Layer):
        def __init__(self, tags):
            super().__init__()
            self.transitions = self.create_parameter([tags, tags])
            self.start = self.create_parameter([tags], is_bias=True)
            self.end = self.create_parameter([tags], is_bias=True)

        def partition(self, emissions, mask):
            alpha = self.start + emissions[:, 0]
            for t in range(1, emissions.shape[1]):
                scores = alpha.unsqueeze(2) + self.transitions + emissions[:, t].unsqueeze(1)
                alpha = paddle.where(mask[:, t : t + 1], paddle.logsumexp(scores, axis=1), alpha)
            return paddle.logsumexp(alpha + self.end, axis=-1)

        def score(self, emissions, tags, mask):
            hot = F.one_hot(tags, emissions.shape[-1])
            emitted = ((emissions * hot).sum(-1) * mask.astype("float32")).sum(-1)
            moved = self.transitions[tags[:, :-1], tags[:, 1:]]
            moved = (moved * mask[:, 1:].astype("float32")).sum(-1)
            last = mask.astype("int64").sum(-1, keepdim=True) - 1
            last_tag = paddle.take_along_axis(tags, last, axis=1).squeeze(-1)
            return self.start[tags[:, 0]] + emitted + moved + self.end[last_tag]

        def forward(self, emissions, tags, mask=None):
            if mask is None:
                mask = paddle.ones(tags.shape, dtype="bool")
            return (self.partition(emissions, mask) - self.score(emissions, tags, mask)).mean()

        def decode(self, emissions, length=None):
            """The best tags of one sentence of [time, tags]."""
            steps = emissions.shape[0] if length is None else length
            score = self.start + emissions[0]
            pointers = []
            for t in range(1, steps):
                total = score.unsqueeze(1) + self.transitions
                pointers.append(total.argmax(axis=0))
                score = total.max(axis=0) + emissions[t]
            tag = (score + self.end).argmax()
            path = [tag]
            for pointer in reversed(pointers):
                path.insert(0, pointer[path[0]])
            return paddle.stack(path), (score + self.end).max()

    crf = CRF(tags=3)
    crf.decode = convert(crf.decode)
    convert(crf)
    rng = np.random.RandomState(1)
    for batch, length in ((2, 4), (3, 3)):
        emissions = paddle.to_tensor(rng.randn(batch, length, 3).astype("float32"))
        tags = paddle.to_tensor(rng.randint(0, 3, (batch, length)))
        yield crf(emissions, tags)
        mask = paddle.arange(length).unsqueeze(0) < paddle.to_tensor([[2]] * batch)
        loss = crf(emissions, tags, mask=mask)
        loss.backward()
        yield loss, crf.transitions.grad, crf.end.grad
        crf.clear_gradients()
        yield crf.decode(emissions[0])
        yield crf.decode(emissions[1], length=2)


@program
def word_alignment_by_em(convert):
    """IBM model 1: expectation over alignments, until the log-likelihood settles."""
    Pair = namedtuple("Pair", ["source", "target"])

    class Model1:
        def __init__(self, source_vocab, target_vocab):
            self.t = paddle.full([source_vocab, target_vocab], 1.0 / target_vocab)
            self.history = []

        def expected(self, pair):
            probs = paddle.index_select(self.t, pair.source, axis=0)
            probs = paddle.index_select(probs, pair.target, axis=1)
            total = probs.sum(axis=0, keepdim=True)
            return probs / total, paddle.log(total / pair.source.shape[0]).sum()

        def em_step(self, corpus):
            counts = paddle.zeros_like(self.t)
            likelihood = paddle.zeros([])
            for pair in corpus:
                gamma, part = self.expected(pair)
                likelihood = likelihood + part
                for i in range(pair.source.shape[0]):
                    hot = F.one_hot(pair.target, counts.shape[1])
                    row = paddle.matmul(gamma[i], hot)
                    counts[pair.source[i]] = counts[pair.source[i]] + row
            self.t = counts / counts.sum(axis=1, keepdim=True).clip(min=1e-9)
            return likelihood

        @convert
        def train(self, corpus: List[Pair], max_iter=8, tol=0.05):
            previous = None
            for iteration in range(max_iter):
                likelihood = self.em_step(corpus)
                self.history.append(likelihood)
                if previous is not None and (likelihood - previous).abs() < tol:
                    break
                previous = likelihood
            return likelihood, iteration + 1

        @convert
        def align(self, pair, null_threshold=0.0):
            gamma, _ = self.expected(pair)
            best = gamma.argmax(axis=0)
            return paddle.where(
                gamma.max(axis=0) > null_threshold, best, paddle.full_like(best, -1)
            )

    def pair(source, target):
        return Pair(source=paddle.to_tensor(source), target=paddle.to_tensor(target))

    corpus = [pair([0, 1], [0, 1]), pair([0, 2], [0, 2, 2]), pair([3, 1], [3, 1])]
    model = Model1(4, 4)
    yield model.train(corpus)
    yield model.t, model.history
    yield [model.align(p) for p in corpus]
    yield model.align(pair([0, 1, 3], [2, 3]), null_threshold=0.9)
    yield model.train(corpus[:1] + [pair([2], [2])], max_iter=3, tol=1e-6), len(model.history)


@program
def padding_bucketing_and_packing(convert):
    """Collating id lists: buckets by length, padding, masks, packing short texts together."""

    class Collator:
        def __init__(self, pad_id=0, max_length=None, side="right"):
            assert side in ("left", "right"), side
            self.pad_id, self.max_length, self.side = pad_id, max_length, side

        def pad(self, ids, length):
            missing = length - ids.shape[0]
            if missing <= 0:
                return ids[:length]
            filler = paddle.full(shape=[missing], fill_value=self.pad_id, dtype=ids.dtype)
            parts = [ids, filler] if self.side == "right" else [filler, ids]
            return paddle.concat(x=parts, axis=0)

        @convert
        def __call__(self, batch):
            longest = max(ids.shape[0] for ids in batch)
            length = min(longest, self.max_length) if self.max_length else longest
            rows = paddle.stack([self.pad(ids, length) for ids in batch], axis=0)
            mask = (rows != self.pad_id).astype("int64")
            positions = (mask.cumsum(axis=1) - 1).clip(min=0)
            return {"input_ids": rows, "attention_mask": mask, "position_ids": positions}

    @convert
    def masked_mean_embedding(batch, table, drop_empty=True):
        vectors = table[batch["input_ids"]]
        mask = batch["attention_mask"].astype("float32").unsqueeze(-1)
        count = mask.sum(axis=1)
        if drop_empty and (count == 0).any():
            count = count.clip(min=1.0)
        return (vectors * mask).sum(axis=1) / count

    def buckets(texts, edges):
        groups = defaultdict(list)
        for ids in texts:
            groups[next((e for e in edges if ids.shape[0] <= e), edges[-1])].append(ids)
        return dict(sorted(groups.items()))

    @convert
    def pack(texts, block):
        rows, owners, row, owner = [], [], [], []
        for i, ids in enumerate(texts):
            for token in ids:
                row.append(token)
                owner.append(i)
                if len(row) == block:
                    rows.append(paddle.stack(row))
                    owners.append(paddle.to_tensor(owner))
                    row, owner = [], []
        if not rows:
            return None
        return paddle.stack(rows), paddle.stack(owners), len(row)

    rng = np.random.RandomState(2)
    table = paddle.to_tensor(rng.randn(9, 3).astype("float32"))
    texts = [paddle.to_tensor(rng.randint(1, 9, n)) for n in (3, 5, 2, 4, 1)]
    for options in ({}, {"max_length": 3}, {"side": "left", "max_length": 4}):
        collate = Collator(**options)
        for edge, group in buckets(texts, edges=(2, 4, 8)).items():
            batch = collate(group)
            yield edge, batch, masked_mean_embedding(batch, table)
    batch = collate([paddle.zeros([2], dtype="int64"), texts[0]])
    yield masked_mean_embedding(batch, table)
    yield pack(texts, block=4)
    yield pack(texts[-1:], block=4)
    yield Counter(ids.shape[0] for ids in texts)
