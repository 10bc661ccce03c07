"""Tokens, arrays of NumPy, logs and reports around models, as scripts and services have them."""

import io
import json
import logging
import re
import string
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import partial
from operator import attrgetter, itemgetter

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def decoding_with_incremental_text(convert):
    """A detokeniser that holds back incomplete pieces, stop strings, and a log of what was said."""

    PIECES = ["", "_the", "_cat", "_sat", "s", "ing", ".", "_on", "_mat", "_a"]

    class Detokenizer:
        def __init__(self, stops=()):
            self.stops, self.text, self.pending = tuple(stops), "", ""

        def push(self, token):
            piece = PIECES[token].replace("_", " ")
            self.pending += piece
            if any(stop.startswith(self.pending.strip()) for stop in self.stops):
                return ""
            out, self.pending = self.pending, ""
            self.text += out
            return out

        @property
        def stopped(self):
            return any(stop in self.text + self.pending for stop in self.stops)

    class Speaker(nn.Layer):
        def __init__(self, vocab=10, dim=6):
            super().__init__()
            self.embed, self.cell, self.head = (
                nn.Embedding(vocab, dim),
                nn.GRUCell(dim, dim),
                nn.Linear(dim, vocab),
            )
            self.dim = dim

        @convert
        def next_token(self, token, state, bias, u=None):
            _, state = self.cell(self.embed(token), state)
            logits = self.head(state).squeeze(0) * 4 + bias
            if u is None:
                return logits.argmax(), state
            probs = F.softmax(logits)
            cdf = probs.cumsum(0)
            for k in range(probs.shape[0]):
                if cdf[k] > u:
                    return paddle.to_tensor(k), state
            return logits.argmax(), state

    log = io.StringIO()
    logger = logging.Logger("speaker")
    logger.addHandler(logging.StreamHandler(log))
    paddle.seed(2)
    speaker = Speaker()
    rng = np.random.RandomState(0)
    with paddle.no_grad():
        for stops, sample in (((".",), False), (("on",), True), ((), True)):
            detok, state = Detokenizer(stops), paddle.zeros([1, 6])
            token, counts = paddle.to_tensor([1]), Counter()
            for step in range(7):
                bias = paddle.to_tensor([-0.5 * counts[k] for k in range(10)])
                u = paddle.to_tensor(float(rng.rand())) if sample else None
                token, state = speaker.next_token(token.reshape([1]), state, bias, u=u)
                counts[int(token)] += 1
                said = detok.push(int(token))
                logger.info("%02d %r", step, said)
                if detok.stopped:
                    break
            yield detok.text, detok.pending, dict(counts)
    yield log.getvalue()


@program
def batches_from_ragged_arrays(convert):
    """NumPy collates ragged sequences with masks; pooled features come back as arrays and records."""

    @dataclass
    class Example:
        ident: str
        values: np.ndarray
        label: int = 0
        meta: dict = field(default_factory=dict)

    def collate(examples, multiple=2, fill=0.0):
        longest = max(len(e.values) for e in examples)
        longest = -(-longest // multiple) * multiple
        x = np.full((len(examples), longest), fill, "float32")
        mask = np.zeros_like(x, dtype=bool)
        for row, example in enumerate(examples):
            x[row, : len(example.values)] = example.values
            mask[row, : len(example.values)] = True
        return {
            "x": paddle.to_tensor(x),
            "mask": paddle.to_tensor(mask),
            "label": paddle.to_tensor([e.label for e in examples]),
            "ids": [e.ident for e in examples],
        }

    @convert
    def features(batch, normalise=True):
        x, mask = batch["x"], batch["mask"].astype("float32")
        count = mask.sum(axis=1)
        mean = (x * mask).sum(axis=1) / count.clip(min=1)
        centred = (x - mean.unsqueeze(1)) * mask
        std = paddle.sqrt((centred**2).sum(axis=1) / count.clip(min=1) + 1e-6)
        if normalise and (std > 1.0).any():
            std = std / std.max()
        peaks = paddle.where(batch["mask"], x, paddle.full_like(x, -1e9)).max(axis=1)
        return {"mean": mean, "std": std, "peak": peaks, "ids": batch["ids"]}

    @convert
    def confusion(pred, label, classes=2):
        table = paddle.zeros([classes, classes], dtype="int64")
        for p, t in zip(pred, label):
            table[t, p] += 1
        return table

    rng = np.random.RandomState(3)
    for sizes in ((2, 4), (3, 1, 5), (4, 4)):
        examples = [
            Example(f"e{i}", rng.randn(n).astype("float32") * (1 + i), i % 2)
            for i, n in enumerate(sizes)
        ]
        examples.sort(key=lambda e: -len(e.values))
        batch = collate(examples)
        out = features(batch, normalise=len(sizes) > 2)
        rows = np.stack([out[k].numpy() for k in ("mean", "std", "peak")], axis=1)
        yield rows.round(4), out["ids"]
        pred = (paddle.to_tensor(rows[:, 2]) > 1.0).astype("int64")
        yield confusion(pred, batch["label"])
        yield [
            itemgetter("ident", "label")(asdict(e))
            for e in sorted(examples, key=attrgetter("ident"))
        ]


@program
def template_reports_with_tensors(convert):
    """Formats, f-strings, json and templates with numbers that a program computes, line by line."""

    class Reporter:
        template = string.Template("step=$step loss=$loss")

        def __init__(self, every=2):
            self.every, self.lines = every, []

        def __call__(self, step, **values):
            if step % self.every:
                return
            print(f"[{step:03d}] " + ", ".join(f"{k}={float(v):.3f}" for k, v in values.items()))
            self.lines.append(self.template.substitute(step=step, loss="%.2f" % values["loss"]))

    @convert
    def fit(x, y, reporter, steps=4, rate=0.2):
        w = paddle.zeros([x.shape[1], 1])
        for step in range(steps):
            r = x @ w - y
            loss = (r**2).mean()
            grad = 2 * x.t() @ r / x.shape[0]
            reporter(step, loss=loss, grad=grad.norm())
            if grad.norm() < 0.05:
                print("converged after", step, "steps")
                break
            w = w - rate * grad
        return w, loss

    @convert
    def summary(w, loss):
        record = {"loss": round(float(loss), 3), "w": [round(v, 3) for v in w.flatten().tolist()]}
        return json.dumps(record, sort_keys=True)

    rng = np.random.RandomState(1)
    for n, every in ((5, 1), (6, 2), (5, 1)):
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        y = x @ paddle.to_tensor([[1.0], [-0.5]])
        reporter = Reporter(every)
        w, loss = fit(x, y, reporter, steps=3 + every)
        yield w, loss, reporter.lines
        yield summary(w, loss)
    yield fit(x, y * 0, Reporter(1))


@program
def features_by_rules_and_hashes(convert):
    """A vectoriser with hashed n-grams in Python, weights by tf-idf on tensors, online Perceptron."""

    class HashingVectorizer:
        word = re.compile(r"[a-z]+")

        def __init__(self, buckets=8, ngrams=(1, 2)):
            self.buckets, self.ngrams = buckets, ngrams
            self.df = paddle.zeros([buckets])
            self.docs = 0

        def bucket(self, text):
            value = 0
            for ch in text:
                value = (value * 31 + ord(ch)) % 1_000_003
            return value % self.buckets

        def counts(self, text):
            words = self.word.findall(text.lower())
            grams = [
                " ".join(words[i : i + n])
                for n in range(self.ngrams[0], self.ngrams[1] + 1)
                for i in range(len(words) - n + 1)
            ]
            row = np.zeros(self.buckets, "float32")
            np.add.at(row, [self.bucket(g) for g in grams], 1.0)
            return row

        @convert
        def weigh(self, counts, update=True):
            if update:
                self.df = self.df + (counts > 0).astype("float32").sum(axis=0)
                self.docs += counts.shape[0]
            idf = paddle.log((1.0 + self.docs) / (1.0 + self.df)) + 1.0
            x = paddle.log1p(counts) * idf
            return F.normalize(x, axis=1)

    class Perceptron:
        def __init__(self, dim, margin=0.1):
            self.w, self.mistakes, self.margin = paddle.zeros([dim]), 0, margin
            self.average, self.seen = paddle.zeros([dim]), np.int64(0)

        @convert
        def learn(self, xs, ys):
            for x, y in zip(xs, ys):
                if y * (self.w * x).sum() <= self.margin:
                    self.w = self.w + y * x
                    self.mistakes += 1
                self.average = self.average + self.w
            self.seen = self.seen + len(ys)
            return self.average / float(self.seen)

    vectorizer, model = HashingVectorizer(), Perceptron(8)
    corpora = [
        (["The cat sat", "a dog ran far"], [1.0, -1.0]),
        (["cats and dogs", "the cat ran"], [-1.0, 1.0]),
        (["dog", "the cat sat on the dog", "far"], [-1.0, 1.0, -1.0]),
    ]
    for texts, labels in corpora:
        counts = paddle.to_tensor(np.stack([vectorizer.counts(t) for t in texts]))
        x = vectorizer.weigh(counts)
        yield x, vectorizer.docs, vectorizer.df
        yield model.learn(x, paddle.to_tensor(labels)), model.mistakes, int(model.seen)
    yield vectorizer.weigh(counts, update=False)


@program
def losses_swapped_as_training_goes(convert):
    """A trainer that exchanges its loss function and its activation, by a plan and by a plateau."""

    def huber(p, y, delta=1.0):
        return F.smooth_l1_loss(p, y, delta=delta)

    class Staged:
        def __init__(self, model, plan):
            self.model, self.plan = model, dict(plan)
            self.loss, self.activation = F.mse_loss, paddle.tanh
            self.last, self.step = None, 0
            self.optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())

        @convert
        def train(self, x, y):
            self.loss = self.plan.get(self.step, self.loss)
            out = self.model(self.activation(x))
            value = self.loss(out, y)
            value.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            self.step += 1
            if self.step == 3:
                self.activation = F.relu
            return value

        @convert
        def judge(self, value, tolerance=0.01):
            if self.last is not None and (self.last - value) < tolerance:
                self.last = value
                return "plateau"
            self.last = value
            return "better"

    paddle.seed(8)
    staged = Staged(nn.Linear(3, 1), {2: F.l1_loss, 4: partial(huber, delta=0.5)})
    rng = np.random.RandomState(4)
    for step in range(6):
        x = paddle.to_tensor(rng.randn(4, 3).astype("float32"))
        value = staged.train(x, x.sum(axis=1, keepdim=True) * 3)
        yield value, staged.step, staged.judge(value)
    yield attempt(lambda: staged.train(paddle.ones([2, 2]), paddle.ones([2, 1])))
    yield staged.model.weight
