"""Evaluation metrics: curves, detection, translation, ranking, calibration, running means."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Dict, List

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def roc_auc_and_average_precision(convert):
    """AUC with ties by the trapezoid, average precision, the best F1 threshold."""

    def cumulative_counts(scores, labels):
        order = paddle.argsort(scores, descending=True)
        labels = labels[order].astype("float32")
        return scores[order], paddle.cumsum(labels), paddle.cumsum(1.0 - labels)

    def distinct_last(scores):
        """True at the last position of each group of equal scores."""
        if scores.shape[0] == 1:
            return paddle.ones([1], dtype="bool")
        change = scores[1:] != scores[:-1]
        return paddle.concat(x=[change, paddle.ones([1], dtype="bool")], axis=0)

    @convert
    def roc_auc(scores, labels):
        positives = labels.sum()
        negatives = labels.shape[0] - positives
        if positives == 0 or negatives == 0:
            return paddle.to_tensor(float("nan"))
        sorted_scores, tps, fps = cumulative_counts(scores, labels)
        keep = distinct_last(sorted_scores)
        tps = paddle.concat([paddle.zeros([1]), tps[keep]]) / positives.astype("float32")
        fps = paddle.concat([paddle.zeros([1]), fps[keep]]) / negatives.astype("float32")
        return ((fps[1:] - fps[:-1]) * (tps[1:] + tps[:-1]) / 2).sum()

    @convert
    def average_precision(scores, labels):
        _, tps, fps = cumulative_counts(scores, labels)
        precision = tps / (tps + fps)
        recall = tps / paddle.clip(tps[-1], min=1.0)
        before = paddle.concat([paddle.zeros([1]), recall[:-1]])
        return ((recall - before) * precision).sum()

    @convert
    def best_threshold(scores, labels, candidates=None):
        if candidates is None:
            candidates = paddle.linspace(0.1, 0.9, 5)
        best_f1, best = paddle.zeros([]), None
        for t in candidates:
            predicted = (scores >= t).astype("int64")
            tp = (predicted * labels).sum().astype("float32")
            f1 = 2 * tp / (predicted.sum() + labels.sum()).astype("float32").clip(min=1.0)
            if best is None or f1 > best_f1:
                best_f1, best = f1, t
        return best, best_f1

    rng = np.random.RandomState(0)
    for n in (6, 10, 7):
        scores = paddle.to_tensor(np.round(rng.rand(n), 1).astype("float32"))
        labels = paddle.to_tensor((rng.rand(n) > 0.5).astype("int64"))
        yield roc_auc(scores, labels), average_precision(scores, labels)
        yield best_threshold(scores, labels)
    yield roc_auc(scores, paddle.ones_like(labels))
    yield best_threshold(scores, labels, candidates=paddle.to_tensor([0.5]))


@program
def detection_mean_average_precision(convert):
    """Greedy matching of boxes by IoU, per class precision-recall, mAP over thresholds."""

    def area(boxes):
        return (boxes[:, 2] - boxes[:, 0]).clip(min=0) * (boxes[:, 3] - boxes[:, 1]).clip(min=0)

    def pairwise_iou(a, b):
        top_left = paddle.maximum(a[:, None, :2], b[None, :, :2])
        bottom_right = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
        overlap = (bottom_right - top_left).clip(min=0).prod(axis=-1)
        return overlap / (area(a)[:, None] + area(b)[None, :] - overlap + 1e-9)

    def match(ious, threshold):
        """1 for every detection (best first) that claims a free ground truth."""
        taken = paddle.zeros([ious.shape[1]], dtype="bool")
        hits = []
        for i in range(ious.shape[0]):
            row = paddle.where(taken, paddle.full_like(ious[i], -1.0), ious[i])
            best = row.argmax()
            if row[best] >= threshold:
                taken[best] = True
                hits.append(paddle.ones([]))
            else:
                hits.append(paddle.zeros([]))
        return paddle.stack(hits)

    def interpolated_ap(hits, total):
        tp = hits.cumsum(axis=0)
        precision = tp / paddle.arange(1, hits.shape[0] + 1).astype("float32")
        recall = tp / total
        value = paddle.zeros([])
        for level in (0.0, 0.25, 0.5, 0.75, 1.0):
            reached = recall >= level - 1e-6
            if reached.any():
                value = value + precision[reached].max()
        return value / 5

    @convert
    def mean_ap(detections, truths, thresholds=(0.5,)):
        per_class = {}
        for name, truth in truths.items():
            found = detections.get(name)
            if found is None or found.shape[0] == 0:
                per_class[name] = paddle.zeros([])
                continue
            found = paddle.index_select(found, paddle.argsort(found[:, 4], descending=True), 0)
            ious = pairwise_iou(found[:, :4], truth)
            aps = [interpolated_ap(match(ious, t), truth.shape[0]) for t in thresholds]
            per_class[name] = sum(aps) / len(aps)
        return sum(per_class.values()) / len(per_class), per_class

    def boxes(rng, n, scored=False):
        xy = rng.rand(n, 2) * 4
        rows = np.concatenate([xy, xy + 1 + rng.rand(n, 2) * 2], axis=1)
        if scored:
            rows = np.concatenate([rows, rng.rand(n, 1)], axis=1)
        return paddle.to_tensor(rows.astype("float32"))

    rng = np.random.RandomState(1)
    for counts in ((3, 2), (5, 3), (1, 1)):
        truths = {"cat": boxes(rng, counts[1]), "dog": boxes(rng, 2)}
        close = truths["dog"] + 0.1
        detections = {
            "cat": boxes(rng, counts[0], scored=True),
            "dog": paddle.concat([close, paddle.to_tensor([[0.9], [0.4]])], axis=1),
        }
        yield mean_ap(detections, truths)
        yield mean_ap(detections, truths, thresholds=(0.1, 0.3, 0.7))
    yield mean_ap({"cat": detections["cat"]}, truths)


@program
def bleu_on_token_ids(convert):
    """Corpus BLEU on id tensors with clipped n-gram counts, smoothing and brevity penalty."""

    def ngrams(ids, n):
        return paddle.stack([ids[i : ids.shape[0] - n + 1 + i] for i in range(n)], axis=1)

    def clipped_matches(candidate, reference):
        """How many of the candidate's n-grams are in the reference, each counted at most there."""
        same_as_earlier = (candidate[:, None] == candidate[None, :]).all(axis=-1)
        rank = paddle.tril(same_as_earlier.astype("int64")).sum(axis=1)
        available = (candidate[:, None] == reference[None, :]).all(axis=-1).astype("int64")
        return (rank <= available.sum(axis=1)).astype("float32").sum()

    class Bleu:
        def __init__(self, max_n=3, smooth=False):
            self.max_n, self.smooth = max_n, smooth
            self.reset()

        def reset(self):
            self.matches = [paddle.zeros([]) for _ in range(self.max_n)]
            self.totals = [0] * self.max_n
            self.lengths = {"candidate": 0, "reference": 0}

        @convert
        def update(self, candidate, reference):
            self.lengths["candidate"] += candidate.shape[0]
            self.lengths["reference"] += reference.shape[0]
            for n in range(1, self.max_n + 1):
                if min(candidate.shape[0], reference.shape[0]) < n:
                    break
                grams = ngrams(candidate, n)
                self.matches[n - 1] += clipped_matches(grams, ngrams(reference, n))
                self.totals[n - 1] += grams.shape[0]

        @convert
        def compute(self):
            logs = []
            for matches, total in zip(self.matches, self.totals):
                if total == 0:
                    continue
                if self.smooth:
                    p = (matches + 1) / (total + 1)
                else:
                    p = matches / total
                if p == 0:
                    return paddle.zeros([])
                logs.append(paddle.log(p))
            score = paddle.exp(sum(logs) / len(logs))
            c, r = self.lengths["candidate"], self.lengths["reference"]
            return score if c > r else score * math.exp(1 - r / max(c, 1))

    rng = np.random.RandomState(2)
    for smooth in (False, True):
        bleu = Bleu(smooth=smooth)
        for lengths in ((5, 6), (8, 7), (2, 4)):
            candidate = paddle.to_tensor(rng.randint(0, 4, lengths[0]))
            reference = paddle.to_tensor(rng.randint(0, 4, lengths[1]))
            bleu.update(candidate, reference=reference)
            yield bleu.compute(), bleu.matches, bleu.totals
        bleu.reset()
        bleu.update(candidate, candidate)
        yield bleu.compute(), bleu.lengths


@program
def metric_collection_with_states(convert):
    """A small metrics library: base class, states, collection, prefix, reset and merge."""

    class Metric:
        def __init__(self, **states):
            self._defaults = states
            self.reset()

        def reset(self):
            for name, value in self._defaults.items():
                setattr(self, name, value.clone())

        def update(self, preds, target):
            raise NotImplementedError

        def compute(self):
            raise NotImplementedError

        def merge(self, other):
            for name in self._defaults:
                setattr(self, name, getattr(self, name) + getattr(other, name))

    class Accuracy(Metric):
        def __init__(self, k=1):
            super().__init__(correct=paddle.zeros([]), total=paddle.zeros([]))
            self.k = k

        def update(self, preds, target):
            top = preds.topk(self.k, axis=-1)[1]
            self.correct = (
                self.correct + (top == target.unsqueeze(-1)).any(-1).astype("float32").sum()
            )
            self.total = self.total + target.shape[0]

        def compute(self):
            return self.correct / self.total

    class MacroF1(Metric):
        def __init__(self, classes):
            super().__init__(confusion=paddle.zeros([classes, classes]))
            self.classes = classes

        def update(self, preds, target):
            flat = target * self.classes + preds.argmax(axis=-1)
            counts = paddle.bincount(flat, minlength=self.classes**2).astype("float32")
            self.confusion = self.confusion + counts.reshape([self.classes, self.classes])

        def compute(self):
            tp = paddle.diag(self.confusion)
            f1 = 2 * tp / (self.confusion.sum(0) + self.confusion.sum(1)).clip(min=1)
            return f1.mean()

    class CalibrationError(Metric):
        def __init__(self, bins=4):
            zero = paddle.zeros([bins])
            super().__init__(conf=zero, acc=zero, count=zero)
            self.bins = bins

        def update(self, preds, target):
            p = F.softmax(preds, axis=-1)
            confidence, answer = p.max(axis=-1), p.argmax(axis=-1)
            index = (confidence * self.bins).floor().astype("int64").clip(0, self.bins - 1)
            hot = F.one_hot(index, self.bins)
            self.conf += (hot * confidence.unsqueeze(-1)).sum(0)
            self.acc += (hot * (answer == target).astype("float32").unsqueeze(-1)).sum(0)
            self.count += hot.sum(0)

        def compute(self):
            n = self.count.clip(min=1)
            return ((self.acc / n - self.conf / n).abs() * self.count).sum() / self.count.sum()

    class Collection:
        def __init__(self, prefix="", **metrics):
            self.prefix, self.metrics = prefix, metrics

        @convert
        def update(self, preds, target):
            for metric in self.metrics.values():
                metric.update(preds, target)

        @convert
        def compute(self):
            return {f"{self.prefix}{name}": m.compute() for name, m in self.metrics.items()}

        def reset(self):
            for metric in self.metrics.values():
                metric.reset()

    def make(prefix):
        return Collection(
            prefix, top1=Accuracy(), top2=Accuracy(k=2), f1=MacroF1(3), ece=CalibrationError()
        )

    rng = np.random.RandomState(3)
    train, valid = make("train/"), make("valid/")
    for n in (4, 6, 4):
        preds = paddle.to_tensor(rng.randn(n, 3).astype("float32") * 2)
        target = paddle.to_tensor(rng.randint(0, 3, n))
        train.update(preds, target)
        valid.update(preds[:2], target[:2])
        yield train.compute()
    for name in train.metrics:
        train.metrics[name].merge(valid.metrics[name])
    yield train.compute(), valid.compute()
    train.reset()
    train.update(preds, preds.argmin(axis=-1))
    yield train.compute()
    yield attempt(lambda: Metric().compute())


@program
def ranking_metrics_per_query(convert):
    """NDCG, MRR and recall at k; queries without relevant documents are left out."""

    @dataclass
    class Summary:
        ndcg: List[paddle.Tensor] = field(default_factory=list)
        mrr: List[paddle.Tensor] = field(default_factory=list)
        recall: Dict[int, List[paddle.Tensor]] = field(default_factory=lambda: defaultdict(list))
        skipped: int = 0

        def mean(self):
            if not self.ndcg:
                return None
            result = {"ndcg": paddle.stack(self.ndcg).mean(), "mrr": paddle.stack(self.mrr).mean()}
            for k, values in sorted(self.recall.items()):
                result[f"recall@{k}"] = paddle.stack(values).mean()
            return result

    def dcg(gains):
        positions = paddle.arange(2, gains.shape[0] + 2).astype("float32")
        return ((2.0**gains - 1) / paddle.log2(positions)).sum()

    def reciprocal_rank(relevant):
        for i in range(relevant.shape[0]):
            if relevant[i]:
                return paddle.to_tensor(1.0 / (i + 1))
        return paddle.zeros([])

    @convert
    def evaluate(queries, ks=(1, 3), k_ndcg=None):
        summary = Summary()
        for scores, gains in queries:
            if (gains == 0).all():
                summary.skipped += 1
                continue
            order = scores.argsort(descending=True)
            ranked = paddle.gather(gains, order)
            ideal = paddle.sort(gains, descending=True)
            top = k_ndcg or gains.shape[0]
            summary.ndcg.append(dcg(ranked[:top]) / dcg(ideal[:top]))
            relevant = ranked > 0
            summary.mrr.append(reciprocal_rank(relevant))
            for k in ks:
                hits = relevant[:k].astype("float32").sum()
                summary.recall[k].append(hits / relevant.astype("float32").sum())
        return summary.mean(), summary.skipped

    rng = np.random.RandomState(4)

    def make(sizes):
        return [
            (
                paddle.to_tensor(rng.randn(n).astype("float32")),
                paddle.to_tensor(rng.randint(0, 3, n).astype("float32")),
            )
            for n in sizes
        ]

    yield evaluate(make([4, 5, 3]))
    yield evaluate(make([6, 2]), ks=(2,), k_ndcg=2)
    queries = [(scores, gains * 0) for scores, gains in make([3, 3])]
    yield evaluate(queries)
    yield evaluate(queries + make([4]), ks=(1, 2, 4))


@program
def edit_distance_and_error_rates(convert):
    """Levenshtein over id tensors row by row, word error rates, and a confusion counter."""

    def edit_row(previous, token, reference, row):
        current = [paddle.to_tensor(row, dtype="int64")]
        for j in range(reference.shape[0]):
            cost = (token != reference[j]).astype("int64")
            best = paddle.minimum(previous[j] + cost, previous[j + 1] + 1)
            current.append(paddle.minimum(best, current[-1] + 1))
        return current

    @convert
    def distance(hypothesis, reference, limit=None):
        row = [paddle.to_tensor(j, dtype="int64") for j in range(reference.shape[0] + 1)]
        for i in range(hypothesis.shape[0]):
            row = edit_row(row, hypothesis[i], reference, i + 1)
            if limit is not None and paddle.stack(row).min() > limit:
                return paddle.to_tensor(limit + 1)
        return row[-1]

    class ErrorRate:
        def __init__(self):
            self.errors = paddle.zeros([], dtype="int64")
            self.words = 0
            self.perfect = Counter()

        @convert
        def add(self, hypothesis, reference):
            d = distance(hypothesis, reference)
            self.errors = self.errors + d
            self.words += reference.shape[0]
            if d == 0:
                self.perfect["yes"] += 1
            else:
                self.perfect["no"] += 1
            return d

        @property
        def rate(self):
            assert self.words > 0, "nothing was added"
            return self.errors.astype("float32") / self.words

    yield distance(paddle.to_tensor([1, 2, 3]), paddle.to_tensor([1, 3]))
    yield distance(paddle.to_tensor([1, 2, 3, 4]), paddle.to_tensor([2, 3, 4]))
    yield distance(paddle.to_tensor([7, 7, 7, 7]), paddle.to_tensor([1, 2, 3, 4]), limit=1)
    meter = ErrorRate()
    yield attempt(lambda: meter.rate)
    rng = np.random.RandomState(5)
    for n, m in ((4, 4), (3, 5), (2, 2)):
        reference = paddle.to_tensor(rng.randint(0, 3, m))
        yield meter.add(paddle.to_tensor(rng.randint(0, 3, n)), reference)
    yield meter.add(reference, reference), meter.rate, dict(meter.perfect)
