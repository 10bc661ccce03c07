"""Software around models: circuit breakers, sweeps, fitted pipelines, cascades, memories, experts."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import math
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import NamedTuple

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def a_service_with_circuit_breakers(convert):
    """A model service with fall-backs: a circuit breaker per model, retries with jitter-free back-off, and a result cache."""

    class ModelError(RuntimeError):
        """what a model does wrong"""

    class BadOutput(ModelError):
        pass

    class CircuitOpen(ModelError):
        pass

    class Clock:
        def __init__(self):
            self.now = 0.0

        def sleep(self, s):
            self.now += s

    @dataclass
    class Breaker:
        clock: Clock
        allowed: int = 2
        cooldown: float = 5.0
        failures: int = 0
        opened: float | None = None
        log: list = field(default_factory=list)

        @property
        def state(self):
            if self.opened is None:
                return "closed"
            return "half-open" if self.clock.now - self.opened >= self.cooldown else "open"

        def __enter__(self):
            if self.state == "open":
                raise CircuitOpen(f"open since {self.opened:g}")

        def __exit__(self, kind, value, tb):
            if kind is None:
                self.failures, self.opened = 0, None
            elif issubclass(kind, ModelError):
                self.failures += 1
                if self.failures >= self.allowed or self.state == "half-open":
                    self.opened = self.clock.now
                    self.log.append(f"opened at {self.clock.now:g}: {value}")
            return False

    def retry(times, wait=1.0, on=(BadOutput,)):
        def decorate(fn):
            @functools.wraps(fn)
            def wrapped(self, *args, **kwargs):
                for attempt in range(times):
                    try:
                        return fn(self, *args, attempt=attempt, **kwargs)
                    except on as e:
                        error = e
                        self.clock.sleep(wait * 2**attempt)
                raise error

            return wrapped

        return decorate

    class Service:
        def __init__(self, models, clock, cache=3):
            self.models, self.clock = models, clock
            self.breakers = {name: Breaker(clock) for name in models}
            self.cache, self.room = OrderedDict(), cache
            self.stats = {"hits": 0, "fallbacks": 0}

        @retry(2)
        def attempt(self, name, x, attempt=0):
            y = self.models[name](x / (1 + attempt))
            if not paddle.isfinite(y).all():
                raise BadOutput(f"{name}: not finite on try {attempt}")
            if y.abs().max() > 50:
                raise BadOutput(f"{name}: {float(y.abs().max()):.1f} is too large on try {attempt}")
            return F.softmax(y, axis=-1)

        def predict(self, x, key=None):
            self.clock.sleep(1)
            if key in self.cache:
                self.stats["hits"] += 1
                self.cache.move_to_end(key)
                return self.cache[key]
            errors = []
            for rank, (name, breaker) in enumerate(self.breakers.items()):
                try:
                    with breaker:
                        y = self.attempt(name, x)
                except ModelError as e:
                    errors.append(f"{type(e).__name__}: {e}")
                    continue
                self.stats["fallbacks"] += rank > 0
                if key is not None:
                    self.cache[key] = (name, y)
                    if len(self.cache) > self.room:
                        self.cache.popitem(last=False)
                return name, y
            raise ModelError("; ".join(errors))

    class LogModel(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            return self.fc(x.log())

    def records_of(convert):
        paddle.seed(81)
        clock = Clock()
        big = nn.Linear(3, 2)
        service = Service({"log": LogModel(), "linear": big}, clock)
        predict = convert(service.predict)
        records = []
        good, negative, huge = (
            paddle.rand([2, 3]) + 0.5,
            paddle.randn([2, 3]),
            paddle.full([1, 3], 1e3),
        )
        for x, key in [
            (good, "a"),
            (negative, None),
            (negative, "b"),
            (good, None),
            (good, "a"),
            (-huge, None),
            (-huge, None),
            (good[:1], "c"),
            (good, "d"),
            (good, "e"),
            (good + 1, "a"),
        ]:
            try:
                records.append(predict(x, key))
            except ModelError as e:
                records.append((str(e), type(e.__cause__).__name__, type(e.__context__).__name__))
            records += [
                clock.now,
                [b.state for b in service.breakers.values()],
                dict(service.stats),
                list(service.cache),
            ]
        records.append({n: b.log for n, b in service.breakers.items()})
        return records

    yield from records_of(convert)


@program
def a_sweep_of_settings(convert):
    """Experiments as dataclasses: overrides by dotted paths, validation, a grid with successive halving over training runs."""

    class Act(Enum):
        RELU = "relu"
        TANH = "tanh"
        GLU = "glu"

        def __call__(self, x):
            return getattr(F, self.value)(x)

        @property
        def widening(self):
            return 2 if self is Act.GLU else 1

    @dataclass(frozen=True)
    class ModelCfg:
        width: int = 4
        depth: int = 1
        act: Act = Act.RELU
        residual: bool = False

    @dataclass(frozen=True)
    class OptCfg:
        lr: float = 0.1
        clip: float | None = None
        smoothing: float = 0.0

        def __post_init__(self):
            if not 0 < self.lr < 10:
                raise ValueError(f"lr out of range: {self.lr}")

    @dataclass(frozen=True)
    class Experiment:
        model: ModelCfg = field(default_factory=ModelCfg)
        opt: OptCfg = field(default_factory=OptCfg)
        seed: int = 0

        def override(self, **dotted):
            out = self
            for path, value in dotted.items():
                out = _set(out, path.split("__"), value)
            return out

        @property
        def tag(self):
            flat = {
                k: v for part in ("model", "opt") for k, v in asdict(getattr(self, part)).items()
            }
            return ",".join(f"{k}={v.value if isinstance(v, Enum) else v}" for k, v in flat.items())

    def _set(node, path, value):
        head, *rest = path
        if head not in {f.name for f in fields(node)}:
            raise AttributeError(f"{type(node).__name__} has no option {head!r}")
        child = getattr(node, head)
        return replace(
            node, **{head: _set(child, rest, value) if rest and is_dataclass(child) else value}
        )

    class MLP(nn.Layer):
        def __init__(self, cfg: ModelCfg, feats=3, classes=2):
            super().__init__()
            self.cfg = cfg
            sizes = [feats] + [cfg.width] * cfg.depth
            self.hidden = nn.LayerList(
                [nn.Linear(a, b * cfg.act.widening) for a, b in itertools.pairwise(sizes)]
            )
            self.head = nn.Linear(sizes[-1], classes)

        def forward(self, x):
            for layer in self.hidden:
                y = self.cfg.act(layer(x))
                x = x + y if self.cfg.residual and y.shape == x.shape else y
            return self.head(x)

    class Run:
        def __init__(self, cfg: Experiment):
            paddle.seed(cfg.seed)
            self.cfg, self.net = cfg, MLP(cfg.model)
            self.best, self.trained, self.clipped = float("inf"), 0, 0

        def train(self, x, y, steps):
            o = self.cfg.opt
            for _ in range(steps):
                logits = self.net(x)
                if o.smoothing:
                    soft = F.label_smooth(F.one_hot(y, logits.shape[-1]), epsilon=o.smoothing)
                    loss = F.cross_entropy(logits, soft, soft_label=True)
                else:
                    loss = F.cross_entropy(logits, y)
                grads = paddle.grad(loss, self.net.parameters())
                if o.clip is not None:
                    norm = paddle.stack([g.norm() for g in grads]).norm()
                    if norm > o.clip:
                        grads, self.clipped = [g * (o.clip / norm) for g in grads], self.clipped + 1
                with paddle.no_grad():
                    for p, g in zip(self.net.parameters(), grads):
                        p.set_value(p - o.lr * g)
                self.trained += 1
                self.best = min(self.best, float(loss))
            return self.best

    def grid(base, **axes):
        for values in itertools.product(*axes.values()):
            yield base.override(**dict(zip(axes, values)))

    def records_of(convert):
        paddle.seed(61)
        x = paddle.randn([8, 3])
        y = (x.sum(-1) > 0).astype("int64")
        base = Experiment().override(opt__clip=0.4)
        runs = [
            Run(c)
            for c in grid(base, model__act=list(Act), model__depth=[1, 2], opt__lr=[0.05, 0.5])
        ][::2]
        runs += [Run(base.override(model__residual=True, model__depth=3, opt__smoothing=0.1))]
        steps, records = 1, []
        trains = {id(r): convert(r.train) for r in runs}
        while len(runs) > 1:
            scored = [(trains[id(r)](x, y, steps), k) for k, r in enumerate(runs)]
            records.append(scored)
            scored.sort()
            runs = [runs[k] for _, k in scored[: len(runs) // 2]]
            steps *= 2
        winner = runs[0]
        records += [winner.cfg.tag, winner.trained, winner.clipped, winner.net.head.weight.clone()]
        records.append(json.dumps(asdict(winner.cfg.opt), sort_keys=True))
        for bad in ({"model__heads": 2}, {"opt__lr": 50.0}):
            try:
                base.override(**bad)
            except (AttributeError, ValueError) as e:
                records.append(f"{type(e).__name__}: {e}")
        return records

    yield from records_of(convert)


@program
def features_by_a_fitted_pipeline(convert):
    """A feature pipeline with fit and transform: plug-ins registered by decorator, column selection, and undoing of steps."""

    class NotFitted(RuntimeError):
        pass

    class Registry(dict):
        def register(self, cls):
            name = "".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("_")
            self[name] = cls
            return cls

        def make(self, spec):
            name, *options = spec if isinstance(spec, (list, tuple)) else (spec,)
            if name not in self:
                raise KeyError(f"no step {name!r}; there are {', '.join(sorted(self))}")
            options = options[0] if options else {}
            known = inspect.signature(self[name].__init__).parameters
            if extra := [k for k in options if k not in known]:
                raise TypeError(f"{name} does not take {extra}")
            return self[name](**options)

    STEPS = Registry()

    def needs_fit(fn):
        @functools.wraps(fn)
        def wrapper(self, x, *args):
            if not getattr(self, "fitted", False):
                raise NotFitted(f"{type(self).__name__}.{fn.__name__} before fit")
            return fn(self, x, *args)

        return wrapper

    @STEPS.register
    class Impute:
        def __init__(self, how="mean"):
            self.how = how

        def fit(self, x):
            known = paddle.logical_not(paddle.isnan(x))
            clean = paddle.where(known, x, paddle.zeros_like(x))
            if self.how == "mean":
                self.fill = clean.sum(axis=0) / known.astype(x.dtype).sum(axis=0).clip(min=1)
            else:
                self.fill = paddle.stack(
                    [c[k].median() if k.any() else paddle.zeros([]) for c, k in zip(x.T, known.T)]
                )
            self.fitted = True

        @needs_fit
        def transform(self, x):
            holes = paddle.isnan(x)
            return paddle.where(holes, self.fill.expand_as(x), x) if holes.any() else x

    @STEPS.register
    class RobustScale:
        def __init__(self, clip=None):
            self.clip = clip

        def fit(self, x):
            q = paddle.quantile(x, [0.25, 0.5, 0.75], axis=0)
            spread = q[2] - q[0]
            self.centre, self.spread, self.fitted = (
                q[1],
                paddle.where(spread > 0, spread, paddle.ones_like(spread)),
                True,
            )

        @needs_fit
        def transform(self, x):
            z = (x - self.centre) / self.spread
            return z if self.clip is None else z.clip(-self.clip, self.clip)

    @STEPS.register
    class PowerPca:
        """components by power iteration with deflation, until the share of variance is reached"""

        def __init__(self, share=0.9, max_iter=50):
            self.share, self.max_iter = share, max_iter

        def fit(self, x):
            self.mean = x.mean(axis=0)
            cov = (x - self.mean).T @ (x - self.mean) / x.shape[0]
            total, kept, axes = paddle.trace(cov), paddle.zeros([]), []
            while kept < self.share * total and len(axes) < x.shape[1]:
                v = paddle.ones([x.shape[1]]) / x.shape[1] ** 0.5
                for _ in range(self.max_iter):
                    w = cov @ v
                    w = w / (w.norm() + 1e-12)
                    done = (w - v).abs().max() < 1e-4
                    v = w
                    if done:
                        break
                value = v @ cov @ v
                axes.append(v)
                kept, cov = kept + value, cov - value * paddle.outer(v, v)
            self.axes, self.fitted = paddle.stack(axes), True

        @needs_fit
        def transform(self, x):
            return (x - self.mean) @ self.axes.T

        @needs_fit
        def inverse(self, z):
            return z @ self.axes + self.mean

    class Pipeline:
        def __init__(self, *specs):
            self.steps = [STEPS.make(s) for s in specs]

        def fit_transform(self, x):
            for step in self.steps:
                step.fit(x)
                x = step.transform(x)
            return x

        def transform(self, x):
            return functools.reduce(lambda v, step: step.transform(v), self.steps, x)

        def restore(self, z):
            for step in reversed(self.steps):
                if hasattr(step, "inverse"):
                    z = step.inverse(z)
            return z

    def records_of(convert):
        paddle.seed(71)
        records = []
        for specs, holes in [
            (["impute", "robust_scale"], 2),
            (
                [
                    ("impute", {"how": "median"}),
                    ("robust_scale", {"clip": 1.0}),
                    ("power_pca", {"share": 0.7}),
                ],
                3,
            ),
            (["power_pca"], 0),
        ]:
            pipe = Pipeline(*specs)
            fit, use, restore = (
                convert(pipe.fit_transform),
                convert(pipe.transform),
                convert(pipe.restore),
            )
            x = paddle.randn([9, 4]) @ paddle.randn([4, 4])
            for k in range(holes):
                x[2 * k, k] = float("nan")
            try:
                use(x)
            except NotFitted as e:
                records.append(str(e))
            records.append(fit(x))
            z = use(paddle.randn([3, 4]))
            records += [z, restore(z), use(x[:1])]
        for bad in ("scale", ("impute", {"with": 1})):
            try:
                Pipeline(bad)
            except (KeyError, TypeError) as e:
                records.append(f"{type(e).__name__}: {e}")
        return records

    yield from records_of(convert)


@program
def exits_when_patience_ends(convert):
    """A network with internal classifiers that stops when several of them agree, counts its work and can be trained jointly."""

    class ExitPolicy(ABC):
        def reset(self):
            """before every sample"""

        @abstractmethod
        def __call__(self, logits) -> bool: ...

    class Patience(ExitPolicy):
        def __init__(self, need):
            self.need = need
            self.reset()

        def reset(self):
            self.streak, self.last = 0, None

        def __call__(self, logits):
            label = int(logits.argmax())
            self.streak = self.streak + 1 if label == self.last else 0
            self.last = label
            return self.streak >= self.need

    class Entropy(ExitPolicy):
        def __init__(self, below):
            self.below = below

        def __call__(self, logits):
            p = F.softmax(logits, axis=-1)
            return -(p * p.log()).sum() < self.below

    class AnyOf(ExitPolicy):
        def __init__(self, *policies):
            self.policies = policies

        def reset(self):
            for p in self.policies:
                p.reset()

        def __call__(self, logits):
            votes = [p(logits) for p in self.policies]
            return any(votes)

    class Block(nn.Layer):
        def __init__(self, width, classes):
            super().__init__()
            self.norm, self.mix, self.exit = (
                nn.LayerNorm(width),
                nn.Linear(width, width),
                nn.Linear(width, classes),
            )

        def forward(self, h):
            return h + F.gelu(self.mix(self.norm(h)))

    class Cascade(nn.Layer):
        def __init__(self, feats=4, width=6, classes=3, depth=5):
            super().__init__()
            self.stem = nn.Linear(feats, width)
            self.blocks = nn.LayerList([Block(width, classes) for _ in range(depth)])
            self.exits = Counter()

        @property
        def mean_depth(self):
            return sum(k * n for k, n in self.exits.items()) / max(1, sum(self.exits.values()))

        def joint_loss(self, x, y):
            h, total, weight = self.stem(x), 0.0, 0
            for k, block in enumerate(self.blocks, 1):
                h = block(h)
                total, weight = total + k * F.cross_entropy(block.exit(h), y), weight + k
            return total / weight

        def infer(self, x, policy):
            outs = []
            for row in x:
                policy.reset()
                h = self.stem(row.unsqueeze(0))
                for depth, block in enumerate(self.blocks, start=1):
                    h = block(h)
                    logits = block.exit(h)
                    if policy(logits):
                        break
                self.exits[depth] += 1
                outs.append(logits)
            return paddle.concat(outs)

        def forward(self, x, y=None, policy=None):
            if self.training:
                return self.joint_loss(x, y)
            with paddle.no_grad():
                return self.infer(x, policy or Patience(1))

    def records_of(convert):
        paddle.seed(23)
        net = Cascade()
        run = convert(net)
        opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())
        records = []
        for k, policy in enumerate(
            [None, Patience(2), Entropy(0.7), AnyOf(Patience(3), Entropy(0.4))]
        ):
            net.train()
            loss = run(paddle.randn([6, 4]), paddle.randint(0, 3, [6]))
            loss.backward()
            opt.step()
            opt.clear_grad()
            net.eval()
            net.exits.clear()
            records += [
                loss,
                run(paddle.randn([2 + k % 2, 4]), policy=policy),
                dict(net.exits),
                net.mean_depth,
            ]
        return records

    yield from records_of(convert)


@program
def a_memory_by_usage(convert):
    """A differentiable neural computer: usage, allocation by sorted products, temporal links, several read heads."""

    class MemoryState(NamedTuple):
        memory: paddle.Tensor
        usage: paddle.Tensor
        precedence: paddle.Tensor
        link: paddle.Tensor
        write_w: paddle.Tensor
        read_w: paddle.Tensor

        @classmethod
        def empty(cls, slots, width, heads):
            z = paddle.zeros
            return cls(
                z([slots, width]),
                z([slots]),
                z([slots]),
                z([slots, slots]),
                z([slots]),
                z([heads, slots]),
            )

    def content(memory, key, strength):
        return F.softmax(
            strength * F.cosine_similarity(memory + 1e-6, key.unsqueeze(0), axis=-1), axis=-1
        )

    def oneplus(x):
        return 1 + F.softplus(x)

    class Interface:
        """cuts a flat vector into named pieces"""

        def __init__(self, **sizes):
            self.sizes = sizes

        @property
        def total(self):
            return sum(self.sizes.values())

        def split(self, flat):
            return dict(zip(self.sizes, paddle.split(flat, list(self.sizes.values()))))

    class DNC(nn.Layer):
        def __init__(self, inputs, outputs, slots=5, width=4, heads=2, hidden=8):
            super().__init__()
            self.slots, self.width, self.heads = slots, width, heads
            self.ui = Interface(
                wk=width,
                ws=1,
                erase=width,
                vec=width,
                free=heads,
                ga=1,
                gw=1,
                rk=heads * width,
                rs=heads,
                modes=3 * heads,
            )
            self.cell = nn.LSTMCell(inputs + heads * width, hidden)
            self.to_ui, self.out = (
                nn.Linear(hidden, self.ui.total),
                nn.Linear(hidden + heads * width, outputs),
            )
            self.use_links = True

        def allocate(self, usage):
            order = usage.argsort()
            ranked = usage[order]
            before = paddle.concat([paddle.ones([1]), ranked.cumprod(0)[:-1]])
            return paddle.scatter(paddle.zeros_like(usage), order, (1 - ranked) * before)

        def write(self, s: MemoryState, u):
            free = F.sigmoid(u["free"]).unsqueeze(-1)
            retention = (1 - free * s.read_w).prod(axis=0)
            usage = (s.usage + s.write_w - s.usage * s.write_w) * retention
            gate_a, gate_w = F.sigmoid(u["ga"]), F.sigmoid(u["gw"])
            w = gate_w * (
                gate_a * self.allocate(usage)
                + (1 - gate_a) * content(s.memory, u["wk"], oneplus(u["ws"]))
            )
            memory = (
                s.memory * (1 - w.unsqueeze(-1) * F.sigmoid(u["erase"]))
                + w.unsqueeze(-1) * u["vec"]
            )
            link = s.link
            if self.use_links:
                a, b = w.unsqueeze(1), w.unsqueeze(0)
                link = ((1 - a - b) * s.link + a * s.precedence.unsqueeze(0)) * (
                    1 - paddle.eye(self.slots)
                )
            precedence = (1 - w.sum()) * s.precedence + w
            return s._replace(
                memory=memory, usage=usage, precedence=precedence, link=link, write_w=w
            )

        def read(self, s: MemoryState, u):
            keys, strengths = u["rk"].reshape([self.heads, self.width]), oneplus(u["rs"])
            modes = F.softmax(u["modes"].reshape([self.heads, 3]), axis=-1)
            weights = []
            for h in range(self.heads):
                c = content(s.memory, keys[h], strengths[h])
                if self.use_links:
                    forward, backward = s.link @ s.read_w[h], s.link.T @ s.read_w[h]
                    c = modes[h, 0] * backward + modes[h, 1] * c + modes[h, 2] * forward
                weights.append(c)
            read_w = paddle.stack(weights)
            return s._replace(read_w=read_w), (read_w @ s.memory).flatten()

        def forward(self, sequence, state=None, until=None):
            memory = state or MemoryState.empty(self.slots, self.width, self.heads)
            reads, core, outs = paddle.zeros([self.heads * self.width]), None, []
            for x in sequence:
                h, core = self.cell(paddle.concat([x, reads]).unsqueeze(0), core)
                u = self.ui.split(self.to_ui(h[0]))
                memory = self.write(memory, u)
                memory, reads = self.read(memory, u)
                outs.append(self.out(paddle.concat([h[0], reads])))
                if until is not None and memory.usage.max() > until:
                    break
            return paddle.stack(outs), memory

    def records_of(convert):
        paddle.seed(27)
        net = DNC(3, 2)
        run = convert(net)
        records, memory = [], None
        for length, keep, until, links in [
            (4, False, None, True),
            (3, True, None, True),
            (6, False, 0.6, True),
            (2, True, None, False),
            (5, False, 0.3, False),
        ]:
            net.use_links = links
            outs, memory = run(paddle.randn([length, 3]), memory if keep else None, until)
            outs.square().mean().backward()
            records += [outs, memory.usage, memory.link, net.to_ui.weight.grad.clone()]
            net.clear_gradients()
            memory = MemoryState(*(m.detach() for m in memory))
        return records

    yield from records_of(convert)


@program
def tokens_chosen_by_experts(convert):
    """Mixture of experts in which the experts choose tokens; bounded capacity, dropped tokens, shared expert, statistics."""

    @dataclass
    class RouterStats:
        dropped: int = 0
        seen: int = 0
        z_loss: paddle.Tensor | None = None
        per_expert: paddle.Tensor | None = None

        @property
        def drop_rate(self):
            return self.dropped / self.seen if self.seen else 0.0

        def __iadd__(self, other):
            self.dropped += other.dropped
            self.seen += other.seen
            self.z_loss = other.z_loss
            self.per_expert = (
                other.per_expert if self.per_expert is None else self.per_expert + other.per_expert
            )
            return self

    class Expert(nn.Layer):
        def __init__(self, width, hidden):
            super().__init__()
            self.gate, self.up = (nn.Linear(width, hidden, bias_attr=False) for _ in range(2))
            self.down = nn.Linear(hidden, width, bias_attr=False)

        def forward(self, x):
            return self.down(F.silu(self.gate(x)) * self.up(x))

    class ExpertChoice(nn.Layer):
        def __init__(self, width=4, experts=3, hidden=6, capacity=1.0, shared=True, z_weight=1e-2):
            super().__init__()
            self.router = nn.Linear(width, experts, bias_attr=False)
            self.experts = nn.LayerList([Expert(width, hidden) for _ in range(experts)])
            self.shared = Expert(width, hidden) if shared else None
            self.capacity, self.z_weight = capacity, z_weight
            self.stats = RouterStats()
            self.aux = None

        def forward(self, x, mask=None):
            flat = x.reshape([-1, x.shape[-1]])
            n = flat.shape[0]
            logits = self.router(flat)
            if mask is not None:
                logits = paddle.where(mask.reshape([-1, 1]), logits, paddle.full_like(logits, -1e9))
            scores = F.softmax(logits, axis=-1)
            if mask is not None:
                scores = scores * mask.reshape([-1, 1]).astype(scores.dtype)
            k = max(1, min(n, math.ceil(self.capacity * n / len(self.experts))))
            out, hits = paddle.zeros_like(flat), paddle.zeros([n], dtype="int64")
            load = []
            for e, expert in enumerate(self.experts):
                gates, picks = scores[:, e].topk(k)
                useful = gates > 0.2 if not self.training else gates > 0
                if not useful.any():
                    load.append(paddle.zeros([], dtype="int64"))
                    continue
                gates, picks = gates[useful], picks[useful]
                out = out.index_add(picks, 0, gates.unsqueeze(-1) * expert(flat[picks]))
                hits = hits.index_add(picks, 0, paddle.ones_like(picks))
                load.append(useful.sum())
            lost = hits == 0
            if mask is not None:
                lost = lost.logical_and(mask.flatten())
            stats = RouterStats(
                int(lost.sum()),
                n,
                paddle.logsumexp(scores, -1).square().mean().detach(),
                paddle.stack(load),
            )
            self.stats += stats
            if lost.any():
                out = out + flat * lost.unsqueeze(-1).astype(flat.dtype)
            if self.shared is not None:
                out = out + self.shared(flat)
            if self.training:
                self.aux = (
                    self.z_weight * paddle.logsumexp(logits, -1).square().mean()
                    if mask is None
                    else None
                )
            return out.reshape(x.shape)

    def records_of(convert):
        paddle.seed(31)
        layer = ExpertChoice()
        layer.forward = convert(layer.forward)
        records = []
        for shape, training, masked, capacity in [
            ((2, 3), True, False, 1.0),
            ((1, 5), True, False, 2.0),
            ((2, 3), False, False, 1.0),
            ((2, 4), False, True, 1.5),
            ((3, 2), True, True, 0.5),
            ((1, 1), False, False, 1.0),
        ]:
            layer.train() if training else layer.eval()
            layer.capacity = capacity
            x = paddle.randn([*shape, 4])
            x.stop_gradient = False
            mask = (paddle.arange(shape[1]) < shape[1] - 1).expand(list(shape)) if masked else None
            y = layer(x, mask)
            loss = y.square().mean()
            if layer.training and layer.aux is not None:
                loss = loss + layer.aux
            loss.backward()
            records += [
                y,
                x.grad,
                loss,
                layer.stats.drop_rate,
                layer.stats.per_expert,
                layer.stats.z_loss,
            ]
            records.append(layer.router.weight.grad.clone())
            layer.clear_gradients()
        return records

    yield from records_of(convert)
