"""Classical machine learning and statistics written on tensors."""

import math
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Callable, List, Optional

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def blobs(seed, n, dim=2, classes=2, spread=0.7):
    rng = np.random.RandomState(seed)
    labels = np.arange(n) % classes
    centers = 2 * rng.randn(classes, dim)
    x = centers[labels] + spread * rng.randn(n, dim)
    return paddle.to_tensor(x.astype("float32")), paddle.to_tensor(labels)


@program
def gaussian_mixture_by_em(convert):
    """EM with full covariances, log-likelihood stop, dead components re-seeded; BIC."""

    class GaussianMixture:
        def __init__(self, k, max_iter=8, tol=1e-2, reg=1e-2):
            self.k, self.max_iter, self.tol, self.reg = k, max_iter, tol, reg
            self.means = self.covs = self.weights = None
            self.lower_bounds: List[paddle.Tensor] = []

        def _init(self, x):
            self.means = x[: self.k].clone()
            self.covs = paddle.eye(x.shape[1]).unsqueeze(0).tile([self.k, 1, 1])
            self.weights = paddle.full([self.k], 1.0 / self.k)

        def _log_prob(self, x):
            parts = []
            for j in range(self.k):
                d = x - self.means[j]
                solved = paddle.linalg.solve(self.covs[j], d.T).T
                maha = (d * solved).sum(axis=-1)
                _, logdet = paddle.linalg.slogdet(self.covs[j])
                parts.append(-0.5 * (maha + logdet + x.shape[1] * math.log(2 * math.pi)))
            return paddle.stack(parts, axis=1) + paddle.log(self.weights)

        def e_step(self, x):
            joint = self._log_prob(x)
            total = paddle.logsumexp(joint, axis=1, keepdim=True)
            return (joint - total).exp(), total.mean()

        def m_step(self, x, r):
            counts = r.sum(axis=0)
            if (counts < 0.5).any():
                worst = counts.argmin()
                r = paddle.where(
                    F.one_hot(worst, self.k).unsqueeze(0) > 0, paddle.full_like(r, 1.0 / self.k), r
                )
                counts = r.sum(axis=0)
            self.weights = counts / counts.sum()
            self.means = paddle.matmul(r, x, transpose_x=True) / counts.unsqueeze(-1)
            covs = []
            for j in range(self.k):
                d = x - self.means[j]
                c = paddle.matmul(d * r[:, j : j + 1], d, transpose_x=True) / counts[j]
                covs.append(c + self.reg * paddle.eye(x.shape[1]))
            self.covs = paddle.stack(covs)

        @convert
        def fit(self, x):
            self._init(x)
            previous = None
            for iteration in range(self.max_iter):
                r, bound = self.e_step(x)
                self.lower_bounds.append(bound)
                self.m_step(x, r)
                if previous is not None and bound - previous < self.tol:
                    break
                previous = bound
            return self

        @convert
        def predict(self, x):
            r, bound = self.e_step(x)
            return r.argmax(axis=1), bound

    for seed, n, k in ((0, 8, 2), (1, 9, 3)):
        x, _ = blobs(seed, n, classes=k)
        model = GaussianMixture(k).fit(x)
        yield model.means, model.weights, len(model.lower_bounds)
        yield model.predict(x[:4])


@program
def logistic_regression_by_irls(convert):
    """Newton steps with step halving and ridge; a separable problem stops at a bound."""

    @dataclass
    class Fit:
        weights: paddle.Tensor
        deviance: paddle.Tensor
        iterations: int
        converged: bool = False

    def design(x):
        return paddle.concat(x=[paddle.ones([x.shape[0], 1]), x], axis=1)

    def deviance(a, y, w, ridge):
        z = paddle.matmul(a, w)
        nll = (F.softplus(z) - y * z).sum()
        return 2 * nll + ridge * w[1:].square().sum()

    @convert
    def fit(x, y, ridge=0.1, max_iter=8, tol=1e-3, bound=20.0):
        a = design(x)
        y = y.astype("float32")
        w = paddle.zeros([a.shape[1]])
        penalty = ridge * paddle.eye(a.shape[1])
        penalty[0, 0] = 0.0
        old = deviance(a, y, w, ridge)
        converged = False
        for iteration in range(1, max_iter + 1):
            p = F.sigmoid(paddle.matmul(a, w))
            gradient = paddle.matmul(a, y - p, transpose_x=True) - paddle.matmul(penalty, w)
            s = (p * (1 - p)).clip(min=1e-4)
            hessian = paddle.matmul(a * s.unsqueeze(-1), a, transpose_x=True) + penalty
            step = paddle.linalg.solve(hessian, gradient.unsqueeze(-1)).squeeze(-1)
            scale = 1.0
            new = deviance(a, y, w + step, ridge)
            for _ in range(3):
                if new <= old:
                    break
                scale = scale / 2
                new = deviance(a, y, w + scale * step, ridge)
            w = w + scale * step
            if (old - new).abs() < tol * (old.abs() + 0.1):
                converged = True
                break
            old = new
            if w.abs().max() > bound:
                break
        return Fit(weights=w, deviance=new, iterations=iteration, converged=converged)

    @convert
    def accuracy(x, y, fit, threshold=0.5):
        p = F.sigmoid(paddle.matmul(design(x), fit.weights))
        return ((p > threshold).astype("int64") == y).astype("float32").mean()

    for seed, n, options in ((2, 8, {}), (3, 10, {"ridge": 1.0}), (4, 6, {"max_iter": 2})):
        x, y = blobs(seed, n, spread=1.5)
        result = fit(x, y, **options)
        yield result
        yield accuracy(x, y, result), accuracy(x, y, result, threshold=0.9)


@program
def gradient_boosted_stumps(convert):
    """Stumps found by scanning thresholds, boosted on residuals, early stop on a valid set."""
    Stump = namedtuple("Stump", ["feature", "threshold", "left", "right"])

    def apply_stump(stump, x):
        value = paddle.index_select(x, stump.feature.reshape([1]), axis=1).squeeze(1)
        return paddle.where(value <= stump.threshold, stump.left, stump.right)

    def best_stump(x, residual):
        best_gain = paddle.to_tensor(-1.0)
        best = None
        for feature in range(x.shape[1]):
            column = x[:, feature]
            for i in range(x.shape[0]):
                left = (column <= column[i]).astype("float32")
                right = 1.0 - left
                n_left, n_right = left.sum(), right.sum().clip(min=1e-6)
                mean_left = (residual * left).sum() / n_left
                mean_right = (residual * right).sum() / n_right
                gain = n_left * mean_left.square() + n_right * mean_right.square()
                candidate = Stump(paddle.to_tensor(feature), column[i], mean_left, mean_right)
                if best is None:
                    best_gain, best = gain, candidate
                elif gain > best_gain + 1e-6:
                    best_gain, best = gain, candidate
        return best, best_gain

    class Boosting:
        def __init__(self, rounds=3, rate=0.5, patience=None):
            self.rounds, self.rate, self.patience = rounds, rate, patience
            self.stumps: List[Stump] = []
            self.base = None

        @convert
        def predict(self, x):
            out = self.base.expand([x.shape[0]])
            for stump in self.stumps:
                out = out + self.rate * apply_stump(stump, x)
            return out

        @convert
        def add_one(self, x, y):
            residual = y - self.predict(x)
            stump, gain = best_stump(x, residual)
            self.stumps.append(stump)
            return gain

        def fit(self, x, y, valid=None):
            self.base = y.mean()
            scores, bad = [], 0
            for _ in range(self.rounds):
                self.add_one(x, y)
                if valid is None:
                    continue
                error = float((self.predict(valid[0]) - valid[1]).square().mean())
                bad = bad + 1 if scores and error > min(scores) else 0
                scores.append(error)
                if self.patience is not None and bad > self.patience:
                    break
            return scores

    rng = np.random.RandomState(5)
    for n, patience in ((5, None), (6, 0)):
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        y = paddle.where(x[:, 0] > 0.2, x[:, 1], -x[:, 1] + 1)
        model = Boosting(rounds=2, patience=patience)
        yield model.fit(x, y, valid=(x[:3] + 0.1, y[:3]))
        yield model.stumps[0], model.predict(x)


@program
def lasso_path_by_coordinate_descent(convert):
    """Soft thresholding along a path of penalties with warm starts and active sets."""

    def soft(z, limit):
        if z > limit:
            return z - limit
        elif z < -limit:
            return z + limit
        return paddle.zeros_like(z)

    class Lasso:
        def __init__(self, max_sweeps=6, tol=1e-3):
            self.max_sweeps, self.tol = max_sweeps, tol
            self.sweeps = 0

        def sweep(self, x, residual, w, penalty):
            largest = paddle.zeros([])
            n = x.shape[0]
            for j in range(x.shape[1]):
                column = x[:, j]
                scale = column.square().sum() / n
                old = w[j]
                rho = (column * residual).sum() / n + scale * old
                new = soft(rho, penalty) / scale
                residual = residual + column * (old - new)
                w = paddle.where(paddle.arange(w.shape[0]) == j, new, w)
                largest = paddle.maximum(largest, (new - old).abs())
            return residual, w, largest

        @convert
        def fit(self, x, y, penalty, start=None):
            w = paddle.zeros([x.shape[1]]) if start is None else start
            residual = y - paddle.matmul(x, w)
            for _ in range(self.max_sweeps):
                residual, w, change = self.sweep(x, residual, w, penalty)
                self.sweeps += 1
                if change < self.tol:
                    break
            objective = 0.5 * residual.square().mean() + penalty * w.abs().sum()
            return w, objective

    @convert
    def summary(path):
        active = [(w != 0).astype("int64").sum() for w, _ in path]
        best = min(path, key=lambda item: item[1])
        return active, best

    rng = np.random.RandomState(6)
    for n, d in ((8, 3), (6, 4)):
        x = paddle.to_tensor(rng.randn(n, d).astype("float32"))
        y = 2 * x[:, 0] - x[:, 2] + paddle.to_tensor(0.1 * rng.randn(n).astype("float32"))
        model, w, path = Lasso(), None, []
        for penalty in (1.0, 0.3, 0.05):
            w, objective = model.fit(x, y, paddle.to_tensor(penalty), start=w)
            path.append((w, objective))
            yield w, objective
        yield summary(path)


@program
def hidden_markov_model_training(convert):
    """Scaled forward-backward, Baum-Welch updates, decoding and a generated sequence."""

    @dataclass
    class HMM:
        start: paddle.Tensor
        transition: paddle.Tensor
        emission: paddle.Tensor
        log: List[paddle.Tensor] = field(default_factory=list)

        @property
        def states(self):
            return self.start.shape[0]

    def forward(hmm, obs):
        alphas, scales = [], []
        alpha = hmm.start * hmm.emission[:, obs[0]]
        for t in range(obs.shape[0]):
            if t > 0:
                alpha = paddle.matmul(alpha, hmm.transition) * hmm.emission[:, obs[t]]
            scale = alpha.sum()
            alpha = alpha / scale
            alphas.append(alpha)
            scales.append(scale)
        return alphas, scales

    def backward(hmm, obs, scales):
        beta = paddle.ones([hmm.states])
        betas = [beta]
        for t in range(obs.shape[0] - 1, 0, -1):
            beta = paddle.matmul(hmm.transition, hmm.emission[:, obs[t]] * beta) / scales[t]
            betas.insert(0, beta)
        return betas

    @convert
    def baum_welch(hmm, obs, rounds=4, tol=1e-2):
        previous = None
        symbols = F.one_hot(obs, hmm.emission.shape[1])
        for _ in range(rounds):
            alphas, scales = forward(hmm, obs)
            betas = backward(hmm, obs, scales)
            gamma = paddle.stack([a * b for a, b in zip(alphas, betas)])
            gamma = gamma / gamma.sum(axis=1, keepdim=True)
            xi = paddle.zeros_like(hmm.transition)
            for t in range(obs.shape[0] - 1):
                part = alphas[t].unsqueeze(1) * hmm.transition
                part = part * (hmm.emission[:, obs[t + 1]] * betas[t + 1]).unsqueeze(0)
                xi = xi + part / part.sum()
            hmm.start = gamma[0]
            hmm.transition = xi / xi.sum(axis=1, keepdim=True)
            emission = paddle.matmul(gamma, symbols, transpose_x=True)
            hmm.emission = emission / emission.sum(axis=1, keepdim=True)
            likelihood = paddle.log(paddle.stack(scales)).sum()
            hmm.log.append(likelihood)
            if previous is not None and likelihood - previous < tol:
                break
            previous = likelihood
        return hmm

    @convert
    def generate(hmm, length, stop_symbol=None):
        state = paddle.multinomial(hmm.start, 1)[0]
        out = []
        for _ in range(length):
            symbol = paddle.multinomial(hmm.emission[state], 1)[0]
            out.append(symbol)
            if stop_symbol is not None and symbol == stop_symbol:
                break
            state = paddle.multinomial(hmm.transition[state], 1)[0]
        return paddle.stack(out)

    rng = np.random.RandomState(7)

    def rows(*shape):
        p = rng.rand(*shape) + 0.5
        return paddle.to_tensor((p / p.sum(-1, keepdims=True)).astype("float32"))

    for n, k in ((6, 2), (8, 3)):
        hmm = HMM(start=rows(k), transition=rows(k, k), emission=rows(k, 3))
        obs = paddle.to_tensor(rng.randint(0, 3, n))
        trained = baum_welch(hmm, obs)
        yield trained.transition, trained.emission, trained.log
        paddle.seed(n)
        yield generate(trained, 5)
        yield generate(trained, 6, stop_symbol=1)


@program
def online_learners_on_a_stream(convert):
    """Perceptron, passive-aggressive, Pegasos and FTRL see one example after another."""

    class Online:
        def __init__(self, dim):
            self.w = paddle.zeros([dim])
            self.t = 0
            self.mistakes = paddle.zeros([], dtype="int64")

        def score(self, x):
            return (self.w * x).sum()

        def learn(self, x, y):
            raise NotImplementedError

        @convert
        def observe(self, x, y):
            self.t += 1
            margin = y * self.score(x)
            if margin <= 0:
                self.mistakes = self.mistakes + 1
            self.learn(x, y)
            return margin

    class Perceptron(Online):
        def learn(self, x, y):
            if y * self.score(x) <= 0:
                self.w = self.w + y * x

    class PassiveAggressive(Online):
        def __init__(self, dim, c=1.0):
            super().__init__(dim)
            self.c = c

        def learn(self, x, y):
            loss = F.relu(1 - y * self.score(x))
            tau = paddle.clip(loss / (x.square().sum() + 1e-6), max=self.c)
            self.w = self.w + tau * y * x

    class Pegasos(Online):
        reg = 0.5

        def learn(self, x, y):
            rate = 1 / (self.reg * self.t)
            inside = y * self.score(x) < 1
            self.w = (1 - rate * self.reg) * self.w
            if inside:
                self.w = self.w + rate * y * x
            norm = self.w.norm()
            limit = 1 / math.sqrt(self.reg)
            if norm > limit:
                self.w = self.w * (limit / norm)

    class FTRL(Online):
        def __init__(self, dim, alpha=0.5, l1=0.2):
            super().__init__(dim)
            self.alpha, self.l1 = alpha, l1
            self.z, self.n = paddle.zeros([dim]), paddle.zeros([dim])

        def learn(self, x, y):
            p = F.sigmoid(self.score(x))
            g = (p - (y + 1) / 2) * x
            sigma = ((self.n + g * g).sqrt() - self.n.sqrt()) / self.alpha
            self.z = self.z + g - sigma * self.w
            self.n = self.n + g * g
            shrunk = self.z.sign() * F.relu(self.z.abs() - self.l1)
            self.w = -shrunk * self.alpha / (1 + self.n.sqrt())

    x, labels = blobs(8, 8)
    signs = labels.astype("float32") * 2 - 1
    for learner in (Perceptron(2), PassiveAggressive(2), Pegasos(2), FTRL(2)):
        margins = [learner.observe(x[i], signs[i]) for i in range(8)]
        yield type(learner).__name__, margins
        yield learner.w, learner.mistakes, learner.t
    yield attempt(lambda: Online(2).observe(x[0], signs[0]))


@program
def sequential_tests_and_bootstrap(convert):
    """A sequential probability ratio test, a bootstrap interval and a permutation test."""

    @dataclass
    class Decision:
        verdict: str
        after: int
        ratio: paddle.Tensor

    @convert
    def sprt(stream, p0=0.3, p1=0.7, alpha=0.1, beta=0.1):
        upper, lower = math.log((1 - beta) / alpha), math.log(beta / (1 - alpha))
        ratio = paddle.zeros([])
        for i in range(stream.shape[0]):
            hit = stream[i]
            ratio = ratio + hit * math.log(p1 / p0) + (1 - hit) * math.log((1 - p1) / (1 - p0))
            if ratio > upper:
                return Decision("accept", i + 1, ratio)
            if ratio < lower:
                return Decision("reject", i + 1, ratio)
        return Decision("undecided", stream.shape[0], ratio)

    @convert
    def bootstrap(sample, statistic: Callable, rounds=20, level=0.9):
        n = sample.shape[0]
        values = []
        for _ in range(rounds):
            index = paddle.randint(0, n, [n])
            values.append(statistic(sample[index]))
        values = paddle.stack(values)
        low = paddle.quantile(values, (1 - level) / 2)
        high = paddle.quantile(values, 1 - (1 - level) / 2)
        return statistic(sample), low, high

    @convert
    def permutation_test(a, b, rounds=15, limit: Optional[int] = None):
        observed = (a.mean() - b.mean()).abs()
        pooled = paddle.concat(x=[a, b], axis=0)
        extreme = paddle.zeros([], dtype="int64")
        done = 0
        for done in range(1, rounds + 1):
            order = paddle.randperm(pooled.shape[0])
            shuffled = paddle.gather(pooled, order)
            difference = (shuffled[: a.shape[0]].mean() - shuffled[a.shape[0] :].mean()).abs()
            if difference >= observed:
                extreme = extreme + 1
            if limit is not None and extreme >= limit:
                break
        return (extreme + 1).astype("float32") / (done + 1), done

    for stream in ([1, 1, 1, 1, 1], [0, 0, 0, 1, 0], [1, 0, 1, 0]):
        yield sprt(paddle.to_tensor(stream, dtype="float32"))
    rng = np.random.RandomState(9)
    paddle.seed(9)
    counts = defaultdict(int)
    for n, shift in ((6, 0.0), (8, 2.0)):
        a = paddle.to_tensor(rng.randn(n).astype("float32"))
        b = paddle.to_tensor((rng.randn(n - 1) + shift).astype("float32"))
        yield bootstrap(a, lambda s: s.mean())
        yield bootstrap(b, paddle.median, rounds=8)
        yield permutation_test(a, b)
        p, done = permutation_test(a, b, limit=3)
        counts[n] += int(done)
        yield p
    yield dict(counts)


@program
def survival_curves_and_cox(convert):
    """Kaplan-Meier with censoring, the log-rank statistic, and a Cox model by gradient."""

    class Curve:
        def __init__(self):
            self.times: List[paddle.Tensor] = []
            self.survival: List[paddle.Tensor] = []

        def at(self, t):
            value = paddle.ones([])
            for time, s in zip(self.times, self.survival):
                if time > t:
                    break
                value = s
            return value

        @property
        def area(self):
            total = self.times[0]
            for i in range(len(self.times) - 1):
                total = total + self.survival[i] * (self.times[i + 1] - self.times[i])
            return total

    @convert
    def kaplan_meier(times, events):
        order = paddle.argsort(times)
        times, events = times[order], events[order]
        curve, s = Curve(), paddle.ones([])
        for i in range(times.shape[0]):
            at_risk = times.shape[0] - i
            s = s * (1 - events[i] / at_risk)
            curve.times.append(times[i])
            curve.survival.append(s)
        return curve

    at = convert(Curve.at)

    @convert
    def log_rank(times, events, group):
        observed, expected, variance = paddle.zeros([]), paddle.zeros([]), paddle.zeros([])
        for i in range(times.shape[0]):
            if events[i] == 0:
                continue
            risk = times >= times[i]
            n = risk.astype("float32").sum()
            n1 = (risk & (group == 1)).astype("float32").sum()
            observed = observed + (group[i] == 1).astype("float32")
            expected = expected + n1 / n
            if n > 1:
                variance = variance + (n1 / n) * (1 - n1 / n)
        return (observed - expected).square() / variance.clip(min=1e-6)

    @convert
    def cox_loss(beta, x, times, events):
        score = paddle.matmul(x, beta)
        loss = paddle.zeros([])
        for i in range(times.shape[0]):
            if events[i] > 0:
                risk = times >= times[i]
                masked = paddle.where(risk, score, paddle.full_like(score, -1e9))
                loss = loss - (score[i] - paddle.logsumexp(masked))
        return loss / events.sum().clip(min=1.0)

    rng = np.random.RandomState(10)
    for n in (5, 7):
        times = paddle.to_tensor(rng.exponential(2.0, n).astype("float32"))
        events = paddle.to_tensor((rng.rand(n) < 0.7).astype("float32"))
        group = paddle.to_tensor(rng.randint(0, 2, n))
        curve = kaplan_meier(times, events)
        yield curve, curve.area
        yield [at(curve, paddle.to_tensor(t)) for t in (0.0, 1.0, 3.0)]
        yield log_rank(times, events, group)
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        beta = paddle.zeros([2])
        for _ in range(3):
            beta.stop_gradient = False
            loss = cox_loss(beta, x, times, events)
            loss.backward()
            beta = (beta - 0.3 * beta.grad).detach()
            yield loss, beta
