"""Language without a large model: parsers, an index, span scores, topics, and a tagger."""

import itertools
import math
import re
from collections import ChainMap, Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Iterator, NamedTuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def chart_parser_with_back_pointers(convert):
    """CKY for a weighted grammar: best trees as nested tuples, inside scores, and brackets."""

    class Rule(NamedTuple):
        parent: str
        left: str
        right: str
        weight: int

    class Grammar:
        def __init__(self, text):
            self.rules = []
            names = []
            for line in text.strip().splitlines():
                parent, arrow, left, right = line.split()
                self.rules.append(Rule(parent, left, right, len(self.rules)))
                names += [parent, left, right]
            self.symbols = tuple(dict.fromkeys(names))
            self.number = {name: i for i, name in enumerate(self.symbols)}

        @cached_property
        def by_parent(self):
            table = defaultdict(list)
            for rule in self.rules:
                table[rule.parent].append(rule)
            return dict(table)

        def __len__(self):
            return len(self.symbols)

    grammar = Grammar(
        """
        S -> NP VP
        NP -> NP PP
        VP -> V NP
        VP -> VP PP
        PP -> P NP
        """.replace("    ", "")
    )

    class Chart(dict):
        def best(self, i, j, symbol):
            return self.get((i, j, symbol), (None, None))

    @convert
    def parse(emissions, weights, root="S"):
        n = emissions.shape[0]
        chart = Chart()
        for i in range(n):
            for symbol in ("NP", "V", "P"):
                chart[i, i + 1, symbol] = (emissions[i, grammar.number[symbol]], None)
        for span in range(2, n + 1):
            for i in range(n - span + 1):
                j = i + span
                for parent, rules in grammar.by_parent.items():
                    score, back = None, None
                    for rule, k in itertools.product(rules, range(i + 1, j)):
                        left, _ = chart.best(i, k, rule.left)
                        right, _ = chart.best(k, j, rule.right)
                        if left is None or right is None:
                            continue
                        candidate = left + right + weights[rule.weight]
                        if score is None or candidate > score:
                            score, back = candidate, (k, rule)
                    if score is not None:
                        chart[i, j, parent] = (score, back)

        def tree(i, j, symbol):
            score, back = chart[i, j, symbol]
            if back is None:
                return symbol, i
            k, rule = back
            return symbol, tree(i, k, rule.left), tree(k, j, rule.right)

        if (0, n, root) not in chart:
            return None, None
        return chart[0, n, root][0], tree(0, n, root)

    @convert
    def inside(emissions, weights):
        n, size = emissions.shape[0], len(grammar)
        cells = {(i, i + 1): emissions[i] for i in range(n)}
        for span, i in ((s, i) for s in range(2, n + 1) for i in range(n - s + 1)):
            total = [[] for _ in range(size)]
            for k in range(i + 1, i + span):
                left, right = cells[i, k], cells[k, i + span]
                for parent, a, b, w in grammar.rules:
                    total[grammar.number[parent]].append(
                        left[grammar.number[a]] + right[grammar.number[b]] + weights[w]
                    )
            cells[i, i + span] = paddle.stack(
                [
                    paddle.logsumexp(paddle.stack(t), axis=0) if t else paddle.full([], -1e4)
                    for t in total
                ]
            )
        return cells[0, n][grammar.number["S"]]

    rng = np.random.RandomState(21)
    for n in (3, 5, 5, 2):
        emissions = paddle.to_tensor(rng.randn(n, len(grammar)).astype("float32"))
        weights = paddle.to_tensor(rng.randn(5).astype("float32"))
        yield parse(emissions, weights)
        weights.stop_gradient = False
        log_z = inside(emissions, weights)
        log_z.backward()
        yield log_z, weights.grad
    yield parse(emissions, weights, root="VP")


@program
def ranked_index_with_feedback(convert):
    """BM25 over postings, pseudo relevance feedback, fusion of rankings, metrics per query."""

    @dataclass
    class Posting:
        docs: list = field(default_factory=list)
        counts: list = field(default_factory=list)

        def __iter__(self):
            return zip(self.docs, self.counts)

    class Index:
        k1, b = 1.2, 0.75

        def __init__(self, texts):
            self.postings = defaultdict(Posting)
            self.lengths = []
            for d, text in enumerate(texts):
                words = re.findall(r"\w+", text.lower())
                self.lengths.append(float(len(words)))
                for word, count in sorted(Counter(words).items()):
                    self.postings[word].docs.append(d)
                    self.postings[word].counts.append(float(count))
            self.lengths = paddle.to_tensor(self.lengths)

        def __len__(self):
            return self.lengths.shape[0]

        def idf(self, word):
            n = len(self.postings[word].docs) if word in self.postings else 0
            return math.log(1 + (len(self) - n + 0.5) / (n + 0.5))

        def score(self, query, k1=None, b=None):
            k1, b = self.k1 if k1 is None else k1, b or self.b
            scores = paddle.zeros([len(self)])
            for word, weight in query.items():
                if word not in self.postings:
                    continue
                posting = self.postings[word]
                docs = paddle.to_tensor(posting.docs)
                tf = paddle.to_tensor(posting.counts)
                norm = k1 * (1 - b + b * self.lengths[docs] / self.lengths.mean())
                gain = weight * self.idf(word) * tf * (k1 + 1) / (tf + norm)
                scores = paddle.scatter(scores, docs, gain + scores[docs])
            return scores

    texts = [
        "the cat sat on the mat",
        "a dog chased the cat",
        "dogs and cats and more dogs",
        "the stock market fell",
        "a market for cats, and a dog",
    ]
    index = Index(texts)

    @convert
    def search(words, k=3, feedback=0, threshold=0.0, **options):
        query = ChainMap({}, dict.fromkeys(words, 1.0))
        for _ in range(1 + bool(feedback)):
            scores = index.score(query, **options)
            values, order = paddle.topk(scores, k)
            if feedback and len(query.maps[0]) == 0:
                for d in order[:feedback]:
                    for word, posting in index.postings.items():
                        for doc, count in posting:
                            if doc == d:
                                query[word] = query.get(word, 0.0) + 0.1 * count
        hits = [(int(d), v) for d, v in zip(order, values) if v > threshold]
        return hits, len(query)

    def fuse(rankings, c=10.0):
        total = paddle.zeros([len(index)])
        for ranking in rankings:
            for rank, (doc, _) in enumerate(ranking, start=1):
                total[doc] += 1.0 / (c + rank)
        return paddle.argsort(-total, stable=True)

    def average_precision(order, relevant):
        found, total = 0, 0.0
        for rank, doc in enumerate(order, 1):
            if int(doc) in relevant:
                found += 1
                total += found / rank
        return total / max(len(relevant), 1)

    fuse, average_precision = convert(fuse), convert(average_precision)

    rankings = []
    for words, options in (
        (["cat", "dog"], {}),
        (["market"], {"k": 2, "threshold": 0.1}),
        (["cats", "unknown"], {"k1": 2.0, "b": 0.5}),
    ):
        hits, n = search(words, **options)
        rankings.append(hits)
        yield hits, n
    yield attempt(lambda: search(["cat"], feedback=1))
    order = fuse(rankings)
    yield order
    for relevant in ({0, 1}, {4}, set()):
        yield average_precision(order, relevant)


@program
def shift_reduce_parser_with_an_oracle(convert):
    """An arc-standard parser: a configuration class, legal moves, a small scorer, oracle training."""

    SHIFT, LEFT, RIGHT = range(3)

    class Configuration:
        def __init__(self, n):
            self.stack, self.buffer, self.arcs = [], list(range(n)), {}

        def legal(self):
            pairs = len(self.stack) >= 2
            return [bool(self.buffer), pairs, pairs]

        def apply(self, move):
            if move == SHIFT:
                self.stack.append(self.buffer.pop(0))
            elif move == LEFT:
                dependent = self.stack.pop(-2)
                self.arcs[dependent] = self.stack[-1]
            else:
                dependent = self.stack.pop()
                self.arcs[dependent] = self.stack[-1]
            return self

        @property
        def done(self):
            return not self.buffer and len(self.stack) <= 1

        def features(self, words):
            pad = paddle.zeros([words.shape[1]])
            top = [words[i] for i in self.stack[-2:]]
            first = [words[i] for i in self.buffer[:1]]
            parts = [pad] * (2 - len(top)) + top + (first or [pad])
            return paddle.concat(parts)

    def oracle(config, heads):
        if len(config.stack) >= 2:
            below, top = config.stack[-2:]
            if heads[below] == top:
                return LEFT
            left = [d for d, h in enumerate(heads) if h == top and d not in config.arcs]
            if heads[top] == below and not left:
                return RIGHT
        return SHIFT

    class Parser(nn.Layer):
        def __init__(self, dim, hidden=6):
            super().__init__()
            self.score = nn.Sequential(nn.Linear(3 * dim, hidden), nn.Tanh(), nn.Linear(hidden, 3))
            self.moves_made = Counter()

        @convert
        def loss(self, words, heads):
            config = Configuration(words.shape[0])
            losses = []
            while not config.done:
                gold = oracle(config, heads)
                logits = self.score(config.features(words))
                losses.append(-F.log_softmax(logits)[gold])
                config.apply(gold)
            return sum(losses) / len(losses)

        @convert
        def forward(self, words):
            config = Configuration(words.shape[0])
            total = paddle.zeros([])
            while not config.done:
                logits = self.score(config.features(words))
                scores = [s for s, ok in zip(logits, config.legal()) if ok]
                moves = [m for m, ok in enumerate(config.legal()) if ok]
                best = paddle.stack(scores).argmax()
                move = moves[best]
                total += scores[best]
                self.moves_made[move] += 1
                config.apply(move)
            return config.arcs, total

    paddle.seed(3)
    parser = Parser(2)
    opt = paddle.optimizer.SGD(0.5, parameters=parser.parameters())
    rng = np.random.RandomState(2)
    for n, heads in ((3, [1, -1, 1]), (4, [1, -1, 3, 1]), (3, [1, -1, 1])):
        words = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        loss = parser.loss(words, heads)
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield loss
        with paddle.no_grad():
            yield parser(words)
    yield dict(parser.moves_made)


@program
def spans_of_tags_and_their_scores(convert):
    """BIO tags to entities and back: repairs, exact and partial F1 per type, a confusion table."""

    class Span(NamedTuple):
        kind: str
        start: int
        stop: int

        def overlap(self, other):
            return max(0, min(self.stop, other.stop) - max(self.start, other.start))

    TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]

    def spans(tags) -> Iterator[Span]:
        kind = start = None
        for i, tag in enumerate(itertools.chain(tags, ["O"])):
            prefix, _, name = tag.partition("-")
            if kind is not None and (prefix in "OB" or name != kind):
                yield Span(kind, start, i)
                kind = None
            if prefix == "B" or (prefix == "I" and kind is None):
                kind, start = name, i

    class SpanScore:
        def __init__(self, *, partial=False):
            self.partial = partial
            self.counts = defaultdict(lambda: [0.0, 0.0, 0.0])

        def update(self, gold, found):
            gold, found = list(gold), list(found)
            for span in found:
                self.counts[span.kind][1] += 1
            for span in gold:
                self.counts[span.kind][2] += 1
                if self.partial:
                    near = [f for f in found if f.kind == span.kind and f.overlap(span)]
                    if near:
                        closest = max(near, key=span.overlap)
                        length = closest.stop - closest.start + span.stop - span.start
                        self.counts[span.kind][0] += 2 * span.overlap(closest) / length
                elif span in found:
                    self.counts[span.kind][0] += 1

        def __getitem__(self, kind):
            hit, found, gold = self.counts[kind]
            p, r = hit / max(found, 1), hit / max(gold, 1)
            return {"p": p, "r": r, "f1": 2 * p * r / (p + r) if p + r else 0.0}

        @property
        def macro(self):
            kinds = sorted(self.counts)
            return sum(self[k]["f1"] for k in kinds) / len(kinds) if kinds else float("nan")

    def decode(logits, length):
        ids = logits.argmax(axis=-1)[:length]
        return [TAGS[i] for i in ids.tolist()]

    @convert
    def repaired(logits):
        """The best tags in which I-X follows B-X or I-X only, by a Viterbi pass."""
        n, k = logits.shape
        allowed = paddle.zeros([k, k])
        for (i, a), (j, b) in itertools.product(enumerate(TAGS), repeat=2):
            if b.startswith("I-") and a[2:] != b[2:]:
                allowed[i, j] = -1e4
        score = logits[0] + paddle.to_tensor([-1e4 if t[0] == "I" else 0.0 for t in TAGS])
        back = []
        for row in logits[1:]:
            options = score.unsqueeze(1) + allowed
            back.append(options.argmax(axis=0))
            score = options.max(axis=0) + row
        path = [score.argmax()]
        for pointer in back[::-1]:
            path.append(pointer[path[-1]])
        return paddle.stack(path[::-1])

    @convert
    def evaluate(score, batch, gold, lengths):
        confusion = paddle.zeros([len(TAGS), len(TAGS)], dtype="int64")
        for logits, tags, length in zip(batch, gold, lengths):
            found = decode(logits, length)
            right = [TAGS[t] for t in tags[:length]]
            score.update(spans(right), spans(found))
            for a, b in zip(right, found):
                confusion[TAGS.index(a), TAGS.index(b)] += 1
        print(f"macro F1 {score.macro:.3f} on {len(lengths)} sentences")
        return confusion, score.macro

    rng = np.random.RandomState(17)
    exact, loose = SpanScore(), SpanScore(partial=True)
    gold = [[1, 2, 0, 3, 4], [0, 3, 0, 1, 2]]
    for scale in (0.5, 2.0, 0.1):
        noise = rng.randn(2, 5, 5) * scale + 2 * np.eye(5)[np.array(gold)]
        batch = paddle.to_tensor(noise.astype("float32"))
        yield [repaired(logits) for logits in batch]
        for score in (exact, loose):
            yield evaluate(score, batch, gold, [5, 4])
    yield exact["PER"], loose["LOC"], dict(exact.counts)


@program
def topics_by_collapsed_gibbs(convert):
    """LDA: count tables in tensors, a sweep over tokens, perplexity, the top words of each topic."""

    class Counts:
        def __init__(self, docs, vocabulary, topics):
            self.doc_topic = paddle.zeros([docs, topics])
            self.topic_word = paddle.zeros([topics, vocabulary])

        def add(self, d, w, k, by=1.0):
            self.doc_topic[d, k] += by
            self.topic_word[k, w] += by

        remove = lambda self, d, w, k: self.add(d, w, k, by=-1.0)

        @property
        def topic(self):
            return self.topic_word.sum(axis=1)

    class LDA:
        def __init__(self, corpus, vocabulary, topics, *, alpha=0.5, beta=0.1):
            self.alpha, self.beta, self.v = alpha, beta, vocabulary
            self.tokens = [(d, w) for d, words in enumerate(corpus) for w in words]
            self.lengths = [len(words) for words in corpus]
            self.counts = Counts(len(corpus), vocabulary, topics)
            self.assigned = []
            for i, (d, w) in enumerate(self.tokens):
                k = paddle.to_tensor(i % topics)
                self.assigned.append(k)
                self.counts.add(d, w, k)

        def conditional(self, d, w):
            c = self.counts
            p = (c.doc_topic[d] + self.alpha) * (c.topic_word[:, w] + self.beta)
            return p / (c.topic + self.v * self.beta)

        @convert
        def sweep(self, u):
            moved = 0
            for i, (d, w) in enumerate(self.tokens):
                old = self.assigned[i]
                self.counts.remove(d, w, old)
                p = self.conditional(d, w).cumsum(0)
                new = paddle.searchsorted(p, u[i] * p[-1])
                self.assigned[i] = new
                self.counts.add(d, w, new)
                if new != old:
                    moved += 1
            return moved

        @convert
        def perplexity(self):
            theta = self.counts.doc_topic + self.alpha
            theta = theta / theta.sum(axis=1, keepdim=True)
            phi = self.counts.topic_word + self.beta
            phi = phi / phi.sum(axis=1, keepdim=True)
            logs = [paddle.log((theta[d] * phi[:, w]).sum()) for d, w in self.tokens]
            return paddle.exp(-sum(logs) / len(logs))

        @convert
        def top_words(self, names, n=2):
            out = []
            for k, row in enumerate(self.counts.topic_word):
                best = row.argsort(descending=True)[:n]
                out.append(f"topic {k}: " + ", ".join(names[int(i)] for i in best))
            return out

    rng = np.random.RandomState(5)
    model = LDA([[0, 1, 0, 2], [3, 4, 3], [0, 2, 1]], vocabulary=5, topics=2)
    for sweeps in range(4):
        u = paddle.to_tensor(rng.rand(len(model.tokens)).astype("float32"))
        yield model.sweep(u), model.perplexity()
    yield model.assigned, model.counts.topic_word
    yield attempt(lambda: model.top_words(["cat", "dog", "pet", "stock", "bond"]))
