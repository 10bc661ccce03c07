"""Small applications: detection and tracking, recommendation, forecasting, search, federation."""

import math
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def non_maximum_suppression_pipeline(convert):
    """Anchors are decoded, filtered by score, suppressed per class, and cut to the best few."""
    Detections = namedtuple("Detections", ["boxes", "scores", "classes"])

    @dataclass
    class Settings:
        score: float = 0.3
        iou: float = 0.5
        keep: int = 3
        class_agnostic: bool = False

    class Decoder:
        def __init__(self, size=4, stride=1.0):
            ys, xs = paddle.meshgrid(paddle.arange(size), paddle.arange(size))
            centers = paddle.stack([xs.flatten(), ys.flatten()], axis=-1)
            self.centers = (centers.astype("float32") + 0.5) * stride

        def __call__(self, deltas):
            n = deltas.shape[0]
            xy = self.centers[:n] + deltas[:, :2].tanh()
            wh = paddle.exp(deltas[:, 2:].clip(max=2.0))
            return paddle.concat(x=[xy - wh / 2, xy + wh / 2], axis=-1)

    def iou_with(box, boxes):
        left_top = paddle.maximum(box[:2], boxes[:, :2])
        right_bottom = paddle.minimum(box[2:], boxes[:, 2:])
        overlap = (right_bottom - left_top).clip(min=0).prod(axis=-1)
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        own = (box[2] - box[0]) * (box[3] - box[1])
        return overlap / (areas + own - overlap)

    def nms(boxes, scores, classes, settings):
        alive = scores > settings.score
        kept = []
        while alive.any() and len(kept) < settings.keep:
            best = paddle.where(alive, scores, paddle.full_like(scores, -1.0)).argmax()
            kept.append(best)
            suppress = iou_with(boxes[best], boxes) > settings.iou
            if not settings.class_agnostic:
                suppress = suppress & (classes == classes[best])
            suppress[best] = True
            alive = alive & ~suppress
        return kept

    decoder = Decoder()

    @convert
    def detect(deltas, logits, settings=None):
        settings = settings or Settings()
        probs = F.sigmoid(logits)
        scores, classes = probs.max(axis=-1), probs.argmax(axis=-1)
        boxes = decoder(deltas)
        kept = nms(boxes, scores, classes, settings)
        if not kept:
            return Detections(boxes[:0], scores[:0], classes[:0])
        index = paddle.stack(kept)
        return Detections(boxes[index], scores[index], classes[index])

    rng = np.random.RandomState(0)
    for n, settings in (
        (6, None),
        (6, Settings(iou=0.1, class_agnostic=True)),
        (9, Settings(score=0.6, keep=5)),
        (4, Settings(score=0.99)),
    ):
        deltas = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        logits = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        yield detect(deltas, logits, settings=settings)


@program
def tracker_with_greedy_assignment(convert):
    """Tracks are matched to detections nearest first; unmatched tracks age and disappear."""

    @dataclass
    class Track:
        id: int
        position: paddle.Tensor
        velocity: paddle.Tensor
        missed: int = 0
        hits: int = 1

        def predict(self):
            self.position = self.position + self.velocity
            return self.position

        def correct(self, measured, gain=0.6):
            residual = measured - self.position
            self.position = self.position + gain * residual
            self.velocity = self.velocity + 0.3 * gain * residual
            self.missed, self.hits = 0, self.hits + 1

    class Tracker:
        def __init__(self, gate=1.0, max_missed=1):
            self.gate, self.max_missed = gate, max_missed
            self.tracks: List[Track] = []
            self.next_id = 0

        @convert
        def distances(self, detections):
            predicted = paddle.stack([track.predict() for track in self.tracks])
            d = (predicted.unsqueeze(1) - detections.unsqueeze(0)).norm(axis=-1)
            return paddle.where(d > self.gate, paddle.full_like(d, 1e3), d)

        @convert
        def assign(self, cost):
            matches = []
            for _ in range(min(cost.shape[0], cost.shape[1])):
                flat = cost.argmin()
                row, column = flat // cost.shape[1], flat % cost.shape[1]
                if cost.min() >= 1e3:
                    break
                matches.append((row, column))
                cost = paddle.where(
                    (paddle.arange(cost.shape[0]) == row).unsqueeze(1)
                    | (paddle.arange(cost.shape[1]) == column).unsqueeze(0),
                    paddle.full_like(cost, 1e3),
                    cost,
                )
            return matches

        def update(self, detections):
            matches = []
            if self.tracks and detections.shape[0]:
                matches = self.assign(self.distances(detections))
            rows = {r.item(): c.item() for r, c in matches}
            for i, track in enumerate(self.tracks):
                if i in rows:
                    track.correct(detections[rows[i]])
                else:
                    track.missed += 1
            for j in range(detections.shape[0]):
                if j not in rows.values():
                    self.tracks.append(Track(self.next_id, detections[j], paddle.zeros([2])))
                    self.next_id += 1
            self.tracks = [t for t in self.tracks if t.missed <= self.max_missed]
            return {t.id: t.position for t in self.tracks}

    rng = np.random.RandomState(1)
    tracker = Tracker()
    for step in range(5):
        truth = np.array([[step * 0.5, 0.0], [3.0, step * 0.4], [0.0, 5.0]], dtype="float32")
        visible = [0, 1] if step != 2 else [0]
        if step == 4:
            visible = [0, 1, 2]
        noisy = truth[visible] + 0.05 * rng.randn(len(visible), 2).astype("float32")
        yield tracker.update(paddle.to_tensor(noisy))
    yield [(t.id, t.hits, t.missed) for t in tracker.tracks], tracker.next_id


@program
def recommender_by_alternating_least_squares(convert):
    """ALS with masks and regularisation, early stop by validation, folding in a new user."""

    class ALS:
        def __init__(self, rank=2, reg=0.1, patience=1):
            self.rank, self.reg, self.patience = rank, reg, patience
            self.history: Dict[str, List[paddle.Tensor]] = defaultdict(list)

        def solve_rows(self, ratings, mask, other):
            rows = []
            eye = self.reg * paddle.eye(self.rank)
            for i in range(ratings.shape[0]):
                weighted = other * mask[i].unsqueeze(-1)
                a = paddle.matmul(weighted, other, transpose_x=True) + eye
                b = paddle.matmul(weighted.T, ratings[i].unsqueeze(-1))
                rows.append(paddle.linalg.solve(a, b).squeeze(-1))
            return paddle.stack(rows)

        def rmse(self, ratings, mask):
            error = (self.predict() - ratings) * mask
            return (error.square().sum() / mask.sum()).sqrt()

        def predict(self):
            return paddle.matmul(self.users, self.items, transpose_y=True)

        @convert
        def fit(self, ratings, train, valid, epochs=6):
            self.items = paddle.ones([ratings.shape[1], self.rank])
            self.items[:, 0] = paddle.linspace(-1, 1, ratings.shape[1])
            self.users = paddle.zeros([ratings.shape[0], self.rank])
            best, bad = None, 0
            for epoch in range(epochs):
                self.users = self.solve_rows(ratings, train, self.items)
                self.items = self.solve_rows(ratings.T, train.T, self.users)
                score = self.rmse(ratings, valid)
                self.history["valid"].append(score)
                self.history["train"].append(self.rmse(ratings, train))
                if best is None or score < best - 1e-3:
                    best, bad = score, 0
                else:
                    bad += 1
                    if bad > self.patience:
                        break
            return best, epoch + 1

        @convert
        def recommend(self, ratings, mask, k=2):
            user = self.solve_rows(ratings.unsqueeze(0), mask.unsqueeze(0), self.items)[0]
            scores = paddle.matmul(self.items, user)
            scores = paddle.where(mask > 0, paddle.full_like(scores, -1e9), scores)
            return paddle.topk(scores, k=k)

    rng = np.random.RandomState(2)
    for users, items in ((4, 5), (5, 4)):
        truth = rng.randn(users, 2) @ rng.randn(2, items)
        train = (rng.rand(users, items) < 0.8).astype("float32")
        valid = 1 - train
        valid[0, 0] = 1
        model = ALS(patience=0 if users == 4 else 1)
        ratings = paddle.to_tensor(truth.astype("float32"))
        yield model.fit(ratings, paddle.to_tensor(train), paddle.to_tensor(valid))
        yield dict(model.history), model.predict()
        seen = paddle.to_tensor([1.0, 1.0] + [0.0] * (items - 2))
        yield model.recommend(ratings[1], seen)


@program
def holt_winters_with_anomalies(convert):
    """Triple exponential smoothing; anomalies are replaced by the forecast; a grid search."""

    @dataclass
    class Model:
        alpha: float = 0.5
        beta: float = 0.1
        gamma: float = 0.3
        season: int = 3
        level: Optional[paddle.Tensor] = None
        trend: Optional[paddle.Tensor] = None
        seasonal: List[paddle.Tensor] = field(default_factory=list)

        def initialise(self, series):
            self.level = series[: self.season].mean()
            following = series[self.season : 2 * self.season].mean()
            self.trend = (following - self.level) / self.season
            self.seasonal = [series[i] - self.level for i in range(self.season)]

        def forecast(self, t, ahead=1):
            return self.level + ahead * self.trend + self.seasonal[t % self.season]

        def update(self, t, value):
            i = t % self.season
            old = self.level
            self.level = self.alpha * (value - self.seasonal[i]) + (1 - self.alpha) * (
                old + self.trend
            )
            self.trend = self.beta * (self.level - old) + (1 - self.beta) * self.trend
            self.seasonal[i] = (
                self.gamma * (value - self.level) + (1 - self.gamma) * self.seasonal[i]
            )

    @convert
    def run(series, model, threshold=None):
        model.initialise(series)
        errors, anomalies = [], []
        scale = paddle.to_tensor(1.0)
        for t in range(model.season, series.shape[0]):
            value = series[t]
            expected = model.forecast(t)
            error = value - expected
            strange = paddle.to_tensor(False)
            if threshold is not None and error.abs() > threshold * scale:
                value = expected
                strange = paddle.to_tensor(True)
            else:
                scale = 0.9 * scale + 0.1 * error.abs()
            anomalies.append(strange)
            model.update(t, value)
            errors.append(error)
        future = [model.forecast(series.shape[0] + h, ahead=h + 1) for h in range(model.season)]
        return paddle.stack(errors).square().mean(), paddle.stack(future), paddle.stack(anomalies)

    def grid(series, alphas: Sequence[float], gammas: Sequence[float]):
        best = None
        for alpha in alphas:
            for gamma in gammas:
                error, _, _ = run(series, Model(alpha=alpha, gamma=gamma))
                if best is None or error < best[0]:
                    best = (error, alpha, gamma)
        return best

    rng = np.random.RandomState(3)
    for n, threshold in ((9, None), (10, 2.0), (12, 1.0)):
        t = np.arange(n)
        values = 0.3 * t + np.array([1.0, -1.0, 0.5])[t % 3] + 0.1 * rng.randn(n)
        values[n // 2 + 1] += 6.0
        model = Model()
        yield run(paddle.to_tensor(values.astype("float32")), model, threshold=threshold)
        yield model.level, model.trend, model.seasonal
    yield grid(paddle.to_tensor(values.astype("float32")), (0.2, 0.6), (0.1, 0.5))


@program
def simulated_annealing_of_a_tour(convert):
    """2-opt moves on a tour, accepted by Metropolis; a state object is replaced at each move."""

    @dataclass
    class State:
        order: paddle.Tensor
        length: paddle.Tensor
        accepted: int = 0

    class Annealer:
        def __init__(self, cities, start=1.0, cooling=0.8):
            self.cities = cities
            self.start, self.cooling = start, cooling

        def tour_length(self, order):
            points = paddle.gather(self.cities, order)
            return (points - paddle.roll(points, -1, axis=0)).norm(axis=-1).sum()

        def reversed_between(self, order, i, j):
            index = paddle.arange(order.shape[0])
            inside = (index >= i) & (index <= j)
            return order[paddle.where(inside, i + j - index, index)]

        def propose(self, state, i, j):
            order = self.reversed_between(state.order, paddle.minimum(i, j), paddle.maximum(i, j))
            return State(order=order, length=self.tour_length(order), accepted=state.accepted)

        @convert
        def run(self, picks, uniforms, target=None):
            order = paddle.arange(self.cities.shape[0])
            state = State(order=order, length=self.tour_length(order))
            best = state.length
            temperature = self.start
            trace = []
            for k in range(picks.shape[0]):
                candidate = self.propose(state, picks[k, 0], picks[k, 1])
                change = candidate.length - state.length
                if change < 0 or uniforms[k] < paddle.exp(-change / temperature):
                    state = candidate
                    state.accepted += 1
                best = paddle.minimum(best, state.length)
                trace.append(state.length)
                temperature *= self.cooling
                if target is not None and best < target:
                    break
            return state, best, trace

    rng = np.random.RandomState(4)
    for n, moves, target in ((5, 4, None), (6, 5, None), (6, 6, 100.0)):
        annealer = Annealer(paddle.to_tensor(rng.rand(n, 2).astype("float32")))
        picks = paddle.to_tensor(rng.randint(0, n, (moves, 2)))
        uniforms = paddle.to_tensor(rng.rand(moves).astype("float32"))
        yield annealer.run(picks, uniforms, target=target)


@program
def evolution_strategy_with_restarts(convert):
    """A (mu, lambda) strategy with rank weights and step-size control; restarts on stagnation."""

    def sphere(x):
        return (x - 0.5).square().sum(axis=-1)

    def rastrigin(x):
        return (x.square() - 3 * paddle.cos(2 * math.pi * x) + 3).sum(axis=-1)

    class ES:
        def __init__(self, dim, population=8, parents=3, sigma=0.5):
            self.dim, self.population, self.parents = dim, population, parents
            self.sigma0 = sigma
            weights = [math.log(parents + 0.5) - math.log(i + 1) for i in range(parents)]
            self.weights = paddle.to_tensor(weights) / sum(weights)
            self.restarts = 0
            self.reset()

        def reset(self):
            self.mean = paddle.zeros([self.dim])
            self.sigma = paddle.to_tensor(self.sigma0)
            self.path = paddle.zeros([self.dim])

        def step(self, function, noise):
            candidates = self.mean + self.sigma * noise
            values = function(candidates)
            order = paddle.argsort(values)[: self.parents]
            chosen = paddle.gather(noise, order)
            move = (self.weights.unsqueeze(-1) * chosen).sum(axis=0)
            self.mean = self.mean + self.sigma * move
            self.path = 0.7 * self.path + 0.5 * move
            length = self.path.norm() / math.sqrt(self.dim)
            self.sigma = self.sigma * paddle.exp(0.3 * (length - 0.6))
            return values.min()

        @convert
        def minimise(self, function, noises, goal=1e-3, stall=2):
            best = paddle.to_tensor(float("inf"))
            since = 0
            curve = []
            for noise in noises:
                value = self.step(function, noise)
                curve.append(value)
                if value < best:
                    best, since = value, 0
                else:
                    since += 1
                if best < goal:
                    break
                if since > stall:
                    self.reset()
                    self.restarts += 1
                    since = 0
            return best, curve

    rng = np.random.RandomState(5)
    for function, dim in ((sphere, 2), (rastrigin, 2), (sphere, 3)):
        es = ES(dim)
        noises = [paddle.to_tensor(rng.randn(8, dim).astype("float32")) for _ in range(5)]
        yield es.minimise(function, noises, goal=0.02)
        yield es.mean, es.sigma, es.restarts


@program
def gaussian_process_optimisation(convert):
    """A GP surrogate by Cholesky, expected improvement on a grid, a stop when it is small."""

    class GP:
        def __init__(self, scale=0.3, noise=1e-3):
            self.scale, self.noise = scale, noise
            self.x = self.y = None

        def kernel(self, a, b):
            d = (a.unsqueeze(-1) - b.unsqueeze(0)) / self.scale
            return paddle.exp(-0.5 * d.square())

        def add(self, x, y):
            x, y = x.reshape([1]), y.reshape([1])
            self.x = x if self.x is None else paddle.concat(x=[self.x, x], axis=0)
            self.y = y if self.y is None else paddle.concat(x=[self.y, y], axis=0)

        def posterior(self, points):
            k = self.kernel(self.x, self.x) + self.noise * paddle.eye(self.x.shape[0])
            low = paddle.linalg.cholesky(k)
            cross = self.kernel(self.x, points)
            v = paddle.linalg.triangular_solve(low, cross, upper=False)
            a = paddle.linalg.triangular_solve(low, self.y.unsqueeze(-1), upper=False)
            mean = paddle.matmul(v, a, transpose_x=True).squeeze(-1)
            return mean, (1 - v.square().sum(axis=0)).clip(min=1e-9).sqrt()

    def expected_improvement(mean, std, best, xi=0.01):
        z = (mean - best - xi) / std
        cdf = 0.5 * (1 + paddle.erf(z / math.sqrt(2)))
        pdf = paddle.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi)
        return std * (z * cdf + pdf)

    @convert
    def suggest(gp, grid, best):
        mean, std = gp.posterior(grid)
        ei = expected_improvement(mean, std, best)
        return grid[ei.argmax()], ei.max()

    @convert
    def optimise(function, gp, grid, rounds=4, tol=1e-3):
        best_x, best_y = None, None
        for point in (grid[0], grid[-1]):
            y = function(point)
            gp.add(point, y)
            if best_y is None or y > best_y:
                best_x, best_y = point, y
        used = 0
        for used in range(1, rounds + 1):
            x, ei = suggest(gp, grid, best_y)
            if ei < tol:
                break
            y = function(x)
            gp.add(x, y)
            if y > best_y:
                best_x, best_y = x, y
        return best_x, best_y, used

    grid = paddle.linspace(0, 1, 9)
    for frequency, rounds in ((3.0, 3), (8.0, 4)):
        gp = GP()
        yield optimise(lambda x: paddle.sin(frequency * x) * x, gp, grid, rounds=rounds)
        yield gp.x, gp.y
        yield suggest(gp, grid[:5], paddle.to_tensor(0.1))
    yield optimise(lambda x: 0 * x, GP(scale=5.0), grid, tol=0.5)


@program
def federated_averaging(convert):
    """Clients train locally from the global weights; updates are clipped, weighted, averaged."""

    class Client:
        def __init__(self, seed, size, shift=0.0):
            rng = np.random.RandomState(seed)
            x = rng.randn(size, 2).astype("float32")
            self.x = paddle.to_tensor(x)
            self.y = paddle.to_tensor(x @ np.array([[1.0], [-2.0]], dtype="float32") + shift)
            self.rounds = 0

        def __len__(self):
            return self.x.shape[0]

    class Server:
        def __init__(self, lr=0.1, clip=0.5, local_steps=2):
            self.weights = OrderedDict(w=paddle.zeros([2, 1]), b=paddle.zeros([1]))
            self.lr, self.clip, self.local_steps = lr, clip, local_steps
            self.clipped = 0

        def loss(self, weights, client):
            y = paddle.matmul(client.x, weights["w"]) + weights["b"]
            return (y - client.y).square().mean()

        def local_update(self, client):
            weights = {k: v.clone() for k, v in self.weights.items()}
            for _ in range(self.local_steps):
                for v in weights.values():
                    v.stop_gradient = False
                grads = paddle.grad(self.loss(weights, client), list(weights.values()))
                weights = {
                    k: (v - self.lr * g).detach() for (k, v), g in zip(weights.items(), grads)
                }
            client.rounds += 1
            return {k: weights[k] - self.weights[k] for k in weights}

        @convert
        def round(self, clients, dropout=()):
            total = 0
            merged = {k: paddle.zeros_like(v) for k, v in self.weights.items()}
            for i, client in enumerate(clients):
                if i in dropout:
                    continue
                delta = self.local_update(client)
                norm = sum(d.square().sum() for d in delta.values()).sqrt()
                if norm > self.clip:
                    delta = {k: d * (self.clip / norm) for k, d in delta.items()}
                    self.clipped += 1
                for k in merged:
                    merged[k] = merged[k] + len(client) * delta[k]
                total += len(client)
            assert total > 0, "all clients dropped out"
            self.weights = OrderedDict((k, self.weights[k] + merged[k] / total) for k in merged)
            return sum(self.loss(self.weights, c) for c in clients) / len(clients)

    clients = [Client(0, 4), Client(1, 6, shift=0.5), Client(2, 3, shift=-0.2)]
    server = Server()
    for dropout in ((), (1,), (0, 2), ()):
        yield server.round(clients, dropout=dropout)
        yield server.weights, server.clipped
    yield [client.rounds for client in clients]
    yield attempt(lambda: server.round(clients, dropout=(0, 1, 2)))


@program
def distillation_with_a_schedule(convert):
    """A student learns from a teacher; temperature and weight follow the epoch; hard examples."""

    @dataclass
    class Stage:
        until: int
        temperature: float
        soft_weight: float

    class Schedule:
        def __init__(self, *stages):
            self.stages = sorted(stages, key=lambda s: s.until)

        def __getitem__(self, epoch):
            for stage in self.stages:
                if epoch < stage.until:
                    return stage
            return self.stages[-1]

    class Distiller:
        def __init__(self, teacher, student, schedule):
            self.teacher, self.student, self.schedule = teacher.eval(), student, schedule
            self.optimizer = paddle.optimizer.Adam(0.02, parameters=student.parameters())

        def soft_loss(self, student, teacher, temperature):
            log_p = F.log_softmax(student / temperature, axis=-1)
            q = F.softmax(teacher / temperature, axis=-1)
            return F.kl_div(log_p, q, reduction="batchmean") * temperature**2

        @convert
        def step(self, x, labels, epoch, hard_only=False):
            stage = self.schedule[epoch]
            with paddle.no_grad():
                guide = self.teacher(x)
            if hard_only:
                wrong = guide.argmax(axis=-1) != labels
                if wrong.any():
                    keep = paddle.nonzero(wrong).flatten()
                    x, labels, guide = x[keep], labels[keep], guide[keep]
            logits = self.student(x)
            soft = self.soft_loss(logits, guide, stage.temperature)
            hard = F.cross_entropy(logits, labels)
            loss = stage.soft_weight * soft + (1 - stage.soft_weight) * hard
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            agreement = (logits.argmax(-1) == guide.argmax(-1)).astype("float32").mean()
            return {"loss": loss, "soft": soft, "hard": hard, "agreement": agreement}

    teacher = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
    student = nn.Linear(3, 3)
    schedule = Schedule(Stage(4, 1.0, 0.3), Stage(2, 4.0, 0.9))
    distiller = Distiller(teacher, student, schedule)
    rng = np.random.RandomState(7)
    for epoch, n in enumerate((4, 5, 4, 3, 4)):
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        labels = paddle.to_tensor(rng.randint(0, 3, n))
        yield distiller.step(x, labels, epoch, hard_only=epoch % 2 == 1)
        yield student.weight.clone()


@program
def population_based_training(convert):
    """Members train with their own settings; the worst copy the best and perturb the copy."""

    @dataclass
    class Member:
        theta: paddle.Tensor
        lr: paddle.Tensor
        score: Optional[paddle.Tensor] = None
        lineage: List[int] = field(default_factory=list)

    class Population:
        def __init__(self, size, objective):
            rates = [0.02 * 3**i for i in range(size)]
            self.members = [
                Member(paddle.to_tensor([0.9, 0.9]), paddle.to_tensor(rate), lineage=[i])
                for i, rate in enumerate(rates)
            ]
            self.objective = objective
            self.exploits = paddle.zeros([], dtype="int64")

        def train(self, member, steps):
            for _ in range(steps):
                theta = member.theta.detach()
                theta.stop_gradient = False
                (grad,) = paddle.grad(self.objective(theta), theta)
                grad = grad.clip(-5, 5)
                member.theta = (theta - member.lr * grad).detach()
            member.score = self.objective(member.theta)

        @convert
        def generation(self, steps=2, factor=1.2):
            for member in self.members:
                self.train(member, steps)
            scores = paddle.stack([m.score for m in self.members])
            best = scores.argmin()
            thetas = paddle.stack([m.theta for m in self.members])
            rates = paddle.stack([m.lr for m in self.members])
            limit = scores.mean()
            for i, member in enumerate(self.members):
                if scores[i] > limit:
                    member.theta = thetas[best]
                    member.lr = rates[best] * (factor if i % 2 else 1 / factor)
                    self.exploits = self.exploits + 1
            return scores, best

    def bowl(theta):
        return 1.2 - theta.square().sum() + theta.square().square().sum()

    def valley(theta):
        return (theta[0] - theta[1]).square() * 3 + (theta[0] + 0.5).square()

    for objective, size in ((bowl, 3), (valley, 4)):
        population = Population(size, objective)
        for steps in (2, 2, 1):
            yield population.generation(steps=steps)
        yield [m.theta for m in population.members], [m.lr for m in population.members]
        yield population.exploits, [m.lineage for m in population.members]


@program
def active_learning_rounds(convert):
    """Uncertain and diverse points are chosen from a pool, labelled by an oracle and trained on."""

    class Learner(nn.Layer):
        def __init__(self, dim=2, classes=2):
            super().__init__()
            self.fc = nn.Linear(dim, classes)

        def forward(self, x):
            return self.fc(x)

        def entropy(self, x):
            logp = F.log_softmax(self(x), axis=-1)
            return -(logp.exp() * logp).sum(axis=-1)

    class Pool:
        def __init__(self, x):
            self.x = x
            self.free = paddle.ones([x.shape[0]], dtype="bool")
            self.labelled: List[paddle.Tensor] = []

        def take(self, index):
            self.free = self.free & (paddle.arange(self.x.shape[0]) != index)
            self.labelled.append(index)

    @convert
    def choose(learner, pool, count, diversity=0.5):
        with paddle.no_grad():
            uncertainty = learner.entropy(pool.x)
        chosen = []
        for _ in range(count):
            score = uncertainty
            if chosen:
                picked = paddle.gather(pool.x, paddle.stack(chosen))
                d = (pool.x.unsqueeze(1) - picked.unsqueeze(0)).norm(axis=-1).min(axis=1)
                score = score + diversity * d
            score = paddle.where(pool.free, score, paddle.full_like(score, -1e9))
            index = score.argmax()
            pool.take(index)
            chosen.append(index)
            if not pool.free.any():
                break
        return paddle.stack(chosen), uncertainty.mean()

    @convert
    def train(learner, x, y, max_steps=8, lr=0.5, tol=0.3):
        for step in range(max_steps):
            loss = F.cross_entropy(learner(x), y)
            if loss < tol:
                break
            grads = paddle.grad(loss, [learner.fc.weight, learner.fc.bias])
            with paddle.no_grad():
                learner.fc.weight.set_value(learner.fc.weight - lr * grads[0])
                learner.fc.bias.set_value(learner.fc.bias - lr * grads[1])
        return loss.detach(), step

    def oracle(x):
        return (x[:, 0] + 0.5 * x[:, 1] > 0).astype("int64")

    rng = np.random.RandomState(9)
    learner, pool = Learner(), Pool(paddle.to_tensor(rng.randn(7, 2).astype("float32")))
    for count, diversity in ((2, 0.5), (2, 0.0), (4, 1.0)):
        yield choose(learner, pool, count, diversity=diversity)
        x = paddle.gather(pool.x, paddle.stack(pool.labelled))
        yield train(learner, x, oracle(x))
        yield learner.fc.weight.clone(), pool.free
