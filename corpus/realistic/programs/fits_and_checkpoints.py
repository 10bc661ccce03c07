"""Training loops as they are written in research repositories."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def go_back(result):
    """backward() from what has a gradient among the results."""
    parts = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, tuple)
        else [result]
    )
    parts = [p for p in parts if isinstance(p, paddle.Tensor) and not p.stop_gradient]
    if parts:
        sum((p * (i + 1)).sum() for i, p in enumerate(parts)).backward()


# early stopping with a checkpoint in memory
@dataclass
class FitConfig:
    epochs: int = 12
    batch_size: int = 8
    patience: int = 2
    min_delta: float = 1e-3
    lr: float = 0.05


@dataclass
class History:
    train: list = field(default_factory=list)
    val: list = field(default_factory=list)
    best_epoch: int = -1
    stopped: bool = False


class Regressor(nn.Layer):
    def __init__(self, n_in, hidden=16):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x))).squeeze(-1)


class EarlyStoppingTrainer:
    def __init__(self, model, config=None):
        self.model = model
        self.config = config or FitConfig()
        self.optimizer = paddle.optimizer.Adam(self.config.lr, parameters=model.parameters())
        self.checkpoint = None
        self.history = History()

    def batches(self, x, y):
        size = self.config.batch_size
        for start in range(0, x.shape[0], size):
            yield x[start : start + size], y[start : start + size]

    @paddle.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        loss = F.mse_loss(self.model(x), y)
        self.model.train()
        return loss.item()

    def fit(self, x, y, x_val, y_val, verbose=True):
        best = float("inf")
        bad_epochs = 0
        for epoch in range(self.config.epochs):
            total, count = 0.0, 0
            for xb, yb in self.batches(x, y):
                loss = F.mse_loss(self.model(xb), yb)
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                total += loss.item() * len(xb)
                count += len(xb)
            val = self.evaluate(x_val, y_val)
            self.history.train.append(total / count)
            self.history.val.append(val)
            if val < best - self.config.min_delta:
                best = val
                bad_epochs = 0
                self.history.best_epoch = epoch
                self.checkpoint = {k: v.clone() for k, v in self.model.state_dict().items()}
            else:
                bad_epochs += 1
            if verbose and epoch % 4 == 0:
                print(f"epoch {epoch:02d} train {total / count:.3f} val {val:.3f}")
            if bad_epochs >= self.config.patience:
                self.history.stopped = True
                print(f"early stop at epoch {epoch}, best {best:.3f}")
                break
        if self.checkpoint is not None:
            self.model.set_state_dict(self.checkpoint)
        return best, self.history.best_epoch


def calls_early_stopping():
    rng = np.random.RandomState(0)
    w = rng.randn(4).astype("float32")

    def data(n):
        x = rng.randn(n, 4).astype("float32")
        return paddle.to_tensor(x), paddle.to_tensor(x @ w + 0.1 * rng.randn(n).astype("float32"))

    out = []
    for n, m, verbose in [(24, 8, True), (20, 6, False), (24, 8, True)]:
        out.append(((*data(n), *data(m)), {"verbose": verbose}))
    return out


@program
def fit_with_early_stopping(convert):
    """A trainer with validation, patience and the best weights kept in memory."""
    paddle.seed(3)
    trainer = EarlyStoppingTrainer(Regressor(4))
    run = convert(trainer.fit)
    for args, kw in calls_early_stopping():
        yield attempt(lambda: run(*args, **kw)), trainer.history, trainer.model, trainer.checkpoint


# gradient accumulation, clipping, skipped steps
class Accumulator:
    """Accumulates gradients over micro batches, clips them and skips the steps that are not finite."""

    def __init__(self, model, optimizer, accumulate=2, max_norm=1.0):
        self.model = model
        self.optimizer = optimizer
        self.accumulate = accumulate
        self.max_norm = max_norm
        self.micro = 0
        self.skipped = 0
        self.norms = deque(maxlen=4)

    def grad_norm(self):
        total = 0.0
        for p in self.model.parameters():
            if p.grad is None:
                continue
            total += float((p.grad**2).sum())
        return math.sqrt(total)

    def train_batch(self, x, y):
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        (loss / self.accumulate).backward()
        self.micro += 1
        if self.micro % self.accumulate != 0:
            return loss.item(), False

        norm = self.grad_norm()
        self.norms.append(norm)
        if math.isnan(norm) or math.isinf(norm):
            self.skipped += 1
            print(f"step skipped: norm {norm}")
            self.optimizer.clear_grad()
            return loss.item(), False
        if norm > self.max_norm:
            scale = self.max_norm / (norm + 1e-6)
            for p in self.model.parameters():
                if p.grad is not None:
                    p.grad.set_value(p.grad * scale)
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss.item(), True


def calls_accumulator():
    rng = np.random.RandomState(1)
    out = []
    for i in range(6):
        x = rng.randn(5, 6).astype("float32") * (4 if i in (2, 3) else 1)
        if i == 5:
            x[0, 0] = np.inf
        out.append(((paddle.to_tensor(x), paddle.to_tensor(rng.randint(0, 3, 5))), {}))
    return out


@program
def micro_batches_with_a_clipped_norm(convert):
    """Gradients added up over micro batches, clipped by their norm; steps that are not finite are skipped."""
    paddle.seed(5)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    trainer = Accumulator(model, paddle.optimizer.SGD(0.5, parameters=model.parameters()))
    run = convert(trainer.train_batch)
    for args, kw in calls_accumulator():
        yield (
            attempt(lambda: run(*args, **kw)),
            trainer.model,
            trainer.norms,
            trainer.micro,
            trainer.skipped,
        )


# learning-rate range test
def lr_range_test(x, y, start=1e-3, end=1.0, steps=12, diverge=4.0, seed=7):
    paddle.seed(seed)
    model = nn.Linear(x.shape[1], 1)
    lrs, losses = [], []
    best = None
    smooth = 0.0
    beta = 0.8
    optimizer = paddle.optimizer.SGD(start, parameters=model.parameters())
    for step in range(steps):
        lr = start * (end / start) ** (step / (steps - 1))
        optimizer.set_lr(lr)
        loss = ((model(x).flatten() - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        smooth = beta * smooth + (1 - beta) * loss.item()
        corrected = smooth / (1 - beta ** (step + 1))
        if best is None or corrected < best:
            best = corrected
        if corrected > diverge * best:
            print("diverged at lr %.4f" % lr)
            break
        lrs.append(lr)
        losses.append(corrected)
    slopes = np.gradient(np.array(losses))
    suggestion = lrs[int(np.argmin(slopes))]
    return suggestion, paddle.to_tensor(losses, dtype="float32")


def calls_lr_range_test():
    rng = np.random.RandomState(2)

    def data(n, k, noise):
        x = rng.randn(n, k).astype("float32")
        return paddle.to_tensor(x), paddle.to_tensor(
            (x.sum(1) + noise * rng.randn(n)).astype("float32")
        )

    return [
        (data(16, 3, 0.1), {}),
        (data(16, 3, 0.1), {"end": 10.0}),
        (data(12, 5, 1.0), {"end": 30.0, "steps": 15}),
    ]


@program
def range_test_of_the_learning_rate(convert):
    """A sweep over learning rates with a smoothed loss, which ends where it diverges."""
    run = convert(lr_range_test)
    for args, kw in calls_lr_range_test():
        yield attempt(lambda: run(*args, **kw))


# exponential moving average of the weights
class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.updates = 0
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.backup = {}

    @property
    def effective_decay(self):
        return min(self.decay, (1 + self.updates) / (10 + self.updates))

    def update(self, model):
        d = self.effective_decay
        for name, p in model.named_parameters():
            self.shadow[name] = d * self.shadow[name] + (1.0 - d) * p.detach()
        self.updates += 1

    def apply(self, model):
        for name, p in model.named_parameters():
            self.backup[name] = p.detach().clone()
            p.set_value(self.shadow[name])

    def restore(self, model):
        for name, p in model.named_parameters():
            p.set_value(self.backup.pop(name))


class EMATrainer:
    def __init__(self, model):
        self.model = model
        self.ema = EMA(model)
        self.opt = paddle.optimizer.Momentum(0.1, parameters=model.parameters())

    def __call__(self, x, y, x_test):
        for i in range(3):
            loss = F.binary_cross_entropy_with_logits(self.model(x).squeeze(-1), y)
            loss.backward()
            self.opt.step()
            self.opt.clear_grad()
            self.ema.update(self.model)
        with paddle.no_grad():
            raw = self.model(x_test)
            self.ema.apply(self.model)
            averaged = self.model(x_test)
            self.ema.restore(self.model)
        gap = (raw - averaged).abs().max()
        print(f"decay={self.ema.effective_decay:.3f} updates={self.ema.updates}")
        return {"loss": loss.detach(), "gap": gap, "prob": F.sigmoid(averaged)}


def calls_ema():
    rng = np.random.RandomState(3)
    return [
        (
            (
                paddle.to_tensor(rng.randn(n, 3).astype("float32")),
                paddle.to_tensor(rng.randint(0, 2, n).astype("float32")),
                paddle.to_tensor(rng.randn(4, 3).astype("float32")),
            ),
            {},
        )
        for n in (8, 8, 10)
    ]


@program
def moving_average_of_the_weights(convert):
    """Weights averaged while training, put into the model for an evaluation, and taken back."""
    paddle.seed(11)
    trainer = EMATrainer(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)))
    run = convert(trainer.__call__)
    for args, kw in calls_ema():
        yield attempt(lambda: run(*args, **kw)), trainer.model, trainer.ema


# k-fold cross-validation over hyper-parameters
def kfold(n, k):
    edges = [round(i * n / k) for i in range(k + 1)]
    for lo, hi in zip(edges[:-1], edges[1:]):
        held = list(range(lo, hi))
        rest = [i for i in range(n) if i < lo or i >= hi]
        yield rest, held


def ridge(x, y, alpha):
    eye = paddle.eye(x.shape[1])
    return paddle.linalg.solve(x.T @ x + alpha * eye, x.T @ y)


def select_alpha(x, y, alphas=(0.01, 1.0, 100.0), k=3, verbose=False):
    scores = defaultdict(list)
    for fold, (train_idx, test_idx) in enumerate(kfold(len(x), k)):
        xt, yt = x[train_idx], y[train_idx]
        mean, std = xt.mean(0), xt.std(0)
        xt = (xt - mean) / (std + 1e-8)
        xv = (x[test_idx] - mean) / (std + 1e-8)
        for alpha in alphas:
            w = ridge(xt, yt - yt.mean(), alpha)
            pred = xv @ w + yt.mean()
            scores[alpha].append(((pred - y[test_idx]) ** 2).mean().item())
        if verbose:
            print(f"fold {fold}: {len(train_idx)} train, {len(test_idx)} test")
    table = {a: sum(s) / len(s) for a, s in scores.items()}
    best = min(table, key=table.get)
    for a, s in sorted(table.items(), key=lambda kv: kv[1]):
        print(f"{'*' if a == best else ' '} alpha={a:<8g} mse={s:.4f}")
    return best, ridge(x, y, best)


def calls_kfold():
    rng = np.random.RandomState(4)
    out = []
    for n, noise, kw in [
        (12, 0.1, {}),
        (12, 5.0, {"verbose": True}),
        (15, 0.5, {"k": 5, "alphas": [0.1, 10.0]}),
    ]:
        x = rng.randn(n, 3).astype("float32")
        y = (x @ np.array([1.0, -2.0, 0.5]) + noise * rng.randn(n)).astype("float32")
        out.append(((paddle.to_tensor(x), paddle.to_tensor(y)), kw))
    return out


@program
def ridge_with_k_folds(convert):
    """Ridge regression whose strength is chosen by cross-validation, with a table of the scores."""
    run = convert(select_alpha)
    for args, kw in calls_kfold():
        yield attempt(lambda: run(*args, **kw))


# distillation with a temperature schedule
class Distiller(nn.Layer):
    def __init__(self, teacher, student, temperature=4.0, alpha=0.7, warmup=2):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.temperature = temperature
        self.alpha = alpha
        self.warmup = warmup
        self.step = 0
        for p in self.teacher.parameters():
            p.stop_gradient = True

    def current_alpha(self):
        if self.step >= self.warmup:
            return self.alpha
        return self.alpha * self.step / self.warmup

    def forward(self, x, labels=None, mask=None):
        with paddle.no_grad():
            t_logits = self.teacher(x)
        s_logits = self.student(x)
        T = self.temperature
        kd = F.kl_div(
            F.log_softmax(s_logits / T, axis=-1), F.softmax(t_logits / T, axis=-1), reduction="none"
        ).sum(-1)
        kd = kd * T * T
        if mask is not None:
            kd = (kd * mask).sum() / mask.sum().clip(min=1)
        else:
            kd = kd.mean()
        losses = {"kd": kd}
        total = kd
        if labels is not None:
            ce = F.cross_entropy(s_logits, labels)
            a = self.current_alpha()
            total = a * kd + (1 - a) * ce
            losses["ce"] = ce
            agree = (s_logits.argmax(-1) == t_logits.argmax(-1)).astype("float32").mean()
            if agree > 0.9:
                self.temperature = max(1.0, self.temperature * 0.9)
            losses["agree"] = agree
        self.step += 1
        losses["total"] = total
        return losses


def calls_distiller():
    rng = np.random.RandomState(5)

    def x(n):
        t = paddle.to_tensor(rng.randn(n, 5).astype("float32"))
        t.stop_gradient = False
        return t

    def y(n):
        return paddle.to_tensor(rng.randint(0, 4, n))

    return [
        ((x(6), y(6)), {}),
        ((x(6),), {}),
        ((x(4),), {"labels": y(4), "mask": paddle.to_tensor([1.0, 0.0, 1.0, 1.0])}),
        ((x(6), y(6)), {}),
    ]


@program
def distillation_with_a_warm_up(convert):
    """A student that learns from a teacher: a mask, labels or none, a temperature that falls."""
    paddle.seed(13)
    model = Distiller(nn.Linear(5, 4), nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 4)))
    run = convert(model)
    for args, kw in calls_distiller():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw, model.temperature, model.step, [p.grad for p in model.parameters()]
