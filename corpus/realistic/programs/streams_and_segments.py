"""Decoding and streams: transducers, segments, pitch, alarms, tries, pieces of words."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def a_transducer_over_chunks(convert):
    """Greedy decoding of a transducer, chunk by chunk, with the prediction network's state carried between chunks."""

    BLANK = 0

    @dataclass
    class StreamState:
        hidden: Optional[paddle.Tensor] = None
        last: int = BLANK
        frame: int = 0
        tokens: List[int] = field(default_factory=list)
        stamps: List[Tuple[int, float]] = field(default_factory=list)

    class Predictor(nn.Layer):
        def __init__(self, vocab, width):
            super().__init__()
            self.embed = nn.Embedding(vocab, width)
            self.cell = nn.GRUCell(width, width)

        def forward(self, token, hidden=None):
            if hidden is None:
                hidden = paddle.zeros([1, self.cell.hidden_size])
            out, hidden = self.cell(self.embed(paddle.to_tensor([token])), hidden)
            return out, hidden

    class Transducer(nn.Layer):
        def __init__(self, feats=6, vocab=7, width=8, max_symbols=3):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(feats, width), nn.Tanh())
            self.predictor = Predictor(vocab, width)
            self.joint = nn.Linear(width, vocab)
            self.max_symbols = max_symbols
            self.blank_penalty = 0.0

        def scores(self, frame, pred):
            logits = self.joint(F.tanh(frame + pred))
            if self.blank_penalty:
                logits[:, BLANK] -= self.blank_penalty
            return F.log_softmax(logits, axis=-1)

        @paddle.no_grad()
        def decode_chunk(self, chunk, state: StreamState, threshold=None):
            encoded = self.encoder(chunk)
            total = paddle.zeros([])
            if state.hidden is None:
                pred, state.hidden = self.predictor(BLANK)
            else:
                pred = state.hidden
            for t in range(encoded.shape[0]):
                for _ in range(self.max_symbols):
                    logp = self.scores(encoded[t : t + 1], pred)[0]
                    token = int(logp.argmax())
                    total = total + logp[token]
                    if token == BLANK:
                        break
                    if threshold is not None and logp[token] < threshold:
                        break
                    state.tokens.append(token)
                    state.stamps.append((state.frame + t, round(float(logp[token].exp()), 4)))
                    state.last = token
                    pred, state.hidden = self.predictor(token, state.hidden)
            state.frame += encoded.shape[0]
            return total, state

    def collapse(tokens, names="_abcdef"):
        text = "".join(names[t] for t in tokens)
        return text or "<silence>"

    def records_of(convert):
        paddle.seed(35)
        net = Transducer()
        net.eval()
        decode = convert(net.decode_chunk)
        records = []
        for penalty, sizes, threshold in [
            (0.0, (3, 5), None),
            (1.5, (4, 1, 2), None),
            (3.0, (2, 2), -1.2),
        ]:
            net.blank_penalty = penalty
            state = StreamState()
            for n in sizes:
                score, state = decode(paddle.randn([n, 6]) * 2, state, threshold)
                records += [
                    score,
                    collapse(state.tokens),
                    list(state.stamps),
                    state.frame,
                    state.last,
                ]
            records.append(state.hidden)
        return records

    yield from records_of(convert)


@program
def segments_by_semi_markov(convert):
    """Semi-Markov segmentation: segments with lengths and labels, log-partition for training and Viterbi for use."""

    class Segment(NamedTuple):
        start: int
        stop: int
        label: str

    class SemiCRF(nn.Layer):
        def __init__(self, feats, labels, longest=4):
            super().__init__()
            self.labels, self.longest = tuple(labels), longest
            k = len(self.labels)
            self.emit = nn.Linear(feats, k)
            self.switch = self.create_parameter([k, k])
            self.length = self.create_parameter([longest, k], is_bias=True)

        def span_scores(self, x):
            """prefix sums, so that a span's emission is one subtraction"""
            e = self.emit(x)
            zero = paddle.zeros([1, e.shape[1]], dtype=e.dtype)
            return paddle.concat([zero, e.cumsum(axis=0)])

        def candidates(self, prefix, table, t):
            for d in range(1, min(self.longest, t) + 1):
                span = prefix[t] - prefix[t - d] + self.length[d - 1]
                if t - d == 0:
                    yield d, span, None
                else:
                    yield d, span, table[t - d].unsqueeze(1) + self.switch

        def log_partition(self, x):
            prefix = self.span_scores(x)
            alpha = {}
            for t in range(1, x.shape[0] + 1):
                parts = []
                for _, span, before in self.candidates(prefix, alpha, t):
                    parts.append(
                        span if before is None else span + paddle.logsumexp(before, axis=0)
                    )
                alpha[t] = paddle.logsumexp(paddle.stack(parts), axis=0)
            return paddle.logsumexp(alpha[x.shape[0]], axis=-1)

        def score(self, x, segments: List[Segment]):
            prefix, total, last = self.span_scores(x), paddle.zeros([]), None
            for start, stop, name in segments:
                if stop - start > self.longest:
                    raise ValueError(f"segment {start}:{stop} is longer than {self.longest}")
                k = self.labels.index(name)
                total = total + (prefix[stop] - prefix[start])[k] + self.length[stop - start - 1, k]
                if last is not None:
                    total = total + self.switch[last, k]
                last = k
            return total

        def forward(self, x, gold=None):
            if gold is not None:
                return self.log_partition(x) - self.score(x, gold)
            prefix, best, back = self.span_scores(x), {}, {}
            T = x.shape[0]
            for t in range(1, T + 1):
                for d, span, before in self.candidates(prefix, best, t):
                    if before is None:
                        value, source = span, paddle.full([len(self.labels)], -1, dtype="int64")
                    else:
                        value, source = span + before.max(axis=0), before.argmax(axis=0)
                    if t not in best:
                        best[t], back[t] = value, (paddle.full_like(source, d), source)
                    else:
                        better = value > best[t]
                        best[t] = paddle.where(better, value, best[t])
                        back[t] = (
                            paddle.where(better, paddle.full_like(source, d), back[t][0]),
                            paddle.where(better, source, back[t][1]),
                        )
            k, t, out = int(best[T].argmax()), T, []
            while t > 0:
                d, prev = int(back[t][0][k]), int(back[t][1][k])
                out.append(Segment(t - d, t, self.labels[k]))
                t, k = t - d, prev
            return out[::-1], best[T].max()

    def records_of(convert):
        paddle.seed(3)
        net = SemiCRF(3, ["O", "NAME", "DATE"], longest=3)
        net.forward = convert(net.forward)
        opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())
        records = []
        x = paddle.randn([6, 3])
        gold = [Segment(0, 2, "NAME"), Segment(2, 3, "O"), Segment(3, 6, "DATE")]
        for _ in range(3):
            loss = net(x, gold)
            loss.backward()
            records += [loss, net.switch.grad.clone(), net.length.grad.clone()]
            opt.step()
            opt.clear_grad()
        for n in (6, 4, 1):
            segments, value = net(x[:n])
            records += [[tuple(s) for s in segments], value]
        try:
            net(x, [Segment(0, 5, "O"), Segment(5, 6, "DATE")])
        except ValueError as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def pitches_and_notes_by_yin(convert):
    """The YIN pitch estimator, with parabolic refinement, a voicing gate, octave repair and a note segmentation."""

    NAMES = "C C# D D# E F F# G G# A A# B".split()

    @dataclass(slots=True)
    class Note:
        midi: int
        start: int
        length: int = 1

        @property
        def name(self):
            return f"{NAMES[self.midi % 12]}{self.midi // 12 - 1}"

    class Yin:
        def __init__(
            self, rate=800, frame=64, hop=32, low=40.0, high=200.0, threshold=0.15, silence=1e-3
        ):
            self.rate, self.frame, self.hop, self.threshold, self.silence = (
                rate,
                frame,
                hop,
                threshold,
                silence,
            )
            self.min_lag, self.max_lag = int(rate / high), min(frame // 2, int(rate / low))
            self.previous: Optional[float] = None

        def difference(self, x):
            w = self.frame - self.max_lag
            return paddle.stack(
                [(x[:w] - x[lag : lag + w]).square().sum() for lag in range(self.max_lag)]
            )

        def normalised(self, d):
            running = d[1:].cumsum(0)
            lags = paddle.arange(1, d.shape[0], dtype=d.dtype)
            return paddle.concat([paddle.ones([1]), d[1:] * lags / (running + 1e-9)])

        def pick(self, d):
            lag = self.min_lag
            while lag < self.max_lag - 1:
                if d[lag] < self.threshold:
                    while lag + 1 < self.max_lag - 1 and d[lag + 1] < d[lag]:
                        lag += 1
                    return lag, 1 - d[lag]
                lag += 1
            return None, paddle.zeros([])

        @staticmethod
        def refine(d, lag):
            a, b, c = d[lag - 1], d[lag], d[lag + 1]
            curve = a - 2 * b + c
            if curve.abs() < 1e-9:
                return paddle.full([], float(lag))
            return lag + 0.5 * (a - c) / curve

        def frame_pitch(self, x):
            if x.square().mean() < self.silence:
                self.previous = None
                return paddle.zeros([]), paddle.zeros([])
            d = self.normalised(self.difference(x))
            lag, confidence = self.pick(d)
            if lag is None:
                return paddle.zeros([]), confidence
            pitch = self.rate / self.refine(d, lag)
            if self.previous is not None:
                ratio = pitch / self.previous
                if ratio > 1.9 and ratio < 2.1:
                    pitch = pitch / 2
                elif 0.45 < ratio < 0.55:
                    pitch = pitch * 2
            self.previous = float(pitch)
            return pitch, confidence

        def track(self, x):
            self.previous = None
            frames = [
                self.frame_pitch(x[s : s + self.frame])
                for s in range(0, x.shape[0] - self.frame + 1, self.hop)
            ]
            if not frames:
                raise ValueError(f"{x.shape[0]} samples are less than a frame of {self.frame}")
            pitch, confidence = (paddle.stack(v) for v in zip(*frames))
            return pitch, confidence, self.notes(pitch)

        def notes(self, pitch) -> List[Note]:
            out: List[Note] = []
            for k, f in enumerate(pitch):
                if f <= 0:
                    continue
                midi = round(69 + 12 * math.log2(float(f) / 440))
                if out and out[-1].midi == midi and out[-1].start + out[-1].length == k:
                    out[-1].length += 1
                else:
                    out.append(Note(midi, k))
            return out

    def tone(freq, n, rate=800, harmonics=2):
        t = paddle.arange(n, dtype="float32") / rate
        return sum(paddle.sin(2 * math.pi * freq * h * t) / h for h in range(1, harmonics + 1))

    def records_of(convert):
        paddle.seed(111)
        yin = Yin()
        track = convert(yin.track)
        records = []
        for x in [
            tone(110.0, 160),
            paddle.concat([tone(82.4, 128), paddle.zeros([96]), tone(65.4, 96, harmonics=1)]),
            paddle.randn([128]),
            paddle.zeros([64]),
            tone(55.0, 96) + 0.1 * paddle.randn([96]),
        ]:
            pitch, confidence, notes = track(x)
            records += [
                pitch,
                confidence,
                [(n.name, n.start, n.length) for n in notes],
                yin.previous,
            ]
        yin.threshold = 0.6
        records.append(track(paddle.randn([96]))[:2])
        try:
            track(paddle.zeros([10]))
        except ValueError as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def alarms_by_generators(convert):
    """Online change detection as chained generators: windows, an adaptive baseline, two-sided CUSUM, merging of alarms."""

    class Alarm(NamedTuple):
        at: int
        side: str
        size: float

    def read(blocks: Iterable[paddle.Tensor]) -> Iterator[paddle.Tensor]:
        """flattens blocks of samples and repairs lone missing values by the last good one"""
        last = None
        for sample in chain.from_iterable(blocks):
            if paddle.isnan(sample):
                if last is None:
                    continue
                sample = last
            last = sample
            yield sample

    def whiten(samples, warmup, forget):
        head = list(islice(samples, warmup))
        if len(head) < warmup:
            return
        start = paddle.stack(head)
        mean, var = start.mean(), start.var().clip(min=1e-4)
        for x in samples:
            z = (x - mean) / var.sqrt()
            if z.abs() < 3:
                mean = mean + forget * (x - mean)
                var = (1 - forget) * var + forget * (x - mean).square()
            yield z

    def cusum(scores, drift, limit, first=0):
        up = down = paddle.zeros([])
        for k, z in enumerate(scores, first):
            up = paddle.clip(up + z - drift, min=0.0)
            down = paddle.clip(down - z - drift, min=0.0)
            if up > limit or down > limit:
                side = "up" if up > down else "down"
                yield Alarm(k, side, round(float(paddle.maximum(up, down)), 3))
                up = down = paddle.zeros([])

    def debounce(alarms, gap):
        recent = deque(maxlen=1)
        for a in alarms:
            if recent and a.at - recent[0].at < gap and a.side == recent[0].side:
                recent[0] = a
                continue
            recent.append(a)
            yield a

    def energy(windows):
        total = None
        for w in windows:
            e = w.square().mean()
            total = e if total is None else 0.5 * total + 0.5 * e
            yield total

    def sliding(samples, size, hop):
        buffer = deque(maxlen=size)
        for k, x in enumerate(samples):
            buffer.append(x)
            if len(buffer) == size and (k + 1 - size) % hop == 0:
                yield paddle.stack(list(buffer))

    def records_of(convert):
        def monitor(blocks, warmup=4, forget=0.1, drift=0.5, limit=4.0, gap=2, most=None):
            found = debounce(cusum(whiten(read(blocks), warmup, forget), drift, limit, warmup), gap)
            return list(islice(found, most))

        def loudness(blocks, size=3, hop=2):
            levels = list(energy(sliding(read(blocks), size, hop)))
            if not levels:
                return None
            return paddle.stack(levels), max(range(len(levels)), key=lambda i: float(levels[i]))

        monitor, loudness = convert(monitor), convert(loudness)
        paddle.seed(91)
        quiet, high, low = paddle.randn([8]), paddle.randn([6]) + 4, paddle.randn([5]) - 5
        holes = quiet.clone()
        holes[0], holes[3] = float("nan"), float("nan")
        records = []
        for blocks, options in [
            ([quiet, high], {}),
            ([holes, low, quiet], {"limit": 6.0}),
            ([quiet, high, low, high], {"gap": 3, "most": 2}),
            ([quiet[:3]], {}),
            ([high, low], {"warmup": 2, "forget": 0.3, "drift": 1.0}),
        ]:
            records += [
                [tuple(a) for a in monitor(blocks, **options)],
                loudness(blocks, size=2 + len(blocks)),
            ]
        return records

    yield from records_of(convert)


@program
def words_found_with_mistakes(convert):
    """Fuzzy dictionary look-up: a trie is walked with one row of the weighted edit distance per node."""

    @dataclass
    class Node:
        children: dict[str, "Node"] = field(default_factory=dict)
        word: str | None = None

    class Trie:
        def __init__(self, words=()):
            self.root, self.size = Node(), 0
            for w in words:
                self.insert(w)

        def insert(self, word: str) -> None:
            node = self.root
            for ch in word:
                node = node.children.setdefault(ch, Node())
            if node.word is None:
                self.size += 1
            node.word = word

        def __len__(self):
            return self.size

    class KeyboardCost:
        """Substitution costs from key distances; insertions and deletions are learnt scalars."""

        ROWS = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]

        def __init__(self, insert=1.0, delete=0.9):
            spots = {
                c: (r, k + 0.5 * r) for r, row in enumerate(self.ROWS) for k, c in enumerate(row)
            }
            self.letters = sorted(spots)
            xy = paddle.to_tensor([spots[c] for c in self.letters], dtype="float32")
            gap = (xy.unsqueeze(0) - xy.unsqueeze(1)).square().sum(-1).sqrt()
            self.sub = paddle.clip(gap / 2.5, max=1.5)
            self.insert, self.delete = paddle.to_tensor(insert), paddle.to_tensor(delete)

        def index(self, ch):
            return self.letters.index(ch)

    class FuzzyIndex:
        def __init__(self, trie: Trie, cost: KeyboardCost):
            self.trie, self.cost, self.visited = trie, cost, 0

        def next_row(self, row, query_ids, ch):
            k = self.cost.index(ch)
            new = [row[0] + self.cost.delete]
            for j, q in enumerate(query_ids):
                step = paddle.minimum(new[j] + self.cost.insert, row[j + 1] + self.cost.delete)
                new.append(paddle.minimum(step, row[j] + self.cost.sub[q, k]))
            return paddle.stack(new)

        def search(self, query: str, budget=1.5, limit=3):
            self.visited = 0
            ids = [self.cost.index(c) for c in query]
            start = paddle.arange(len(query) + 1, dtype="float32") * self.cost.insert
            best, tie = [], itertools.count()
            bound = paddle.to_tensor(float(budget))
            stack = [(self.trie.root, "", start)]
            while stack:
                node, prefix, row = stack.pop()
                self.visited += 1
                if node.word is not None and row[-1] <= bound:
                    heapq.heappush(best, (-float(row[-1]), -next(tie), node.word))
                    if len(best) > limit:
                        heapq.heappop(best)
                    if len(best) == limit:
                        bound = paddle.minimum(bound, paddle.to_tensor(-best[0][0]))
                for ch, child in sorted(node.children.items(), reverse=True):
                    row_ch = self.next_row(row, ids, ch)
                    if row_ch.min() > bound:
                        continue
                    stack.append((child, prefix + ch, row_ch))
            return [(w, round(-s, 4)) for s, _, w in sorted(best, reverse=True)]

    def records_of(convert):
        trie = Trie(
            "tensor tension tender render reader static statue state sort store stop step".split()
        )
        index = FuzzyIndex(trie, KeyboardCost())
        search = convert(index.search)
        records = []
        for query, options in [
            ("tensir", {}),
            ("stste", {"budget": 2.0}),
            ("rendet", {"limit": 1}),
            ("zzz", {"budget": 0.5}),
            ("stop", {"budget": 2.5, "limit": 5}),
        ]:
            records.append((query, search(query, **options), index.visited))
        trie.insert("tensors")
        index.cost.insert = paddle.to_tensor(0.4)
        records += [search("tenso"), index.visited, len(trie)]
        return records

    yield from records_of(convert)


@program
def subwords_by_expectation(convert):
    """A unigram subword model: forward-backward counts, EM on log-probabilities, pruning by loss, n-best segmentation."""

    class UnigramModel:
        def __init__(self, words: Dict[str, int], longest=4):
            self.words, self.longest = dict(words), longest
            seeds = Counter()
            for w, n in words.items():
                for i in range(len(w)):
                    for j in range(i + 1, min(len(w), i + longest) + 1):
                        seeds[w[i:j]] += n
            self.pieces = sorted(p for p, n in seeds.items() if n > 1 or len(p) == 1)
            counts = paddle.to_tensor([float(seeds[p]) for p in self.pieces])
            self.logp = (counts / counts.sum()).log()

        @property
        def index(self):
            return {p: k for k, p in enumerate(self.pieces)}

        def edges(self, word) -> List[Tuple[int, int, int]]:
            table = self.index
            return [
                (i, j, table[word[i:j]])
                for j in range(1, len(word) + 1)
                for i in range(max(0, j - self.longest), j)
                if word[i:j] in table
            ]

        def expected(self, word):
            """expected piece counts and the log-probability of a word"""
            n, edges = len(word), self.edges(word)
            alpha, beta = [None] * (n + 1), [None] * (n + 1)
            alpha[0] = beta[n] = paddle.zeros([])
            for j in range(1, n + 1):
                terms = [
                    alpha[i] + self.logp[k] for i, e, k in edges if e == j and alpha[i] is not None
                ]
                alpha[j] = paddle.logsumexp(paddle.stack(terms), axis=0) if terms else None
            if alpha[n] is None:
                raise KeyError(word)
            for i in reversed(range(n)):
                terms = [
                    beta[j] + self.logp[k] for s, j, k in edges if s == i and beta[j] is not None
                ]
                beta[i] = paddle.logsumexp(paddle.stack(terms), axis=0) if terms else None
            counts = paddle.zeros_like(self.logp)
            for i, j, k in edges:
                if alpha[i] is not None and beta[j] is not None:
                    counts[k] += (alpha[i] + self.logp[k] + beta[j] - alpha[n]).exp()
            return counts, alpha[n]

        def em_step(self, prior=0.01):
            total, loss = paddle.zeros_like(self.logp), paddle.zeros([])
            for word, n in self.words.items():
                counts, logz = self.expected(word)
                total, loss = total + n * counts, loss - n * logz
            total = total.clip(min=prior)
            self.logp = paddle.digamma(total) - paddle.digamma(total.sum())
            return loss

        def prune(self, keep):
            scores = []
            for k, piece in enumerate(self.pieces):
                if len(piece) == 1:
                    scores.append(math.inf)
                else:
                    singles = sum(self.logp[self.index[c]] for c in piece)
                    scores.append(float((self.logp[k] - singles) * self.logp[k].exp()))
            order = sorted(range(len(scores)), key=lambda k: (-scores[k], self.pieces[k]))[:keep]
            order.sort()
            self.logp = self.logp[paddle.to_tensor(order)]
            self.pieces = [self.pieces[k] for k in order]
            self.logp = self.logp - paddle.logsumexp(self.logp, axis=0)

        def encode(self, word, n=1):
            heap, out, tick = [(0.0, 0, ())], [], 0
            while heap and len(out) < n:
                cost, at, path = heapq.heappop(heap)
                if at == len(word):
                    out.append((list(path), paddle.to_tensor(-cost)))
                    continue
                for i, j, k in self.edges(word):
                    if i == at:
                        heapq.heappush(
                            heap, (cost - self.logp[k].item(), j, path + (self.pieces[k],))
                        )
            if not out:
                return [(["<unk>"], paddle.to_tensor(-math.inf))]
            return out

    def records_of(convert):
        model = UnigramModel({"banana": 3, "ban": 2, "nab": 1, "canada": 2, "can": 2})
        em, encode = convert(model.em_step), convert(model.encode)
        records = [len(model.pieces)]
        for keep in (None, 14, None, 9):
            records += [em(), model.logp]
            if keep:
                model.prune(keep)
                records.append(list(model.pieces))
        records += [encode("banana"), encode("cabana", n=3), encode("xyz"), em(prior=0.5)]
        try:
            model.words["zoo"] = 1
            em()
        except KeyError as e:
            records.append(repr(e))
        return records

    yield from records_of(convert)


@program
def keys_and_values_in_pages(convert):
    """A paged key-value cache: a block allocator with reference counts, forks that copy on write, attention over pages."""

    class OutOfBlocks(MemoryError):
        pass

    class BlockPool:
        def __init__(self, blocks, size, width):
            self.keys, self.values = (
                paddle.zeros([blocks, size, width]),
                paddle.zeros([blocks, size, width]),
            )
            self.size, self.free, self.refs = size, deque(range(blocks)), [0] * blocks

        def take(self):
            if not self.free:
                raise OutOfBlocks(f"all {len(self.refs)} blocks are in use")
            b = self.free.popleft()
            self.refs[b] = 1
            return b

        def drop(self, b):
            self.refs[b] -= 1
            if self.refs[b] == 0:
                self.free.append(b)

        def copy(self, b):
            fresh = self.take()
            self.keys[fresh], self.values[fresh] = self.keys[b], self.values[b]
            self.drop(b)
            return fresh

    class Sequence:
        def __init__(self, pool: BlockPool):
            self.pool, self.table, self.length = pool, [], 0

        def append(self, k, v):
            slot = self.length % self.pool.size
            if slot == 0:
                self.table.append(self.pool.take())
            elif self.pool.refs[self.table[-1]] > 1:
                self.table[-1] = self.pool.copy(self.table[-1])
            self.pool.keys[self.table[-1], slot] = k
            self.pool.values[self.table[-1], slot] = v
            self.length += 1

        def fork(self):
            other = Sequence(self.pool)
            other.table, other.length = list(self.table), self.length
            for b in self.table:
                self.pool.refs[b] += 1
            return other

        def release(self):
            while self.table:
                self.pool.drop(self.table.pop())
            self.length = 0

        def attend(self, q):
            """online softmax, page by page"""
            top, norm, acc = paddle.full([], -math.inf), paddle.zeros([]), paddle.zeros_like(q)
            for n, b in enumerate(self.table):
                live = min(self.pool.size, self.length - n * self.pool.size)
                s = self.pool.keys[b, :live] @ q / math.sqrt(q.shape[0])
                new = paddle.maximum(top, s.max())
                fix, w = (top - new).exp(), (s - new).exp()
                norm, acc, top = (
                    norm * fix + w.sum(),
                    acc * fix + w @ self.pool.values[b, :live],
                    new,
                )
            return acc / norm

    class TinyLM(nn.Layer):
        def __init__(self, vocab=6, width=4):
            super().__init__()
            self.embed, self.qkv, self.out = (
                nn.Embedding(vocab, width),
                nn.Linear(width, 3 * width),
                nn.Linear(width, vocab),
            )

        @paddle.no_grad()
        def step(self, token, seq: Sequence):
            q, k, v = self.qkv(self.embed(paddle.to_tensor(token))).chunk(3)
            seq.append(k, v)
            return F.log_softmax(self.out(seq.attend(q)), axis=-1)

    def records_of(convert):
        paddle.seed(101)
        lm, pool = TinyLM(), BlockPool(8, 2, 4)

        def generate(prompt, samples=2, steps=3, stop=0):
            """a prompt is read once; its cache is shared by several continuations"""
            root = Sequence(pool)
            for t in prompt:
                logp = lm.step(t, root)
            starts = logp.topk(samples)[1].tolist()
            done, error = [], None
            for token in starts:
                seq, words, score = root.fork(), [token], logp[token]
                try:
                    for _ in range(steps):
                        if words[-1] == stop:
                            break
                        nxt = lm.step(words[-1], seq)
                        words.append(int(nxt.argmax()))
                        score = score + nxt.max()
                except OutOfBlocks as e:
                    error = str(e)
                finally:
                    seq.release()
                done.append((words, score))
            root.release()
            return sorted(done, key=lambda d: -float(d[1])), error

        run = convert(generate)
        records = []
        for prompt, options in [
            ([1, 2, 3], {}),
            ([4], {"samples": 3, "steps": 5}),
            ([5, 1, 5, 2, 3, 3, 1], {"steps": 8, "samples": 1}),
            ([2, 2], {"stop": 3}),
            ([1] * 12, {"samples": 4, "steps": 7}),
        ]:
            records += [run(prompt, **options), list(pool.refs), sorted(pool.free)]
        records += [pool.keys.clone(), pool.values.clone()]
        return records

    yield from records_of(convert)
