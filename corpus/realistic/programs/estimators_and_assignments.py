"""Estimators: mean shift, assignment, smoothing, pruned Viterbi, monotone fits, linkage."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def cloud(n, d=2, seed=0, centres=3):
    rng = np.random.RandomState(seed)
    means = rng.randn(centres, d) * 4
    return paddle.to_tensor(
        (means[rng.randint(centres, size=n)] + 0.4 * rng.randn(n, d)).astype("float32")
    )


@program
def mean_shift_with_merged_modes(convert):
    """Mean shift with a kernel chosen by name, a bandwidth from the data, and merged modes."""

    class Kernel(Enum):
        GAUSSIAN = "gaussian"
        FLAT = "flat"

        def weights(self, d2, h):
            if self is Kernel.GAUSSIAN:
                return paddle.exp(-0.5 * d2 / h**2)
            return (d2 <= h**2).astype("float32")

    @dataclass
    class MeanShift:
        kernel: Kernel = Kernel.GAUSSIAN
        bandwidth: Optional[float] = None
        max_iter: int = 50
        tol: float = 1e-3
        history: List[int] = field(default_factory=list)

        def estimate_bandwidth(self, x, quantile=0.3):
            k = max(int(x.shape[0] * quantile), 1)
            d = paddle.cdist(x, x)
            return d.sort(axis=1)[:, k].mean()

        def _climb(self, point, x, h):
            for it in range(self.max_iter):
                w = self.kernel.weights(((x - point) ** 2).sum(-1), h)
                new = (w.unsqueeze(-1) * x).sum(0) / w.sum().clip(min=1e-8)
                moved = paddle.linalg.norm(new - point)
                point = new
                if moved < self.tol * h:
                    break
            return point, it

        def fit(self, x):
            h = self.bandwidth if self.bandwidth is not None else self.estimate_bandwidth(x)
            modes: List[paddle.Tensor] = []
            labels = []
            for i in range(x.shape[0]):
                mode, steps = self._climb(x[i], x, h)
                for j, known in enumerate(modes):
                    if paddle.linalg.norm(known - mode) < h:
                        labels.append(j)
                        break
                else:
                    labels.append(len(modes))
                    modes.append(mode)
            self.history.append(len(modes))
            return paddle.to_tensor(labels), paddle.stack(modes)

    for kernel in Kernel:
        est = MeanShift(kernel=kernel, bandwidth=1.5 if kernel is Kernel.FLAT else None)
        est.fit = convert(est.fit)
        yield est.fit(cloud(9, seed=1))
        yield est.fit(cloud(9, seed=2))
        yield est.fit(cloud(6, seed=3, centres=2))
        yield est.history


@program
def hungarian_with_potentials(convert):
    """The O(n^3) assignment by potentials, with rectangular costs and forbidden pairs."""

    class Assignment(NamedTuple):
        rows: paddle.Tensor
        cols: paddle.Tensor
        cost: paddle.Tensor

    INF = 1e9

    @convert
    def solve(cost, maximize=False, forbidden=None):
        assert cost.ndim == 2, f"a matrix is needed, not {cost.ndim} dimensions"
        if maximize:
            cost = -cost
        if forbidden is not None:
            cost = paddle.where(forbidden, paddle.full_like(cost, 1e6), cost)
        transposed = cost.shape[0] > cost.shape[1]
        a = cost.t() if transposed else cost
        n, m = a.shape
        u = paddle.zeros([n + 1])
        v = paddle.zeros([m + 1])
        p = paddle.zeros([m + 1], dtype="int64")
        way = paddle.zeros([m + 1], dtype="int64")
        for i in range(1, n + 1):
            p[0] = i
            j0 = paddle.to_tensor(0)
            minv = paddle.full([m + 1], INF)
            used = paddle.zeros([m + 1], dtype="bool")
            while True:
                used[j0] = True
                i0 = p[j0]
                cur = a[i0 - 1] - u[i0] - v[1:]
                better = (cur < minv[1:]) & ~used[1:]
                minv[1:] = paddle.where(better, cur, minv[1:])
                way[1:] = paddle.where(better, j0.astype("int64"), way[1:])
                free = paddle.where(used[1:], paddle.full([m], INF), minv[1:])
                delta = free.min()
                j1 = free.argmin() + 1
                for j in range(m + 1):
                    if used[j]:
                        u[p[j]] = u[p[j]] + delta
                        v[j] = v[j] - delta
                    else:
                        minv[j] = minv[j] - delta
                j0 = j1
                if p[j0] == 0:
                    break
            while j0 != 0:
                j1 = way[j0]
                p[j0] = p[j1]
                j0 = j1
        cols = paddle.nonzero(p[1:]).flatten()
        rows = p[1:].gather(cols) - 1
        total = a[rows, cols].sum()
        if transposed:
            rows, cols = cols, rows
        order = rows.argsort()
        return Assignment(rows[order], cols[order], -total if maximize else total)

    rng = np.random.RandomState(3)
    for shape in ((3, 3), (3, 5), (5, 3)):
        yield solve(paddle.to_tensor(rng.rand(*shape).astype("float32")))
    c = paddle.to_tensor(rng.rand(4, 4).astype("float32"))
    yield solve(c, maximize=True)
    yield solve(c, forbidden=paddle.eye(4).astype("bool"))
    yield attempt(lambda: solve(c[0]))


@program
def kalman_smoother_with_learned_noise(convert):
    """Forward filter, Rauch-Tung-Striebel pass, and a likelihood that trains the noise."""

    @dataclass(frozen=True)
    class Belief:
        mean: paddle.Tensor
        cov: paddle.Tensor

    class LinearGaussian(paddle.nn.Layer):
        def __init__(self, dt=1.0):
            super().__init__()
            self.register_buffer("F", paddle.to_tensor([[1.0, dt], [0.0, 1.0]]))
            self.register_buffer("H", paddle.to_tensor([[1.0, 0.0]]))
            self.log_q = self.create_parameter(
                [1], default_initializer=paddle.nn.initializer.Constant(-2.0)
            )
            self.log_r = self.create_parameter(
                [1], default_initializer=paddle.nn.initializer.Constant(-1.0)
            )

        @property
        def Q(self):
            return paddle.exp(self.log_q) * paddle.to_tensor([[0.25, 0.5], [0.5, 1.0]])

        @property
        def R(self):
            return paddle.exp(self.log_r).reshape([1, 1])

        def predict(self, b: Belief) -> Belief:
            return Belief(self.F @ b.mean, self.F @ b.cov @ self.F.t() + self.Q)

        def update(self, b: Belief, z) -> Tuple[Belief, paddle.Tensor]:
            s = self.H @ b.cov @ self.H.t() + self.R
            gain = b.cov @ self.H.t() / s
            innov = z - (self.H @ b.mean)
            ll = -0.5 * (innov.square() / s[0, 0] + paddle.log(2 * math.pi * s[0, 0])).sum()
            return Belief(b.mean + (gain @ innov), b.cov - gain @ self.H @ b.cov), ll

        def forward(self, zs, smooth=True):
            belief = Belief(paddle.zeros([2]), paddle.eye(2) * 10.0)
            priors, filtered, total = [], [], paddle.zeros([])
            for z in zs:
                belief = self.predict(belief)
                priors.append(belief)
                if not paddle.isnan(z).any():
                    belief, ll = self.update(belief, z)
                    total = total + ll
                filtered.append(belief)
            if not smooth:
                return paddle.stack([b.mean for b in filtered]), total
            out = [filtered[-1]]
            for prior, now in zip(reversed(priors[1:]), reversed(filtered[:-1])):
                g = now.cov @ self.F.t() @ paddle.inverse(prior.cov)
                nxt = out[-1]
                out.append(
                    Belief(
                        now.mean + g @ (nxt.mean - prior.mean),
                        now.cov + g @ (nxt.cov - prior.cov) @ g.t(),
                    )
                )
            return paddle.stack([b.mean for b in out[::-1]]), total

    model = LinearGaussian()
    opt = paddle.optimizer.Adam(0.1, parameters=model.parameters())
    model = convert(model)
    rng = np.random.RandomState(0)
    track = np.cumsum(rng.randn(12)).astype("float32")[:, None]
    track[4] = np.nan
    for n in (6, 12, 9):
        zs = paddle.to_tensor(track[:n])
        means, ll = model(zs)
        (-ll).backward()
        yield means, ll, model.log_q.grad
        opt.step()
        opt.clear_grad()
    yield model(paddle.to_tensor(track), smooth=False)
    yield model.log_q, model.log_r


@program
def viterbi_with_beam_and_lexicon(convert):
    """Token passing: a Viterbi search over word models with a beam and a histogram limit."""

    @dataclass
    class Token:
        state: Tuple[str, int]
        score: paddle.Tensor
        words: Tuple[str, ...] = ()

        def extend(self, state, gain, word=None):
            words = self.words if word is None else (*self.words, word)
            return Token(state=state, score=self.score + gain, words=words)

    class Decoder:
        def __init__(self, lexicon: Dict[str, List[int]], beam=8.0, max_active=6, penalty=0.5):
            self.lexicon = lexicon
            self.beam = beam
            self.max_active = max_active
            self.penalty = penalty
            self.expanded = 0
            self.pruned = Counter()

        def successors(self, token, frame):
            word, at = token.state
            phones = self.lexicon[word]
            yield token.extend((word, at), frame[phones[at]])
            if at + 1 < len(phones):
                yield token.extend((word, at + 1), frame[phones[at + 1]])
            else:
                for nxt, spelled in self.lexicon.items():
                    yield token.extend((nxt, 0), frame[spelled[0]] - self.penalty, word)

        def prune(self, tokens: List[Token]) -> List[Token]:
            best = max(t.score for t in tokens)
            kept = [t for t in tokens if t.score >= best - self.beam]
            self.pruned["beam"] += len(tokens) - len(kept)
            kept.sort(key=lambda t: t.score, reverse=True)
            self.pruned["count"] += max(0, len(kept) - self.max_active)
            return kept[: self.max_active]

        def decode(self, emissions):
            logp = F.log_softmax(emissions, axis=-1)
            tokens = [Token((w, 0), logp[0][p[0]]) for w, p in self.lexicon.items()]
            for frame in logp[1:]:
                best: Dict[Tuple[str, int], Token] = {}
                for token in self.prune(tokens):
                    for new in self.successors(token, frame):
                        self.expanded += 1
                        old = best.get(new.state)
                        if old is None or new.score > old.score:
                            best[new.state] = new
                tokens = list(best.values())
            finals = [t for t in tokens if t.state[1] == len(self.lexicon[t.state[0]]) - 1]
            if not finals:
                raise RuntimeError("no token reached the end of a word")
            win = max(finals, key=lambda t: t.score)
            return win.words + (win.state[0],), win.score

    decoder = Decoder({"ab": [0, 1], "b": [1], "cab": [2, 0, 1]})
    decoder.decode = convert(decoder.decode)
    rng = np.random.RandomState(5)
    for frames in (3, 5, 5):
        yield decoder.decode(paddle.to_tensor(rng.randn(frames, 3).astype("float32") * 2))
    yield decoder.expanded, dict(decoder.pruned)
    only = Decoder({"cab": [2, 0, 1]})
    only.decode = convert(only.decode)
    yield attempt(lambda: only.decode(paddle.zeros([2, 3])))


@program
def isotonic_fit_by_pooling(convert):
    """Pool adjacent violators with a stack of blocks, then a piecewise-linear predict."""

    class Isotonic:
        def __init__(self, increasing=True, out_of_bounds="clip"):
            self.increasing = increasing
            self.out_of_bounds = out_of_bounds
            self.x_ = self.y_ = None

        def fit(self, x, y, weight=None):
            order = paddle.argsort(x)
            x, y = x[order], y[order]
            w = paddle.ones_like(y) if weight is None else weight[order]
            if not self.increasing:
                y = -y
            blocks = []
            for i in range(y.shape[0]):
                value, mass, size = y[i], w[i], paddle.to_tensor(1)
                while blocks and blocks[-1][0] >= value:
                    v, m, s = blocks.pop()
                    value = (v * m + value * mass) / (m + mass)
                    mass = mass + m
                    size = size + s
                blocks.append((value, mass, size))
            fitted = paddle.concat([v.expand([int(s)]) for v, _, s in blocks])
            self.x_, self.y_ = x, fitted if self.increasing else -fitted
            return self

        def predict(self, q):
            if self.x_ is None:
                raise AttributeError("fit must be called first")
            outside = (q < self.x_[0]) | (q > self.x_[-1])
            if outside.any():
                if self.out_of_bounds == "raise":
                    raise ValueError(f"{int(outside.sum())} values are out of bounds")
                q = q.clip(self.x_[0], self.x_[-1])
            hi = paddle.searchsorted(self.x_, q).clip(1, self.x_.shape[0] - 1)
            lo = hi - 1
            t = (q - self.x_[lo]) / (self.x_[hi] - self.x_[lo])
            return self.y_[lo] + t * (self.y_[hi] - self.y_[lo])

    rng = np.random.RandomState(1)
    for increasing, n in ((True, 6), (True, 8), (False, 8)):
        iso = Isotonic(increasing=increasing)
        iso.fit, iso.predict = convert(iso.fit), convert(iso.predict)
        x = paddle.to_tensor(rng.rand(n).astype("float32"))
        y = paddle.to_tensor((np.sort(rng.rand(n)) + 0.4 * rng.randn(n)).astype("float32"))
        yield attempt(lambda: iso.predict(x))
        iso.fit(x, y, weight=None if n == 6 else paddle.arange(1, n + 1).astype("float32"))
        yield iso.y_
        yield iso.predict(paddle.linspace(-0.2, 1.2, 7))
    iso.out_of_bounds = "raise"
    yield attempt(lambda: iso.predict(paddle.to_tensor([-1.0, 2.0])))


@program
def agglomerative_linkage_with_a_heap(convert):
    """Bottom-up clustering: linkages from a table, a heap with stale entries, a cut by height."""

    LINKAGES: Dict[str, Callable] = {
        "single": lambda a, b, na, nb: paddle.minimum(a, b),
        "complete": lambda a, b, na, nb: paddle.maximum(a, b),
        "average": lambda a, b, na, nb: (na * a + nb * b) / (na + nb),
    }

    @dataclass
    class Merge:
        left: int
        right: int
        height: paddle.Tensor
        size: int

    @convert
    def linkage(x, method="single"):
        update = LINKAGES[method]
        n = x.shape[0]
        d = paddle.cdist(x, x)
        dist = {(i, j): d[i, j] for i in range(n) for j in range(i + 1, n)}
        sizes = {i: 1 for i in range(n)}
        heap = [(float(v), key) for key, v in dist.items()]
        heapq.heapify(heap)
        merges = []
        while len(sizes) > 1:
            height, (i, j) = heapq.heappop(heap)
            if i not in sizes or j not in sizes:
                continue
            new = n + len(merges)
            na, nb = sizes.pop(i), sizes.pop(j)
            for k in sizes:
                a = dist[min(i, k), max(i, k)]
                b = dist[min(j, k), max(j, k)]
                dist[k, new] = update(a, b, na, nb)
                heapq.heappush(heap, (float(dist[k, new]), (k, new)))
            sizes[new] = na + nb
            merges.append(Merge(i, j, dist[i, j], na + nb))
        return merges

    @convert
    def cut(heights, limit):
        count = paddle.to_tensor(heights.shape[0] + 1)
        for h in heights:
            if h > limit:
                break
            count -= 1
        return count

    for method in LINKAGES:
        merges = attempt(lambda: linkage(cloud(6, seed=4), method=method))
        yield merges
    heights = paddle.to_tensor([0.2, 0.4, 1.5, 3.0])
    for limit in (0.1, 1.0, 9.0):
        yield cut(heights, paddle.to_tensor(limit))
    yield cut(heights[:2], 1.0)
