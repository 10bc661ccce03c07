"""Solvers that carry sets, tables and histories from step to step."""

import math
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def frank_wolfe_with_away_steps(convert):
    """The active set of vertices is a dict of weights; away steps drop vertices from it."""

    class ActiveSet:
        def __init__(self, vertex):
            self.weights = {vertex: paddle.to_tensor(1.0)}

        def __len__(self):
            return len(self.weights)

        def __contains__(self, vertex):
            return vertex in self.weights

        def shift(self, vertex, gamma, away=False):
            scale = 1 + gamma if away else 1 - gamma
            for v in self.weights:
                self.weights[v] = self.weights[v] * scale
            change = -gamma if away else gamma
            self.weights[vertex] = self.weights.get(vertex, paddle.to_tensor(0.0)) + change
            for v in list(self.weights):
                if self.weights[v] < 1e-6:
                    del self.weights[v]

        def worst(self, gradient):
            worst, most = None, -float("inf")
            for v in self.weights:
                if gradient[v] > most:
                    worst, most = v, gradient[v]
            return worst

    @convert
    def minimise(A, b, tol=1e-3, limit=25, away=True):
        n = A.shape[1]
        x = paddle.zeros([n])
        x[0] = 1.0
        active = ActiveSet(0)
        drops = 0
        for k in range(limit):
            r = A @ x - b
            g = 2 * A.T @ r
            s = int(g.argmin())
            toward = -x
            toward[s] += 1.0
            gap = -(g * toward).sum()
            if gap < tol:
                print(f"step {k}: gap {float(gap):.1e} is small")
                break
            direction, top, is_away = toward, paddle.to_tensor(1.0), False
            if away and len(active) > 1:
                v = active.worst(g)
                back = x.clone()
                back[v] -= 1.0
                if -(g * back).sum() > gap:
                    w = active.weights[v]
                    direction, top, is_away = back, w / (1 - w), True
            Ad = A @ direction
            gamma = (-(r * Ad).sum() / (Ad * Ad).sum()).clip(min=0.0)
            if gamma > top:
                gamma = top
                drops += is_away
            x = x + gamma * direction
            active.shift(v if is_away else s, gamma, is_away)
        return x, dict(active.weights), k, drops

    rng = np.random.RandomState(1)
    for m, n in ((4, 3), (5, 4), (4, 3)):
        A = paddle.to_tensor(rng.randn(m, n).astype("float32"))
        b = paddle.to_tensor(rng.randn(m).astype("float32"))
        yield minimise(A, b)
        yield minimise(A, b, away=False, limit=8)
    yield minimise(A, A[:, 0])


@program
def fista_with_adaptive_restart(convert):
    """Accelerated proximal steps with backtracking, restarted when momentum points uphill."""

    class Prox:
        def __call__(self, v, t):
            raise NotImplementedError

        def value(self, x):
            raise NotImplementedError

    class L1(Prox):
        def __init__(self, lam):
            self.lam = lam

        def __call__(self, v, t):
            return paddle.sign(v) * paddle.nn.functional.relu(v.abs() - self.lam * t)

        def value(self, x):
            return self.lam * x.abs().sum()

    class GroupL2(L1):
        def __init__(self, lam, groups):
            super().__init__(lam)
            self.groups = groups

        def __call__(self, v, t):
            out = paddle.zeros_like(v)
            for group in self.groups:
                part = v[group]
                norm = part.norm()
                if norm > self.lam * t:
                    out[group] = part * (1 - self.lam * t / norm)
            return out

        def value(self, x):
            return self.lam * sum(x[g].norm() for g in self.groups)

    @dataclass
    class Trace:
        values: list = field(default_factory=list)
        restarts: list = field(default_factory=list)
        backtracks: int = 0

        def summary(self):
            return f"{len(self.values)} values, restarts at {self.restarts}, {self.backtracks} cuts"

    def solve(f, prox, x, step=1.0, limit=40, tol=1e-4, trace: Optional[Trace] = None):
        z, t = x, 1.0
        for k in range(limit):
            z = z.detach()
            z.stop_gradient = False
            fz = f(z)
            (g,) = paddle.grad(fz, [z])
            while True:
                new = prox(z - step * g, step)
                d = new - z
                if f(new) <= fz + (g * d).sum() + (d * d).sum() / (2 * step) + 1e-6:
                    break
                step *= 0.5
                if trace:
                    trace.backtracks += 1
            if ((z - new) * (new - x)).sum() > 0:
                t = 1.0
                z = new
                if trace is not None:
                    trace.restarts.append(k)
            else:
                t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
                z = new + (t - 1) / t_new * (new - x)
                t = t_new
            change = (new - x).norm()
            x = new.detach()
            if trace is not None:
                trace.values.append(f(x).detach() + prox.value(x))
            if change < tol * (1 + x.norm()):
                break
        return x, k

    rng = np.random.RandomState(6)
    run = convert(solve)
    for m, n, prox in (
        (6, 4, L1(0.1)),
        (8, 6, GroupL2(0.5, [[0, 1], [2, 3], [4, 5]])),
        (6, 4, L1(2.0)),
    ):
        A = paddle.to_tensor(rng.randn(m, n).astype("float32"))
        y = paddle.to_tensor(rng.randn(m).astype("float32"))
        trace = Trace()
        yield run(lambda x: 0.5 * ((A @ x - y) ** 2).sum(), prox, paddle.zeros([n]), trace=trace)
        yield trace, trace.summary()
        yield run(
            lambda x: paddle.log1p(paddle.exp(-(A @ x))).mean(), prox, paddle.ones([n]), limit=6
        )
    yield attempt(lambda: run(lambda x: (x**2).sum(), Prox(), paddle.ones([2])))


@program
def continuation_by_arclength(convert):
    """A branch of solutions followed round its folds; the step grows and shrinks by the corrector."""

    Point = namedtuple("Point", "x lam steps")

    class Branch(list):
        @property
        def folds(self):
            found = []
            for before, here, after in zip(self, self[1:], self[2:]):
                if (here.lam - before.lam) * (after.lam - here.lam) < 0:
                    found.append(here)
            return found

    def tangent(J, previous):
        n = J.shape[0]
        A = paddle.concat([J, previous.unsqueeze(0)])
        rhs = paddle.zeros([n + 1])
        rhs[n] = 1.0
        t = paddle.linalg.solve(A, rhs)
        return t / t.norm()

    class Follower:
        def __init__(self, f, ds=0.2, smallest=0.01, largest=0.6, wanted=4):
            self.f = f
            self.ds, self.smallest, self.largest, self.wanted = ds, smallest, largest, wanted
            self.failures = 0

        def jacobian(self, u):
            rows = []
            u = u.detach()
            u.stop_gradient = False
            out = self.f(u[:-1], u[-1])
            for i in range(out.shape[0]):
                rows.append(paddle.grad(out[i], [u], retain_graph=True)[0])
            return out.detach(), paddle.stack(rows)

        def correct(self, guess, start, direction, ds):
            u = guess
            for it in range(8):
                r, J = self.jacobian(u)
                constraint = ((u - start) * direction).sum() - ds
                full = paddle.concat([r, constraint.unsqueeze(0)])
                if full.abs().max() < 1e-4:
                    return u, it
                u = u - paddle.linalg.solve(paddle.concat([J, direction.unsqueeze(0)]), full)
            return None, it

        @convert
        def __call__(self, u, direction, points=10, stop=None):
            branch = Branch()
            while len(branch) < points:
                _, J = self.jacobian(u)
                direction = tangent(J, direction)
                new, its = self.correct(u + self.ds * direction, u, direction, self.ds)
                if new is None:
                    self.failures += 1
                    self.ds /= 2
                    if self.ds < self.smallest:
                        raise RuntimeError("the branch was lost")
                    continue
                u = new
                branch.append(Point(u[:-1], u[-1], its))
                if its < self.wanted:
                    self.ds = min(self.ds * 1.5, self.largest)
                elif its > self.wanted:
                    self.ds = max(self.ds / 1.5, self.smallest)
                if stop and stop(u):
                    break
            return list(branch), branch.folds, self.ds

    cubic = Follower(lambda x, lam: x**3 - 3 * x - lam)
    start = paddle.to_tensor([-2.2, -4.048])
    yield cubic(start, paddle.to_tensor([0.0, 1.0]))
    yield cubic(start, paddle.to_tensor([0.0, 1.0]), points=30, stop=lambda u: u[1] > 1.5)
    circle = Follower(lambda x, lam: (x**2).sum(axis=0, keepdim=True) + lam**2 - 1, ds=0.3)
    yield circle(paddle.to_tensor([1.0, 0.0]), paddle.to_tensor([0.0, 1.0]), points=7)
    none = Follower(lambda x, lam: x**2 + lam**2 + 1, ds=0.3)
    yield attempt(lambda: none(paddle.to_tensor([1.0, 0.5]), paddle.to_tensor([0.0, 1.0])))
    yield cubic.failures, circle.failures, none.failures


@program
def romberg_and_tanh_sinh(convert):
    """Quadrature tables: rows of rows until the corner settles; a rule picked by singular ends."""

    class NotConverged(ArithmeticError):
        def __init__(self, best, rows):
            super().__init__(f"not after {rows} rows")
            self.best = best

    def trapezoid(f, a, b, n, previous):
        h = (b - a) / 2**n
        if n == 0:
            return h * (f(a) + f(b)) / 2
        mids = a + h * (2 * paddle.arange(2 ** (n - 1), dtype="float32") + 1)
        return previous / 2 + h * f(mids).sum()

    @convert
    def romberg(f, a, b, tol=1e-4, most=7):
        table = [[trapezoid(f, a, b, 0, None)]]
        for n in range(1, most):
            row = [trapezoid(f, a, b, n, table[-1][0])]
            for j in range(1, n + 1):
                row.append(row[j - 1] + (row[j - 1] - table[-1][j - 1]) / (4**j - 1))
            table.append(row)
            if (row[-1] - table[-2][-1]).abs() < tol and n > 2:
                return row[-1], n
        raise NotConverged(table[-1][-1], most)

    @convert
    def double_exponential(f, a, b, tol=1e-4, levels=6):
        half, middle = (b - a) / 2, (a + b) / 2
        h = 1.0
        total = f(middle) * math.pi / 2
        estimate = None
        used = 1
        for level in range(levels):
            k = 1
            step = 1 if level == 0 else 2
            while True:
                t = k * h
                u = math.pi / 2 * math.sinh(t)
                w = math.pi / 2 * math.cosh(t) / math.cosh(u) ** 2
                if w < 1e-7:
                    break
                x = half * math.tanh(u)
                pair = f(middle + x) + f(middle - x)
                used += 2
                if not paddle.isfinite(pair):
                    break
                total = total + w * pair
                k += step
            new = half * h * total
            if estimate is not None and (new - estimate).abs() <= tol * new.abs():
                return new, level, used
            estimate = new
            h /= 2
        return estimate, levels, used

    def integrate(f, a, b, singular=False, **kw):
        rule = double_exponential if singular else romberg
        try:
            return rule(f, a, b, **kw)
        except NotConverged as e:
            return e.best, str(e)

    a, b = paddle.to_tensor(0.0), paddle.to_tensor(1.0)
    for f in (paddle.exp, lambda x: 1 / (1 + 25 * x * x), lambda x: x**0.5):
        yield integrate(f, a, b)
        yield integrate(f, a, b * 2, tol=1e-2)
        yield integrate(f, a, b, singular=True)
    yield integrate(lambda x: 1 / paddle.sqrt(x), a, b, singular=True, levels=4)
    yield integrate(lambda x: paddle.sin(40 * x), a, b, tol=1e-7, most=4)
    yield attempt(lambda: romberg(paddle.exp, a, b, tol=0.0, most=3))


@program
def relevance_vectors_that_are_pruned(convert):
    """Sparse Bayesian regression: columns whose precision runs away are thrown out on the way."""

    class Relevance:
        def __init__(self, threshold=1e3, tol=1e-2, verbose=False):
            self.threshold, self.tol, self.verbose = threshold, tol, verbose
            self.kept = None

        def design(self, x, centres):
            phi = paddle.exp(-((x.unsqueeze(1) - centres.unsqueeze(0)) ** 2) / 0.5)
            return paddle.concat([paddle.ones([x.shape[0], 1]), phi], axis=1)

        @convert
        def fit(self, x, y, limit=15):
            self.centres = x
            phi = self.design(x, x)
            keep = paddle.arange(phi.shape[1])
            alpha = paddle.ones([phi.shape[1]])
            beta = 10.0
            for it in range(limit):
                sigma = paddle.linalg.inv(paddle.diag(alpha) + beta * phi.T @ phi)
                mu = beta * sigma @ (phi.T @ y)
                gamma = 1 - alpha * paddle.diagonal(sigma)
                new = gamma / (mu * mu + 1e-9)
                beta = (y.shape[0] - gamma.sum()) / ((y - phi @ mu) ** 2).sum().clip(min=1e-6)
                alive = new < self.threshold
                if not alive.any():
                    alive[0] = True
                delta = (paddle.log(new) - paddle.log(alpha)).abs()[alive].max()
                if not alive.all():
                    keep, phi = keep[alive], phi[:, paddle.nonzero(alive).flatten()]
                    if self.verbose:
                        print(f"{it}: {keep.shape[0]} left")
                    mu = mu[alive]
                alpha = new[alive]
                if delta < self.tol:
                    break
            self.kept, self.mu, self.noise = keep, mu, 1 / beta
            return it, keep

        @convert
        def predict(self, x):
            if self.kept is None:
                raise RuntimeError("fit first")
            phi = paddle.index_select(self.design(x, self.centres), self.kept, axis=1)
            return phi @ self.mu

    rng = np.random.RandomState(3)
    yield attempt(lambda: Relevance().predict(paddle.ones([2])))
    model = Relevance(verbose=True)
    for n in (6, 9, 6):
        x = paddle.to_tensor(np.linspace(-2, 2, n).astype("float32"))
        y = paddle.sin(2 * x) + 0.05 * paddle.to_tensor(rng.randn(n).astype("float32"))
        yield model.fit(x, y)
        yield model.predict(x[: n // 2]), model.kept.shape[0]
        yield model.mu, model.noise


@program
def change_points_by_pruned_search(convert):
    """PELT: optimal segmentation where candidates that can never win are dropped; costs by kind."""

    class Cost:
        def __init__(self, signal):
            zero = paddle.zeros([1])
            self.sum = paddle.concat([zero, paddle.cumsum(signal)])
            self.square = paddle.concat([zero, paddle.cumsum(signal**2)])

        def __call__(self, start, stop):
            n = stop - start
            s = self.sum[stop] - self.sum[start]
            return self.square[stop] - self.square[start] - s * s / n

    class Variance(Cost):
        def __call__(self, start, stop):
            n = stop - start
            return n * paddle.log(super().__call__(start, stop) / n + 1e-3)

    @convert
    def segment(signal, penalty, kind=Cost, shortest=1):
        n = signal.shape[0]
        cost = kind(signal)
        best = [-penalty]
        origin = [0]
        candidates = [0]
        pruned = 0
        for stop in range(1, n + 1):
            chosen, value = None, None
            scores = {}
            for start in candidates:
                if stop - start < shortest:
                    continue
                scores[start] = best[start] + cost(start, stop)
                if value is None or scores[start] + penalty < value:
                    chosen, value = start, scores[start] + penalty
            if chosen is None:
                best.append(paddle.to_tensor(float("inf")))
                origin.append(0)
            else:
                best.append(value)
                origin.append(chosen)
            survivors = [c for c in candidates if c not in scores or scores[c] <= best[stop]]
            pruned += len(candidates) - len(survivors)
            candidates = survivors + [stop]
        cuts = []
        at = n
        while at > 0:
            at = origin[at]
            if at > 0:
                cuts.insert(0, at)
        means = [signal[i:j].mean() for i, j in zip([0, *cuts], [*cuts, n])]
        return cuts, best[-1], means, pruned

    rng = np.random.RandomState(5)
    for levels in ([0, 3], [1, -1, 2], [0, 3]):
        data = np.concatenate([l + 0.1 * rng.randn(3) for l in levels]).astype("float32")
        yield segment(paddle.to_tensor(data), 1.0)
        yield segment(paddle.to_tensor(data), 0.5, shortest=2)
    yield segment(paddle.to_tensor(data), 2.0, kind=Variance, shortest=2)
