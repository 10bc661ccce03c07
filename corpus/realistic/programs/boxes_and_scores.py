"""After the network: suppression, polygons, matching, precision and recall, calibration."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def soft_suppression_by_method(convert):
    """Soft-NMS in three methods, per class, on as many boxes as pass a threshold."""

    class Detection(NamedTuple):
        box: paddle.Tensor
        score: paddle.Tensor
        label: int

    def iou(box, boxes):
        x1 = paddle.maximum(box[0], boxes[:, 0])
        y1 = paddle.maximum(box[1], boxes[:, 1])
        x2 = paddle.minimum(box[2], boxes[:, 2])
        y2 = paddle.minimum(box[3], boxes[:, 3])
        inter = F.relu(x2 - x1) * F.relu(y2 - y1)
        area = (box[2] - box[0]) * (box[3] - box[1])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        return inter / (area + areas - inter + 1e-9)

    def decay(overlap, method, sigma, threshold):
        match method:
            case "linear":
                return paddle.where(overlap > threshold, 1 - overlap, paddle.ones_like(overlap))
            case "gaussian":
                return paddle.exp(-(overlap**2) / sigma)
            case "hard":
                return (overlap <= threshold).astype(overlap.dtype)
            case _:
                raise ValueError(f"unknown method: {method}")

    def soft_nms(boxes, scores, method, sigma=0.5, threshold=0.3, min_score=0.05):
        keep, kept_scores = [], []
        scores = scores.clone()
        while True:
            i = scores.argmax()
            if scores[i] < min_score:
                break
            keep.append(i)
            kept_scores.append(scores[i])
            weight = decay(iou(boxes[i], boxes), method, sigma, threshold)
            weight[i] = 0.0
            scores = scores * weight
        return keep, kept_scores

    @convert
    def postprocess(boxes, logits, method="gaussian", top=5):
        probs = F.sigmoid(logits)
        found = []
        for label in range(probs.shape[1]):
            candidates = probs[:, label] > 0.3
            if not candidates.any():
                continue
            keep, scores = soft_nms(boxes[candidates], probs[candidates, label], method)
            chosen = boxes[candidates]
            found += [Detection(chosen[k], s, label) for k, s in zip(keep, scores)]
        found.sort(key=lambda d: -float(d.score))
        return found[:top]

    rng = np.random.RandomState(6)
    for n, method in [(6, "gaussian"), (6, "linear"), (9, "hard"), (4, "gaussian")]:
        xy = rng.rand(n, 2) * 4
        boxes = np.concatenate([xy, xy + 2 + rng.rand(n, 2)], 1).astype("float32")
        logits = paddle.to_tensor(rng.randn(n, 2).astype("float32") * 2)
        yield postprocess(paddle.to_tensor(boxes), logits, method=method)
    yield attempt(lambda: postprocess(paddle.to_tensor(boxes), logits, method="cubic"))


@program
def polygons_that_are_clipped_and_scored(convert):
    """Sutherland-Hodgman clipping, the area by the shoelace, the mean of a map inside a polygon."""

    def area(points):
        if len(points) < 3:
            return paddle.zeros([])
        p = paddle.stack(points)
        q = paddle.roll(p, -1, axis=0)
        return 0.5 * (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]).sum().abs()

    def cross(a, b, p):
        return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])

    def clip(subject, clipper):
        output = list(subject)
        for i in range(len(clipper)):
            a, b = clipper[i - 1], clipper[i]
            points, output = output, []
            for j, p in enumerate(points):
                previous = points[j - 1]
                inside, was_inside = cross(a, b, p) >= 0, cross(a, b, previous) >= 0
                if inside != was_inside:
                    d1, d2 = cross(a, b, previous), cross(a, b, p)
                    output.append(previous + (p - previous) * (d1 / (d1 - d2)))
                if inside:
                    output.append(p)
            if not output:
                break
        return output

    @convert
    def polygon_iou(a, b):
        inter = area(clip(a, b))
        union = area(list(a)) + area(list(b)) - inter
        return inter / union

    @convert
    def polygon_score(bitmap, polygon, fast=True):
        h, w = bitmap.shape
        xmin, ymin = polygon.min(0).floor().astype("int64").clip(min=0).unbind()
        xmax, ymax = polygon.max(0).ceil().astype("int64").unbind()
        xmax, ymax = min(xmax, w - 1), min(ymax, h - 1)
        region = bitmap[ymin : ymax + 1, xmin : xmax + 1]
        if fast:
            return region.mean()
        ys = paddle.arange(ymin, ymax + 1).astype("float32")
        xs = paddle.arange(xmin, xmax + 1).astype("float32")
        gy, gx = paddle.meshgrid(ys, xs)
        inside = paddle.ones_like(gx, dtype="bool")
        for i in range(polygon.shape[0]):
            a, b = polygon[i - 1], polygon[i]
            side = (b[0] - a[0]) * (gy - a[1]) - (b[1] - a[1]) * (gx - a[0])
            inside = inside & (side >= 0)
        count = inside.astype("float32").sum()
        if count == 0:
            return paddle.zeros([])
        return (region * inside.astype("float32")).sum() / count

    square = [
        paddle.to_tensor(p, stop_gradient=False)
        for p in ([0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0])
    ]
    for shift, count in [(1.0, 4), (3.0, 4), (6.0, 4), (0.5, 3)]:
        angles = np.arange(count) * 2 * math.pi / count + 0.3
        other = [
            paddle.to_tensor(
                np.array([2 + shift + 2 * math.cos(t), 2 + 2 * math.sin(t)], "float32")
            )
            for t in angles
        ]
        overlap = polygon_iou(square, other)
        yield overlap
        if not overlap.stop_gradient:
            overlap.backward()
        yield [p.grad for p in square]
        for p in square:
            p.clear_grad()
    rng = np.random.RandomState(7)
    for h, w, fast in [(8, 8, True), (8, 8, False), (6, 9, False)]:
        bitmap = paddle.to_tensor(rng.rand(h, w).astype("float32"))
        polygon = paddle.to_tensor([[1.2, 0.7], [5.5, 1.1], [4.2, 4.8], [0.4, 3.1]])
        yield polygon_score(bitmap, polygon, fast=fast)


@program
def mean_average_precision_by_hand(convert):
    """mAP: matching per class and image, interpolated precision at recalls, at several overlaps."""

    @dataclass
    class ClassRecord:
        scores: List[paddle.Tensor] = field(default_factory=list)
        hits: List[bool] = field(default_factory=list)
        positives: int = 0

    def box_iou(a, b):
        lt = paddle.maximum(a.unsqueeze(1)[:, :, :2], b[:, :2])
        rb = paddle.minimum(a.unsqueeze(1)[:, :, 2:], b[:, 2:])
        inter = (rb - lt).clip(min=0).prod(-1)
        size = lambda t: (t[:, 2:] - t[:, :2]).prod(-1)  # noqa: E731
        return inter / (size(a).unsqueeze(1) + size(b) - inter)

    class MeanAveragePrecision:
        def __init__(self, thresholds=(0.5, 0.75)):
            self.thresholds = thresholds
            self.records = defaultdict(ClassRecord)

        @convert
        def update(self, boxes, scores, labels, gt_boxes, gt_labels):
            for label in sorted(set(labels.tolist()) | set(gt_labels.tolist())):
                mine, theirs = boxes[labels == label], gt_boxes[gt_labels == label]
                order = scores[labels == label].argsort(descending=True)
                mine, own = mine[order], scores[labels == label][order]
                for threshold in self.thresholds:
                    record = self.records[label, threshold]
                    record.positives += theirs.shape[0]
                    taken = set()
                    for i in range(mine.shape[0]):
                        hit = False
                        if theirs.shape[0]:
                            overlaps = box_iou(mine[i : i + 1], theirs)[0]
                            best = int(overlaps.argmax())
                            if overlaps[best] >= threshold and best not in taken:
                                taken.add(best)
                                hit = True
                        record.scores.append(own[i])
                        record.hits.append(hit)

        @convert
        def compute(self, points=11):
            result = {}
            for (label, threshold), record in self.records.items():
                if record.positives == 0 or not record.scores:
                    result[label, threshold] = 0.0
                    continue
                order = paddle.stack(record.scores).argsort(descending=True)
                hits = paddle.to_tensor(record.hits, dtype="float32")[order]
                tp, fp = hits.cumsum(), (1 - hits).cumsum()
                recall, precision = tp / record.positives, tp / (tp + fp)
                total = 0.0
                for r in np.linspace(0, 1, points):
                    reached = precision[recall >= r - 1e-6]
                    if reached.shape[0] > 0:
                        total += reached.max() / points
                result[label, threshold] = total
            return result

        def reset(self):
            self.records.clear()

    metric = MeanAveragePrecision()
    rng = np.random.RandomState(9)
    for round_ in range(2):
        for n, m in [(5, 3), (4, 4), (3, 2)]:
            gt = rng.rand(m, 2) * 10
            gt = np.concatenate([gt, gt + 3], 1).astype("float32")
            gl = rng.randint(0, 2, m)
            pick = rng.randint(0, m, n)
            noise = rng.randn(n, 4) * rng.choice([0.1, 0.8], (n, 1))
            boxes = (gt[pick] + noise).astype("float32")
            metric.update(
                *map(paddle.to_tensor, (boxes, rng.rand(n).astype("float32"), gl[pick], gt, gl))
            )
        result = metric.compute()
        yield result
        yield {k: (r.positives, r.hits) for k, r in metric.records.items()}
        if round_ == 0:
            metric.reset()


@program
def calibration_after_training(convert):
    """Temperature by Newton's method, reliability bins, ECE, isotonic regression by violators."""

    class Bin(NamedTuple):
        count: int
        confidence: float
        accuracy: float

    @convert
    def ece(logits, labels, bins=5, adaptive=False):
        probs = F.softmax(logits)
        confidence, predicted = probs.max(-1), probs.argmax(-1)
        right = (predicted == labels).astype("float32")
        if adaptive:
            edges = paddle.quantile(confidence, paddle.linspace(0, 1, bins + 1).tolist())
        else:
            edges = paddle.linspace(0, 1, bins + 1)
        total, table = 0.0, []
        for lower, upper in zip(edges[:-1], edges[1:]):
            inside = (confidence > lower) & (confidence <= upper)
            count = int(inside.sum())
            if count == 0:
                table.append(None)
                continue
            c, a = confidence[inside].mean(), right[inside].mean()
            total += (c - a).abs() * count / len(labels)
            table.append(Bin(count, c, a))
        return total, table

    @convert
    def fit_temperature(logits, labels, tolerance=1e-4, max_steps=20):
        log_t = paddle.zeros([])
        log_t.stop_gradient = False
        for step in range(max_steps):
            z = logits * (-log_t).exp()
            target = (z * F.one_hot(labels, logits.shape[1])).sum(-1)
            loss = (z.exp().sum(-1).log() - target).sum() / len(labels)
            (g,) = paddle.grad(loss, [log_t], create_graph=True)
            (h,) = paddle.grad(g, [log_t])
            delta = g / h if h > 0 else g.sign() * 0.1
            log_t = (log_t - delta.clip(-1, 1)).detach()
            log_t.stop_gradient = False
            if delta.abs() < tolerance:
                break
        return log_t.exp().detach(), step

    @convert
    def isotonic(scores, targets):
        order = scores.argsort()
        blocks = []
        for y in targets[order]:
            blocks.append([y, 1])
            while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
                value, weight = blocks.pop()
                last = blocks[-1]
                last[0] = (last[0] * last[1] + value * weight) / (last[1] + weight)
                last[1] += weight
        fitted = paddle.concat([v.reshape([1]).expand([w]) for v, w in blocks])
        out = paddle.zeros_like(fitted)
        out[order] = fitted
        return out, len(blocks)

    rng = np.random.RandomState(10)
    for n, scale in [(20, 3.0), (30, 0.5), (20, 6.0)]:
        labels = rng.randint(0, 3, n)
        logits = (np.eye(3)[labels] + rng.randn(n, 3)) * scale
        logits, labels = paddle.to_tensor(logits.astype("float32")), paddle.to_tensor(labels)
        yield ece(logits, labels)
        temperature, steps = fit_temperature(logits, labels)
        yield temperature, steps
        yield ece(logits / temperature, labels, adaptive=True)
        confidence = F.softmax(logits).max(-1)
        right = (logits.argmax(-1) == labels).astype("float32")
        yield isotonic(confidence[:8], right[:8])


@program
def streaming_scores_of_a_classifier(convert):
    """A confusion matrix that grows, F1 by average, top-k, AUC by ranks, a report in text."""

    class Metric:
        registry: Dict[str, type] = {}

        def __init_subclass__(cls, name, **kwargs):
            super().__init_subclass__(**kwargs)
            Metric.registry[name] = cls

        def reset(self): ...

    class F1(Metric, name="f1"):
        def __init__(self, classes, average="macro"):
            self.classes, self.average = classes, average
            self.reset()

        def reset(self):
            self.matrix = paddle.zeros([self.classes, self.classes], dtype="int64")

        def update(self, logits, labels):
            flat = labels * self.classes + logits.argmax(-1)
            self.matrix += paddle.bincount(flat, minlength=self.classes**2).reshape(
                [self.classes, self.classes]
            )

        def value(self):
            m = self.matrix.astype("float32")
            tp = m.diag()
            if self.average == "micro":
                return tp.sum() / m.sum()
            precision = tp / m.sum(0).clip(min=1)
            recall = tp / m.sum(1).clip(min=1)
            f1 = 2 * precision * recall / (precision + recall).clip(min=1e-9)
            if self.average == "weighted":
                return (f1 * m.sum(1)).sum() / m.sum()
            present = m.sum(1) > 0
            return f1[present].mean() if present.any() else paddle.zeros([])

    class AUC(Metric, name="auc"):
        def __init__(self, positive=1):
            self.positive = positive
            self.reset()

        def reset(self):
            self.scores, self.truth = [], []

        def update(self, logits, labels):
            self.scores.append(F.softmax(logits)[:, self.positive])
            self.truth.append(labels == self.positive)

        def value(self):
            scores, truth = paddle.concat(self.scores), paddle.concat(self.truth)
            ranks = scores.argsort().argsort().astype("float32") + 1
            pos = truth.astype("float32").sum()
            neg = truth.shape[0] - pos
            if pos == 0 or neg == 0:
                return float("nan")
            return (ranks[truth].sum() - pos * (pos + 1) / 2) / (pos * neg)

    class TopK(Metric, name="topk"):
        def __init__(self, k=2):
            self.k, self.hits, self.total = k, 0, 0

        def reset(self):
            self.hits = self.total = 0

        def update(self, logits, labels):
            _, top = logits.topk(self.k)
            self.hits += int((top == labels.unsqueeze(1)).any(1).astype("int64").sum())
            self.total += labels.shape[0]

        def value(self):
            return self.hits / max(self.total, 1)

    class Report:
        def __init__(self, **config):
            self.metrics = {
                f"{name}/{i}": Metric.registry[name](*args)
                for name, many in config.items()
                for i, args in enumerate(many)
            }

        @convert
        def update(self, logits, labels):
            for metric in self.metrics.values():
                metric.update(logits, labels)

        @convert
        def compute(self):
            return {name: metric.value() for name, metric in self.metrics.items()}

        def __str__(self):
            return "\n".join(f"{k:<8} {float(v):>7.3f}" for k, v in self.compute().items())

    report = Report(f1=[(3,), (3, "micro"), (3, "weighted")], auc=[(), (2,)], topk=[()])
    rng = np.random.RandomState(11)
    for n in (4, 4, 6):
        labels = rng.randint(0, 3, n)
        logits = (np.eye(3)[labels] * 1.5 + rng.randn(n, 3)).astype("float32")
        report.update(paddle.to_tensor(logits), paddle.to_tensor(labels))
        yield report.compute()
    yield str(report)
    for metric in report.metrics.values():
        metric.reset()
    report.update(paddle.to_tensor(logits), paddle.to_tensor(np.zeros(6, "int64")))
    yield report.compute()
