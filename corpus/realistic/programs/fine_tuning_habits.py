"""Training as practitioners do it: thawing, consolidation, noisy labels, contrast, tickets."""

import collections
import contextlib
import functools
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, ClassVar

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def batches(rng, n, dim, classes, count):
    for _ in range(count):
        x = rng.randn(n, dim).astype("float32")
        y = (x.sum(1) > 0).astype("int64") % classes
        yield paddle.to_tensor(x), paddle.to_tensor(y)


@program
def thawing_layer_by_layer(convert):
    """Groups by layer with decayed rates, thawing when the loss stalls, a one-cycle momentum."""

    class Backbone(nn.Layer):
        def __init__(self, dim=3, depth=3):
            super().__init__()
            self.blocks = nn.LayerList([nn.Linear(dim, dim) for _ in range(depth)])
            self.head = nn.Linear(dim, 2)

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                h = F.gelu(block(x))
                x = x + h if i else h
            return self.head(x)

        def groups(self):
            yield "head", self.head.parameters()
            for i in reversed(range(len(self.blocks))):
                yield f"block{i}", self.blocks[i].parameters()

    @dataclass
    class Group:
        name: str
        params: list
        lr: float
        frozen: bool = True
        velocity: list = field(default_factory=list)
        steps: int = 0

        def __post_init__(self):
            self.velocity = [paddle.zeros_like(p) for p in self.params]

    class Thawer:
        def __init__(self, model, lr=0.1, decay=0.5, patience=1):
            self.model = model
            self.groups = [
                Group(name, params, lr * decay**i)
                for i, (name, params) in enumerate(model.groups())
            ]
            self.groups[0].frozen = False
            self.patience, self.bad = patience, 0
            self.best = float("inf")
            self.log = []

        @property
        def thawed(self):
            return [g.name for g in self.groups if not g.frozen]

        def momentum(self, step, total):
            return 0.95 - 0.1 * math.sin(math.pi * step / total)

        @convert
        def step(self, x, y, step, total):
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            m = self.momentum(step, total)
            with paddle.no_grad():
                for group in self.groups:
                    if group.frozen:
                        continue
                    group.steps += 1
                    for i, p in enumerate(group.params):
                        if p.grad is None:
                            continue
                        group.velocity[i] = m * group.velocity[i] + p.grad
                        p.set_value(p - group.lr * group.velocity[i])
            self.model.clear_gradients()
            return loss.detach()

        def judge(self, loss):
            if loss < self.best - 1e-3:
                self.best, self.bad = loss, 0
            else:
                self.bad += 1
            if self.bad > self.patience:
                nxt = next((g for g in self.groups if g.frozen), None)
                if nxt is not None:
                    nxt.frozen = False
                    self.log.append(f"thawed {nxt.name} at lr {nxt.lr:.3g}")
                self.bad = 0

    paddle.seed(1)
    rng = np.random.RandomState(0)
    trainer = Thawer(Backbone(), patience=0)
    for t, (x, y) in enumerate(batches(rng, 6, 3, 2, 8)):
        loss = trainer.step(x, y, t, 8)
        trainer.judge(float(loss))
        yield loss, trainer.thawed
    yield trainer.log, [g.steps for g in trainer.groups], trainer.model.blocks[2].weight


@program
def elastic_weight_consolidation(convert):
    """Tasks one after another: Fisher information, penalties as objects, a rehearsal buffer, a matrix."""

    class Penalty(ABC):
        registry: ClassVar[dict] = {}

        def __init_subclass__(cls, *, key, **kwargs):
            super().__init_subclass__(**kwargs)
            Penalty.registry[key] = cls

        @abstractmethod
        def __call__(self, model): ...

        def __radd__(self, other):
            return Sum([self]) if other == 0 else Sum([other, self])

    class Sum:
        def __init__(self, parts):
            self.parts = parts

        def __add__(self, other):
            return Sum([*self.parts, other])

        def __call__(self, model):
            return functools.reduce(lambda acc, p: acc + p(model), self.parts, paddle.zeros([]))

    class EWC(Penalty, key="ewc"):
        def __init__(self, fisher, anchor, strength):
            self.fisher, self.anchor, self.strength = fisher, anchor, strength

        def __call__(self, model):
            terms = (
                (self.fisher[name] * (p - self.anchor[name]) ** 2).sum()
                for name, p in model.named_parameters()
            )
            return 0.5 * self.strength * sum(terms)

    class L2(Penalty, key="l2"):
        def __init__(self, fisher, anchor, strength):
            self.anchor, self.strength = anchor, strength

        def __call__(self, model):
            return self.strength * sum(
                ((p - self.anchor[n]) ** 2).sum() for n, p in model.named_parameters()
            )

    def fisher_of(model, xs):
        total = {n: paddle.zeros_like(p) for n, p in model.named_parameters()}
        for x in xs:
            logits = model(x.unsqueeze(0))
            chosen = logits.argmax(axis=-1)
            logp = F.log_softmax(logits)[0, chosen[0]]
            grads = paddle.grad(logp, list(model.parameters()))
            for (name, _), g in zip(model.named_parameters(), grads):
                total[name] = total[name] + g**2
        return {n: v / len(xs) for n, v in total.items()}

    class Learner:
        def __init__(self, kind, strength):
            paddle.seed(5)
            self.model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
            self.opt = paddle.optimizer.SGD(0.3, parameters=self.model.parameters())
            self.kind, self.strength = kind, strength
            self.penalties = []

        @convert
        def step(self, x, y):
            loss = F.cross_entropy(self.model(x), y)
            if self.penalties:
                loss = loss + sum(self.penalties)(self.model)
            loss.backward()
            self.opt.step()
            self.opt.clear_grad()
            return loss.detach()

        @convert
        def consolidate(self, xs):
            fisher = fisher_of(self.model, xs)
            anchor = {n: p.detach().clone() for n, p in self.model.named_parameters()}
            self.penalties.append(Penalty.registry[self.kind](fisher, anchor, self.strength))
            return {n: f.max() for n, f in fisher.items()}

        @convert
        @paddle.no_grad()
        def accuracy(self, tasks):
            return paddle.stack(
                [(self.model(x).argmax(-1) == y).astype("float32").mean() for x, y in tasks]
            )

    rng = np.random.RandomState(3)
    tasks = []
    for axis in (0, 1, 0):
        x = rng.randn(8, 2).astype("float32")
        tasks.append((paddle.to_tensor(x), paddle.to_tensor((x[:, axis] > 0).astype("int64"))))
    for kind, strength in (("ewc", 5.0), ("l2", 0.1)):
        learner = Learner(kind, strength)
        for k, (x, y) in enumerate(tasks):
            losses = [learner.step(x, y) for _ in range(3)]
            yield losses
            yield learner.consolidate(x[: 4 + k]), len(learner.penalties)
            yield learner.accuracy(tasks[: k + 1])


@program
def two_networks_teach_each_other(convert):
    """Co-teaching with noisy labels: a forget rate, small-loss selection, agreement, a loss history."""

    class Phase(Enum):
        WARMUP = "warm-up"
        SELECT = "select"
        REFINE = "refine"

        @classmethod
        def at(cls, epoch):
            return cls.WARMUP if epoch < 1 else cls.SELECT if epoch < 3 else cls.REFINE

    class ForgetRate:
        def __init__(self, final=0.4, ramp=3):
            self.final, self.ramp = final, ramp

        def __call__(self, epoch):
            return self.final * min(1.0, epoch / self.ramp)

    class Meter:
        def __init__(self, *names):
            self.sums = dict.fromkeys(names, 0.0)
            self.n = 0

        def update(self, **values):
            self.n += 1
            for k, v in values.items():
                self.sums[k] += v

        def __getattr__(self, name):
            if name.startswith("mean_"):
                return self.sums[name.removeprefix("mean_")] / max(self.n, 1)
            raise AttributeError(name)

    class CoTeacher:
        def __init__(self, make, forget=ForgetRate()):
            self.nets = [make(seed) for seed in (1, 2)]
            self.opts = [
                paddle.optimizer.Momentum(0.2, 0.5, parameters=n.parameters()) for n in self.nets
            ]
            self.forget = forget
            self.meter = Meter("a", "b", "disagree")

        def select(self, losses, keep):
            return paddle.argsort(losses)[:keep]

        @convert
        def step(self, x, y, epoch):
            phase = Phase.at(epoch)
            logits = [net(x) for net in self.nets]
            losses = [F.cross_entropy(l, y, reduction="none") for l in logits]
            guesses = [l.argmax(-1) for l in logits]
            disagree = guesses[0] != guesses[1]
            if phase is Phase.WARMUP:
                chosen = [paddle.arange(len(y))] * 2
            else:
                keep = max(1, int((1 - self.forget(epoch)) * len(y)))
                if phase is Phase.REFINE and disagree.sum() >= 2:
                    masked = [paddle.where(disagree, l, l + 100.0) for l in losses]
                    keep = min(keep, 2)
                else:
                    masked = losses
                chosen = [self.select(l.detach(), keep) for l in masked[::-1]]
            for opt, loss, index in zip(self.opts, losses, chosen):
                loss[index].mean().backward()
                opt.step()
                opt.clear_grad()
            a, b = (l.detach().mean() for l in losses)
            self.meter.update(a=a, b=b, disagree=disagree.astype("float32").mean())
            return chosen, phase.value

    def make(seed):
        paddle.seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    rng = np.random.RandomState(8)
    pair = CoTeacher(make)
    for epoch in range(5):
        for x, y in batches(rng, 6, 3, 2, 1 + epoch % 2):
            flip = paddle.to_tensor((rng.rand(6) < 0.2).astype("int64"))
            yield pair.step(x, (y + flip) % 2, epoch)
    yield pair.meter.mean_a, pair.meter.mean_b, f"{float(pair.meter.mean_disagree):.3f}"
    yield pair.nets[1][2].bias, attempt(lambda: pair.meter.median_a)


@program
def contrast_with_mined_negatives(convert):
    """Supervised contrast and triplets by several miners, a memory of features, a temperature."""

    Miner = Callable[..., tuple]
    MINERS: dict[str, Miner] = {}

    def miner(fn=None, *, name=None):
        if fn is None:
            return functools.partial(miner, name=name)
        MINERS[name or fn.__name__] = fn
        return fn

    def distances(z):
        sq = (z**2).sum(-1)
        return (sq.unsqueeze(1) + sq.unsqueeze(0) - 2 * z @ z.T).clip(min=1e-8).sqrt()

    @miner
    def hardest(d, same):
        positive = paddle.where(same, d, paddle.full_like(d, -1.0)).argmax(axis=1)
        negative = paddle.where(same, paddle.full_like(d, 1e4), d).argmin(axis=1)
        return positive, negative

    @miner(name="semi-hard")
    def semi(d, same):
        positives, negatives = [], []
        for i in range(d.shape[0]):
            p = paddle.where(same[i], d[i], paddle.full_like(d[i], -1.0)).argmax()
            candidates = paddle.nonzero((~same[i]) & (d[i] > d[i, p])).flatten()
            if candidates.shape[0] > 0:
                n = candidates[d[i][candidates].argmin()]
            else:
                n = paddle.where(same[i], paddle.full_like(d[i], 1e4), d[i]).argmin()
            positives.append(p)
            negatives.append(n)
        return paddle.stack(positives), paddle.stack(negatives)

    class Memory:
        def __init__(self, size, dim):
            self.features = collections.deque(maxlen=size)
            self.labels = collections.deque(maxlen=size)

        def push(self, z, y):
            self.features.extend(z.detach())
            self.labels.extend(y)

        def __len__(self):
            return len(self.features)

        def all(self):
            return paddle.stack(list(self.features)), paddle.stack(list(self.labels))

    class Contrast(nn.Layer):
        def __init__(self, dim, margin=0.2):
            super().__init__()
            self.embed = nn.Linear(dim, 3)
            self.log_t = self.create_parameter(
                [1], default_initializer=nn.initializer.Constant(-1.0)
            )
            self.margin = margin
            self.memory = Memory(6, 3)

        def features(self, x):
            return F.normalize(self.embed(x), axis=-1)

        @convert
        def triplet(self, x, y, how="hardest"):
            z = self.features(x)
            d = distances(z)
            same = y.unsqueeze(0) == y.unsqueeze(1)
            with paddle.no_grad():
                p, n = MINERS[how](d, same)
            rows = paddle.arange(len(y))
            gap = d[rows, p] - d[rows, n] + self.margin
            active = gap > 0
            if active.any():
                loss = gap[active].mean()
            else:
                loss = 0.0 * gap.sum()
            return loss, active.sum()

        @convert
        def supcon(self, x, y):
            z = self.features(x)
            bank, labels = z, y
            if len(self.memory) > 0:
                old, old_y = self.memory.all()
                bank, labels = paddle.concat([z, old]), paddle.concat([y, old_y])
            logits = z @ bank.T / self.log_t.exp()
            eye = paddle.eye(z.shape[0], bank.shape[0]).astype("bool")
            logits = logits - logits.max(axis=1, keepdim=True).detach()
            logits = paddle.where(eye, paddle.full_like(logits, -1e4), logits)
            logp = F.log_softmax(logits, axis=1)
            mask = (y.unsqueeze(1) == labels.unsqueeze(0)) & ~eye
            losses = []
            for row, m in zip(logp, mask):
                if m.any():
                    losses.append(-row[m].mean())
            self.memory.push(z, y)
            if not losses:
                return paddle.zeros([])
            return sum(losses) / len(losses)

    paddle.seed(9)
    model = Contrast(4)
    opt = paddle.optimizer.Adam(0.05, parameters=model.parameters())
    rng = np.random.RandomState(6)
    for k, (n, how) in enumerate(
        ((6, "hardest"), (5, "semi-hard"), (6, "semi-hard"), (4, "hardest"))
    ):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        y = paddle.to_tensor(np.arange(n) % (2 + k % 2))
        loss, active = model.triplet(x, y, how=how)
        total = loss + model.supcon(x, y)
        total.backward()
        yield loss.detach(), active, total.detach(), model.log_t.grad
        opt.step()
        opt.clear_grad()
    yield len(model.memory), model.embed.weight
    yield attempt(lambda: model.triplet(x, y, how="easy"))


@program
def tickets_that_are_rewound(convert):
    """Lottery tickets: train, prune globally by magnitude, rewind to an early state, compare runs."""

    @contextlib.contextmanager
    def timed(name, record):
        start = time.perf_counter()
        try:
            yield
        except FloatingPointError as error:
            record[name] = f"failed: {error}"
        else:
            record[name] = "ok" if time.perf_counter() >= start else "clock"

    class Masked(nn.Linear):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.register_buffer("mask", paddle.ones_like(self.weight))

        def forward(self, x):
            return F.linear(x, self.weight * self.mask, self.bias)

        @property
        def density(self):
            return float(self.mask.mean())

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = Masked(3, 5), Masked(5, 2)

        def forward(self, x):
            return self.b(F.relu(self.a(x)))

        def masked(self):
            return [m for m in self.sublayers() if isinstance(m, Masked)]

    class Lottery:
        def __init__(self, net, rewind_at=1, rate=0.3):
            self.net, self.rewind_at, self.rate = net, rewind_at, rate
            self.opt = paddle.optimizer.SGD(0.3, parameters=net.parameters())
            self.saved = None

        @convert
        def epoch(self, xs, ys, limit=50.0):
            total = paddle.zeros([])
            for x, y in zip(xs, ys):
                loss = F.cross_entropy(self.net(x), y)
                if loss > limit or paddle.isnan(loss):
                    raise FloatingPointError(f"loss above {limit}")
                loss.backward()
                with paddle.no_grad():
                    for layer in self.net.masked():
                        layer.weight.grad.multiply_(layer.mask)
                self.opt.step()
                self.opt.clear_grad()
                total += loss.detach()
            return total / len(xs)

        @convert
        @paddle.no_grad()
        def prune(self):
            scores = paddle.concat(
                [m.weight.abs().flatten()[m.mask.flatten() > 0] for m in self.net.masked()]
            )
            k = int(self.rate * scores.shape[0])
            threshold = paddle.sort(scores)[k]
            for m in self.net.masked():
                m.mask.set_value(m.mask * (m.weight.abs() >= threshold).astype("float32"))
            return threshold

        def rewind(self):
            state = {k: v for k, v in self.saved.items() if not k.endswith("mask")}
            masks = {k: v for k, v in self.net.state_dict().items() if k.endswith("mask")}
            self.net.set_state_dict({**state, **masks})

    paddle.seed(12)
    rng = np.random.RandomState(10)
    net = Net()
    lottery = Lottery(net)
    record = {}
    for generation in range(3):
        for t in range(2):
            xs, ys = map(paddle.stack, zip(*batches(rng, 4, 3, 2, 2 + t)))
            yield lottery.epoch(xs, ys)
            if generation == 0 and t + 1 == lottery.rewind_at:
                lottery.saved = {k: v.clone() for k, v in net.state_dict().items()}
        yield lottery.prune(), [round(m.density, 4) for m in net.masked()]
        lottery.rewind()
        yield net.a.weight
    for name, limit in (("fine", 50.0), ("strict", 0.0)):
        with timed(name, record):
            lottery.epoch(xs, ys, limit=limit)
    yield record, net.b.mask
