"""Hand-written optimizers, schedules and training loops."""

import math
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def regression_batch(n, dim=4, seed=0):
    rng = np.random.RandomState(seed)
    x = rng.randn(n, dim).astype("float32")
    y = (x.sum(axis=1, keepdims=True) * 0.5 + 0.1 * rng.randn(n, 1)).astype("float32")
    return paddle.to_tensor(x), paddle.to_tensor(y)


class MLP(nn.Layer):
    def __init__(self, dim=4, hidden=6, out=1):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, x):
        return self.fc2(F.tanh(self.fc1(x)))


@program
def adam_from_scratch(convert):
    """Adam with bias correction, decoupled decay and global-norm clipping over plain parameter lists."""

    @dataclass
    class AdamConfig:
        lr: float = 0.05
        betas: tuple = (0.9, 0.99)
        eps: float = 1e-8
        weight_decay: float = 0.0
        max_grad_norm: Optional[float] = None

    class Adam:
        def __init__(self, params: Iterable[paddle.Tensor], config: AdamConfig):
            self.params = list(params)
            self.config = config
            self.state = [dict(m=paddle.zeros_like(p), v=paddle.zeros_like(p)) for p in self.params]
            self.t = 0

        def clip(self, grads):
            if self.config.max_grad_norm is None:
                return grads, None
            norm = paddle.sqrt(sum((g**2).sum() for g in grads))
            if norm > self.config.max_grad_norm:
                grads = [g * (self.config.max_grad_norm / (norm + 1e-6)) for g in grads]
            return grads, norm

        @paddle.no_grad()
        def step(self, grads):
            cfg = self.config
            self.t += 1
            b1, b2 = cfg.betas
            grads, norm = self.clip(grads)
            for p, g, s in zip(self.params, grads, self.state):
                s["m"] = b1 * s["m"] + (1 - b1) * g
                s["v"] = b2 * s["v"] + (1 - b2) * g * g
                m_hat = s["m"] / (1 - b1**self.t)
                v_hat = s["v"] / (1 - b2**self.t)
                update = m_hat / (paddle.sqrt(v_hat) + cfg.eps)
                if cfg.weight_decay:
                    update = update + cfg.weight_decay * p
                p.set_value(p - cfg.lr * update)
            return norm

    for config in (AdamConfig(), AdamConfig(weight_decay=0.1, max_grad_norm=0.5)):
        paddle.seed(1)
        model = MLP()
        optimizer = Adam(model.parameters(), config)

        def train_step(x, y):
            loss = F.mse_loss(model(x), y)
            grads = paddle.grad(loss, model.parameters())
            norm = optimizer.step(grads)
            return loss, norm

        step = convert(train_step)
        for i in range(4):
            yield step(*regression_batch(5 + i % 2, seed=i))
        yield optimizer.t, model.fc1.weight, optimizer.state[0]


@program
def lbfgs_two_loop(convert):
    """L-BFGS with the two-loop recursion, history in lists and a backtracking Armijo search."""

    class LBFGS:
        def __init__(self, objective, history_size=3, max_ls=8):
            self.objective = objective
            self.history_size = history_size
            self.max_ls = max_ls

        def value_and_grad(self, w):
            w = w.detach()
            w.stop_gradient = False
            f = self.objective(w)
            (g,) = paddle.grad(f, w)
            return f.detach(), g

        def direction(self, g, s_list, y_list):
            q = g
            alphas = []
            for s, y in zip(reversed(s_list), reversed(y_list)):
                rho = 1.0 / (y * s).sum()
                alpha = rho * (s * q).sum()
                q = q - alpha * y
                alphas.append((alpha, rho))
            if s_list:
                q = q * ((s_list[-1] * y_list[-1]).sum() / (y_list[-1] ** 2).sum())
            for (alpha, rho), s, y in zip(reversed(alphas), s_list, y_list):
                beta = rho * (y * q).sum()
                q = q + s * (alpha - beta)
            return -q

        def minimize(self, w, max_iter=6, gtol=1e-4):
            f, g = self.value_and_grad(w)
            s_list, y_list = [], []
            for k in range(max_iter):
                if g.abs().max() < gtol:
                    break
                d = self.direction(g, s_list, y_list)
                slope = (g * d).sum()
                t = 1.0
                for _ in range(self.max_ls):
                    f_new, g_new = self.value_and_grad(w + t * d)
                    if f_new <= f + 1e-4 * t * slope:
                        break
                    t = t * 0.5
                s, y = t * d, g_new - g
                if (s * y).sum() > 1e-10:
                    s_list.append(s)
                    y_list.append(y)
                    if len(s_list) > self.history_size:
                        s_list.pop(0)
                        y_list.pop(0)
                w, f, g = w + s, f_new, g_new
            return w, f, k

    def rosenbrock(w):
        return (100.0 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2).sum()

    def quadratic(w):
        scale = paddle.arange(1, w.shape[0] + 1, dtype="float32")
        return 0.5 * (scale * (w - 1.0) ** 2).sum()

    for objective, iters in ((quadratic, 4), (rosenbrock, 3)):
        optimizer = LBFGS(objective)
        minimize = convert(optimizer.minimize)
        yield minimize(paddle.to_tensor([-1.2, 1.0]), max_iter=iters)
        yield minimize(paddle.to_tensor([0.0, 0.5, 2.0]), max_iter=iters)
        yield minimize(paddle.ones([2]), max_iter=iters)


@program
def rprop_and_sign_methods(convert):
    """Rprop, signSGD and Lion behind one interface; per-element step sizes adapt with where()."""

    class Base:
        defaults: Dict[str, float] = {}

        def __init__(self, **hyper):
            unknown = set(hyper) - set(self.defaults)
            if unknown:
                raise TypeError(f"unknown hyper-parameters {sorted(unknown)}")
            self.hyper = {**self.defaults, **hyper}
            self.buffers: Dict[str, paddle.Tensor] = {}

        def __getattr__(self, name):
            try:
                return self.__dict__["hyper"][name]
            except KeyError:
                raise AttributeError(name)

        def buffer(self, name, like, value=0.0):
            if name not in self.buffers:
                self.buffers[name] = paddle.full_like(like, value)
            return self.buffers[name]

    class Rprop(Base):
        defaults = dict(step=0.1, up=1.2, down=0.5, max_step=1.0, min_step=1e-4)

        def __call__(self, w, g):
            last = self.buffer("last", g)
            size = self.buffer("size", g, self.step)
            agree = g * last
            size = paddle.where(
                agree > 0, size * self.up, paddle.where(agree < 0, size * self.down, size)
            )
            size = paddle.clip(size, min=self.min_step, max=self.max_step)
            g = paddle.where(agree < 0, paddle.zeros_like(g), g)
            self.buffers.update(last=g, size=size)
            return w - paddle.sign(g) * size

    class Lion(Base):
        defaults = dict(lr=0.05, b1=0.9, b2=0.99, decay=0.0)

        def __call__(self, w, g):
            m = self.buffer("m", g)
            direction = paddle.sign(self.b1 * m + (1 - self.b1) * g)
            self.buffers["m"] = self.b2 * m + (1 - self.b2) * g
            return w - self.lr * (direction + self.decay * w)

    class SignSGD(Base):
        defaults = dict(lr=0.1)

        def __call__(self, w, g):
            if (g.abs() > 10).any():
                print("large gradient, halving the step")
                self.hyper["lr"] /= 2
            return w - self.lr * g.sign()

    yield attempt(lambda: Lion(speed=1))
    for optimizer in (Rprop(), Rprop(up=1.5), Lion(decay=0.1), SignSGD()):

        @convert
        def update(w, curvature):
            w = w.detach()
            w.stop_gradient = False
            loss = (curvature * w * w).sum()
            loss.backward()
            with paddle.no_grad():
                return optimizer(w, w.grad), loss.detach()

        w = paddle.to_tensor([1.0, -2.0, 3.0])
        for curvature in (1.0, 1.0, 2.0, 0.5, 3.0):
            w, loss = update(w, paddle.to_tensor([curvature, 1.0, 0.3]))
            yield w, loss
        yield optimizer.buffers, optimizer.hyper


@program
def trainer_with_callbacks(convert):
    """A small Trainer: LR schedule, gradient accumulation, NaN guard, early stopping, callbacks."""

    @dataclass
    class TrainerState:
        step: int = 0
        best: float = float("inf")
        bad_epochs: int = 0
        history: List[dict] = field(default_factory=list)

    class Callback:
        def on_step(self, trainer, loss): ...

        def on_epoch(self, trainer, metrics): ...

    class Printer(Callback):
        def on_epoch(self, trainer, metrics):
            print("epoch done:", ", ".join(f"{k}={v:.3f}" for k, v in metrics.items()))

    class EarlyStopping(Callback):
        def __init__(self, patience=1):
            self.patience = patience
            self.stopped = False

        def on_epoch(self, trainer, metrics):
            state = trainer.state
            if metrics["loss"] < state.best:
                state.best = metrics["loss"]
                state.bad_epochs = 0
            else:
                state.bad_epochs += 1
                self.stopped = state.bad_epochs > self.patience

    class Trainer:
        def __init__(self, model, lr=0.1, accumulate=2, callbacks=()):
            self.model = model
            self.optimizer = paddle.optimizer.Momentum(
                learning_rate=lr, momentum=0.5, parameters=model.parameters()
            )
            self.accumulate = accumulate
            self.callbacks = list(callbacks)
            self.state = TrainerState()
            self.training_step = convert(self.training_step)

        def training_step(self, x, y):
            loss = F.smooth_l1_loss(self.model(x), y)
            if not paddle.isfinite(loss):
                return loss, False
            (loss / self.accumulate).backward()
            return loss, True

        def epoch(self, batches):
            losses = []
            for x, y in batches:
                loss, ok = self.training_step(x, y)
                if not ok:
                    continue
                losses.append(loss)
                self.state.step += 1
                if self.state.step % self.accumulate == 0:
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                for callback in self.callbacks:
                    callback.on_step(self, loss)
            metrics = {"loss": float(paddle.stack(losses).mean())}
            self.state.history.append(metrics)
            for callback in self.callbacks:
                callback.on_epoch(self, metrics)
            return metrics

    paddle.seed(2)
    stopping = EarlyStopping()
    trainer = Trainer(MLP(), callbacks=[Printer(), stopping])
    batches = [regression_batch(4, seed=s) for s in range(4)]
    x, y = regression_batch(3, seed=9)
    batches.insert(2, (x * float("nan"), y))
    for _ in range(4):
        yield trainer.epoch(batches)
        if stopping.stopped:
            break
    yield trainer.state
    yield list(trainer.model.parameters())


@program
def sam_and_ema(convert):
    """Sharpness-aware minimisation with two backward passes, an EMA copy used in eval mode."""

    class EMA:
        def __init__(self, model, decay=0.8):
            self.decay = decay
            self.shadow = OrderedDict((n, p.clone().detach()) for n, p in model.named_parameters())
            self.backup = {}

        @paddle.no_grad()
        def update(self, model):
            for name, p in model.named_parameters():
                self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p

        @contextmanager
        def applied_to(self, model):
            self.backup = {n: p.clone() for n, p in model.named_parameters()}
            for n, p in model.named_parameters():
                p.set_value(self.shadow[n])
            try:
                yield model
            finally:
                for n, p in model.named_parameters():
                    p.set_value(self.backup[n])
                self.backup = {}

    class SAM:
        def __init__(self, model, base, rho=0.05):
            self.model, self.base, self.rho = model, base, rho

        def step(self, x, y):
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            params = [p for p in self.model.parameters() if p.grad is not None]
            norm = paddle.sqrt(paddle.add_n([(p.grad**2).sum() for p in params]))
            scale = self.rho / (norm + 1e-12)
            shifts = []
            with paddle.no_grad():
                for p in params:
                    e = p.grad * scale
                    p.set_value(p + e)
                    shifts.append(e)
            self.base.clear_grad()
            second = F.mse_loss(self.model(x), y)
            second.backward()
            with paddle.no_grad():
                for p, e in zip(params, shifts):
                    p.set_value(p - e)
            self.base.step()
            self.base.clear_grad()
            return loss.detach(), second.detach(), norm

    paddle.seed(4)
    model = MLP()
    base = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    sam, ema = SAM(model, base), EMA(model)
    step, update = convert(sam.step), convert(ema.update)
    for i in range(4):
        yield step(*regression_batch(6, seed=i))
        update(model)
    x, y = regression_batch(5, seed=99)
    evaluate = convert(lambda x, y: F.mse_loss(model(x), y))
    with paddle.no_grad():
        yield evaluate(x, y)
        with ema.applied_to(model):
            yield evaluate(x, y)
    yield ema, model


@program
def lr_schedules_and_warmup(convert):
    """Schedules composed by a chain; the scale for mixed precision grows and backs off."""

    class Schedule:
        def __call__(self, step: int) -> float:
            raise NotImplementedError

        def __rshift__(self, other):
            return Chain([self, other])

    class Warmup(Schedule):
        def __init__(self, steps, peak):
            self.steps, self.peak = steps, peak
            self.length = steps

        def __call__(self, step):
            return self.peak * (step + 1) / self.steps

    class Cosine(Schedule):
        def __init__(self, length, peak, floor=0.0):
            self.length, self.peak, self.floor = length, peak, floor

        def __call__(self, step):
            return self.floor + 0.5 * (self.peak - self.floor) * (
                1 + math.cos(math.pi * step / self.length)
            )

    class Chain(Schedule):
        def __init__(self, parts):
            self.parts = parts

        def __call__(self, step):
            for part in self.parts[:-1]:
                if step < part.length:
                    return part(step)
                step -= part.length
            return self.parts[-1](min(step, self.parts[-1].length))

    class DynamicScaler:
        def __init__(self, scale=8.0, growth_interval=2):
            self.scale = paddle.to_tensor(scale)
            self.good_steps = 0
            self.growth_interval = growth_interval

        def unscale(self, grads):
            inverse = 1.0 / self.scale
            grads = [g * inverse for g in grads]
            finite = paddle.stack([paddle.isfinite(g).all() for g in grads]).all()
            return grads, finite

        def update(self, finite):
            if not finite:
                self.scale = self.scale * 0.5
                self.good_steps = 0
            else:
                self.good_steps += 1
                if self.good_steps % self.growth_interval == 0:
                    self.scale = self.scale * 2.0

    schedule = Warmup(2, 0.1) >> Cosine(4, 0.1, floor=0.01)
    scaler = DynamicScaler()

    @convert
    def train_step(w, x, step):
        w.stop_gradient = False
        loss = ((w * x) ** 2).sum()
        (grad,) = paddle.grad([loss * scaler.scale], [w])
        (grad,), finite = scaler.unscale([grad])
        scaler.update(finite)
        if finite:
            w = w - schedule(step) * grad
        return w.detach(), loss.detach()

    w = paddle.to_tensor([1.0, 2.0])
    for step, factor in enumerate((1.0, 1.0, float("inf"), 1.0, 2.0, 1.0, 0.5)):
        w, loss = train_step(w, paddle.to_tensor([factor, 1.0]), step)
        yield w, scaler.scale, scaler.good_steps
    yield [round(schedule(s), 6) for s in range(8)]


@program
def natural_gradient_cg(convert):
    """A Fisher-vector product through double backward, solved with a few CG trips, with a trust region."""

    class Policy(nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([3, 4])

        def forward(self, s):
            e = paddle.exp(paddle.matmul(s, self.w))
            return e / e.sum(axis=-1, keepdim=True)

    def conjugate_gradient(hvp, b, iters=4, tol=1e-6):
        x, r = paddle.zeros_like(b), b
        p, rr = r, (r * r).sum()
        for _ in range(iters):
            hp = hvp(p)
            alpha = rr / ((p * hp).sum() + 1e-8)
            x, r = x + alpha * p, r - alpha * hp
            rr_new = (r * r).sum()
            if rr_new < tol:
                break
            p, rr = r + (rr_new / rr) * p, rr_new
        return x

    class NaturalGradient:
        def __init__(self, policy, max_kl=0.01, damping=0.1):
            self.policy, self.max_kl, self.damping = policy, max_kl, damping

        def surrogate(self, states, actions, advantages):
            probs = self.policy(states)
            chosen = paddle.take_along_axis(probs, actions.unsqueeze(1), axis=1).squeeze(1)
            return (paddle.log(chosen) * advantages).mean()

        def step(self, states, actions, advantages):
            w = self.policy.w
            (g,) = paddle.grad(self.surrogate(states, actions, advantages), w)
            old = self.policy(states).detach()

            def fisher_vector(v):
                new = self.policy(states)
                kl = (old * (paddle.log(old) - paddle.log(new))).sum(-1).mean()
                (first,) = paddle.grad(kl, w, create_graph=True)
                (second,) = paddle.grad((first * v).sum(), w)
                return second + self.damping * v

            d = conjugate_gradient(fisher_vector, g)
            shs = 0.5 * (d * fisher_vector(d)).sum()
            if shs <= 0:
                return g, False
            full = d * paddle.sqrt(self.max_kl / shs)
            before = self.surrogate(states, actions, advantages)
            for k in range(3):
                w.set_value(w + full * 0.5**k)
                if self.surrogate(states, actions, advantages) > before:
                    return full, True
                w.set_value(w - full * 0.5**k)
            return full, False

    paddle.seed(6)
    policy = Policy()
    natural = NaturalGradient(policy)
    step = convert(natural.step)
    rng = np.random.RandomState(0)
    for n in (5, 5, 6):
        states = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        actions = paddle.to_tensor(rng.randint(0, 4, n))
        yield step(states, actions, paddle.to_tensor(rng.randn(n).astype("float32")))
        yield policy.w


@program
def evolution_strategies(convert):
    """CMA-like evolution: a population on tensors, elites by topk, sigma adapted by success."""

    class ES:
        def __init__(self, dim, population=6, elite=2, sigma=0.5):
            self.mean = paddle.zeros([dim])
            self.cov = paddle.ones([dim])
            self.sigma = sigma
            self.population, self.elite = population, elite
            self.best = (None, float("inf"))
            self.generation = 0

        def ask(self, noise):
            return self.mean + self.sigma * paddle.sqrt(self.cov) * noise

        def tell(self, samples, fitness):
            values, index = paddle.topk(fitness, k=self.elite, largest=False)
            elites = paddle.index_select(samples, index, axis=0)
            weights = F.softmax(-values, axis=0).unsqueeze(1)
            old = self.mean
            self.mean = (weights * elites).sum(axis=0)
            self.cov = 0.7 * self.cov + 0.3 * (weights * (elites - old) ** 2).sum(0) / self.sigma**2
            if values[0] < self.best[1]:
                self.best = (elites[0], values[0])
                self.sigma *= 1.1
            else:
                self.sigma *= 0.8
            self.generation += 1

        def run(self, f, noises, target=0.05):
            for g in range(noises.shape[0]):
                samples = self.ask(noises[g])
                fitness = f(samples)
                self.tell(samples, fitness)
                if self.best[1] < target:
                    break
            return self.mean, self.best, self.generation

    def sphere(x):
        return ((x - 0.5) ** 2).sum(axis=-1)

    rng = np.random.RandomState(1)
    es = ES(dim=3)
    tell = convert(es.tell)
    for _ in range(3):
        samples = es.ask(paddle.to_tensor(rng.randn(6, 3).astype("float32")))
        tell(samples, sphere(samples))
        yield es.mean, es.sigma
    whole = ES(dim=2, sigma=0.3)
    run = convert(whole.run)
    yield run(sphere, paddle.to_tensor(rng.randn(4, 6, 2).astype("float32")))
    yield run(sphere, paddle.to_tensor(rng.randn(3, 6, 2).astype("float32")), target=1e-6)
    yield whole


@program
def projected_gradient_and_admm(convert):
    """ADMM for the lasso with residual balancing; projections onto the simplex and the box."""

    def soft_threshold(x, k):
        return paddle.sign(x) * F.relu(x.abs() - k)

    def project_simplex(v):
        u = paddle.sort(v, descending=True)
        css = paddle.cumsum(u) - 1
        k = paddle.arange(1, v.shape[0] + 1, dtype=v.dtype)
        rho = (u - css / k > 0).astype("int64").sum()
        theta = css[rho - 1] / rho.astype(v.dtype)
        return F.relu(v - theta)

    class ADMM:
        def __init__(self, rho=1.0, mu=10.0, max_iter=15, tol=1e-3):
            self.rho, self.mu, self.max_iter, self.tol = rho, mu, max_iter, tol
            self.log = []

        def lasso(self, a, b, lam):
            n = a.shape[1]
            rho = self.rho
            z = u = paddle.zeros([n])
            gram, atb = a.t() @ a, a.t() @ b
            for it in range(self.max_iter):
                x = paddle.linalg.solve(
                    gram + rho * paddle.eye(n), (atb + rho * (z - u)).unsqueeze(1)
                ).squeeze(1)
                z_old = z
                z = soft_threshold(x + u, lam / rho)
                u = u + x - z
                primal, dual = paddle.norm(x - z), rho * paddle.norm(z - z_old)
                if primal < self.tol and dual < self.tol:
                    break
                if primal > self.mu * dual:
                    rho, u = rho * 2, u / 2
                elif dual > self.mu * primal:
                    rho, u = rho / 2, u * 2
            self.log.append((it, rho))
            return z

    @convert
    def portfolio(mu, cov, steps=8, lr=0.2, constraint="simplex"):
        project = {"simplex": project_simplex, "box": lambda v: v.clip(0, 0.6)}[constraint]
        w = paddle.full_like(mu, 1.0 / mu.shape[0])
        for _ in range(steps):
            new = project(w - lr * (cov @ w - mu))
            if (new - w).abs().max() < 1e-5:
                return new, True
            w = new
        return w, False

    rng = np.random.RandomState(3)
    admm = ADMM(max_iter=8)
    lasso = convert(admm.lasso)
    for lam in (0.1, 1.0, 50.0):
        a = paddle.to_tensor(rng.randn(6, 3).astype("float32"))
        yield lasso(a, paddle.to_tensor(rng.randn(6).astype("float32")), lam)
    yield admm.log
    for constraint in ("simplex", "box"):
        m = paddle.to_tensor(rng.randn(3, 3).astype("float32") * 0.3)
        yield portfolio(paddle.to_tensor([0.3, 0.1, 0.2]), m @ m.t(), constraint=constraint)
    yield attempt(lambda: portfolio(paddle.ones([2]), paddle.eye(2), constraint="ball"))
