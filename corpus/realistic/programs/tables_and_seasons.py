"""Tabular data and time series."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def series(rng, n, season=4, slope=0.1, noise=0.2):
    t = np.arange(n)
    y = slope * t + np.sin(2 * np.pi * t / season) + noise * rng.randn(n)
    return paddle.to_tensor(y.astype("float32"))


def go_back(result):
    """backward() from what has a gradient among the results."""
    parts = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, tuple)
        else [result]
    )
    parts = [p for p in parts if isinstance(p, paddle.Tensor) and not p.stop_gradient]
    if parts:
        sum((p * (i + 1)).sum() for i, p in enumerate(parts)).backward()


# Holt-Winters with a grid search
@dataclass
class HoltWinters:
    season: int = 4
    alpha: float = 0.3
    beta: float = 0.1
    gamma: float = 0.2
    level: float = 0.0
    trend: float = 0.0
    seasonal: list = field(default_factory=list)

    def fit(self, y):
        m = self.season
        if len(y) < 2 * m:
            raise ValueError(f"need at least {2 * m} points, got {len(y)}")
        self.level = y[:m].mean()
        self.trend = (y[m : 2 * m].mean() - y[:m].mean()) / m
        self.seasonal = [y[i] - self.level for i in range(m)]
        sse = 0.0
        for t in range(m, len(y)):
            s = self.seasonal[t % m]
            err = y[t] - (self.level + self.trend + s)
            sse += err**2
            last = self.level
            self.level = self.alpha * (y[t] - s) + (1 - self.alpha) * (last + self.trend)
            self.trend = self.beta * (self.level - last) + (1 - self.beta) * self.trend
            self.seasonal[t % m] = self.gamma * (y[t] - self.level) + (1 - self.gamma) * s
        self.n = len(y)
        return sse / (len(y) - m)

    def forecast(self, h):
        return paddle.stack(
            [
                self.level + (k + 1) * self.trend + self.seasonal[(self.n + k) % self.season]
                for k in range(h)
            ]
        )


def best_forecast(y, horizon=3, grid=(0.2, 0.5, 0.8)):
    best, best_err = None, None
    for alpha in grid:
        for gamma in grid:
            model = HoltWinters(alpha=alpha, gamma=gamma)
            err = model.fit(y)
            if best is None or err < best_err:
                best, best_err = model, err
    print(f"alpha={best.alpha} gamma={best.gamma} mse={float(best_err):.4f}")
    return best.forecast(horizon), best_err


def calls_holt():
    rng = np.random.RandomState(40)
    return [
        ((series(rng, 14),), {}),
        ((series(rng, 14, noise=1.0),), {"horizon": 5}),
        ((series(rng, 6),), {}),
        ((series(rng, 10), 2, (0.1, 0.9)), {}),
    ]


@program
def seasons_with_a_grid(convert):
    """Triple exponential smoothing, whose two weights are chosen from a grid."""
    run = convert(best_forecast)
    for args, kw in calls_holt():
        yield attempt(lambda: run(*args, **kw))


# pipeline of feature transforms with missing values
class Transform(ABC):
    name = "transform"

    @abstractmethod
    def fit(self, x): ...

    @abstractmethod
    def apply(self, x): ...


class Impute(Transform):
    name = "impute"

    def fit(self, x):
        cols = []
        for j in range(x.shape[1]):
            c = x[:, j]
            ok = c[~paddle.isnan(c)]
            cols.append(ok.median() if ok.shape[0] else paddle.zeros([]))
        self.fill = paddle.stack(cols)

    def apply(self, x):
        return paddle.where(paddle.isnan(x), self.fill.expand_as(x), x)


class Winsorize(Transform):
    name = "winsorize"

    def __init__(self, q=0.1):
        self.q = q

    def fit(self, x):
        self.lo = paddle.quantile(x, self.q, axis=0).astype(x.dtype)
        self.hi = paddle.quantile(x, 1 - self.q, axis=0).astype(x.dtype)

    def apply(self, x):
        return paddle.minimum(paddle.maximum(x, self.lo), self.hi)


class Standardize(Transform):
    name = "standardize"

    def fit(self, x):
        self.mean = x.mean(axis=0)
        self.std = x.std(axis=0)
        self.std[self.std < 1e-6] = 1.0

    def apply(self, x):
        return (x - self.mean) / self.std


class Pipeline:
    def __init__(self, *steps):
        self.steps = OrderedDict((s.name, s) for s in steps)
        self.fitted = False

    def run(self, x, fit=None, skip=()):
        fit = not self.fitted if fit is None else fit
        for name, step in self.steps.items():
            if name in skip:
                print(f"skipping {name}")
                continue
            if fit:
                step.fit(x)
            x = step.apply(x)
        self.fitted = True
        missing = int(paddle.isnan(x).sum())
        if missing:
            print(f"warning: {missing} values are still missing")
        return x


def calls_pipeline():
    rng = np.random.RandomState(41)

    def table(n, holes=3):
        x = rng.randn(n, 3).astype("float32") * [1, 10, 0.1]
        for _ in range(holes):
            x[rng.randint(n), rng.randint(3)] = np.nan
        return paddle.to_tensor(x.astype("float32"))

    return [
        ((table(10),), {}),
        ((table(5),), {}),
        ((table(6),), {"skip": ("impute",)}),
        ((table(8),), {"fit": True}),
    ]


@program
def features_with_missing_values(convert):
    """A pipeline that fills, clips and scales columns, fitted on its first call."""
    pipeline = Pipeline(Impute(), Winsorize(), Standardize())
    run = convert(pipeline.run)
    for args, kw in calls_pipeline():
        yield attempt(lambda: run(*args, **kw)), pipeline.fitted, list(pipeline.steps.values())


# quantile forecaster, trained on windows
class QuantileMLP(nn.Layer):
    def __init__(self, window=4, quantiles=(0.1, 0.5, 0.9)):
        super().__init__()
        self.window = window
        self.quantiles = quantiles
        self.net = nn.Sequential(nn.Linear(window, 8), nn.ReLU(), nn.Linear(8, len(quantiles)))

    def windows(self, y):
        xs = [y[i : i + self.window] for i in range(len(y) - self.window)]
        return paddle.stack(xs), y[self.window :]

    def pinball(self, pred, target):
        losses = []
        for k, q in enumerate(self.quantiles):
            e = target - pred[:, k]
            losses.append(paddle.maximum(q * e, (q - 1) * e).mean())
        return sum(losses) / len(losses)

    def forward(self, y, scale=True):
        mu, sd = y.mean(), y.std()
        z = (y - mu) / sd if scale and sd > 1e-6 else y
        x, target = self.windows(z)
        pred = self.net(x)
        loss = self.pinball(pred, target)
        crossing = (pred[:, 1:] < pred[:, :-1]).any(axis=1).astype("float32").mean()
        if crossing > 0:
            loss = loss + 0.1 * F.relu(pred[:, :-1] - pred[:, 1:]).mean()
        coverage = ((target > pred[:, 0]) & (target < pred[:, -1])).astype("float32").mean()
        return loss, {"crossing": crossing, "coverage": coverage}


def calls_quantile():
    rng = np.random.RandomState(42)

    def y(n, **kw):
        t = series(rng, n, **kw)
        t.stop_gradient = False
        return t

    return [
        ((y(10),), {}),
        ((y(10, noise=3.0),), {}),
        ((y(13),), {"scale": False}),
        ((y(10, slope=0.0, noise=0.0),), {}),
    ]


@program
def quantiles_of_a_series(convert):
    """A network over windows of a series, with a pinball loss and a penalty for quantiles that cross."""
    paddle.seed(42)
    model = QuantileMLP()
    run = convert(model)
    for args, kw in calls_quantile():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw, [p.grad for p in model.parameters()]


# a Kalman filter with gaps
class KalmanTracker:
    def __init__(self, dt=1.0, q=0.01, r=0.5):
        self.F = paddle.to_tensor([[1.0, dt], [0.0, 1.0]])
        self.H = paddle.to_tensor([[1.0, 0.0]])
        self.Q = q * paddle.eye(2)
        self.R = paddle.to_tensor([[r]])
        self.reset()

    def reset(self):
        self.x = paddle.zeros([2, 1])
        self.P = 10.0 * paddle.eye(2)
        self.rejected = 0

    def step(self, z):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        if z is None:
            return
        innovation = z.reshape([1, 1]) - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        if (innovation**2 / S).item() > 9.0:
            self.rejected += 1
            return
        K = self.P @ self.H.T @ paddle.linalg.inv(S)
        self.x = self.x + K @ innovation
        self.P = (paddle.eye(2) - K @ self.H) @ self.P

    def smooth(self, zs, gaps=(), keep=False):
        if not keep:
            self.reset()
        track = []
        for i, z in enumerate(zs):
            self.step(None if i in gaps else z)
            track.append(self.x[0, 0])
        return paddle.stack(track), self.P.trace(), self.rejected


def calls_kalman():
    rng = np.random.RandomState(43)
    a = series(rng, 8, slope=1.0)
    b = a.clone()
    b[5] = 40.0
    return [((a,), {}), ((b,), {}), ((a,), {"gaps": {2, 3}}), ((b + 8.0,), {"keep": True})]


@program
def filter_with_gaps(convert):
    """A Kalman filter that skips gaps and rejects measurements that are far off."""
    tracker = KalmanTracker()
    run = convert(tracker.smooth)
    for args, kw in calls_kalman():
        yield attempt(lambda: run(*args, **kw)), tracker.x, tracker.P


# gradient boosting of stumps
@dataclass(frozen=True)
class Stump:
    feature: int
    threshold: float
    left: float
    right: float

    def __call__(self, x):
        return paddle.where(x[:, self.feature] <= self.threshold, self.left, self.right)


class Booster:
    def __init__(self, rounds=4, shrinkage=0.5, min_leaf=2):
        self.rounds = rounds
        self.shrinkage = shrinkage
        self.min_leaf = min_leaf
        self.trees = []
        self.base = 0.0

    def best_stump(self, x, residual):
        best, best_gain = None, 0.0
        total = residual.sum().item() ** 2 / len(residual)
        for j in range(x.shape[1]):
            values = sorted(set(x[:, j].tolist()))
            for lo, hi in zip(values, values[1:]):
                thr = (lo + hi) / 2
                left = residual[x[:, j] <= thr]
                right = residual[x[:, j] > thr]
                if min(len(left), len(right)) < self.min_leaf:
                    continue
                gain = (
                    left.sum().item() ** 2 / len(left)
                    + right.sum().item() ** 2 / len(right)
                    - total
                )
                if gain > best_gain + 1e-6:
                    best_gain = gain
                    best = Stump(j, thr, left.mean().item(), right.mean().item())
        return best, best_gain

    def predict(self, x):
        out = paddle.full([x.shape[0]], self.base)
        for tree in self.trees:
            out += self.shrinkage * tree(x)
        return out

    def fit(self, x, y):
        self.trees.clear()
        self.base = y.mean().item()
        for r in range(self.rounds):
            stump, gain = self.best_stump(x, y - self.predict(x))
            if stump is None:
                print(f"no split left after {r} rounds")
                break
            self.trees.append(stump)
            print(f"round {r}: x{stump.feature} <= {stump.threshold:.3f} gain {gain:.3f}")
        pred = self.predict(x)
        return pred, ((pred - y) ** 2).mean()


def calls_booster():
    rng = np.random.RandomState(44)
    out = []
    for n in (6, 6, 3):
        x = rng.rand(n, 2).round(2).astype("float32")
        out.append(
            (
                (
                    paddle.to_tensor(x),
                    paddle.to_tensor((3 * (x[:, 0] > 0.5) + x[:, 1]).astype("float32")),
                ),
                {},
            )
        )
    return out


@program
def boosted_stumps(convert):
    """Gradient boosting with trees of one split, found over all thresholds."""
    booster = Booster(rounds=3)
    run = convert(booster.fit)
    for args, kw in calls_booster():
        yield attempt(lambda: run(*args, **kw)), booster.trees, booster.base


# entity embeddings with unseen categories
class TabularNet(nn.Layer):
    def __init__(self, categories, numeric, dim=3):
        super().__init__()
        self.maps = {}
        self.embeddings = nn.LayerDict()
        for name, values in categories.items():
            self.maps[name] = {v: i + 1 for i, v in enumerate(values)}
            self.embeddings[name] = nn.Embedding(len(values) + 1, dim)
        self.numeric = list(numeric)
        self.bn = nn.BatchNorm1D(len(self.numeric))
        self.out = nn.Linear(dim * len(categories) + len(self.numeric), 1)
        self.unseen = {name: 0 for name in categories}

    def lookup(self, name, values):
        ids = []
        for v in values:
            i = self.maps[name].get(v, 0)
            if i == 0:
                self.unseen[name] += 1
            ids.append(i)
        return paddle.to_tensor(ids, dtype="int64")

    def forward(self, rows):
        parts = []
        for name, emb in self.embeddings.items():
            parts.append(emb(self.lookup(name, [r[name] for r in rows])))
        try:
            numbers = paddle.to_tensor([[float(r[c]) for c in self.numeric] for r in rows])
        except KeyError as e:
            print(f"missing column {e}")
            numbers = paddle.zeros([len(rows), len(self.numeric)])
        parts.append(self.bn(numbers))
        score = self.out(paddle.concat(parts, axis=1)).squeeze(-1)
        if not self.training:
            return F.sigmoid(score)
        return score


def calls_tabular():
    def row(city, plan, age, spend):
        return {"city": city, "plan": plan, "age": age, "spend": spend}

    a = [row("paris", "free", 31, 0.0), row("rome", "pro", 45, 12.5), row("oslo", "pro", 28, 3.0)]
    b = [row("rome", "team", 52, 80.0), row("paris", "gold", 39, "7.5")]
    c = [{"city": "rome", "plan": "free", "age": 20}, row("rome", "pro", 61, 2.0)]
    return [((a,), {}), ((b,), {}), ((c,), {}), ((a,), {})]


@program
def rows_with_unseen_categories(convert):
    """Rows as dicts: embeddings of categories, numbers in a batch norm, columns that are missing."""
    paddle.seed(45)
    model = TabularNet(
        {"city": ["paris", "rome"], "plan": ["free", "pro", "team"]}, ["age", "spend"]
    )
    run = convert(model)
    for args, kw in calls_tabular():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw, model.unseen, model.bn, [p.grad for p in model.parameters()]
