"""Training loops driven by a configuration: stops, skipped steps, penalties, second derivatives."""

import contextlib
import dataclasses
import functools
import itertools
import logging
import math
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

logger = logging.getLogger(__name__)


@program
def ppo_update_with_a_kl_stop(convert):
    """PPO over shuffled minibatches: clipped losses, entropy bonus, a stop at a KL target."""

    @dataclass(frozen=True)
    class Config:
        clip: float = 0.2
        epochs: int = 4
        minibatch: int = 4
        target_kl: Optional[float] = 0.02
        entropy_coef: float = 0.01
        value_coef: float = 0.5
        max_grad_norm: float = 0.5
        clip_value: bool = True

    class Batch(NamedTuple):
        obs: paddle.Tensor
        actions: paddle.Tensor
        log_probs: paddle.Tensor
        values: paddle.Tensor
        advantages: paddle.Tensor
        returns: paddle.Tensor

    class ActorCritic(nn.Layer):
        def __init__(self, obs_dim, actions):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(obs_dim, 8), nn.Tanh())
            self.pi = nn.Linear(8, actions)
            self.v = nn.Linear(8, 1)

        def forward(self, obs):
            h = self.body(obs)
            return F.log_softmax(self.pi(h)), self.v(h).squeeze(-1)

        def evaluate(self, obs, actions):
            logp, value = self(obs)
            chosen = paddle.take_along_axis(logp, actions.unsqueeze(-1), axis=-1).squeeze(-1)
            entropy = -(logp.exp() * logp).sum(-1)
            return chosen, entropy, value

    class PPO:
        def __init__(self, model, config, lr):
            self.model, self.config = model, config
            self.optimizer = paddle.optimizer.Adam(
                learning_rate=lr,
                parameters=model.parameters(),
                grad_clip=nn.ClipGradByGlobalNorm(config.max_grad_norm),
            )
            self.updates = 0

        def losses(self, mb):
            cfg = self.config
            logp, entropy, value = self.model.evaluate(mb.obs, mb.actions)
            log_ratio = logp - mb.log_probs
            ratio = log_ratio.exp()
            adv = (mb.advantages - mb.advantages.mean()) / (mb.advantages.std() + 1e-8)
            surrogate = paddle.minimum(ratio * adv, ratio.clip(1 - cfg.clip, 1 + cfg.clip) * adv)
            if cfg.clip_value:
                clipped = mb.values + (value - mb.values).clip(-cfg.clip, cfg.clip)
                v_loss = paddle.maximum((value - mb.returns) ** 2, (clipped - mb.returns) ** 2)
            else:
                v_loss = (value - mb.returns) ** 2
            with paddle.no_grad():
                kl = ((ratio - 1) - log_ratio).mean()
                clip_frac = ((ratio - 1).abs() > cfg.clip).astype("float32").mean()
            loss = -surrogate.mean() + cfg.value_coef * v_loss.mean()
            return loss - cfg.entropy_coef * entropy.mean(), kl, clip_frac

        @convert
        def update(self, batch, orders):
            cfg = self.config
            stats = defaultdict(list)
            n = batch.obs.shape[0]
            stopped = False
            for epoch in range(cfg.epochs):
                order = orders[epoch]
                for start in range(0, n, cfg.minibatch):
                    idx = order[start : start + cfg.minibatch]
                    mb = Batch(*(t[idx] for t in batch))
                    loss, kl, frac = self.losses(mb)
                    if cfg.target_kl is not None and kl > 1.5 * cfg.target_kl:
                        stopped = True
                        break
                    self.optimizer.clear_grad()
                    loss.backward()
                    self.optimizer.step()
                    self.updates += 1
                    stats["loss"].append(loss.detach())
                    stats["kl"].append(kl)
                    stats["clip_frac"].append(frac)
                if stopped:
                    logger.debug("stopped in epoch %d", epoch)
                    break
            return {k: paddle.stack(v).mean() for k, v in stats.items()}, stopped, epoch

    paddle.seed(3)
    rng = np.random.RandomState(0)
    for n, target, lr in [(8, 0.02, 1e-3), (8, 0.001, 5e-2), (10, None, 1e-2)]:
        model = ActorCritic(3, 2)
        ppo = PPO(model, Config(target_kl=target, clip_value=target is not None), lr)
        for _ in range(2):
            obs = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
            actions = paddle.to_tensor(rng.randint(0, 2, n))
            with paddle.no_grad():
                logp, _, values = model.evaluate(obs, actions)
            returns = paddle.to_tensor(rng.randn(n).astype("float32"))
            batch = Batch(obs, actions, logp, values, returns - values, returns)
            orders = [paddle.to_tensor(rng.permutation(n)) for _ in range(4)]
            yield ppo.update(batch, orders)
            yield ppo.updates
        yield [p for p in model.parameters()]


@program
def accumulation_that_skips_bad_batches(convert):
    """Gradient accumulation: a batch that is not finite is dropped, a spike is down-weighted."""

    @dataclass
    class Counters:
        seen: int = 0
        skipped: int = 0
        steps: int = 0

    class Rig:
        def __init__(self, model, accumulate=2, warmup=2, base_lr=0.1):
            self.model = model
            self.accumulate = accumulate
            self.scheduler = paddle.optimizer.lr.LinearWarmup(base_lr, warmup, 0.0, base_lr)
            self.optimizer = paddle.optimizer.Momentum(
                self.scheduler, 0.9, parameters=model.parameters()
            )
            self.counters = Counters()
            self.pending = 0
            self.average = None

        @convert
        def micro_step(self, x, y):
            self.counters.seen += 1
            loss = F.mse_loss(self.model(x), y) / self.accumulate
            if not paddle.isfinite(loss):
                self.counters.skipped += 1
                self.optimizer.clear_grad()
                self.pending = 0
                return loss, False
            if self.average is None:
                self.average = loss.detach()
            elif loss > 4 * self.average:
                loss = loss * (self.average / loss.detach())
            self.average = 0.9 * self.average + 0.1 * loss.detach()
            loss.backward()
            self.pending += 1
            if self.pending == self.accumulate:
                self.optimizer.step()
                self.optimizer.clear_grad()
                self.pending = 0
                self.counters.steps += 1
                return loss, True
            return loss, False

    paddle.seed(0)
    rng = np.random.RandomState(5)
    rig = Rig(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)))
    for i in range(9):
        x = rng.randn(4, 2).astype("float32") * (30 if i == 6 else 1)
        if i in (3, 4):
            x[0, 0] = np.nan if i == 3 else np.inf
        loss, stepped = rig.micro_step(
            paddle.to_tensor(x), paddle.to_tensor(x.sum(1, keepdims=True))
        )
        if stepped:
            rig.scheduler.step()
        yield loss, stepped
        yield dataclasses.astuple(rig.counters), rig.pending
    yield rig.average, rig.model.state_dict()


@program
def whole_fit_with_plateau_and_patience(convert):
    """One function trains, lowers its rate on a plateau, keeps the best weights, and stops early."""

    class Mode(Enum):
        MIN = auto()
        MAX = auto()

        def better(self, new, old, delta):
            return new < old - delta if self is Mode.MIN else new > old + delta

    class Plateau:
        def __init__(self, mode=Mode.MIN, factor=0.5, patience=1, threshold=1e-3):
            self.mode, self.factor, self.patience = mode, factor, patience
            self.threshold = threshold
            self.best = math.inf if mode is Mode.MIN else -math.inf
            self.bad = 0
            self.reductions = 0

        def step(self, value, lr):
            if self.mode.better(value, self.best, self.threshold):
                self.best, self.bad = value, 0
                return lr, True
            self.bad += 1
            if self.bad > self.patience:
                self.bad = 0
                self.reductions += 1
                lr = lr * self.factor
            return lr, False

    def fit(w, b, x, y, xv, yv, lr, max_epochs=12, patience=3, mode=Mode.MIN):
        plateau = Plateau(mode)
        best = (w, b)
        history: List[float] = []
        since_best = 0
        for epoch in range(max_epochs):
            pred = F.sigmoid(x @ w + b)
            loss = F.binary_cross_entropy(pred, y)
            gw, gb = paddle.grad(loss, [w, b])
            w = (w - lr * gw).detach()
            b = (b - lr * gb).detach()
            w.stop_gradient = b.stop_gradient = False
            with paddle.no_grad():
                pv = F.sigmoid(xv @ w + b)
                if mode is Mode.MIN:
                    score = F.binary_cross_entropy(pv, yv)
                else:
                    score = ((pv > 0.5).astype("float32") == yv).astype("float32").mean()
            lr, improved = plateau.step(score, lr)
            history.append(score)
            if improved:
                best = (w.clone(), b.clone())
                since_best = 0
            else:
                since_best += 1
                if since_best >= patience:
                    break
        return best, paddle.stack(history), lr, plateau.reductions, epoch

    run = convert(fit)
    rng = np.random.RandomState(2)
    for n, lr, mode in [(12, 1.0, Mode.MIN), (20, 40.0, Mode.MIN), (12, 5.0, Mode.MAX)]:
        data = rng.randn(n, 3).astype("float32")
        target = (data.sum(1, keepdims=True) + rng.randn(n, 1) * 0.5 > 0).astype("float32")
        half = n // 2
        w = paddle.zeros([3, 1])
        b = paddle.zeros([1])
        w.stop_gradient = b.stop_gradient = False
        args = [
            paddle.to_tensor(a) for a in (data[:half], target[:half], data[half:], target[half:])
        ]
        yield run(w, b, *args, lr=lr, mode=mode)


@program
def sharpness_aware_steps(convert):
    """SAM as a wrapper of an optimizer: climb, take the gradient there, come back, and step."""

    class SAM:
        def __init__(self, base, params, rho=0.05, adaptive=False):
            self.base, self.params = base, list(params)
            self.rho, self.adaptive = rho, adaptive
            self.old: Dict[str, paddle.Tensor] = {}

        def grad_norm(self):
            norms = []
            for p in self.params:
                if p.grad is None:
                    continue
                scale = p.abs() if self.adaptive else 1.0
                norms.append((scale * p.grad).norm())
            return paddle.stack(norms).norm()

        @paddle.no_grad()
        def climb(self):
            scale = self.rho / (self.grad_norm() + 1e-12)
            for p in self.params:
                if p.grad is None:
                    continue
                self.old[p.name] = p.clone()
                e = (p**2 if self.adaptive else 1.0) * p.grad * scale
                p.set_value(p + e)
            self.base.clear_grad()

        @paddle.no_grad()
        def descend(self):
            for p in self.params:
                if p.name in self.old:
                    p.set_value(self.old.pop(p.name))
            self.base.step()
            self.base.clear_grad()

        def step(self, closure: Callable[[], paddle.Tensor]):
            first = closure()
            first.backward()
            self.climb()
            second = closure()
            second.backward()
            self.descend()
            return first, second - first

    paddle.seed(4)
    for adaptive in (False, True):
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
        model[0].bias.stop_gradient = True
        sam = SAM(
            paddle.optimizer.SGD(0.2, parameters=model.parameters()),
            model.parameters(),
            rho=0.1,
            adaptive=adaptive,
        )

        @convert
        def train_step(x, y):
            def closure():
                return F.cross_entropy(model(x), y)

            loss, sharpness = sam.step(closure)
            if sharpness > 0.05:
                sam.rho = sam.rho * 0.5
            return loss, sharpness

        rng = np.random.RandomState(1)
        for n in (4, 6, 4):
            x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
            y = paddle.to_tensor(rng.randint(0, 2, n))
            yield train_step(x, y)
            yield sam.rho, len(sam.old)
        yield list(model.parameters())


@program
def elastic_weights_over_tasks(convert):
    """Continual learning: the Fisher information of old tasks anchors the weights of new ones."""

    class EWC:
        def __init__(self, model, strength=5.0):
            self.model, self.strength = model, strength
            self.anchors: List[Tuple[Dict[str, paddle.Tensor], Dict[str, paddle.Tensor]]] = []

        def penalty(self):
            total = paddle.zeros([])
            for means, fisher in self.anchors:
                for name, p in self.model.named_parameters():
                    total = total + (fisher[name] * (p - means[name]) ** 2).sum()
            return self.strength / 2 * total

        @convert
        def consolidate(self, xs, ys):
            fisher = {n: paddle.zeros_like(p) for n, p in self.model.named_parameters()}
            count = xs.shape[0]
            for i in range(count):
                logits = self.model(xs[i : i + 1])
                loss = F.cross_entropy(logits, ys[i : i + 1])
                grads = paddle.grad(loss, list(self.model.parameters()))
                for (name, _), g in zip(self.model.named_parameters(), grads):
                    fisher[name] += g**2 / count
            means = {n: p.detach().clone() for n, p in self.model.named_parameters()}
            self.anchors.append((means, {n: f.detach() for n, f in fisher.items()}))
            return max(f.max() for f in fisher.values())

    paddle.seed(8)
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())
    ewc = EWC(model)

    @convert
    def step(x, y):
        task_loss = F.cross_entropy(model(x), y)
        extra = ewc.penalty()
        loss = task_loss + extra if ewc.anchors else task_loss
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return {"task": task_loss, "penalty": extra}

    rng = np.random.RandomState(4)
    for task in range(3):
        x = rng.randn(6, 2).astype("float32")
        y = (x[:, task % 2] > 0).astype("int64")
        xs, ys = paddle.to_tensor(x), paddle.to_tensor(y)
        for _ in range(3):
            yield step(xs, ys)
        yield ewc.consolidate(xs, ys)
        yield len(ewc.anchors), ewc.anchors[-1][1]


@program
def maml_with_learned_rates(convert):
    """Meta-SGD on sine waves: the inner steps end when the support loss is low enough."""

    def forward(params, x):
        w1, b1, w2, b2 = params
        return paddle.tanh(x @ w1 + b1) @ w2 + b2

    class MetaSGD:
        def __init__(self, hidden=6, inner_lr=0.1, max_inner=3):
            shapes = [[1, hidden], [hidden], [hidden, 1], [1]]
            self.params = [paddle.create_parameter(s, "float32") for s in shapes]
            self.rates = [
                paddle.create_parameter(
                    s, "float32", default_initializer=nn.initializer.Constant(inner_lr)
                )
                for s in shapes
            ]
            self.max_inner = max_inner
            self.optimizer = paddle.optimizer.Adam(0.01, parameters=self.params + self.rates)

        def adapt(self, xs, ys, first_order=False, tolerance=0.2):
            fast = list(self.params)
            taken = 0
            for _ in range(self.max_inner):
                loss = F.mse_loss(forward(fast, xs), ys)
                if loss < tolerance:
                    break
                grads = paddle.grad(loss, fast, create_graph=not first_order)
                fast = [p - r * g for p, r, g in zip(fast, self.rates, grads)]
                taken += 1
            return fast, taken

        @convert
        def meta_step(self, tasks, first_order=False):
            total, counts = 0.0, []
            for xs, ys, xq, yq in tasks:
                fast, taken = self.adapt(xs, ys, first_order)
                total = total + F.mse_loss(forward(fast, xq), yq)
                counts.append(taken)
            total = total / len(tasks)
            total.backward()
            norm = sum((p.grad**2).sum() for p in self.params if p.grad is not None).sqrt()
            self.optimizer.step()
            self.optimizer.clear_grad()
            return total, counts, norm

    def sine_task(rng, shots):
        amplitude, phase = rng.uniform(0.2, 2), rng.uniform(0, math.pi)
        x = rng.uniform(-2, 2, (2, shots, 1)).astype("float32")
        y = (amplitude * np.sin(x + phase)).astype("float32")
        return tuple(map(paddle.to_tensor, (x[0], y[0], x[1], y[1])))

    paddle.seed(6)
    rng = np.random.RandomState(9)
    meta = MetaSGD()
    for shots, first_order in [(5, False), (3, False), (5, True), (5, False)]:
        yield meta.meta_step([sine_task(rng, shots) for _ in range(2)], first_order=first_order)
    yield meta.params, meta.rates


@program
def contrast_with_a_momentum_queue(convert):
    """MoCo: a key encoder that follows, a ring of negatives, in-batch positives, a warm start."""

    class Encoder(nn.Layer):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.fc = nn.Linear(d_in, 8)
            self.bn = nn.BatchNorm1D(8)
            self.out = nn.Linear(8, d_out)

        def forward(self, x):
            return F.normalize(self.out(F.relu(self.bn(self.fc(x)))), axis=1)

    class MoCo(nn.Layer):
        def __init__(self, dim=4, size=8, momentum=0.9, temperature=0.2):
            super().__init__()
            self.q, self.k = Encoder(5, dim), Encoder(5, dim)
            self.momentum, self.temperature, self.size = momentum, temperature, size
            for pq, pk in zip(self.q.parameters(), self.k.parameters()):
                pk.set_value(pq)
                pk.stop_gradient = True
            self.register_buffer("queue", F.normalize(paddle.randn([size, dim]), axis=1))
            self.register_buffer("ptr", paddle.zeros([1], dtype="int64"))
            self.register_buffer("filled", paddle.zeros([1], dtype="int64"))

        @paddle.no_grad()
        def follow(self):
            for pq, pk in zip(self.q.parameters(), self.k.parameters()):
                pk.set_value(pk * self.momentum + pq * (1 - self.momentum))

        @paddle.no_grad()
        def enqueue(self, keys):
            n = keys.shape[0]
            slots = (self.ptr + paddle.arange(n)) % self.size
            self.queue.set_value(paddle.scatter(self.queue, slots, keys))
            self.ptr.set_value((self.ptr + n) % self.size)
            self.filled.set_value(paddle.clip(self.filled + n, max=self.size))

        def forward(self, view1, view2):
            q = self.q(view1)
            with paddle.no_grad():
                if self.training:
                    self.follow()
                k = self.k(view2)
            pos = (q * k).sum(1, keepdim=True)
            if self.filled >= self.size // 2:
                neg = q @ self.queue.t()
            else:
                neg = paddle.full([q.shape[0], self.size], -10.0)
            logits = paddle.concat([pos, neg], axis=1) / self.temperature
            labels = paddle.zeros([q.shape[0]], dtype="int64")
            loss = F.cross_entropy(logits, labels)
            if self.training:
                self.enqueue(k)
            acc = (logits.argmax(1) == labels).astype("float32").mean()
            return loss, acc

    paddle.seed(11)
    model = convert(MoCo())
    optimizer = paddle.optimizer.SGD(
        0.1, parameters=[p for p in model.parameters() if not p.stop_gradient]
    )
    rng = np.random.RandomState(3)
    for step, n in enumerate([2, 3, 3, 5, 2]):
        base = rng.randn(n, 5).astype("float32")
        v1, v2 = (
            paddle.to_tensor((base + 0.1 * rng.randn(n, 5)).astype("float32")) for _ in range(2)
        )
        if step == 3:
            model.eval()
        else:
            model.train()
        loss, acc = model(v1, v2)
        if model.training:
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        yield loss, acc, model.ptr, model.filled
    yield model.queue, model.state_dict()


@program
def diffusion_with_guidance_and_thresholds(convert):
    """A denoiser trained with min-SNR weights, sampled by DDIM with guidance and thresholding."""

    @dataclass
    class NoiseSchedule:
        steps: int = 8
        kind: str = "cosine"
        betas: paddle.Tensor = field(init=False)
        alphas_bar: paddle.Tensor = field(init=False)

        def __post_init__(self):
            match self.kind:
                case "linear":
                    betas = np.linspace(1e-3, 0.2, self.steps)
                case "cosine":
                    t = np.arange(self.steps + 1) / self.steps
                    bar = np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2
                    betas = np.clip(1 - bar[1:] / bar[:-1], 0, 0.999)
                case other:
                    raise ValueError(f"no schedule {other!r}")
            self.betas = paddle.to_tensor(betas.astype("float32"))
            self.alphas_bar = paddle.cumprod(1 - self.betas, dim=0)

        @functools.cached_property
        def snr(self):
            return self.alphas_bar / (1 - self.alphas_bar)

        def noised(self, x0, t, noise):
            bar = self.alphas_bar[t].reshape([-1, 1])
            return bar.sqrt() * x0 + (1 - bar).sqrt() * noise

    class Denoiser(nn.Layer):
        def __init__(self, dim=4, classes=3, width=16):
            super().__init__()
            self.time = nn.Embedding(8, width)
            self.label = nn.Embedding(classes + 1, width)
            self.fc_in, self.fc_out = nn.Linear(dim, width), nn.Linear(width, dim)
            self.null = classes

        def forward(self, x, t, label=None):
            if label is None:
                label = paddle.full_like(t, self.null)
            return self.fc_out(F.silu(self.fc_in(x) + self.time(t) + self.label(label)))

    class Diffusion:
        def __init__(self, net, schedule, gamma=5.0):
            self.net, self.schedule, self.gamma = net, schedule, gamma

        @convert
        def loss(self, x0, label, t, noise, drop):
            label = paddle.where(drop, paddle.full_like(label, self.net.null), label)
            pred = self.net(self.schedule.noised(x0, t, noise), t, label)
            snr = self.schedule.snr[t]
            weight = paddle.minimum(snr, paddle.full_like(snr, self.gamma)) / snr
            per_sample = ((pred - noise) ** 2).mean(-1)
            return (weight * per_sample).mean(), per_sample

        @convert
        @paddle.no_grad()
        def sample(self, x, label=None, scale=1.0, stride=1, quantile=0.9):
            timeline = list(range(0, self.schedule.steps, stride))[::-1]
            trace = []
            for t, prev in itertools.zip_longest(timeline, timeline[1:]):
                tt = paddle.full([x.shape[0]], t, dtype="int64")
                eps = self.net(x, tt)
                if label is not None and scale != 0:
                    eps = eps + scale * (self.net(x, tt, label) - eps)
                bar = self.schedule.alphas_bar[t]
                x0 = (x - (1 - bar).sqrt() * eps) / bar.sqrt()
                s = paddle.quantile(x0.abs(), quantile, axis=-1, keepdim=True)
                if (s > 1).any():
                    s = paddle.clip(s, min=1.0)
                    x0 = paddle.maximum(paddle.minimum(x0, s), -s) / s
                bar_prev = self.schedule.alphas_bar[prev] if prev is not None else paddle.ones([])
                x = bar_prev.sqrt() * x0 + (1 - bar_prev).sqrt() * eps
                trace.append(x.abs().max())
            return x, trace

    paddle.seed(13)
    for kind in ("cosine", "linear"):
        diffusion = Diffusion(Denoiser(), NoiseSchedule(kind=kind))
        optimizer = paddle.optimizer.AdamW(0.01, parameters=diffusion.net.parameters())
        rng = np.random.RandomState(6)
        for n in (4, 7):
            x0 = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
            noise = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
            t = paddle.to_tensor(rng.randint(0, 8, n))
            label = paddle.to_tensor(rng.randint(0, 3, n))
            drop = paddle.to_tensor(rng.rand(n) < 0.3)
            loss, per_sample = diffusion.loss(x0, label, t, noise, drop)
            loss.backward()
            yield loss, per_sample, diffusion.net.fc_in.weight.grad
            optimizer.step()
            optimizer.clear_grad()
        start = paddle.to_tensor(rng.randn(2, 4).astype("float32"))
        yield diffusion.sample(start)
        yield diffusion.sample(start, paddle.to_tensor([0, 2]), scale=3.0, stride=2)
    yield attempt(lambda: NoiseSchedule(kind="sigmoid"))


@program
def adversaries_that_take_turns(convert):
    """A WGAN-GP in turns: critic steps until it is ahead, then the generator, with an EMA of it."""

    class EMA:
        def __init__(self, model, decay=0.9):
            self.decay = decay
            self.shadow = {k: v.clone().detach() for k, v in model.state_dict().items()}

        def update(self, model):
            for k, v in model.state_dict().items():
                self.shadow[k] = self.decay * self.shadow[k] + (1 - self.decay) * v.detach()

        @contextlib.contextmanager
        def applied(self, model):
            backup = {k: v.clone() for k, v in model.state_dict().items()}
            model.set_state_dict(self.shadow)
            try:
                yield model
            finally:
                model.set_state_dict(backup)

    paddle.seed(17)
    gen = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 2))
    critic = nn.Sequential(nn.Linear(2, 6), nn.LeakyReLU(0.2), nn.Linear(6, 1))
    opt_g = paddle.optimizer.Adam(0.01, beta1=0.5, parameters=gen.parameters())
    opt_c = paddle.optimizer.Adam(0.02, beta1=0.5, parameters=critic.parameters())
    ema = EMA(gen)

    def gradient_penalty(real, fake, eps):
        mixed = (eps * real + (1 - eps) * fake).detach()
        mixed.stop_gradient = False
        score = critic(mixed)
        (grad,) = paddle.grad(score.sum(), [mixed], create_graph=True)
        return ((grad.norm(axis=1) - 1) ** 2).mean()

    @convert
    def turn(real, z, eps, max_critic=3, margin=0.05, lam=10.0):
        gaps = []
        for i in range(max_critic):
            fake = gen(z).detach()
            gap = critic(real).mean() - critic(fake).mean()
            gaps.append(gap.detach())
            if gap > margin and i > 0:
                break
            loss_c = -gap + lam * gradient_penalty(real, fake, eps)
            loss_c.backward()
            opt_c.step()
            opt_c.clear_grad()
        loss_g = -critic(gen(z)).mean()
        loss_g.backward()
        opt_g.step()
        opt_g.clear_grad()
        opt_c.clear_grad()
        ema.update(gen)
        return loss_g, gaps

    rng = np.random.RandomState(12)
    for n in (4, 4, 6):
        real, z = (paddle.to_tensor(rng.randn(n, 2).astype("float32") + s) for s in (2, 0))
        yield turn(real, z, paddle.to_tensor(rng.rand(n, 1).astype("float32")))
    with ema.applied(gen) as shadow:
        yield shadow(paddle.ones([1, 2]))
    yield gen(paddle.ones([1, 2])), ema.shadow
