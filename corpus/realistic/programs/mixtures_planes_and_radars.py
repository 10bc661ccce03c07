"""Estimation and tracking: mixtures, means, planes, radar tracks, panoptic scores."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from itertools import count
from typing import Callable, ClassVar, Iterator, NamedTuple, Optional

import paddle
import paddle.nn as nn

from corpus.realistic import program


@program
def mixtures_with_heavy_tails(convert):
    """EM for a mixture of Student t distributions, with the degrees of freedom found by bisection."""

    @dataclass
    class TMixture:
        weight: paddle.Tensor
        loc: paddle.Tensor
        scale: paddle.Tensor
        dof: paddle.Tensor

        @classmethod
        def spread(cls, x, k, dof=4.0):
            q = paddle.quantile(x, paddle.linspace(0.1, 0.9, k).tolist())
            return cls(
                paddle.full([k], 1 / k),
                q.astype("float32"),
                x.std().expand([k]) / k,
                paddle.full([k], dof),
            )

        def log_prob(self, x):
            z = ((x.unsqueeze(-1) - self.loc) / self.scale).square()
            half = (self.dof + 1) / 2
            const = (
                paddle.lgamma(half)
                - paddle.lgamma(self.dof / 2)
                - 0.5 * paddle.log(self.dof * math.pi)
                - paddle.log(self.scale)
            )
            return const - half * paddle.log1p(z / self.dof), z

        def __len__(self):
            return self.weight.shape[0]

    def solve_dof(target, low=0.5, high=80.0, tol=1e-3):
        """root of log(v/2) - digamma(v/2) + 1 + target = 0, which falls with v"""

        def g(v):
            return paddle.log(v / 2) - paddle.digamma(v / 2) + 1 + target

        low, high = paddle.to_tensor(low), paddle.to_tensor(high)
        if g(high) > 0:
            return high
        while high - low > tol * high:
            mid = (low + high) / 2
            if g(mid) > 0:
                low = mid
            else:
                high = mid
        return (low + high) / 2

    class Degenerate(ArithmeticError):
        pass

    def fit(x, k, steps=15, tol=1e-3, learn_dof=True):
        mix = TMixture.spread(x, k)
        trace = []
        last = None
        for step in range(steps):
            logp, z = mix.log_prob(x)
            joint = logp + mix.weight.log()
            evidence = paddle.logsumexp(joint, axis=-1, keepdim=True)
            resp = (joint - evidence).exp()
            value = evidence.mean()
            trace.append(value)
            if last is not None and (value - last).abs() < tol:
                break
            last = value
            u = (mix.dof + 1) / (mix.dof + z)
            ru, total = resp * u, resp.sum(axis=0)
            if (total < 1e-2).any():
                raise Degenerate(f"step {step}: component {int(total.argmin())} of {k} is empty")
            loc = (ru * x.unsqueeze(-1)).sum(axis=0) / ru.sum(axis=0)
            scale = (
                ((ru * (x.unsqueeze(-1) - loc).square()).sum(axis=0) / total).sqrt().clip(min=1e-3)
            )
            dof = mix.dof
            if learn_dof:
                half = (mix.dof + 1) / 2
                target = (
                    (resp * (u.log() - u)).sum(axis=0) / total + paddle.digamma(half) - half.log()
                )
                dof = paddle.stack([solve_dof(t) for t in target])
            mix = TMixture(total / total.sum(), loc, scale, dof)
        return mix, paddle.stack(trace)

    def records_of(convert):
        run = convert(fit)
        paddle.seed(6)
        records = []
        for n, k, options in [
            (20, 2, {}),
            (12, 1, {"learn_dof": False}),
            (30, 3, {"steps": 6, "tol": 0.0}),
            (8, 2, {"tol": 0.1}),
        ]:
            x = paddle.concat([paddle.randn([n // 2]) * 0.5 - 3, paddle.randn([n - n // 2]) + 2])
            x[0] = 12.0
            try:
                mix, trace = run(x, k, **options)
                records += [mix, trace, len(mix)]
            except Degenerate as e:
                records.append(str(e))
        try:
            mix, trace = run(paddle.to_tensor([0.0] * 4 + [1e4]), 4)
            records += [mix, trace]
        except Degenerate as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def means_with_new_clusters(convert):
    """DP-means: k-means that opens a cluster whenever a point is farther than lambda from all the others."""

    class ClusterSummary:
        def __init__(self, centres, labels, cost):
            self.centres, self.labels, self.cost = centres, labels, cost

        @cached_property
        def sizes(self):
            return paddle.bincount(self.labels, minlength=self.centres.shape[0])

        def __repr__(self):
            return f"<{self.centres.shape[0]} clusters, sizes {self.sizes.tolist()}>"

    class DPMeans:
        def __init__(self, radius, max_iter=20, tol=1e-4, verbose=False):
            self.radius, self.max_iter, self.tol, self.verbose = radius, max_iter, tol, verbose
            self.history = []

        @staticmethod
        def sq_dists(x, centres):
            return (x.unsqueeze(1) - centres.unsqueeze(0)).square().sum(-1)

        def assign(self, x, centres):
            labels = []
            for i in range(x.shape[0]):
                d = self.sq_dists(x[i : i + 1], centres)[0]
                k = d.argmin()
                if d[k] > self.radius**2:
                    centres = paddle.concat([centres, x[i : i + 1]])
                    labels.append(centres.shape[0] - 1)
                else:
                    labels.append(int(k))
            return paddle.to_tensor(labels), centres

        def update(self, x, labels, centres):
            kept, remap = [], {}
            for k in range(centres.shape[0]):
                mask = labels == k
                if not mask.any():
                    continue
                remap[k] = len(kept)
                kept.append(x[mask].mean(axis=0))
            return paddle.stack(kept), paddle.to_tensor([remap[k] for k in labels.tolist()])

        def cost(self, x, labels, centres):
            inertia = (x - centres[labels]).square().sum()
            return inertia + self.radius**2 * centres.shape[0]

        def fit(self, x):
            self.history.clear()
            centres, previous = x.mean(axis=0, keepdim=True), float("inf")
            for it in range(self.max_iter):
                labels, centres = self.assign(x, centres)
                centres, labels = self.update(x, labels, centres)
                cost = float(self.cost(x, labels, centres))
                self.history.append(round(cost, 3))
                if self.verbose:
                    print(f"iter {it}: {centres.shape[0]} clusters, cost {cost:.3f}")
                if previous - cost < self.tol:
                    break
                previous = cost
            return ClusterSummary(centres, labels, paddle.to_tensor(cost))

    def records_of(convert):
        import contextlib
        import io

        paddle.seed(11)
        base = paddle.to_tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
        records = []
        for radius, per, spread, verbose in [
            (2.0, 4, 0.3, True),
            (1.0, 3, 0.8, False),
            (6.0, 3, 0.5, True),
            (0.2, 2, 0.4, False),
        ]:
            x = (base.unsqueeze(1) + spread * paddle.randn([3, per, 2])).reshape([-1, 2])
            model = DPMeans(radius, verbose=verbose)
            model.fit = convert(model.fit)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                summary = model.fit(x)
            records += [
                summary.centres,
                summary.labels,
                summary.cost,
                repr(summary),
                list(model.history),
                out.getvalue(),
            ]
            with contextlib.redirect_stdout(out):
                again = model.fit(x[: per + 1])
            records += [again.centres, repr(again)]
        return records

    yield from records_of(convert)


@program
def planes_peeled_by_ransac(convert):
    """RANSAC for planes in a point cloud, with an adaptive number of trials and a refit; several planes are peeled off."""

    class Plane(NamedTuple):
        normal: paddle.Tensor
        offset: paddle.Tensor

        def distance(self, pts):
            return (pts @ self.normal - self.offset).abs()

        @classmethod
        def through(cls, a, b, c) -> Optional["Plane"]:
            n = paddle.cross(b - a, c - a, axis=0)
            size = n.norm()
            if size < 1e-6:
                return None
            n = n / size
            return cls(n, (n * a).sum())

        @classmethod
        def fit(cls, pts):
            centre = pts.mean(axis=0)
            values, vectors = paddle.linalg.eigh((pts - centre).T @ (pts - centre))
            n = vectors[:, 0]
            if n[n.abs().argmax()] < 0:
                n = -n
            return cls(n, (n * centre).sum())

    def trials_needed(ratio, confidence, size=3):
        if ratio >= 0.999:
            return 1
        return math.ceil(math.log(1 - confidence) / math.log(1 - max(ratio, 0.05) ** size))

    def ransac(pts, rng, width=0.1, confidence=0.95, max_trials=40):
        n, best, support, trial, needed = pts.shape[0], None, 0, 0, max_trials
        while trial < min(needed, max_trials):
            trial += 1
            i, j, k = rng.sample(range(n), 3)
            plane = Plane.through(pts[i], pts[j], pts[k])
            if plane is None:
                continue
            inside = int((plane.distance(pts) < width).sum())
            if inside > support:
                best, support = plane, inside
                needed = trials_needed(inside / n, confidence)
        if best is None:
            raise LookupError(f"no plane in {n} points after {trial} trials")
        refined = Plane.fit(pts[best.distance(pts) < width])
        if (refined.distance(pts) < width).sum() >= support:
            best = refined
        return best, trial

    def records_of(convert):
        def peel(pts, seed, min_points=5, most=3, **options):
            rng, planes, log = random.Random(seed), [], []
            while pts.shape[0] >= max(min_points, 3) and len(planes) < most:
                try:
                    plane, trials = ransac(pts, rng, **options)
                except LookupError as e:
                    log.append(str(e))
                    break
                near = plane.distance(pts) < options.get("width", 0.1)
                if near.sum() < min_points:
                    log.append(f"plane with {int(near.sum())} points dropped")
                    break
                planes.append((plane.normal, plane.offset, int(near.sum())))
                log.append(f"plane {len(planes)} after {trials} trials")
                pts = pts[near.logical_not()]
            return planes, pts, log

        run = convert(peel)
        paddle.seed(2)
        floor = paddle.concat([paddle.rand([9, 2]) * 4, 0.02 * paddle.randn([9, 1])], axis=1)
        wall = paddle.concat([0.02 * paddle.randn([7, 1]) + 2, paddle.rand([7, 2]) * 3], axis=1)
        noise = paddle.rand([4, 3]) * 6 + 1
        line = paddle.arange(6, dtype="float32").unsqueeze(-1) * paddle.to_tensor([[1.0, 2.0, 3.0]])
        return [
            run(paddle.concat([floor, wall, noise]), 0),
            run(paddle.concat([floor, noise]), 1, width=0.05),
            run(wall, 2, most=1, confidence=0.5),
            run(line, 3, max_trials=5),
            run(noise, 4, min_points=4),
            run(noise[:2], 5),
        ]

    yield from records_of(convert)


@program
def tracks_of_a_radar(convert):
    """A radar tracker: gating by Mahalanobis distance, greedy assignment, and the life of a track as an enum."""

    class Phase(Enum):
        TENTATIVE = auto()
        CONFIRMED = auto()
        COASTING = auto()
        DEAD = auto()

        @property
        def alive(self):
            return self is not Phase.DEAD

    @dataclass
    class Track:
        ids: ClassVar[Iterator[int]] = count(1)
        mean: paddle.Tensor
        cov: paddle.Tensor
        phase: Phase = Phase.TENTATIVE
        hits: int = 1
        misses: int = 0
        key: int = field(default_factory=lambda: next(Track.ids))

        def hit(self, confirm):
            self.hits, self.misses = self.hits + 1, 0
            if self.hits >= confirm or self.phase is Phase.COASTING:
                self.phase = Phase.CONFIRMED

        def miss(self, patience):
            self.misses += 1
            if self.phase is Phase.TENTATIVE or self.misses > patience:
                self.phase = Phase.DEAD
            else:
                self.phase = Phase.COASTING

    class Tracker:
        def __init__(self, dt=1.0, q=0.05, r=0.2, gate=9.21, confirm=3, patience=2):
            eye = paddle.eye(2)
            zero = paddle.zeros([2, 2])
            self.F = paddle.concat(
                [paddle.concat([eye, dt * eye], 1), paddle.concat([zero, eye], 1)]
            )
            self.H = paddle.concat([eye, zero], 1)
            self.Q, self.R = q * paddle.eye(4), r * eye
            self.gate, self.confirm, self.patience = gate, confirm, patience
            self.tracks: list[Track] = []
            self.graveyard: list[int] = []

        def predict(self):
            for t in self.tracks:
                t.mean = self.F @ t.mean
                t.cov = self.F @ t.cov @ self.F.T + self.Q

        def distances(self, z):
            rows = []
            for t in self.tracks:
                gap = z - (self.H @ t.mean)
                s = self.H @ t.cov @ self.H.T + self.R
                rows.append((gap @ paddle.linalg.inv(s) * gap).sum(-1))
            return paddle.stack(rows)

        def associate(self, z):
            pairs, free = [], set(range(z.shape[0]))
            if not self.tracks or not free:
                return pairs, free
            cost = self.distances(z)
            while cost.min() < self.gate:
                flat = int(cost.argmin())
                i, j = divmod(flat, z.shape[0])
                pairs.append((i, j))
                free.discard(j)
                cost[i, :] = float("inf")
                cost[:, j] = float("inf")
            return pairs, free

        def step(self, z):
            self.predict()
            pairs, free = self.associate(z)
            matched = dict(pairs)
            for i, t in enumerate(self.tracks):
                if i not in matched:
                    t.miss(self.patience)
                    continue
                s = self.H @ t.cov @ self.H.T + self.R
                gain = t.cov @ self.H.T @ paddle.linalg.inv(s)
                t.mean = t.mean + gain @ (z[matched[i]] - self.H @ t.mean)
                t.cov = (paddle.eye(4) - gain @ self.H) @ t.cov
                t.hit(self.confirm)
            self.graveyard += [t.key for t in self.tracks if not t.phase.alive]
            self.tracks = [t for t in self.tracks if t.phase.alive]
            for j in sorted(free):
                start = paddle.concat([z[j], paddle.zeros([2])])
                self.tracks.append(
                    Track(start, paddle.diag(paddle.to_tensor([0.2, 0.2, 1.0, 1.0])))
                )
            return {t.key: t.phase.name for t in self.tracks}

    def records_of(convert):
        Track.ids = count(1)
        tracker = Tracker()
        step = convert(tracker.step)
        records = []
        scans = [
            [[0.0, 0.0], [5.0, 5.0]],
            [[1.1, 0.1], [4.6, 5.2]],
            [[2.0, 0.1], [4.1, 5.3], [9.0, 9.0]],
            [[3.1, 0.3]],
            [[4.0, 0.2], [3.0, 5.6]],
            [],
            [[6.1, 0.4], [2.2, 6.1]],
        ]
        for scan in scans:
            z = paddle.to_tensor(scan, dtype="float32").reshape([-1, 2])
            records += [step(z), [t.mean for t in tracker.tracks], list(tracker.graveyard)]
        records.append([(t.key, t.phase, t.hits, t.misses, t.cov) for t in tracker.tracks])
        return records

    yield from records_of(convert)


@program
def panoptic_quality_by_segments(convert):
    """Panoptic quality: segments matched at IoU over one half, void regions, per-class results, merging and a report."""

    VOID = -1

    @dataclass
    class Tally:
        iou: float = 0.0
        tp: int = 0
        fp: int = 0
        fn: int = 0

        def __add__(self, other: "Tally") -> "Tally":
            return Tally(
                self.iou + other.iou, self.tp + other.tp, self.fp + other.fp, self.fn + other.fn
            )

        @property
        def rq(self):
            n = self.tp + 0.5 * (self.fp + self.fn)
            return self.tp / n if n else float("nan")

        @property
        def sq(self):
            return self.iou / self.tp if self.tp else 0.0

        @property
        def pq(self):
            return self.sq * self.rq

    class PanopticQuality:
        def __init__(self, names, things=(), void_share=0.5):
            self.names, self.things, self.void_share = list(names), set(things), void_share
            self.reset()

        def reset(self):
            self.tallies: dict[str, Tally] = defaultdict(Tally)
            self.images = 0

        def segments(self, label, instance):
            """{(class, instance): mask}; stuff has one segment per class"""
            out = {}
            for c in label.unique().tolist():
                if c == VOID:
                    continue
                of_class = label == c
                if self.names[c] not in self.things:
                    out[c, 0] = of_class
                    continue
                for i in instance[of_class].unique().tolist():
                    out[c, i] = of_class.logical_and(instance == i)
            return out

        def update(self, pred, target):
            if pred[0].shape != target[0].shape:
                raise ValueError(
                    f"shapes differ: {tuple(pred[0].shape)} and {tuple(target[0].shape)}"
                )
            void = target[0] == VOID
            mine, theirs = self.segments(*pred), self.segments(*target)
            free = dict(theirs)
            for (c, i), mask in mine.items():
                area = mask.sum()
                hit = None
                for key, gt in free.items():
                    if key[0] != c:
                        continue
                    inter = mask.logical_and(gt).sum()
                    union = area + gt.sum() - inter - mask.logical_and(void).sum()
                    iou = inter / union
                    if iou > 0.5:
                        hit = key, iou
                        break
                tally = self.tallies[self.names[c]]
                if hit is not None:
                    del free[hit[0]]
                    tally.tp += 1
                    tally.iou += float(hit[1])
                elif mask.logical_and(void).sum() / area <= self.void_share:
                    tally.fp += 1
            for c, _ in free:
                self.tallies[self.names[c]].fn += 1
            self.images += 1
            return self

        def merge(self, other):
            for name, t in other.tallies.items():
                self.tallies[name] = self.tallies[name] + t
            self.images += other.images

        def compute(self):
            rows = {n: t for n, t in sorted(self.tallies.items())}
            valid = [t.pq for t in rows.values() if t.tp + t.fp + t.fn]
            return {
                "PQ": sum(valid) / len(valid) if valid else 0.0,
                **{n: (t.pq, t.sq, t.rq) for n, t in rows.items()},
            }

        def __str__(self):
            return "\n".join(
                [f"{'class':<8}{'PQ':>7}{'TP':>4}{'FP':>4}{'FN':>4}"]
                + [
                    f"{n:<8}{t.pq:>7.3f}{t.tp:>4}{t.fp:>4}{t.fn:>4}"
                    for n, t in sorted(self.tallies.items())
                ]
            )

    def records_of(convert):
        metric = PanopticQuality(["sky", "road", "car"], things={"car"})
        update = convert(metric.update)
        paddle.seed(51)
        records = []
        for size, noise, void in [(4, 0.0, 0), (4, 0.3, 1), (5, 0.5, 2), (3, 0.9, 0)]:
            label = (paddle.arange(size * size).reshape([size, size]) // size) % 3
            instance = paddle.arange(size).expand([size, size]) // 2
            flip = paddle.rand([size, size]) < noise
            guess = paddle.where(flip, paddle.randint(0, 3, [size, size]), label)
            if void:
                label[:void, 0] = VOID
            update((guess, instance), (label, instance))
            records += [metric.compute(), str(metric), metric.images]
        try:
            update((label, instance), (label[:2], instance[:2]))
        except ValueError as e:
            records.append(str(e))
        other = PanopticQuality(metric.names, {"car"})
        convert(other.update)((label, instance), (label, instance))
        metric.merge(other)
        return records + [metric.compute(), metric.images]

    yield from records_of(convert)


@program
def ranges_by_divergence(convert):
    """Calibrating activations for int8: a growing histogram, thresholds by KL divergence or percentile, then fake quantisation."""

    OBSERVERS: dict[str, Callable] = {}

    def observer(name):
        def wrap(cls):
            OBSERVERS[name] = cls
            cls.name = name
            return cls

        return wrap

    class Histogram:
        def __init__(self, bins=32, levels=8):
            self.bins, self.levels = bins, levels
            self.counts, self.top, self.batches = None, 0.0, 0

        def observe(self, x):
            a = x.detach().abs().flatten()
            peak = float(a.max())
            self.batches += 1
            if self.counts is None:
                self.top = peak or 1e-6
                self.counts = paddle.histogram(a, self.bins, 0, self.top)
                return
            if peak > self.top:
                grow = 1
                while self.top * grow < peak:
                    grow *= 2
                pad = paddle.zeros([self.bins * grow - self.bins], dtype=self.counts.dtype)
                self.counts = (
                    paddle.concat([self.counts, pad]).reshape([self.bins, grow]).sum(axis=1)
                )
                self.top *= grow
            self.counts = self.counts + paddle.histogram(a, self.bins, 0, self.top)

        def threshold(self):
            raise NotImplementedError(f"{type(self).__name__} has no threshold")

    @observer("percentile")
    class Percentile(Histogram):
        def __init__(self, keep=0.9, **options):
            super().__init__(**options)
            self.keep = keep

        def threshold(self):
            share = self.counts.astype("float32").cumsum(0) / self.counts.sum()
            k = (share < self.keep).sum() + 1
            return k.astype("float32") / self.bins * self.top

    @observer("kl")
    class KL(Histogram):
        def divergence(self, stop):
            p = self.counts[:stop].astype("float32")
            reference = p.clone()
            reference[-1] += self.counts[stop:].sum().astype("float32")
            q = paddle.zeros_like(p)
            step = stop / self.levels
            for k in range(self.levels):
                a, b = int(k * step), stop if k == self.levels - 1 else int((k + 1) * step)
                chunk = p[a:b]
                live = chunk > 0
                if live.any():
                    q[a:b] = live.astype("float32") * chunk.sum() / live.sum()
            if q.sum() == 0:
                return paddle.to_tensor(float("inf"))
            P, Q = reference / reference.sum(), q / q.sum()
            keep = P > 0
            return (P[keep] * (P[keep] / (Q[keep] + 1e-4)).log()).sum()

        def threshold(self):
            best, at = None, self.bins
            for stop in range(self.levels, self.bins + 1, 2):
                d = self.divergence(stop)
                if best is None or d < best:
                    best, at = d, stop
            return paddle.to_tensor(at / self.bins * self.top)

    class QuantLinear(nn.Layer):
        def __init__(self, inner: nn.Linear, obs: Histogram, bits=4):
            super().__init__()
            self.inner, self.obs, self.limit = inner, obs, 2 ** (bits - 1) - 1
            self.register_buffer("scale", paddle.zeros([]))
            self.mode = "calibrate"

        def fake(self, x, scale):
            q = (x / scale).round().clip(-self.limit, self.limit) * scale
            return x + (q - x).detach()

        def forward(self, x):
            if self.mode == "calibrate":
                self.obs.observe(x)
                return self.inner(x)
            if self.scale == 0:
                self.scale.set_value(self.obs.threshold() / self.limit)
            w = self.inner.weight
            return (
                self.fake(x, self.scale) @ self.fake(w, w.detach().abs().max() / self.limit)
                + self.inner.bias
            )

    def records_of(convert):
        paddle.seed(41)
        records = [sorted(OBSERVERS)]
        for name, options in [
            ("percentile", {}),
            ("percentile", {"keep": 0.5, "bins": 10}),
            ("kl", {"levels": 4}),
            (None, {}),
        ]:
            layer = QuantLinear(nn.Linear(4, 2), OBSERVERS.get(name, Histogram)(**options))
            layer.forward = convert(layer.forward)
            for scale, rows in [(1.0, 4), (2.5, 3), (0.3, 5)]:
                records.append(layer(scale * paddle.randn([rows, 4])))
            records += [layer.obs.counts, layer.obs.top, layer.obs.batches]
            layer.mode = "quantised"
            for rows in (3, 2):
                try:
                    x = paddle.randn([rows, 4])
                    x.stop_gradient = False
                    y = layer(x)
                    y.sum().backward()
                    records += [y, x.grad, layer.scale.clone()]
                except NotImplementedError as e:
                    records.append(str(e))
        return records

    yield from records_of(convert)
