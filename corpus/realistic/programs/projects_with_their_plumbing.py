"""Whole small projects: trainers with state, ensembles at test time, optimizers, taggers."""

import copy
import json
import math
from collections import OrderedDict, defaultdict
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def recommender_with_a_best_checkpoint(convert):
    """Factors with biases by BPR, hits in the first few, patience, the best weights restored."""

    @dataclass
    class Config:
        users: int = 5
        items: int = 8
        dim: int = 4
        lr: float = 0.1
        l2: float = 1e-3
        epochs: int = 6
        patience: int = 2
        top: int = 3

        @classmethod
        def load(cls, text):
            unknown = set(json.loads(text)) - set(cls.__dataclass_fields__)
            if unknown:
                raise KeyError(f"unknown settings: {sorted(unknown)}")
            return cls(**json.loads(text))

    class Factors(nn.Layer):
        def __init__(self, cfg):
            super().__init__()
            init = nn.initializer.Normal(std=0.1)
            attr = paddle.ParamAttr(initializer=init)
            self.user = nn.Embedding(cfg.users, cfg.dim, weight_attr=attr)
            self.item = nn.Embedding(cfg.items, cfg.dim, weight_attr=attr)
            self.bias = nn.Embedding(cfg.items, 1, weight_attr=attr)

        def forward(self, u, i):
            return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

        def all_scores(self, u):
            return self.user(u) @ self.item.weight.t() + self.bias.weight.squeeze(-1)

    class Meter:
        def __init__(self):
            self.total, self.count = 0.0, 0

        def add(self, value, n=1):
            self.total += float(value) * n
            self.count += n

        @property
        def mean(self):
            return self.total / max(self.count, 1)

    class Trainer:
        def __init__(self, cfg, seen):
            self.cfg, self.seen = cfg, seen
            self.model = Factors(cfg)
            self.opt = paddle.optimizer.Adam(cfg.lr, parameters=self.model.parameters())
            self.best: Dict[str, Any] = {"epoch": -1, "recall": -1.0, "state": None}
            self.log: List[Dict[str, float]] = []

        @convert
        def step(self, users, positives, negatives):
            margin = self.model(users, positives) - self.model(users, negatives)
            reg = sum((p**2).sum() for p in self.model.parameters())
            loss = -F.log_sigmoid(margin).mean() + self.cfg.l2 * reg
            loss.backward()
            self.opt.step()
            self.opt.clear_grad()
            return loss.detach(), (margin > 0).astype("float32").mean()

        @convert
        @paddle.no_grad()
        def evaluate(self, heldout):
            hits, ndcg = 0, 0.0
            for user, item in heldout.items():
                scores = self.model.all_scores(paddle.to_tensor([user]))[0]
                for s in self.seen[user]:
                    scores[s] = -1e9
                _, top = scores.topk(self.cfg.top)
                for rank, candidate in enumerate(top):
                    if candidate == item:
                        hits += 1
                        ndcg += 1 / math.log2(rank + 2)
                        break
            n = len(heldout)
            return {"recall": hits / n, "ndcg": ndcg / n}

        def fit(self, batches, heldout):
            bad = 0
            for epoch in range(self.cfg.epochs):
                loss, auc = Meter(), Meter()
                for batch in batches(epoch):
                    value, correct = self.step(*batch)
                    loss.add(value, len(batch[0]))
                    auc.add(correct, len(batch[0]))
                metrics = self.evaluate(heldout)
                self.log.append({"loss": round(loss.mean, 4), "auc": auc.mean, **metrics})
                if metrics["recall"] > self.best["recall"]:
                    state = {k: v.clone() for k, v in self.model.state_dict().items()}
                    self.best = {"epoch": epoch, "recall": metrics["recall"], "state": state}
                    bad = 0
                else:
                    bad += 1
                    if bad >= self.cfg.patience:
                        break
            self.model.set_state_dict(self.best["state"])
            return self.best["epoch"]

    seen = {0: [0, 1], 1: [1, 2], 2: [3, 4], 3: [0, 4], 4: [5]}
    heldout = {0: 2, 1: 0, 2: 5, 3: 1}

    def batches(epoch):
        rng = np.random.RandomState(epoch)
        rows = [(u, i) for u, items in seen.items() for i in items]
        rng.shuffle(rows)
        for start in range(0, len(rows), 4):
            chunk = rows[start : start + 4]
            negatives = []
            for u, _ in chunk:
                j = rng.randint(8)
                while j in seen[u]:
                    j = rng.randint(8)
                negatives.append(j)
            yield tuple(
                paddle.to_tensor(column)
                for column in ([u for u, _ in chunk], [i for _, i in chunk], negatives)
            )

    paddle.seed(30)
    cfg = Config.load('{"epochs": 5, "lr": 0.2}')
    trainer = Trainer(cfg, seen)
    yield trainer.fit(batches, heldout), trainer.log, asdict(cfg)
    yield trainer.best["recall"], trainer.model.item.weight
    yield trainer.evaluate(heldout)
    yield attempt(lambda: Config.load('{"layers": 2}'))


@program
def progressive_sizes_with_averaged_weights(convert):
    """Images that grow over the epochs, a cyclic rate, weights averaged at each end of a cycle."""

    class Net(nn.Layer):
        def __init__(self, classes=3):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2D(1, 4, 3, padding=1), nn.BatchNorm2D(4)
            self.conv2 = nn.Conv2D(4, 6, 3, stride=2, padding=1)
            self.drop = nn.Dropout(0.0)
            self.fc = nn.Linear(6, classes)

        def forward(self, x):
            x = F.relu(self.bn1(self.conv1(x)))
            x = F.relu(self.conv2(x))
            return self.fc(self.drop(x.mean([2, 3])))

    class SizeSchedule:
        def __init__(self, start, end, epochs, multiple=2):
            self.start, self.end, self.epochs, self.multiple = start, end, epochs, multiple

        def __call__(self, epoch):
            t = min(1.0, epoch / max(1, self.epochs - 1))
            size = self.start + t * (self.end - self.start)
            return int(round(size / self.multiple) * self.multiple)

    class Averager:
        def __init__(self, model):
            self.model = copy.deepcopy(model)
            self.count = paddle.zeros([], dtype="int64")

        @convert
        @paddle.no_grad()
        def absorb(self, model):
            n = self.count.astype("float32")
            for mine, theirs in zip(self.model.parameters(), model.parameters()):
                mine.set_value((mine * n + theirs) / (n + 1))
            self.count += 1

        @convert
        @paddle.no_grad()
        def refresh_statistics(self, batches):
            bn = self.model.bn1
            bn._mean.set_value(paddle.zeros_like(bn._mean))
            bn._variance.set_value(paddle.ones_like(bn._variance))
            kept = bn._momentum
            self.model.train()
            for i, x in enumerate(batches):
                bn._momentum = i / (i + 1)
                self.model(x)
            bn._momentum = kept
            self.model.eval()

    paddle.seed(41)
    rng = np.random.RandomState(41)
    net = Net()
    opt = paddle.optimizer.SGD(
        0.1, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0)
    )
    averager = Averager(net)
    sizes = SizeSchedule(4, 8, 4)

    @convert
    def train_step(x, y, size, mix=None):
        if x.shape[-1] != size:
            x = F.interpolate(x, size=[size, size], mode="bilinear", align_corners=False)
        if mix is not None:
            lam, order = mix
            x = lam * x + (1 - lam) * x[order]
        logits = net(x)
        if mix is None:
            loss = F.cross_entropy(logits, y)
        else:
            loss = lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[order])
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss, (logits.argmax(1) == y).astype("float32").mean()

    for epoch in range(4):
        size = sizes(epoch)
        x = paddle.to_tensor(rng.rand(4, 1, 8, 8).astype("float32"))
        y = paddle.to_tensor(rng.randint(0, 3, 4))
        mix = None
        if epoch % 2:
            mix = (
                paddle.to_tensor(rng.beta(0.4, 0.4), dtype="float32"),
                paddle.to_tensor(rng.permutation(4)),
            )
        opt.set_lr(0.05 * (1 + math.cos(math.pi * (epoch % 2) / 2)))
        yield size, train_step(x, y, size, mix)
        if epoch % 2 == 1:
            averager.absorb(net)
    averager.refresh_statistics(
        [paddle.to_tensor(rng.rand(3, 1, 8, 8).astype("float32")) for _ in range(2)]
    )
    yield averager.count, averager.model(x), averager.model.bn1._mean


@program
def votes_of_augmented_views(convert):
    """Test-time augmentation: views with inverses, means by kind, votes with ties, confidence."""

    class View:
        def __init__(self, name, apply, invert=None, weight=1.0):
            self.name, self.apply, self.weight = name, apply, weight
            self.invert = invert or (lambda y: y)

        def __repr__(self):
            return f"View({self.name})"

    VIEWS = OrderedDict(
        (v.name, v)
        for v in (
            View("same", lambda x: x, weight=2.0),
            View("mirror", lambda x: x.flip(-1), lambda y: y.flip(-1)),
            View(
                "turn", lambda x: paddle.rot90(x, 1, [2, 3]), lambda y: paddle.rot90(y, -1, [2, 3])
            ),
            View("bright", lambda x: (x * 1.2).clip(0, 1)),
        )
    )

    class Segmenter(nn.Layer):
        def __init__(self, classes=3):
            super().__init__()
            self.a = nn.Conv2D(1, 4, 3, padding=1)
            self.b = nn.Conv2D(4, classes, 1)

        def forward(self, x):
            return self.b(F.relu(self.a(x)))

    class Ensemble:
        def __init__(self, model, views=None, merge="mean", temperature=1.0):
            self.model = model
            self.views = [VIEWS[n] for n in (views or VIEWS)]
            self.merge, self.temperature = merge, temperature

        def masks(self, x):
            for view in self.views:
                yield view, view.invert(self.model(view.apply(x)))

        @convert
        def segment(self, x):
            total, weight = 0, 0.0
            best = None
            for view, logits in self.masks(x):
                p = F.softmax(logits / self.temperature, axis=1)
                if self.merge == "mean":
                    total = total + view.weight * p
                elif self.merge == "gmean":
                    total = total + view.weight * p.log()
                elif self.merge == "max":
                    best = p if best is None else paddle.maximum(best, p)
                else:
                    raise ValueError(f"cannot merge by {self.merge!r}")
                weight += view.weight
            if self.merge == "max":
                p = best / best.sum(axis=1, keepdim=True)
            else:
                p = total / weight
                p = F.softmax(p, axis=1) if self.merge == "gmean" else p
            return p.argmax(axis=1), p.max(axis=1)

        @convert
        def vote(self, x, classes=3):
            """One class per image: the class of most pixels in a view has its vote."""
            ballots = paddle.zeros([x.shape[0], classes])
            for view, logits in self.masks(x):
                winner = logits.mean(axis=[2, 3]).argmax(axis=1)
                for i in range(x.shape[0]):
                    ballots[i, winner[i]] += view.weight
            decided, ties = [], 0
            for row in ballots:
                top = row.max()
                tied = (row == top).nonzero().flatten()
                if tied.shape[0] > 1:
                    ties += 1
                    decided.append(-1)
                else:
                    decided.append(int(tied[0]))
            return decided, ties, ballots

    paddle.seed(52)
    model = Segmenter()
    model.eval()
    rng = np.random.RandomState(52)
    with paddle.no_grad():
        for merge, n in (("mean", 2), ("gmean", 3), ("max", 2)):
            ensemble = Ensemble(model, merge=merge, temperature=0.5)
            x = paddle.to_tensor(rng.rand(n, 1, 4, 4).astype("float32"))
            yield ensemble.segment(x)
            yield ensemble.vote(x), str(ensemble.views)
        yield Ensemble(model, ["mirror", "turn"]).vote(x)
        yield attempt(lambda: Ensemble(model, merge="median").segment(x))


@program
def adamw_by_groups_with_adaptive_clipping(convert):
    """Own AdamW with groups, gradients clipped by unit norms (AGC), warm-up, a state dict."""

    class AdamW:
        defaults = {"lr": 1e-2, "betas": (0.9, 0.99), "eps": 1e-8, "decay": 0.01, "clip": None}

        def __init__(self, groups, **overrides):
            self.groups = []
            for group in groups:
                settings = {**self.defaults, **overrides, **group}
                settings["params"] = list(settings["params"])
                self.groups.append(settings)
            self.state: Dict[str, Dict[str, Any]] = defaultdict(dict)
            self.t = 0

        @staticmethod
        def unit_norm(x):
            if x.ndim <= 1:
                return x.norm()
            return paddle.linalg.norm(x.flatten(1), axis=1).reshape([-1] + [1] * (x.ndim - 1))

        def clipped(self, p, g, limit):
            allowed = paddle.maximum(self.unit_norm(p), paddle.to_tensor(1e-3)) * limit
            size = self.unit_norm(g)
            return paddle.where(size > allowed, g * (allowed / (size + 1e-6)), g)

        @paddle.no_grad()
        def step(self):
            self.t += 1
            for group in self.groups:
                b1, b2 = group["betas"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    g = p.grad
                    if group["clip"] is not None:
                        g = self.clipped(p, g, group["clip"])
                    s = self.state[p.name]
                    if not s:
                        s["m"], s["v"] = paddle.zeros_like(p), paddle.zeros_like(p)
                    s["m"] = b1 * s["m"] + (1 - b1) * g
                    s["v"] = b2 * s["v"] + (1 - b2) * g * g
                    m = s["m"] / (1 - b1**self.t)
                    v = s["v"] / (1 - b2**self.t)
                    new = p * (1 - group["lr"] * group["decay"])
                    p.set_value(new - group["lr"] * m / (v.sqrt() + group["eps"]))

        def zero_grad(self):
            for group in self.groups:
                for p in group["params"]:
                    p.clear_gradient()

        def state_dict(self):
            return {"t": self.t, "moments": [dict(s) for s in self.state.values()]}

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1D(1, 3, 3)
            self.norm = nn.LayerNorm([3])
            self.fc = nn.Linear(3, 1)

        def forward(self, x):
            h = F.relu(self.conv(x)).mean(-1)
            return self.fc(self.norm(h)).squeeze(-1)

    def split(model):
        decayed, plain = [], []
        for name, p in model.named_parameters():
            (plain if p.ndim == 1 or "norm" in name else decayed).append(p)
        return [{"params": decayed, "clip": 0.1}, {"params": plain, "decay": 0.0}]

    paddle.seed(61)
    net = Net()
    opt = AdamW(split(net), lr=0.05)

    @convert
    def train_step(x, y, huber=1.0):
        error = net(x) - y
        small = error.abs() <= huber
        loss = paddle.where(small, 0.5 * error**2, huber * (error.abs() - 0.5 * huber)).mean()
        loss.backward()
        norms = {name: p.grad.norm() for name, p in net.named_parameters()}
        worst = max(norms, key=lambda n: float(norms[n]))
        opt.step()
        opt.zero_grad()
        return loss, worst

    rng = np.random.RandomState(61)
    for step in range(4):
        for group in opt.groups:
            group["lr"] = 0.05 * min(1.0, (step + 1) / 2)
        x = rng.randn(4 + step % 2, 1, 6).astype("float32") * (10 if step == 2 else 1)
        yield train_step(paddle.to_tensor(x), paddle.to_tensor(x.sum((1, 2))))
    yield opt.state_dict()
    yield net.conv.weight, net.norm.weight


@program
def tagger_with_allowed_transitions(convert):
    """A CRF whose transitions obey BIO, Viterbi with lengths, spans, scores per type of entity."""

    TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]

    def allowed(before: Optional[str], after: str) -> bool:
        if not after.startswith("I-"):
            return True
        return before is not None and before != "O" and before[2:] == after[2:]

    class ConstrainedCRF(nn.Layer):
        def __init__(self, tags):
            super().__init__()
            n = len(tags)
            self.tags = tags
            self.trans = self.create_parameter(
                [n, n], default_initializer=nn.initializer.Normal(std=0.1)
            )
            mask = np.array([[allowed(a, b) for b in tags] for a in tags])
            start = np.array([allowed(None, b) for b in tags])
            self.register_buffer(
                "barrier", paddle.to_tensor(np.where(mask, 0, -1e4).astype("float32"))
            )
            self.register_buffer(
                "start", paddle.to_tensor(np.where(start, 0, -1e4).astype("float32"))
            )

        def normalizer(self, emissions):
            alpha = emissions[0] + self.start
            scores = self.trans + self.barrier
            for e in emissions[1:]:
                alpha = paddle.logsumexp(alpha.unsqueeze(1) + scores, axis=0) + e
            return paddle.logsumexp(alpha, axis=0)

        def path_score(self, emissions, path):
            score = emissions[0, path[0]] + self.start[path[0]]
            for t in range(1, path.shape[0]):
                score = score + self.trans[path[t - 1], path[t]] + emissions[t, path[t]]
            return score

        @convert
        def loss(self, emissions, paths, lengths):
            total = 0.0
            for e, p, n in zip(emissions, paths, lengths):
                n = int(n)
                total = total + self.normalizer(e[:n]) - self.path_score(e[:n], p[:n])
            return total / len(lengths)

        @convert
        def decode(self, emissions, length):
            scores = self.trans + self.barrier
            best = emissions[0] + self.start
            pointers = []
            for t in range(1, int(length)):
                candidates = best.unsqueeze(1) + scores
                pointers.append(candidates.argmax(axis=0))
                best = candidates.max(axis=0) + emissions[t]
            last = best.argmax()
            path = [last]
            for p in reversed(pointers):
                path.append(p[path[-1]])
            return [self.tags[int(k)] for k in reversed(path)], best.max()

    def spans(tags):
        found, start, kind = [], None, None
        for i, tag in enumerate([*tags, "O"]):
            if start is not None and (tag == "O" or tag.startswith("B-")):
                found.append((kind, start, i))
                start = None
            if tag.startswith("B-"):
                start, kind = i, tag[2:]
        return found

    class SpanScores:
        def __init__(self):
            self.table = defaultdict(lambda: {"tp": 0, "fp": 0, "fn": 0})

        def add(self, predicted, gold):
            p, g = set(spans(predicted)), set(spans(gold))
            for kind, *_ in p & g:
                self.table[kind]["tp"] += 1
            for kind, *_ in p - g:
                self.table[kind]["fp"] += 1
            for kind, *_ in g - p:
                self.table[kind]["fn"] += 1

        def report(self):
            out = {}
            for kind, c in sorted(self.table.items()):
                bottom = 2 * c["tp"] + c["fp"] + c["fn"]
                out[kind] = round(2 * c["tp"] / bottom, 4) if bottom else 0.0
            return out

    paddle.seed(71)
    crf = ConstrainedCRF(TAGS)
    embed = nn.Embedding(9, 5)
    opt = paddle.optimizer.Adam(0.1, parameters=[*crf.parameters(), *embed.parameters()])
    gold = [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-LOC", "I-LOC", "O", "B-PER"]]
    words = [[1, 2, 3, 0], [4, 5, 0, 0], [6, 7, 3, 1]]
    lengths = [3, 2, 4]
    paths = np.zeros((3, 4), dtype="int64")
    for i, tags in enumerate(gold):
        paths[i, : len(tags)] = [TAGS.index(t) for t in tags]
    for _ in range(3):
        loss = crf.loss(
            embed(paddle.to_tensor(words)), paddle.to_tensor(paths), paddle.to_tensor(lengths)
        )
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield loss
        scores = SpanScores()
        for row, n, tags in zip(words, lengths, gold):
            predicted, score = crf.decode(embed(paddle.to_tensor(row)), paddle.to_tensor(n))
            scores.add(predicted, tags)
            yield predicted, score
        yield scores.report()
    yield crf.trans
