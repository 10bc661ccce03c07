"""Validation, settings, hooks and contexts around training; bandits, genomes, curricula, text."""

import contextlib
import math
import operator
import random
import re
from collections import ChainMap, Counter, defaultdict, namedtuple
from dataclasses import dataclass, field, fields
from typing import Any, Callable, ClassVar, Dict, List, Optional, Union

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def batches_checked_and_repaired(convert):
    """Rules with severities run over a batch: some repair, some raise, all violations are counted."""

    class Violation(Exception):
        def __init__(self, rule, rows):
            super().__init__(f"{rule}: {int(rows)} rows")
            self.rule, self.rows = rule, rows

    class Rule:
        severity = "repair"

        def __init__(self, column):
            self.column = column

        def bad(self, x):
            raise NotImplementedError

        def repair(self, x, bad):
            raise Violation(type(self).__name__, bad.sum())

    class Finite(Rule):
        def bad(self, x):
            return ~paddle.isfinite(x)

        def repair(self, x, bad):
            good = x[~bad]
            fill = good.mean() if good.shape[0] > 0 else paddle.zeros([])
            return paddle.where(bad, fill, x)

    class Between(Rule):
        def __init__(self, column, lo, hi, strict=False):
            super().__init__(column)
            self.lo, self.hi = lo, hi
            self.severity = "error" if strict else "repair"

        def bad(self, x):
            return (x < self.lo) | (x > self.hi)

        def repair(self, x, bad):
            return x.clip(self.lo, self.hi)

    class Constant(Rule):
        severity = "warn"

        def bad(self, x):
            return paddle.full_like(x, bool(x.std() < 1e-6)).astype("bool")

    class Validator:
        def __init__(self, *rules, tolerance=0.5):
            self.rules, self.tolerance = rules, tolerance
            self.report = Counter()
            self.warnings = []

        def __call__(self, batch):
            out = batch.clone()
            for rule in self.rules:
                x = out[:, rule.column]
                bad = rule.bad(x)
                share = bad.astype("float32").mean()
                if share == 0:
                    continue
                key = f"{type(rule).__name__}[{rule.column}]"
                self.report[key] += 1
                if rule.severity == "warn":
                    self.warnings.append((key, share))
                    continue
                if rule.severity == "error" or share > self.tolerance:
                    raise Violation(key, bad.sum())
                out[:, rule.column] = rule.repair(x, bad)
            return out

    validator = Validator(
        Finite(0), Finite(1), Between(0, -1.0, 1.0), Between(1, 0.0, 9.0, strict=True), Constant(0)
    )
    check = convert(validator.__call__)
    nan = float("nan")
    for rows in (
        [[0.5, 1.0], [0.2, 2.0], [3.0, 3.0]],
        [[nan, 1.0], [0.2, 2.0], [0.1, nan]],
        [[nan, 1.0], [nan, 2.0], [0.1, 1.0]],
        [[0.5, 1.0], [0.2, 20.0], [3.0, 3.0]],
        [[0.5, 1.0], [0.5, 2.0]],
    ):
        yield attempt(lambda: check(T(rows))), dict(validator.report), list(validator.warnings)


@program
def settings_read_from_nested_dicts(convert):
    """Dataclasses from dicts with unions, defaults and overrides build a network; unknown keys are errors."""

    @dataclass
    class Act:
        kind: str = "relu"
        slope: Optional[float] = None

    @dataclass
    class Config:
        sizes: List[int] = field(default_factory=lambda: [3, 4])
        act: Act = field(default_factory=Act)
        residual: bool = False
        limit: Union[float, None] = None

        def __post_init__(self):
            if len(self.sizes) < 2:
                raise ValueError("at least two sizes")

        @classmethod
        def load(cls, raw, **overrides):
            known = {f.name: f for f in fields(cls)}
            values = {}
            for key, value in ChainMap(overrides, raw).items():
                if key not in known:
                    raise KeyError(f"unknown setting {key!r}")
                values[key] = Act(**value) if isinstance(value, dict) else value
            return cls(**values)

    ACTIVATIONS: Dict[str, Callable] = {
        "relu": lambda x, a: F.relu(x),
        "leaky": lambda x, a: F.leaky_relu(x, a.slope or 0.1),
        "swish": lambda x, a: x * F.sigmoid((a.slope or 1.0) * x),
    }

    class Net(nn.Layer):
        def __init__(self, config):
            super().__init__()
            paddle.seed(47)
            self.config = config
            self.layers = nn.LayerList(
                [nn.Linear(a, b) for a, b in zip(config.sizes, config.sizes[1:])]
            )

        def forward(self, x):
            c = self.config
            for layer in self.layers:
                h = ACTIVATIONS[c.act.kind](layer(x), c.act)
                x = x + h if c.residual and h.shape == x.shape else h
                match c.limit:
                    case None:
                        pass
                    case float(limit) if x.norm() > limit:
                        x = x * (limit / x.norm())
                    case float():
                        x = x + 0.01
                    case other:
                        raise TypeError(f"a limit of {type(other).__name__}")
            return x

    def run(raw, **overrides):
        net = Net(Config.load(raw, **overrides))
        converted = convert(net)
        x = T(np.linspace(-1, 1, 2 * net.config.sizes[0]).astype("float32").reshape(2, -1))
        first = converted(x)
        net.config.limit = 0.5
        second = converted(x)
        net.config.act = Act("swish", 2.0)
        return first, second, converted(x * 0.01)

    yield attempt(lambda: run({"sizes": [3, 4, 4]}))
    yield attempt(
        lambda: run({"sizes": [4, 4, 4], "act": {"kind": "leaky"}, "residual": True}, limit=1.0)
    )
    yield attempt(lambda: run({"sizes": [3, 4], "limit": "much"}))
    yield attempt(lambda: run({"size": [3]}))
    yield attempt(lambda: run({"sizes": [3]}))
    yield attempt(lambda: run({"act": {"kind": "gelu"}}))


@program
def dead_units_found_by_hooks(convert):
    """Hooks record activations and gradients; units that stay dead are started anew; hooks come and go."""

    class Probe:
        def __init__(self, layer, name, patience=2):
            self.name, self.patience, self.layer = name, patience, layer
            self.silent, self.norms = None, []
            self.handle = layer.register_forward_post_hook(self.see)

        def see(self, layer, inputs, out):
            active = (out > 0).any(axis=0)
            if self.silent is None:
                self.silent = paddle.zeros(active.shape)
            self.silent = paddle.where(active, paddle.zeros_like(self.silent), self.silent + 1)
            if not out.stop_gradient:
                out.register_hook(lambda g: self.norms.append(g.norm()))

        @property
        def dead(self):
            return self.silent >= self.patience

        def revive(self, linear):
            dead = self.dead.astype(linear.weight.dtype)
            if dead.sum() == 0:
                return 0
            fresh = paddle.ones_like(linear.weight) * 0.1
            linear.weight.set_value(linear.weight * (1 - dead) + fresh * dead)
            linear.bias.set_value(linear.bias * (1 - dead))
            self.silent = paddle.zeros_like(self.silent)
            return int(dead.sum())

    paddle.seed(53)
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    with paddle.no_grad():
        model[0].bias.set_value(T([-50.0, 0.0, -50.0, 0.5]))
    probe = Probe(model[1], "relu")

    @convert
    def step(x, y):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        with paddle.no_grad():
            revived = probe.revive(model[0])
            for p in model.parameters():
                p.set_value(p - 0.05 * p.grad)
                p.clear_gradient()
        return loss, revived

    rng = np.random.RandomState(14)
    for k in range(5):
        if k == 4:
            probe.handle.remove()
        x = T(rng.randn(4, 2).astype("float32"))
        yield (
            attempt(lambda: step(x, x.sum(1, keepdim=True))),
            attempt(lambda: probe.silent + 0),
            list(probe.norms),
        )
        probe.norms.clear()


@program
def contexts_that_freeze_and_restore(convert):
    """Context managers: frozen parameters, a temporary mode, weights perturbed for an attack and put back."""

    @contextlib.contextmanager
    def frozen(params):
        before = [p.stop_gradient for p in params]
        for p in params:
            p.stop_gradient = True
        try:
            yield
        finally:
            for p, b in zip(params, before):
                p.stop_gradient = b

    class mode(contextlib.ContextDecorator):
        def __init__(self, model, training):
            self.model, self.training = model, training

        def __enter__(self):
            self.old = self.model.training
            self.model.training = self.training
            return self.model

        def __exit__(self, kind, error, tb):
            self.model.training = self.old
            return kind is ArithmeticError

    class Perturbed:
        def __init__(self, param, size):
            self.param, self.size = param, size

        def __enter__(self):
            self.saved = self.param.clone()
            with paddle.no_grad():
                g = self.param.grad
                if g is not None and g.norm() > 0:
                    self.param.add_(self.size * g / g.norm())
            return self

        def __exit__(self, *exc):
            with paddle.no_grad():
                self.param.set_value(self.saved)

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            paddle.seed(59)
            self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 1)

        def forward(self, x):
            h = F.tanh(self.body(x))
            return self.head(h if self.training else h * 0.5)

    net = Net()

    @convert
    def attack(x, y, size, freeze=False):
        with contextlib.ExitStack() as stack:
            if freeze:
                stack.enter_context(frozen(net.body.parameters()))
            loss = F.mse_loss(net(x), y)
            loss.backward()
            with Perturbed(net.head.weight, size):
                worse = F.mse_loss(net(x), y)
                worse.backward()
            with mode(net, False) as m:
                calm = F.mse_loss(m(x), y)
                if calm > 5:
                    raise ArithmeticError("not calm")
                calm = calm * 2
        return loss, worse, calm

    rng = np.random.RandomState(15)
    for size, freeze, scale in ((0.1, False, 1), (0.1, True, 1), (0.5, False, 10), (0.0, True, 1)):
        x = T((scale * rng.randn(4, 3)).astype("float32"))
        y = T((scale * rng.randn(4, 1)).astype("float32"))
        yield attempt(lambda: attack(x, y, size, freeze=freeze))
        yield (
            net.training,
            net.body.weight.grad,
            net.head.weight.grad,
            net.body.weight.stop_gradient,
        )
        net.clear_gradients()


@program
def arms_against_an_adversary(convert):
    """EXP3, UCB with windows and epsilon by a schedule under one protocol; regret; arms that sleep or are added."""

    class Policy:
        def __init__(self, n):
            self.n, self.t = n, 0

        def select(self, u, awake):
            raise NotImplementedError

        def update(self, arm, reward):
            self.t += 1

        def grow(self):
            self.n += 1

    class Exp3(Policy):
        def __init__(self, n, gamma=0.2):
            super().__init__(n)
            self.gamma, self.log_w = gamma, paddle.zeros([n])

        def probabilities(self, awake):
            w = paddle.exp(self.log_w - self.log_w.max()) * awake
            return (1 - self.gamma) * w / w.sum() + self.gamma * awake / awake.sum()

        def select(self, u, awake):
            self.p = self.probabilities(awake)
            return (self.p.cumsum() < u).astype("int64").sum().clip(max=self.n - 1)

        def update(self, arm, reward):
            super().update(arm, reward)
            self.log_w[arm] += self.gamma * reward / self.p[arm] / self.n

        def grow(self):
            super().grow()
            self.log_w = paddle.concat([self.log_w, self.log_w.mean().reshape([1])])

    class WindowUcb(Policy):
        def __init__(self, n, window=4):
            super().__init__(n)
            self.window, self.history = window, []

        def select(self, u, awake):
            best, bound = None, None
            for a in range(self.n):
                if not awake[a]:
                    continue
                rewards = [r for arm, r in self.history if arm == a]
                if not rewards:
                    return a
                value = sum(rewards) / len(rewards) + math.sqrt(
                    2 * math.log(self.t + 1) / len(rewards)
                )
                if bound is None or value > bound:
                    best, bound = a, value
            return best

        def update(self, arm, reward):
            super().update(arm, reward)
            self.history.append((arm, reward))
            del self.history[: -self.window]

    for policy in (Exp3(3), WindowUcb(3)):

        @convert
        def play(rewards, draws, awake=None):
            total, regret = paddle.zeros([]), paddle.zeros([])
            pulls = Counter()
            for r, u in zip(rewards, draws):
                on = paddle.ones([policy.n]) if awake is None else awake
                arm = policy.select(u, on)
                policy.update(arm, r[arm])
                total = total + r[arm]
                regret = regret + (r * on).max() - r[arm]
                pulls[int(arm)] += 1
            return total, regret, dict(pulls)

        rng = np.random.RandomState(16)
        for n, awake in ((4, None), (3, [1.0, 0.0, 1.0]), (4, None)):
            rewards, draws = (
                T(rng.rand(n, policy.n).astype("float32")),
                T(rng.rand(n).astype("float32")),
            )
            yield (
                attempt(lambda: play(rewards, draws, None if awake is None else T(awake))),
                policy.t,
            )
        policy.grow()
        yield attempt(
            lambda: play(T(rng.rand(3, 4).astype("float32")), T(rng.rand(3).astype("float32")))
        )


@program
def formulas_bred_from_trees(convert):
    """Genetic programming: expression trees are evaluated, crossed and mutated; parsimony; a protected division."""

    def protected(a, b):
        return paddle.where(
            b.abs() < 1e-3,
            paddle.ones_like(a),
            a / paddle.where(b.abs() < 1e-3, paddle.ones_like(b), b),
        )

    OPS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": protected}

    @dataclass
    class Node:
        value: Any
        kids: tuple = ()

        def __call__(self, x):
            if self.kids:
                return OPS[self.value](*(k(x) for k in self.kids))
            return (
                x[:, self.value]
                if isinstance(self.value, int)
                else paddle.full([x.shape[0]], self.value)
            )

        def size(self):
            return 1 + sum(k.size() for k in self.kids)

        def __str__(self):
            if self.kids:
                return f"({self.kids[0]} {self.value} {self.kids[1]})"
            return f"x{self.value}" if isinstance(self.value, int) else f"{self.value:.1f}"

        def replace(self, at, new):
            if at == 0:
                return new
            at -= 1
            kids = []
            for k in self.kids:
                n = k.size()
                kids.append(k.replace(at, new) if 0 <= at < n else k)
                at -= n
            return Node(self.value, tuple(kids))

    def grow(rng, depth):
        if depth == 0 or rng.random() < 0.3:
            return Node(rng.randrange(2) if rng.random() < 0.7 else rng.uniform(-2, 2))
        return Node(rng.choice(list(OPS)), (grow(rng, depth - 1), grow(rng, depth - 1)))

    class Population:
        def __init__(self, n, seed):
            self.rng = random.Random(seed)
            self.trees = [grow(self.rng, 2) for _ in range(n)]
            self.best, self.stale = None, 0

        def generation(self, x, y, parsimony=0.01):
            scored = []
            for tree in self.trees:
                error = (tree(x) - y).square().mean() + parsimony * tree.size()
                if not bool(paddle.isfinite(error)):
                    continue
                scored.append((float(error), tree))
            scored.sort(key=lambda s: s[0])
            error, champion = scored[0]
            if self.best is None or error < self.best - 1e-4:
                self.best, self.stale = error, 0
            else:
                self.stale += 1
            elite = [t for _, t in scored[: max(2, len(scored) // 2)]]
            children = []
            while len(elite) + len(children) < len(self.trees):
                a, b = self.rng.sample(elite, 2)
                child = a.replace(self.rng.randrange(a.size()), b)
                if child.size() > 9 or self.rng.random() < 0.3:
                    child = a.replace(self.rng.randrange(a.size()), grow(self.rng, 1))
                children.append(child)
            self.trees = elite + children
            return str(champion), self.stale, champion(x)

    rng = np.random.RandomState(17)
    population = Population(6, 3)
    generation = convert(population.generation)
    for n in (5, 5, 7):
        x = T(rng.randn(n, 2).astype("float32"))
        yield (
            attempt(lambda: generation(x, x[:, 0] * x[:, 1] - x[:, 0])),
            [str(t) for t in population.trees],
        )


@program
def islands_of_genomes(convert):
    """A genetic algorithm in tensors: tournaments, blended crossover, self-adapting noise, migration between islands."""

    class Island:
        def __init__(self, n, d, seed):
            rng = np.random.RandomState(seed)
            self.x = T(rng.randn(n, d).astype("float32"))
            self.sigma = paddle.full([n, 1], 0.5)
            self.rng = rng

        def noise(self, *shape):
            return T(self.rng.randn(*shape).astype("float32"))

        def tournament(self, fitness):
            a, b = (T(self.rng.randint(0, len(self.x), len(self.x))) for _ in range(2))
            return paddle.where(fitness[a] < fitness[b], a, b)

        def evolve(self, fn):
            f = fn(self.x)
            mother, father = self.tournament(f), self.tournament(f)
            mix = T(self.rng.rand(len(self.x), 1).astype("float32"))
            child = mix * self.x[mother] + (1 - mix) * self.x[father]
            sigma = self.sigma[mother] * paddle.exp(0.3 * self.noise(len(self.x), 1))
            child = child + sigma * self.noise(*child.shape)
            g = fn(child)
            better = (g < f).unsqueeze(-1)
            self.x = paddle.where(better, child, self.x)
            self.sigma = paddle.where(better, sigma, self.sigma)
            success = better.astype("float32").mean()
            if success < 0.2:
                self.sigma *= 0.8
            elif success > 0.5:
                self.sigma *= 1.25
            return fn(self.x)

    class Archipelago:
        def __init__(self, *islands, every=2):
            self.islands, self.every, self.age = list(islands), every, 0
            self.champion = None

        def migrate(self, scores):
            best = [isl.x[s.argmin()] for isl, s in zip(self.islands, scores)]
            for isl, s, guest in zip(self.islands, scores, best[-1:] + best[:-1]):
                worst = s.argmax()
                isl.x[worst] = guest

        def run(self, fn, generations, target=None):
            for _ in range(generations):
                self.age += 1
                scores = [isl.evolve(fn) for isl in self.islands]
                low = paddle.stack([s.min() for s in scores])
                k = int(low.argmin())
                if self.champion is None or low[k] < self.champion[0]:
                    self.champion = low[k], self.islands[k].x[scores[k].argmin()]
                if target is not None and self.champion[0] < target:
                    return self.champion, True
                if self.age % self.every == 0:
                    self.migrate(scores)
            return self.champion, False

    def sphere(x):
        return x.square().sum(-1)

    def rastrigin(x):
        return (x * x - 2 * paddle.cos(2 * math.pi * x) + 2).sum(-1)

    world = Archipelago(Island(4, 2, 0), Island(5, 2, 1))
    run = convert(world.run)
    for fn, n, target in ((sphere, 1, None), (sphere, 3, 0.05), (rastrigin, 2, None)):
        yield (
            attempt(lambda: run(fn, n, target)),
            world.age,
            [i.sigma.mean() for i in world.islands],
        )


@program
def lessons_chosen_by_progress(convert):
    """A teacher picks tasks by learning progress, difficulty grows with mastery, forgotten lessons come back."""
    Task = namedtuple("Task", "name level")

    class Student(nn.Layer):
        def __init__(self):
            super().__init__()
            paddle.seed(61)
            self.embed, self.out = nn.Linear(2, 4), nn.Linear(4, 1)

        def forward(self, x):
            return self.out(F.gelu(self.embed(x)))[:, 0]

    class Teacher:
        def __init__(self, names, window=2):
            self.tasks = {n: Task(n, 1) for n in names}
            self.scores = defaultdict(list)
            self.window = window

        def progress(self, name):
            s = self.scores[name]
            if len(s) < 2:
                return float("inf")
            recent, past = s[-self.window :], s[: -self.window] or s[:1]
            return abs(float(sum(recent) / len(recent) - sum(past) / len(past)))

        def choose(self):
            return max(self.tasks.values(), key=lambda t: self.progress(t.name))

        def record(self, task, score):
            scores = self.scores[task.name]
            if scores and score > 2 * scores[-1]:
                self.tasks[task.name] = task._replace(level=max(1, task.level - 1))
            elif score < 0.5:
                self.tasks[task.name] = task._replace(level=task.level + 1)
            scores.append(score)

    student, teacher = Student(), Teacher(["sum", "product", "max"])
    adam = paddle.optimizer.Adam(0.05, parameters=student.parameters())
    TARGETS = {
        "sum": lambda x: x.sum(-1),
        "product": lambda x: x.prod(-1),
        "max": lambda x: x.max(-1),
    }

    @convert
    def lesson(x, rounds=2):
        task = teacher.choose()
        x = x * task.level
        y = TARGETS[task.name](x)
        for _ in range(rounds):
            loss = F.smooth_l1_loss(student(x), y)
            loss.backward()
            adam.step()
            adam.clear_grad()
            if loss < 0.05:
                break
        teacher.record(task, loss.detach())
        return task.name, task.level, loss

    rng = np.random.RandomState(18)
    for n in (4, 4, 4, 6, 6, 4):
        yield attempt(lambda: lesson(T(rng.randn(n, 2).astype("float32") / 2))), dict(teacher.tasks)


@program
def snippets_found_by_windows(convert):
    """Passages scored by BM25 and embeddings; windows that overlap are merged; the text is cut and marked."""

    class Index:
        TOKEN: ClassVar = re.compile(r"\w+")

        def __init__(self, texts, dim=4, k1=1.2, b=0.75):
            self.texts = [self.TOKEN.findall(t.lower()) for t in texts]
            self.vocabulary = {
                w: i for i, w in enumerate(sorted({w for t in self.texts for w in t}))
            }
            paddle.seed(67)
            self.table = paddle.randn([len(self.vocabulary), dim])
            self.k1, self.b = k1, b
            counts = [Counter(t) for t in self.texts]
            self.tf = T(np.array([[c[w] for w in self.vocabulary] for c in counts], "float32"))
            df = (self.tf > 0).astype("float32").sum(0)
            self.idf = paddle.log(1 + (len(texts) - df + 0.5) / (df + 0.5))

        def ids(self, words):
            return [self.vocabulary[w] for w in words if w in self.vocabulary]

        def bm25(self, ids):
            length = self.tf.sum(-1)
            norm = self.k1 * (1 - self.b + self.b * length / length.mean())
            tf = self.tf[:, ids]
            return (self.idf[ids] * tf * (self.k1 + 1) / (tf + norm.unsqueeze(-1))).sum(-1)

        def windows(self, doc, query, width):
            tokens = self.table[self.ids(self.texts[doc])]
            q = F.normalize(query, axis=0)
            for start in range(max(1, tokens.shape[0] - width + 1)):
                part = tokens[start : start + width].mean(0)
                yield start, (F.normalize(part, axis=0) * q).sum()

        def search(self, text, k=2, width=3, threshold=0.2):
            ids = self.ids(self.TOKEN.findall(text.lower()))
            if not ids:
                raise LookupError(f"no known word in {text!r}")
            scores = self.bm25(ids)
            query = self.table[ids].mean(0)
            found = []
            for doc in scores.topk(k)[1].tolist():
                spans = []
                for start, value in self.windows(doc, query, width):
                    if value < threshold:
                        continue
                    if spans and start <= spans[-1][1]:
                        spans[-1] = (
                            spans[-1][0],
                            start + width,
                            paddle.maximum(spans[-1][2], value),
                        )
                    else:
                        spans.append((start, start + width, value))
                words = self.texts[doc]
                pieces = ["[" + " ".join(words[a:b]) + "]" for a, b, _ in spans]
                found.append((doc, scores[doc], " ... ".join(pieces), [v for *_, v in spans]))
            return found

    index = Index(
        [
            "The cat sat on the mat and the dog sat on the cat",
            "A dog barks at night; a cat sleeps",
            "Tensors flow through a static graph at night",
        ]
    )
    search = convert(index.search)
    yield attempt(lambda: search("cat dog"))
    yield attempt(lambda: search("graph at NIGHT", width=2, threshold=0.5))
    yield attempt(lambda: search("mat", k=1, threshold=2.0))
    yield attempt(lambda: search("zebra"))
