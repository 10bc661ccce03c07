"""Optimisers, step sizes and averages of weights that somebody wrote for a paper or an evening."""

import math
from collections import OrderedDict, defaultdict, deque
from contextlib import contextmanager
from functools import partial

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


def net(*sizes, seed=3):
    paddle.seed(seed)
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def batch(n, d, seed):
    rng = np.random.RandomState(seed)
    x = rng.randn(n, d).astype("float32")
    return T(x), T((x.sum(1, keepdims=True) > 0).astype("float32"))


@program
def muon_with_cautious_updates(convert):
    """Momentum that is orthogonalised by Newton-Schulz; updates against the gradient are masked."""

    class Muon:
        def __init__(self, params, lr=0.05, momentum=0.9, steps=4, cautious=False):
            self.params, self.lr, self.momentum = list(params), lr, momentum
            self.steps, self.cautious = steps, cautious
            self.buffers = {}
            self.t = 0

        @staticmethod
        def orthogonal(g, steps):
            a, b, c = 3.4445, -4.7750, 2.0315
            x = g / (g.norm() + 1e-7)
            tall = g.shape[0] > g.shape[1]
            if tall:
                x = x.t()
            for _ in range(steps):
                s = x @ x.t()
                x = a * x + (b * s + c * s @ s) @ x
            return x.t() if tall else x

        @paddle.no_grad()
        def step(self):
            self.t += 1
            for i, p in enumerate(self.params):
                if p.grad is None:
                    continue
                g = p.grad
                buf = self.buffers.get(i)
                buf = g.clone() if buf is None else self.momentum * buf + g
                self.buffers[i] = buf
                u = g + self.momentum * buf
                if p.ndim == 2 and min(p.shape) > 1:
                    u = self.orthogonal(u, self.steps) * max(1, p.shape[0] / p.shape[1]) ** 0.5
                else:
                    u = u / (u.norm() + 1e-8)
                if self.cautious:
                    mask = (u * g > 0).astype(u.dtype)
                    if mask.mean() > 0:
                        u = u * mask / mask.mean().clip(min=1e-3)
                p.subtract_(self.lr * u)

        def clear(self):
            for p in self.params:
                p.clear_gradient()

    for cautious in (False, True):
        model = net(3, 5, 1)
        opt = Muon(model.parameters(), cautious=cautious)

        @convert
        def train(x, y):
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            loss.backward()
            opt.step()
            opt.clear()
            return loss

        for n, seed in ((8, 0), (8, 1), (5, 2)):
            yield attempt(lambda: train(*batch(n, 3, seed)))
        opt.lr = 0.01
        yield attempt(lambda: train(*batch(5, 3, 4)))
        yield opt.t, [p + 0 for p in model.parameters()], opt.buffers[0]


@program
def layers_with_their_own_trust(convert):
    """LARS and LAMB with groups: rates, decay and exclusion by name, trust ratio clipped, state saved and loaded."""

    class Group(dict):
        __getattr__ = dict.__getitem__

    class Layerwise:
        def __init__(self, groups, kind="lamb"):
            self.groups = [Group({"lr": 0.1, "decay": 0.01, **g}) for g in groups]
            self.state, self.kind, self.steps = defaultdict(dict), kind, 0

        def direction(self, p, g, s, decay):
            if self.kind == "lars":
                u = g + decay * p
                s["m"] = u if "m" not in s else 0.9 * s["m"] + u
                return s["m"]
            s.setdefault("m", paddle.zeros_like(p))
            s.setdefault("v", paddle.zeros_like(p))
            s["m"] = 0.9 * s["m"] + 0.1 * g
            s["v"] = 0.99 * s["v"] + 0.01 * g * g
            m = s["m"] / (1 - 0.9**self.steps)
            v = s["v"] / (1 - 0.99**self.steps)
            return m / (v.sqrt() + 1e-6) + decay * p

        def trust(self, p, u):
            wn, un = p.norm(), u.norm()
            if wn > 0 and un > 0:
                return (wn / un).clip(max=10.0)
            return 1.0

        def step(self):
            self.steps += 1
            ratios = {}
            with paddle.no_grad():
                for group in self.groups:
                    for p in group.params:
                        if p.grad is None:
                            continue
                        u = self.direction(p, p.grad, self.state[p.name], group.decay)
                        r = self.trust(p, u) if group.get("adapt", True) else 1.0
                        ratios[len(ratios)] = r
                        p.set_value(p - group.lr * r * u)
                        p.clear_gradient()
            return ratios

        def state_list(self):
            return [{k: v.clone() for k, v in s.items()} for s in self.state.values()]

    for kind in ("lamb", "lars"):
        model = net(3, 4, 1)
        weights = [p for n, p in model.named_parameters() if n.endswith("weight")]
        biases = [p for n, p in model.named_parameters() if n.endswith("bias")]
        opt = Layerwise(
            [{"params": weights}, {"params": biases, "decay": 0.0, "adapt": kind == "lamb"}], kind
        )

        def step(x, y):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss, opt.step()

        run = convert(step)
        for n, seed in ((6, 0), (4, 1), (4, 2)):
            yield attempt(lambda: run(*batch(n, 3, seed)))
        yield opt.steps, opt.state_list(), [p + 0 for p in model.parameters()]


@program
def preconditioned_by_kronecker_factors(convert):
    """Shampoo: statistics per axis, roots by eigenvalues every few steps, grafting onto SGD."""

    def root(mat, power, eps=1e-4):
        vals, vecs = paddle.linalg.eigh(mat + eps * paddle.eye(mat.shape[0]))
        return vecs * vals.clip(min=eps) ** power @ vecs.t()

    class Shampoo:
        every = 2

        def __init__(self, params, lr):
            self.params, self.lr, self.t = params, lr, 0
            self.stats = [[paddle.zeros([n, n]) for n in p.shape] for p in params]
            self.roots = [[paddle.eye(n) for n in p.shape] for p in params]

        def precondition(self, k, g):
            order = g.ndim
            for axis in range(order):
                flat = paddle.moveaxis(g, axis, 0).reshape([g.shape[axis], -1])
                self.stats[k][axis] = 0.95 * self.stats[k][axis] + flat @ flat.t()
                if self.t % self.every == 1:
                    self.roots[k][axis] = root(self.stats[k][axis], -1 / (2 * order))
            out = g
            for axis in range(order):
                out = paddle.moveaxis(
                    paddle.tensordot(self.roots[k][axis], out, axes=[[1], [axis]]), 0, axis
                )
            graft = g.norm() / (out.norm() + 1e-8)
            if not paddle.isfinite(graft):
                return g
            return out * graft

        def step(self, loss):
            grads = paddle.grad(loss, self.params)
            self.t += 1
            with paddle.no_grad():
                for k, (p, g) in enumerate(zip(self.params, grads)):
                    p.set_value(p - self.lr * self.precondition(k, g))

    model = net(3, 4, 2)
    opt = Shampoo(model.parameters(), 0.1)

    @convert
    def fit(x, y, l1=0.0):
        loss = F.mse_loss(model(x).sum(-1, keepdim=True), y)
        if l1:
            loss = loss + l1 * sum(p.abs().sum() for p in opt.params)
        opt.step(loss)
        return loss.detach()

    for n, seed, l1 in ((6, 0, 0.0), (6, 1, 0.0), (4, 2, 1e-3), (4, 3, 1e-3), (4, 4, 0.0)):
        yield attempt(lambda: fit(*batch(n, 3, seed), l1=l1)), opt.t
    yield opt.stats[0], opt.roots[1]


@program
def steps_from_barzilai_and_polyak(convert):
    """Step sizes from secants and from a lower bound of the loss; safeguards; a history of what was taken."""

    class StepRule:
        def __init__(self, lo=1e-3, hi=2.0):
            self.lo, self.hi = lo, hi
            self.history = deque(maxlen=3)

        def __call__(self, **info):
            value = self.propose(**info)
            if value is None or not bool(paddle.isfinite(value)):
                value = paddle.full([], self.lo)
            value = value.clip(self.lo, self.hi)
            self.history.append(value)
            return value

    class Barzilai(StepRule):
        def __init__(self, short=False, **kw):
            super().__init__(**kw)
            self.short, self.previous = short, None

        def propose(self, x, g, f):
            old, self.previous = self.previous, (x, g)
            if old is None:
                return None
            s, y = x - old[0], g - old[1]
            sy = (s * y).sum()
            if sy <= 0:
                return paddle.full([], self.hi / 4)
            return sy / (y * y).sum() if self.short else (s * s).sum() / sy

    class Polyak(StepRule):
        def __init__(self, bound=0.0, **kw):
            super().__init__(**kw)
            self.bound = bound

        def propose(self, x, g, f):
            if f < self.bound:
                self.bound = f - 1.0
            return (f - self.bound) / (g * g).sum()

    def rosen(x):
        return ((1 - x[:-1]) ** 2).sum() + 2 * ((x[1:] - x[:-1] ** 2) ** 2).sum()

    def bowl(x):
        return (x * x * paddle.arange(1, x.shape[0] + 1, dtype=x.dtype)).sum() - 0.5

    @convert
    def minimise(fn, x0, rule, steps=12, tol=1e-2):
        x = x0
        for k in range(steps):
            x = x.detach()
            x.stop_gradient = False
            f = fn(x)
            (g,) = paddle.grad(f, [x])
            if g.norm() < tol:
                break
            x = x - rule(x=x.detach(), g=g, f=f.detach()) * g
        return x.detach(), f.detach(), k

    for fn, rule, start in (
        (rosen, Barzilai(), [0.5, 1.2, 0.8]),
        (bowl, Barzilai(short=True), [1.0, -1.0]),
        (bowl, Polyak(-0.5), [1.0, -1.0]),
        (bowl, Polyak(0.3), [1.0, -1.0, 0.2]),
    ):
        yield attempt(lambda: minimise(fn, T(start), rule)), list(rule.history)
    yield attempt(lambda: minimise(bowl, T([0.0, 0.0]), Barzilai()))


@program
def average_of_weights_with_fresh_statistics(convert):
    """SWA that starts late, is swapped in for evaluation, and recomputes what batch norm remembers."""

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            paddle.seed(5)
            self.fc1, self.bn, self.fc2 = nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Linear(4, 1)

        def forward(self, x):
            return self.fc2(F.relu(self.bn(self.fc1(x))))

    class SWA:
        def __init__(self, model, start=2, every=1):
            self.model, self.start, self.every = model, start, every
            self.count = 0
            self.average = None

        def update(self, step):
            if step < self.start or (step - self.start) % self.every:
                return False
            now = OrderedDict((k, v.detach().clone()) for k, v in self.model.named_parameters())
            if self.average is None:
                self.average = now
            else:
                for k, v in now.items():
                    self.average[k] += (v - self.average[k]) / (self.count + 1)
            self.count += 1
            return True

        @contextmanager
        def applied(self):
            if self.average is None:
                yield self.model
                return
            backup = {k: v.clone() for k, v in self.model.state_dict().items()}
            try:
                for k, p in self.model.named_parameters():
                    p.set_value(self.average[k])
                yield self.model
            finally:
                self.model.set_state_dict(backup)

        def refresh(self, batches):
            for layer in self.model.sublayers():
                if isinstance(layer, nn.BatchNorm1D):
                    layer._mean.set_value(paddle.zeros_like(layer._mean))
                    layer._variance.set_value(paddle.ones_like(layer._variance))
            self.model.train()
            with paddle.no_grad():
                for x, _ in batches:
                    self.model(x)

    model = Net()
    swa = SWA(model)
    sgd = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters())

    @convert
    def step(x, y, i):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        return loss.detach(), swa.update(i)

    @convert
    def evaluate(batches):
        with swa.applied() as m:
            swa.refresh(batches)
            m.eval()
            total = sum(F.mse_loss(m(x), y) for x, y in batches) / len(batches)
            mean = m.bn._mean.clone()
        m.train()
        return total, mean

    yield attempt(lambda: evaluate([batch(4, 3, 9)]))
    for i in range(5):
        yield attempt(lambda: step(*batch(6, 3, i), i))
    yield attempt(lambda: evaluate([batch(4, 3, 9), batch(5, 3, 10)]))
    yield swa.count, swa.average, model.bn._mean + 0


@program
def one_cycle_with_momentum_and_state(convert):
    """Rate and momentum follow one another over phases; the schedule is saved, loaded and may be cut short."""

    def linear(a, b, t):
        return a + (b - a) * t

    def cosine(a, b, t):
        return b + (a - b) / 2 * (1 + math.cos(math.pi * t))

    class Phase:
        def __init__(self, length, lr, momentum, shape=linear):
            self.length, self.lr, self.momentum, self.shape = length, lr, momentum, shape

        def at(self, i):
            t = i / self.length
            return self.shape(*self.lr, t), self.shape(*self.momentum, t)

    class Cycle:
        def __init__(self, *phases):
            self.phases, self.i, self.stopped = phases, 0, False

        def state_dict(self):
            return {k: v for k, v in self.__dict__.items() if k != "phases"}

        def load(self, state):
            self.__dict__.update(state)

        @property
        def now(self):
            i = self.i
            for phase in self.phases:
                if i < phase.length:
                    return phase.at(i)
                i -= phase.length
            return self.phases[-1].at(self.phases[-1].length)

        def step(self, loss, best):
            self.i += 1
            if loss > 4 * best:
                self.stopped = True
            return self.stopped

    class Runner:
        def __init__(self, cycle):
            self.cycle = cycle
            self.w = paddle.create_parameter(
                [3], "float32", default_initializer=nn.initializer.Constant(0.5)
            )
            self.v = paddle.zeros([3])
            self.best = paddle.full([], float("inf"))
            self.log = []

        def train(self, x, y, steps):
            for _ in range(steps):
                lr, mu = self.cycle.now
                loss = ((x @ self.w - y[:, 0]) ** 2).mean()
                (g,) = paddle.grad(loss, [self.w])
                self.v = mu * self.v - lr * g
                with paddle.no_grad():
                    self.w.add_(self.v)
                loss = loss.detach()
                if loss < self.best:
                    self.best = loss
                self.log.append(round(lr, 4))
                if self.cycle.step(loss, self.best):
                    break
            return loss, self.w.clone()

    cycle = Cycle(
        Phase(3, (0.02, 0.2), (0.95, 0.85)), Phase(4, (0.2, 0.001), (0.85, 0.95), shape=cosine)
    )
    runner = Runner(cycle)
    train = convert(runner.train)
    yield attempt(lambda: train(*batch(6, 3, 1), 2)), list(runner.log)
    saved = cycle.state_dict()
    yield attempt(lambda: train(*batch(6, 3, 2), 3)), list(runner.log)
    cycle.load(saved)
    yield attempt(lambda: train(*batch(6, 3, 2), 3)), list(runner.log), cycle.state_dict()
    yield (
        attempt(lambda: train(*[30 * v for v in batch(4, 3, 3)], 3)),
        list(runner.log),
        cycle.state_dict(),
    )


@program
def noise_scale_that_sets_the_batch(convert):
    """The gradient noise scale from small and large batches decides how many are accumulated next."""

    class NoiseScale:
        def __init__(self, decay=0.5):
            self.decay, self.g2, self.s, self.n = decay, None, None, 0

        def ema(self, old, new):
            return new if old is None else self.decay * old + (1 - self.decay) * new

        def update(self, small, big, b, B):
            g2 = (B * big - b * small) / (B - b)
            s = (small - big) / (1 / b - 1 / B)
            self.g2, self.s = self.ema(self.g2, g2), self.ema(self.s, s)
            self.n += 1

        @property
        def value(self):
            if self.g2 is None:
                return None
            if self.g2 <= 0:
                return paddle.full([], float("inf"))
            return self.s / self.g2

    model = net(3, 4, 1)
    scale = NoiseScale()
    squared = partial(sum, start=paddle.zeros([]))

    @convert
    def step(x, y, accumulate):
        micro = x.shape[0] // accumulate
        norms = []
        total = None
        for k in range(accumulate):
            part = slice(k * micro, (k + 1) * micro)
            loss = F.mse_loss(model(x[part]), y[part])
            grads = paddle.grad(loss, model.parameters())
            norms.append(squared(g.square().sum() for g in grads))
            total = grads if total is None else [a + g for a, g in zip(total, grads)]
        mean = [t / accumulate for t in total]
        if accumulate > 1:
            small = sum(norms) / len(norms)
            big = squared(g.square().sum() for g in mean)
            scale.update(small, big, micro, micro * accumulate)
        with paddle.no_grad():
            for p, g in zip(model.parameters(), mean):
                p.set_value(p - 0.1 * g)
        value = scale.value
        if value is None:
            return 2, None
        if value > 1e6 or value < 0:
            return accumulate, value
        return int(paddle.clip(paddle.ceil(value / micro), 1, 4)), value

    accumulate = 1
    for seed in range(5):
        got = attempt(lambda: step(*batch(8, 3, seed), accumulate))
        yield got, scale.n
        if isinstance(got, tuple) and isinstance(got[0], int):
            accumulate = got[0]
