"""Frames and shapes: SORT, box fusion, homographies, CLAHE, watersheds, superpixels, Hough lines."""

import heapq
import itertools
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def pairwise_iou(a, b):
    lt = paddle.maximum(a[:, None, :2], b[None, :, :2])
    rb = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clip(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter + 1e-9)


@program
def sort_tracker_over_frames(convert):
    """SORT: Kalman boxes, greedy IoU association, tentative, confirmed and lost tracks."""

    class State(Enum):
        TENTATIVE = auto()
        CONFIRMED = auto()
        LOST = auto()

    class KalmanBox:
        count: ClassVar[int] = 0
        A = paddle.eye(7)
        A[0, 4] = A[1, 5] = A[2, 6] = 1.0
        H = paddle.eye(7)[:4]

        def __init__(self, box):
            self.x = paddle.concat([self.to_z(box), paddle.zeros([3])])
            self.P = paddle.diag(paddle.to_tensor([10.0] * 4 + [1000.0] * 3))
            self.id = KalmanBox.count
            KalmanBox.count += 1
            self.hits, self.missed = 1, 0
            self.state = State.TENTATIVE

        @staticmethod
        def to_z(box):
            w, h = box[2] - box[0], box[3] - box[1]
            return paddle.stack([box[0] + w / 2, box[1] + h / 2, w * h, w / h])

        @property
        def box(self):
            cx, cy, s, r = self.x[:4].unbind()
            w = paddle.sqrt((s * r).clip(min=1e-6))
            h = s / w
            return paddle.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])

        def predict(self):
            if self.x[2] + self.x[6] <= 0:
                self.x[6] = 0.0
            self.x = self.A @ self.x
            self.P = self.A @ self.P @ self.A.t() + 0.01 * paddle.eye(7)
            self.missed += 1
            return self.box

        def update(self, box):
            y = self.to_z(box) - self.H @ self.x
            S = self.H @ self.P @ self.H.t() + paddle.eye(4)
            K = self.P @ self.H.t() @ paddle.inverse(S)
            self.x = self.x + K @ y
            self.P = (paddle.eye(7) - K @ self.H) @ self.P
            self.hits += 1
            self.missed = 0

    class Sort:
        def __init__(self, max_age=2, min_hits=2, iou=0.3):
            self.max_age, self.min_hits, self.iou = max_age, min_hits, iou
            self.tracks: List[KalmanBox] = []
            self.frame = 0

        def associate(self, predicted, detections):
            iou = pairwise_iou(predicted, detections)
            pairs = []
            while iou.numel() and iou.max() >= self.iou:
                flat = int(iou.argmax())
                i, j = divmod(flat, iou.shape[1])
                pairs.append((i, j))
                iou[i, :] = -1.0
                iou[:, j] = -1.0
            return pairs

        def step(self, detections):
            self.frame += 1
            predicted = [t.predict() for t in self.tracks]
            pairs = (
                self.associate(paddle.stack(predicted), detections)
                if predicted and len(detections)
                else []
            )
            for i, j in pairs:
                track = self.tracks[i]
                track.update(detections[j])
                if track.state is not State.CONFIRMED and track.hits >= self.min_hits:
                    track.state = State.CONFIRMED
            matched = {j for _, j in pairs}
            for j in range(len(detections)):
                if j not in matched:
                    self.tracks.append(KalmanBox(detections[j]))
            for track in self.tracks:
                if track.missed > self.max_age:
                    track.state = State.LOST
            self.tracks = [t for t in self.tracks if t.state is not State.LOST]
            return {t.id: t.box for t in self.tracks if t.state is State.CONFIRMED}

    KalmanBox.count = 0
    tracker = Sort()
    tracker.step = convert(tracker.step)
    base = np.array([[0, 0, 4, 4], [10, 10, 15, 14]], "float32")
    for shift, keep in ((0.0, 2), (0.5, 2), (1.0, 1), (1.5, 2), (2.0, 0), (2.5, 2)):
        yield tracker.step(paddle.to_tensor(base[:keep] + shift))
    yield [(t.id, t.state, t.hits, t.missed) for t in tracker.tracks], tracker.frame


@program
def weighted_boxes_fusion(convert):
    """Boxes of several models fused by clusters: weights, confidence types, a per-class loop."""

    @dataclass
    class Cluster:
        members: List[Tuple[paddle.Tensor, paddle.Tensor]] = field(default_factory=list)

        @property
        def weight(self):
            return sum(s for _, s in self.members)

        @property
        def box(self):
            return sum(b * s for b, s in self.members) / self.weight

        def score(self, models, kind="avg"):
            scores = paddle.stack([s for _, s in self.members])
            match kind:
                case "avg":
                    value = scores.mean()
                case "max":
                    value = scores.max()
                case _:
                    raise ValueError(f"Unknown conf_type: {kind!r}")
            return value * min(len(self.members), models) / models

    @convert
    def fuse(
        boxes: Sequence,
        scores: Sequence,
        labels: Sequence,
        *,
        weights=None,
        iou=0.5,
        skip=0.05,
        kind="avg",
    ):
        weights = weights or [1.0] * len(boxes)
        assert len(weights) == len(boxes) == len(scores), "one weight for each model"
        everything = defaultdict(list)
        for b, s, l, w in zip(boxes, scores, labels, weights):
            for box, score, label in zip(b, s, l):
                everything[label].append((box, score * w))
        out = []
        for label, found in sorted(everything.items()):
            b = paddle.stack([x for x, _ in found])
            s = paddle.stack([x for _, x in found])
            order = s.argsort(descending=True)
            clusters: List[Cluster] = []
            for k in order:
                if s[k] < skip:
                    continue
                for cluster in clusters:
                    if pairwise_iou(cluster.box[None], b[k][None])[0, 0] > iou:
                        cluster.members.append((b[k], s[k]))
                        break
                else:
                    clusters.append(Cluster([(b[k], s[k])]))
            out += [(label, c.box, c.score(len(boxes), kind)) for c in clusters]
        return out

    rng = np.random.RandomState(0)

    def detections(n):
        xy = rng.rand(n, 2) * 4
        b = np.concatenate([xy, xy + 2 + rng.rand(n, 2)], 1).astype("float32")
        return paddle.to_tensor(b), paddle.to_tensor(rng.rand(n).astype("float32"))

    for sizes in ((3, 2), (3, 2), (2, 2, 3)):
        boxes, scores = zip(*(detections(n) for n in sizes))
        labels = [[i % 2 for i in range(n)] for n in sizes]
        yield fuse(boxes, scores, labels)
        yield fuse(boxes, scores, labels, iou=0.2, skip=0.4, kind="max")
    yield attempt(lambda: fuse(boxes, scores, labels, kind="sum"))
    yield attempt(lambda: fuse(boxes, scores, labels, weights=[1.0]))


@program
def homography_by_ransac(convert):
    """RANSAC with an adaptive number of trials, a normalised DLT and a refit on the inliers."""

    class DegenerateError(ValueError):
        """Three of the four points lie on a line."""

    @dataclass
    class Result:
        H: Optional[paddle.Tensor] = None
        inliers: Optional[paddle.Tensor] = None
        trials: int = 0

        @property
        def ok(self):
            return self.H is not None

    def normalise(p):
        mean = p.mean(0)
        scale = math.sqrt(2) / (p - mean).norm(axis=1).mean().clip(min=1e-6)
        T = paddle.stack(
            [
                paddle.stack([scale, paddle.zeros([]), -scale * mean[0]]),
                paddle.stack([paddle.zeros([]), scale, -scale * mean[1]]),
                paddle.to_tensor([0.0, 0.0, 1.0]),
            ]
        )
        return (p - mean) * scale, T

    def dlt(src, dst):
        (s, Ts), (d, Td) = normalise(src), normalise(dst)
        rows = []
        for (x, y), (u, v) in zip(s, d):
            one, zero = paddle.ones([]), paddle.zeros([])
            rows.append(paddle.stack([-x, -y, -one, zero, zero, zero, u * x, u * y, u]))
            rows.append(paddle.stack([zero, zero, zero, -x, -y, -one, v * x, v * y, v]))
        A = paddle.stack(rows)
        _, vectors = paddle.linalg.eigh(A.t() @ A)
        H = paddle.inverse(Td) @ vectors[:, 0].reshape([3, 3]) @ Ts
        return H / H[2, 2]

    def collinear(p):
        for i, j, k in itertools.combinations(range(4), 3):
            a, b = p[j] - p[i], p[k] - p[i]
            if (a[0] * b[1] - a[1] * b[0]).abs() < 1e-3:
                return True
        return False

    def project(H, p):
        q = paddle.concat([p, paddle.ones([p.shape[0], 1])], 1) @ H.t()
        return q[:, :2] / q[:, 2:]

    @convert
    def ransac(src, dst, threshold=0.1, confidence=0.99, max_trials=20):
        n = src.shape[0]
        best, best_mask, best_count = None, None, paddle.to_tensor(0)
        needed, trial = paddle.to_tensor(float(max_trials)), 0
        while trial < needed and trial < max_trials:
            trial += 1
            pick = paddle.randperm(n)[:4]
            if collinear(src[pick]):
                continue
            H = dlt(src[pick], dst[pick])
            mask = (project(H, src) - dst).norm(axis=1) < threshold
            count = mask.sum()
            if count > best_count:
                best, best_mask, best_count = H, mask, count
                share = count.astype("float32") / n
                needed = math.log(1 - confidence) / paddle.log(1 - share**4 + 1e-9)
        if best is None:
            raise DegenerateError(f"no model after {trial} trials")
        keep = paddle.nonzero(best_mask).squeeze(-1)
        return Result(dlt(src[keep], dst[keep]), best_mask, trial)

    rng = np.random.RandomState(0)
    true = np.array([[1.1, 0.1, 0.5], [-0.1, 0.9, -0.3], [0.05, 0.02, 1.0]])
    for n, bad in ((8, 0), (8, 2), (10, 3)):
        src = rng.rand(n, 2) * 4
        q = np.c_[src, np.ones(n)] @ true.T
        dst = q[:, :2] / q[:, 2:]
        dst[:bad] += 2
        result = ransac(*(paddle.to_tensor(a.astype("float32")) for a in (src, dst)))
        yield result.H.round(2), result.inliers, result.ok, result.trials
    line = paddle.stack([paddle.arange(5).astype("float32")] * 2, 1)
    yield attempt(lambda: ransac(line, line))


@program
def adaptive_histogram_equalisation(convert):
    """CLAHE: tiles, clipped histograms whose excess is spread, bilinear lookup between tiles."""

    class Equaliser:
        def __init__(self, tiles=(2, 2), bins=16, clip=2.0):
            self.tiles, self.bins, self.clip = tiles, bins, clip
            self._cache: Dict[Tuple[int, int], paddle.Tensor] = {}

        def histogram(self, values):
            h = paddle.zeros([self.bins])
            return paddle.scatter(h, values, paddle.ones([values.shape[0]]), overwrite=False)

        def limited(self, hist, total):
            if self.clip is None:
                return hist
            limit = max(self.clip * total / self.bins, 1.0)
            for _ in range(5):
                excess = (hist - limit).clip(min=0).sum()
                hist = hist.clip(max=limit) + excess / self.bins
                if excess < 0.5:
                    break
            return hist

        def table(self, tile):
            values = tile.flatten()
            hist = self.limited(self.histogram(values), values.shape[0])
            cdf = hist.cumsum()
            low = cdf[(cdf > 0).astype("int64").argmax()]
            return ((cdf - low) / (cdf[-1] - low).clip(min=1.0)).clip(0, 1)

        def weights(self, size, parts):
            key = (size, parts)
            if key not in self._cache:
                at = (paddle.arange(size).astype("float32") + 0.5) / size * parts - 0.5
                centres = paddle.arange(parts).astype("float32")
                self._cache[key] = F.relu(1 - (at.clip(0, parts - 1)[:, None] - centres).abs())
            return self._cache[key]

        def __call__(self, image):
            if image.ndim == 3:
                return paddle.stack([self(channel) for channel in image])
            h, w = image.shape
            ty, tx = self.tiles
            if h % ty or w % tx:
                image = F.pad(image[None, None], [0, -w % tx, 0, -h % ty], mode="reflect")[0, 0]
            q = (image * self.bins).astype("int64").clip(0, self.bins - 1)
            rows = paddle.split(q, ty, axis=0)
            tables = paddle.stack(
                [
                    paddle.stack([self.table(tile) for tile in paddle.split(row, tx, axis=1)])
                    for row in rows
                ]
            )
            looked = tables[:, :, q]
            wy, wx = self.weights(q.shape[0], ty), self.weights(q.shape[1], tx)
            out = paddle.einsum("abyx,ya,xb->yx", looked, wy, wx)
            return out[:h, :w]

    rng = np.random.RandomState(0)
    for eq in (Equaliser(), Equaliser(tiles=(1, 2), clip=None), Equaliser(bins=8, clip=1.2)):
        run = convert(eq.__call__)
        for shape in ((8, 8), (8, 8), (7, 9), (3, 6, 6)):
            yield run(paddle.to_tensor((rng.rand(*shape) ** 2).astype("float32")))
        yield len(eq._cache)
    yield run(paddle.full([4, 4], 0.5))


@program
def watershed_by_flooding(convert):
    """Markers flooded in the order of height with a heap; ridges where basins meet."""

    class Watershed:
        WSHED = -1

        def __init__(self, connectivity=4, ridges=True):
            steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
            if connectivity == 8:
                steps += [(-1, -1), (-1, 1), (1, -1), (1, 1)]
            self.steps = steps
            self.ridges = ridges
            self.pushed = 0

        def neighbours(self, y, x, shape) -> Iterator[Tuple[int, int]]:
            for dy, dx in self.steps:
                if 0 <= y + dy < shape[0] and 0 <= x + dx < shape[1]:
                    yield y + dy, x + dx

        def markers(self, height, level):
            low = F.max_pool2d(-height[None, None], 3, stride=1, padding=1)[0, 0] == -height
            low = low & (height < level)
            return paddle.where(low, low.flatten().astype("int64").cumsum().reshape(low.shape), 0)

        def flood(self, height, level=0.5):
            labels = self.markers(height, level)
            heights, out = height.tolist(), labels.tolist()
            queue, order = [], itertools.count()
            queued = set()
            for y, x in itertools.product(*map(range, height.shape)):
                if out[y][x]:
                    for near in self.neighbours(y, x, height.shape):
                        if not out[near[0]][near[1]] and near not in queued:
                            heapq.heappush(queue, (heights[near[0]][near[1]], next(order), near))
                            queued.add(near)
            while queue:
                _, _, (y, x) = heapq.heappop(queue)
                found = {out[b][a] for b, a in self.neighbours(y, x, height.shape) if out[b][a] > 0}
                out[y][x] = (
                    self.WSHED if self.ridges and len(found) > 1 else min(found, default=self.WSHED)
                )
                for b, a in self.neighbours(y, x, height.shape):
                    if not out[b][a] and (b, a) not in queued:
                        heapq.heappush(queue, (heights[b][a], next(order), (b, a)))
                        queued.add((b, a))
                        self.pushed += 1
            result = paddle.to_tensor(out)
            return result, (result == self.WSHED).sum(), paddle.where(result > 0, height, 0.0).sum()

    for options in ({}, {"connectivity": 8}, {"ridges": False}):
        ws = Watershed(**options)
        flood = convert(ws.flood)
        for n in (5, 5, 7):
            y, x = paddle.meshgrid(paddle.arange(n), paddle.arange(n))
            bumps = (0.9 * y.astype("float32")).sin() * (0.8 * x.astype("float32") + n).cos()
            yield flood(bumps, level=0.2)
        yield ws.pushed
    yield convert(ws.markers)(bumps, paddle.to_tensor(-0.2))


@program
def superpixels_and_hough_lines(convert):
    """SLIC superpixels with windows around centres, and lines by voting with peak suppression."""

    class Slic:
        def __init__(self, step, compactness=5.0, iterations=4):
            self.step, self.m, self.iterations = step, compactness, iterations
            self.moves: deque = deque(maxlen=self.iterations)

        def grid(self, h, w):
            half = self.step // 2
            return [(y, x) for y in range(half, h, self.step) for x in range(half, w, self.step)]

        def __call__(self, image):
            h, w, _ = image.shape
            yy, xx = paddle.meshgrid(
                paddle.arange(h, dtype="float32"), paddle.arange(w, dtype="float32")
            )
            feats = paddle.concat([image, yy[..., None], xx[..., None]], -1)
            centres = paddle.stack([feats[y, x] for y, x in self.grid(h, w)])
            for _ in range(self.iterations):
                best = paddle.full([h, w], float("inf"))
                labels = paddle.full([h, w], -1, dtype="int64")
                for k, c in enumerate(centres):
                    diff = feats - c
                    colour, space = diff[..., :-2].square().sum(-1), diff[..., -2:].square().sum(-1)
                    d = colour + space * (self.m / self.step) ** 2
                    near = space.sqrt() <= 2 * self.step
                    win = near & (d < best)
                    best = paddle.where(win, d, best)
                    labels = paddle.where(win, k, labels)
                old, new = centres, []
                for k in range(len(centres)):
                    mask = (labels == k).astype("float32")
                    if mask.sum() == 0:
                        new.append(centres[k])
                        continue
                    new.append((feats * mask[..., None]).sum([0, 1]) / mask.sum())
                centres = paddle.stack(new)
                moved = (centres - old).abs().max()
                self.moves.append(moved)
                if moved < 1e-3:
                    break
            return labels, centres

    @convert
    def hough(edges, n_theta=8, peaks=2, threshold=2.5):
        h, w = edges.shape
        diag = math.ceil(math.hypot(h, w))
        thetas = paddle.arange(n_theta).astype("float32") * math.pi / n_theta
        acc = paddle.zeros([2 * diag + 1, n_theta])
        for y, x in paddle.nonzero(edges):
            rho = x.astype("float32") * thetas.cos() + y.astype("float32") * thetas.sin()
            acc[rho.round().astype("int64") + diag, paddle.arange(n_theta)] += 1.0
        lines = []
        while len(lines) < peaks:
            top = acc.max()
            if top < threshold:
                break
            flat = acc.argmax()
            r, t = flat // n_theta, flat % n_theta
            lines.append((r - diag, thetas[t], top))
            rows = paddle.arange(2 * diag + 1)
            acc = paddle.where(((rows - r).abs() <= 1).unsqueeze(-1), paddle.zeros([]), acc)
        return lines, acc.sum()

    rng = np.random.RandomState(0)
    slic = Slic(step=3)
    run = convert(slic.__call__)
    for shape in ((6, 6, 1), (6, 6, 1), (6, 9, 3)):
        yield run(paddle.to_tensor(rng.rand(*shape).astype("float32")))
        yield list(slic.moves)
    for kind in (np.eye(5), np.eye(6)[:, ::-1] + np.eye(6), np.zeros((4, 4))):
        yield hough(paddle.to_tensor(kind.copy()) > 0)
    yield hough(paddle.eye(5) > 0, peaks=1, threshold=10.0)
