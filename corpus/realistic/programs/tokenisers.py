"""Tokenisers that run on tensors of code points or ids: merges, lattices, trimming, batching."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import List, NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def codes(text):
    return paddle.to_tensor([ord(c) for c in text], dtype="int64")


@program
def unigram_tokeniser_by_viterbi(convert):
    """SentencePiece's unigram model: the most probable segmentation, and marginals of pieces."""

    @dataclass
    class Piece:
        text: str
        score: float

    class Unigram:
        def __init__(self, pieces, unk_penalty=-10.0):
            self.pieces = {p.text: (i, p.score) for i, p in enumerate(pieces)}
            self.longest = max(len(p.text) for p in pieces)
            self.unk_penalty = unk_penalty
            self.scores = paddle.to_tensor([p.score for p in pieces], stop_gradient=False)

        def lattice(self, text):
            edges = []
            for start in range(len(text)):
                found = False
                for length in range(1, min(self.longest, len(text) - start) + 1):
                    entry = self.pieces.get(text[start : start + length])
                    if entry is not None:
                        edges.append((start, start + length, entry[0]))
                        found = found or length == 1
                if not found:
                    edges.append((start, start + 1, -1))
            return edges

        @convert
        def viterbi(self, edges, size):
            best = [paddle.to_tensor(0.0)] + [paddle.to_tensor(-1e9)] * size
            back = [None] * (size + 1)
            for start, end, piece in sorted(edges, key=lambda e: e[1]):
                gain = self.scores[piece] if piece >= 0 else paddle.to_tensor(self.unk_penalty)
                score = best[start] + gain
                if score > best[end]:
                    best[end] = score
                    back[end] = (start, piece)
            return best[size], back

        @convert
        def log_partition(self, edges, size):
            alpha = paddle.full([size + 1], -1e9)
            alpha[0] = 0.0
            for start, end, piece in edges:
                gain = self.scores[piece] if piece >= 0 else self.unk_penalty
                both = paddle.stack([alpha[end], alpha[start] + gain])
                alpha[end] = paddle.logsumexp(both)
            return alpha[size]

        def segment(self, text):
            score, back = self.viterbi(self.lattice(text), len(text))
            at, pieces = len(text), []
            while at > 0:
                start, piece = back[at]
                pieces.append(text[int(start) : at])
                at = int(start)
            return score, pieces[::-1]

    model = Unigram(
        [
            Piece("a", -2.0),
            Piece("b", -2.5),
            Piece("ab", -2.2),
            Piece("ba", -3.0),
            Piece("aba", -4.1),
        ]
    )
    for text in ("ab", "aba", "abab", "bxa"):
        yield attempt(lambda: model.segment(text))
        z = model.log_partition(model.lattice(text), len(text))
        z.backward()
        yield z, model.scores.grad
        model.scores.clear_gradient()


@program
def byte_level_decoder_of_a_stream(convert):
    """UTF-8 from bytes that come in chunks: a state machine that keeps what is incomplete."""

    class Utf8Stream:
        def __init__(self):
            self.need = paddle.to_tensor(0, dtype="int64")
            self.value = paddle.to_tensor(0, dtype="int64")
            self.errors = 0

        @convert
        def feed(self, chunk):
            points = []
            need, value = self.need, self.value
            for byte in chunk:
                if need > 0 and byte // 64 == 2:
                    value = value * 64 + byte % 64
                    need = need - 1
                    if need == 0:
                        points.append(value)
                elif need > 0:
                    self.errors += 1
                    points.append(paddle.to_tensor(0xFFFD))
                    need = paddle.to_tensor(0)
                elif byte < 0x80:
                    points.append(byte)
                elif byte // 32 == 6:
                    need, value = paddle.to_tensor(1), byte % 32
                elif byte // 16 == 14:
                    need, value = paddle.to_tensor(2), byte % 16
                else:
                    need, value = paddle.to_tensor(3), byte % 8
            self.need, self.value = need, value
            return points

    stream = Utf8Stream()
    data = np.frombuffer("aé→b😀".encode("utf-8") + b"\xc3(" + b"z", dtype="uint8").astype("int64")
    for low, high in ((0, 2), (2, 5), (5, 9), (9, 11), (11, len(data))):
        points = stream.feed(paddle.to_tensor(data[low:high]))
        yield points, len(points), stream.errors, stream.need
    text = "".join(chr(int(p)) for p in Utf8Stream().feed(paddle.to_tensor(data)))
    yield text


class Encoding(NamedTuple):
    ids: paddle.Tensor
    type_ids: paddle.Tensor
    mask: paddle.Tensor
    overflow: List[paddle.Tensor]


@program
def pair_encoder_with_truncation(convert):
    """Two texts in one sequence: truncated by a strategy, with special tokens and a stride."""

    class PairEncoder:
        cls_id, sep_id, pad_id = 1, 2, 0

        def __init__(self, max_length, strategy="longest_first", stride=0):
            self.max_length = max_length
            self.strategy = strategy
            self.stride = stride

        def special(self, has_pair):
            return 3 if has_pair else 2

        def _truncate(self, a, b):
            over = (
                len(a)
                + (0 if b is None else len(b))
                + self.special(b is not None)
                - self.max_length
            )
            spilled = []
            while over > 0:
                if self.strategy == "longest_first":
                    first = b is None or len(a) > len(b)
                elif self.strategy == "only_first":
                    first = True
                else:
                    first = False
                if first:
                    spilled.append(a[-1])
                    a = a[:-1]
                else:
                    spilled.append(b[-1])
                    b = b[:-1]
                over -= 1
            return a, b, spilled

        @convert
        def __call__(self, a, b=None, *, pad=True):
            a, b, spilled = self._truncate(a, b)
            cls = paddle.full([1], self.cls_id, dtype=a.dtype)
            sep = paddle.full([1], self.sep_id, dtype=a.dtype)
            parts = [cls, a, sep]
            kinds = [0] * (len(a) + 2)
            if b is not None:
                parts += [b, sep]
                kinds += [1] * (len(b) + 1)
            ids = paddle.concat(parts)
            types = paddle.to_tensor(kinds, dtype="int64")
            mask = paddle.ones_like(ids)
            missing = self.max_length - len(ids)
            if pad and missing > 0:
                ids = F.pad(ids, [0, missing], value=self.pad_id)
                types = F.pad(types, [0, missing])
                mask = F.pad(mask, [0, missing])
            return Encoding(ids, types, mask, spilled)

    one, two = codes("hello"), codes("worlds!")
    for strategy in ("longest_first", "only_first", "only_second"):
        for size in (16, 12, 9):
            yield attempt(lambda: PairEncoder(size, strategy)(one, two))
    encoder = PairEncoder(8)
    yield encoder(one)
    yield encoder(codes("a very long one"), pad=False)
    yield encoder(a=codes("abc"), b=codes("d"), pad=False)


@program
def vocabulary_that_grows_and_is_pruned(convert):
    """Counts of ids with decay, a vocabulary of those that are frequent, and remapped batches."""

    @dataclass
    class Vocabulary:
        size: int
        decay: float = 0.9
        counts: Optional[paddle.Tensor] = None
        batches: int = 0
        history: List[float] = field(default_factory=list)

        def __post_init__(self):
            if self.counts is None:
                self.counts = paddle.zeros([self.size])

        @convert
        def observe(self, ids):
            seen = paddle.bincount(ids, minlength=self.size).astype("float32")
            self.counts = self.decay * self.counts + seen
            self.batches += 1
            if self.batches % 2 == 0:
                self.history.append(self.counts.max())
            return seen

        @convert
        def mapping(self, min_count=1.0, reserved=2):
            keep = self.counts >= min_count
            order = paddle.cumsum(keep.astype("int64")) - 1 + reserved
            return paddle.where(keep, order, paddle.zeros_like(order))

        @convert
        def coverage(self, target=0.8):
            ranked = paddle.sort(self.counts, descending=True)
            total = ranked.sum()
            running, used = paddle.to_tensor(0.0), 0
            for count in ranked:
                if running >= target * total:
                    break
                running = running + count
                used += 1
            return used, running / total

    rng = np.random.RandomState(3)
    vocabulary = Vocabulary(12)
    for size in (6, 9, 14):
        ids = paddle.to_tensor(rng.zipf(1.6, size).clip(1, 11).astype("int64"))
        yield vocabulary.observe(ids)
        table = vocabulary.mapping(min_count=0.95)
        yield table, table[ids], vocabulary.coverage()
    yield vocabulary.history, vocabulary.batches, vocabulary.coverage(target=1.0)


@program
def morphological_splitter_with_rules(convert):
    """Affix rules by priority over a tensor of code points, until none applies."""

    class Rule:
        registry: "OrderedDict[str, Rule]" = OrderedDict()

        def __init__(self, name, suffix, minimum):
            self.suffix = codes(suffix)
            self.minimum = minimum
            self.hits = 0
            Rule.registry[name] = self

        def matches(self, word):
            n = len(self.suffix)
            if len(word) < n + self.minimum:
                return False
            return (word[len(word) - n :] == self.suffix).all()

        def strip(self, word):
            self.hits += 1
            return word[: len(word) - len(self.suffix)]

    Rule.registry.clear()
    Rule("gerund", "ing", 2)
    Rule("past", "ed", 2)
    Rule("plural", "s", 3)

    @convert
    def stem(word):
        for rule in Rule.registry.values():
            if rule.matches(word):
                return rule.strip(word)
        return word

    @convert
    def same_stem(one, other):
        a, b = stem(one), stem(other)
        if a.shape != b.shape:
            return paddle.to_tensor(False)
        return (a == b).all()

    for word in ("walking", "walked", "walks", "sing", "bed", "dogs"):
        out = stem(codes(word))
        yield "".join(chr(int(c)) for c in out)
    yield same_stem(codes("walking"), codes("walked")), same_stem(codes("dogs"), codes("dog"))
    yield {name: rule.hits for name, rule in Rule.registry.items()}
