"""Training loops and what surrounds them: schedules, clipping, accumulation, averages, scaling."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


def regression_data(seed, sizes, features=3):
    rng = np.random.RandomState(seed)
    batches = []
    for n in sizes:
        x = rng.randn(n, features).astype("float32")
        y = (x[:, :1] * 2 - x[:, 1:2] + 0.1 * rng.randn(n, 1)).astype("float32")
        batches.append((paddle.to_tensor(x), paddle.to_tensor(y)))
    return batches


@program
def trainer_with_ema_and_hooks(convert):
    """A trainer that keeps an exponential average of the weights and evaluates with it."""

    class EMA:
        def __init__(self, model, decay=0.9, warmup=True):
            self.model, self.decay, self.warmup = model, decay, warmup
            self.shadow = {name: p.clone().detach() for name, p in model.named_parameters()}
            self.backup = {}
            self.updates = 0

        def update(self):
            self.updates += 1
            decay = self.decay
            if self.warmup:
                decay = min(decay, (1 + self.updates) / (10 + self.updates))
            for name, p in self.model.named_parameters():
                self.shadow[name] = decay * self.shadow[name] + (1 - decay) * p.detach()

        def __enter__(self):
            for name, p in self.model.named_parameters():
                self.backup[name] = p.clone()
                p.set_value(self.shadow[name])
            return self

        def __exit__(self, *error):
            for name, p in self.model.named_parameters():
                p.set_value(self.backup[name])
            self.backup = {}

    class Trainer:
        def __init__(self, model, lr=0.1):
            self.model = model
            self.ema = EMA(model)
            self.optimizer = paddle.optimizer.Momentum(lr, parameters=model.parameters())
            self.hooks: Dict[str, List[Callable]] = defaultdict(list)
            self.step_count = 0

        def on(self, event):
            def add(function):
                self.hooks[event].append(function)
                return function

            return add

        def fire(self, event, **info):
            for hook in self.hooks[event]:
                hook(self, **info)

        @convert
        def step(self, x, y):
            self.model.train()
            loss = F.smooth_l1_loss(self.model(x), y)
            loss.backward()
            self.fire("after_backward", loss=loss)
            self.optimizer.step()
            self.optimizer.clear_grad()
            self.ema.update()
            self.step_count += 1
            return loss

        @convert
        def evaluate(self, x, y):
            self.model.eval()
            with paddle.no_grad(), self.ema:
                return F.mse_loss(self.model(x), y)

    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.0), nn.Linear(4, 1))
    trainer = Trainer(model)
    norms = []

    @trainer.on("after_backward")
    def record_norm(trainer, loss):
        norms.append(trainer.model[0].weight.grad.norm())

    for x, y in regression_data(0, (4, 4, 6)):
        yield trainer.step(x, y)
        yield trainer.evaluate(x[:2], y[:2])
    yield norms, trainer.step_count, trainer.ema.updates
    yield trainer.ema.shadow, model[3].weight


@program
def warmup_cosine_schedule_with_restarts(convert):
    """A schedule object written by hand drives the learning rate of a manual SGD."""

    @dataclass
    class Schedule:
        peak: float = 0.2
        warmup: int = 2
        period: int = 4
        floor: float = 0.01
        mult: float = 1.5

        def at(self, step):
            if step < self.warmup:
                return self.peak * (step + 1) / self.warmup
            step, length = step - self.warmup, self.period
            while step >= length:
                step -= length
                length = int(length * self.mult)
            cos = 0.5 * (1 + math.cos(math.pi * step / length))
            return self.floor + (self.peak - self.floor) * cos

    class SGD:
        def __init__(self, params, schedule, momentum=0.0, weight_decay=0.0, nesterov=False):
            self.params = list(params)
            self.schedule = schedule
            self.momentum, self.weight_decay, self.nesterov = momentum, weight_decay, nesterov
            self.velocity = [paddle.zeros_like(p) for p in self.params]
            self.t = 0

        @property
        def lr(self):
            return self.schedule.at(self.t)

        @paddle.no_grad()
        def step(self):
            for i, p in enumerate(self.params):
                if p.grad is None:
                    continue
                g = p.grad
                if self.weight_decay:
                    g = g + self.weight_decay * p
                if self.momentum:
                    self.velocity[i] = self.momentum * self.velocity[i] + g
                    g = g + self.momentum * self.velocity[i] if self.nesterov else self.velocity[i]
                p.set_value(p - self.lr * g)
            self.t += 1

        def zero_grad(self):
            for p in self.params:
                p.clear_gradient()

    batches = regression_data(1, (4, 4, 5, 4, 4, 4, 5, 3, 3))
    for options in (
        {},
        {"momentum": 0.9, "weight_decay": 0.01},
        {"momentum": 0.5, "nesterov": True},
    ):
        paddle.seed(1)
        model = nn.Linear(3, 1)
        optimizer = SGD(model.parameters(), Schedule(), **options)

        @convert
        def train_step(x, y, model=model, optimizer=optimizer):
            loss = (model(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        losses = [train_step(x, y) for x, y in batches[:5]]
        yield losses, optimizer.lr, optimizer.t
        yield model.weight, optimizer.velocity[0]
    yield [Schedule().at(t) for t in range(12)]


@program
def gradient_accumulation_with_clipping(convert):
    """Micro-batches of unequal size; the global norm is clipped; bad steps are skipped."""

    class Accumulator:
        def __init__(self, model, lr, every=2, max_norm=1.0):
            self.model, self.lr = model, lr
            self.every, self.max_norm = every, max_norm
            self.reset()
            self.stats = {"steps": 0, "clipped": 0, "skipped": 0}

        def reset(self):
            self.grads = [paddle.zeros_like(p) for p in self.model.parameters()]
            self.samples = 0
            self.pending = 0

        def global_norm(self):
            return paddle.sqrt(sum(g.square().sum() for g in self.grads))

        @convert
        def backward(self, x, y):
            loss = F.mse_loss(self.model(x), y, reduction="sum")
            grads = paddle.grad(loss, list(self.model.parameters()))
            self.grads = [a + g for a, g in zip(self.grads, grads)]
            self.samples += x.shape[0]
            self.pending += 1
            if self.pending < self.every:
                return loss.detach(), None
            norm = self.apply()
            self.reset()
            return loss.detach(), norm

        def apply(self):
            self.grads = [g / self.samples for g in self.grads]
            norm = self.global_norm()
            if paddle.isfinite(norm):
                factor = paddle.ones([])
                if norm > self.max_norm:
                    factor = self.max_norm / (norm + 1e-6)
                    self.stats["clipped"] += 1
                for p, g in zip(self.model.parameters(), self.grads):
                    p.set_value(p - self.lr * factor * g)
                self.stats["steps"] += 1
            else:
                self.stats["skipped"] += 1
            return norm

    model = nn.Linear(3, 1)
    helper = Accumulator(model, lr=0.1)
    for i, (x, y) in enumerate(regression_data(2, (3, 5, 2, 2, 4, 4))):
        if i == 3:
            x = x * float("inf")
        yield helper.backward(x, y)
    yield helper.stats, model.weight, helper.samples
    helper.every, helper.max_norm = 3, 100.0
    for x, y in regression_data(3, (2, 2, 2, 1)):
        yield helper.backward(x, y)
    yield helper.stats, helper.pending, helper.grads


@program
def mixed_losses_with_uncertainty_weights(convert):
    """Several task losses with learned log-variances; a task without labels is left out."""

    class MultiTask(nn.Layer):
        def __init__(self, tasks, inputs=3, hidden=5):
            super().__init__()
            self.trunk = nn.Linear(inputs, hidden)
            self.heads = nn.LayerDict({name: nn.Linear(hidden, n) for name, n in tasks.items()})
            self.log_vars = self.create_parameter([len(tasks)], is_bias=True)
            self.order = list(tasks)

        def forward(self, x):
            h = F.relu(self.trunk(x))
            return {name: head(h) for name, head in self.heads.items()}

    LOSSES = {
        "regression": lambda out, y: F.mse_loss(out.squeeze(-1), y),
        "classes": lambda out, y: F.cross_entropy(out, y, ignore_index=-1),
        "binary": lambda out, y: F.binary_cross_entropy_with_logits(out.squeeze(-1), y),
    }

    model = MultiTask({"regression": 1, "classes": 3, "binary": 1})
    optimizer = paddle.optimizer.Adam(0.02, parameters=model.parameters())

    @convert
    def compute(x, labels, weighting="uncertainty", fixed=None):
        outputs = model(x)
        total = paddle.zeros([])
        report = {}
        for i, name in enumerate(model.order):
            if labels.get(name) is None:
                continue
            loss = LOSSES[name](outputs[name], labels[name])
            report[name] = loss.detach()
            if weighting == "uncertainty":
                total = total + paddle.exp(-model.log_vars[i]) * loss + 0.5 * model.log_vars[i]
            else:
                total = total + (fixed or {}).get(name, 1.0) * loss
        if not report:
            raise ValueError("no task has labels")
        worst = max(report, key=lambda name: float(report[name])) if weighting == "worst" else None
        return total, report, worst

    rng = np.random.RandomState(4)
    for n, given, weighting in (
        (4, ("regression", "classes", "binary"), "uncertainty"),
        (3, ("classes",), "uncertainty"),
        (5, ("regression", "binary"), "fixed"),
        (4, ("regression", "classes"), "uncertainty"),
    ):
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        labels = {
            "regression": paddle.to_tensor(rng.randn(n).astype("float32")),
            "classes": paddle.to_tensor(rng.randint(-1, 3, n)),
            "binary": paddle.to_tensor(rng.randint(0, 2, n).astype("float32")),
        }
        labels = {k: v if k in given else None for k, v in labels.items()}
        total, report, worst = compute(x, labels, weighting=weighting, fixed={"binary": 0.1})
        total.backward()
        yield total, report, worst, model.log_vars.grad
        optimizer.step()
        optimizer.clear_grad()
    yield model.log_vars, model.trunk.weight
    try:
        compute(x, {})
    except ValueError as error:
        yield str(error)


@program
def dynamic_loss_scaler(convert):
    """Loss scaling as in mixed precision: halve on overflow, double after a calm stretch."""

    class LossScaler:
        def __init__(self, init=8.0, growth_interval=2, limit=1e4):
            self.scale = paddle.to_tensor(init)
            self.good = paddle.zeros([], dtype="int64")
            self.growth_interval = growth_interval
            self.limit = limit

        def overflow(self, grads):
            bad = paddle.zeros([], dtype="bool")
            for g in grads:
                bad = bad | (g.abs() > self.limit).any() | g.isnan().any()
            return bad

        def update(self, overflowed):
            if overflowed:
                self.scale = paddle.clip(self.scale * 0.5, min=1.0)
                self.good = paddle.zeros_like(self.good)
            else:
                self.good = self.good + 1
                if self.good >= self.growth_interval:
                    self.scale = self.scale * 2.0
                    self.good = paddle.zeros_like(self.good)

    model = nn.Linear(3, 1)
    scaler = LossScaler()
    m = [paddle.zeros_like(p) for p in model.parameters()]
    v = [paddle.zeros_like(p) for p in model.parameters()]
    beta1, beta2, t = 0.9, 0.99, 0

    @convert
    def step(x, y, lr=0.05):
        nonlocal t
        loss = F.mse_loss(model(x), y)
        grads = paddle.grad(loss * scaler.scale, list(model.parameters()))
        skipped = scaler.overflow(grads)
        if not skipped:
            t = t + 1
            for i, (p, g) in enumerate(zip(model.parameters(), grads)):
                g = g / scaler.scale
                m[i] = beta1 * m[i] + (1 - beta1) * g
                v[i] = beta2 * v[i] + (1 - beta2) * g * g
                m_hat, v_hat = m[i] / (1 - beta1**t), v[i] / (1 - beta2**t)
                p.set_value(p - lr * m_hat / (v_hat.sqrt() + 1e-8))
        scaler.update(skipped)
        return loss, skipped

    for i, (x, y) in enumerate(regression_data(5, (4, 4, 3, 4, 4, 5))):
        if i in (2, 3):
            y = y * 1e4
        yield step(x, y)
        yield scaler.scale, scaler.good, int(t)
    yield model.weight, m, v


@program
def sharpness_aware_and_lookahead(convert):
    """SAM's two passes wrapped in Lookahead's slow weights."""

    class SAM:
        def __init__(self, params, base, rho=0.05):
            self.params, self.base, self.rho = list(params), base, rho
            self.offsets = []

        def ascend(self):
            norm = paddle.sqrt(sum(p.grad.square().sum() for p in self.params))
            scale = self.rho / (norm + 1e-12)
            self.offsets = []
            for p in self.params:
                e = p.grad * scale
                p.set_value(p + e)
                self.offsets.append(e)
            self.base.clear_grad()

        def descend(self):
            for p, e in zip(self.params, self.offsets):
                p.set_value(p - e)
            self.base.step()
            self.base.clear_grad()

    class Lookahead:
        def __init__(self, params, k=2, alpha=0.5):
            self.params, self.k, self.alpha = list(params), k, alpha
            self.slow = [p.clone().detach() for p in self.params]
            self.count = 0

        def step(self):
            self.count += 1
            if self.count % self.k:
                return False
            for i, p in enumerate(self.params):
                self.slow[i] = self.slow[i] + self.alpha * (p - self.slow[i]).detach()
                p.set_value(self.slow[i])
            return True

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    base = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    sam = SAM(model.parameters(), base)
    lookahead = Lookahead(model.parameters())
    recent = deque(maxlen=3)

    @convert
    def train_step(x, y):
        first = F.mse_loss(model(x), y)
        first.backward()
        sam.ascend()
        second = F.mse_loss(model(x), y)
        second.backward()
        sam.descend()
        synced = lookahead.step()
        recent.append((second - first).detach())
        return {"loss": first, "sharpness": second - first, "synced": synced}

    for rho, sizes in ((0.05, (4, 4, 4)), (0.5, (6, 3))):
        sam.rho = rho
        for x, y in regression_data(6, sizes):
            yield train_step(x, y)
    yield list(recent), lookahead.count, lookahead.slow[0]


@program
def curriculum_with_plateau_and_checkpoints(convert):
    """Samples are chosen by their loss; the rate drops on a plateau; the best state comes back."""

    @dataclass
    class PlateauLR:
        lr: float
        factor: float = 0.5
        patience: int = 1
        best: Optional[paddle.Tensor] = None
        bad: int = 0
        drops: List[int] = field(default_factory=list)

        def step(self, value, epoch):
            if self.best is None or value < self.best * 0.999:
                self.best, self.bad = value, 0
            else:
                self.bad += 1
            if self.bad > self.patience:
                self.lr *= self.factor
                self.bad = 0
                self.drops.append(epoch)

    class Checkpoints:
        def __init__(self, model, keep=2):
            self.model, self.keep = model, keep
            self.saved = []

        def save(self, score):
            state = {k: v.clone() for k, v in self.model.state_dict().items()}
            self.saved.append((float(score), state))
            self.saved.sort(key=lambda item: item[0])
            del self.saved[self.keep :]

        def restore(self):
            score, state = self.saved[0]
            self.model.set_state_dict(state)
            return score

    model = nn.Linear(3, 1)

    @convert
    def select(x, y, fraction):
        losses = (model(x) - y).square().squeeze(-1)
        keep = max(1, int(round(fraction * x.shape[0])))
        if fraction < 1:
            _, index = paddle.topk(losses, k=keep, largest=False)
            x, y = paddle.gather(x, index), paddle.gather(y, index)
        return x, y, losses.mean()

    @convert
    def epoch_step(x, y, lr):
        loss = (model(x) - y).square().mean()
        grads = paddle.grad(loss, [model.weight, model.bias])
        with paddle.no_grad():
            for p, g in zip([model.weight, model.bias], grads):
                p.set_value(p - lr * g)
        return loss

    plateau = PlateauLR(lr=1.2, patience=0)
    checkpoints = Checkpoints(model)
    (x, y), (x_test, y_test) = regression_data(7, (8, 5))
    scheduler_step = convert(plateau.step)
    for epoch in range(6):
        fraction = min(1.0, 0.4 + 0.2 * epoch)
        xs, ys, mean = select(x, y, fraction)
        loss = epoch_step(xs, ys, plateau.lr)
        _, _, test = select(x_test, y_test, 1.0)
        scheduler_step(test, epoch)
        checkpoints.save(test)
        yield loss, mean, test, xs.shape, plateau.lr, plateau.bad
    yield checkpoints.restore(), model.weight, plateau.drops, len(checkpoints.saved)
