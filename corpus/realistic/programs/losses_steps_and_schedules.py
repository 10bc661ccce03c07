"""Training steps by hand: optimizers, critics, diffusion, inner loops, sharpness, stopping."""

import copy
import math
from contextlib import contextmanager

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def rectified_adam_with_lookahead(convert):
    """RAdam with parameter groups, decoupled decay, and slow weights every few steps."""

    class RAdam:
        def __init__(self, groups, lr=0.05, betas=(0.9, 0.99), eps=1e-8):
            self.groups = [{"lr": lr, "decay": 0.0, **g} for g in groups]
            self.betas, self.eps = betas, eps
            self.state = {}
            self.t = 0

        @paddle.no_grad()
        def step(self):
            self.t += 1
            b1, b2 = self.betas
            rho_inf = 2 / (1 - b2) - 1
            rho = rho_inf - 2 * self.t * b2**self.t / (1 - b2**self.t)
            for group in self.groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    m, v = self.state.setdefault(
                        p.name, [paddle.zeros_like(p), paddle.zeros_like(p)]
                    )
                    m = b1 * m + (1 - b1) * p.grad
                    v = b2 * v + (1 - b2) * p.grad**2
                    self.state[p.name] = [m, v]
                    mhat = m / (1 - b1**self.t)
                    if rho > 4:
                        r = math.sqrt(
                            (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
                        )
                        update = r * mhat / ((v / (1 - b2**self.t)).sqrt() + self.eps)
                    else:
                        update = mhat
                    p.set_value(p - group["lr"] * (update + group["decay"] * p))

        def clear_grad(self):
            for group in self.groups:
                for p in group["params"]:
                    p.clear_gradient()

    class Lookahead:
        def __init__(self, inner, k=3, alpha=0.5):
            self.inner, self.k, self.alpha = inner, k, alpha
            self.slow = {p.name: p.clone().detach() for g in inner.groups for p in g["params"]}

        def step(self):
            self.inner.step()
            if self.inner.t % self.k == 0:
                for g in self.inner.groups:
                    for p in g["params"]:
                        slow = self.slow[p.name]
                        slow = slow + self.alpha * (p.detach() - slow)
                        self.slow[p.name] = slow
                        p.set_value(slow)

    paddle.seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    biases = [p for p in net.parameters() if p.ndim == 1]
    weights = [p for p in net.parameters() if p.ndim == 2]
    opt = Lookahead(RAdam([{"params": weights, "decay": 0.01}, {"params": biases, "lr": 0.1}]))

    @convert
    def train_step(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.inner.clear_grad()
        return loss

    rng = np.random.RandomState(0)
    for _ in range(7):
        x = rng.randn(4, 3).astype("float32")
        yield train_step(T(x), T(x.sum(1, keepdims=True)))
    yield [p.numpy() for p in net.parameters()], opt.inner.t


@program
def trainer_with_callbacks_and_patience(convert):
    """Callbacks around an epoch: early stopping, a plateau that lowers the rate, a history."""

    class Callback:
        def on_epoch_end(self, trainer, logs):
            pass

    class History(Callback):
        def __init__(self):
            self.rows = []

        def on_epoch_end(self, trainer, logs):
            self.rows.append(dict(logs))

    class EarlyStopping(Callback):
        def __init__(self, patience=2, min_delta=1e-3):
            self.patience, self.min_delta = patience, min_delta
            self.best, self.wait = float("inf"), 0

        def on_epoch_end(self, trainer, logs):
            if logs["val"] < self.best - self.min_delta:
                self.best, self.wait = logs["val"], 0
            else:
                self.wait += 1
                if self.wait >= self.patience:
                    trainer.stop = True

    class Plateau(Callback):
        def __init__(self, factor=0.5):
            self.factor, self.best = factor, None

        def on_epoch_end(self, trainer, logs):
            if self.best is None or logs["val"] < self.best:
                self.best = logs["val"]
            else:
                trainer.lr *= self.factor

    class Trainer:
        def __init__(self, w, lr, callbacks):
            self.w, self.lr, self.callbacks = w, lr, callbacks
            self.stop = False

        def loss(self, w, x, y):
            return ((x @ w - y) ** 2).mean()

        def fit(self, train, val, epochs=5):
            self.stop = False
            for epoch in range(epochs):
                for x, y in train:
                    loss = self.loss(self.w, x, y)
                    (g,) = paddle.grad(loss, [self.w])
                    self.w = (self.w - self.lr * g).detach()
                    self.w.stop_gradient = False
                with paddle.no_grad():
                    logs = {"epoch": epoch, "train": loss.detach(), "val": self.loss(self.w, *val)}
                for callback in self.callbacks:
                    callback.on_epoch_end(self, logs)
                if self.stop:
                    break
            return epoch + 1

    rng = np.random.RandomState(0)

    def batch():
        x = rng.randn(4, 2).astype("float32")
        return T(x), T(x @ np.array([1.0, -2.0], "float32"))

    for lr in (0.1, 0.9):
        history, stopping, plateau = History(), EarlyStopping(), Plateau()
        w = paddle.zeros([2])
        w.stop_gradient = False
        trainer = Trainer(w, lr, [history, stopping, plateau])
        fit = convert(trainer.fit)
        yield attempt(lambda: fit([batch(), batch()], batch()))
        yield trainer.w, trainer.lr, stopping.best, stopping.wait, history.rows


@program
def critic_with_penalty(convert):
    """WGAN-GP: critic steps with a gradient penalty, and a generator step every so often."""

    paddle.seed(2)
    G = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2))
    D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    g_opt = paddle.optimizer.Adam(1e-2, beta1=0.0, parameters=G.parameters())
    d_opt = paddle.optimizer.Adam(1e-2, beta1=0.0, parameters=D.parameters())
    counters = {"d": 0, "g": 0}

    @contextmanager
    def frozen(module):
        flags = [p.stop_gradient for p in module.parameters()]
        for p in module.parameters():
            p.stop_gradient = True
        try:
            yield module
        finally:
            for p, flag in zip(module.parameters(), flags):
                p.stop_gradient = flag

    def penalty(real, fake, eps):
        mixed = (eps * real + (1 - eps) * fake).detach()
        mixed.stop_gradient = False
        (g,) = paddle.grad(D(mixed).sum(), [mixed], create_graph=True)
        return ((g.norm(axis=1) - 1) ** 2).mean()

    @convert
    def step(real, z, eps, n_critic=2, lam=10.0):
        with paddle.no_grad():
            fake = G(z)
        d_loss = D(fake).mean() - D(real).mean() + lam * penalty(real, fake, eps)
        d_loss.backward()
        d_opt.step()
        d_opt.clear_grad()
        counters["d"] += 1
        logs = {"d_loss": d_loss.detach()}
        if counters["d"] % n_critic == 0:
            with frozen(D):
                g_loss = -D(G(z)).mean()
                g_loss.backward()
            g_opt.step()
            g_opt.clear_grad()
            counters["g"] += 1
            logs["g_loss"] = g_loss.detach()
        return logs

    rng = np.random.RandomState(0)
    for _ in range(4):
        real, z = (T(rng.randn(4, 2).astype("float32")) for _ in range(2))
        yield step(real, z, T(rng.rand(4, 1).astype("float32"))), dict(counters)
    yield [p.numpy() for p in (*G.parameters(), *D.parameters())]


@program
def diffusion_with_moving_average(convert):
    """A cosine schedule, a weighted loss, averaged weights, and a DDIM sampler that uses them."""

    class Schedule:
        def __init__(self, steps):
            t = np.linspace(0, 1, steps + 1)
            f = np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2
            self.alpha_bar = T((f / f[0]).clip(1e-4, 1.0).astype("float32"))
            self.steps = steps

        def snr(self, t):
            a = self.alpha_bar[t]
            return a / (1 - a)

        def add_noise(self, x, noise, t):
            a = self.alpha_bar[t].unsqueeze(-1)
            return a.sqrt() * x + (1 - a).sqrt() * noise

    class Denoiser(nn.Layer):
        def __init__(self, dim=2):
            super().__init__()
            self.time = nn.Embedding(9, 4)
            self.net = nn.Sequential(nn.Linear(dim + 4, 8), nn.Silu(), nn.Linear(8, dim))

        def forward(self, x, t):
            return self.net(paddle.concat([x, self.time(t)], axis=-1))

    class EMA:
        def __init__(self, model, decay=0.9, warmup=2):
            self.shadow = copy.deepcopy(model)
            self.decay, self.warmup, self.updates = decay, warmup, 0

        @paddle.no_grad()
        def update(self, model):
            self.updates += 1
            decay = min(self.decay, self.updates / (self.warmup + self.updates))
            for s, p in zip(self.shadow.parameters(), model.parameters()):
                s.set_value(decay * s + (1 - decay) * p)

    paddle.seed(0)
    schedule = Schedule(8)
    model = Denoiser()
    ema = EMA(model)
    opt = paddle.optimizer.AdamW(
        1e-2, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0)
    )

    @convert
    def train_step(x, t, noise, gamma=5.0):
        noisy = schedule.add_noise(x, noise, t)
        weight = schedule.snr(t).clip(max=gamma) / schedule.snr(t)
        loss = (weight * F.mse_loss(model(noisy, t), noise, reduction="none").mean(-1)).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        ema.update(model)
        return loss

    @convert
    @paddle.no_grad()
    def sample(x, stride=2, clip=None):
        times = list(range(schedule.steps, 0, -stride))
        for now, after in zip(times, times[1:] + [0]):
            eps = ema.shadow(x, paddle.full([x.shape[0]], now, dtype="int64"))
            a, b = schedule.alpha_bar[now], schedule.alpha_bar[after]
            x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
            if clip is not None and x0.abs().max() > clip:
                s = paddle.quantile(x0.abs(), 0.9, axis=-1, keepdim=True).clip(min=clip)
                x0 = paddle.maximum(paddle.minimum(x0, s), -s) / s * clip
            x = b.sqrt() * x0 + (1 - b).sqrt() * eps
        return x

    rng = np.random.RandomState(0)
    for _ in range(3):
        x, noise = (T(rng.randn(4, 2).astype("float32")) for _ in range(2))
        yield train_step(x, T(rng.randint(1, 9, [4])), noise)
    yield sample(T(rng.randn(3, 2).astype("float32")))
    yield sample(T(rng.randn(3, 2).astype("float32")), stride=4, clip=1.0)
    yield sample(T(rng.randn(3, 2).astype("float32") * 0.01), clip=5.0), ema.updates


@program
def fast_weights_per_task(convert):
    """MAML with functional weights in a dict, learned inner rates, and tasks that stop early."""

    class Learner(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(1, 6), nn.Linear(6, 1)

        def forward(self, x, fast=None):
            p = fast if fast is not None else dict(self.named_parameters())
            h = paddle.tanh(x @ p["fc1.weight"] + p["fc1.bias"])
            return h @ p["fc2.weight"] + p["fc2.bias"]

    paddle.seed(4)
    learner = Learner()
    rates = {
        name: paddle.create_parameter(
            [1], "float32", default_initializer=nn.initializer.Constant(0.1)
        )
        for name, _ in learner.named_parameters()
    }

    def adapt(support, steps, good_enough=0.05):
        x, y = support
        fast = dict(learner.named_parameters())
        used = 0
        for _ in range(steps):
            loss = F.mse_loss(learner(x, fast), y)
            if loss < good_enough:
                break
            grads = paddle.grad(loss, list(fast.values()), create_graph=True)
            fast = {k: w - rates[k] * g for (k, w), g in zip(fast.items(), grads)}
            used += 1
        return fast, used

    @convert
    def meta_loss(tasks, steps=2):
        total = 0.0
        counts = []
        for support, (xq, yq) in tasks:
            fast, used = adapt(support, steps)
            counts.append(used)
            total = total + F.mse_loss(learner(xq, fast), yq)
        return total / len(tasks), counts

    rng = np.random.RandomState(0)
    for scale in (1.0, 0.01, 2.0):
        tasks = []
        for _ in range(2):
            amp, phase = scale * rng.rand(), rng.rand()
            xs = [rng.rand(3, 1).astype("float32") for _ in range(2)]
            tasks.append([(T(x), T((amp * np.sin(x + phase)).astype("float32"))) for x in xs])
        loss, counts = meta_loss(tasks)
        loss.backward()
        yield loss, counts, learner.fc1.weight.grad, rates["fc2.weight"].grad
        learner.clear_gradients()
        for r in rates.values():
            r.clear_gradient()


@program
def sharpness_aware_with_accumulation(convert):
    """SAM over accumulated micro batches, with a norm that is clipped and steps that are skipped."""

    class SAM:
        def __init__(self, params, lr=0.1, rho=0.05, max_norm=1.0):
            self.params = list(params)
            self.lr, self.rho, self.max_norm = lr, rho, max_norm
            self.skipped = 0

        def grad_norm(self):
            squares = [(p.grad**2).sum() for p in self.params if p.grad is not None]
            return paddle.stack(squares).sum().sqrt()

        @paddle.no_grad()
        def climb(self):
            scale = self.rho / (self.grad_norm() + 1e-12)
            self.moves = [p.grad * scale for p in self.params]
            for p, e in zip(self.params, self.moves):
                p.add_(e)
                p.clear_gradient()

        @paddle.no_grad()
        def descend(self):
            for p, e in zip(self.params, self.moves):
                p.subtract_(e)
            norm = self.grad_norm()
            if not paddle.isfinite(norm):
                self.skipped += 1
            else:
                scale = self.lr * (self.max_norm / norm if norm > self.max_norm else 1.0)
                for p in self.params:
                    p.subtract_(scale * p.grad)
            for p in self.params:
                p.clear_gradient()
            return norm

    paddle.seed(5)
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    sam = SAM(net.parameters())

    @convert
    def step(batches):
        def accumulate():
            total = paddle.zeros([])
            for x, y in batches:
                loss = F.cross_entropy(net(x), y) / len(batches)
                loss.backward()
                total += loss.detach()
            return total

        before = accumulate()
        sam.climb()
        after = accumulate()
        return before, after - before, sam.descend()

    rng = np.random.RandomState(0)
    for factor in (1.0, 30.0, float("inf"), 1.0):
        batches = [
            (T(factor * rng.randn(3, 2).astype("float32")), T(rng.randint(0, 2, [3])))
            for _ in range(2)
        ]
        yield attempt(lambda: step(batches))
        yield [p.numpy() for p in net.parameters()], sam.skipped
