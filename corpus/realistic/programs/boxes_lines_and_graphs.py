"""Suppression, components, lines, tracks, shortest paths, hulls."""

import heapq
import math
from dataclasses import dataclass
from itertools import count
from typing import Dict, List, Optional, Tuple

import paddle

from corpus.realistic import attempt, program


def iou(box, others):
    top_left = paddle.maximum(box[:2], others[:, :2])
    bottom_right = paddle.minimum(box[2:], others[:, 2:])
    wh = (bottom_right - top_left).clip(min=0)
    inter = wh[:, 0] * wh[:, 1]
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    return inter / (area + areas - inter)


def soft_nms(boxes, scores, labels, sigma=0.5, threshold=0.2, max_det=10):
    detections = []
    for label in paddle.unique(labels):
        index = paddle.nonzero(labels == label).flatten()
        cls_boxes, cls_scores = boxes[index], scores[index].clone()
        while cls_scores.max() > threshold:
            best = cls_scores.argmax()
            detections.append(
                paddle.concat(
                    [
                        cls_boxes[best],
                        cls_scores[best].reshape([1]),
                        label.astype("float32").reshape([1]),
                    ]
                )
            )
            overlap = iou(cls_boxes[best], cls_boxes)
            cls_scores = cls_scores * paddle.exp(-(overlap**2) / sigma)
            cls_scores[best] = 0.0
    if not detections:
        return paddle.zeros([0, 6])
    result = paddle.stack(detections)
    order = result[:, 4].argsort(descending=True)[:max_det]
    return result[order]


@program
def soft_nms_per_class(convert):
    """Per-class soft-NMS: scores of overlapping boxes decay, boxes below a threshold go."""

    run = convert(soft_nms)
    boxes = paddle.to_tensor(
        [[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 10], [21, 19, 31, 30]]
    )
    scores = paddle.to_tensor([0.9, 0.8, 0.7, 0.6, 0.95])
    yield run(boxes, scores, paddle.to_tensor([0, 0, 1, 0, 1]))
    yield run(boxes, scores, paddle.to_tensor([2, 2, 2, 2, 2]), max_det=3)
    yield run(boxes, scores * 0.1, paddle.to_tensor([0, 1, 0, 1, 0]))


class UnionFind:
    def __init__(self):
        self.parent: List[int] = []

    def make(self) -> int:
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, x: int) -> int:
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[max(a, b)] = min(a, b)


def components(image: paddle.Tensor, min_size: int = 1):
    height, width = image.shape
    labels = [[-1] * width for _ in range(height)]
    sets = UnionFind()
    for y in range(height):
        for x in range(width):
            if not image[y, x]:
                continue
            up = labels[y - 1][x] if y else -1
            left = labels[y][x - 1] if x else -1
            if up < 0 and left < 0:
                labels[y][x] = sets.make()
            elif up >= 0 and left >= 0:
                labels[y][x] = min(up, left)
                sets.union(up, left)
            else:
                labels[y][x] = max(up, left)
    regions: Dict[int, List] = {}
    for y, row in enumerate(labels):
        for x, label in enumerate(row):
            if label >= 0:
                regions.setdefault(sets.find(label), []).append((y, x))
    return [
        (len(points), sum(p[0] for p in points) / len(points))
        for points in regions.values()
        if len(points) >= min_size
    ]


@program
def connected_components(convert):
    """Two-pass connected components of a binary image with a union-find, then the size and centre of each."""

    run = convert(components)
    yield run(paddle.to_tensor([[1, 0, 1], [1, 0, 1], [1, 1, 1]], dtype="bool"))
    yield run(paddle.to_tensor([[1, 0, 0], [0, 1, 1], [1, 0, 1]], dtype="bool"), min_size=2)
    yield run(paddle.zeros([3, 3], dtype="bool"))


def hough(edges, n_theta=12, min_votes=3, max_lines=4, radius=1):
    h, w = edges.shape
    diag = int(math.ceil(math.hypot(h, w)))
    thetas = paddle.arange(n_theta, dtype="float32") * (math.pi / n_theta)
    cos, sin = paddle.cos(thetas), paddle.sin(thetas)
    accumulator = paddle.zeros([2 * diag + 1, n_theta], dtype="int64")
    ys, xs = paddle.nonzero(edges, as_tuple=True)
    columns = paddle.arange(n_theta)
    for y, x in zip(ys.flatten(), xs.flatten()):
        rho = (
            paddle.round(x.astype("float32") * cos + y.astype("float32") * sin).astype("int64")
            + diag
        )
        accumulator[rho, columns] += 1
    lines = []
    while len(lines) < max_lines:
        peak = int(accumulator.argmax())
        r, t = divmod(peak, n_theta)
        votes = accumulator[r, t].item()
        if votes < min_votes:
            break
        lines.append({"rho": r - diag, "theta": round(float(thetas[t]), 4), "votes": votes})
        accumulator[max(0, r - radius) : r + radius + 1, max(0, t - radius) : t + radius + 1] = 0
    return lines, accumulator.sum()


@program
def hough_lines(convert):
    """Hough transform: vote for lines, take peaks one after the other and suppress their neighbourhood."""

    run = convert(hough)
    image = paddle.zeros([6, 6])
    image[2, :] = 1.0
    yield run(image)
    image[:, 4] = 1.0
    yield run(image, min_votes=5)
    yield run(paddle.zeros([6, 6]))


@dataclass
class Track:
    id: int
    box: paddle.Tensor
    misses: int = 0
    hits: int = 1


def pair_iou(a, b):
    lt = paddle.maximum(a[:2], b[:2])
    rb = paddle.minimum(a[2:], b[2:])
    wh = paddle.clip(rb - lt, min=0)
    inter = wh.prod()
    return inter / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - inter)


class Tracker:
    def __init__(self, threshold=0.3, patience=1, momentum=0.5):
        self.threshold, self.patience, self.momentum = threshold, patience, momentum
        self.tracks: List[Track] = []
        self.ids = count()

    def update(self, detections):
        unmatched = list(range(len(detections)))
        pairs = []
        for track in self.tracks:
            for d in unmatched:
                overlap = pair_iou(track.box, detections[d])
                if overlap > self.threshold:
                    pairs.append((overlap.item(), track.id, d))
        matched = {}
        for overlap, track_id, d in sorted(pairs, reverse=True):
            if track_id not in matched and d in unmatched:
                matched[track_id] = d
                unmatched.remove(d)
        for track in self.tracks:
            if track.id in matched:
                track.box = (
                    self.momentum * track.box + (1 - self.momentum) * detections[matched[track.id]]
                )
                track.hits += 1
                track.misses = 0
            else:
                track.misses += 1
        self.tracks = [t for t in self.tracks if t.misses <= self.patience]
        for d in unmatched:
            self.tracks.append(Track(next(self.ids), detections[d]))
        return [(t.id, t.hits, t.misses) for t in self.tracks]


@program
def iou_tracker(convert):
    """A tracker by IoU: greedy matching of detections to tracks, births and deaths of tracks."""

    tracker = Tracker()
    update = convert(tracker.update)
    first = paddle.to_tensor([[0.0, 0, 4, 4], [10, 10, 14, 14]])
    yield update(first)
    yield update(first + 0.5)
    yield update(paddle.to_tensor([[1.0, 1, 5, 5], [30, 30, 33, 33]]))
    yield (
        update(paddle.to_tensor([[1.0, 1, 5, 5], [30, 30, 33, 33]])),
        [t.box for t in tracker.tracks],
    )


class Unreachable(Exception):
    def __init__(self, node):
        super().__init__(f"node {node} cannot be reached")
        self.node = node


def shortest_path(
    weights: paddle.Tensor, source: int, target: Optional[int] = None
) -> Tuple[paddle.Tensor, List[int]]:
    n = weights.shape[0]
    distance = [float("inf")] * n
    previous: List[Optional[int]] = [None] * n
    distance[source] = 0.0
    heap = [(0.0, source)]
    done = set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in done:
            continue
        done.add(u)
        if u == target:
            break
        for v in range(n):
            w = weights[u, v]
            if v in done or paddle.isinf(w):
                continue
            candidate = d + w.item()
            if candidate < distance[v]:
                distance[v] = candidate
                previous[v] = u
                heapq.heappush(heap, (candidate, v))
    path = []
    if target is not None:
        if target not in done:
            raise Unreachable(target)
        node = target
        while node is not None:
            path.append(node)
            node = previous[node]
        path.reverse()
    return paddle.to_tensor(distance), path


@program
def dijkstra(convert):
    """Dijkstra with a heap on a weight matrix; infinite entries are missing edges."""

    run = convert(shortest_path)
    inf = float("inf")
    graph = paddle.to_tensor(
        [[0.0, 4, 1, inf], [inf, 0, inf, 1], [inf, 2, 0, 5], [inf, inf, inf, 0]]
    )
    yield run(graph, 0, 3)
    yield run(graph, 2)
    yield attempt(lambda: run(graph, 3, 0))


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def half_hull(points):
    chain = []
    for p in points:
        while len(chain) >= 2 and cross(chain[-2], chain[-1], p) <= 0:
            chain.pop()
        chain.append(p)
    return chain[:-1]


def convex_hull(points: paddle.Tensor):
    order = sorted(range(points.shape[0]), key=lambda i: (float(points[i, 0]), float(points[i, 1])))
    ordered = [points[i] for i in order]
    hull = half_hull(ordered) + half_hull(ordered[::-1])
    area = paddle.zeros([])
    perimeter = paddle.zeros([])
    for p, q in zip(hull, hull[1:] + hull[:1]):
        area = area + (p[0] * q[1] - p[1] * q[0]) / 2
        perimeter = perimeter + (q - p).norm()
    return paddle.stack(hull), area, perimeter


@program
def convex_hull_of_points(convert):
    """Andrew's monotone chain on points in a tensor, the area and perimeter of the hull."""

    run = convert(convex_hull)
    yield run(paddle.to_tensor([[0.0, 0], [2, 0], [1, 1], [2, 2], [0, 2]]))
    points = paddle.to_tensor([[0.0, 0], [1, 3], [4, 1], [2, 1.2], [3, 3]], stop_gradient=False)
    hull, area, perimeter = run(points)
    (area + perimeter).backward()
    yield hull, area, points
    yield run(paddle.to_tensor([[0.0, 0], [1, 1], [2, 2], [2, 0]]))
