"""Augmentation policies, meta-learned updates, and control of how much is computed."""

import functools
import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import program


@program
def augmentation_policy_from_draws(convert):
    """RandAugment with the draws given as a tensor: ops in a table, magnitudes, a final cut-out."""

    def brightness(img, m):
        return paddle.clip(img * (1 + m), 0, 1)

    def contrast(img, m):
        mean = img.mean()
        return paddle.clip((img - mean) * (1 + m) + mean, 0, 1)

    def invert(img, m):
        return paddle.where(img > 1 - m, 1 - img, img)

    def shift(img, m, axis=1):
        by = (m * img.shape[axis]).astype("int64")
        return paddle.roll(img, shifts=1, axis=axis) if by > 0 else img

    OPS = {
        "brightness": brightness,
        "contrast": contrast,
        "invert": invert,
        "shift_x": functools.partial(shift, axis=1),
        "shift_y": functools.partial(shift, axis=0),
    }

    class Policy:
        def __init__(self, ops, depth, top=0.5):
            self.ops = list(ops.items())
            self.depth = depth
            self.top = top
            self.used = Counter()

        def pick(self, draw):
            index = int(draw * len(self.ops))
            return self.ops[min(index, len(self.ops) - 1)]

        @convert
        def __call__(self, img, draws):
            for k in range(self.depth):
                name, op = self.pick(draws[k, 0])
                magnitude = draws[k, 1] * self.top
                if draws[k, 2] < 0.8:
                    img = op(img, magnitude)
                    self.used[name] += 1
            return self.cutout(img, draws[self.depth])

        def cutout(self, img, place, size=2):
            h, w = img.shape
            top = (place[0] * (h - size)).astype("int64")
            left = (place[1] * (w - size)).astype("int64")
            rows = paddle.arange(h).unsqueeze(1)
            cols = paddle.arange(w).unsqueeze(0)
            inside = paddle.logical_and(
                paddle.logical_and(rows >= top, rows < top + size),
                paddle.logical_and(cols >= left, cols < left + size),
            )
            return paddle.where(inside, paddle.zeros_like(img), img)

    policy = Policy(OPS, depth=2)
    rng = np.random.RandomState(14)
    for size in (4, 4, 6):
        img = paddle.to_tensor(rng.rand(size, size).astype("float32"))
        draws = paddle.to_tensor(rng.rand(3, 3).astype("float32"))
        yield policy(img, draws), dict(policy.used)


@program
def audio_pipeline_with_composed_steps(convert):
    """Gain, trimming of silence, padding to a length and noise at a wanted ratio, composed."""

    class Compose:
        def __init__(self, *steps):
            self.steps = steps

        def __call__(self, wave):
            return functools.reduce(lambda value, step: step(value), self.steps, wave)

        def __or__(self, step):
            return Compose(*self.steps, step)

    @dataclass
    class Normalise:
        peak: float = 0.9
        eps: float = 1e-8

        def __call__(self, wave):
            top = wave.abs().max()
            if top < self.eps:
                return wave
            return wave * (self.peak / top)

    @dataclass
    class Trim:
        threshold: float

        def __call__(self, wave):
            loud = paddle.nonzero(wave.abs() > self.threshold).flatten()
            if len(loud) == 0:
                return wave[:1]
            return wave[loud[0] : loud[-1] + 1]

    @dataclass
    class FixLength:
        size: int

        def __call__(self, wave):
            missing = self.size - wave.shape[0]
            if missing > 0:
                return F.pad(wave, [0, missing])
            return wave[: self.size]

    @dataclass
    class AddNoise:
        noise: paddle.Tensor
        snr_db: float

        def __call__(self, wave):
            power = wave.square().mean()
            wanted = power / 10 ** (self.snr_db / 10)
            have = self.noise[: wave.shape[0]].square().mean()
            return wave + self.noise[: wave.shape[0]] * paddle.sqrt(wanted / have)

    rng = np.random.RandomState(15)
    noise = paddle.to_tensor(rng.randn(12).astype("float32"))
    clean = Compose(Trim(0.05), Normalise(), FixLength(8))
    pipelines = [convert(clean.__call__), convert((clean | AddNoise(noise, 10.0)).__call__)]
    waves = [
        [0.0, 0.0, 0.3, -0.6, 0.2, 0.0],
        [0.0, 0.01, 0.02, 0.0],
        list(rng.randn(11)),
        [0.5, 0.0, 0.0, 0.5],
    ]
    for wave in waves:
        for pipeline in pipelines:
            yield pipeline(paddle.to_tensor(wave, dtype="float32"))


@program
def learned_step_sizes_across_tasks(convert):
    """Meta-SGD: per-parameter step sizes learned through the inner updates of several tasks."""

    def forward(params, x):
        h = paddle.tanh(x @ params["w1"] + params["b1"])
        return (h @ params["w2"]).squeeze(-1)

    def mse(params, batch):
        x, y = batch
        return (forward(params, x) - y).square().mean()

    class MetaSGD:
        def __init__(self, params, lr=0.1, meta_lr=0.05):
            self.params = params
            self.alpha = {k: paddle.full_like(v, lr) for k, v in params.items()}
            self.meta_lr = meta_lr
            for v in itertools.chain(self.params.values(), self.alpha.values()):
                v.stop_gradient = False

        def adapt(self, batch, steps):
            fast = dict(self.params)
            for _ in range(steps):
                loss = mse(fast, batch)
                grads = paddle.grad(loss, list(fast.values()), create_graph=True)
                fast = {k: v - self.alpha[k] * g for (k, v), g in zip(fast.items(), grads)}
            return fast

        @convert
        def meta_step(self, tasks, steps=2):
            losses = []
            for support, query in tasks:
                losses.append(mse(self.adapt(support, steps), query))
            total = paddle.stack(losses).mean()
            leaves = [*self.params.values(), *self.alpha.values()]
            grads = paddle.grad(total, leaves)
            return total, paddle.stack([g.norm() for g in grads]), grads

        def apply(self, grads):
            leaves = [*self.params.values(), *self.alpha.values()]
            with paddle.no_grad():
                for leaf, g in zip(leaves, grads):
                    leaf.set_value(leaf - self.meta_lr * g)

    rng = np.random.RandomState(16)

    def batch(n, slope):
        x = rng.randn(n, 2).astype("float32")
        return paddle.to_tensor(x), paddle.to_tensor((x.sum(1) * slope).astype("float32"))

    params = {
        "w1": paddle.to_tensor(rng.randn(2, 3).astype("float32") * 0.5),
        "b1": paddle.zeros([3]),
        "w2": paddle.to_tensor(rng.randn(3, 1).astype("float32") * 0.5),
    }
    learner = MetaSGD(params)
    for _ in range(3):
        tasks = [(batch(4, s), batch(3, s)) for s in (0.5, -1.0)]
        total, norms, grads = learner.meta_step(tasks)
        learner.apply(grads)
        yield total, norms, learner.alpha["w1"]
    yield learner.meta_step([(batch(5, 1.0), batch(2, 1.0))], steps=1)[0]


@program
def influence_by_implicit_gradients(convert):
    """Hessian-vector products, conjugate gradients, and the influence of each training point."""

    class Point(NamedTuple):
        x: paddle.Tensor
        y: paddle.Tensor

    def loss_of(w, points, damping=0.05):
        margins = points.y * (points.x @ w)
        return F.softplus(-margins).mean() + damping * w.square().sum()

    def hvp(w, points, v):
        (g,) = paddle.grad(loss_of(w, points), [w], create_graph=True)
        (out,) = paddle.grad((g * v).sum(), [w])
        return out

    @convert
    def solve(w, points, b, tolerance=1e-4, limit=6):
        x = paddle.zeros_like(b)
        r, p = b, b
        rs = (r * r).sum()
        used = 0
        while used < limit and rs > tolerance**2:
            hp = hvp(w, points, p)
            alpha = rs / (p * hp).sum()
            x = x + alpha * p
            r = r - alpha * hp
            fresh = (r * r).sum()
            p = r + fresh / rs * p
            rs = fresh
            used += 1
        return x, rs, used

    @convert
    def influences(w, points, direction):
        scores = []
        for i in range(points.x.shape[0]):
            one = Point(points.x[i : i + 1], points.y[i : i + 1])
            (g,) = paddle.grad(loss_of(w, one, damping=0.0), [w])
            scores.append(-(g * direction).sum())
        scores = paddle.stack(scores)
        return scores, paddle.argsort(scores)

    rng = np.random.RandomState(17)
    for n in (5, 7):
        points = Point(
            paddle.to_tensor(rng.randn(n, 3).astype("float32")),
            paddle.to_tensor(np.sign(rng.randn(n)).astype("float32")),
        )
        w = paddle.to_tensor(rng.randn(3).astype("float32") * 0.2, stop_gradient=False)
        (b,) = paddle.grad(loss_of(w, points), [w])
        direction, residual, used = solve(w, points, b)
        yield direction, used
        yield influences(w, points, direction)
    yield solve(w, points, paddle.zeros([3]))


@program
def anytime_estimator_with_deadline(convert):
    """An estimate that is refined until its interval is narrow, or the cost is spent."""

    class Budget:
        def __init__(self, cost):
            self.left = paddle.to_tensor(cost)
            self.denied = 0

        def take(self, amount):
            if self.left >= amount:
                self.left = self.left - amount
                return True
            self.denied += 1
            return False

    @dataclass
    class Estimate:
        mean: paddle.Tensor
        half: paddle.Tensor
        used: int
        why: str

    @convert
    def estimate(samples, budget, width=0.2, chunk=3, cost=1.0):
        total = paddle.zeros([])
        squares = paddle.zeros([])
        n = 0
        half = paddle.to_tensor(math.inf)
        why = "samples"
        for start in range(0, samples.shape[0], chunk):
            if not budget.take(cost):
                why = "budget"
                break
            part = samples[start : start + chunk]
            n += part.shape[0]
            total = total + part.sum()
            squares = squares + part.square().sum()
            mean = total / n
            spread = paddle.clip(squares / n - mean.square(), min=0.0)
            half = 1.96 * paddle.sqrt(spread / n)
            if n >= 2 * chunk and half < width:
                why = "width"
                break
        return Estimate(total / max(n, 1), half, n, why)

    rng = np.random.RandomState(18)
    budget = Budget(9.0)
    for scale, size in ((0.1, 12), (1.0, 12), (0.3, 7), (1.0, 12)):
        samples = paddle.to_tensor((rng.randn(size) * scale + 1).astype("float32"))
        yield estimate(samples, budget), budget.left, budget.denied
    yield estimate(samples, Budget(0.0))
