"""Training as it is really done: stops, averages, schedules, scaling, surgery, checkpoints."""

import copy
import logging
import math
import warnings
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import BatchSampler, DataLoader, Dataset
from paddle.optimizer.lr import LRScheduler

from corpus.realistic import attempt, program

log = logging.getLogger("training_craft")


def mlp(*dims, act=nn.Tanh):
    layers: List[nn.Layer] = []
    for i, (a, b) in enumerate(zip(dims, dims[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(dims) - 2:
            layers.append(act())
    return nn.Sequential(*layers)


@program
def early_stopping_with_the_best_state(convert):
    """A Trainer with a history, patience, a best state that comes back, and a state to resume."""

    @dataclass
    class TrainState:
        epoch: int = 0
        best: float = float("inf")
        bad_epochs: int = 0
        history: Dict[str, List[float]] = field(default_factory=lambda: {"train": [], "valid": []})

    class Toy(Dataset):
        def __init__(self, n, seed):
            rng = np.random.RandomState(seed)
            self.x = rng.randn(n, 3).astype("float32")
            self.y = (self.x.sum(1, keepdims=True) > 0).astype("float32")

        def __getitem__(self, i):
            return self.x[i], self.y[i]

        def __len__(self):
            return len(self.x)

    class Trainer:
        def __init__(self, model, lr, patience=1):
            self.model, self.patience = model, patience
            self.optimizer = paddle.optimizer.Momentum(
                learning_rate=lr, momentum=0.9, parameters=model.parameters(), weight_decay=1e-4
            )
            self.state = TrainState()
            self.best_weights = None

        @convert
        def train_batch(self, x, y):
            self.model.train()
            logits = self.model(x)
            loss = F.binary_cross_entropy_with_logits(logits, y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            return loss

        @convert
        @paddle.no_grad()
        def evaluate(self, batches):
            self.model.eval()
            right, seen, total = 0, 0, 0.0
            for x, y in batches:
                logits = self.model(x)
                total += F.binary_cross_entropy_with_logits(logits, y, reduction="sum")
                right += ((logits > 0).astype("float32") == y).astype("int64").sum()
                seen += x.shape[0]
            return total / seen, right / seen

        def fit(self, train, valid, epochs):
            valid = [tuple(batch) for batch in valid]
            while self.state.epoch < epochs:
                losses = [self.train_batch(*batch).item() for batch in train]
                loss, accuracy = self.evaluate(valid)
                self.state.history["train"].append(float(np.mean(losses)))
                self.state.history["valid"].append(float(loss))
                self.state.epoch += 1
                log.info("epoch %d: %.4f", self.state.epoch, float(loss))
                if loss < self.state.best - 1e-3:
                    self.state.best, self.state.bad_epochs = float(loss), 0
                    self.best_weights = {k: v.clone() for k, v in self.model.state_dict().items()}
                else:
                    self.state.bad_epochs += 1
                    if self.state.bad_epochs > self.patience:
                        self.model.set_state_dict(self.best_weights)
                        return f"stopped in epoch {self.state.epoch}"
            return "ended"

    paddle.seed(1)
    for lr in (0.1, 8.0):
        trainer = Trainer(mlp(3, 4, 1), lr)
        train = DataLoader(Toy(12, 0), batch_sampler=BatchSampler(Toy(12, 0), batch_size=5))
        valid = DataLoader(Toy(7, 1), batch_size=4)
        yield trainer.fit(train, valid, epochs=5)
        yield asdict(trainer.state)
        yield trainer.evaluate([tuple(batch) for batch in valid])


@program
def accumulation_with_a_loss_scaler(convert):
    """A hand-written GradScaler: unscale, skip on infinities, grow after good steps, clip."""

    class GradScaler:
        def __init__(self, init=1024.0, growth_interval=2):
            self.scale = paddle.to_tensor(init)
            self.good = paddle.zeros([], dtype="int64")
            self.growth_interval = growth_interval
            self.skipped = 0

        def unscale_(self, params):
            found_inf = paddle.to_tensor(False)
            for p in params:
                if p.grad is None:
                    continue
                p.grad.set_value(p.grad / self.scale)
                found_inf = found_inf | ~paddle.isfinite(p.grad).all()
            return found_inf

        def update(self, found_inf):
            if found_inf:
                self.scale = self.scale / 2
                self.good = paddle.zeros_like(self.good)
                self.skipped += 1
            else:
                self.good = self.good + 1
                if self.good >= self.growth_interval:
                    self.scale = self.scale * 2
                    self.good = paddle.zeros_like(self.good)

    paddle.seed(2)
    model = mlp(3, 4, 1)
    opt = paddle.optimizer.SGD(0.05, parameters=model.parameters())
    scaler = GradScaler()

    @convert
    def micro_step(x, y, accumulate, last):
        loss = F.smooth_l1_loss(model(x), y) / accumulate
        (loss * scaler.scale).backward()
        if not last:
            return loss, None
        params = model.parameters()
        found = scaler.unscale_(params)
        norm = paddle.sqrt(sum((p.grad**2).sum() for p in params))
        if not found:
            if norm > 0.5:
                for p in params:
                    p.grad.set_value(p.grad * (0.5 / norm))
            opt.step()
        scaler.update(found)
        opt.clear_grad()
        return loss, norm

    rng = np.random.RandomState(3)
    for step in range(5):
        for micro in range(2):
            x = paddle.to_tensor(rng.randn(4, 3).astype("float32"))
            if step == 2 and micro == 0:
                x = x * 1e38
            y = paddle.to_tensor(rng.randn(4, 1).astype("float32"))
            loss, norm = micro_step(x, y, accumulate=2, last=micro == 1)
        yield (
            loss if step != 2 else "inf",
            norm is not None,
            scaler.scale,
            scaler.good,
            scaler.skipped,
        )
    yield model[0].weight


@program
def scheduler_classes_of_ones_own(convert):
    """Subclasses of LRScheduler, a chain of them, a scheduler by metric, and groups of parameters."""

    class NoamWithFloor(LRScheduler):
        def __init__(self, d_model, warmup, floor=1e-3, **kwargs):
            self.d_model, self.warmup, self.floor = d_model, warmup, floor
            super().__init__(learning_rate=1.0, **kwargs)

        def get_lr(self):
            step = max(self.last_epoch, 1)
            rate = self.d_model**-0.5 * min(step**-0.5, step * self.warmup**-1.5)
            return max(rate, self.floor)

    class OneCycle(LRScheduler):
        def __init__(self, peak, total, pct=0.3, last_epoch=-1):
            self.peak, self.total, self.pct = peak, total, pct
            super().__init__(learning_rate=peak / 10, last_epoch=last_epoch)

        def get_lr(self):
            t = min(self.last_epoch / self.total, 1.0)
            if t < self.pct:
                return self.base_lr + (self.peak - self.base_lr) * t / self.pct
            t = (t - self.pct) / (1 - self.pct)
            return self.peak * (1 + math.cos(math.pi * t)) / 2

    def build(kind):
        return {
            "noam": lambda: NoamWithFloor(16, 2),
            "cycle": lambda: OneCycle(0.2, 5),
            "plateau": lambda: paddle.optimizer.lr.ReduceOnPlateau(0.1, patience=0, factor=0.5),
            "warm": lambda: paddle.optimizer.lr.LinearWarmup(
                paddle.optimizer.lr.StepDecay(0.1, step_size=2), 2, 0.0, 0.1
            ),
        }[kind]()

    paddle.seed(7)
    for kind in ("noam", "cycle", "plateau", "warm"):
        backbone, head = mlp(3, 4), mlp(4, 1)
        scheduler = build(kind)
        opt = paddle.optimizer.AdamW(
            learning_rate=scheduler,
            parameters=[
                {"params": backbone.parameters(), "learning_rate": 0.1},
                {"params": head.parameters(), "weight_decay": 0.0},
            ],
        )

        @convert
        def step(x, y, label_smoothing=0.1):
            out = F.sigmoid(head(F.gelu(backbone(x))))
            target = y * (1 - label_smoothing) + 0.5 * label_smoothing
            loss = F.binary_cross_entropy(out, target)
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        for k in range(4):
            x = paddle.randn([4, 3])
            loss = step(x, (x.sum(axis=-1, keepdim=True) > 0).astype("float32"))
            scheduler.step(loss) if kind == "plateau" else scheduler.step()
            yield loss, round(opt.get_lr(), 6)
        yield head[0].weight


@program
def gradient_surgery_between_tasks(convert):
    """PCGrad and GradNorm: gradients per task by paddle.grad, projections when they conflict."""

    class MultiTask(nn.Layer):
        def __init__(self, tasks=2):
            super().__init__()
            self.trunk = nn.Linear(3, 4)
            self.heads = nn.LayerList([nn.Linear(4, 1) for _ in range(tasks)])
            self.weights = self.create_parameter(
                [tasks], default_initializer=nn.initializer.Constant(1.0)
            )

        def losses(self, x, ys):
            h = paddle.tanh(self.trunk(x))
            return [F.mse_loss(head(h), y) for head, y in zip(self.heads, ys)]

    def flatten(grads):
        return paddle.concat([g.flatten() for g in grads])

    def unflatten(flat, shapes):
        out, start = [], 0
        for shape in shapes:
            size = int(np.prod(shape))
            out.append(flat[start : start + size].reshape(shape))
            start += size
        return out

    @convert
    def pcgrad_step(model, x, ys, lr, order):
        shared = model.trunk.parameters()
        losses = model.losses(x, ys)
        grads = [flatten(paddle.grad(loss, shared, retain_graph=True)) for loss in losses]
        projected, conflicts = [], 0
        for i in order:
            g = grads[i]
            for j in order:
                if i == j:
                    continue
                dot = (g * grads[j]).sum()
                if dot < 0:
                    g = g - dot / grads[j].square().sum() * grads[j]
                    conflicts += 1
            projected.append(g)
        total = unflatten(paddle.add_n(projected), [p.shape for p in shared])
        with paddle.no_grad():
            for p, g in zip(shared, total):
                p.set_value(p - lr * g)
        return losses, conflicts

    @convert
    def gradnorm(model, x, ys, initial, alpha=0.5):
        losses = paddle.stack(model.losses(x, ys))
        weighted = model.weights * losses
        norms = []
        for k in range(len(ys)):
            g = paddle.grad(weighted[k], model.trunk.weight, create_graph=True)[0]
            norms.append(g.norm())
        norms = paddle.stack(norms)
        ratio = losses.detach() / initial
        target = (norms.mean() * (ratio / ratio.mean()) ** alpha).detach()
        loss = (norms - target).abs().sum()
        (gw,) = paddle.grad(loss, [model.weights])
        new = paddle.clip(model.weights - 0.1 * gw, min=0.05)
        model.weights.set_value(new * len(ys) / new.sum())
        return loss, model.weights.clone()

    paddle.seed(5)
    model = MultiTask()
    initial = None
    for step in range(3):
        x = paddle.randn([6 - step % 2, 3])
        ys = [x[:, :1], -x[:, :1] + 0.1 * step]
        losses, conflicts = pcgrad_step(model, x, ys, lr=0.1, order=[0, 1][:: 1 - 2 * (step % 2)])
        yield losses, conflicts
        if initial is None:
            initial = paddle.stack(losses).detach()
        yield gradnorm(model, x, ys, initial)
    yield model.trunk.weight


@program
def private_gradients_per_example(convert):
    """DP-SGD: a gradient for each example, clipped, summed, with noise; the budget is counted."""

    class PrivacyEngine:
        def __init__(self, model, max_norm=1.0, noise=0.5, budget=3.0):
            self.model, self.max_norm, self.noise = model, max_norm, noise
            self.budget, self.spent = budget, 0.0
            self.clipped = paddle.zeros([], dtype="int64")

        @convert
        def gradients(self, xs, ys, noises):
            params = self.model.parameters()
            total = [paddle.zeros_like(p) for p in params]
            for x, y in zip(xs, ys):
                loss = F.cross_entropy(self.model(x.unsqueeze(0)), y.unsqueeze(0))
                grads = paddle.grad(loss, params)
                norm = paddle.sqrt(paddle.add_n([(g * g).sum() for g in grads]))
                if norm > self.max_norm:
                    self.clipped += 1
                    grads = [g * (self.max_norm / norm) for g in grads]
                total = [t + g for t, g in zip(total, grads)]
            n = xs.shape[0]
            return [(t + self.noise * self.max_norm * z) / n for t, z in zip(total, noises)]

        def step(self, xs, ys, lr=0.5):
            cost = 1.0 / max(self.noise, 1e-3) * xs.shape[0] / 4
            if self.spent + cost > self.budget:
                warnings.warn("the privacy budget is spent", stacklevel=2)
                raise RuntimeError(f"budget {self.budget} exceeded after {self.spent:.2f}")
            noises = [paddle.randn(p.shape) for p in self.model.parameters()]
            with paddle.no_grad():
                for p, g in zip(self.model.parameters(), self.gradients(xs, ys, noises)):
                    p.set_value(p - lr * g)
            self.spent += cost
            return self.spent

    paddle.seed(9)
    engine = PrivacyEngine(mlp(3, 4, 2), budget=6.0)
    rng = np.random.RandomState(2)
    for n in (3, 4, 3, 4):
        xs = paddle.to_tensor((rng.randn(n, 3) * 3).astype("float32"))
        ys = paddle.to_tensor(rng.randint(0, 2, n))
        yield attempt(lambda: engine.step(xs, ys)), engine.clipped
    yield list(engine.model.parameters())[0]


@program
def averages_of_weights_three_ways(convert):
    """EMA with warm-up of the decay, SWA with batch statistics again, a greedy soup."""

    class Ema:
        def __init__(self, model, decay=0.99):
            self.decay, self.updates = decay, 0
            self.shadow = {k: v.clone() for k, v in model.state_dict().items()}
            self.backup: Optional[Dict[str, Any]] = None

        @convert
        def update(self, model):
            self.updates += 1
            d = min(self.decay, (1 + self.updates) / (10 + self.updates))
            for name, value in model.state_dict().items():
                if value.dtype in (paddle.float32, paddle.float64):
                    self.shadow[name] = d * self.shadow[name] + (1 - d) * value.detach()
                else:
                    self.shadow[name] = value.clone()

        def __enter__(self):
            return self

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc1, self.bn, self.fc2 = nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Linear(4, 1)

        def forward(self, x):
            return self.fc2(F.relu(self.bn(self.fc1(x))))

    paddle.seed(11)
    net = Net()
    opt = paddle.optimizer.NAdam(0.05, parameters=net.parameters())
    ema = Ema(net)

    @convert
    def train(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    @convert
    def evaluate(model, x, y):
        with paddle.no_grad():
            return F.mse_loss(model(x), y)

    snapshots = []
    x_val = paddle.randn([6, 3])
    y_val = x_val.prod(axis=1, keepdim=True)
    for step in range(6):
        x = paddle.randn([4, 3])
        yield train(x, x.prod(axis=1, keepdim=True))
        ema.update(net)
        if step % 2:
            snapshots.append({k: v.clone() for k, v in net.state_dict().items()})
    yield ema.shadow
    twin = copy.deepcopy(net)
    twin.eval()

    def loaded(state):
        twin.set_state_dict(state)
        return evaluate(twin, x_val, y_val)

    def average(states):
        return {k: sum(s[k] for s in states) / len(states) for k in states[0]}

    yield loaded(ema.shadow)
    ranked = sorted(snapshots, key=lambda s: float(loaded(s)))
    soup = ranked[:1]
    for candidate in ranked[1:]:
        if loaded(average([*soup, candidate])) <= loaded(average(soup)):
            soup.append(candidate)
    yield len(soup), loaded(average(soup))
    twin.set_state_dict(average(snapshots))
    twin.train()
    with paddle.no_grad():
        for k in range(2):
            convert(twin.forward)(x_val[k * 3 : k * 3 + 3])
    twin.eval()
    yield evaluate(twin, x_val, y_val), twin.bn._mean


@program
def learning_rate_finder(convert):
    """Rates that grow until the loss explodes, a smoothed curve, the steepest point, a reset."""

    class Diverged(Exception):
        def __init__(self, rate, loss):
            super().__init__(f"diverged at {rate:.3g}")
            self.rate, self.loss = rate, loss

    class Finder:
        def __init__(self, model, criterion: Callable, low=1e-3, high=10.0, beta=0.6):
            self.model, self.criterion = model, criterion
            self.initial = copy.deepcopy(model.state_dict())
            self.low, self.high, self.beta = low, high, beta

        def rates(self, count):
            ratio = (self.high / self.low) ** (1 / (count - 1))
            rate = self.low
            for _ in range(count):
                yield rate
                rate *= ratio

        @convert
        def sweep(self, batches, count=8):
            smooth, best, curve = 0.0, None, []
            for k, (rate, (x, y)) in enumerate(zip(self.rates(count), batches), start=1):
                loss = self.criterion(self.model(x), y)
                grads = paddle.grad(loss, self.model.parameters())
                for p, g in zip(self.model.parameters(), grads):
                    p.set_value(p - rate * g)
                smooth = self.beta * smooth + (1 - self.beta) * loss.detach()
                corrected = smooth / (1 - self.beta**k)
                curve.append(corrected)
                if best is None or corrected < best:
                    best = corrected
                elif corrected > 4 * best:
                    break
            return paddle.stack(curve)

        @convert
        def suggestion(self, curve):
            if curve.shape[0] < 3:
                return -1, None
            slopes = (curve[2:] - curve[:-2]) / 2
            at = slopes.argmin()
            if slopes[at] >= 0:
                raise ValueError("the loss never falls")
            return at + 1, slopes[at]

        def reset(self):
            self.model.set_state_dict(self.initial)

    paddle.seed(3)
    finder = Finder(mlp(2, 4, 1), F.mse_loss)
    for seed, count in ((0, 8), (1, 6), (2, 2)):
        rng = np.random.RandomState(seed)
        batches = []
        for _ in range(count):
            x = paddle.to_tensor(rng.randn(4, 2).astype("float32"))
            batches.append((x, x.sum(axis=1, keepdim=True)))
        curve = finder.sweep(batches, count)
        yield curve
        yield attempt(lambda: finder.suggestion(curve))
        finder.reset()
    yield attempt(lambda: finder.suggestion(paddle.to_tensor([1.0, 2.0, 3.0])))
    yield str(Diverged(0.5, 2.0))


@program
def self_supervised_pair_of_networks(convert):
    """BYOL with a momentum target and a cosine schedule of it, MoCo's queue, a collapse monitor."""

    class Byol(nn.Layer):
        def __init__(self, dim=4, queue=6):
            super().__init__()
            self.online = mlp(3, 6, dim)
            self.target = copy.deepcopy(self.online)
            for p in self.target.parameters():
                p.stop_gradient = True
            self.predictor = nn.Linear(dim, dim)
            self.register_buffer("queue", F.normalize(paddle.randn([dim, queue]), axis=0))
            self.register_buffer("ptr", paddle.zeros([1], dtype="int64"))

        @convert
        def forward(self, a, b):
            with paddle.no_grad():
                ta, tb = (F.normalize(self.target(v), axis=-1) for v in (a, b))
            pa = F.normalize(self.predictor(self.online(a)), axis=-1)
            pb = F.normalize(self.predictor(self.online(b)), axis=-1)
            byol = 2 - (pa * tb).sum(-1).mean() - (pb * ta).sum(-1).mean()
            pos = (pa * tb).sum(-1, keepdim=True)
            neg = pa @ self.queue.clone().detach()
            logits = paddle.concat([pos, neg], axis=1) / 0.2
            moco = F.cross_entropy(logits, paddle.zeros([a.shape[0]], dtype="int64"))
            self.enqueue(tb)
            return byol + 0.1 * moco, tb

        @paddle.no_grad()
        def enqueue(self, keys):
            size = self.queue.shape[1]
            ptr = self.ptr.item()
            for k in range(keys.shape[0]):
                self.queue[:, (ptr + k) % size] = keys[k]
            self.ptr[0] = (ptr + keys.shape[0]) % size

        @convert
        @paddle.no_grad()
        def update_target(self, step, total, base=0.9):
            m = 1 - (1 - base) * (math.cos(math.pi * step / total) + 1) / 2
            for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                slow.set_value(m * slow + (1 - m) * fast)
            return m

    @convert
    def collapsed(history, threshold=1e-2):
        """Whether the last targets hardly differ in any direction."""
        spread = paddle.concat(list(history)).std(axis=0)
        return bool((spread < threshold).all()), spread

    paddle.seed(12)
    model = Byol()
    opt = paddle.optimizer.Adam(
        0.02, parameters=[p for p in model.parameters() if not p.stop_gradient]
    )
    history = deque(maxlen=2)
    for step in range(4):
        x = paddle.randn([2 + step % 2, 3])
        loss, keys = model(x + 0.1, x * 0.9)
        loss.backward()
        opt.step()
        opt.clear_grad()
        history.append(keys)
        yield loss, model.ptr, model.queue, model.update_target(step, 4)
        yield collapsed(history)
    yield collapsed([paddle.ones([3, 2])])
