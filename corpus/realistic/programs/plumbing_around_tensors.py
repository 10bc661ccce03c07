"""Plumbing: merges with dropout, automata, gapped alignment, metrics that reduce, task graphs, events."""

import abc
import functools
import heapq
import inspect
import operator
from collections import ChainMap, Counter, deque
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Optional,
    Protocol,
)

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def automaton_of_patterns_over_scores(convert):
    """Aho-Corasick: a trie with failure links built in Python, walked by the argmax of scores."""

    class Node:
        __slots__ = ("children", "fail", "out", "id")

        def __init__(self, id):
            self.children, self.fail, self.out, self.id = {}, None, [], id

    class Automaton:
        def __init__(self, patterns):
            self.nodes = [Node(0)]
            for index, pattern in enumerate(patterns):
                node = self.nodes[0]
                for symbol in pattern:
                    if symbol not in node.children:
                        node.children[symbol] = Node(len(self.nodes))
                        self.nodes.append(node.children[symbol])
                    node = node.children[symbol]
                node.out.append(index)
            self._link()

        def _link(self):
            root = self.nodes[0]
            queue = deque()
            for child in root.children.values():
                child.fail = root
                queue.append(child)
            while queue:
                node = queue.popleft()
                for symbol, child in node.children.items():
                    fail = node.fail
                    while fail is not None and symbol not in fail.children:
                        fail = fail.fail
                    child.fail = fail.children[symbol] if fail else root
                    child.out += child.fail.out
                    queue.append(child)

        def table(self, symbols):
            rows = []
            for node in self.nodes:
                row = []
                for s in range(symbols):
                    at = node
                    while at.id and s not in at.children:
                        at = at.fail
                    row.append(at.children[s].id if s in at.children else 0)
                rows.append(row)
            return paddle.to_tensor(rows)

    class Spotter:
        def __init__(self, patterns, symbols):
            self.automaton = Automaton(patterns)
            self.next = self.automaton.table(symbols)
            hits = [[float(i in n.out) for i in range(len(patterns))] for n in self.automaton.nodes]
            self.hits = paddle.to_tensor(hits)
            self.state = paddle.zeros([], dtype="int64")
            self.counts = paddle.zeros([len(patterns)])

        def feed(self, scores, stop_after=None):
            """Feed frames of scores; ends early when ``stop_after`` hits have been seen."""
            positions = []
            for t, frame in enumerate(scores):
                if frame.max() < 0.2:
                    continue
                self.state = self.next[self.state, frame.argmax()]
                found = self.hits[self.state]
                self.counts = self.counts + found
                if found.any():
                    positions.append(t)
                if stop_after is not None and self.counts.sum() >= stop_after:
                    break
            return positions, self.counts

    spotter = Spotter([(0, 1), (1, 0, 1), (2,)], symbols=3)
    spotter.feed = convert(spotter.feed)
    rng = np.random.RandomState(0)
    for n in (6, 6, 9):
        positions, counts = spotter.feed(paddle.to_tensor(rng.rand(n, 3).astype("float32")))
        yield len(positions), [int(p) for p in positions], counts
    yield spotter.feed(paddle.to_tensor(rng.rand(8, 3).astype("float32")), stop_after=12)[1]
    yield spotter.state


@program
def gapped_alignment_with_traceback(convert):
    """Affine gaps by three matrices, global or local, scores learned by a gradient through max."""

    class Mode(Enum):
        GLOBAL = "global"
        LOCAL = "local"

    class Aligner(nn.Layer):
        def __init__(self, alphabet="ACGT", mode=Mode.GLOBAL, temperature=None):
            super().__init__()
            self.index = {c: i for i, c in enumerate(alphabet)}
            n = len(alphabet)
            self.sub = self.create_parameter(
                [n, n],
                default_initializer=nn.initializer.Assign(3 * np.eye(n, dtype="float32") - 1),
            )
            self.gap_open, self.gap_extend = -2.0, -0.5
            self.mode, self.temperature = mode, temperature

        def encode(self, text):
            try:
                return [self.index[c] for c in text.upper()]
            except KeyError as error:
                raise ValueError(f"{text!r} has a letter that is unknown: {error}") from error

        def best(self, *options):
            stacked = paddle.stack(options)
            if self.temperature is None:
                return stacked.max(0)
            return self.temperature * paddle.logsumexp(stacked / self.temperature, 0)

        def forward(self, a: str, b: str):
            x, y = self.encode(a), self.encode(b)
            low = paddle.to_tensor(-1e4)
            zero = paddle.zeros([])
            local = self.mode is Mode.LOCAL
            M = [[low] * (len(y) + 1) for _ in range(len(x) + 1)]
            X, Y = [row[:] for row in M], [row[:] for row in M]
            M[0][0] = zero
            for i in range(1, len(x) + 1):
                X[i][0] = zero if local else zero + self.gap_open + (i - 1) * self.gap_extend
            for j in range(1, len(y) + 1):
                Y[0][j] = zero if local else zero + self.gap_open + (j - 1) * self.gap_extend
            top, at = low, (0, 0)
            for i, p in enumerate(x, 1):
                for j, q in enumerate(y, 1):
                    before = [M[i - 1][j - 1], X[i - 1][j - 1], Y[i - 1][j - 1]]
                    M[i][j] = self.sub[p, q] + self.best(*before, *([zero] if local else []))
                    X[i][j] = self.best(M[i - 1][j] + self.gap_open, X[i - 1][j] + self.gap_extend)
                    Y[i][j] = self.best(M[i][j - 1] + self.gap_open, Y[i][j - 1] + self.gap_extend)
                    if local and M[i][j] > top:
                        top, at = M[i][j], (i, j)
            if not local:
                at = (len(x), len(y))
                top = self.best(M[-1][-1], X[-1][-1], Y[-1][-1])
            return top, at

    for options in ({}, {"temperature": 0.5}, {"mode": Mode.LOCAL}):
        model = Aligner(**options)
        run = convert(model.forward)
        for pair in (("ACG", "AG"), ("acgt", "tacg"), ("GG", "CC")):
            score, at = run(*pair)
            score.backward()
            yield score, at, model.sub.grad
            model.clear_gradients()
    yield attempt(lambda: run("ACX", "A"))


@program
def metrics_that_reduce_over_replicas(convert):
    """Metrics with declared states, arithmetic on metrics, and a reduce over pretended replicas."""

    REDUCE = {
        "sum": lambda xs: paddle.stack(xs).sum(0),
        "max": lambda xs: paddle.stack(xs).max(0),
        "cat": lambda xs: paddle.concat(xs),
    }

    class Metric(abc.ABC):
        higher_is_better: Optional[bool] = None

        def __init__(self):
            self._defaults: Dict[str, Any] = {}
            self._reduce: Dict[str, Callable] = {}
            self._computed = None

        def add_state(self, name, default, reduce="sum"):
            self._defaults[name] = default
            self._reduce[name] = REDUCE[reduce]
            setattr(self, name, default if isinstance(default, paddle.Tensor) else list(default))

        def reset(self):
            for name, default in self._defaults.items():
                setattr(
                    self, name, default if isinstance(default, paddle.Tensor) else list(default)
                )
            self._computed = None

        @abc.abstractmethod
        def update(self, preds, target): ...

        @abc.abstractmethod
        def compute(self): ...

        def forward(self, preds, target):
            self.update(preds, target)
            self._computed = None
            return self.value()

        def value(self):
            if self._computed is None:
                self._computed = self.compute()
            return self._computed

        def merged(self, others):
            states = {n: [getattr(m, n) for m in (self, *others)] for n in self._defaults}
            new = type(self)()
            for name, values in states.items():
                setattr(new, name, self._reduce[name](values))
            return new

        def __add__(self, other):
            return Composed(operator.add, self, other)

        def __truediv__(self, other):
            return Composed(operator.truediv, self, other)

    class Composed(Metric):
        def __init__(self, op, a, b):
            super().__init__()
            self.op, self.a, self.b = op, a, b

        def update(self, *args, **kwargs):
            for part in (self.a, self.b):
                if isinstance(part, Metric):
                    part.update(*args, **kwargs)

        def compute(self):
            return self.op(*(p.compute() if isinstance(p, Metric) else p for p in (self.a, self.b)))

    class FBeta(Metric):
        higher_is_better = True

        def __init__(self, classes=3, beta=1.0):
            super().__init__()
            self.beta = beta
            for name in ("tp", "fp", "fn"):
                self.add_state(name, paddle.zeros([classes]))

        def update(self, preds, target):
            if preds.shape[0] != target.shape[0]:
                raise ValueError(f"{preds.shape[0]} predictions for {target.shape[0]} targets")
            n = self.tp.shape[0]
            p = F.one_hot(preds.argmax(-1) if preds.ndim > 1 else preds, n).astype("float32")
            t = F.one_hot(target, n).astype("float32")
            self.tp += (p * t).sum(0)
            self.fp += (p * (1 - t)).sum(0)
            self.fn += ((1 - p) * t).sum(0)

        def compute(self):
            b2 = self.beta**2
            denominator = (1 + b2) * self.tp + b2 * self.fn + self.fp
            if (denominator == 0).all():
                return paddle.zeros([])
            return ((1 + b2) * self.tp / denominator.clip(min=1e-6)).mean()

    class Calibration(Metric):
        higher_is_better = False

        def __init__(self, bins=4):
            super().__init__()
            self.bins = bins
            self.add_state("confidence", paddle.zeros([0]), reduce="cat")
            self.add_state("correct", paddle.zeros([0]), reduce="cat")

        def update(self, preds, target):
            prob = F.softmax(preds, -1)
            self.confidence = paddle.concat([self.confidence, prob.max(-1)])
            self.correct = paddle.concat(
                [self.correct, (prob.argmax(-1) == target).astype("float32")]
            )

        def compute(self):
            error = paddle.zeros([])
            edges = paddle.linspace(0, 1, self.bins + 1)
            for low, high in zip(edges[:-1], edges[1:]):
                inside = ((self.confidence > low) & (self.confidence <= high)).astype("float32")
                if inside.sum() > 0:
                    gap = (self.confidence * inside).sum() - (self.correct * inside).sum()
                    error = error + gap.abs() / self.confidence.shape[0]
            return error

    rng = np.random.RandomState(0)
    batch = lambda n: (
        paddle.to_tensor(rng.randn(n, 3).astype("float32")),
        paddle.to_tensor(rng.randint(3, size=n)),
    )
    for make in (FBeta, Calibration):
        metrics = [make() for _ in range(2)]
        for m in metrics:
            m.forward = convert(m.forward)
            for n in (4, 4, 7):
                yield m.forward(*batch(n))
        whole = metrics[0].merged(metrics[1:])
        yield convert(whole.compute)()
        metrics[0].reset()
        yield metrics[0].forward(*batch(5))
    both = FBeta(beta=2.0) + Calibration() / 2.0
    both.forward = convert(both.forward)
    for n in (3, 6):
        yield both.forward(*batch(n))
    yield attempt(lambda: both.forward(batch(3)[0], batch(2)[1]))


@program
def graph_of_tasks_with_a_cache(convert):
    """A DAG of steps found by their argument names, sorted, cached by version, run with hooks."""

    class CycleError(ValueError):
        pass

    class Step:
        def __init__(self, fn, name=None, when=None):
            self.fn, self.when = fn, when
            self.name = name or fn.__name__
            self.needs = tuple(inspect.signature(fn).parameters)

        def __repr__(self):
            return f"<{self.name}({', '.join(self.needs)})>"

    class Graph:
        def __init__(self):
            self.steps: Dict[str, Step] = {}
            self.hooks: List[Callable] = []
            self.runs = Counter()
            self.cache: Dict[str, Any] = {}

        def step(self, fn=None, **options):
            if fn is None:
                return functools.partial(self.step, **options)
            new = Step(fn, **options)
            self.steps[new.name] = new
            return fn

        def order(self, targets, given):
            done, path, out = set(given), [], []

            def visit(name):
                if name in done:
                    return
                if name in path:
                    raise CycleError(" -> ".join([*path[path.index(name) :], name]))
                if name not in self.steps:
                    raise KeyError(name)
                path.append(name)
                for need in self.steps[name].needs:
                    visit(need)
                path.pop()
                done.add(name)
                out.append(name)

            for target in targets:
                visit(target)
            return out

        def run(self, *targets, **given):
            values = ChainMap({}, given, self.cache)
            for name in self.order(targets, values):
                step = self.steps[name]
                result = step.fn(**{n: values[n] for n in step.needs})
                self.runs[name] += 1
                for hook in self.hooks:
                    replaced = hook(name, result)
                    result = result if replaced is None else replaced
                values[name] = result
            return tuple(values[t] for t in targets) if len(targets) > 1 else values[targets[0]]

    graph = Graph()

    @graph.step
    def centred(x):
        return x - x.mean(0)

    @graph.step(name="scale")
    def spread(centred):
        s = centred.std(0)
        return paddle.where(s < 1e-6, paddle.ones_like(s), s)

    @graph.step
    def z(centred, scale, limit):
        out = centred / scale
        if out.abs().max() > limit:
            out = out.clip(-limit, limit)
        return out

    @graph.step
    def outliers(z, limit):
        return (z.abs() >= limit).any(-1).sum()

    @graph.step
    def a(b):
        return b

    @graph.step
    def b(a):
        return a

    run = convert(graph.run)
    rng = np.random.RandomState(0)
    for n, limit in ((5, 1.5), (5, 9.0), (8, 1.0)):
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        yield run("z", "outliers", x=x, limit=limit)
    graph.hooks.append(lambda name, value: value * 2.0 if name == "scale" else None)
    yield run("z", x=x, limit=paddle.to_tensor(0.7))
    graph.cache["scale"] = paddle.to_tensor([1.0, 2.0])
    yield run("outliers", x=x, limit=0.5)
    yield dict(graph.runs), graph.order(["z"], ["x", "limit"]), repr(graph.steps["z"])
    yield attempt(lambda: run("a"))
    yield attempt(lambda: run("z", x=x))


@program
def bank_simulated_by_processes(convert):
    """Processes as generators with a clock in a heap, impatient customers and a summary."""

    class Wait:
        def __init__(self, delay):
            self.delay = delay

    class Simulator:
        def __init__(self):
            self.now = 0.0
            self.queue = []
            self.serial = 0

        def schedule(self, process, delay=0.0):
            self.serial += 1
            heapq.heappush(self.queue, (self.now + delay, self.serial, process))

        def run(self, until=float("inf")):
            while self.queue and self.queue[0][0] <= until:
                self.now, _, process = heapq.heappop(self.queue)
                with suppress(StopIteration):
                    command = next(process)
                    self.schedule(process, command.delay)
            return self.now

    @dataclass
    class Stats:
        served: int = 0
        left: int = 0
        waits: List[paddle.Tensor] = field(default_factory=list)

        def summary(self):
            if not self.waits:
                return {"served": self.served, "left": self.left}
            waits = paddle.stack(self.waits)
            return {
                "served": self.served,
                "left": self.left,
                "mean": waits.mean(),
                "p90": paddle.quantile(waits, 0.9),
            }

    class Bank:
        def __init__(self, tellers=1, patience=2.0):
            self.tellers, self.patience = tellers, patience
            self.days = 0

        def customer(self, sim, stats, arrival, service):
            yield Wait(arrival)
            free = min(range(len(self.free_at)), key=self.free_at.__getitem__)
            wait = max(0.0, self.free_at[free] - sim.now)
            if wait > self.patience:
                stats.left += 1
                return
            self.free_at[free] = sim.now + wait + service
            yield Wait(wait)
            stats.waits.append(paddle.to_tensor(wait))
            yield Wait(service)
            stats.served += 1

        def day(self, gaps, services):
            self.days += 1
            self.free_at = [0.0] * self.tellers
            sim, stats = Simulator(), Stats()
            for arrival, service in zip(gaps.cumsum().tolist(), services.tolist()):
                sim.schedule(self.customer(sim, stats, arrival, service))
            end = sim.run()
            return stats.summary(), end, (services * gaps).sum()

    rng = np.random.RandomState(0)
    for tellers in (1, 2):
        bank = Bank(tellers=tellers)
        day = convert(bank.day)
        for n in (4, 8, 6):
            gaps, services = (
                paddle.to_tensor(rng.exponential(s, n).astype("float32")) for s in (1.0, 1.5)
            )
            yield day(gaps, services)
        yield bank.days, bank.free_at


@program
def experiment_with_flags_and_plugins(convert):
    """A trainer composed of plugins behind a protocol, flags that combine, contexts that stack."""

    class Trick(Flag):
        NONE = 0
        EMA = auto()
        CLIP = auto()
        SMOOTH = auto()
        ALL = EMA | CLIP | SMOOTH

    class Plugin(Protocol):
        def before(self, trainer, batch): ...
        def after(self, trainer, loss): ...

    class Base:
        def before(self, trainer, batch):
            return batch

        def after(self, trainer, loss):
            return None

    class Normalise(Base):
        def __init__(self, momentum=0.5):
            self.momentum, self.mean = momentum, None

        def before(self, trainer, batch):
            x, y = batch
            now = x.mean(0).detach()
            self.mean = (
                now if self.mean is None else self.momentum * self.mean + (1 - self.momentum) * now
            )
            return x - self.mean, y

    class StopOnPlateau(Base):
        def __init__(self, patience=2, delta=1e-3):
            self.patience, self.delta = patience, delta
            self.best, self.bad = None, 0

        def after(self, trainer, loss):
            if self.best is None or loss < self.best - self.delta:
                self.best, self.bad = loss.detach(), 0
                return
            self.bad += 1
            if self.bad >= self.patience:
                trainer.stopped = True

    class Trainer:
        def __init__(self, net, tricks=Trick.NONE, plugins=(), lr=0.1):
            self.net, self.tricks, self.plugins = net, tricks, list(plugins)
            self.opt = paddle.optimizer.Momentum(lr, 0.9, parameters=net.parameters())
            self.ema = {}
            self.stopped = False
            self.steps = 0

        @contextmanager
        def swapped(self):
            kept = {n: p.clone() for n, p in self.net.named_parameters()}
            for n, p in self.net.named_parameters():
                p.set_value(self.ema.get(n, p))
            yield
            for n, p in self.net.named_parameters():
                p.set_value(kept[n])

        def loss(self, x, y):
            logits = self.net(x)
            if Trick.SMOOTH in self.tricks:
                target = F.label_smooth(
                    F.one_hot(y, logits.shape[-1]).astype("float32"), epsilon=0.1
                )
                return F.cross_entropy(logits, target, soft_label=True)
            return F.cross_entropy(logits, y)

        def clip(self, limit=0.5):
            grads = [p.grad for p in self.net.parameters() if p.grad is not None]
            norm = paddle.sqrt(sum((g**2).sum() for g in grads))
            if norm > limit:
                for g in grads:
                    g.set_value(g * (limit / norm))
            return norm

        def step(self, x, y):
            if self.stopped:
                return None
            batch = functools.reduce(lambda b, plugin: plugin.before(self, b), self.plugins, (x, y))
            loss = self.loss(*batch)
            loss.backward()
            norm = self.clip() if self.tricks & Trick.CLIP else None
            self.opt.step()
            self.opt.clear_grad()
            self.steps += 1
            if Trick.EMA in self.tricks:
                for name, p in self.net.named_parameters():
                    old = self.ema.setdefault(name, p.detach().clone())
                    self.ema[name] = 0.8 * old + 0.2 * p.detach()
            for plugin in self.plugins:
                plugin.after(self, loss)
            return {"loss": loss.detach(), "norm": norm}

        def evaluate(self, x, y):
            with ExitStack() as stack:
                stack.enter_context(paddle.no_grad())
                if Trick.EMA in self.tricks:
                    stack.enter_context(self.swapped())
                return (self.net(x).argmax(-1) == y).astype("float32").mean(), self.loss(x, y)

    rng = np.random.RandomState(0)
    data = [
        (
            paddle.to_tensor(rng.randn(n, 3).astype("float32")),
            paddle.to_tensor(rng.randint(2, size=n)),
        )
        for n in (4, 4, 6)
    ]
    for tricks, plugins in (
        (Trick.NONE, []),
        (Trick.ALL, [Normalise()]),
        (Trick.CLIP | Trick.EMA, [Normalise(), StopOnPlateau(1, 5.0)]),
    ):
        trainer = Trainer(nn.Linear(3, 2), tricks=tricks, plugins=plugins)
        trainer.step, trainer.evaluate = convert(trainer.step), convert(trainer.evaluate)
        for x, y in data + data[:1]:
            yield trainer.step(x, y)
        yield trainer.evaluate(*data[2])
        yield trainer.steps, trainer.stopped, trainer.net.weight, trainer.ema
