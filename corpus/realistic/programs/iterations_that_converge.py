"""Iterations: trust regions, quasi-Newton, Krylov, acceleration, populations, interior points."""

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import Callable, Deque, List, Tuple

import numpy as np
import paddle

from corpus.realistic import attempt, program


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def spd(n, seed=0):
    a = np.random.RandomState(seed).randn(n, n).astype("float32")
    return paddle.to_tensor(a @ a.T + n * np.eye(n, dtype="float32"))


@program
def trust_region_with_dogleg(convert):
    """Trust region with dogleg steps, a status enum and a log of radii."""

    class Status(IntEnum):
        RUNNING = auto()
        CONVERGED = auto()
        SMALL_RADIUS = auto()
        OUT_OF_STEPS = auto()

    @dataclass
    class Options:
        radius: float = 1.0
        max_radius: float = 4.0
        eta: float = 0.1
        gtol: float = 1e-3
        max_iter: int = 25

    class TrustRegion:
        def __init__(self, fun, options=Options()):
            self.fun = fun
            self.options = options
            self.evaluations = 0
            self.radii = []

        def quadratic(self, x):
            x = x.detach()
            x.stop_gradient = False
            f = self.fun(x)
            self.evaluations += 1
            (g,) = paddle.grad(f, [x], create_graph=True)
            rows = [paddle.grad(g[i], [x], retain_graph=True)[0] for i in range(x.shape[0])]
            return f.detach(), g.detach(), paddle.stack(rows).detach()

        def dogleg(self, g, b, radius):
            newton = -paddle.linalg.solve(b + 1e-4 * paddle.eye(b.shape[0]), g)
            if paddle.linalg.norm(newton) <= radius:
                return newton
            curve = g @ (b @ g)
            if curve <= 0:
                return -radius * g / paddle.linalg.norm(g)
            cauchy = -(g @ g) / curve * g
            length = paddle.linalg.norm(cauchy)
            if length >= radius:
                return radius * cauchy / length
            d = newton - cauchy
            a, bb, c = d @ d, 2 * cauchy @ d, cauchy @ cauchy - radius**2
            tau = (-bb + paddle.sqrt((bb * bb - 4 * a * c).clip(min=0.0))) / (2 * a)
            return cauchy + tau * d

        def minimise(self, x):
            o = self.options
            radius = paddle.to_tensor(o.radius)
            status = Status.RUNNING
            for k in range(o.max_iter):
                f, g, b = self.quadratic(x)
                if g.abs().max() < o.gtol:
                    status = Status.CONVERGED
                    break
                p = self.dogleg(g, b, radius)
                predicted = -(g @ p + 0.5 * p @ (b @ p))
                actual = f - self.fun(x + p)
                rho = actual / predicted.clip(min=1e-12)
                if rho < 0.25:
                    radius = radius * 0.25
                elif rho > 0.75 and paddle.linalg.norm(p) > 0.99 * radius:
                    radius = paddle.clip(2.0 * radius, max=o.max_radius)
                if rho > o.eta:
                    x = x + p
                if radius < 1e-6:
                    status = Status.SMALL_RADIUS
                    break
            else:
                status = Status.OUT_OF_STEPS
            self.radii.append(radius)
            return x, status, k

    for fun, options in (
        (rosenbrock, Options()),
        (lambda x: (x**4).sum() + x[0] * x[1], Options(radius=0.5)),
    ):
        solver = TrustRegion(fun, options=options)
        solver.minimise = convert(solver.minimise)
        for start in ([-1.2, 1.0], [0.5, 0.5], [0.5, 0.8, -0.3]):
            yield solver.minimise(paddle.to_tensor(start))
        solver.options = replace(options, max_iter=2)
        yield solver.minimise(paddle.to_tensor([3.0, -2.0]))
        yield solver.radii


@program
def quasi_newton_with_wolfe_search(convert):
    """L-BFGS over a parameter list with a deque of pairs and a strong Wolfe line search."""

    class History:
        def __init__(self, size):
            self.pairs: Deque[Tuple[paddle.Tensor, paddle.Tensor, paddle.Tensor]] = deque(
                maxlen=size
            )

        def push(self, s, y):
            sy = (s * y).sum()
            if sy > 1e-8:
                self.pairs.append((s, y, 1.0 / sy))

        def direction(self, g):
            q, alphas = g, []
            for s, y, rho in reversed(self.pairs):
                alpha = rho * (s * q).sum()
                q = q - alpha * y
                alphas.append(alpha)
            if self.pairs:
                s, y, _ = self.pairs[-1]
                q = q * ((s * y).sum() / (y * y).sum())
            for (s, y, rho), alpha in zip(self.pairs, reversed(alphas)):
                q = q + s * (alpha - rho * (y * q).sum())
            return -q

    def value_and_grad(fun, x):
        x = x.detach()
        x.stop_gradient = False
        f = fun(x)
        return f.detach(), paddle.grad(f, x)[0]

    def wolfe(phi, f0, d0, c1=1e-4, c2=0.9, limit=12):
        lo, hi, step = 0.0, None, 1.0
        for _ in range(limit):
            f, d = phi(step)
            if f > f0 + c1 * step * d0:
                hi = step
            elif d < c2 * d0:
                lo = step
            else:
                return step, f
            step = 2.0 * lo if hi is None else 0.5 * (lo + hi)
        return step, f

    @convert
    def lbfgs(fun: Callable, x0, *, memory: int = 4, steps: int = 15, tol: float = 1e-3):
        history = History(memory)
        x = x0
        f, g = value_and_grad(fun, x)
        trace = [f]
        for _ in range(steps):
            if paddle.linalg.norm(g) < tol:
                break
            d = history.direction(g)

            def phi(t):
                ft, gt = value_and_grad(fun, x + t * d)
                return ft, (gt * d).sum()

            t, _ = wolfe(phi, f, (g * d).sum())
            new = x + t * d
            f, g_new = value_and_grad(fun, new)
            history.push(new - x, g_new - g)
            x, g = new, g_new
            trace.append(f)
        return x, trace[-1], len(trace)

    quad = lambda x: (x * paddle.arange(1, x.shape[0] + 1).astype("float32") * x).sum()
    for fun, start in ((quad, [1.0, 1.0, 1.0]), (quad, [2.0, -1.0]), (rosenbrock, [-1.2, 1.0])):
        yield lbfgs(fun, paddle.to_tensor(start))
    yield lbfgs(rosenbrock, paddle.to_tensor([0.0, 0.0]), memory=2, steps=4)


@program
def krylov_with_breakdown_checks(convert):
    """BiCGSTAB and MINRES-like CG behind one interface, with a breakdown exception."""

    class Breakdown(ArithmeticError):
        def __init__(self, where, iteration):
            super().__init__(f"breakdown of {where} in iteration {iteration}")
            self.where = where

    class LinearOperator(ABC):
        applied = 0

        @abstractmethod
        def _apply(self, x): ...

        def __matmul__(self, x):
            self.applied += 1
            return self._apply(x)

    class Dense(LinearOperator):
        def __init__(self, a):
            self.a = a

        def _apply(self, x):
            return paddle.mv(self.a, x)

    class Laplacian(LinearOperator):
        def __init__(self, shift=0.1):
            self.shift = shift

        def _apply(self, x):
            left = paddle.nn.functional.pad(x[:-1], [1, 0]) if x.shape[0] > 1 else 0 * x
            right = paddle.concat([x[1:], paddle.zeros([1])])
            return (2 + self.shift) * x - left - right

    def bicgstab(op, b, tol=1e-4, max_iter=30):
        x = paddle.zeros_like(b)
        r = b - op @ x
        shadow = r
        rho = alpha = omega = paddle.ones([])
        v = p = paddle.zeros_like(b)
        norms: List[paddle.Tensor] = []
        for k in range(max_iter):
            rho_new = paddle.dot(shadow, r)
            if rho_new.abs() < 1e-12:
                if paddle.linalg.norm(r) < tol:
                    return x, norms
                raise Breakdown("rho", k)
            beta = (rho_new / rho) * (alpha / omega)
            p = r + beta * (p - omega * v)
            v = op @ p
            alpha = rho_new / paddle.dot(shadow, v)
            s = r - alpha * v
            if paddle.linalg.norm(s) < tol:
                x = x + alpha * p
                norms.append(paddle.linalg.norm(s))
                break
            t = op @ s
            omega = paddle.dot(t, s) / paddle.dot(t, t)
            x = x + alpha * p + omega * s
            r = s - omega * t
            rho = rho_new
            norms += [paddle.linalg.norm(r)]
            if norms[-1] < tol:
                break
        return x, norms

    solve = convert(bicgstab)
    for n in (3, 5):
        yield solve(Dense(spd(n)), paddle.ones([n]))
    op = Laplacian()
    yield solve(op, paddle.linspace(0, 1, 6))
    yield solve(op, paddle.zeros([6]))
    skew = Dense(paddle.to_tensor([[0.0, 1.0], [-1.0, 0.0]]))
    yield attempt(lambda: solve(skew, paddle.to_tensor([1.0, 1.0])))
    yield op.applied


@program
def anderson_accelerated_fixed_point(convert):
    """Anderson acceleration with a ring of residuals, a least-squares mix and a restart."""

    class Anderson:
        def __init__(self, fn, m=3, beta=1.0, tol=1e-5, max_iter=40):
            self.fn, self.m, self.beta = fn, m, beta
            self.tol, self.max_iter = tol, max_iter
            self.stats = {"solves": 0, "restarts": 0}

        def mix(self, xs, fs):
            if len(xs) == 1:
                return xs[0] + self.beta * fs[0]
            df = paddle.stack([b - a for a, b in itertools.pairwise(fs)], axis=1)
            dx = paddle.stack([b - a for a, b in itertools.pairwise(xs)], axis=1)
            gram = df.t() @ df + 1e-8 * paddle.eye(df.shape[1])
            gamma = paddle.linalg.solve(gram, df.t() @ fs[-1])
            return xs[-1] + self.beta * fs[-1] - (dx + self.beta * df) @ gamma

        def __call__(self, x):
            self.stats["solves"] += 1
            xs, fs = [], []
            best = paddle.to_tensor(float("inf"))
            for k in range(self.max_iter):
                f = self.fn(x) - x
                norm = f.norm()
                if norm < self.tol:
                    return x, k
                if norm > 10 * best:
                    self.stats["restarts"] += 1
                    xs.clear()
                    fs.clear()
                best = paddle.minimum(best, norm)
                xs.append(x)
                fs.append(f)
                if len(xs) > self.m:
                    xs.pop(0)
                    fs.pop(0)
                x = self.mix(xs, fs)
            return x, self.max_iter

    solver = Anderson(paddle.cos)
    run = convert(solver.__call__)
    yield run(paddle.to_tensor([0.1, 2.0]))
    yield run(paddle.to_tensor([0.5, 1.0, -3.0]))
    weight = paddle.to_tensor([[0.3, -0.2], [0.4, 0.1]])
    other = Anderson(lambda x: paddle.tanh(weight @ x + 1.0), m=2, beta=0.8)
    run = convert(other.__call__)
    yield run(paddle.zeros([2]))
    other.max_iter = 1
    yield run(paddle.zeros([2]))
    yield solver.stats, other.stats


@program
def differential_evolution_with_bounds(convert):
    """DE/rand/1/bin and DE/best/1 with reflected bounds, adaptive factors and stagnation."""

    @dataclass
    class Population:
        x: paddle.Tensor
        f: paddle.Tensor

        @property
        def best(self):
            i = self.f.argmin()
            return self.x[i], self.f[i]

        def __len__(self):
            return self.x.shape[0]

    class DE:
        strategies = ("rand", "best")

        def __init__(self, fun, bounds, strategy="rand", factor=0.7, cross=0.9, patience=5):
            if strategy not in self.strategies:
                raise KeyError(f"unknown strategy {strategy!r}, choose from {self.strategies}")
            self.fun = fun
            self.low, self.high = map(paddle.to_tensor, zip(*bounds))
            self.strategy, self.factor, self.cross = strategy, factor, cross
            self.patience = patience
            self.generation = 0

        def reflect(self, v):
            v = paddle.where(v < self.low, 2 * self.low - v, v)
            v = paddle.where(v > self.high, 2 * self.high - v, v)
            return paddle.clip(v, self.low.min(), self.high.max())

        def mutate(self, pop):
            n = len(pop)
            a, b, c = (pop.x[paddle.randperm(n)] for _ in range(3))
            base = pop.best[0].unsqueeze(0) if self.strategy == "best" else a
            return self.reflect(base + self.factor * (b - c))

        def step(self, pop):
            self.generation += 1
            trial = self.mutate(pop)
            mask = paddle.rand(trial.shape) < self.cross
            trial = paddle.where(mask, trial, pop.x)
            f = self.fun(trial)
            won = f < pop.f
            return Population(
                paddle.where(won.unsqueeze(-1), trial, pop.x), paddle.where(won, f, pop.f)
            )

        def run(self, n=8, generations=15):
            x = self.low + (self.high - self.low) * paddle.rand([n, self.low.shape[0]])
            pop = Population(x, self.fun(x))
            stale = 0
            best = pop.best[1]
            while stale < self.patience and self.generation < generations:
                pop = self.step(pop)
                now = pop.best[1]
                if now < best - 1e-6:
                    best, stale = now, 0
                else:
                    stale += 1
            return pop.best, stale

    def sphere(x):
        return x.square().sum(axis=-1)

    def ackley(x):
        return (
            -20 * paddle.exp(-0.2 * x.square().mean(-1).sqrt())
            - paddle.exp(paddle.cos(6.28 * x).mean(-1))
            + 22.718
        )

    for fun, strategy in itertools.product((sphere, ackley), DE.strategies):
        de = DE(fun, [(-2.0, 2.0)] * 2, strategy=strategy)
        de.run = convert(de.run)
        yield de.run()
        de.generation = 0
        yield de.run(n=5, generations=6)
        yield de.generation
    yield attempt(lambda: DE(sphere, [(0.0, 1.0)], strategy="worst"))


@program
def interior_point_for_a_linear_program(convert):
    """A primal-dual interior point method with a context that restores its tolerance."""

    class InteriorPoint:
        def __init__(self, tol=1e-4, max_iter=25):
            self.tol = tol
            self.max_iter = max_iter
            self.log = []

        @contextlib.contextmanager
        def tolerance(self, tol):
            before, self.tol = self.tol, tol
            try:
                yield self
            finally:
                self.tol = before

        @staticmethod
        def step_length(v, dv):
            ratios = paddle.where(dv < 0, -v / dv, paddle.full_like(v, 1e6))
            return paddle.clip(0.99 * ratios.min(), max=1.0)

        def solve(self, c, A, b):
            m, n = A.shape
            x, s, y = paddle.ones([n]), paddle.ones([n]), paddle.zeros([m])
            it = 0
            while True:
                rp = b - A @ x
                rd = c - A.t() @ y - s
                gap = (x * s).sum() / n
                if max(rp.abs().max(), rd.abs().max(), gap) < self.tol:
                    outcome = "optimal"
                    break
                if it >= self.max_iter:
                    outcome = "iteration limit"
                    break
                sigma = 0.1 if it % 3 else 0.3
                rc = sigma * gap - x * s
                d = x / s
                M = (A * d) @ A.t()
                dy = paddle.linalg.solve(M, rp + A @ (d * rd) - A @ (rc / s))
                ds = rd - A.t() @ dy
                dx = rc / s - d * ds
                ap, ad = self.step_length(x, dx), self.step_length(s, ds)
                x, y, s = x + ap * dx, y + ad * dy, s + ad * ds
                it += 1
            self.log.append((outcome, it))
            return x, (c * x).sum(), outcome

    ip = InteriorPoint()
    solve = convert(ip.solve)
    A = paddle.to_tensor([[1.0, 1.0, 1.0, 0.0], [2.0, 0.5, 0.0, 1.0]])
    for c, b in (([-3.0, -1.0, 0.0, 0.0], [4.0, 5.0]), ([-1.0, -2.0, 0.0, 0.0], [3.0, 8.0])):
        x, value, outcome = solve(paddle.to_tensor(c), A, paddle.to_tensor(b))
        yield x.round(2), value.round(2), outcome
    with ip.tolerance(1e-1):
        yield solve(
            paddle.to_tensor([-1.0, 0.0, 0.0]),
            paddle.to_tensor([[1.0, 1.0, 1.0]]),
            paddle.to_tensor([2.0]),
        )[2]
    ip.max_iter = 2
    yield solve(paddle.to_tensor([-1.0, -1.0, 0.0, 0.0]), A, paddle.to_tensor([2.0, 2.0]))[2]
    yield ip.log, ip.tol
