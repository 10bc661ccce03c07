"""Forecasts, gaps, seasons and demand: models of series that somebody runs in production."""

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Dict

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def stacks_that_forecast_residuals(convert):
    """N-BEATS: blocks of three kinds subtract their backcast; a stack ends when nothing is left to explain."""

    class Block(nn.Layer):
        def __init__(self, back, ahead, width):
            super().__init__()
            self.back, self.ahead = back, ahead
            self.body = nn.Sequential(nn.Linear(back, width), nn.ReLU())
            self.theta = nn.Linear(width, self.n_theta)

        def basis(self, n):
            raise NotImplementedError

        def forward(self, x):
            theta = self.theta(self.body(x))
            full = theta @ self.basis(self.back + self.ahead)
            return full[:, : self.back], full[:, self.back :]

    class Trend(Block):
        n_theta = 3

        def basis(self, n):
            t = paddle.arange(n, dtype="float32") / n
            return paddle.stack([t**k for k in range(self.n_theta)])

    class Season(Block):
        n_theta = 4

        def basis(self, n):
            t = paddle.arange(n, dtype="float32") / n * 2 * math.pi
            return paddle.stack(
                [f((k + 1) * t) for k in range(2) for f in (paddle.sin, paddle.cos)]
            )

    class NBeats(nn.Layer):
        def __init__(self, back=6, ahead=3, eps=0.0):
            super().__init__()
            paddle.seed(11)
            self.blocks = nn.LayerList([c(back, ahead, 8) for c in (Trend, Season, Trend)])
            self.eps = eps

        def forward(self, x, explain=False):
            residual, forecast, parts = x, 0.0, {}
            for k, block in enumerate(self.blocks):
                back, ahead = block(residual)
                residual = residual - back
                forecast = forecast + ahead
                parts[f"{type(block).__name__.lower()}_{k}"] = ahead
                if residual.abs().mean() < self.eps:
                    break
            if explain:
                return forecast, parts
            return forecast

    model = NBeats()
    net = convert(model)
    rng = np.random.RandomState(0)
    for n, eps in ((2, 0.0), (4, 0.0), (2, 0.7)):
        model.eps = eps
        x = T(rng.randn(n, 6).astype("float32"), stop_gradient=False)
        out = attempt(lambda: net(x))
        yield out
        if isinstance(out, paddle.Tensor):
            out.square().mean().backward()
        yield x, [p.grad for p in model.blocks[0].parameters()]
        model.clear_gradients()
    yield attempt(lambda: net(x, explain=True))


@program
def paths_sampled_from_a_recurrent_model(convert):
    """DeepAR: scale by the mean, teacher forcing with gaps, ancestral samples, quantiles, losses per step."""

    class DeepAR(nn.Layer):
        def __init__(self, hidden=6):
            super().__init__()
            paddle.seed(13)
            self.cell = nn.LSTMCell(2, hidden)
            self.head = nn.Linear(hidden, 2)

        def scale(self, past):
            seen = paddle.isfinite(past)
            clean = paddle.where(seen, past, paddle.zeros_like(past))
            return 1 + clean.abs().sum(-1, keepdim=True) / seen.astype("float32").sum(
                -1, keepdim=True
            ).clip(min=1)

        def params(self, h):
            mu, raw = self.head(h).chunk(2, axis=-1)
            return mu, F.softplus(raw) + 1e-3

        def unroll(self, past, covariates):
            scale = self.scale(past)
            n, steps = past.shape
            state, nll, counted = None, paddle.zeros([n, 1]), paddle.zeros([n, 1])
            z = paddle.zeros([n, 1])
            for t in range(steps):
                h, state = self.cell(paddle.concat([z, covariates[:, t : t + 1]], -1), state)
                mu, sigma = self.params(h)
                target = past[:, t : t + 1] / scale
                ok = paddle.isfinite(target)
                if not ok.any():
                    z = mu
                    continue
                safe = paddle.where(ok, target, mu.detach())
                nll = nll + paddle.where(
                    ok, sigma.log() + 0.5 * ((safe - mu) / sigma) ** 2, paddle.zeros_like(mu)
                )
                counted = counted + ok.astype("float32")
                z = paddle.where(ok, safe, mu)
            return nll / counted.clip(min=1), state, z, scale

        def forward(self, past, covariates, ahead=0, noise=None):
            loss, state, z, scale = self.unroll(past, covariates)
            if not ahead:
                return loss.mean()
            path = []
            for t in range(ahead):
                c = covariates[:, -ahead + t].unsqueeze(-1)
                h, state = self.cell(paddle.concat([z, c], -1), state)
                mu, sigma = self.params(h)
                z = mu if noise is None else mu + sigma * noise[:, t : t + 1]
                path.append(z * scale)
            return paddle.concat(path, axis=-1)

    model = DeepAR()
    net = convert(model)
    rng = np.random.RandomState(2)
    nan = float("nan")
    for past in (
        [[1.0, 2, 3, 4], [2, 2, nan, 2]],
        [[1.0, nan, 3, 4], [2, nan, 5, 2]],
        [[nan, nan, nan], [1, 2, 3], [4, 4, 4.0]],
    ):
        n, s = len(past), len(past[0])
        cov = T(rng.rand(n, s + 2).astype("float32"))
        loss = attempt(lambda: net(T(past), cov))
        yield loss
        if isinstance(loss, paddle.Tensor):
            loss.backward()
        yield [p.grad for p in model.head.parameters()]
        model.clear_gradients()
        yield attempt(lambda: net(T(past), cov, ahead=2))
        yield attempt(
            lambda: net(T(past), cov, ahead=3, noise=T(rng.randn(n, 3).astype("float32")))
        )


@program
def demand_that_is_mostly_zero(convert):
    """Croston, SBA and TSB for intermittent demand; the method is chosen by the gaps; stock is ordered."""

    @dataclass
    class State:
        size: paddle.Tensor
        interval: paddle.Tensor
        probability: paddle.Tensor
        since: int = 1
        started: bool = False

    def fresh():
        return State(paddle.zeros([]), paddle.ones([]), paddle.zeros([]))

    def croston(s, y, alpha, method):
        if y > 0:
            if not s.started:
                s.size, s.interval, s.started = y, paddle.full([], float(s.since)), True
            else:
                s.size = s.size + alpha * (y - s.size)
                s.interval = s.interval + alpha * (s.since - s.interval)
            s.probability = s.probability + alpha * (1 - s.probability)
            s.since = 1
        else:
            s.since += 1
            s.probability = s.probability * (1 - alpha)
        if method == "tsb":
            return s.probability * s.size
        rate = s.size / s.interval
        return rate * (1 - alpha / 2) if method == "sba" else rate

    class Shop:
        def __init__(self, stock=5.0, lead=2):
            self.stock, self.lead = stock, lead
            self.pipeline = deque([0.0] * lead)
            self.states: Dict[str, State] = {}
            self.lost = 0.0

        def classify(self, history):
            zero = (history == 0).astype("float32").mean()
            if zero > 0.6:
                return "tsb"
            return "sba" if zero > 0.3 else "croston"

        def day(self, item, y, history, alpha=0.3):
            self.stock = self.stock + self.pipeline.popleft()
            sold = paddle.minimum(y, paddle.to_tensor(self.stock))
            self.lost = self.lost + (y - sold)
            self.stock = self.stock - sold
            state = self.states.setdefault(item, fresh())
            rate = croston(state, y, alpha, self.classify(history))
            need = rate * (self.lead + 1) - self.stock - sum(self.pipeline)
            self.pipeline.append(need if need > 0 else 0.0)
            return rate

    shop = Shop()
    day = convert(shop.day)
    series = [3.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 6.0]
    for t, y in enumerate(series):
        history = T(series[max(0, t - 4) : t + 1])
        yield attempt(lambda: day("bolt", T(y), history))
        yield (
            shop.stock,
            shop.lost,
            list(shop.pipeline),
            replace(shop.states["bolt"]) if shop.states else None,
        )


@program
def patches_with_reversible_norm(convert):
    """A patch transformer with RevIN, channel independence, masked pre-training and a head that is swapped."""

    class RevIN(nn.Layer):
        def __init__(self, channels, affine=True):
            super().__init__()
            self.affine = affine
            if affine:
                self.gain = self.create_parameter(
                    [channels], default_initializer=nn.initializer.Constant(1.2)
                )
                self.bias = self.create_parameter([channels], is_bias=True)

        def forward(self, x, mode):
            if mode == "norm":
                self.mean = x.mean(1, keepdim=True).detach()
                self.std = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt().detach()
                x = (x - self.mean) / self.std
                return x * self.gain + self.bias if self.affine else x
            elif mode == "denorm":
                if self.affine:
                    x = (x - self.bias) / (self.gain + 1e-8)
                return x * self.std + self.mean
            raise NotImplementedError(mode)

    class Patches(nn.Layer):
        def __init__(self, length=4, stride=2, dim=8, ahead=3, channels=2):
            super().__init__()
            paddle.seed(17)
            self.length, self.stride, self.ahead = length, stride, ahead
            self.revin = RevIN(channels)
            self.embed = nn.Linear(length, dim)
            self.block = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0)
            self.heads = nn.LayerDict(
                {"forecast": nn.Linear(dim, ahead), "mask": nn.Linear(dim, length)}
            )
            self.task = "forecast"

        def cut(self, x):
            n = (x.shape[-1] - self.length) // self.stride + 1
            return paddle.stack(
                [x[..., i * self.stride : i * self.stride + self.length] for i in range(n)], -2
            )

        def forward(self, x, keep=None):
            z = self.revin(x, "norm").transpose([0, 2, 1])
            patches = self.cut(z)
            b, c, n, p = patches.shape
            tokens = self.embed(patches)
            if self.task == "mask":
                keep = paddle.ones([n]) if keep is None else keep
                tokens = tokens * keep.reshape([1, 1, n, 1])
            h = self.block(tokens.reshape([b * c, n, -1])).reshape([b, c, n, -1])
            out = self.heads[self.task](h)
            if self.task == "mask":
                hidden = 1 - keep
                if hidden.sum() == 0:
                    return paddle.zeros([])
                err = (out - patches).square().mean([0, 1, 3])
                return (err * hidden).sum() / hidden.sum()
            return self.revin(out.mean(2).transpose([0, 2, 1]), "denorm")

    model = Patches()
    net = convert(model)
    rng = np.random.RandomState(4)
    for b, s, task, keep in (
        (2, 8, "forecast", None),
        (1, 10, "forecast", None),
        (2, 8, "mask", [1.0, 0, 1]),
        (2, 8, "mask", [1.0, 1, 1]),
        (2, 8, "mask", None),
        (2, 8, "forecast", None),
    ):
        model.task = task
        x = T((3 + rng.randn(b, s, 2)).astype("float32"))
        out = attempt(lambda: net(x, None if keep is None else T(keep)))
        yield out, model.revin.mean
        if isinstance(out, paddle.Tensor) and not out.stop_gradient:
            out.sum().backward()
        yield (
            model.revin.gain.grad,
            model.heads["mask"].bias.grad,
            model.heads["forecast"].bias.grad,
        )
        model.clear_gradients()
    model.revin.affine = False
    yield attempt(lambda: net(T(rng.randn(1, 6, 2).astype("float32"))))


@program
def gaps_filled_with_decay(convert):
    """GRU-D: the time since the last value decays inputs towards the mean and the state towards zero."""

    def deltas(mask, times):
        rows, last = [paddle.zeros_like(mask[0])], paddle.zeros_like(mask[0])
        for t in range(1, mask.shape[0]):
            last = (times[t] - times[t - 1]) + (1 - mask[t - 1]) * last
            rows.append(last)
        return paddle.stack(rows)

    class GRUD(nn.Layer):
        def __init__(self, n, hidden):
            super().__init__()
            paddle.seed(19)
            self.hidden = hidden
            self.gx = self.create_parameter([n], default_initializer=nn.initializer.Constant(0.3))
            self.gh = nn.Linear(n, hidden)
            self.cell = nn.GRUCell(2 * n, hidden)
            self.out = nn.Linear(hidden, 1)
            self.register_buffer("mean", paddle.zeros([n]))
            self.register_buffer("count", paddle.zeros([n]))

        def track(self, x, mask):
            seen = mask.sum(0)
            if seen.max() > 0:
                self.count += seen
                self.mean += ((x - self.mean) * mask).sum(0) / self.count.clip(min=1)

        def forward(self, x, times, threshold=None):
            mask = paddle.isfinite(x).astype("float32")
            x = paddle.nan_to_num(x)
            if self.training:
                self.track(x, mask)
            d = deltas(mask, times)
            last, h, alarms = self.mean, paddle.zeros([1, self.hidden]), []
            for t in range(x.shape[0]):
                gamma = paddle.exp(-F.relu(self.gx * d[t]))
                last = paddle.where(mask[t] > 0, x[t], last)
                value = mask[t] * x[t] + (1 - mask[t]) * (gamma * last + (1 - gamma) * self.mean)
                h = paddle.exp(-F.relu(self.gh(d[t]))) * h
                h, _ = self.cell(paddle.concat([value, mask[t]]).unsqueeze(0), h)
                risk = F.sigmoid(self.out(h)).squeeze()
                if threshold is not None and risk > threshold:
                    alarms.append(t)
                    if len(alarms) == 2:
                        break
            return risk, alarms

    model = GRUD(2, 4)
    net = convert(model)
    nan = float("nan")
    for rows, times, threshold in (
        ([[1, nan], [nan, 2], [3, 4]], [0, 1, 3], None),
        ([[1, nan], [nan, nan], [2, 1]], [0, 1, 2], None),
        ([[nan, nan], [1, 1]], [0, 2], 0.3),
        ([[2, 1], [1, 1], [0, 1], [3, 3]], [0, 2, 3, 4], 0.1),
    ):
        if threshold:
            model.eval()
        got = attempt(lambda: net(T(rows, dtype="float32"), T(times, dtype="float32"), threshold))
        yield got, model.mean + 0, model.count + 0
        if isinstance(got, tuple):
            got[0].backward()
        yield model.gx.grad
        model.clear_gradients()


@program
def seasons_taken_out_by_loess(convert):
    """STL: local regressions in an inner and an outer loop with robustness weights, until nothing moves."""

    def loess(y, weights, span):
        n = y.shape[0]
        t = paddle.arange(n, dtype=y.dtype)
        out = []
        for i in range(n):
            d = (t - i).abs()
            h = paddle.sort(d)[min(span, n) - 1].clip(min=1.0)
            w = ((1 - (d / h).clip(max=1.0) ** 3) ** 3) * weights
            sw = w.sum()
            if sw < 1e-8:
                out.append(y[i])
                continue
            mt, my = (w * t).sum() / sw, (w * y).sum() / sw
            var = (w * (t - mt) ** 2).sum()
            slope = (w * (t - mt) * (y - my)).sum() / var if var > 1e-8 else paddle.zeros([])
            out.append(my + slope * (i - mt))
        return paddle.stack(out)

    @convert
    def stl(y, period, outer=2, tol=1e-2):
        n = y.shape[0]
        trend, weights, rounds = paddle.zeros_like(y), paddle.ones_like(y), 0
        for _ in range(outer):
            for _ in range(3):
                rounds += 1
                rest = y - trend
                season = paddle.zeros_like(y)
                for k in range(period):
                    season[k::period] = rest[k::period].mean()
                season = season - season.mean()
                new = loess(y - season, weights, max(5, period + 1))
                moved = (new - trend).abs().max()
                trend = new
                if moved < tol:
                    break
            resid = (y - trend - season).abs()
            h = 6 * resid.median()
            if h <= 1e-6:
                break
            weights = (1 - (resid / h).clip(max=1.0) ** 2) ** 2
        return trend, season, weights, rounds

    rng = np.random.RandomState(6)
    for n, period in ((8, 2), (9, 3)):
        base = np.tile([1.0, -1.0, 0.0][:period], n)[:n] + 0.1 * np.arange(n)
        yield attempt(lambda: stl(T(base.astype("float32")), period))
        base[3] += 5
        yield attempt(
            lambda: stl(T((base + 0.05 * rng.randn(n)).astype("float32")), period, outer=1)
        )
