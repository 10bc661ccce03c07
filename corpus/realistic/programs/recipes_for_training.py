"""Recipes from papers on training, as their authors' repositories write them."""

import copy
import math
from collections import OrderedDict, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import attempt, program


@program
def connections_dropped_and_grown(convert):
    """RigL: masks of sparse layers that drop small weights and grow where gradients are large."""

    class Sparse(nn.Linear):
        def __init__(self, n, m, density):
            super().__init__(n, m)
            self.register_buffer("mask", paddle.zeros([n, m]))
            flat = paddle.arange(n * m) % max(1, round(1 / density)) == 0
            self.mask.set_value(flat.reshape([n, m]).astype("float32"))

        def forward(self, x):
            return F.linear(x, self.weight * self.mask, self.bias)

    class Scheduler:
        def __init__(self, model, every=2, end=6, fraction=0.5):
            self.model = model
            self.every, self.end, self.fraction = every, end, fraction
            self.step_count = 0
            self.swapped = defaultdict(list)

        def layers(self):
            for name, layer in self.model.named_sublayers():
                if isinstance(layer, Sparse):
                    yield name, layer

        @property
        def rate(self):
            return self.fraction / 2 * (1 + math.cos(math.pi * self.step_count / self.end))

        @paddle.no_grad()
        def step(self):
            self.step_count += 1
            if self.step_count % self.every or self.step_count > self.end:
                return False
            for name, layer in self.layers():
                mask, w = layer.mask.flatten(), layer.weight.flatten()
                alive = int(mask.sum())
                k = int(alive * self.rate)
                if k == 0:
                    continue
                magnitude = paddle.where(mask > 0, w.abs(), paddle.to_tensor(float("inf")))
                drop = paddle.argsort(magnitude)[:k]
                growth = layer.weight.grad.flatten().abs()
                growth = paddle.where(mask > 0, paddle.to_tensor(-1.0), growth)
                grow = paddle.argsort(growth, descending=True)[:k]
                mask[drop] = 0.0
                mask[grow] = 1.0
                w[grow] = 0.0
                layer.mask.set_value(mask.reshape(layer.mask.shape))
                layer.weight.set_value((w * mask).reshape(layer.weight.shape))
                self.swapped[name].append((alive, k))
            return True

    paddle.seed(0)
    net = nn.Sequential(Sparse(4, 8, 0.5), nn.Tanh(), Sparse(8, 2, 0.25))
    opt = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
    scheduler = Scheduler(net)

    @convert
    def train(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        changed = scheduler.step()
        if not changed:
            opt.step()
        opt.clear_grad()
        return loss, changed

    rng = np.random.RandomState(0)
    for i in range(8):
        n = 6 if i % 3 else 4
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        yield train(x, (x[:, 0] > 0).astype("int64"))
    yield [(name, layer.mask) for name, layer in scheduler.layers()]
    yield dict(scheduler.swapped), scheduler.rate


@program
def thresholds_per_class_for_pseudo_labels(convert):
    """FlexMatch: thresholds that follow how much of each class has been learned; warm-up; ramps."""

    class Thresholds:
        def __init__(self, classes, size, base=0.6):
            self.base = base
            self.classes = classes
            self.chosen = paddle.full([size], -1, dtype="int64")

        def __getitem__(self, label):
            return self.base * self.learned[label]

        def update(self):
            counts = [int((self.chosen == c).sum()) for c in range(self.classes)]
            unused = int((self.chosen == -1).sum())
            top = max(max(counts), unused)
            if top == 0:
                self.learned = [1.0] * self.classes
            else:
                self.learned = [c / top for c in counts]
            self.learned = [b / (2 - b) for b in self.learned]

    @dataclass
    class Meter:
        total: float = 0.0
        n: int = 0

        def add(self, value, n=1):
            self.total += float(value) * n
            self.n += n

        @property
        def mean(self):
            return self.total / self.n if self.n else float("nan")

    paddle.seed(1)
    net = nn.Linear(3, 3)
    opt = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    thresholds = Thresholds(3, 12)
    used = Meter()

    @convert
    def step(x, y, weak, strong, index, ramp=1.0):
        thresholds.update()
        loss = F.cross_entropy(net(x), y)
        with paddle.no_grad():
            probs = F.softmax(net(weak))
        confidence, pseudo = probs.max(axis=-1), probs.argmax(axis=-1)
        kept = []
        for i in range(weak.shape[0]):
            if confidence[i] >= thresholds[int(pseudo[i])]:
                kept.append(i)
                if confidence[i] >= thresholds.base:
                    thresholds.chosen[index[i]] = pseudo[i]
        used.add(len(kept) / weak.shape[0])
        if kept:
            rows = paddle.to_tensor(kept)
            loss = loss + ramp * F.cross_entropy(net(strong[rows]), pseudo[rows])
        opt.clear_grad()
        loss.backward()
        opt.step()
        return loss, len(kept), thresholds.learned

    rng = np.random.RandomState(4)
    pool = rng.randn(12, 3).astype("float32") * 2
    for epoch in range(3):
        order = rng.permutation(12)
        for start, size in ((0, 5), (5, 3), (8, 4)):
            index = order[start : start + size]
            x = paddle.to_tensor(rng.randn(3, 3).astype("float32"))
            weak = paddle.to_tensor(pool[index])
            strong = weak + 0.3 * paddle.to_tensor(rng.randn(size, 3).astype("float32"))
            yield step(x, x.argmax(-1), weak, strong, paddle.to_tensor(index), epoch / 2)
    yield thresholds.chosen, used, used.mean


@program
def spikes_that_roll_weights_back(convert):
    """A trainer that keeps checkpoints, and goes back with a smaller rate when the loss spikes."""

    class Diverged(Exception):
        pass

    class Spike:
        def __init__(self, window=4, factor=2.0):
            self.window, self.factor = window, factor
            self.seen = []

        def __call__(self, loss):
            recent = self.seen[-self.window :]
            if len(recent) >= 2:
                mean = sum(recent) / len(recent)
                var = sum((r - mean) ** 2 for r in recent) / len(recent)
                if loss > mean + self.factor * var**0.5 + 0.1:
                    return True
            self.seen.append(loss)
            return False

        def forget(self, n):
            del self.seen[-n:]

    class Trainer:
        def __init__(self, model, lr=0.1, patience=3):
            self.model, self.lr, self.patience = model, lr, patience
            self.velocity = {n: paddle.zeros_like(p) for n, p in model.named_parameters()}
            self.spike = Spike()
            self.saved = None
            self.rollbacks = 0
            self.step = 0

        def save(self):
            self.saved = (
                {n: p.clone().detach() for n, p in self.model.named_parameters()},
                copy.copy(self.velocity),
                self.step,
            )

        def restore(self):
            weights, velocity, step = self.saved
            for n, p in self.model.named_parameters():
                p.set_value(weights[n])
            self.velocity = dict(velocity)
            self.step = step
            self.lr *= 0.5
            self.rollbacks += 1
            if self.rollbacks > self.patience:
                raise Diverged(f"{self.rollbacks} rollbacks, lr={self.lr:.4f}")

        @convert
        def __call__(self, x, y):
            if self.step % 3 == 0:
                self.save()
            loss = F.mse_loss(self.model(x), y)
            if self.spike(loss.detach()) or not paddle.isfinite(loss):
                self.restore()
                return "rolled back", loss.detach()
            grads = paddle.grad(loss, list(self.model.parameters()))
            norm = sum((g**2).sum() for g in grads) ** 0.5
            scale = 1.0
            if norm > 1.0:
                scale = 1.0 / norm
            with paddle.no_grad():
                for (n, p), g in zip(self.model.named_parameters(), grads):
                    self.velocity[n] = 0.9 * self.velocity[n] + scale * g
                    p.subtract_(self.lr * self.velocity[n])
            self.step += 1
            return "ok", loss.detach()

    paddle.seed(2)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    trainer = Trainer(model, patience=6)
    rng = np.random.RandomState(7)
    for i in range(10):
        n = 4 + i % 2
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        y = x.sum(axis=1, keepdim=True) + (20.0 if i in (5, 8) else 0.0)
        yield trainer(x, y)
    yield trainer.rollbacks, trainer.lr, trainer.step, len(trainer.spike.seen)
    yield list(model.parameters())
    trainer.patience = 0
    yield attempt(lambda: trainer(x * 100, y * float("nan")))


@program
def snapshots_at_the_end_of_cycles(convert):
    """Cyclic rates, a snapshot at the end of each cycle, and an ensemble that weighs snapshots."""

    class Cyclic:
        def __init__(self, top, length, mult=2):
            self.top, self.length, self.mult = top, length, mult
            self.at = 0
            self.cycle = 0

        def step(self):
            self.at += 1
            if self.at >= self.length:
                self.at, self.cycle = 0, self.cycle + 1
                self.length *= self.mult
                return True
            return False

        @property
        def lr(self):
            return self.top / 2 * (math.cos(math.pi * self.at / self.length) + 1)

    @contextmanager
    def weights_of(model, state):
        backup = OrderedDict((k, v.clone()) for k, v in model.state_dict().items())
        model.set_state_dict(state)
        try:
            yield model
        finally:
            model.set_state_dict(backup)

    class Snapshots:
        def __init__(self, model, keep=2):
            self.model, self.keep = model, keep
            self.states = []
            self.scores = []
            self.cycle = Cyclic(0.5, 2)

        @convert
        def train(self, x, y):
            loss = F.binary_cross_entropy_with_logits(self.model(x), y)
            loss.backward()
            with paddle.no_grad():
                for p in self.model.parameters():
                    if p.grad is None:
                        continue
                    p.set_value(p - self.cycle.lr * p.grad)
            self.model.clear_gradients()
            if self.cycle.step():
                self.states.append({k: v.clone() for k, v in self.model.state_dict().items()})
                self.scores.append(loss.detach())
                if len(self.states) > self.keep:
                    worst = max(range(len(self.scores)), key=lambda i: float(self.scores[i]))
                    self.states.pop(worst)
                    self.scores.pop(worst)
            return loss.detach()

        @convert
        @paddle.no_grad()
        def predict(self, x):
            if not self.states:
                return F.sigmoid(self.model(x))
            weights = F.softmax(-paddle.stack(self.scores), axis=0)
            votes = []
            for state in self.states:
                with weights_of(self.model, state) as m:
                    votes.append(F.sigmoid(m(x)))
            return sum(w * v for w, v in zip(weights, votes))

    paddle.seed(3)
    ensemble = Snapshots(
        nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1D(4), nn.Tanh(), nn.Linear(4, 1))
    )
    rng = np.random.RandomState(8)
    for i in range(16):
        x = paddle.to_tensor(rng.randn(5, 2).astype("float32"))
        y = (x[:, :1] * x[:, 1:] > 0).astype("float32")
        yield ensemble.train(x, y)
        if i % 5 == 0:
            yield ensemble.predict(x[:3])
    yield len(ensemble.states), ensemble.scores, ensemble.cycle.lr
    yield list(ensemble.model.state_dict().values())


@program
def adafactor_and_lion_by_hand(convert):
    """Optimizers as classes with groups and state; Adafactor keeps rows and columns of moments."""

    class Base:
        def __init__(self, groups, **defaults):
            self.groups = [{**defaults, **g} for g in groups]
            self.state = defaultdict(dict)

        def zero_grad(self):
            for group in self.groups:
                for p in group["params"]:
                    p.clear_gradient()

        @paddle.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with paddle.enable_grad():
                    loss = closure()
            for group in self.groups:
                for p in group["params"]:
                    if p.grad is None or p.stop_gradient:
                        continue
                    self.update(p, p.grad, self.state[p.name], group)
            return loss

    class Lion(Base):
        def update(self, p, g, state, group):
            b1, b2 = group["betas"]
            m = state.setdefault("m", paddle.zeros_like(p))
            p.scale_(1 - group["lr"] * group["decay"])
            p.subtract_(group["lr"] * paddle.sign(b1 * m + (1 - b1) * g))
            state["m"] = b2 * m + (1 - b2) * g

    class Adafactor(Base):
        def update(self, p, g, state, group):
            state["t"] = t = state.get("t", 0) + 1
            beta = 1 - t**-0.8
            sq = g * g + 1e-30
            if p.ndim >= 2:
                row = state.get("row", paddle.zeros(p.shape[:-1]))
                col = state.get("col", paddle.zeros(p.shape[:-2] + p.shape[-1:]))
                row = beta * row + (1 - beta) * sq.mean(axis=-1)
                col = beta * col + (1 - beta) * sq.mean(axis=-2)
                state["row"], state["col"] = row, col
                scale = row / row.mean(axis=-1, keepdim=True)
                u = g / (scale.unsqueeze(-1) * col.unsqueeze(-2)).sqrt()
            else:
                v = beta * state.get("v", 0.0) + (1 - beta) * sq
                state["v"] = v
                u = g / v.sqrt()
            rms = (u * u).mean().sqrt()
            if rms > group["clip"]:
                u = u / rms * group["clip"]
            size = (p * p).mean().sqrt().clip(min=1e-3)
            p.subtract_(min(1e-2, t**-0.5) * size * u)

    def build(name, model):
        no_decay = [p for n, p in model.named_parameters() if n.endswith("bias")]
        rest = [p for n, p in model.named_parameters() if not n.endswith("bias")]
        if name == "lion":
            groups = [{"params": rest}, {"params": no_decay, "decay": 0.0}]
            return Lion(groups, lr=0.02, betas=(0.9, 0.99), decay=0.1)
        return Adafactor([{"params": rest}, {"params": no_decay, "clip": 0.5}], clip=1.0)

    def make_step(model, opt, use_closure):
        @convert
        def step(x, y):
            def closure():
                opt.zero_grad()
                loss = F.smooth_l1_loss(model(x), y)
                loss.backward()
                return loss

            if use_closure:
                return opt.step(closure)
            loss = closure()
            if loss > 1e-2:
                opt.step()
            return loss

        return step

    rng = np.random.RandomState(9)
    for name, use_closure in (("lion", True), ("adafactor", False), ("lion", False)):
        paddle.seed(4)
        model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
        opt = build(name, model)
        step = make_step(model, opt, use_closure)
        for i in range(5):
            x = paddle.to_tensor(rng.randn(3 + i % 2, 3).astype("float32"))
            yield step(x, x[:, :2] * 2)
        yield list(model.parameters())
        yield [sorted(s) for s in opt.state.values()]


@program
def network_that_is_widened(convert):
    """Net2Net: when the loss stalls the hidden layer is widened by split units, mid-training."""

    class Wide(nn.Layer):
        def __init__(self, n, hidden, m):
            super().__init__()
            self.first = nn.Linear(n, hidden)
            self.second = nn.Linear(hidden, m)

        @property
        def width(self):
            return self.first.weight.shape[1]

        def forward(self, x):
            return self.second(F.relu(self.first(x)))

        @paddle.no_grad()
        def widen(self, extra, noise):
            importance = self.second.weight.abs().sum(axis=1)
            _, chosen = paddle.topk(importance, extra)
            old1, old2, bias = self.first.weight, self.second.weight, self.first.bias
            new = Wide(old1.shape[0], self.width + extra, old2.shape[1])
            halved = old2.clone()
            for i in chosen:
                halved[i] = halved[i] / 2
            new.first.weight.set_value(paddle.concat([old1, old1[:, chosen] + noise], axis=1))
            new.first.bias.set_value(paddle.concat([bias, bias[chosen]]))
            new.second.weight.set_value(paddle.concat([halved, halved[chosen]]))
            new.second.bias.set_value(self.second.bias)
            return new

    class Growing:
        def __init__(self, model, patience=2, largest=8):
            self.model, self.patience, self.largest = model, patience, largest
            self.best = paddle.to_tensor(float("inf"))
            self.bad = 0
            self.history = []

        @convert
        def fit(self, x, y, lr=0.1):
            loss = F.mse_loss(self.model(x), y)
            grads = paddle.grad(loss, self.model.parameters())
            for p, g in zip(self.model.parameters(), grads):
                p.set_value(p.detach() - lr * g)
            if loss < self.best - 1e-3:
                self.best, self.bad = loss.detach(), 0
            else:
                self.bad += 1
            return loss.detach()

        def maybe_grow(self):
            if self.bad >= self.patience and self.model.width < self.largest:
                extra = min(2, self.largest - self.model.width)
                self.model = self.model.widen(extra, 0.01)
                self.history.append(self.model.width)
                self.bad = 0
                return True
            return False

    paddle.seed(5)
    growing = Growing(Wide(2, 3, 1))
    rng = np.random.RandomState(10)
    for i in range(14):
        x = paddle.to_tensor(rng.randn(6, 2).astype("float32"))
        y = paddle.sin(3 * x[:, :1]) * x[:, 1:] * (1 + i % 4)
        yield growing.fit(x, y, lr=0.05)
        yield growing.maybe_grow(), growing.model.width
    yield growing.history, growing.best, list(growing.model.parameters())


@program
def corrected_returns_by_retrace(convert):
    """Off-policy returns: V-trace, Retrace and Tree-backup share a backward loop, cut at episodes."""

    class Trace:
        name = "is"

        def __init__(self, lam=0.9):
            self.lam = lam

        def weigh(self, ratio, target):
            return self.lam * ratio

    class Retrace(Trace):
        name = "retrace"

        def weigh(self, ratio, target):
            return self.lam * ratio.clip(max=1.0)

    class TreeBackup(Trace):
        name = "tree"

        def weigh(self, ratio, target):
            return self.lam * target

    class Watkins(Trace):
        name = "watkins"

        def weigh(self, ratio, target):
            return self.lam if ratio > 0.5 else 0.0

    registry = {cls.name: cls for cls in (Trace, Retrace, TreeBackup, Watkins)}

    @convert
    def corrected(rewards, values, ratios, targets, dones, bootstrap, kind="retrace", gamma=0.95):
        trace = registry[kind]()
        carry = paddle.zeros([])
        following = bootstrap
        out = [None] * len(rewards)
        cuts = 0
        for t in reversed(range(len(rewards))):
            if dones[t]:
                delta = rewards[t] - values[t]
                carry = carry * 0
                cuts += 1
            else:
                delta = rewards[t] + gamma * following - values[t]
            c = trace.weigh(ratios[t], targets[t])
            if isinstance(c, float) and c == 0.0 and carry == 0:
                cuts += 1
            carry = delta + gamma * c * carry
            out[t] = values[t] + carry
            following = values[t]
        returns = paddle.stack(out)
        advantage = returns - values
        if advantage.std() > 1e-6:
            advantage = (advantage - advantage.mean()) / advantage.std()
        return returns, advantage, cuts

    @convert
    def policy_loss(logits, actions, advantage, entropy_weight=0.01, clip=None):
        logp = F.log_softmax(logits)
        picked = paddle.take_along_axis(logp, actions.unsqueeze(1), axis=1).squeeze(1)
        loss = -(picked * advantage).mean()
        entropy = -(logp.exp() * logp).sum(-1).mean()
        if entropy < 1.0:
            loss = loss - entropy_weight * entropy
        if clip is not None and loss.abs() > clip:
            loss = loss / loss.abs().detach() * clip
        return loss, entropy

    rng = np.random.RandomState(11)
    for T, kind in ((5, "retrace"), (7, "tree"), (5, "watkins"), (6, "is"), (5, "retrace")):
        draw = [paddle.to_tensor(rng.rand(T).astype("float32")) for _ in range(4)]
        dones = paddle.to_tensor(rng.rand(T) > 0.7)
        returns, advantage, cuts = corrected(*draw, dones, paddle.to_tensor(0.5), kind=kind)
        yield returns, advantage, cuts
        logits = paddle.to_tensor(rng.randn(T, 3).astype("float32"), stop_gradient=False)
        actions = paddle.to_tensor(rng.randint(0, 3, T))
        loss, entropy = policy_loss(logits, actions, advantage, clip=0.2 if T == 5 else None)
        loss.backward()
        yield loss, entropy, logits.grad
    yield attempt(lambda: corrected(*draw, dones, paddle.to_tensor(0.5), kind="vtrace"))
