"""Boxes, points and polygons: tracked, suppressed, grouped and clipped."""

import functools
import inspect
import math
import warnings
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import paddle
import paddle.nn.functional as F

from corpus.realistic import program


@dataclass
class Track:
    ident: int
    mean: paddle.Tensor  # [8]: box and velocity
    cov: paddle.Tensor  # [8, 8]
    hits: int = 1
    misses: int = 0

    @property
    def box(self):
        return self.mean[:4]


def iou_matrix(a, b):
    top_left = paddle.maximum(a[:, None, :2], b[None, :, :2])
    bottom_right = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (bottom_right - top_left).clip(min=0).prod(axis=-1)
    area_a = (a[:, 2:] - a[:, :2]).prod(axis=-1)
    area_b = (b[:, 2:] - b[:, :2]).prod(axis=-1)
    return inter / (area_a[:, None] + area_b[None, :] - inter + 1e-9)


class Sort:
    def __init__(self, min_iou=0.3, max_misses=1, min_hits=2):
        self.min_iou = min_iou
        self.max_misses = max_misses
        self.min_hits = min_hits
        self.tracks = []
        self.next_id = 1
        self.frame = 0
        self.motion = paddle.eye(8)
        for d in range(4):
            self.motion[d, d + 4] = 1.0
        self.observe = paddle.eye(8)[:4]
        self.q = paddle.eye(8) * 0.01
        self.r = paddle.eye(4) * 0.5

    def predict(self, track):
        track.mean = self.motion @ track.mean
        track.cov = self.motion @ track.cov @ self.motion.T + self.q

    def correct(self, track, box):
        innovation = box - self.observe @ track.mean
        s = self.observe @ track.cov @ self.observe.T + self.r
        gain = paddle.linalg.solve(s, self.observe @ track.cov).T
        track.mean = track.mean + gain @ innovation
        track.cov = (paddle.eye(8) - gain @ self.observe) @ track.cov
        track.hits += 1
        track.misses = 0

    def match(self, boxes):
        """Pairs (track, detection), best overlap first."""
        if not self.tracks or boxes.shape[0] == 0:
            return [], list(range(boxes.shape[0]))
        overlap = iou_matrix(paddle.stack([t.box for t in self.tracks]), boxes)
        pairs = []
        width = overlap.shape[1]
        while overlap.max() >= self.min_iou:
            best = int(overlap.argmax())
            row, col = best // width, best % width
            pairs.append((row, col))
            overlap[row, :] = -1.0
            overlap[:, col] = -1.0
        taken = {col for _, col in pairs}
        return pairs, [d for d in range(boxes.shape[0]) if d not in taken]

    def update(self, boxes):
        self.frame += 1
        for track in self.tracks:
            self.predict(track)
        pairs, fresh = self.match(boxes)
        matched = set()
        for row, col in pairs:
            self.correct(self.tracks[row], boxes[col])
            matched.add(self.tracks[row].ident)
        for track in self.tracks:
            if track.ident not in matched:
                track.misses += 1
        self.tracks = [t for t in self.tracks if t.misses <= self.max_misses]
        for d in fresh:
            mean = paddle.concat([boxes[d], paddle.zeros([4])])
            self.tracks.append(Track(self.next_id, mean, paddle.eye(8) * 10.0))
            self.next_id += 1
        return {
            t.ident: t.box
            for t in self.tracks
            if t.hits >= self.min_hits or self.frame <= self.min_hits
        }


@program
def sort_with_kalman_tracks(convert):
    """SORT: a tracker with a constant-velocity Kalman filter per track and greedy IoU matching."""

    tracker = Sort()
    update = convert(tracker.update)
    frames = [
        [[0, 0, 10, 10], [30, 30, 44, 44]],
        [[1, 0, 11, 10], [31, 31, 45, 45]],
        [[2, 1, 12, 11]],
        [[3, 1, 13, 11], [33, 33, 47, 47], [70, 5, 80, 15]],
        [[71, 5, 81, 15], [4, 2, 14, 12]],
        [],
        [[6, 3, 16, 13], [73, 6, 83, 16]],
    ]
    records = []
    for boxes in frames:
        seen = paddle.to_tensor(boxes, dtype="float32").reshape([-1, 4])
        records.append(update(seen))
        records.append([(t.ident, t.hits, t.misses) for t in tracker.tracks])
    records.append(tracker.next_id)
    records.append(tracker.tracks[0].cov.diagonal())
    yield from records


class Decay(Enum):
    LINEAR = "linear"
    GAUSSIAN = "gaussian"
    HARD = "hard"


@dataclass(frozen=True)
class NMSConfig:
    decay: Decay = Decay.GAUSSIAN
    sigma: float = 0.5
    iou: float = 0.4
    score: float = 0.15
    limit: int = 5

    def __post_init__(self):
        if not 0 < self.iou < 1:
            raise ValueError(f"iou must lie in (0, 1), got {self.iou}")


class Detections(NamedTuple):
    boxes: paddle.Tensor
    scores: paddle.Tensor
    labels: paddle.Tensor


def overlap(box, others):
    lt = paddle.maximum(box[:2], others[:, :2])
    rb = paddle.minimum(box[2:], others[:, 2:])
    wh = (rb - lt).clip(0)
    inter = wh[:, 0] * wh[:, 1]
    area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return inter / (area(box) + area(others) - inter)


def suppress(scores, iou, config):
    if config.decay is Decay.LINEAR:
        return paddle.where(iou > config.iou, scores * (1 - iou), scores)
    if config.decay is Decay.GAUSSIAN:
        return scores * paddle.exp(-(iou**2) / config.sigma)
    return paddle.where(iou > config.iou, paddle.zeros_like(scores), scores)


class PostProcessor:
    def __init__(self, config=NMSConfig(), names=None):
        self.config = config
        self.names = names or {}
        self.kept = 0

    def one_class(self, boxes, scores):
        keep, kept_scores = [], []
        scores = scores.clone()
        while len(keep) < self.config.limit:
            top = scores.argmax()
            score = scores[top]
            if score < self.config.score:
                break
            keep.append(top)
            kept_scores.append(score)
            iou = overlap(boxes[top], boxes)
            scores = suppress(scores, iou, self.config)
            scores[top] = 0.0
        if not keep:
            return None
        return paddle.stack(keep), paddle.stack(kept_scores)

    def __call__(self, raw):
        out = []
        for label in paddle.unique(raw.labels):
            index = paddle.nonzero(raw.labels == label).flatten()
            found = self.one_class(raw.boxes[index], raw.scores[index])
            if found is None:
                continue
            which, scores = found
            out.append(
                Detections(raw.boxes[index][which], scores, paddle.full_like(which, int(label)))
            )
        if not out:
            warnings.warn("nothing was detected")
            return Detections(paddle.zeros([0, 4]), paddle.zeros([0]), paddle.zeros([0], "int64"))
        self.kept += sum(len(d.scores) for d in out)
        return Detections(*(paddle.concat(parts) for parts in zip(*out)))


@program
def soft_nms_with_a_frozen_config(convert):
    """Soft-NMS per class, with a post-processor configured by a frozen dataclass."""

    boxes = paddle.to_tensor(
        [
            [0, 0, 10, 10],
            [1, 1, 11, 11],
            [0, 0, 9, 10],
            [40, 40, 60, 60],
            [42, 41, 61, 60],
            [5, 5, 8, 30],
        ],
        dtype="float32",
    )
    scores = paddle.to_tensor([0.9, 0.85, 0.5, 0.95, 0.3, 0.2])
    labels = paddle.to_tensor([1, 1, 0, 2, 2, 1])
    records = []
    post = PostProcessor(names={0: "cat", 1: "dog", 2: "car"})
    call = convert(post.__call__)
    for config in [
        post.config,
        replace(post.config, decay=Decay.LINEAR),
        replace(post.config, decay=Decay.HARD),
        replace(post.config, limit=1, score=0.6),
    ]:
        post.config = config
        found = call(Detections(boxes, scores, labels))
        records += [found._asdict(), type(found).__name__, post.kept]
        records.append([post.names[int(i)] for i in found.labels])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        empty = call(Detections(boxes[:3], scores[:3] * 0.1, labels[:3]))
    records.append(empty._asdict())
    records.append([str(w.message) for w in caught if "detected" in str(w.message)])
    try:
        replace(post.config, iou=1.5)
    except ValueError as error:
        records.append(str(error))
    yield from records


NOISE = -1


UNSEEN = -2


def dbscan(points, eps=0.5, min_points=3):
    """Labels [n] and the number of clusters."""
    n = points.shape[0]
    distance = paddle.cdist(points, points)
    near = distance <= eps
    counts = near.astype("int64").sum(axis=1)
    labels = paddle.full([n], UNSEEN, dtype="int64")
    cluster = 0
    for i in range(n):
        if labels[i] != UNSEEN:
            continue
        if counts[i] < min_points:
            labels[i] = NOISE
            continue
        labels[i] = cluster
        queue = deque(j for j in range(n) if near[i, j] and j != i)
        while queue:
            j = queue.popleft()
            if labels[j] == NOISE:
                labels[j] = cluster
            if labels[j] != UNSEEN:
                continue
            labels[j] = cluster
            if counts[j] >= min_points:
                queue.extend(k for k in range(n) if near[j, k])
        cluster += 1
    return labels, cluster


def frontier_dbscan(points, eps, min_points):
    """The same regions grown a whole frontier at a time."""
    near = paddle.cdist(points, points) <= eps
    core = near.sum(axis=1) >= min_points
    labels = paddle.full([points.shape[0]], NOISE, dtype="int64")
    current = 0
    while True:
        left = paddle.logical_and(core, labels == NOISE)
        if not left.any():
            break
        member = paddle.zeros_like(core)
        member[left.astype("int64").argmax()] = True
        size = 0
        while member.sum() > size:
            size = member.sum()
            reach = paddle.logical_and(near, (member & core).unsqueeze(0)).any(axis=1)
            member = member | reach
        labels = paddle.where(member & (labels == NOISE), paddle.full_like(labels, current), labels)
        current += 1
    return labels, current


def summarise(points, labels):
    groups = defaultdict(list)
    for point, label in zip(points, labels.tolist()):
        groups["noise" if label < 0 else f"c{label}"].append(point)
    return {
        name: {"size": len(members), "centre": paddle.stack(members).mean(axis=0)}
        for name, members in sorted(groups.items())
    }


@program
def dbscan_by_queue_and_by_frontier(convert):
    """DBSCAN with a work list, and a summary of each region."""

    paddle.seed(3)
    base = paddle.concat(
        [
            paddle.randn([7, 2]) * 0.2,
            paddle.randn([6, 2]) * 0.2 + 3.0,
            paddle.to_tensor([[10.0, 0.0]]),
        ]
    )
    ring = paddle.to_tensor([[float(i), 0.0] for i in range(6)])
    scan, grow, summary = convert(dbscan), convert(frontier_dbscan), convert(summarise)
    records = []
    for points, eps, least in [(base, 0.6, 3), (ring, 1.1, 2), (ring, 0.5, 2), (base[:7], 0.15, 2)]:
        labels, count = scan(points, eps=eps, min_points=least)
        records += [labels, count]
        grown, number = grow(points, eps, least)
        records += [grown, number]
        records.append(summary(points, labels))
    yield from records


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


class Polygon:
    """Vertices [n, 2], counter-clockwise."""

    def __init__(self, vertices):
        self.vertices = vertices

    def __len__(self):
        return self.vertices.shape[0]

    def edges(self):
        n = len(self)
        for i in range(n):
            yield self.vertices[i], self.vertices[(i + 1) % n]

    @property
    def area(self):
        total = paddle.zeros([])
        for a, b in self.edges():
            total = total + a[0] * b[1] - a[1] * b[0]
        return total / 2

    @classmethod
    def rectangle(cls, cx, cy, w, h, angle):
        c, s = paddle.cos(angle), paddle.sin(angle)
        corners = []
        for dx, dy in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]:
            x, y = dx * w, dy * h
            corners.append(paddle.stack([cx + c * x - s * y, cy + s * x + c * y]))
        return cls(paddle.stack(corners))

    def clip(self, other):
        """This polygon inside a convex one, or None."""
        output = [v for v in self.vertices]
        for a, b in other.edges():
            if not output:
                return None
            inputs, output = output, []
            previous = inputs[-1]
            was_inside = cross(a, b, previous) >= 0
            for point in inputs:
                inside = cross(a, b, point) >= 0
                if inside != was_inside:
                    d1, d2 = cross(a, b, previous), cross(a, b, point)
                    output.append(previous + (point - previous) * (d1 / (d1 - d2)))
                if inside:
                    output.append(point)
                previous, was_inside = point, inside
        return Polygon(paddle.stack(output)) if len(output) >= 3 else None


def rotated_iou(first, second):
    a, b = Polygon.rectangle(*first), Polygon.rectangle(*second)
    common = a.clip(b)
    if common is None:
        return paddle.zeros([])
    inter = common.area
    return inter / (a.area + b.area - inter)


def convex_hull(points):
    order = paddle.argsort(points[:, 0] * 1000 + points[:, 1])
    points = [points[i] for i in order]

    def half(sequence):
        chain = []
        for p in sequence:
            while len(chain) >= 2 and cross(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return Polygon(paddle.stack(half(points) + half(reversed(points))))


def contains(polygon, point):
    inside = False
    for a, b in polygon.edges():
        if (a[1] > point[1]) != (b[1] > point[1]):
            x = a[0] + (point[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0])
            if point[0] < x:
                inside = not inside
    return inside


@program
def hulls_and_rotated_overlap(convert):
    """Polygon geometry: convex hull (monotone chain), Sutherland-Hodgman clipping, areas and rotated IoU."""

    records = []
    iou, hull, inside = convert(rotated_iou), convert(convex_hull), convert(contains)
    box = lambda *v: paddle.to_tensor(v, dtype="float32")
    reference = box(0.0, 0.0, 4.0, 2.0, 0.0)
    for other in [
        box(0.0, 0.0, 4.0, 2.0, 0.0),
        box(1.0, 0.5, 3.0, 2.0, math.pi / 6),
        box(10.0, 0.0, 1.0, 1.0, 0.3),
        box(0.0, 0.0, 1.0, 6.0, 0.4),
    ]:
        other.stop_gradient = False
        value = iou(reference, other)
        records.append(value)
        if not value.stop_gradient:
            value.backward()
            records.append(other.grad)
    paddle.seed(15)
    for n in (5, 9):
        shape = hull(paddle.randn([n, 2]))
        records += [shape.vertices, len(shape), shape.area]
    square = Polygon.rectangle(*reference)
    for point in [[0.0, 0.0], [3.0, 0.0], [1.9, 0.9]]:
        records.append(bool(inside(square, paddle.to_tensor(point))))
    yield from records


class Registry(dict):
    def register(self, name=None, **defaults):
        def wrap(fn):
            key = name or fn.__name__
            if key in self:
                raise KeyError(f"{key} is registered twice")
            accepted = [p for p in inspect.signature(fn).parameters][1:]
            self[key] = (fn, defaults, accepted)
            return fn

        return wrap

    def build(self, spec):
        spec = dict(spec)
        kind = spec.pop("type")
        if kind not in self:
            raise LookupError(f"no transform {kind!r}; have {', '.join(sorted(self))}")
        fn, defaults, accepted = self[kind]
        unknown = set(spec) - set(accepted)
        if unknown:
            raise TypeError(f"{kind} takes no {sorted(unknown)}")
        return functools.partial(fn, **{**defaults, **spec})


TRANSFORMS = Registry()


@TRANSFORMS.register()
def flip(image, axis=-1):
    return paddle.flip(image, [axis])


@TRANSFORMS.register("normalise", mean=0.5, std=0.25)
def _normalise(image, mean, std):
    return (image - mean) / std


@TRANSFORMS.register()
def auto_contrast(image, cutoff=0.0):
    low, high = image.min(axis=[-2, -1], keepdim=True), image.max(axis=[-2, -1], keepdim=True)
    if ((high - low) <= cutoff).any():
        return image
    return (image - low) / (high - low)


@TRANSFORMS.register()
def crop_to_content(image, threshold=0.1, pad=0):
    used = (image > threshold).any(axis=0)
    rows = paddle.nonzero(used.any(axis=1)).flatten()
    cols = paddle.nonzero(used.any(axis=0)).flatten()
    if rows.shape[0] == 0:
        return image
    r0, r1, c0, c1 = rows[0], rows[-1] + 1, cols[0], cols[-1] + 1
    image = image[:, r0:r1, c0:c1]
    return F.pad(image.unsqueeze(0), [pad] * 4).squeeze(0) if pad else image


@TRANSFORMS.register()
def posterise(image, bits=3):
    levels = 2**bits - 1
    return paddle.round(image.clip(0, 1) * levels) / levels


@TRANSFORMS.register()
def cutout(image, at=(0, 0), size=2, fill="mean"):
    image = image.clone()
    value = image.mean() if fill == "mean" else float(fill)
    r, c = at
    image[:, r : r + size, c : c + size] = value
    return image


class Compose:
    def __init__(self, specs):
        self.steps = []
        for spec in specs:
            spec = dict(spec)
            chance = spec.pop("p", 1.0)
            self.steps.append((spec["type"], chance, TRANSFORMS.build(spec)))
        self.applied = {}

    def __call__(self, image, draws=None):
        trail = []
        for i, (name, chance, step) in enumerate(self.steps):
            if draws is not None and draws[i] >= chance:
                continue
            before = image
            image = step(image)
            changed = before.shape != image.shape or not paddle.allclose(before, image)
            trail.append(f"{name}{'' if changed else ' (no change)'}")
            self.applied[name] = self.applied.get(name, 0) + 1
        return image, trail


@program
def augmentations_from_a_registry_of_specs(convert):
    """Image augmentations in a registry, built from config dicts, composed with probabilities and checked by signature."""

    paddle.seed(19)
    pipeline = Compose(
        [
            {"type": "flip", "p": 0.5},
            {"type": "crop_to_content", "pad": 1},
            {"type": "auto_contrast"},
            {"type": "posterise", "bits": 2, "p": 0.3},
            {"type": "cutout", "at": (1, 1), "fill": "0.25"},
            {"type": "normalise", "std": 0.5},
        ]
    )
    apply = convert(pipeline.__call__)
    image = paddle.zeros([2, 6, 5])
    image[:, 1:4, 2:4] = paddle.rand([2, 3, 2]) + 0.2
    records = []
    for picture, draws in [
        (image, [0.2] * 6),
        (image, [0.9, 0.1, 0.1, 0.9, 0.1, 0.1]),
        (paddle.zeros([1, 4, 4]), None),
    ]:
        out, trail = apply(picture, None if draws is None else paddle.to_tensor(draws))
        records += [out, trail, dict(pipeline.applied)]
    for spec in [{"type": "rotate"}, {"type": "flip", "angle": 3}]:
        try:
            Compose([spec])
        except (LookupError, TypeError) as error:
            records.append(f"{type(error).__name__}: {error}")
    records.append(convert(cutout)(image, at=(0, 2), size=3))
    yield from records
