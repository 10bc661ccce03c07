"""After the network of a vision model: suppression, tracks, polygons, panoptic maps, keypoints, grids."""

import abc
import dataclasses
import itertools
from collections import namedtuple
from typing import ClassVar

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def rand(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).rand(*shape).astype("float32"))


@program
def suppression_that_adapts_to_density(convert):
    """Adaptive NMS: the threshold of each box is the density of its surroundings; DIoU and hard modes; batches of classes."""

    def iou_with(box, boxes, diou=False):
        lt = paddle.maximum(box[:2], boxes[:, :2])
        rb = paddle.minimum(box[2:], boxes[:, 2:])
        inter = (rb - lt).clip(0).prod(-1)
        area = lambda b: (b[..., 2:] - b[..., :2]).prod(-1)
        iou = inter / (area(box) + area(boxes) - inter)
        if diou:
            c = lambda b: (b[..., :2] + b[..., 2:]) / 2
            hull = paddle.maximum(box[2:], boxes[:, 2:]) - paddle.minimum(box[:2], boxes[:, :2])
            iou = iou - (c(box) - c(boxes)).square().sum(-1) / hull.square().sum(-1)
        return iou

    class Suppressor:
        MODES: ClassVar[dict] = {"hard": 0, "adaptive": 1, "diou": 2}

        def __init__(self, mode="hard", thr=0.4, keep=10):
            if mode not in self.MODES:
                raise KeyError(mode)
            self.mode, self.thr, self.keep = mode, thr, keep
            self.dropped = 0

        def one_class(self, boxes, scores, density):
            picked = []
            alive = scores > 0.05
            while alive.any() and len(picked) < self.keep:
                masked = paddle.where(alive, scores, paddle.full_like(scores, -1))
                i = masked.argmax()
                picked.append(i)
                thr = self.thr
                if self.mode == "adaptive":
                    thr = paddle.maximum(density[i], paddle.to_tensor(self.thr))
                overlap = iou_with(boxes[i], boxes, self.mode == "diou")
                before = alive.sum()
                alive = paddle.logical_and(alive, overlap <= thr)
                alive[i] = False
                self.dropped += int(before - alive.sum() - 1)
            return paddle.stack(picked) if picked else paddle.zeros([0], "int64")

        def __call__(self, boxes, scores, density):
            rows = []
            for c in range(scores.shape[1]):
                keep = self.one_class(boxes, scores[:, c], density)
                if keep.shape[0] == 0:
                    continue
                rows.append(
                    paddle.concat(
                        [
                            paddle.full([keep.shape[0], 1], float(c)),
                            scores[:, c][keep].unsqueeze(1),
                            boxes[keep],
                        ],
                        1,
                    )
                )
            if not rows:
                return paddle.empty([0, 6])
            out = paddle.concat(rows)
            return out[out[:, 1].argsort(descending=True)][: self.keep]

    for mode in ("hard", "adaptive", "diou", "soft"):
        s = attempt(lambda: Suppressor(mode))
        if not isinstance(s, Suppressor):
            yield s
            continue
        nms = convert(s.__call__)
        for n, seed in ((8, 1), (12, 2), (3, 3)):
            xy = rand(n, 2, seed=seed) * 6
            boxes = paddle.concat([xy, xy + 2 + rand(n, 2, seed=seed + 9) * 3], 1)
            scores = rand(n, 2, seed=seed + 20)
            yield attempt(lambda: nms(boxes, scores, rand(n, seed=seed + 30) * 0.8)), s.dropped
        yield nms(boxes, scores * 0.01, scores[:, 0]), s.dropped


@program
def tracks_confirmed_by_hits(convert):
    """SORT with constant-velocity Kalman boxes: tentative, confirmed, lost; greedy matching with gates; ids by count."""

    class State:
        TENTATIVE, CONFIRMED, LOST = "tentative", "confirmed", "lost"

    class KalmanTrack:
        _ids = itertools.count(1)
        Fm = paddle.to_tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]])
        H = paddle.eye(2, 4)

        def __init__(self, z):
            self.id = next(type(self)._ids)
            self.x = paddle.concat([z, paddle.zeros([2])])
            self.P = paddle.eye(4) * 2.0
            self.hits, self.misses = 1, 0
            self.state = State.TENTATIVE
            self.trail = [z]

        def predict(self):
            self.x = self.Fm @ self.x
            self.P = self.Fm @ self.P @ self.Fm.t() + 0.05 * paddle.eye(4)
            return self.x[:2]

        def gate(self, z):
            S = self.H @ self.P @ self.H.t() + 0.1 * paddle.eye(2)
            r = z - self.x[:2]
            return r @ paddle.linalg.solve(S, r.unsqueeze(1)).squeeze(1)

        def update(self, z):
            S = self.H @ self.P @ self.H.t() + 0.1 * paddle.eye(2)
            K = self.P @ self.H.t() @ paddle.linalg.inv(S)
            self.x = self.x + K @ (z - self.H @ self.x)
            self.P = (paddle.eye(4) - K @ self.H) @ self.P
            self.hits += 1
            self.misses = 0
            self.trail.append(self.x[:2])
            if self.hits >= 3:
                self.state = State.CONFIRMED

        def miss(self):
            self.misses += 1
            if self.state == State.TENTATIVE or self.misses > 2:
                self.state = State.LOST

    class Sort:
        def __init__(self, gate=9.0):
            self.gate, self.tracks, self.lost = gate, [], []

        def step(self, detections):
            for t in self.tracks:
                t.predict()
            free = list(range(detections.shape[0]))
            pairs = sorted(
                (
                    (float(t.gate(detections[j])), i, j)
                    for i, t in enumerate(self.tracks)
                    for j in free
                )
            )
            used = set()
            for d, i, j in pairs:
                if d > self.gate:
                    break
                if i in used or j not in free:
                    continue
                self.tracks[i].update(detections[j])
                used.add(i)
                free.remove(j)
            for i, t in enumerate(self.tracks):
                if i not in used:
                    t.miss()
            self.lost += [t for t in self.tracks if t.state == State.LOST]
            self.tracks = [t for t in self.tracks if t.state != State.LOST]
            self.tracks.extend(KalmanTrack(detections[j]) for j in free)
            return {t.id: t.x for t in self.tracks if t.state == State.CONFIRMED}

    sort = Sort()
    step = convert(sort.step)
    a, b = np.array([0.0, 0.0]), np.array([6.0, 5.0])
    for k in range(7):
        rows = [a + 0.5 * k]
        if k != 3:
            rows.append(b - [0.4 * k, 0.0])
        if k == 2:
            rows.append(np.array([20.0, 20.0]))
        if k > 5:
            rows = rows[1:]
        yield attempt(lambda: step(paddle.to_tensor(np.array(rows, "float32"))))
        yield [(t.id, t.state, t.hits, t.misses) for t in sort.tracks], len(sort.lost)
    yield attempt(lambda: step(paddle.zeros([0, 2]))), [t.trail for t in sort.lost]


@program
def scanlines_of_polygons(convert):
    """Polygons filled by even-odd rules into masks, their run lengths, areas, boxes and the intersection table."""

    Ann = namedtuple("Ann", "area bbox counts")

    class EmptyMask(ValueError):
        pass

    def fill(poly, h, w):
        ys, xs = paddle.meshgrid(paddle.arange(h) + 0.5, paddle.arange(w) + 0.5)
        inside = paddle.zeros([h, w], "bool")
        j = len(poly) - 1
        for i in range(len(poly)):
            (xi, yi), (xj, yj) = poly[i], poly[j]
            j = i
            if yi == yj:
                continue
            crosses = (yi > ys) != (yj > ys)
            at = (xj - xi) * (ys - yi) / (yj - yi) + xi
            inside ^= crosses & (xs < at)
        return inside

    def rle(mask):
        flat = mask.t().flatten().astype("int64")
        counts, current, run = [], 0, 0
        for bit in flat:
            if bit != current:
                counts.append(run)
                current, run = bit, 0
            run += 1
        counts.append(run)
        return counts

    def bbox(mask):
        rows, cols = mask.any(1), mask.any(0)
        if not rows.any():
            raise EmptyMask(f"a mask of {list(mask.shape)} without a pixel")
        ys, xs = rows.nonzero().flatten(), cols.nonzero().flatten()
        return paddle.stack([xs[0], ys[0], xs[-1] + 1, ys[-1] + 1])

    def annotate(polys, h, w):
        masks = [fill(p, h, w) for p in polys]
        anns = []
        for m in masks:
            anns.append(Ann(m.sum(), bbox(m), rle(m)))
        inter = paddle.stack([paddle.stack([(a & b).sum() for b in masks]) for a in masks])
        union = inter.diag().unsqueeze(0) + inter.diag().unsqueeze(1) - inter
        return anns, inter / union

    f = convert(annotate)
    square = [(1.0, 1.0), (5.0, 1.0), (5.0, 4.0), (1.0, 4.0)]
    star = [(3.0, 0.0), (4.0, 5.0), (0.5, 2.0), (5.5, 2.0), (2.0, 5.0)]
    yield attempt(lambda: f([square, star], 6, 6))
    yield attempt(lambda: f([star], 5, 7))
    yield attempt(lambda: f([square, [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1)]], 6, 6))
    fill_t = convert(fill)
    for shift in (0.0, 1.2):
        yield fill_t(paddle.to_tensor(star) + shift, 6, 8)


@program
def panoptic_map_from_centers(convert):
    """Panoptic-DeepLab: centers by max-pooling, pixels grouped by offsets, majority votes, stuff filled by area."""

    @dataclasses.dataclass
    class Segment:
        id: int
        category: int
        isthing: bool
        area: int
        score: float = 1.0

    class Merger:
        def __init__(self, things, divisor=1000, stuff_area=3, threshold=0.5, k=4):
            self.things, self.divisor, self.stuff_area = set(things), divisor, stuff_area
            self.threshold, self.k = threshold, k
            self.segments = []

        def centers(self, heat):
            pooled = F.max_pool2d(heat[None, None], 3, 1, 1)[0, 0]
            heat = paddle.where(
                (heat == pooled) & (heat > self.threshold), heat, paddle.zeros_like(heat)
            )
            at = heat.nonzero()
            if at.shape[0] > self.k:
                top = heat.flatten().topk(self.k)[0][-1]
                at = (heat >= top).nonzero()
            return at, heat

        def group(self, centers, offsets):
            h, w = offsets.shape[1:]
            yy, xx = paddle.meshgrid(paddle.arange(h), paddle.arange(w))
            loc = paddle.stack([yy, xx]).astype("float32") + offsets
            d = (
                (centers.astype("float32").unsqueeze(-1).unsqueeze(-1) - loc.unsqueeze(0))
                .square()
                .sum(1)
            )
            return d.argmin(0) + 1

        def __call__(self, sem, heat, offsets):
            self.segments = []
            panoptic = paddle.zeros(sem.shape, "int64")
            thing = paddle.zeros(sem.shape, "bool")
            for c in sorted(self.things):
                thing = thing | (sem == c)
            at, heat = self.centers(heat)
            if at.shape[0] > 0:
                ins = self.group(at, offsets) * thing
                for i in ins.unique():
                    if i == 0:
                        continue
                    mask = (ins == i) & thing
                    labels = sem[mask]
                    cat = paddle.bincount(labels).argmax()
                    pan = cat * self.divisor + i
                    panoptic = paddle.where(mask, pan, panoptic)
                    y, x = at[i - 1]
                    self.segments.append(
                        Segment(int(pan), int(cat), True, int(mask.sum()), float(heat[y, x]))
                    )
            for c in sem.unique().tolist():
                if c in self.things:
                    continue
                mask = (sem == c) & ~thing
                area = int(mask.sum())
                if area >= self.stuff_area:
                    panoptic = paddle.where(
                        mask, paddle.full_like(panoptic, c * self.divisor), panoptic
                    )
                    self.segments.append(Segment(c * self.divisor, c, False, area))
            return panoptic

    merger = Merger({2, 3})
    f = convert(merger.__call__)
    for h, w, seed in ((6, 6, 1), (5, 7, 2), (6, 6, 3)):
        rng = np.random.RandomState(seed)
        sem = paddle.to_tensor(rng.randint(0, 4, [h, w]))
        heat = paddle.to_tensor(rng.rand(h, w).astype("float32"))
        off = paddle.to_tensor(rng.randn(2, h, w).astype("float32"))
        yield attempt(lambda: f(sem, heat, off)), list(merger.segments)
    yield attempt(lambda: f(sem, heat * 0.1, off)), list(merger.segments)


@program
def limbs_joined_by_affinity(convert):
    """OpenPose grouping: peaks per joint, line integrals of part affinities, greedy limbs merged into people."""

    class Person(dict):
        score = 0.0

        def merge(self, other):
            self.update(other)
            self.score += other.score
            return self

    def peaks(heat, thr):
        p = (
            F.pad(heat, [1, 1, 1, 1], value=0.0)
            if heat.ndim == 4
            else F.pad(heat[None, None], [1, 1, 1, 1])[0, 0]
        )
        c = p[1:-1, 1:-1]
        ok = (
            (c > p[:-2, 1:-1])
            & (c > p[2:, 1:-1])
            & (c > p[1:-1, :-2])
            & (c > p[1:-1, 2:])
            & (c > thr)
        )
        return ok.nonzero(), c[ok]

    def affinity(paf, a, b, samples=5):
        d = (b - a).astype("float32")
        n = d.norm()
        if n < 1e-4:
            return paddle.to_tensor(-1.0), False
        t = paddle.linspace(0, 1, samples).unsqueeze(1)
        pts = (a.astype("float32") + t * d).round().astype("int64")
        v = paf[:, pts[:, 0], pts[:, 1]]
        dots = (v * (d / n).unsqueeze(1)).sum(0)
        good = (dots > 0.05).astype("float32").mean() > 0.7
        return dots.mean(), good

    def parse(heats, pafs, limbs, thr=0.6):
        joints = [peaks(h, thr) for h in heats]
        people = []
        for (s, e), paf in zip(limbs, pafs):
            cands = []
            for i, j in itertools.product(
                range(joints[s][0].shape[0]), range(joints[e][0].shape[0])
            ):
                score, good = affinity(paf, joints[s][0][i], joints[e][0][j])
                if good:
                    cands.append((score.item(), i, j))
            cands.sort(reverse=True)
            ua, ub = set(), set()
            for score, i, j in cands:
                if i in ua or j in ub:
                    continue
                ua.add(i), ub.add(j)
                owner = next((p for p in people if p.get(s) == i), None)
                if owner is None:
                    owner = Person({s: i})
                    people.append(owner)
                owner[e] = j
                owner.score += score
        return [(dict(p), p.score) for p in people], [len(j[1]) for j in joints]

    f = convert(parse)
    for seed, size in ((0, 7), (4, 7), (5, 9)):
        heats = rand(3, size, size, seed=seed)
        pafs = rand(2, 2, size, size, seed=seed + 1) - 0.3
        yield attempt(lambda: f(heats, pafs, [(0, 1), (1, 2)]))
    yield attempt(lambda: f(heats * 0.1, pafs, [(0, 1)]))


@program
def depths_swept_by_planes(convert):
    """Stereo: costs of census bits, aggregation along four directions, winner with subpixel fit, left-right check."""

    class Aggregator(abc.ABC):
        @abc.abstractmethod
        def __call__(self, cost): ...

    class Box(Aggregator):
        def __call__(self, cost):
            return F.avg_pool2d(cost.unsqueeze(0), 3, 1, 1)[0]

    class SemiGlobal(Aggregator):
        def __init__(self, p1=0.2, p2=0.8):
            self.p1, self.p2 = p1, p2

        def scan(self, cost):
            rows = [cost[:, 0]]
            for x in range(1, cost.shape[1]):
                prev = rows[-1]
                low = prev.min(0, keepdim=True)
                up = paddle.concat([prev[1:], paddle.full_like(prev[:1], 1e3)]) + self.p1
                down = paddle.concat([paddle.full_like(prev[:1], 1e3), prev[:-1]]) + self.p1
                best = paddle.minimum(paddle.minimum(prev, up), paddle.minimum(down, low + self.p2))
                rows.append(cost[:, x] + best - low)
            return paddle.stack(rows, 1)

        def __call__(self, cost):
            total = self.scan(cost) + self.scan(cost.flip(1)).flip(1)
            t = cost.transpose([0, 2, 1])
            return total + (self.scan(t) + self.scan(t.flip(1)).flip(1)).transpose([0, 2, 1])

    def census(img):
        p = F.pad(img[None, None], [1, 1, 1, 1], mode="replicate")[0, 0]
        h, w = img.shape
        bits = [
            p[dy : dy + h, dx : dx + w] > img
            for dy in range(3)
            for dx in range(3)
            if (dy, dx) != (1, 1)
        ]
        return paddle.stack(bits).astype("float32")

    def volume(a, b, planes, sign):
        ca, cb = census(a), census(b)
        return paddle.stack(
            [(ca - paddle.roll(cb, sign * d, -1)).abs().mean(0) for d in range(planes)]
        )

    def match(left, right, planes=4, aggregate=None, check=True, sub=True):
        cost = (aggregate or Box())(volume(left, right, planes, 1))
        disp = cost.argmin(0).astype("float32")
        if sub:
            i = disp.astype("int64").clip(1, planes - 2)
            pick = lambda k: cost.take_along_axis((i + k).unsqueeze(0), 0)[0]
            curve = pick(-1) - 2 * pick(0) + pick(1)
            delta = paddle.where(
                curve.abs() > 1e-6,
                (pick(-1) - pick(1)) / (2 * curve + 1e-12),
                paddle.zeros_like(curve),
            )
            disp = paddle.where(i == disp.astype("int64"), disp + delta.clip(-0.5, 0.5), disp)
        if check:
            other = (aggregate or Box())(volume(right, left, planes, -1)).argmin(0)
            xs = (paddle.arange(left.shape[1]).unsqueeze(0) - disp.round().astype("int64")).clip(0)
            back = other.take_along_axis(xs, 1).astype("float32")
            bad = (back - disp).abs() > 1
            if bad.any():
                print("occluded:", bad.sum())
                fill = disp[~bad].median() if not bad.all() else paddle.zeros([])
                disp = paddle.where(bad, fill, disp)
        return disp

    f = convert(match)
    for seed, agg in ((1, None), (2, SemiGlobal()), (3, SemiGlobal(0.1, 0.3))):
        right = rand(5, 8, seed=seed)
        left = paddle.roll(right, 2, 1)
        yield attempt(lambda: f(left, right, aggregate=agg))
        yield attempt(lambda: f(left, left, 3, agg, sub=False))
    yield attempt(lambda: f(left, right, check=False)), attempt(Aggregator)
