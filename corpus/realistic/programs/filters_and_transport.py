"""State estimation and optimal transport, as a robotics or statistics course codes them."""

import contextlib
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def unscented_filter_with_wrapped_angles(convert):
    """Sigma points through a turning robot; angles are wrapped; jitter until the root exists."""

    def wrap(angle):
        while angle > math.pi:
            angle = angle - 2 * math.pi
        while angle <= -math.pi:
            angle = angle + 2 * math.pi
        return angle

    class SigmaPoints:
        def __init__(self, n, alpha=0.5, beta=2.0, kappa=0.0):
            self.n = n
            self.lam = alpha**2 * (n + kappa) - n
            first = self.lam / (n + self.lam)
            rest = [1 / (2 * (n + self.lam))] * (2 * n)
            self.wm = paddle.to_tensor([first, *rest])
            self.wc = paddle.to_tensor([first + 1 - alpha**2 + beta, *rest])

        def root(self, P):
            jitter = 0.0
            for tries in range(5):
                A = P + jitter * paddle.eye(self.n)
                if paddle.linalg.eigvalsh(A)[0] > 1e-7:
                    return paddle.linalg.cholesky(A), tries
                jitter = max(10 * jitter, 1e-6)
            raise ArithmeticError("no root of the covariance")

        def __call__(self, x, P):
            L, tries = self.root((self.n + self.lam) * P)
            points = [x]
            for i in range(self.n):
                points.append(x + L[:, i])
                points.append(x - L[:, i])
            return points, tries

    class Robot:
        def __init__(self):
            self.x = paddle.zeros([3])
            self.P = paddle.eye(3) * 0.1
            self.Q = paddle.diag(paddle.to_tensor([0.01, 0.01, 0.02]))
            self.sigma = SigmaPoints(3)
            self.retries = 0
            self.rejected = 0

        def mean(self, points):
            total = sum(w * p for w, p in zip(self.sigma.wm, points))
            sin = sum(w * p[2].sin() for w, p in zip(self.sigma.wm, points))
            cos = sum(w * p[2].cos() for w, p in zip(self.sigma.wm, points))
            total[2] = paddle.atan2(sin, cos)
            return total

        def move(self, p, speed, turn, dt):
            x, y, a = p
            if abs(turn) < 1e-6:
                return paddle.stack([x + speed * dt * a.cos(), y + speed * dt * a.sin(), a])
            r = speed / turn
            b = a + turn * dt
            return paddle.stack([x + r * (b.sin() - a.sin()), y - r * (b.cos() - a.cos()), wrap(b)])

        @convert
        def predict(self, speed, turn, dt=0.1):
            points, tries = self.sigma(self.x, self.P)
            self.retries += tries
            points = [self.move(p, speed, turn, dt) for p in points]
            x = self.mean(points)
            P = self.Q
            for w, p in zip(self.sigma.wc, points):
                d = p - x
                d[2] = wrap(d[2])
                P = P + w * paddle.outer(d, d)
            self.x, self.P = x, P
            return x

        @convert
        def update(self, bearing, landmark, noise=0.05, gate=9.0):
            points, _ = self.sigma(self.x, self.P)
            seen = [paddle.atan2(landmark[1] - p[1], landmark[0] - p[0]) - p[2] for p in points]
            z = paddle.atan2(
                sum(w * s.sin() for w, s in zip(self.sigma.wm, seen)),
                sum(w * s.cos() for w, s in zip(self.sigma.wm, seen)),
            )
            S, C = paddle.to_tensor(noise), paddle.zeros([3])
            for w, p, s in zip(self.sigma.wc, points, seen):
                e, d = wrap(s - z), p - self.x
                d[2] = wrap(d[2])
                S = S + w * e * e
                C = C + w * e * d
            innovation = wrap(bearing - z)
            if innovation**2 / S > gate:
                self.rejected += 1
                return None
            K = C / S
            self.x = self.x + K * innovation
            self.x[2] = wrap(self.x[2])
            self.P = self.P - paddle.outer(K, K) * S
            return innovation

    robot = Robot()
    landmark = paddle.to_tensor([2.0, 1.0])
    for step, (speed, turn, bearing) in enumerate(
        [(1.0, 0.0, 0.4), (1.0, 0.5, 0.5), (2.0, 8.0, 6.0), (1.0, -4.0, 3.1), (0.5, 0.0, -0.5)]
    ):
        yield robot.predict(speed, turn, dt=0.1 * (1 + step % 2))
        yield robot.update(paddle.to_tensor(bearing), landmark)
        yield robot.P, robot.retries, robot.rejected
    robot.P = -paddle.eye(3)
    yield attempt(lambda: robot.predict(1.0, 0.0))


@program
def interacting_motion_models(convert):
    """Two Kalman filters that mix by the probability of their model, switched off when unlikely."""

    @dataclass
    class Model:
        name: str
        F: paddle.Tensor
        q: float
        x: paddle.Tensor = None
        P: paddle.Tensor = None
        active: bool = True
        log: deque = field(default_factory=lambda: deque(maxlen=3))

        def reset(self, position):
            self.x = paddle.to_tensor([position, 0.0])
            self.P = paddle.eye(2)

        def step(self, z, r):
            x = self.F @ self.x
            P = self.F @ self.P @ self.F.T + self.q * paddle.eye(2)
            y = z - x[0]
            s = P[0, 0] + r
            k = P[:, 0] / s
            self.x = x + k * y
            self.P = P - paddle.outer(k, P[0])
            likelihood = paddle.exp(-0.5 * y * y / s) / paddle.sqrt(2 * math.pi * s)
            self.log.append(likelihood)
            return likelihood

    class Mixer:
        def __init__(self, models, stay=0.9):
            self.models = models
            n = len(models)
            off = (1 - stay) / max(n - 1, 1)
            self.T = paddle.full([n, n], off) + paddle.eye(n) * (stay - off)
            self.mu = paddle.full([n], 1 / n)
            self.switches = []
            self.best = None

        def mix(self):
            c = self.mu @ self.T
            weights = self.T * self.mu.unsqueeze(1) / c
            old = [(m.x, m.P) for m in self.models]
            for j, model in enumerate(self.models):
                x = sum(weights[i, j] * xi for i, (xi, _) in enumerate(old))
                P = 0
                for i, (xi, Pi) in enumerate(old):
                    d = xi - x
                    P = P + weights[i, j] * (Pi + paddle.outer(d, d))
                model.x, model.P = x, P
            return c

        @convert
        def __call__(self, z, r=0.1, floor=0.0):
            c = self.mix()
            for i, m in enumerate(self.models):
                likelihood = m.step(z, r)
                if floor and likelihood < floor:
                    likelihood = paddle.to_tensor(floor)
                c[i] = c[i] * likelihood
            self.mu = c / c.sum()
            best = int(self.mu.argmax())
            if best != self.best:
                if self.best is not None:
                    self.switches.append((self.models[self.best].name, self.models[best].name))
                self.best = best
            return sum(p * m.x for p, m in zip(self.mu, self.models)), self.models[best].name

    still = Model("still", paddle.to_tensor([[1.0, 0.0], [0.0, 0.0]]), 0.01)
    cruise = Model("cruise", paddle.to_tensor([[1.0, 1.0], [0.0, 1.0]]), 0.1)
    for models, path in (
        ([still, cruise], [0.0, 0.1, 0.0, 1.0, 2.0, 3.1, 4.0, 4.0, 4.0]),
        ([still], [1.0, 1.1]),
        ([still, cruise], [0.0, 2.0, 4.0, 4.1]),
    ):
        mixer = Mixer(models)
        for m in models:
            m.reset(path[0])
        for t, z in enumerate(path):
            yield mixer(paddle.to_tensor(z), floor=1e-3 if t % 2 else 0.0)
        yield mixer.mu, mixer.switches, [list(m.log) for m in models]


@program
def ensemble_filter_with_inflation(convert):
    """An ensemble Kalman filter on Lorenz '63, inflating when the spread is below the error."""

    def lorenz(s, sigma=10.0, rho=28.0, beta=8.0 / 3):
        x, y, z = s[:, 0], s[:, 1], s[:, 2]
        return paddle.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z], axis=1)

    def rk4(f, s, dt):
        k1 = f(s)
        k2 = f(s + dt / 2 * k1)
        k3 = f(s + dt / 2 * k2)
        k4 = f(s + dt * k3)
        return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    class Ensemble:
        def __init__(self, members, inflation=1.0, adapt=0.05):
            self.members = members
            self.inflation, self.adapt = inflation, adapt
            self.skipped = 0

        @property
        def mean(self):
            return self.members.mean(axis=0)

        @property
        def spread(self):
            return self.members.var(axis=0).sum().sqrt()

        @convert
        def forecast(self, until, dt=0.01):
            t = 0.0
            while t < until - 1e-9:
                h = min(dt, until - t)
                step = rk4(lorenz, self.members, h)
                if not paddle.isfinite(step).all():
                    raise FloatingPointError(f"blew up at t={t:.2f}")
                self.members = step
                t += h
            return self.spread

        @convert
        def assimilate(self, observation, index, noise, perturbations):
            n = self.members.shape[0]
            error = (self.mean[index] - observation).abs().max()
            if error > 3 * self.spread:
                self.inflation = min(self.inflation * (1 + self.adapt), 1.5)
            elif error < 0.5 * self.spread:
                self.inflation = max(self.inflation / (1 + self.adapt), 1.0)
            mean = self.mean
            X = (self.members - mean) * self.inflation
            if len(index) == 0:
                self.skipped += 1
                return mean
            HX = X[:, index]
            S = HX.T @ HX / (n - 1) + noise * paddle.eye(len(index))
            gain = paddle.linalg.solve(S, HX.T @ X / (n - 1))
            innovations = observation + perturbations * noise**0.5 - (mean[index] + HX)
            self.members = mean + X + innovations @ gain
            return self.mean

    rng = np.random.RandomState(0)

    def draw(*shape):
        return paddle.to_tensor(rng.randn(*shape).astype("float32"))

    for n, index in ((8, [0, 1]), (5, [2]), (8, [0, 1, 2])):
        filter = Ensemble(draw(n, 3) + paddle.to_tensor([1.0, 1.0, 20.0]))
        for round in range(4):
            yield filter.forecast(0.03 if round % 2 else 0.025)
            seen = draw(len(index)) + (10.0 if round == 2 else 1.0)
            yield filter.assimilate(seen, index, 0.5, draw(n, len(index)))
            yield filter.inflation
    yield filter.skipped
    filter.members = filter.members * 1e18
    yield attempt(lambda: filter.forecast(0.02))


@program
def sinkhorn_with_absorption_and_scaling(convert):
    """Transport by scaling vectors that are absorbed when large, epsilon lowered in stages."""

    @dataclass(frozen=True)
    class Plan:
        matrix: paddle.Tensor
        cost: paddle.Tensor
        rounds: int
        absorbed: int
        converged: bool

        def __iter__(self):
            return iter((self.matrix, self.cost))

    class Transport:
        def __init__(self, epsilon=0.05, start=1.0, factor=0.5, tol=1e-4, limit=200, bound=1e3):
            self.epsilon, self.start, self.factor = epsilon, start, factor
            self.tol, self.limit, self.bound = tol, limit, bound

        def stages(self):
            eps = self.start
            while eps > self.epsilon:
                yield eps
                eps *= self.factor
            yield self.epsilon

        def kernel(self, M, alpha, beta, eps):
            return paddle.exp((alpha.unsqueeze(1) + beta.unsqueeze(0) - M) / eps)

        @convert
        def __call__(self, a, b, M, unbalanced=None):
            alpha, beta = paddle.zeros_like(a), paddle.zeros_like(b)
            rounds = absorbed = 0
            converged = False
            for eps in self.stages():
                power = 1.0 if unbalanced is None else unbalanced / (unbalanced + eps)
                u, v = paddle.ones_like(a), paddle.ones_like(b)
                K = self.kernel(M, alpha, beta, eps)
                converged = False
                for i in range(self.limit):
                    before = u
                    u = (a / (K @ v + 1e-16)) ** power
                    v = (b / (K.T @ u + 1e-16)) ** power
                    rounds += 1
                    if paddle.max(u) > self.bound or paddle.max(v) > self.bound:
                        alpha, beta = alpha + eps * paddle.log(u), beta + eps * paddle.log(v)
                        u, v = paddle.ones_like(a), paddle.ones_like(b)
                        K = self.kernel(M, alpha, beta, eps)
                        absorbed += 1
                        continue
                    if i % 5 == 4:
                        if unbalanced is None:
                            error = (u * (K @ v) - a).abs().sum()
                        else:
                            error = (u / before - 1).abs().max()
                        if error < self.tol:
                            converged = True
                            break
                alpha, beta = alpha + eps * paddle.log(u), beta + eps * paddle.log(v)
            P = self.kernel(M, alpha, beta, self.epsilon)
            return Plan(P, (P * M).sum(), rounds, absorbed, converged)

    @convert
    def barycenter(histograms, M, weights, eps=0.2, steps=30):
        K = paddle.exp(-M / eps)
        us = [paddle.ones_like(h) for h in histograms]
        for step in range(steps):
            vs, logs = [], []
            for h, u in zip(histograms, us):
                v = h / (K.T @ u)
                vs.append(v)
                logs.append(paddle.log(K @ v))
            total = sum(weights)
            p = paddle.exp(sum(w * l for w, l in zip(weights, logs)) / total)
            fresh = [p / (K @ v) for v in vs]
            change = max((f - u).abs().max() for f, u in zip(fresh, us))
            us = fresh
            if change < 1e-3:
                break
        return p, step

    rng = np.random.RandomState(2)
    solve = Transport()
    rough = Transport(epsilon=0.3, limit=12, bound=2.0)
    for n, m in ((4, 5), (6, 3), (4, 5)):
        x = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
        y = paddle.to_tensor(rng.rand(m, 2).astype("float32"))
        M = ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(-1)
        a, b = paddle.full([n], 1 / n), paddle.full([m], 1 / m)
        plan = solve(a, b, M)
        yield plan, plan.converged
        matrix, cost = rough(a, b * 1.5, M, unbalanced=0.5)
        yield matrix, cost
        M = ((x.unsqueeze(1) - x.unsqueeze(0)) ** 2).sum(-1)
        hs = [paddle.to_tensor(rng.rand(n).astype("float32")) for _ in range(n - 2)]
        yield barycenter([h / h.sum() for h in hs], M, [1.0, 2.0, 1.0, 1.0][: n - 2])


@program
def entropic_gromov_wasserstein(convert):
    """Two spaces without common coordinates: an outer loop around Sinkhorn, losses by name."""

    LOSSES = {}

    def loss(name):
        def register(cls):
            LOSSES[name] = cls()
            return cls

        return register

    @loss("square")
    class Square:
        def parts(self, C, D):
            return C**2, D**2, C, 2 * D

    @loss("kl")
    class Divergence:
        def parts(self, C, D):
            return C * paddle.log(C + 1e-9) - C, D, C, paddle.log(D + 1e-9)

    def sinkhorn(a, b, M, eps, limit=50):
        f, g = paddle.zeros_like(a), paddle.zeros_like(b)
        n = 0
        while True:
            f_old = f
            f = eps * (paddle.log(a) - paddle.logsumexp((g.unsqueeze(0) - M) / eps, axis=1))
            g = eps * (paddle.log(b) - paddle.logsumexp((f.unsqueeze(1) - M) / eps, axis=0))
            n += 1
            if n >= limit or (f - f_old).abs().max() < 1e-5:
                return paddle.exp((f.unsqueeze(1) + g.unsqueeze(0) - M) / eps)

    @convert
    def match(C, D, a=None, b=None, *, kind="square", eps=0.1, limit=10, history=None):
        a = paddle.full([C.shape[0]], 1 / C.shape[0]) if a is None else a
        b = paddle.full([D.shape[0]], 1 / D.shape[0]) if b is None else b
        try:
            f1, f2, h1, h2 = LOSSES[kind].parts(C, D)
        except KeyError as e:
            raise ValueError(f"no loss {kind!r}, only {sorted(LOSSES)}") from e
        constant = (f1 @ a).unsqueeze(1) + (f2 @ b).unsqueeze(0)
        T = paddle.outer(a, b)
        value = float("inf")
        for it in range(limit):
            M = constant - h1 @ T @ h2.T
            T = sinkhorn(a, b, M - M.min(), eps)
            new = ((constant - h1 @ T @ h2.T) * T).sum()
            if history is not None:
                history.append(float(new))
            if abs(value - new) < 1e-5 * abs(new):
                break
            value = new
        return T, new, it + 1

    def distances(rng, n):
        x = rng.rand(n, 2).astype("float32")
        return paddle.to_tensor(np.linalg.norm(x[:, None] - x[None], axis=-1))

    rng = np.random.RandomState(4)
    history = []
    for n, m, kind in ((4, 4, "square"), (5, 3, "kl"), (4, 6, "square")):
        C, D = distances(rng, n), distances(rng, m)
        yield match(C, D, kind=kind, history=history)
        with contextlib.suppress(ValueError):
            yield match(C, C, kind=kind, eps=0.02, limit=3)
    yield history
    yield attempt(lambda: match(C, D, kind="cosine"))
