"""Beams, prefixes, lattices and alignments."""

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import List, NamedTuple

import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import program

BOS, EOS = 0, 1


@dataclass(order=True)
class Hypothesis:
    score: float
    tokens: list[int] = field(compare=False)


def normalized(logp: float, length: int, alpha: float = 0.6) -> float:
    return logp / ((5 + length) / 6) ** alpha


def beam_search(logits: paddle.Tensor, beam: int = 3, max_len: int = 6) -> tuple[list[int], float]:
    table = F.log_softmax(logits, axis=-1)
    active: list[tuple[float, list[int]]] = [(0.0, [BOS])]
    finished: list[Hypothesis] = []
    for _ in range(max_len):
        candidates = []
        for logp, tokens in active:
            values, ids = table[tokens[-1]].topk(beam)
            for value, token in zip(values.tolist(), ids.tolist()):
                candidates.append((logp + value, tokens + [token]))
        candidates.sort(key=lambda c: -c[0])
        active = []
        for logp, tokens in candidates[: 2 * beam]:
            if tokens[-1] == EOS:
                heapq.heappush(finished, Hypothesis(normalized(logp, len(tokens)), tokens))
                if len(finished) > beam:
                    heapq.heappop(finished)
            elif len(active) < beam:
                active.append((logp, tokens))
        if (
            not active
            or len(finished) == beam
            and finished[0].score > normalized(active[0][0], max_len)
        ):
            break
    if not finished:
        finished = [Hypothesis(normalized(logp, len(tokens)), tokens) for logp, tokens in active]
    best = max(finished)
    return best.tokens, best.score


@program
def beam_search_with_a_heap_of_finished(convert):
    """Beam search over a bigram language model, with a length penalty and finished hypotheses in a heap."""

    search = convert(beam_search)
    paddle.seed(3)
    yield search(paddle.randn([6, 6]) * 2)
    sharp = paddle.full([5, 5], -4.0)
    sharp[0, 2] = sharp[2, 3] = sharp[3, 1] = 4.0
    yield search(sharp)
    never = paddle.randn([5, 5])
    never[:, 1] = -30.0
    yield search(never, beam=2, max_len=4)


class Span(NamedTuple):
    token: int
    start: int
    end: int
    confidence: float


def ctc_greedy(logits, lengths, blank=0):
    probs = F.softmax(logits, axis=-1)
    best = probs.argmax(axis=-1)
    batch: List[List[Span]] = []
    for b in range(logits.shape[0]):
        spans: List[Span] = []
        previous = blank
        for t in range(int(lengths[b])):
            token = int(best[b, t])
            conf = float(probs[b, t, token])
            if token == blank:
                previous = blank
                continue
            if token == previous:
                last = spans[-1]
                spans[-1] = last._replace(end=t, confidence=max(last.confidence, conf))
            else:
                spans.append(Span(token, t, t, conf))
            previous = token
        batch.append(spans)
    return batch


@program
def ctc_greedy_with_spans(convert):
    """Greedy CTC decoding: collapse repeats, drop blanks, keep the time span and confidence of each token."""

    decode = convert(ctc_greedy)
    ids = paddle.to_tensor([[0, 2, 2, 0, 2, 3, 3, 1], [1, 1, 0, 0, 0, 3, 2, 2]])
    yield decode(F.one_hot(ids, 4) * 3.0, paddle.to_tensor([8, 6]))
    yield decode(F.one_hot(ids, 4) * 1.5, paddle.to_tensor([3, 0]))
    paddle.seed(1)
    yield decode(paddle.randn([3, 10, 5]), paddle.to_tensor([10, 7, 4]))


NEG = -math.inf


def logsumexp(*args):
    top = max(args)
    if top == NEG:
        return NEG
    return top + math.log(sum(math.exp(a - top) for a in args))


def prefix_beam_search(log_probs: paddle.Tensor, beam_size: int = 4, blank: int = 0):
    frames = log_probs.tolist()
    beam = [((), (0.0, NEG))]
    for frame in frames:
        scores = defaultdict(lambda: (NEG, NEG))
        for prefix, (p_blank, p_other) in beam:
            for symbol, p in enumerate(frame):
                if p < -8.0:
                    continue
                if symbol == blank:
                    b, nb = scores[prefix]
                    scores[prefix] = (logsumexp(b, p_blank + p, p_other + p), nb)
                    continue
                end = prefix[-1] if prefix else None
                extended = prefix + (symbol,)
                b, nb = scores[extended]
                if symbol != end:
                    scores[extended] = (b, logsumexp(nb, p_blank + p, p_other + p))
                else:
                    scores[extended] = (b, logsumexp(nb, p_blank + p))
                    b, nb = scores[prefix]
                    scores[prefix] = (b, logsumexp(nb, p_other + p))
        beam = sorted(scores.items(), key=lambda kv: logsumexp(*kv[1]), reverse=True)[:beam_size]
    prefix, parts = beam[0]
    return list(prefix), logsumexp(*parts)


@program
def ctc_prefix_beam(convert):
    """CTC prefix beam search with a dict from prefix to (blank, non-blank) log-probabilities."""

    decode = convert(prefix_beam_search)
    paddle.seed(11)
    yield decode(paddle.nn.functional.log_softmax(paddle.randn([5, 4]) * 2, axis=-1))
    yield decode(paddle.nn.functional.log_softmax(paddle.randn([7, 3]), axis=-1), beam_size=2)
    sharp = paddle.nn.functional.one_hot(paddle.to_tensor([1, 1, 0, 1, 2]), 3) * 12.0
    yield decode(paddle.nn.functional.log_softmax(sharp, axis=-1))


class CRF(nn.Layer):
    def __init__(self, tags: int):
        super().__init__()
        self.tags = tags
        self.transitions = self.create_parameter(
            [tags, tags], default_initializer=nn.initializer.Uniform(-0.5, 0.5)
        )
        self.start = self.create_parameter([tags], default_initializer=nn.initializer.Constant(0.1))

    def _partition(self, emissions):
        alpha = self.start + emissions[0]
        for e in emissions[1:]:
            alpha = paddle.logsumexp(alpha.unsqueeze(1) + self.transitions, axis=0) + e
        return paddle.logsumexp(alpha, axis=0)

    def _path_score(self, emissions, tags):
        total = self.start[tags[0]] + emissions[0, tags[0]]
        for t in range(1, len(tags)):
            total = total + self.transitions[tags[t - 1], tags[t]] + emissions[t, tags[t]]
        return total

    def _decode(self, emissions):
        score, history = self.start + emissions[0], []
        for t in range(1, emissions.shape[0]):
            every = score.unsqueeze(1) + self.transitions
            history.append(every.argmax(axis=0))
            score = every.max(axis=0) + emissions[t]
        best = score.argmax().item()
        path = [best]
        for pointers in reversed(history):
            best = pointers[best].item()
            path.append(best)
        path.reverse()
        return path

    def forward(self, emissions, lengths, tags=None):
        if tags is None:
            return [self._decode(emissions[i, : int(n)]) for i, n in enumerate(lengths)]
        losses = []
        for i, n in enumerate(lengths.tolist()):
            e, t = emissions[i, :n], tags[i, :n]
            losses.append(self._partition(e) - self._path_score(e, t))
        return paddle.stack(losses).mean()


@program
def crf_layer(convert):
    """A linear-chain CRF layer: Viterbi decoding with back pointers, per sentence length, and the negative log-likelihood."""

    paddle.seed(5)
    layer = convert(CRF(4))
    x = paddle.randn([2, 6, 4])
    yield layer(x, paddle.to_tensor([6, 3]))
    loss = layer(
        x, paddle.to_tensor([5, 2]), paddle.to_tensor([[0, 1, 2, 3, 1, 0], [2, 2, 0, 0, 0, 0]])
    )
    loss.backward()
    yield loss, layer.transitions, layer.start
    yield layer(x * 3, paddle.to_tensor([1, 4]))


ALPHABET = "ACGT-"


def align(a: paddle.Tensor, b: paddle.Tensor, match=1, mismatch=-1, gap=-2):
    n, m = len(a), len(b)
    score = paddle.zeros([n + 1, m + 1], dtype="int64")
    score[:, 0] = paddle.arange(n + 1) * gap
    score[0, :] = paddle.arange(m + 1) * gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            diagonal = score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            score[i, j] = max(diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
    i, j = n, m
    top, bottom = [], []
    while i > 0 or j > 0:
        here = score[i, j]
        if (
            i > 0
            and j > 0
            and here == score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
        ):
            i, j = i - 1, j - 1
            top.append(int(a[i]))
            bottom.append(int(b[j]))
        elif i > 0 and here == score[i - 1, j] + gap:
            i -= 1
            top.append(int(a[i]))
            bottom.append(4)
        else:
            j -= 1
            top.append(4)
            bottom.append(int(b[j]))
    return (
        score[n, m],
        "".join(ALPHABET[k] for k in reversed(top)),
        "".join(ALPHABET[k] for k in reversed(bottom)),
    )


def encode(text):
    return paddle.to_tensor([ALPHABET.index(c) for c in text])


@program
def needleman_wunsch(convert):
    """Global alignment (Needleman-Wunsch) with a traceback into two gapped strings."""

    run = convert(align)
    yield run(encode("ACGT"), encode("AGT"))
    yield run(encode("GATT"), encode("GCAT"))
    yield run(encode("AC"), encode("ACGG"), gap=-1)


def dtw(x: paddle.Tensor, y: paddle.Tensor, window=None, abandon: float = float("inf")):
    n, m = x.shape[0], y.shape[0]
    window = max(window or max(n, m), abs(n - m))
    cost = paddle.full([n + 1, m + 1], float("inf"))
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        lo, hi = max(1, i - window), min(m, i + window)
        for j in range(lo, hi + 1):
            d = (x[i - 1] - y[j - 1]).abs().sum()
            cost[i, j] = d + paddle.min(
                paddle.stack([cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1]])
            )
        if cost[i, lo : hi + 1].min() > abandon:
            return None, []
    path = []
    i, j = n, m
    while (i, j) != (0, 0):
        path.append((i - 1, j - 1))
        moves = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        moves = [(a, b) for a, b in moves if a >= 0 and b >= 0]
        i, j = min(moves, key=lambda move: float(cost[move[0], move[1]]))
    return cost[n, m], path[::-1]


@program
def dynamic_time_warping(convert):
    """Dynamic time warping with a Sakoe-Chiba band; gives the distance and the warping path."""

    run = convert(dtw)
    a = paddle.to_tensor([[0.0], [1.0], [2.0], [3.0]])
    b = paddle.to_tensor([[0.0], [0.1], [1.1], [2.9], [3.0]])
    yield run(a, b)
    yield run(a, b, window=1)
    yield run(a, b + 10, abandon=15.0)
