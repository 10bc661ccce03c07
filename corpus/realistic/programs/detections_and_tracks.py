"""What stands behind a detector: suppression, matching, tracks, components, contours."""

import enum
import itertools
import math
from dataclasses import dataclass, field

import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


class Method(enum.Enum):
    HARD = "hard"
    LINEAR = "linear"
    GAUSSIAN = "gaussian"


def iou_with(box, boxes):
    x1 = paddle.maximum(box[0], boxes[:, 0])
    y1 = paddle.maximum(box[1], boxes[:, 1])
    x2 = paddle.minimum(box[2], boxes[:, 2])
    y2 = paddle.minimum(box[3], boxes[:, 3])
    inter = (x2 - x1).clip(min=0) * (y2 - y1).clip(min=0)
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return inter / (area + areas - inter + 1e-9)


def decay(iou, method, threshold, sigma):
    match method:
        case Method.HARD:
            return (iou <= threshold).astype("float32")
        case Method.LINEAR:
            return paddle.where(iou > threshold, 1.0 - iou, paddle.ones_like(iou))
        case Method.GAUSSIAN:
            return paddle.exp(-(iou * iou) / sigma)
        case _:
            raise ValueError(f"unknown method {method!r}")


def soft_nms(boxes, scores, method="gaussian", threshold=0.3, sigma=0.5, score_threshold=0.1):
    method = Method(method)
    scores = scores.clone()
    remaining = paddle.arange(boxes.shape[0])
    keep, kept_scores = [], []
    while remaining.shape[0] > 0:
        best = scores[remaining].argmax()
        index = remaining[best]
        score = scores[index]
        if score < score_threshold:
            break
        keep.append(index)
        kept_scores.append(score)
        mask = paddle.ones([remaining.shape[0]], dtype="bool")
        mask[best] = False
        remaining = remaining[mask]
        if remaining.shape[0] == 0:
            break
        overlap = iou_with(boxes[index], boxes[remaining])
        scores[remaining] = scores[remaining] * decay(overlap, method, threshold, sigma)
    if not keep:
        print("nothing above", score_threshold)
        return paddle.zeros([0], dtype="int64"), paddle.zeros([0])
    return paddle.stack(keep), paddle.stack(kept_scores)


@program
def soft_nms_of_three_methods(convert):
    """Soft-NMS (linear, gaussian, hard) that picks the method by an enum."""
    function = convert(soft_nms)

    def calls():
        boxes = paddle.to_tensor(
            [[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 9], [21, 19, 31, 29]]
        )
        scores = paddle.to_tensor([0.9, 0.8, 0.7, 0.6, 0.5])
        return [(boxes, scores), (boxes[:3], scores[:3], "linear"), (boxes, scores * 0.1, "hard")]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


@dataclass
class MatcherConfig:
    high: float = 0.5
    low: float = 0.3
    allow_low_quality: bool = True
    neg_ratio: int = 3
    variances: tuple = field(default=(0.1, 0.2))


def to_corners(b):
    return paddle.concat([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], axis=1)


def pairwise_iou(a, b):
    lt = paddle.maximum(a[:, None, :2], b[None, :, :2])
    rb = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clip(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_a = ((a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]))[:, None]
    area_b = ((b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]))[None]
    return inter / (area_a + area_b - inter)


class Matcher:
    BELOW, BETWEEN = -1, -2

    def __init__(self, cfg):
        self.cfg = cfg

    def __call__(self, iou):
        best, matches = iou.max(axis=0), iou.argmax(axis=0)
        everything = matches.clone()
        matches[best < self.cfg.low] = self.BELOW
        between = (best >= self.cfg.low) & (best < self.cfg.high)
        matches[between] = self.BETWEEN
        if self.cfg.allow_low_quality:
            for gt in range(iou.shape[0]):
                row = iou[gt]
                top = row.max()
                if top > 0:
                    rescued = row >= top - 1e-6
                    matches = paddle.where(rescued, everything, matches)
        return matches


def encode(gt, anchors, variances):
    xy = (gt[:, :2] - anchors[:, :2]) / (anchors[:, 2:] * variances[0])
    wh = paddle.log(gt[:, 2:] / anchors[:, 2:]) / variances[1]
    return paddle.concat([xy, wh], axis=1)


class DetectionLoss:
    def __init__(self, cfg):
        self.cfg = cfg
        self.matcher = Matcher(cfg)
        self.seen = 0

    def __call__(self, anchors, deltas, logits, gt):
        if gt.shape[0] == 0:
            return F.softplus(logits).sum()
        matches = self.matcher(pairwise_iou(to_corners(gt), to_corners(anchors)))
        positive = matches >= 0
        n_pos = int(positive.sum())
        self.seen += n_pos
        if n_pos == 0:
            return logits.sum() * 0
        target = encode(gt[matches[positive]], anchors[positive], self.cfg.variances)
        box_loss = F.smooth_l1_loss(deltas[positive], target, reduction="sum")
        ce = F.binary_cross_entropy_with_logits(
            logits, positive.astype("float32"), reduction="none"
        )
        negatives = ce[matches == Matcher.BELOW]
        n_neg = min(self.cfg.neg_ratio * n_pos, negatives.shape[0])
        hard = paddle.topk(negatives, n_neg)[0].sum() if n_neg > 0 else 0.0
        return (box_loss + ce[positive].sum() + hard) / n_pos


@program
def anchors_matched_and_mined(convert):
    """Anchors against ground truth: matching, box encoding, and hard negative mining for a detection loss."""
    loss = DetectionLoss(MatcherConfig(neg_ratio=2))

    def compute(anchors, deltas, logits, gt):
        value = loss(anchors, deltas, logits, gt)
        value.backward()
        return value, loss.seen

    function = convert(compute)

    def calls():
        paddle.seed(4)
        anchors = paddle.to_tensor(
            [
                [0.2, 0.2, 0.2, 0.2],
                [0.25, 0.2, 0.2, 0.25],
                [0.7, 0.7, 0.3, 0.3],
                [0.5, 0.5, 0.4, 0.4],
                [0.8, 0.1, 0.1, 0.1],
            ]
        )

        def call(gt):
            deltas, logits = paddle.randn([5, 4]), paddle.randn([5])
            deltas.stop_gradient = logits.stop_gradient = False
            return anchors, deltas, logits, gt

        return [
            call(paddle.to_tensor([[0.22, 0.2, 0.2, 0.2]])),
            call(paddle.to_tensor([[0.7, 0.65, 0.3, 0.3], [0.3, 0.3, 0.1, 0.1]])),
            call(paddle.zeros([0, 4])),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class State(enum.Enum):
    TENTATIVE = 1
    CONFIRMED = 2
    LOST = 3


class KalmanFilter:
    """Constant velocity in one plane."""

    def __init__(self, dt=1.0, q=0.01, r=0.1):
        self.F = paddle.eye(4)
        self.F[0, 2] = dt
        self.F[1, 3] = dt
        self.H = paddle.eye(2, 4)
        self.Q = paddle.eye(4) * q
        self.R = paddle.eye(2) * r

    def initiate(self, z):
        return paddle.concat([z, paddle.zeros([2])]), paddle.eye(4)

    def predict(self, mean, cov):
        return self.F @ mean, self.F @ cov @ self.F.T + self.Q

    def update(self, mean, cov, z):
        innovation = z - self.H @ mean
        S = self.H @ cov @ self.H.T + self.R
        gain = cov @ self.H.T @ paddle.linalg.inv(S)
        return mean + gain @ innovation, (paddle.eye(4) - gain @ self.H) @ cov


class Track:
    def __init__(self, ident, mean, cov):
        self.ident = ident
        self.mean, self.cov = mean, cov
        self.hits, self.misses = 1, 0
        self.state = State.TENTATIVE

    @property
    def position(self):
        return self.mean[:2]

    def hit(self, n_init):
        self.hits += 1
        self.misses = 0
        if self.state is State.TENTATIVE and self.hits >= n_init:
            self.state = State.CONFIRMED

    def miss(self, max_age):
        self.misses += 1
        if self.state is State.TENTATIVE or self.misses > max_age:
            self.state = State.LOST

    def __repr__(self):
        return f"Track({self.ident}, {self.state.name.lower()}, hits={self.hits})"


class Tracker:
    def __init__(self, gate=2.0, n_init=2, max_age=1):
        self.kf = KalmanFilter()
        self.gate, self.n_init, self.max_age = gate, n_init, max_age
        self.tracks = []
        self.counter = itertools.count(1)

    def update(self, detections):
        for t in self.tracks:
            t.mean, t.cov = self.kf.predict(t.mean, t.cov)
        free = list(range(detections.shape[0]))
        for t in self.tracks:
            if not free:
                t.miss(self.max_age)
                continue
            distances = paddle.stack([(detections[i] - t.position).norm() for i in free])
            j = int(distances.argmin())
            if distances[j] <= self.gate:
                t.mean, t.cov = self.kf.update(t.mean, t.cov, detections[free.pop(j)])
                t.hit(self.n_init)
            else:
                t.miss(self.max_age)
        for i in free:
            self.tracks.append(Track(next(self.counter), *self.kf.initiate(detections[i])))
        self.tracks = [t for t in self.tracks if t.state is not State.LOST]
        for t in self.tracks:
            print(t)
        confirmed = [t for t in self.tracks if t.state is State.CONFIRMED]
        if confirmed:
            return paddle.stack([t.position for t in confirmed]), [t.ident for t in confirmed]
        return None, []


@program
def tracks_with_kalman_filters(convert):
    """A multi-object tracker: a Kalman filter per track, greedy assignment, and track states."""
    tracker = Tracker()

    def frames(video):
        out = []
        for detections in video:
            out.append(tracker.update(detections))
        return out[-1]

    function = convert(frames)

    def calls():
        a = [[[0.0, 0.0], [5.0, 5.0]], [[0.5, 0.1], [5.0, 4.5]], [[1.1, 0.2], [9.0, 9.0]]]
        b = [[[1.6, 0.3]], [[2.1, 0.4]]]
        c = [[[2.5, 0.5], [9.0, 9.0]], [[3.0, 0.6], [9.1, 9.1]]]
        return [(paddle.to_tensor(a),), (paddle.to_tensor(b),), (paddle.to_tensor(c),)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class UnionFind:
    def __init__(self):
        self.parent = [0]

    def make(self):
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, a):
        while self.parent[a] != a:
            self.parent[a] = self.parent[self.parent[a]]
            a = self.parent[a]
        return a

    def union(self, a, b):
        ra, rb = self.find(a), self.find(b)
        if ra != rb:
            self.parent[max(ra, rb)] = min(ra, rb)


def label(image, threshold=0.5, min_area=1):
    binary = image > threshold
    height, width = binary.shape
    labels = paddle.zeros([height, width], dtype="int64")
    sets = UnionFind()
    for r in range(height):
        for c in range(width):
            if not binary[r, c]:
                continue
            up = int(labels[r - 1, c]) if r > 0 else 0
            left = int(labels[r, c - 1]) if c > 0 else 0
            if up and left:
                labels[r, c] = min(up, left)
                sets.union(up, left)
            elif up or left:
                labels[r, c] = up or left
            else:
                labels[r, c] = sets.make()
    remap, stats = {}, []
    for old in range(1, len(sets.parent)):
        root = sets.find(old)
        if root not in remap:
            remap[root] = len(remap) + 1
    out = paddle.zeros_like(labels)
    for old in range(1, len(sets.parent)):
        out[labels == old] = remap[sets.find(old)]
    for k in range(1, len(remap) + 1):
        rows, cols = paddle.nonzero(out == k, as_tuple=True)
        area = rows.shape[0]
        if area < min_area:
            out[out == k] = 0
            continue
        stats.append(
            {
                "label": k,
                "area": area,
                "bbox": (int(rows.min()), int(cols.min()), int(rows.max()), int(cols.max())),
                "centroid": paddle.stack(
                    [rows.astype("float32").mean(), cols.astype("float32").mean()]
                ),
            }
        )
    return out, stats


@program
def two_pass_components(convert):
    """Two-pass connected component labelling with union-find, and the statistics of each component."""
    function = convert(label)

    def calls():
        a = paddle.to_tensor([[1.0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
        b = paddle.to_tensor([[0.9, 0.1, 0.8], [0.2, 0.1, 0.7], [0.6, 0.0, 0.1]])
        c = paddle.zeros([2, 3])
        return [(a,), (b, 0.5, 2), (c,)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


NEIGHBOURS = [(0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1)]


class NoContour(Exception):
    pass


def first_pixel(image):
    points = paddle.nonzero(image)
    if points.shape[0] == 0:
        raise NoContour("image is empty")
    return int(points[0, 0]), int(points[0, 1])


def inside(image, r, c):
    return 0 <= r < image.shape[0] and 0 <= c < image.shape[1] and bool(image[r, c])


def follow(image, limit=100):
    start = first_pixel(image)
    contour = [start]
    current, direction = start, 0
    while True:
        for step in range(8):
            d = (direction + step) % 8
            r, c = current[0] + NEIGHBOURS[d][0], current[1] + NEIGHBOURS[d][1]
            if inside(image, r, c):
                current = (r, c)
                direction = (d + 5) % 8
                break
        else:
            return contour
        if current == start or len(contour) >= limit:
            return contour
        contour.append(current)


def shoelace(contour):
    pts = paddle.to_tensor(contour, dtype="float32")
    nxt = paddle.roll(pts, -1, axis=0)
    return (pts[:, 0] * nxt[:, 1] - nxt[:, 0] * pts[:, 1]).sum().abs() / 2


def simplify(points, eps):
    if len(points) < 3:
        return points
    (r0, c0), (r1, c1) = points[0], points[-1]
    length = math.hypot(r1 - r0, c1 - c0)
    worst, index = 0.0, 0
    for i in range(1, len(points) - 1):
        r, c = points[i]
        if length == 0:
            d = math.hypot(r - r0, c - c0)
        else:
            d = abs((r1 - r0) * (c0 - c) - (r0 - r) * (c1 - c0)) / length
        if d > worst:
            worst, index = d, i
    if worst > eps:
        return simplify(points[: index + 1], eps)[:-1] + simplify(points[index:], eps)
    return [points[0], points[-1]]


def outline(image, eps=0.8):
    try:
        contour = follow(image > 0)
    except NoContour as e:
        print("no contour:", e)
        return [], paddle.zeros([])
    return simplify(contour, eps), shoelace(contour)


@program
def contours_followed_and_simplified(convert):
    """Moore-neighbour contour following, area by the shoelace formula, and Douglas-Peucker."""
    function = convert(outline)

    def calls():
        square = paddle.zeros([6, 6])
        square[1:5, 1:5] = 1
        ell = paddle.zeros([5, 4])
        ell[0:4, 1] = 1
        ell[3, 1:4] = 1
        return [(square,), (ell, 0.5), (paddle.zeros([3, 3]),)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))
