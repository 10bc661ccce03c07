"""Averages of weights, accumulation, curricula, stopping, schedules, scaling."""

import math
from dataclasses import dataclass

import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import program


class EMA:
    def __init__(self, model: nn.Layer, decay: float = 0.9):
        self.decay = decay
        self.updates = 0
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @paddle.no_grad()
    def update(self, model: nn.Layer):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for name, p in model.named_parameters():
            self.shadow[name] = decay * self.shadow[name] + (1 - decay) * p


class Trainer:
    def __init__(self, model, lr=0.1, ema_every=2):
        self.model = model
        self.optimizer = paddle.optimizer.Momentum(lr, 0.9, parameters=model.parameters())
        self.ema = EMA(model)
        self.ema_every = ema_every
        self.step_count = 0
        self.best = float("inf")

    def train_step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.step_count += 1
        if self.step_count % self.ema_every == 0:
            self.ema.update(self.model)
        improved = loss < self.best
        if improved:
            self.best = loss.item()
        return loss, improved


@program
def ema_trainer(convert):
    """A trainer whose step also keeps an exponential moving average of the weights, with a warm-up of the decay."""

    paddle.seed(1)
    trainer = Trainer(nn.Linear(3, 1))
    step = convert(trainer.train_step)
    x = paddle.randn([8, 3])
    for scale in (1.0, 1.0, 5.0, 1.0, 1.0):
        yield step(x * scale, x.sum(-1, keepdim=True))
    yield (
        trainer.ema.shadow,
        trainer.best,
        trainer.step_count,
        trainer.ema.updates,
        trainer.model.weight,
    )


def global_norm(parameters):
    total = paddle.zeros([])
    for p in parameters:
        if p.grad is not None:
            total = total + p.grad.square().sum()
    return total.sqrt()


def clip_(parameters, max_norm):
    norm = global_norm(parameters)
    if norm > max_norm:
        scale = max_norm / (norm + 1e-6)
        for p in parameters:
            if p.grad is not None:
                p.grad.set_value(p.grad * scale)
    return norm


def train_step(model, optimizer, batch, labels, micro=2, max_norm=1.0):
    losses, skipped = [], 0
    chunks = math.ceil(batch.shape[0] / micro)
    for x, y in zip(batch.chunk(chunks), labels.chunk(chunks)):
        loss = nn.functional.cross_entropy(model(x), y) / chunks
        if not paddle.isfinite(loss):
            skipped += 1
            continue
        loss.backward()
        losses.append(loss.detach())
    if not losses:
        optimizer.clear_grad()
        return None, skipped, None
    norm = clip_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.clear_grad()
    return paddle.stack(losses).sum(), skipped, norm


@program
def gradient_accumulation(convert):
    """Gradient accumulation over micro-batches with clipping by global norm; batches that are not finite are skipped."""

    paddle.seed(4)
    model = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 3))
    optimizer = paddle.optimizer.AdamW(0.05, parameters=model.parameters())
    step = convert(train_step)
    x, y = paddle.randn([6, 4]), paddle.to_tensor([0, 1, 2, 0, 1, 2])
    yield step(model, optimizer, x, y)
    yield step(model, optimizer, x * 20, y, micro=3)
    bad = x.clone()
    bad[0, 0] = float("nan")
    yield step(model, optimizer, bad, y)
    yield step(model, optimizer, x * float("nan"), y)
    yield model[0].weight, model[2].bias


class Curriculum:
    def __init__(self, start=0.5, factor=2.0, ceiling=10.0):
        self.threshold, self.factor, self.ceiling = start, factor, ceiling
        self.log = []

    def select(self, losses):
        mask = losses < self.threshold
        if not mask.any():
            mask = losses <= losses.min()
        return mask

    def report(self, loss, fraction):
        self.log.append((round(float(loss), 4), round(float(fraction), 2), self.threshold))
        if fraction > 0.6 and self.threshold < self.ceiling:
            self.threshold *= self.factor
            return True
        return False


def epoch(model, optimizer, curriculum, x, y, steps=3):
    raised = 0
    for _ in range(steps):
        losses = F.mse_loss(model(x), y, reduction="none").squeeze(-1)
        mask = curriculum.select(losses.detach())
        chosen = losses[mask]
        loss = chosen.mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        fraction = mask.astype("float32").mean()
        if curriculum.report(loss, fraction):
            raised += 1
        if fraction == 1.0:
            print("everything is in use")
            break
    return loss, raised


@program
def curriculum_learning(convert):
    """Curriculum learning: the easy samples first; the threshold rises when the loss of the allowed ones is low."""

    paddle.seed(15)
    model = nn.Linear(2, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    curriculum = Curriculum()
    run = convert(epoch)
    x = paddle.randn([8, 2])
    y = x @ paddle.to_tensor([[1.0], [-2.0]])
    yield run(model, optimizer, curriculum, x, y)
    yield run(model, optimizer, curriculum, x * 4, y, steps=2)
    yield run(model, optimizer, curriculum, x, y, steps=6)
    yield curriculum.log, curriculum.threshold, model.weight


class EarlyStopping:
    def __init__(self, patience=2, min_delta=1e-3):
        self.patience, self.min_delta = patience, min_delta
        self.best = None
        self.bad = 0
        self.state = None

    def __call__(self, value, model):
        if self.best is None or value < self.best - self.min_delta:
            self.best = value
            self.bad = 0
            self.state = {k: v.clone() for k, v in model.state_dict().items()}
            return False
        self.bad += 1
        return self.bad >= self.patience


def fit(model, optimizer, train, valid, epochs=10, patience=2):
    stopper = EarlyStopping(patience)
    history = []
    for epoch in range(epochs):
        model.train()
        loss = F.mse_loss(model(train[0]), train[1])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        model.eval()
        with paddle.no_grad():
            metric = F.mse_loss(model(valid[0]), valid[1])
        history.append(metric)
        if stopper(metric, model):
            break
    if stopper.state is not None:
        model.set_state_dict(stopper.state)
    return paddle.stack(history), epoch, stopper.best


@program
def early_stopping_fit(convert):
    """Fit with a validation split, early stopping with patience, and the best weights restored at the end."""

    run = convert(fit)
    paddle.seed(18)
    x, v = paddle.randn([10, 3]), paddle.randn([6, 3])
    target = lambda t: t.sum(-1, keepdim=True)
    for lr, patience in ((0.05, 2), (1.2, 1), (0.6, 3)):
        paddle.seed(19)
        model = nn.Linear(3, 1)
        optimizer = paddle.optimizer.SGD(lr, parameters=model.parameters())
        yield run(model, optimizer, (x, target(x)), (v, target(v)), patience=patience), model.weight


class WarmupCosine:
    def __init__(self, base, warmup, total, floor=0.01):
        self.base, self.warmup, self.total, self.floor = base, warmup, total, floor
        self.scale = 1.0

    def __call__(self, step: int) -> float:
        if step < self.warmup:
            rate = self.base * (step + 1) / self.warmup
        else:
            progress = (step - self.warmup) / max(1, self.total - self.warmup)
            rate = self.floor + (self.base - self.floor) * 0.5 * (
                1 + math.cos(math.pi * min(1.0, progress))
            )
        return rate * self.scale


class Plateau:
    def __init__(self, schedule, patience=1, factor=0.5):
        self.schedule, self.patience, self.factor = schedule, patience, factor
        self.best, self.waited = math.inf, 0

    def step(self, loss):
        if loss < self.best:
            self.best, self.waited = loss, 0
            return
        self.waited += 1
        if self.waited > self.patience:
            self.schedule.scale *= self.factor
            self.waited = 0
            print("plateau: scale is now", self.schedule.scale)


def train(model, optimizer, schedule, plateau, x, y, steps):
    rates = []
    for step in range(steps):
        rate = schedule(step)
        optimizer.set_lr(rate)
        rates.append(rate)
        loss = (model(x) - y).abs().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        plateau.step(loss.detach())
    return loss, rates


@program
def lr_schedules(convert):
    """A training loop with a warm-up, cosine decay, and a drop of the rate when the loss is on a plateau."""

    run = convert(train)
    x = paddle.linspace(-1, 1, 10).unsqueeze(-1)
    for base, target, steps in ((0.2, 3 * x, 6), (1.5, 0.1 * x, 8), (0.1, x + 1, 3)):
        paddle.seed(23)
        model = nn.Linear(1, 1)
        optimizer = paddle.optimizer.SGD(0.0, parameters=model.parameters())
        schedule = WarmupCosine(base, 2, steps)
        yield (
            run(model, optimizer, schedule, Plateau(schedule), x, target, steps),
            model.weight,
            schedule.scale,
        )


@dataclass
class LossScaler:
    scale: float = 1024.0
    growth_interval: int = 2
    good_steps: int = 0
    limit: float = 65504.0

    def has_overflow(self, parameters) -> bool:
        for p in parameters:
            if p.grad is None:
                continue
            if p.grad.abs().max() > self.limit or paddle.isnan(p.grad).any():
                return True
        return False

    def update(self, overflow: bool):
        if overflow:
            self.scale = max(self.scale / 2, 1.0)
            self.good_steps = 0
            return
        self.good_steps += 1
        if self.good_steps == self.growth_interval:
            self.scale *= 2
            self.good_steps = 0


def scaled_step(model, optimizer, scaler: LossScaler, x, y):
    loss = nn.functional.mse_loss(model(x), y)
    (loss * scaler.scale).backward()
    overflow = scaler.has_overflow(model.parameters())
    if not overflow:
        with paddle.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.set_value(p.grad / scaler.scale)
        optimizer.step()
    optimizer.clear_grad()
    scaler.update(overflow)
    return loss, overflow


@program
def loss_scaler_of_a_dataclass(convert):
    """A dynamic loss scaler: the scale halves when gradients overflow and doubles after some good steps."""

    paddle.seed(27)
    model = nn.Linear(2, 1)
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    scaler = LossScaler()
    step = convert(scaled_step)
    x = paddle.randn([4, 2])
    for factor in (1.0, 1.0, 50.0, 1.0, float("nan"), 1.0):
        yield (
            step(model, optimizer, scaler, x * factor, x.sum(-1, keepdim=True)),
            scaler.scale,
            scaler.good_steps,
        )
    yield model.weight, model.bias
