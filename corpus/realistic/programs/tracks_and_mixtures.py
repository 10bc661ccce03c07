"""Boxes that are suppressed and followed, points that are grouped, people that are matched."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
import paddle

from corpus.realistic import attempt, program

T = paddle.to_tensor


def iou_matrix(a, b):
    lt = paddle.maximum(a[:, None, :2], b[None, :, :2])
    rb = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clip(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a[:, None] + area_b[None, :] - inter + 1e-9)


@program
def soft_suppression_per_class(convert):
    """Soft-NMS by class: scores decay with overlap until nothing above the threshold is left."""

    @dataclass
    class Config:
        sigma: float = 0.5
        threshold: float = 0.2
        max_per_class: int = 3
        method: str = "gaussian"

    def decay(overlap, config):
        if config.method == "gaussian":
            return paddle.exp(-(overlap**2) / config.sigma)
        elif config.method == "linear":
            return paddle.where(overlap > 0.3, 1 - overlap, paddle.ones_like(overlap))
        raise ValueError(f"unknown method {config.method!r}")

    @convert
    def suppress(boxes, scores, labels, config):
        results = defaultdict(list)
        for c in sorted(set(labels)):
            keep = [i for i, label in enumerate(labels) if label == c]
            b = paddle.stack([boxes[i] for i in keep])
            s = paddle.stack([scores[i] for i in keep])
            while s.max() > config.threshold:
                top = s.argmax()
                results[c].append((boxes[keep[0]] if len(keep) == 1 else b[top], s[top]))
                if len(results[c]) >= config.max_per_class:
                    break
                overlap = iou_matrix(b[top].unsqueeze(0), b)[0]
                s = s * decay(overlap, config)
                s[top] = 0.0
        return dict(results)

    rng = np.random.RandomState(0)
    for method, threshold in (("gaussian", 0.2), ("linear", 0.4), ("gaussian", 0.7), ("hard", 0.1)):
        xy = rng.rand(5, 2).astype("float32") * 2
        boxes = np.concatenate([xy, xy + 1 + rng.rand(5, 2).astype("float32")], 1)
        scores = rng.rand(5).astype("float32")
        config = Config(method=method, threshold=threshold)
        yield attempt(lambda: suppress(T(boxes), T(scores), [0, 1, 0, 1, 0], config))


@program
def tracker_with_ages(convert):
    """Greedy overlap tracking with ids, ages, hits and tracks that are dropped when lost."""

    @dataclass
    class Track:
        id: int
        box: paddle.Tensor
        velocity: paddle.Tensor
        hits: int = 1
        misses: int = 0
        history: list = field(default_factory=list)

        def predict(self):
            self.box = self.box + self.velocity
            return self.box

        def update(self, box, momentum=0.5):
            self.velocity = momentum * self.velocity + (1 - momentum) * (box - self.box)
            self.history.append(self.box)
            self.box = box
            self.hits += 1
            self.misses = 0

    class Tracker:
        def __init__(self, min_iou=0.3, max_misses=1):
            self.tracks = []
            self.next_id = 0
            self.min_iou = min_iou
            self.max_misses = max_misses

        def step(self, detections):
            free = list(range(detections.shape[0]))
            if self.tracks:
                predicted = paddle.stack([t.predict() for t in self.tracks])
                ious = iou_matrix(predicted, detections)
                for track, row in zip(list(self.tracks), ious):
                    if not free:
                        track.misses += 1
                        continue
                    candidates = paddle.stack([row[j] for j in free])
                    best = int(candidates.argmax())
                    if candidates[best] >= self.min_iou:
                        track.update(detections[free.pop(best)])
                    else:
                        track.misses += 1
            self.tracks = [t for t in self.tracks if t.misses <= self.max_misses]
            for j in free:
                box = detections[j]
                self.tracks.append(Track(self.next_id, box, paddle.zeros_like(box)))
                self.next_id += 1
            return {t.id: t.box for t in self.tracks if t.hits > 1}

    tracker = Tracker()
    step = convert(tracker.step)
    frames = [
        [[0, 0, 2, 2], [5, 5, 7, 7]],
        [[0.2, 0, 2.2, 2], [5, 5.3, 7, 7.3]],
        [[5, 5.6, 7, 7.6], [9, 9, 10, 10]],
        [[5, 5.9, 7, 7.9], [9, 9.1, 10, 10.1]],
    ]
    for boxes in frames:
        yield attempt(lambda: step(T(np.array(boxes, "float32"))))
        yield [(t.id, t.hits, t.misses, len(t.history)) for t in tracker.tracks]


@program
def density_clusters(convert):
    """DBSCAN: core points grow clusters through a queue, the rest is noise."""

    @convert
    def dbscan(points, eps=0.5, min_points=3):
        n = points.shape[0]
        distance = (points.unsqueeze(0) - points.unsqueeze(1)).norm(axis=-1)
        near = distance <= eps
        labels = [None] * n
        cluster = -1
        for i in range(n):
            if labels[i] is not None:
                continue
            neighbours = near[i].nonzero().flatten().tolist()
            if len(neighbours) < min_points:
                labels[i] = -1
                continue
            cluster += 1
            labels[i] = cluster
            queue = deque(neighbours)
            while queue:
                j = queue.popleft()
                if labels[j] == -1:
                    labels[j] = cluster
                if labels[j] is not None:
                    continue
                labels[j] = cluster
                more = near[j].nonzero().flatten().tolist()
                if len(more) >= min_points:
                    queue.extend(more)
        centres = [
            paddle.stack([points[i] for i in range(n) if labels[i] == c]).mean(axis=0)
            for c in range(cluster + 1)
        ]
        return labels, centres

    rng = np.random.RandomState(0)
    for spread in (0.1, 0.3, 0.9):
        blobs = [rng.randn(4, 2) * spread + c for c in ((0, 0), (2, 2))]
        points = np.concatenate([*blobs, [[9.0, 9.0]]]).astype("float32")
        yield attempt(lambda: dbscan(T(points)))


@program
def mixture_with_restarts(convert):
    """EM for a mixture of Gaussians; components that die are put on the worst explained point."""

    class Mixture:
        def __init__(self, k, tolerance=1e-3, max_iter=20, floor=1e-2, verbose=False):
            self.k, self.tolerance, self.max_iter = k, tolerance, max_iter
            self.floor, self.verbose = floor, verbose
            self.revived = 0

        def log_prob(self, x):
            d = x.shape[1]
            diff = x.unsqueeze(1) - self.mean
            quad = (diff**2 / self.var).sum(-1) + self.var.log().sum(-1)
            return self.weight.log() - 0.5 * (quad + d * math.log(2 * math.pi))

        def fit(self, x, init):
            self.mean = init
            self.var = paddle.ones_like(init)
            self.weight = paddle.full([self.k], 1.0 / self.k)
            previous = -math.inf
            self.converged = False
            for it in range(self.max_iter):
                joint = self.log_prob(x)
                evidence = paddle.logsumexp(joint, axis=1)
                resp = (joint - evidence.unsqueeze(1)).exp()
                mass = resp.sum(0)
                worst = evidence.argmin()
                if (mass < 1e-2).any():
                    dead = mass.argmin()
                    self.mean[dead] = x[worst]
                    self.var[dead] = 1.0
                    self.weight = paddle.full([self.k], 1.0 / self.k)
                    self.revived += 1
                    continue
                self.mean = (resp.t() @ x) / mass.unsqueeze(1)
                diff = x.unsqueeze(1) - self.mean
                self.var = (resp.unsqueeze(-1) * diff**2).sum(0) / mass.unsqueeze(1) + self.floor
                self.weight = mass / mass.sum()
                current = evidence.mean()
                if self.verbose:
                    print(f"iteration {it}: {float(current):.3f}")
                if abs(current - previous) < self.tolerance:
                    self.converged = True
                    break
                previous = current
            return self.log_prob(x).argmax(axis=1)

    rng = np.random.RandomState(3)
    x = np.concatenate([rng.randn(6, 2) * 0.3 + c for c in ((0, 0), (3, 3))]).astype("float32")
    mixture = Mixture(2, verbose=True)
    fit = convert(mixture.fit)
    for init in ([[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [40.0, 40.0]], [[3.0, 2.0], [0.5, 0.0]]):
        labels = fit(T(x), T(init))
        yield labels, mixture.mean, mixture.weight, mixture.revived, mixture.converged


@program
def stable_marriages(convert):
    """Deferred acceptance on scores: proposals, rejections and the free ones in a stack."""

    @convert
    def match(left_scores, right_scores):
        n = left_scores.shape[0]
        preference = left_scores.argsort(axis=1, descending=True)
        next_choice = [0] * n
        engaged = {}
        free = list(range(n))
        rounds = 0
        while free:
            rounds += 1
            suitor = free.pop()
            target = int(preference[suitor, next_choice[suitor]])
            next_choice[suitor] += 1
            if target not in engaged:
                engaged[target] = suitor
            elif right_scores[target, suitor] > right_scores[target, engaged[target]]:
                free.append(engaged[target])
                engaged[target] = suitor
            else:
                free.append(suitor)
        happiness = sum(left_scores[s, t] + right_scores[t, s] for t, s in engaged.items())
        return engaged, happiness, rounds

    for seed in (0, 1, 2):
        rng = np.random.RandomState(seed)
        a, b = (rng.rand(3, 3).astype("float32") for _ in range(2))
        yield attempt(lambda: match(T(a), T(b)))
