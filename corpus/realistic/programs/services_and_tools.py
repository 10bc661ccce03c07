"""Tools around models: search for settings, caches, monitors, exporters, scripts with options."""

import copy
import functools
import math
from collections import ChainMap, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field, fields, replace
from typing import Any, Dict, Iterator, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def experiment_runner_with_layered_options(convert):
    """Options from defaults, a file and the command line; each run trains a small model."""

    @dataclass
    class Options:
        lr: float = 0.1
        steps: int = 3
        loss: str = "mse"
        clip: Optional[float] = None
        name: str = "run"

        @classmethod
        def layered(cls, *layers):
            merged = ChainMap(*reversed(layers))
            known = {f.name for f in fields(cls)}
            unknown = sorted(set(merged) - known)
            if unknown:
                raise TypeError(f"unknown options: {', '.join(unknown)}")
            return cls(**merged)

    LOSSES = {
        "mse": F.mse_loss,
        "l1": F.l1_loss,
        "huber": functools.partial(F.smooth_l1_loss, delta=0.5),
    }

    class Runner:
        def __init__(self, options):
            self.options = options
            self.w = paddle.zeros([3, 1])
            self.log = OrderedDict()

        @convert
        def step(self, x, y):
            w = self.w.detach()
            w.stop_gradient = False
            loss = LOSSES[self.options.loss](paddle.matmul(x, w), y)
            (g,) = paddle.grad(loss, w)
            if self.options.clip is not None:
                norm = g.norm()
                if norm > self.options.clip:
                    g = g * (self.options.clip / norm)
            self.w = (w - self.options.lr * g).detach()
            return loss.detach()

        def run(self, x, y):
            for i in range(self.options.steps):
                loss = self.step(x, y)
                self.log[f"{self.options.name}/{i}"] = loss
                if not math.isfinite(float(loss)):
                    break
            return self.log

    rng = np.random.RandomState(0)
    x = paddle.to_tensor(rng.randn(5, 3).astype("float32"))
    y = paddle.to_tensor((rng.randn(5, 1) * 3).astype("float32"))
    file = {"lr": 0.2, "loss": "huber"}
    for line in ({}, {"clip": 0.1, "name": "clipped"}, {"loss": "l1", "steps": 2}, {"lr": 1e20}):
        runner = Runner(Options.layered(file, line))
        yield runner.run(x, y), runner.w, runner.options
    yield attempt(lambda: Options.layered(file, {"momentum": 0.9}))
    yield replace(runner.options, lr=0.0) == Options.layered(file, {"lr": 0.0})


@program
def successive_halving_with_checkpoints(convert):
    """Many settings train a little; the better half goes on from its own checkpoint."""

    @dataclass
    class Trial:
        rate: float
        state: Dict[str, paddle.Tensor]
        budget: int = 0
        score: Optional[paddle.Tensor] = None

        def snapshot(self):
            return copy.copy(self)

    def loss_of(state, x, y):
        hidden = paddle.matmul(x, state["w"]) + state["b"]
        return (hidden.squeeze(-1) - y).square().mean()

    @convert
    def advance(trial, x, y, steps):
        state = trial.state
        for _ in range(steps):
            inputs = {k: v.detach() for k, v in state.items()}
            for v in inputs.values():
                v.stop_gradient = False
            grads = paddle.grad(loss_of(inputs, x, y), list(inputs.values()))
            state = {k: (v - trial.rate * g).detach() for (k, v), g in zip(inputs.items(), grads)}
        trial.state = state
        trial.budget += steps
        score = loss_of(state, x, y)
        trial.score = paddle.where(paddle.isfinite(score), score, paddle.to_tensor(1e9))
        return trial.score

    def halving(trials, x, y, rounds=2):
        history = []
        for r in range(rounds):
            for trial in trials:
                advance(trial, x, y, steps=r + 1)
            trials = sorted(trials, key=lambda t: float(t.score))
            history.append([(t.rate, t.budget) for t in trials])
            trials = [t.snapshot() for t in trials[: max(1, len(trials) // 2)]]
        return trials[0], history

    rng = np.random.RandomState(1)
    for n in (4, 6):
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        y = x[:, 0] - x[:, 1]
        start = {"w": paddle.zeros([2, 1]), "b": paddle.zeros([1])}
        trials = [Trial(rate=rate, state=dict(start)) for rate in (0.001, 0.1, 0.5, 30.0)]
        best, history = halving(trials, x, y)
        yield best, history
        yield [trial.score for trial in trials]


@program
def data_loader_with_transforms_and_workers(convert):
    """A loader made by generators: shuffle by seed, batch, transform, prefetch; epochs differ."""

    class Dataset:
        def __init__(self, x, y, transform=None):
            assert x.shape[0] == y.shape[0]
            self.x, self.y, self.transform = x, y, transform

        def __len__(self):
            return self.x.shape[0]

        def __getitem__(self, i):
            x = self.x[i]
            if self.transform is not None:
                x = self.transform(x)
            return x, self.y[i]

    class Loader:
        def __init__(self, dataset, batch_size, shuffle=False, drop_last=False, prefetch=1):
            self.dataset, self.batch_size = dataset, batch_size
            self.shuffle, self.drop_last, self.prefetch = shuffle, drop_last, prefetch
            self.epoch = 0

        def order(self):
            n = len(self.dataset)
            if not self.shuffle:
                return list(range(n))
            return list(np.random.RandomState(self.epoch).permutation(n))

        def batches(self) -> Iterator[Any]:
            rows: List[Any] = []
            for i in self.order():
                rows.append(self.dataset[int(i)])
                if len(rows) == self.batch_size:
                    yield self.collate(rows)
                    rows = []
            if rows and not self.drop_last:
                yield self.collate(rows)

        @staticmethod
        def collate(rows):
            xs, ys = zip(*rows)
            return paddle.stack(xs), paddle.stack(ys)

        def __iter__(self):
            waiting = deque()
            for batch in self.batches():
                waiting.append(batch)
                if len(waiting) > self.prefetch:
                    yield waiting.popleft()
            while waiting:
                yield waiting.popleft()
            self.epoch += 1

    @convert
    def standardise(x, limit=2.0):
        x = (x - x.mean()) / (x.std() + 1e-6)
        if x.abs().max() > limit:
            x = x.clip(-limit, limit)
        return x

    @convert
    def epoch_statistics(loader, scale=None):
        total, count = paddle.zeros([]), 0
        per_batch = []
        for x, y in loader:
            if scale is not None:
                x = x * scale
            value = (x.sum(axis=-1) * y).sum()
            if value < 0:
                value = -value
            per_batch.append(value)
            total = total + value
            count += y.shape[0]
        return total / count, per_batch

    rng = np.random.RandomState(2)
    x = paddle.to_tensor(rng.randn(7, 4).astype("float32") * 3)
    y = paddle.to_tensor(rng.randn(7).astype("float32"))
    for options in ({}, {"shuffle": True, "prefetch": 2}, {"drop_last": True}):
        loader = Loader(Dataset(x, y, transform=standardise), batch_size=3, **options)
        for scale in (None, 2.0):
            yield epoch_statistics(loader, scale=scale)
        yield loader.epoch


@program
def drift_monitor_for_a_service(convert):
    """Reference histograms, population stability, a CUSUM alarm and a cool-down, over requests."""

    class Histogram:
        def __init__(self, edges):
            self.edges = paddle.to_tensor(edges)
            self.counts = paddle.zeros([len(edges) + 1])

        def add(self, values):
            index = paddle.searchsorted(self.edges, values)
            self.counts = self.counts + F.one_hot(index, self.counts.shape[0]).sum(axis=0)

        @property
        def shares(self):
            return (self.counts + 0.5) / (self.counts + 0.5).sum()

    class Cusum:
        def __init__(self, slack=0.2, limit=1.5):
            self.slack, self.limit = slack, limit
            self.high = self.low = paddle.zeros([])

        def update(self, z):
            self.high = F.relu(self.high + z - self.slack)
            self.low = F.relu(self.low - z - self.slack)
            alarm = (self.high > self.limit) | (self.low > self.limit)
            if alarm:
                self.high = paddle.zeros([])
                self.low = paddle.zeros([])
            return alarm

    class Monitor:
        def __init__(self, reference, edges=(-1.0, 0.0, 1.0), cooldown=1):
            self.reference, self.current = Histogram(edges), Histogram(edges)
            self.reference.add(reference)
            self.mean, self.std = reference.mean(), reference.std()
            self.cusum = Cusum()
            self.cooldown = cooldown
            self.silent = paddle.zeros([], dtype="int64")
            self.alarms: List[paddle.Tensor] = []

        def psi(self):
            p, q = self.reference.shares, self.current.shares
            return ((q - p) * paddle.log(q / p)).sum()

        @convert
        def observe(self, batch):
            self.current.add(batch)
            z = (batch.mean() - self.mean) / self.std
            fired = self.cusum.update(z)
            if self.silent > 0:
                fired = paddle.zeros_like(fired)
                self.silent = self.silent - 1
            elif fired:
                self.silent = self.silent + self.cooldown
            self.alarms.append(fired)
            return {"psi": self.psi(), "z": z, "alarm": fired}

    rng = np.random.RandomState(3)
    for cooldown in (0, 2):
        monitor = Monitor(paddle.to_tensor(rng.randn(20).astype("float32")), cooldown=cooldown)
        for shift, n in ((0.0, 4), (1.5, 4), (1.5, 6), (2.0, 4), (-3.0, 3)):
            batch = paddle.to_tensor((rng.randn(n) + shift).astype("float32"))
            yield monitor.observe(batch)
        yield monitor.alarms, monitor.silent, monitor.cusum.high


@program
def ensemble_with_voting_and_calibration(convert):
    """Members vote hard, soft or weighted; temperature is fitted; disagreement abstains."""

    class Member(nn.Layer):
        def __init__(self, inputs, classes, hidden=None):
            super().__init__()
            if hidden is None:
                self.net = nn.Linear(inputs, classes)
            else:
                self.net = nn.Sequential(
                    nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, classes)
                )
            self.temperature = 1.0

        def forward(self, x):
            return self.net(x) / self.temperature

    @dataclass
    class Verdict:
        label: paddle.Tensor
        confidence: paddle.Tensor
        abstained: paddle.Tensor
        votes: Dict[int, paddle.Tensor] = field(default_factory=dict)

    class Ensemble:
        def __init__(self, members, weights=None, threshold=0.0):
            self.members = members
            self.weights = weights or [1.0] * len(members)
            self.threshold = threshold
            self.calls: Dict[str, int] = defaultdict(int)

        def soft(self, logits):
            total = sum(w * F.softmax(part, axis=-1) for w, part in zip(self.weights, logits))
            return total / sum(self.weights)

        def hard(self, logits):
            hot = [F.one_hot(part.argmax(axis=-1), part.shape[-1]) for part in logits]
            return sum(w * h for w, h in zip(self.weights, hot)) / sum(self.weights)

        @convert
        def predict(self, x, voting="soft"):
            self.calls[voting] += 1
            logits = [member(x) for member in self.members]
            p = getattr(self, voting)(logits)
            confidence, label = p.max(axis=-1), p.argmax(axis=-1)
            abstained = confidence < self.threshold
            if abstained.any():
                label = paddle.where(abstained, paddle.full_like(label, -1), label)
            votes = {i: part.argmax(axis=-1) for i, part in enumerate(logits)}
            return Verdict(label, confidence, abstained, votes)

        @convert
        def calibrate(self, x, y, steps=6, lr=0.5, tol=1e-3):
            for member in self.members:
                raw = member.net(x).detach()
                log_t = paddle.zeros([])
                for _ in range(steps):
                    inverse = paddle.exp(-log_t)
                    p = F.softmax(raw * inverse, axis=-1)
                    picked = paddle.take_along_axis(raw, y.unsqueeze(-1), axis=1).squeeze(-1)
                    gradient = ((picked - (p * raw).sum(axis=-1)) * inverse).mean()
                    log_t = log_t - lr * gradient
                    if gradient.abs() < tol:
                        break
                member.temperature = paddle.exp(log_t)
            return [member.temperature for member in self.members]

    members = [Member(3, 3), Member(3, 3, hidden=4), Member(3, 3)]
    rng = np.random.RandomState(4)
    ensemble = Ensemble(members, weights=[1.0, 2.0, 0.5])
    for n, voting, threshold in ((3, "soft", 0.0), (4, "hard", 0.6), (3, "soft", 0.4)):
        ensemble.threshold = threshold
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        yield ensemble.predict(x, voting=voting)
    yield ensemble.calibrate(x, paddle.to_tensor([0, 2, 1]))
    yield ensemble.predict(x), dict(ensemble.calls)


@program
def exporter_of_weights_with_transforms(convert):
    """State dicts are renamed by rules, quantised per channel, diffed, sharded and restored."""

    class Rule:
        def __init__(self, old, new, transform=None):
            self.old, self.new, self.transform = old, new, transform

        def __call__(self, name, value):
            if self.old not in name:
                return None
            if self.transform is not None:
                value = self.transform(value)
            return name.replace(self.old, self.new), value

    def quantise(value, bits=4):
        if value.ndim < 2:
            return value
        limit = 2 ** (bits - 1) - 1
        scale = value.abs().max(axis=0, keepdim=True) / limit
        scale = paddle.where(scale == 0, paddle.ones_like(scale), scale)
        return paddle.round(value / scale).clip(-limit, limit) * scale

    class Exporter:
        def __init__(self, *rules):
            self.rules = rules
            self.skipped: List[str] = []

        @convert
        def export(self, state, tolerance=None):
            out = OrderedDict()
            worst = paddle.zeros([])
            for name, value in state.items():
                for rule in self.rules:
                    found = rule(name, value)
                    if found is not None:
                        new_name, new_value = found
                        break
                else:
                    self.skipped.append(name)
                    continue
                if tolerance is not None and new_value.shape == value.shape:
                    error = (new_value - value).abs().max()
                    if error > tolerance:
                        new_value = value
                    worst = paddle.maximum(worst, error)
                out[new_name] = new_value
            return out, worst

    @convert
    def shards(state, limit):
        groups, size = [OrderedDict()], 0
        for name, value in state.items():
            if size + value.size > limit and groups[-1]:
                groups.append(OrderedDict())
                size = 0
            groups[-1][name] = value
            size += value.size
        return groups

    @convert
    def difference(a, b):
        report = {}
        for name in sorted(set(a) | set(b)):
            if name not in a or name not in b:
                report[name] = "missing"
            elif a[name].shape != b[name].shape:
                report[name] = "shape"
            else:
                report[name] = (a[name] - b[name]).abs().max()
        return report

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(3, 4), nn.Linear(4, 3)
            self.norm = nn.LayerNorm(4)

    net = Net()
    rng = np.random.RandomState(5)
    for p in net.parameters():
        p.set_value(paddle.to_tensor(rng.randn(*p.shape).astype("float32")))
    state = net.state_dict()
    exporter = Exporter(Rule("encoder", "enc", quantise), Rule("decoder", "dec", lambda v: v.T))
    for tolerance in (None, 0.15, 10.0):
        out, worst = exporter.export(state, tolerance=tolerance)
        yield out, worst, list(exporter.skipped)
    yield shards(out, limit=14)
    yield difference(out, {"enc.weight": out["enc.weight"] + 0.5, "dec.bias": paddle.ones([2])})
    half = Exporter(Rule("", "", functools.partial(quantise, bits=3)))
    yield half.export(state), half.skipped
