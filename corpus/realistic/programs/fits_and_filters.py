"""Estimation by hand: Viterbi, smoothers, particles, medoids, warping, Gaussian processes."""

import math
from dataclasses import dataclass
from functools import wraps
from itertools import product
from typing import NamedTuple

import numpy as np
import paddle
import paddle.nn as nn

from corpus.realistic import program


@program
def tags_by_viterbi(convert):
    """A BIO sequence tagger: CRF loss while training, Viterbi with forbidden transitions while decoding."""

    TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]

    def allowed(previous, current):
        if not current.startswith("I-"):
            return True
        return previous != "O" and previous[2:] == current[2:]

    def spans(tags):
        """(label, start, end) of every entity in one tag sequence."""
        found, start = [], None
        for i, tag in enumerate(tags + ["O"]):
            if start is not None and not tag.startswith("I-"):
                found.append((tags[start][2:], start, i))
                start = None
            if tag.startswith("B-"):
                start = i
        return found

    def records_of(convert):
        class Tagger(nn.Layer):
            def __init__(self, vocab, hidden):
                super().__init__()
                self.embed = nn.Embedding(vocab, hidden)
                self.emit = nn.Linear(hidden, len(TAGS))
                self.trans = self.create_parameter([len(TAGS), len(TAGS)])
                bad = [[0.0 if allowed(a, b) else -1e4 for b in TAGS] for a in TAGS]
                self.register_buffer("penalty", paddle.to_tensor(bad, dtype="float32"))

            def log_partition(self, scores, lengths):
                alpha = scores[:, 0]
                for t in range(1, scores.shape[1]):
                    step = alpha.unsqueeze(2) + self.trans + scores[:, t].unsqueeze(1)
                    new = paddle.logsumexp(step, axis=1)
                    alpha = paddle.where((t < lengths).unsqueeze(-1), new, alpha)
                return paddle.logsumexp(alpha, axis=-1)

            def path_score(self, scores, tags, lengths):
                total = paddle.zeros([scores.shape[0]])
                for b in range(scores.shape[0]):
                    n = int(lengths[b])
                    total[b] = sum(scores[b, i, tags[b, i]] for i in range(n))
                    if n > 1:
                        total[b] += sum(self.trans[tags[b, i - 1], tags[b, i]] for i in range(1, n))
                return total

            def viterbi(self, scores, length):
                best, back = scores[0], []
                matrix = self.trans + self.penalty
                t = 1
                while t < length:
                    step = best.unsqueeze(1) + matrix
                    back.append(step.argmax(axis=0))
                    best = step.max(axis=0) + scores[t]
                    t += 1
                path = [int(best.argmax())]
                for pointers in reversed(back):
                    path.append(int(pointers[path[-1]]))
                return path[::-1], best.max()

            def forward(self, words, lengths, tags=None):
                scores = self.emit(self.embed(words))
                if tags is not None:
                    nll = self.log_partition(scores, lengths) - self.path_score(
                        scores, tags, lengths
                    )
                    return (nll / lengths.astype("float32")).mean()
                return [self.viterbi(s, n) for s, n in zip(scores, lengths.tolist())]

        records = []
        paddle.seed(11)
        model = Tagger(20, 6)
        tagger = convert(model)
        opt = paddle.optimizer.Adam(0.05, parameters=model.parameters())
        rng = np.random.RandomState(0)
        for size, width in [(2, 4), (1, 1), (3, 5)]:
            words = paddle.to_tensor(rng.randint(0, 20, [size, width]))
            tags = paddle.to_tensor(rng.randint(0, len(TAGS), [size, width]))
            lengths = paddle.to_tensor(rng.randint(1, width + 1, [size]))
            loss = tagger(words, lengths, tags)
            loss.backward()
            records.append(loss)
            records.append(model.trans.grad.clone() if model.trans.grad is not None else None)
            opt.step()
            opt.clear_grad()
            with paddle.no_grad():
                for path, score in tagger(words, lengths):
                    names = [TAGS[i] for i in path]
                    records.append({"tags": " ".join(names), "spans": spans(names), "score": score})
        return records

    yield from records_of(convert)


@program
def a_smoother_both_ways(convert):
    """Kalman filter with gaps and outlier gating, then the Rauch-Tung-Striebel smoother."""

    class Belief(NamedTuple):
        mean: paddle.Tensor
        cov: paddle.Tensor

        def std(self):
            return paddle.diag(self.cov).sqrt()

    class Model:
        """Constant velocity (order 2) or constant acceleration (order 3) along one axis."""

        def __init__(self, order, dt=1.0, process=0.05, noise=0.5):
            if order not in (2, 3):
                raise NotImplementedError(f"order {order}")
            rows = np.eye(order)
            for i in range(order - 1):
                rows[i, i + 1] = dt
            if order == 3:
                rows[0, 2] = dt**2 / 2
            self.F = paddle.to_tensor(rows, dtype="float64")
            self.Q = paddle.eye(order, dtype="float64") * process
            self.H = paddle.zeros([1, order], dtype="float64")
            self.H[0, 0] = 1.0
            self.R = paddle.to_tensor([[noise**2]], dtype="float64", stop_gradient=False)
            self.start = Belief(
                paddle.zeros([order], dtype="float64"), 10 * paddle.eye(order, dtype="float64")
            )

    def records_of(convert):
        def predict(model, belief):
            return Belief(model.F @ belief.mean, model.F @ belief.cov @ model.F.t() + model.Q)

        def correct(model, belief, z, gate):
            innovation = z - model.H @ belief.mean
            s = model.H @ belief.cov @ model.H.t() + model.R
            distance = innovation**2 / s[0, 0]
            if gate is not None and distance[0] > gate:
                return belief, None
            gain = belief.cov @ model.H.t() / s
            mean = belief.mean + (gain @ innovation.unsqueeze(-1)).squeeze(-1)
            left = paddle.eye(mean.shape[0], dtype="float64") - gain @ model.H
            cov = left @ belief.cov @ left.t() + gain @ model.R @ gain.t()
            loglik = -0.5 * (distance[0] + paddle.log(2 * np.pi * s[0, 0]))
            return Belief(mean, cov), loglik

        def smooth(model, readings, gate=None):
            belief = model.start
            predicted, filtered, events, loglik = [], [], [], paddle.zeros([], dtype="float64")
            for t, z in enumerate(readings):
                belief = predict(model, belief)
                predicted.append(belief)
                if z is None:
                    events.append((t, "gap"))
                else:
                    belief, ll = correct(model, belief, z, gate)
                    if ll is not None:
                        loglik = loglik + ll
                    else:
                        events.append((t, "outlier"))
                filtered.append(belief)
            if not filtered:
                return [], loglik, events
            result = [filtered[-1]]
            for before, after in zip(filtered[-2::-1], predicted[:0:-1]):
                g = before.cov @ model.F.t() @ paddle.linalg.inv(after.cov)
                later = result[-1]
                mean = before.mean + g @ (later.mean - after.mean)
                result.append(Belief(mean, before.cov + g @ (later.cov - after.cov) @ g.t()))
            return result[::-1], loglik, events

        run = convert(smooth)
        records = []
        rng = np.random.RandomState(4)
        for order, length, gaps, spikes, gate in [
            (2, 8, {3}, {}, None),
            (2, 10, {0, 5, 6}, {7: 30.0}, 9.0),
            (3, 7, set(), {4: -25.0}, 6.5),
            (3, 1, set(), {}, None),
            (2, 0, set(), {}, 1.0),
        ]:
            model = Model(order)
            truth = 0.5 * np.arange(length) + 0.5 * rng.randn(length)
            values = [truth[t] + spikes.get(t, 0.0) for t in range(length)]
            readings = [
                None if t in gaps else paddle.to_tensor([v], dtype="float64")
                for t, v in enumerate(values)
            ]
            beliefs, loglik, events = run(model, readings, gate)
            records += [loglik, events, [b.mean for b in beliefs], [b.std() for b in beliefs]]
            if beliefs:
                (loglik + sum(b.mean.sum() for b in beliefs)).backward()
            records.append(model.R.grad)
        try:
            Model(4)
        except NotImplementedError as e:
            records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def particles_of_a_robot(convert):
    """A robot in a ring corridor with doors: a particle filter with systematic resampling on low effective size."""

    @dataclass(frozen=True)
    class Corridor:
        length: float
        doors: tuple

        def distance(self, position):
            gaps = [paddle.abs(position - d) for d in self.doors]
            around = [paddle.minimum(g, self.length - g) for g in gaps]
            return paddle.stack(around).min(axis=0)

    class Cloud:
        def __init__(self, positions, weights=None):
            n = positions.shape[0]
            self.positions = positions
            self.weights = paddle.full([n], 1.0 / n) if weights is None else weights

        def effective(self):
            return 1.0 / (self.weights**2).sum()

        def estimate(self, length):
            """Circular mean and concentration."""
            angle = self.positions * (2 * math.pi / length)
            c, s = (
                (self.weights * paddle.cos(angle)).sum(),
                (self.weights * paddle.sin(angle)).sum(),
            )
            mean = paddle.atan2(s, c) * length / (2 * math.pi)
            return paddle.where(mean < 0, mean + length, mean), paddle.sqrt(c * c + s * s)

    def records_of(convert):
        def systematic(weights, offset):
            n = weights.shape[0]
            edges = paddle.cumsum(weights)
            picked, i = [], 0
            for k in range(n):
                target = (k + offset) / n
                while i < n - 1 and edges[i] < target:
                    i += 1
                picked.append(i)
            return picked

        def filter_steps(world, cloud, log, rng, sharpness=2.0, threshold=0.5):
            trace = []
            lost = 0
            n = cloud.positions.shape[0]
            for action, value in log:
                note = ""
                if action == "move":
                    noise = paddle.to_tensor(0.1 * rng.standard_normal(n), dtype="float32")
                    cloud = Cloud(
                        paddle.remainder(
                            cloud.positions + value + noise, paddle.to_tensor(world.length)
                        ),
                        cloud.weights,
                    )
                elif action == "sense":
                    near = paddle.exp(-sharpness * world.distance(cloud.positions) ** 2)
                    likelihood = near if value else 1 - near
                    weights = cloud.weights * (likelihood + 1e-6)
                    total = weights.sum()
                    if total < 1e-3:
                        lost += 1
                        note = "lost"
                        cloud = Cloud(paddle.linspace(0, world.length, n + 1)[:-1])
                    else:
                        cloud.weights = weights / total
                else:
                    raise ValueError(f"unknown action {action!r}")
                if cloud.effective() < threshold * n:
                    picked = systematic(cloud.weights, rng.uniform())
                    cloud = Cloud(cloud.positions[picked])
                    note = f"resampled to {len(set(picked))}"
                mean, focus = cloud.estimate(world.length)
                trace.append({"action": action, "mean": mean, "focus": focus, "note": note})
            return cloud, trace, lost

        run = convert(filter_steps)
        records = []
        world = Corridor(10.0, (1.0, 4.0, 5.5))
        logs = [
            [("sense", True), ("move", 3.0), ("sense", True), ("move", 1.5), ("sense", True)],
            [("move", 2.0), ("sense", False), ("move", -1.0), ("sense", True)],
            [("sense", True), ("jump", 2.0)],
            [],
        ]
        for k, log in enumerate(logs):
            for n, options in [(12, {}), (8, {"sharpness": 20.0, "threshold": 0.9})]:
                rng = np.random.RandomState(k)
                cloud = Cloud(paddle.linspace(0, world.length, n + 1)[:-1])
                try:
                    cloud, trace, lost = run(world, cloud, log, rng, **options)
                    records += [trace, lost, cloud.positions, cloud.weights]
                    cloud, trace, lost = run(world, cloud, log[::-1][:2], rng)
                    records += [trace, float(cloud.effective())]
                except ValueError as e:
                    records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def medoids_by_swaps(convert):
    """k-medoids (PAM): greedy build, then swaps while they help, for several metrics; silhouette as a quality."""

    METRICS = {
        "l2": lambda a, b: ((a - b) ** 2).sum(-1).clip(min=1e-12).sqrt(),
        "l1": lambda a, b: (a - b).abs().sum(-1),
        "cosine": lambda a, b: 1 - paddle.nn.functional.cosine_similarity(a, b, axis=-1),
    }

    def records_of(convert):
        def pairwise(x, metric):
            n, d = x.shape
            left = x.unsqueeze(1).expand([n, n, d])
            right = x.unsqueeze(0).expand([n, n, d])
            return METRICS[metric](left, right)

        def cost(distances, medoids):
            return distances[:, medoids].min(axis=1).sum()

        def build(distances, k):
            medoids = [int(distances.sum(axis=0).argmin())]
            while len(medoids) < k:
                nearest = distances[:, medoids].min(axis=1)
                gains = paddle.clip(nearest.unsqueeze(1) - distances, min=0).sum(axis=0)
                for m in medoids:
                    gains[m] = -1.0
                medoids.append(int(gains.argmax()))
            return medoids

        def silhouette(distances, labels, k):
            if k == 1:
                return None
            values = []
            for i, own in enumerate(labels.tolist()):
                means = {}
                for c in range(k):
                    inside = labels == c
                    size = int(inside.sum()) - (c == own)
                    if size > 0:
                        means[c] = (distances[i] * inside.astype("float32")).sum() / size
                a = means.pop(own, None)
                if a is None or not means:
                    values.append(paddle.to_tensor(0.0))
                else:
                    b = min(means.values())
                    values.append((b - a) / paddle.maximum(a, b))
            return paddle.stack(values).mean()

        def cluster(x, k, metric="l2", max_swaps=10):
            n = x.shape[0]
            if not 1 <= k <= n:
                raise ValueError(f"k={k} is not in 1..{n}")
            distances = pairwise(x, metric)
            medoids = build(distances, k)
            best = cost(distances, medoids)
            swaps = 0
            improved = True
            while improved and swaps < max_swaps:
                improved = False
                outside = set(range(n)) - set(medoids)
                for slot, candidate in product(range(k), sorted(outside)):
                    trial = medoids.copy()
                    trial[slot] = candidate
                    value = cost(distances, trial)
                    if value < best - 1e-5:
                        medoids, best, improved = trial, value, True
                        swaps += 1
                        break
            labels = distances[:, medoids].argmin(axis=1)
            sizes = paddle.bincount(labels, minlength=k).tolist()
            return {
                "medoids": medoids,
                "cost": best,
                "labels": labels,
                "swaps": swaps,
                "sizes": dict(zip(medoids, sizes)),
                "silhouette": silhouette(distances, labels, k),
            }

        run = convert(cluster)
        records = []
        rng = np.random.RandomState(8)
        for n, k, metric in [
            (9, 3, "l2"),
            (7, 2, "l1"),
            (8, 2, "cosine"),
            (4, 1, "l2"),
            (3, 3, "l1"),
        ]:
            centers = rng.uniform(-4, 4, [k, 2])
            points = centers[rng.randint(0, k, n)] + 0.5 * rng.randn(n, 2)
            x = paddle.to_tensor(points.astype("float32"), stop_gradient=False)
            found = run(x, k, metric)
            found["cost"].backward()
            records += [found, x.grad]
        records.append(run(x.detach(), 2, max_swaps=0))
        for bad in [dict(k=0), dict(k=9), dict(k=2, metric="hamming")]:
            try:
                run(x, **bad)
            except (ValueError, KeyError) as e:
                records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def warping_with_soft_minima(convert):
    """Soft-DTW with a band, a hard DTW path by backtracking, and a barycenter by gradient descent."""

    INF = 1e6

    def records_of(convert):
        def softmin(values, gamma):
            stacked = paddle.stack(values)
            if gamma == 0:
                return stacked.min()
            return -gamma * paddle.logsumexp(-stacked / gamma, axis=0)

        def table(cost, gamma, band):
            """Cumulated costs as a dict of cells, (0, 0) outside of the matrix."""
            n, m = cost.shape
            far = paddle.full([], INF)
            cells = {(0, 0): paddle.zeros([])}
            for i in range(1, n + 1):
                for j in range(1, m + 1):
                    if band is not None and abs(i * m / n - j) > band:
                        continue
                    around = [cells.get(c, far) for c in ((i - 1, j - 1), (i - 1, j), (i, j - 1))]
                    cells[i, j] = cost[i - 1, j - 1] + softmin(around, gamma)
            return cells

        def align(a, b, gamma=0.1, band=None):
            """Returns the distance and the hard path as index pairs."""
            cost = ((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(-1)
            n, m = cost.shape
            cells = table(cost, gamma, band)
            if (n, m) not in cells or cells[n, m] >= INF / 2:
                raise ValueError(f"no path through a {n}x{m} matrix within band {band}")
            path, (i, j) = [], (n, m)
            while i > 0 and j > 0:
                path.append((i - 1, j - 1))
                steps = [s for s in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if s in cells]
                i, j = min(steps, key=lambda s: float(cells[s]))
            return cells[n, m], path[::-1]

        aligned = convert(align)

        def barycenter(series, length, rounds=3, lr=0.05, gamma=0.5, tolerance=1e-2):
            first = series[0]
            where = paddle.linspace(0, first.shape[0] - 1, length).round().astype("int64")
            center = first[where].clone()
            center.stop_gradient = False
            losses = []
            for _ in range(rounds):
                loss = sum(align(center, s, gamma)[0] for s in series) / len(series)
                losses.append(float(loss))
                if len(losses) > 1 and abs(losses[-2] - losses[-1]) < tolerance:
                    break
                (grad,) = paddle.grad(loss, center)
                center = (center - lr * grad).detach()
                center.stop_gradient = False
            return center, losses

        average = convert(barycenter)
        records = []
        rng = np.random.RandomState(1)

        def wave(n, phase):
            t = np.linspace(0, 2 * math.pi, n) + phase
            return paddle.to_tensor(
                np.stack([np.sin(t), 0.1 * rng.randn(n)], -1).astype("float32"), stop_gradient=False
            )

        for n, m, options in [
            (4, 5, {}),
            (5, 5, {"gamma": 0.0}),
            (6, 3, {"gamma": 1.0, "band": 1.5}),
            (1, 4, {}),
            (4, 4, {"band": 0}),
            (2, 7, {"band": 0.1}),
        ]:
            a, b = wave(n, 0.0), wave(m, 0.4)
            try:
                distance, path = aligned(a, b, **options)
            except ValueError as e:
                records.append((type(e).__name__, str(e)))
                continue
            distance.backward()
            records += [distance, path, a.grad, b.grad]
        for sizes, length, options in [
            ((4, 5), 4, {}),
            ((5, 4, 3), 3, {"lr": 0.2}),
            ((4, 4), 5, {"tolerance": 10.0}),
        ]:
            center, losses = average(
                [wave(n, k * 0.3).detach() for k, n in enumerate(sizes)], length, **options
            )
            records += [center.detach(), [round(v, 4) for v in losses]]
        return records

    yield from records_of(convert)


@program
def gaussian_processes_with_retries(convert):
    """Gaussian process regression: kernels that compose, a Cholesky with growing jitter, expected improvement."""

    class NotPositiveDefinite(ArithmeticError): ...

    def retry(attempts, grow, on):
        def decorate(fn):
            @wraps(fn)
            def wrapper(matrix, jitter, log):
                for attempt in range(1, attempts + 1):
                    try:
                        return fn(matrix, jitter)
                    except on as e:
                        log.append(f"attempt {attempt}: {e}")
                        if attempt == attempts:
                            raise
                        jitter *= grow

            return wrapper

        return decorate

    @retry(attempts=3, grow=100.0, on=NotPositiveDefinite)
    def cholesky(matrix, jitter):
        """Row by row, so that the pivot that fails can be named."""
        n, rows = matrix.shape[0], []
        for i in range(n):
            row = []
            for j, above in enumerate(rows):
                row.append((matrix[i, j] - sum(a * b for a, b in zip(row, above))) / above[j])
            pivot = matrix[i, i] + jitter - sum(v * v for v in row)
            if pivot <= 1e-6:
                raise NotPositiveDefinite(f"pivot {i} with jitter {jitter:g}")
            rows.append([*row, pivot.sqrt()])
        zero = paddle.zeros([], dtype=matrix.dtype)
        return paddle.stack([paddle.stack(r + [zero] * (n - len(r))) for r in rows])

    class Kernel:
        def __init__(self, fn):
            self.fn = fn

        def __call__(self, a, b):
            return self.fn(a.unsqueeze(1), b.unsqueeze(0))

        def __add__(self, other):
            return Kernel(lambda a, b: self.fn(a, b) + other.fn(a, b))

    def rbf(scale, gain=1.0):
        return Kernel(lambda a, b: gain * paddle.exp(-0.5 * ((a - b) / scale) ** 2))

    def records_of(convert):
        def fit_predict(kernel, x, y, grid, jitter=1e-4):
            log = []
            chol = cholesky(kernel(x, x), jitter, log)
            inverse = paddle.linalg.inv(chol)
            alpha = inverse.t() @ (inverse @ y)
            cross = kernel(x, grid)
            mean = cross.t() @ alpha
            var = paddle.diag(kernel(grid, grid)) - ((inverse @ cross) ** 2).sum(axis=0)
            if (var < 1e-3).any():
                log.append(f"clipped {int((var < 1e-3).sum())} variances")
            std = var.clip(min=1e-3).sqrt()
            z = (mean - y.max()) / std
            improvement = std * (
                z * 0.5 * (1 + paddle.erf(z / math.sqrt(2)))
                + paddle.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            )
            evidence = (
                -0.5 * (y @ alpha)
                - paddle.log(paddle.diag(chol)).sum()
                - 0.5 * len(y) * math.log(2 * math.pi)
            )
            return {
                "mean": mean,
                "std": std,
                "next": int(improvement.argmax()),
                "evidence": evidence,
                "log": log,
            }

        run = convert(fit_predict)
        records = []
        scale = paddle.to_tensor(0.8, dtype="float64", stop_gradient=False)
        for kernel, n, repeated, options in [
            (rbf(scale), 4, 0, {}),
            (rbf(scale, 0.5) + Kernel(lambda a, b: a * b), 3, 1, {"jitter": 1e-9}),
            (rbf(scale) + rbf(3.0, 2.0), 5, 2, {"jitter": 1e-3}),
            (rbf(scale, -1.0), 3, 0, {}),
        ]:
            rng = np.random.RandomState(n)
            points = rng.uniform(-2, 2, n)
            points[n - repeated :] = points[0]
            x = paddle.to_tensor(points, dtype="float64")
            for y in (paddle.sin(2 * x), x**2):
                try:
                    result = run(
                        kernel, x, y, paddle.linspace(-2, 2, 5, dtype="float64") + 0.013, **options
                    )
                except NotPositiveDefinite as e:
                    records.append((type(e).__name__, str(e)))
                    continue
                result["evidence"].backward()
                records += [result, scale.grad.clone()]
                scale.clear_grad()
        return records

    yield from records_of(convert)
