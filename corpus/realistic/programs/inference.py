"""Sampling and inference: Markov chains, variational inference, bandits, trees, message passing."""

import math
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Dict, List, Optional, Protocol

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.distribution import Normal

from corpus.realistic import attempt, program


class Target(Protocol):
    def log_prob(self, x): ...


@dataclass
class GaussianMixture2D:
    means: Any
    scale: float = 0.6

    def log_prob(self, x):
        centers = paddle.to_tensor(self.means, dtype="float32")
        return paddle.logsumexp(-0.5 * ((x - centers) ** 2).sum(axis=-1) / self.scale**2, axis=0)


@program
def metropolis_hastings(convert):
    """Random-walk Metropolis from given noise; the step size adapts during burn-in."""

    class Metropolis:
        def __init__(self, target: Target, step=0.5, adapt=True):
            self.target = target
            self.step = paddle.to_tensor(step)
            self.adapt = adapt
            self.accepted = 0
            self.proposed = 0

        @property
        def rate(self):
            return self.accepted / max(self.proposed, 1)

        def transition(self, x, logp, noise, u):
            candidate = x + self.step * noise
            candidate_logp = self.target.log_prob(candidate)
            self.proposed += 1
            if paddle.log(u) < candidate_logp - logp:
                self.accepted += 1
                return candidate, candidate_logp, True
            return x, logp, False

        def run(self, x, noise, uniforms, burn_in=2):
            logp = self.target.log_prob(x)
            samples = []
            for i in range(noise.shape[0]):
                x, logp, ok = self.transition(x, logp, noise[i], uniforms[i])
                if i < burn_in:
                    if self.adapt:
                        self.step = self.step * (1.1 if ok else 0.7)
                    continue
                samples.append(x)
            return paddle.stack(samples), logp

    rng = np.random.RandomState(0)
    for adapt in (True, False):
        chain = Metropolis(GaussianMixture2D([[0.0, 0.0], [2.0, 2.0]]), adapt=adapt)
        run = convert(chain.run)
        for n in (6, 6, 4):
            noise = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
            yield run(paddle.zeros([2]), noise, paddle.to_tensor(rng.rand(n).astype("float32")))
            yield chain.accepted, chain.rate, chain.step


@program
def hamiltonian_monte_carlo(convert):
    """HMC with leapfrog steps on gradients, divergences counted, an accept test per trajectory."""

    class HMC:
        def __init__(self, log_prob, step=0.2, n_leapfrog=3, max_energy=50.0):
            self.log_prob = log_prob
            self.step, self.n_leapfrog, self.max_energy = step, n_leapfrog, max_energy
            self.divergences = 0

        def gradient(self, q):
            q = q.detach()
            q.stop_gradient = False
            logp = self.log_prob(q)
            return logp, paddle.grad(outputs=[logp], inputs=[q])[0]

        def leapfrog(self, q, p):
            logp, g = self.gradient(q)
            for _ in range(self.n_leapfrog):
                p = p + 0.5 * self.step * g
                q = q + self.step * p
                logp, g = self.gradient(q)
                p = p + 0.5 * self.step * g
            return q, p, logp

        def __call__(self, q, momentum, u):
            start = self.log_prob(q) - 0.5 * (momentum**2).sum()
            q_new, p_new, logp = self.leapfrog(q, momentum)
            end = logp - 0.5 * (p_new**2).sum()
            if (end - start).abs() > self.max_energy:
                self.divergences += 1
                return q, False
            if paddle.log(u) < end - start:
                return q_new.detach(), True
            return q, False

    def banana(q):
        return -0.5 * (q[0] ** 2 + 4 * (q[1] - q[0] ** 2) ** 2)

    rng = np.random.RandomState(1)
    for step in (0.2, 2.5):
        hmc = HMC(banana, step=step)
        sample = convert(hmc)
        q = paddle.to_tensor([0.5, 0.5])
        for _ in range(4):
            q, ok = sample(
                q,
                paddle.to_tensor(rng.randn(2).astype("float32")),
                paddle.to_tensor(rng.rand()).astype("float32"),
            )
            yield q, ok
        yield hmc.divergences


@program
def slice_sampler_stepping_out(convert):
    """Univariate slice sampling: the bracket steps out, then shrinks until a point is inside."""

    @convert
    def slice_sample(log_density, x, log_u, uniforms, width=1.0, max_steps=5):
        level = log_density(x) + log_u
        left = x - width * uniforms[0]
        right = left + width
        out = 0
        while log_density(left) > level and out < max_steps:
            left = left - width
            out += 1
        while log_density(right) > level and out < 2 * max_steps:
            right = right + width
            out += 1
        for k in range(1, uniforms.shape[0]):
            candidate = left + uniforms[k] * (right - left)
            if log_density(candidate) > level:
                return candidate, k, out
            if candidate < x:
                left = candidate
            else:
                right = candidate
        return x, 0, out

    rng = np.random.RandomState(2)

    def two_bumps(x):
        return paddle.logsumexp(paddle.stack([-((x - 1) ** 2), -((x + 2) ** 2) * 4]), axis=0)

    x = paddle.to_tensor(0.3)
    for density in (two_bumps, lambda x: -x.abs(), two_bumps):
        for _ in range(2):
            u = paddle.to_tensor(rng.rand(6).astype("float32"))
            x, tries, out = slice_sample(density, x, paddle.to_tensor(-0.8), u)
            yield x, tries, out


@program
def black_box_variational_inference(convert):
    """Mean-field VI with the reparametrisation trick, an early stop on the smoothed ELBO, Normal objects."""

    class MeanField(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.loc = self.create_parameter(
                [dim], default_initializer=nn.initializer.Constant(0.0)
            )
            self.log_scale = self.create_parameter(
                [dim], default_initializer=nn.initializer.Constant(-1.0)
            )
            self.register_buffer("smoothed", paddle.to_tensor(float("-inf")))

        def rsample(self, noise):
            return self.loc + paddle.exp(self.log_scale) * noise

        def forward(self, log_joint, noise):
            z = self.rsample(noise)
            q = Normal(self.loc, paddle.exp(self.log_scale))
            elbo = (log_joint(z) - q.log_prob(z).sum(axis=-1)).mean()
            if self.training:
                if paddle.isinf(self.smoothed):
                    self.smoothed = elbo.detach()
                else:
                    self.smoothed = 0.7 * self.smoothed + 0.3 * elbo.detach()
            return elbo

    def log_joint(z):
        return -0.5 * ((z - paddle.to_tensor([1.0, -2.0])) ** 2 / paddle.to_tensor([0.5, 2.0])).sum(
            -1
        )

    paddle.seed(3)
    guide = MeanField(2)
    optimizer = paddle.optimizer.Adam(learning_rate=0.2, parameters=guide.parameters())
    elbo_of = convert(guide)
    rng = np.random.RandomState(3)
    for n in (4, 4, 6, 4):
        loss = -elbo_of(log_joint, paddle.to_tensor(rng.randn(n, 2).astype("float32")))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        yield loss, guide.smoothed
    guide.eval()
    yield elbo_of(log_joint, paddle.zeros([1, 2])), guide.smoothed


@program
def bandits_ucb_thompson(convert):
    """Bandit policies with a common interface; rewards from a table, regret tracked on the environment."""

    class Environment:
        def __init__(self, means):
            self.means = paddle.to_tensor(means)
            self.regret = paddle.zeros([])

        def pull(self, arm, noise):
            self.regret = self.regret + self.means.max() - self.means[arm]
            return self.means[arm] + 0.1 * noise

    class Policy:
        def __init__(self, n):
            self.n = n
            self.counts = paddle.zeros([n])
            self.values = paddle.zeros([n])

        def choose(self, t, u):
            raise NotImplementedError(type(self).__name__)

        def update(self, arm, reward):
            self.counts[arm] += 1
            self.values[arm] += (reward - self.values[arm]) / self.counts[arm]

    class UCB(Policy):
        def choose(self, t, u):
            if (self.counts == 0).any():
                return (self.counts == 0).astype("int32").argmax()
            return (self.values + paddle.sqrt(2 * math.log(t + 1) / self.counts)).argmax()

    class EpsilonGreedy(Policy):
        epsilon = 0.3

        def choose(self, t, u):
            if u[0] < self.epsilon / (1 + 0.1 * t):
                return paddle.clip((u[1] * self.n).astype("int64"), max=self.n - 1)
            return self.values.argmax()

    class Thompson(Policy):
        def choose(self, t, u):
            spread = 1.0 / paddle.sqrt(self.counts + 1)
            return (self.values + spread * (u[: self.n] - 0.5) * 3).argmax()

    @convert
    def play(env, policy, t, u, noise):
        arm = policy.choose(t, u)
        reward = env.pull(arm, noise)
        policy.update(arm, reward)
        return arm, reward

    rng = np.random.RandomState(4)
    for policy_class in (UCB, EpsilonGreedy, Thompson):
        env, policy = Environment([0.2, 0.5, 0.3]), policy_class(3)
        for t in range(5):
            u = paddle.to_tensor(rng.rand(3).astype("float32"))
            yield play(env, policy, t, u, float(rng.randn()))
        yield env.regret, policy
    yield attempt(lambda: play(env, Policy(3), 0, u, 0.0))


@program
def belief_propagation_ldpc(convert):
    """Min-sum decoding of a small LDPC code: messages on an edge matrix, stop when the syndrome is zero."""

    H = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 1, 0, 1, 0], [1, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 1]])

    class MinSum:
        def __init__(self, h, max_iter=6, scale=0.8):
            self.h = paddle.to_tensor(h.astype("float32"))
            self.max_iter, self.scale = max_iter, scale
            self.stats = defaultdict(int)

        def check_update(self, v2c):
            mask = self.h > 0
            big = paddle.full_like(v2c, 1e6)
            magnitude = paddle.where(mask, v2c.abs(), big)
            smallest, index = paddle.topk(magnitude, k=2, axis=1, largest=False)
            first = paddle.arange(self.h.shape[1]).unsqueeze(0) == index[:, :1]
            least = paddle.where(first, smallest[:, 1:2], smallest[:, :1])
            sign = paddle.where(v2c < 0, -paddle.ones_like(v2c), paddle.ones_like(v2c))
            sign = paddle.where(mask, sign, paddle.ones_like(sign))
            total = paddle.prod(sign, axis=1, keepdim=True)
            return paddle.where(mask, self.scale * total * sign * least, paddle.zeros_like(v2c))

        def decode(self, llr):
            c2v = paddle.zeros_like(self.h)
            for it in range(self.max_iter):
                total = llr + c2v.sum(axis=0)
                bits = (total < 0).astype("float32")
                syndrome = paddle.mod(self.h @ bits, paddle.to_tensor(2.0))
                if not syndrome.any():
                    self.stats["decoded"] += 1
                    return bits.astype("int64"), it, True
                c2v = self.check_update((total.unsqueeze(0) - c2v) * self.h)
            self.stats["failed"] += 1
            return bits.astype("int64"), self.max_iter, False

    decoder = MinSum(H)
    decode = convert(decoder.decode)
    for llr in (
        [2.0, 1.5, 1.0, 2.0, 1.2, 0.9],
        [2.0, -0.4, 1.0, 2.0, 1.2, 0.9],
        [-2.0, 0.4, -1.0, 2.0, -0.2, 0.9],
    ):
        yield decode(paddle.to_tensor(llr))
    decoder.max_iter = 1
    yield decode(paddle.to_tensor([2.0, -0.4, 1.0, 2.0, 1.2, 0.9]))
    yield dict(decoder.stats)


@program
def decision_tree_growing(convert):
    """A regression tree grown by recursion on tensors of samples; prediction walks Python nodes."""

    @dataclass
    class Leaf:
        value: paddle.Tensor

        def predict(self, x):
            return self.value

    @dataclass
    class Split:
        feature: int
        threshold: paddle.Tensor
        left: Any
        right: Any

        def predict(self, x):
            if x[self.feature] <= self.threshold:
                return self.left.predict(x)
            return self.right.predict(x)

    class Tree:
        def __init__(self, max_depth=2, min_gain=1e-3):
            self.max_depth, self.min_gain = max_depth, min_gain
            self.root = None

        @staticmethod
        def sse(y):
            return ((y - y.mean()) ** 2).sum() if y.shape[0] else paddle.zeros([])

        def best_split(self, x, y):
            best = (None, None, paddle.zeros([]))
            parent = self.sse(y)
            for feature in range(x.shape[1]):
                values = paddle.unique(x[:, feature])
                for k in range(values.shape[0] - 1):
                    threshold = (values[k] + values[k + 1]) / 2
                    mask = x[:, feature] <= threshold
                    gain = parent - self.sse(y[mask]) - self.sse(y[~mask])
                    if gain > best[2]:
                        best = (feature, threshold, gain)
            return best

        def grow(self, x, y, depth=0):
            if depth >= self.max_depth or y.shape[0] < 2:
                return Leaf(y.mean())
            feature, threshold, gain = self.best_split(x, y)
            if feature is None or gain < self.min_gain:
                return Leaf(y.mean())
            mask = x[:, feature] <= threshold
            return Split(
                feature,
                threshold,
                self.grow(x[mask], y[mask], depth + 1),
                self.grow(x[~mask], y[~mask], depth + 1),
            )

        def fit(self, x, y):
            self.root = self.grow(x, y)
            return self

        def predict(self, x):
            return paddle.stack([self.root.predict(row) for row in x])

    rng = np.random.RandomState(5)
    x = paddle.to_tensor(rng.rand(5, 2).astype("float32"))
    y = (x[:, 0] > 0.5).astype("float32") + 0.1 * x[:, 1]
    tree = Tree().fit(x, y)
    predict = convert(tree.predict)
    for n in (3, 3, 4):
        yield predict(paddle.to_tensor(rng.rand(n, 2).astype("float32")))
    split = convert(tree.best_split)
    yield split(x, y)
    whole = Tree(max_depth=1)
    fit = convert(whole.fit)
    yield fit(x[:4], y[:4]) is whole
    yield whole.root


@program
def gradient_boosting_stumps(convert):
    """Boosted stumps on tensors: pseudo-residuals, thresholds over quantiles, shrinkage, early stopping."""

    Stump = namedtuple("Stump", "feature threshold left right")

    def apply(stump, x):
        return paddle.where(x[:, stump.feature] <= stump.threshold, stump.left, stump.right)

    class Booster:
        LOSSES: ClassVar[Dict[str, Callable]] = {
            "squared": lambda y, f: y - f,
            "absolute": lambda y, f: paddle.sign(y - f),
            "logistic": lambda y, f: y - F.sigmoid(f),
        }

        def __init__(self, loss="squared", rounds=4, shrinkage=0.5, patience=1):
            self.negative_gradient = self.LOSSES[loss]
            self.rounds, self.shrinkage, self.patience = rounds, shrinkage, patience

        def fit_stump(self, x, r):
            best, best_score = None, paddle.to_tensor(float("inf"))
            for feature in range(x.shape[1]):
                column = x[:, feature]
                for q in (0.25, 0.5, 0.75):
                    threshold = paddle.quantile(column, q)
                    left = (column <= threshold).astype("float32")
                    n_left = left.sum().clip(min=1.0)
                    n_right = (1 - left).sum().clip(min=1.0)
                    mean_left = (left * r).sum() / n_left
                    mean_right = ((1 - left) * r).sum() / n_right
                    fitted = left * mean_left + (1 - left) * mean_right
                    score = ((r - fitted) ** 2).sum()
                    if score < best_score:
                        best_score = score
                        best = Stump(feature, threshold, mean_left, mean_right)
            return best

        def fit(self, x, y):
            f = paddle.zeros_like(y)
            previous = float("inf")
            worse = 0
            curve = []
            for m in range(self.rounds):
                stump = self.fit_stump(x, self.negative_gradient(y, f))
                f = f + self.shrinkage * apply(stump, x)
                loss = ((y - f) ** 2).mean()
                curve.append(loss)
                if loss >= previous:
                    worse += 1
                    if worse > self.patience:
                        break
                else:
                    worse = 0
                previous = loss
            return f, curve

    rng = np.random.RandomState(6)
    for loss in ("squared", "absolute", "logistic"):
        booster = Booster(loss, rounds=3)
        fit = convert(booster.fit)
        for n in (6, 6):
            x = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
            yield fit(x, (x[:, 0] * 2 > 1).astype("float32"))
    yield attempt(lambda: Booster("huber"))


@program
def gaussian_process_active_learning(convert):
    """A GP with a growing training set: the most uncertain candidate is asked for until it is sure."""

    class RBF:
        def __init__(self, length=0.5, variance=1.0):
            self.length, self.variance = length, variance

        def __call__(self, a, b):
            return self.variance * paddle.exp(
                -0.5 * ((a.unsqueeze(1) - b.unsqueeze(0)) / self.length) ** 2
            )

        def __add__(self, other):
            return SumKernel(self, other)

    class SumKernel:
        def __init__(self, *parts):
            self.parts = parts

        def __call__(self, a, b):
            return sum(k(a, b) for k in self.parts)

    class GP:
        def __init__(self, kernel, noise=1e-2):
            self.kernel, self.noise = kernel, noise
            self.x = self.y = None

        def tell(self, x, y):
            x, y = x.reshape([-1]), y.reshape([-1])
            self.x = x if self.x is None else paddle.concat([self.x, x])
            self.y = y if self.y is None else paddle.concat([self.y, y])

        @property
        def factor(self):
            k = self.kernel(self.x, self.x) + self.noise * paddle.eye(self.x.shape[0])
            return paddle.linalg.cholesky(k)

        def predict(self, grid):
            if self.x is None:
                return paddle.zeros_like(grid), paddle.ones_like(grid)
            l = self.factor
            ks = self.kernel(self.x, grid)
            alpha = paddle.linalg.cholesky_solve(self.y.unsqueeze(1), l, upper=False)
            v = paddle.linalg.triangular_solve(l, ks, upper=False)
            mean = (ks.t() @ alpha).squeeze(1)
            return mean, paddle.diagonal(self.kernel(grid, grid)) - (v**2).sum(axis=0)

        def learn(self, oracle, grid, budget=3, goal=0.2):
            asked = []
            for _ in range(budget):
                mean, var = self.predict(grid)
                if var.max() < goal:
                    break
                point = grid[var.argmax()]
                asked.append(point)
                self.tell(point, oracle(point))
            return asked, self.predict(grid)

    grid = paddle.linspace(0, 2, 6)
    gp = GP(RBF())
    predict = convert(gp.predict)
    yield predict(grid)
    for x in (0.1, 1.0, 1.9):
        gp.tell(paddle.to_tensor(x), paddle.sin(paddle.to_tensor(x)))
        yield predict(grid)
    for kernel, goal in ((RBF(), 0.2), (RBF(0.8) + RBF(0.2, 0.1), 0.3)):
        learner = GP(kernel)
        learn = convert(learner.learn)
        yield learn(paddle.sin, grid, budget=3, goal=goal)
        yield learner.x


@program
def temperature_annealing_tsp(convert):
    """Simulated annealing of a tour with 2-opt moves from given draws; reheats when stuck."""

    @dataclass
    class Anneal:
        start: float = 1.0
        cooling: float = 0.8
        reheat_after: int = 3
        best: Optional[paddle.Tensor] = None
        stuck: int = 0
        log: List[str] = field(default_factory=list)

        def length(self, d, tour):
            return d[tour, paddle.roll(tour, shifts=-1)].sum()

        def reverse(self, tour, i, j):
            n = tour.shape[0]
            index = paddle.arange(n)
            inside = (index >= i) & (index <= j)
            return tour[paddle.where(inside, i + j - index, index)]

        def run(self, d, tour, moves, uniforms):
            temperature = self.start
            current = self.length(d, tour)
            best, best_tour = current, tour
            for k in range(moves.shape[0]):
                i, j = moves[k].min(), moves[k].max()
                trial = self.reverse(tour, i, j)
                length = self.length(d, trial)
                if length < current or uniforms[k] < paddle.exp((current - length) / temperature):
                    tour, current = trial, length
                if current < best:
                    best, best_tour = current, tour
                    self.stuck = 0
                else:
                    self.stuck += 1
                if self.stuck >= self.reheat_after:
                    temperature = self.start
                    self.stuck = 0
                    self.log.append("reheat")
                else:
                    temperature *= self.cooling
            self.best = best
            return best_tour, best

    rng = np.random.RandomState(7)
    annealer = Anneal()
    run = convert(annealer.run)
    for n in (5, 5, 6):
        points = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
        moves = paddle.to_tensor(rng.randint(0, n, (5, 2)))
        yield run(
            paddle.cdist(points, points),
            paddle.arange(n),
            moves,
            paddle.to_tensor(rng.rand(5).astype("float32")),
        )
        yield annealer
