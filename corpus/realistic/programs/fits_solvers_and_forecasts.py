"""Mixtures, differential equations, minimisers and forecasts."""

import contextlib
import io
import logging
import math
from collections import deque
from dataclasses import asdict, dataclass
from types import SimpleNamespace

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


class GaussianMixture:
    def __init__(self, k, max_iter=50, tol=1e-3, reg=1e-3, verbose=0):
        self.k, self.max_iter, self.tol, self.reg, self.verbose = k, max_iter, tol, reg, verbose
        self.converged = False
        self.history = []

    def init(self, x):
        """Farthest-first centres."""
        centres = [x[0]]
        for _ in range(1, self.k):
            distance = paddle.stack([((x - c) ** 2).sum(-1) for c in centres]).min(axis=0)
            centres.append(x[distance.argmax()])
        self.means = paddle.stack(centres)
        self.covs = paddle.eye(x.shape[1]).unsqueeze(0).tile([self.k, 1, 1]) * x.var()
        self.weights = paddle.full([self.k], 1.0 / self.k)

    def log_joint(self, x):
        d = x.shape[1]
        columns = []
        for j in range(self.k):
            chol = paddle.linalg.cholesky(self.covs[j])
            white = paddle.linalg.triangular_solve(chol, (x - self.means[j]).T, upper=False)
            log_det = chol.diagonal().log().sum()
            columns.append(
                self.weights[j].log()
                - 0.5 * (white**2).sum(0)
                - log_det
                - 0.5 * d * math.log(2 * math.pi)
            )
        return paddle.stack(columns, axis=1)

    def fit(self, x):
        n, d = x.shape
        self.init(x)
        self.converged = False
        self.history.clear()
        previous = None
        for step in range(self.max_iter):
            joint = self.log_joint(x)
            total = paddle.logsumexp(joint, axis=1, keepdim=True)
            bound = total.mean()
            self.history.append(bound)
            if self.verbose and step % self.verbose == 0:
                print(f"step {step:2d}: {bound.item():.4f}")
            if previous is not None and abs(bound - previous) < self.tol:
                self.converged = True
                break
            previous = bound
            resp = (joint - total).exp()
            mass = resp.sum(0)
            for j in range(self.k):
                if mass[j] < 1.0:
                    worst = total.squeeze(1).argmin()
                    self.means[j] = x[worst]
                    self.covs[j] = paddle.eye(d)
                    mass[j] = 1.0
                    continue
                self.means[j] = (resp[:, j : j + 1] * x).sum(0) / mass[j]
                centred = x - self.means[j]
                self.covs[j] = (resp[:, j : j + 1] * centred).T @ centred / mass[
                    j
                ] + self.reg * paddle.eye(d)
            self.weights = mass / mass.sum()
        else:
            print(f"no convergence in {self.max_iter} steps")
        return self

    def bic(self, x):
        n, d = x.shape
        free = self.k - 1 + self.k * d + self.k * d * (d + 1) // 2
        return free * math.log(n) - 2 * paddle.logsumexp(self.log_joint(x), axis=1).sum()

    def predict(self, x):
        return self.log_joint(x).argmax(axis=1)


@program
def gaussian_mixture_with_restarts(convert):
    """EM for a mixture of Gaussians with full covariances, restarts of dead components, and BIC."""

    paddle.seed(11)
    clouds = [
        paddle.randn([20, 2]) * s + paddle.to_tensor(c)
        for s, c in [(0.4, [0.0, 0.0]), (0.8, [4.0, 1.0]), (0.3, [-2.0, 3.0])]
    ]
    x = paddle.concat(clouds)
    records = []
    for k, size in [(2, 60), (3, 60), (3, 40)]:
        model = GaussianMixture(k, verbose=4)
        fit, bic, predict = convert(model.fit), convert(model.bic), convert(model.predict)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            fitted = fit(x[:size])
        records += [
            out.getvalue(),
            fitted is model,
            model.converged,
            len(model.history),
            model.history[-1],
        ]
        records += [model.means, model.weights, bic(x[:size]), predict(x)]
    model = GaussianMixture(4, max_iter=3)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        convert(model.fit)(x)
    records += [out.getvalue(), model.converged, model.covs]
    yield from records


A = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]


B5 = A[6] + [0.0]


B4 = [5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40]


C = [0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0]


class StepLimit(RuntimeError):
    pass


@dataclass
class Tolerance:
    rtol: float = 1e-3
    atol: float = 1e-5

    def error(self, estimate, y0, y1):
        scale = self.atol + self.rtol * paddle.maximum(y0.abs(), y1.abs())
        return paddle.sqrt(((estimate / scale) ** 2).mean())


class Solver:
    def __init__(self, rhs, tolerance=None, max_steps=200, event=None):
        self.rhs = rhs
        self.tolerance = tolerance or Tolerance()
        self.max_steps = max_steps
        self.event = event
        self.total_rejected = 0

    def stages(self, t, y, h):
        ks = []
        for row, c in zip(A, C):
            inner = y
            for a, k in zip(row, ks):
                inner = inner + h * a * k
            ks.append(self.rhs(t + c * h, inner))
        return ks

    def solve(self, y, t0, t1, h=0.1):
        t = paddle.to_tensor(float(t0))
        h = paddle.to_tensor(float(h))
        stats = SimpleNamespace(accepted=0, rejected=0, stopped_by=None)
        path = [y]
        while t < t1:
            if stats.accepted + stats.rejected >= self.max_steps:
                raise StepLimit(f"{self.max_steps} steps and t = {float(t):.3f} only")
            h = paddle.minimum(h, t1 - t)
            ks = self.stages(t, y, h)
            y5 = y + h * sum(b * k for b, k in zip(B5, ks))
            delta = h * sum((b5 - b4) * k for b5, b4, k in zip(B5, B4, ks))
            err = self.tolerance.error(delta, y, y5)
            if err <= 1:
                t, y = t + h, y5
                path.append(y)
                stats.accepted += 1
                if self.event is not None and self.event(t, y):
                    stats.stopped_by = getattr(self.event, "__name__", "event")
                    break
            else:
                stats.rejected += 1
            h = h * (0.9 * (err + 1e-10) ** -0.2).clip(0.2, 5.0)
        self.total_rejected += stats.rejected
        return y, t, stats, path


def hit_ground(t, y):
    return y[0] < 0


class Pendulum(nn.Layer):
    def __init__(self):
        super().__init__()
        self.gravity = self.create_parameter([1], default_initializer=nn.initializer.Constant(9.8))

    def forward(self, t, y):
        return paddle.concat([y[1:], -self.gravity * paddle.sin(y[:1]) - 0.1 * y[1:]])


@program
def adaptive_steps_until_an_event(convert):
    """Dormand-Prince 5(4) with step control, dense output, events and a cap on the number of steps."""

    records = []
    field = Pendulum()
    solver = Solver(field)
    solve = convert(solver.solve)
    for angle, end in [(0.3, 1.0), (2.5, 1.5)]:
        y, t, stats, path = solve(paddle.to_tensor([angle, 0.0]), 0.0, end)
        records += [y, t, vars(stats), len(path), path[1]]
    y.sum().backward()
    records += [field.gravity.grad, solver.total_rejected]
    fall = Solver(
        lambda t, y: paddle.stack([y[1], paddle.full([], -9.8)]), Tolerance(1e-2), event=hit_ground
    )
    y, t, stats, path = convert(fall.solve)(paddle.to_tensor([2.0, 1.0]), 0.0, 5.0, h=0.05)
    records += [y, t, stats.stopped_by, stats.accepted]
    stiff = Solver(lambda t, y: -60.0 * (y - paddle.cos(t)), max_steps=6)
    try:
        convert(stiff.solve)(paddle.to_tensor([3.0]), 0.0, 2.0)
    except StepLimit as error:
        records.append(f"{type(error).__name__}: {error}")
    yield from records


class LBFGS:
    def __init__(self, objective, memory=5, max_iter=30, gtol=1e-4, c1=1e-4):
        self.objective = objective
        self.pairs = deque(maxlen=memory)
        self.max_iter = max_iter
        self.gtol = gtol
        self.c1 = c1
        self.evaluations = 0

    def value_and_grad(self, x):
        x = x.detach()
        x.stop_gradient = False
        value = self.objective(x)
        (grad,) = paddle.grad(value, [x])
        self.evaluations += 1
        return value.detach(), grad

    def direction(self, grad):
        q = grad
        alphas = []
        for s, y, rho in reversed(self.pairs):
            alpha = rho * paddle.dot(s, q)
            q = q - alpha * y
            alphas.append(alpha)
        if self.pairs:
            s, y, _ = self.pairs[-1]
            q = q * (paddle.dot(s, y) / paddle.dot(y, y))
        for (s, y, rho), alpha in zip(self.pairs, reversed(alphas)):
            beta = rho * paddle.dot(y, q)
            q = q + s * (alpha - beta)
        return -q

    def line_search(self, x, value, grad, d):
        slope = paddle.dot(grad, d)
        if slope >= 0:
            d, slope = -grad, -paddle.dot(grad, grad)
        step = 1.0
        for _ in range(20):
            candidate = x + step * d
            new_value, new_grad = self.value_and_grad(candidate)
            if new_value <= value + self.c1 * step * slope:
                return candidate, new_value, new_grad, step
            step *= 0.5
        return x, value, grad, 0.0

    def step(self, x, value, grad):
        """One iteration; the new point, and whether anything moved."""
        d = self.direction(grad)
        new_x, new_value, new_grad, length = self.line_search(x, value, grad, d)
        s, y = new_x - x, new_grad - grad
        curvature = paddle.dot(s, y)
        if curvature > 1e-10:
            self.pairs.append((s, y, 1.0 / curvature))
        return new_x, new_value, new_grad, length > 0

    def minimise(self, x):
        value, grad = self.value_and_grad(x)
        trace = [value]
        for it in range(self.max_iter):
            if grad.abs().max() < self.gtol:
                return x, value, it, trace
            x, value, grad, moved = self.step(x, value, grad)
            trace.append(value)
            if not moved:
                break
        return x, value, self.max_iter, trace


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def make_quadratic(n):
    scale = paddle.arange(1, n + 1, dtype="float32")

    def quadratic(x):
        return 0.5 * (scale * (x - 1.0) ** 2).sum()

    return quadratic


@program
def lbfgs_with_pairs_in_a_deque(convert):
    """L-BFGS by hand: two-loop recursion, curvature pairs in a deque, Armijo backtracking."""

    records = []
    for objective, start in [
        (make_quadratic(4), [3.0, -1.0, 0.0, 2.0]),
        (rosenbrock, [-1.2, 1.0]),
    ]:
        opt = LBFGS(objective, max_iter=8)
        x = paddle.to_tensor(start)
        value, grad = opt.value_and_grad(x)
        step = convert(opt.step)
        for _ in range(4):
            x, value, grad, moved = step(x, value, grad)
            records += [x, value, bool(moved), len(opt.pairs)]
        records.append(opt.evaluations)
    whole = LBFGS(make_quadratic(3), memory=3)
    x, value, iterations, trace = convert(whole.minimise)(paddle.to_tensor([5.0, -4.0, 2.0]))
    records += [x, iterations, len(trace), len(whole.pairs)]
    yield from records


log = logging.getLogger("forecast")


@dataclass
class Params:
    level: float = 0.5
    trend: float = 0.1
    season: float = 0.3
    period: int = 4
    damping: float = 0.95
    multiplicative: bool = False

    @classmethod
    def from_dict(cls, values):
        known = {k: v for k, v in values.items() if k in cls.__dataclass_fields__}
        if len(known) != len(values):
            raise TypeError(f"unknown: {sorted(set(values) - set(known))}")
        return cls(**known)


class Cusum:
    def __init__(self, drift=0.5, limit=4.0):
        self.drift, self.limit = drift, limit
        self.reset()

    def reset(self):
        self.up = paddle.zeros([])
        self.down = paddle.zeros([])

    def add(self, z):
        self.up = (self.up + z - self.drift).clip(min=0)
        self.down = (self.down - z - self.drift).clip(min=0)
        if self.up > self.limit:
            self.reset()
            return 1
        elif self.down > self.limit:
            self.reset()
            return -1
        return 0


class HoltWinters:
    def __init__(self, params, cusum=None):
        self.params = params
        self.cusum = cusum or Cusum()
        self.changes = []

    def combine(self, base, season):
        return base * season if self.params.multiplicative else base + season

    def remove(self, value, season):
        return value / season if self.params.multiplicative else value - season

    def fit(self, series):
        p = self.params
        if series.shape[0] < 2 * p.period:
            raise ValueError(f"{2 * p.period} values wanted, {series.shape[0]} given")
        level = series[: p.period].mean()
        trend = (series[p.period : 2 * p.period].mean() - level) / p.period
        seasons = [self.remove(series[i], level) for i in range(p.period)]
        variance = paddle.ones([])
        fitted = []
        self.changes.clear()
        self.cusum.reset()
        for t in range(series.shape[0]):
            season = seasons[t % p.period]
            forecast = self.combine(level + p.damping * trend, season)
            error = series[t] - forecast
            fitted.append(forecast)
            sign = self.cusum.add(error / variance.sqrt())
            if sign != 0:
                self.changes.append((t, "up" if sign > 0 else "down"))
                log.warning("change at %d: %.3f", t, float(error))
                level = self.remove(series[t], season)
                trend = trend * 0
                continue
            new_level = p.level * self.remove(series[t], season) + (1 - p.level) * (
                level + p.damping * trend
            )
            trend = p.trend * (new_level - level) + (1 - p.trend) * p.damping * trend
            seasons[t % p.period] = (
                p.season * self.remove(series[t], new_level) + (1 - p.season) * season
            )
            level = new_level
            variance = 0.9 * variance + 0.1 * error**2
        self.state = {
            "level": level,
            "trend": trend,
            "seasons": seasons,
            "variance": variance,
            "n": series.shape[0],
        }
        return paddle.stack(fitted)

    def forecast(self, horizon, z=1.96):
        s, p = self.state, self.params
        rows = []
        damp = 0.0
        for h in range(1, horizon + 1):
            damp += p.damping**h
            mean = self.combine(
                s["level"] + damp * s["trend"], s["seasons"][(s["n"] + h - 1) % p.period]
            )
            half = z * s["variance"].sqrt() * math.sqrt(h)
            rows.append(paddle.stack([mean - half, mean, mean + half]))
        return paddle.stack(rows)


class Catcher(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@program
def seasonal_forecast_that_restarts_at_changes(convert):
    """Triple exponential smoothing with CUSUM change points that restart the level, and forecast intervals."""

    catcher = Catcher()
    log.addHandler(catcher)
    log.propagate = False
    t = paddle.arange(24, dtype="float32")
    season = paddle.to_tensor([1.0, -0.5, 0.2, -0.7]).tile([6])
    jump = 10 + 0.1 * t + season + 8.0 * (t >= 14).astype("float32")
    records = []
    model = HoltWinters(Params())
    fit, forecast = convert(model.fit), convert(model.forecast)
    for series in [jump, jump[:12], 30 - jump]:
        records += [fit(series), list(model.changes), model.state["level"], forecast(3)]
    model.params = Params.from_dict({"multiplicative": True, "level": 0.3})
    records += [fit(jump), list(model.changes), forecast(5, z=1.0), asdict(model.params)]
    try:
        fit(jump[:6])
    except ValueError as error:
        records.append(str(error))
    try:
        Params.from_dict({"alpha": 1})
    except TypeError as error:
        records.append(str(error))
    records.append(list(catcher.lines))
    log.removeHandler(catcher)
    yield from records


class WarmupCosine:
    def __init__(self, peak, warmup, total, floor=0.0):
        self.peak, self.warmup, self.total, self.floor = peak, warmup, total, floor
        self.t = 0

    def __call__(self):
        if self.t < self.warmup:
            return self.peak * (self.t + 1) / self.warmup
        progress = min(1.0, (self.t - self.warmup) / max(1, self.total - self.warmup))
        return self.floor + 0.5 * (self.peak - self.floor) * (1 + math.cos(math.pi * progress))

    def advance(self):
        self.t += 1


class Lamb:
    def __init__(self, groups, schedule, betas=(0.9, 0.99), eps=1e-6, max_norm=None):
        self.groups = groups
        self.schedule = schedule
        self.betas = betas
        self.eps = eps
        self.max_norm = max_norm
        self.state = {}
        self.skipped = 0

    def parameters(self):
        for group in self.groups:
            yield from group["params"]

    def clip(self):
        grads = [p.grad for p in self.parameters() if p.grad is not None]
        norm = paddle.sqrt(sum((g**2).sum() for g in grads))
        if self.max_norm is not None and norm > self.max_norm:
            for g in grads:
                g.scale_(self.max_norm / (float(norm) + 1e-6))
        return norm

    @paddle.no_grad()
    def step(self):
        norm = self.clip()
        if not paddle.isfinite(norm):
            self.skipped += 1
            return norm
        lr = self.schedule()
        b1, b2 = self.betas
        for group in self.groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state.setdefault(
                    p.name, {"t": 0, "m": paddle.zeros_like(p), "v": paddle.zeros_like(p)}
                )
                s["t"] += 1
                s["m"] = b1 * s["m"] + (1 - b1) * p.grad
                s["v"] = b2 * s["v"] + (1 - b2) * p.grad**2
                update = (s["m"] / (1 - b1 ** s["t"])) / (
                    paddle.sqrt(s["v"] / (1 - b2 ** s["t"])) + self.eps
                )
                if group.get("weight_decay"):
                    update = update + group["weight_decay"] * p
                w, u = p.norm(), update.norm()
                trust = w / u if group.get("adapt", True) and w > 0 and u > 0 else 1.0
                p.set_value(p - lr * trust * update)
        self.schedule.advance()
        return norm

    def zero_grad(self):
        for p in self.parameters():
            p.clear_gradient()


class Regressor(nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 5)
        self.norm = nn.LayerNorm(5)
        self.head = nn.Linear(5, 1)

    def forward(self, x):
        return self.head(F.gelu(self.norm(self.hidden(x)))).squeeze(-1)


@program
def lamb_by_groups_with_a_warmup(convert):
    """LAMB written by hand with per-group options, a warmup-cosine schedule and clipping by global norm."""

    paddle.seed(21)
    net = Regressor()
    decay = [p for n, p in net.named_parameters() if n.endswith("weight") and "norm" not in n]
    rest = [p for n, p in net.named_parameters() if not (n.endswith("weight") and "norm" not in n)]
    opt = Lamb(
        [{"params": decay, "weight_decay": 0.01}, {"params": rest, "adapt": False}],
        WarmupCosine(0.05, warmup=3, total=8, floor=0.001),
        max_norm=1.0,
    )

    def train_step(x, y):
        loss = F.smooth_l1_loss(net(x), y)
        loss.backward()
        norm = opt.step()
        opt.zero_grad()
        return loss, norm

    step = convert(train_step)
    records = []
    for i, rows in enumerate([8, 8, 5, 8, 8]):
        x = paddle.randn([rows, 3])
        y = x.sum(-1) * (10.0 if i == 1 else 1.0)
        if i == 3:
            y[0] = float("inf")
        loss, norm = step(x, y)
        records += [loss, norm, opt.schedule(), opt.skipped]
    records += [{k: v for k, v in net.state_dict().items()}, [s["t"] for s in opt.state.values()]]
    records.append(opt.state[net.head.weight.name]["m"])
    yield from records
