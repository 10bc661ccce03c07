"""Targets that are more than classes: orders, noise, ranks, intervals, masks."""

import math
from collections import defaultdict
from typing import Dict, List, NamedTuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def grades_by_cumulative_links(convert):
    """Ordinal regression: ordered thresholds, ranks from probabilities, a quadratic kappa."""

    class CumulativeLink(nn.Layer):
        def __init__(self, dim, grades):
            super().__init__()
            self.score = nn.Linear(dim, 1, bias_attr=False)
            self.first = self.create_parameter([1], is_bias=True)
            self.gaps = self.create_parameter([grades - 2], is_bias=True)

        @property
        def thresholds(self):
            steps = F.softplus(self.gaps).cumsum()
            return paddle.concat([self.first, self.first + steps])

        def forward(self, x):
            return F.sigmoid(self.score(x) - self.thresholds)

    def probabilities(above):
        """P(grade = k) from P(grade > k)."""
        ones, zeros = paddle.ones_like(above[:, :1]), paddle.zeros_like(above[:, :1])
        padded = paddle.concat([ones, above, zeros], axis=1)
        return padded[:, :-1] - padded[:, 1:]

    @convert
    def loss_and_step(model, opt, x, grade, weighting="none"):
        above = model(x)
        levels = paddle.stack(
            [(grade > k).astype("float32") for k in range(above.shape[1])], axis=1
        )
        nll = -(levels * (above + 1e-6).log() + (1 - levels) * (1 - above + 1e-6).log())
        if weighting == "balanced":
            share = levels.mean(axis=0)
            weight = paddle.maximum(share, 1 - share).sqrt()
            nll = nll * weight / weight.max()
        elif weighting != "none":
            raise ValueError(f"unknown weighting {weighting!r}")
        loss = nll.sum(axis=1).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    @convert
    def kappa(predicted, actual, grades):
        confusion = np.zeros((grades, grades), dtype="float64")
        for p, a in zip(predicted.numpy(), actual.numpy()):
            confusion[a, p] += 1
        weight = np.subtract.outer(np.arange(grades), np.arange(grades)) ** 2 / (grades - 1) ** 2
        expected = np.outer(confusion.sum(1), confusion.sum(0)) / confusion.sum()
        bottom = (weight * expected).sum()
        if bottom == 0:
            return 1.0
        return round(float(1 - (weight * confusion).sum() / bottom), 5)

    @convert
    def predict(model, x):
        above = model(x)
        p = probabilities(above)
        rank = (above > 0.5).astype("int64").sum(axis=1)
        if (p < 0).any():
            return rank, p, "thresholds are crossed"
        return rank, p, f"mean grade {float(rank.astype('float32').mean()):.2f}"

    paddle.seed(5)
    rng = np.random.RandomState(0)
    model = CumulativeLink(3, 4)
    opt = paddle.optimizer.Adagrad(0.3, parameters=model.parameters())
    for step, weighting in enumerate(("none", "balanced", "none", "balanced")):
        x = rng.randn(6 + step, 3).astype("float32")
        grade = np.digitize(x.sum(1), [-1, 0, 1])
        x, grade = paddle.to_tensor(x), paddle.to_tensor(grade)
        yield loss_and_step(model, opt, x, grade, weighting)
        rank, p, text = predict(model, x)
        yield rank, p, text, kappa(rank, grade, 4), model.thresholds
    yield attempt(lambda: loss_and_step(model, opt, x, grade, "focal"))


@program
def labels_cleaned_by_confidence(convert):
    """Confident learning: thresholds per class, a joint of given and true labels, what to drop."""

    class Issue(NamedTuple):
        index: int
        given: int
        suggested: int
        margin: float

    @convert
    def confident_joint(probs, labels, classes):
        thresholds = []
        for c in range(classes):
            mine = labels == c
            if mine.any():
                thresholds.append(probs[:, c][mine].mean())
            else:
                thresholds.append(paddle.to_tensor(1.0))
        thresholds = paddle.stack(thresholds)
        joint = paddle.zeros([classes, classes], dtype="int64")
        for i in range(probs.shape[0]):
            over = probs[i] >= thresholds
            count = over.astype("int64").sum()
            if count == 0:
                continue
            if count == 1:
                j = over.astype("int64").argmax()
            else:
                j = paddle.where(over, probs[i], paddle.full_like(probs[i], -1.0)).argmax()
            joint[labels[i], j] += 1
        return joint, thresholds

    @convert
    def calibrated(joint, labels):
        counts = paddle.bincount(labels, minlength=joint.shape[0]).astype("float32")
        rows = joint.astype("float32")
        rows = rows / rows.sum(axis=1, keepdim=True).clip(min=1.0) * counts.unsqueeze(1)
        return rows / rows.sum()

    @convert
    def find_issues(probs, labels, joint, limit=3):
        issues: List[Issue] = []
        off = joint.sum() - joint.diagonal().sum()
        if off == 0:
            return issues
        own = paddle.take_along_axis(probs, labels.unsqueeze(1), axis=1).squeeze(1)
        margin = own - probs.max(axis=1)
        for i in margin.argsort().tolist():
            if margin[i] >= 0 or len(issues) >= limit:
                break
            suggested = int(probs[i].argmax())
            issues.append(Issue(i, int(labels[i]), suggested, round(float(margin[i]), 4)))
        return issues

    rng = np.random.RandomState(12)
    for n, noise in ((12, 0.4), (9, 0.0), (15, 0.3)):
        true = rng.randint(0, 3, n)
        logits = rng.randn(n, 3) + 3 * np.eye(3)[true]
        given = np.where(rng.rand(n) < noise, (true + 1) % 3, true)
        probs = F.softmax(paddle.to_tensor(logits.astype("float32")), axis=-1)
        labels = paddle.to_tensor(given)
        joint, thresholds = confident_joint(probs, labels, 3)
        yield joint, thresholds, calibrated(joint, labels)
        issues = find_issues(probs, labels, joint)
        yield issues, [f"{i.index}: {i.given} -> {i.suggested}" for i in issues]


@program
def lambda_rank_on_queries(convert):
    """Queries of different length, pairs weighted by the change of NDCG, early exit for ties."""

    def dcg(gains, k):
        discounts = 1.0 / paddle.log2(paddle.arange(gains.shape[0]).astype("float32") + 2.0)
        return (gains * discounts)[:k].sum()

    @convert
    def lambda_loss(scores, relevance, k=5, sigma=1.0):
        gains = 2.0**relevance - 1.0
        ideal = dcg(gains.sort(descending=True), k)
        if ideal == 0:
            return scores.sum() * 0.0
        order = scores.argsort(descending=True)
        rank = paddle.zeros_like(order)
        rank[order] = paddle.arange(order.shape[0])
        discount = 1.0 / paddle.log2(rank.astype("float32") + 2.0)
        discount = paddle.where(rank < k, discount, paddle.zeros_like(discount))
        delta = (gains.unsqueeze(1) - gains.unsqueeze(0)) * (
            discount.unsqueeze(1) - discount.unsqueeze(0)
        )
        weight = delta.abs() / ideal
        better = (relevance.unsqueeze(1) > relevance.unsqueeze(0)).astype("float32")
        margin = sigma * (scores.unsqueeze(1) - scores.unsqueeze(0))
        return (better * weight.detach() * F.softplus(-margin)).sum() / better.sum().clip(min=1.0)

    class Evaluator:
        def __init__(self, ks=(1, 3)):
            self.ks = ks
            self.sums: Dict[str, float] = defaultdict(float)
            self.queries = 0

        @convert
        def add(self, scores, relevance):
            order = scores.argsort(descending=True)
            ranked = relevance[order]
            self.queries += 1
            for k in self.ks:
                ideal = dcg((2.0**relevance - 1).sort(descending=True), k)
                if ideal > 0:
                    self.sums[f"ndcg@{k}"] += float(dcg(2.0**ranked - 1, k) / ideal)
            for position, r in enumerate(ranked):
                if r > 0:
                    self.sums["mrr"] += 1.0 / (position + 1)
                    break

        def summary(self):
            return {name: round(total / self.queries, 5) for name, total in self.sums.items()}

    paddle.seed(17)
    ranker = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    opt = paddle.optimizer.Adam(0.03, parameters=ranker.parameters())
    rng = np.random.RandomState(3)
    queries = []
    for size in (5, 3, 7, 4):
        x = rng.randn(size, 4).astype("float32")
        rel = np.clip(np.round(x[:, 0] + 1), 0, 3) * (size != 3)
        queries.append((paddle.to_tensor(x), paddle.to_tensor(rel.astype("float32"))))
    for _ in range(2):
        evaluator = Evaluator()
        for x, rel in queries:
            scores = ranker(x).squeeze(-1)
            loss = lambda_loss(scores, rel)
            loss.backward()
            opt.step()
            opt.clear_grad()
            evaluator.add(scores.detach(), rel)
            yield loss
        yield evaluator.summary()
    yield ranker[0].weight


@program
def conformal_intervals_after_training(convert):
    """Pinball losses of two quantiles, a conformal correction, coverage by bins, adaptive alpha."""

    class QuantileNet(nn.Layer):
        def __init__(self, quantiles):
            super().__init__()
            self.quantiles = list(quantiles)
            self.body = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, len(self.quantiles)))

        def forward(self, x):
            return self.body(x)

        def loss(self, x, y):
            out = self(x)
            total = 0.0
            for i, q in enumerate(self.quantiles):
                error = y - out[:, i]
                total = total + paddle.maximum(q * error, (q - 1) * error).mean()
            crossing = F.relu(out[:, 0] - out[:, -1]).mean()
            if crossing > 0:
                total = total + 0.5 * crossing
            return total

    @convert
    def fit_step(net, opt, x, y):
        loss = net.loss(x, y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    @convert
    def conformal_margin(net, x, y, alpha=0.2):
        out = net(x)
        scores = paddle.maximum(out[:, 0] - y, y - out[:, -1])
        n = scores.shape[0]
        rank = math.ceil((n + 1) * (1 - alpha))
        if rank > n:
            return paddle.to_tensor(float("inf"))
        return scores.sort()[rank - 1]

    @convert
    def coverage(net, x, y, margin, edges):
        out = net(x)
        low, high = out[:, 0] - margin, out[:, -1] + margin
        inside = (y >= low) & (y <= high)
        table = {}
        for a, b in zip(edges[:-1], edges[1:]):
            here = (x[:, 0] >= a) & (x[:, 0] < b)
            count = here.astype("int64").sum()
            if count > 0:
                table[f"[{a},{b})"] = (inside & here).astype("float32").sum() / count
            else:
                table[f"[{a},{b})"] = None
        return table, (high - low).mean()

    class AdaptiveAlpha:
        """Gibbs and Candes: alpha moves with each miss."""

        def __init__(self, alpha=0.2, gamma=0.1):
            self.target, self.alpha, self.gamma = alpha, alpha, gamma
            self.misses: List[bool] = []

        def update(self, missed):
            self.misses.append(bool(missed))
            self.alpha += self.gamma * (self.target - float(missed))
            self.alpha = min(max(self.alpha, 0.01), 0.99)

    @convert
    def run_online(net, stream, margin, adapt):
        widths = []
        for x, y in stream:
            out = net(x.reshape([1, 1]))[0]
            width = margin * (1.5 - adapt.alpha)
            missed = (y < out[0] - width) | (y > out[-1] + width)
            adapt.update(missed)
            widths.append(width)
        return paddle.stack(widths), adapt.alpha

    paddle.seed(2)
    rng = np.random.RandomState(2)
    net = QuantileNet((0.1, 0.5, 0.9))
    opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())

    def draw(n):
        x = rng.uniform(-1, 1, n).astype("float32")
        y = np.sin(3 * x) + (0.1 + 0.3 * np.abs(x)) * rng.randn(n)
        return paddle.to_tensor(x[:, None]), paddle.to_tensor(y.astype("float32"))

    for _ in range(4):
        yield fit_step(net, opt, *draw(16))
    with paddle.no_grad():
        for n, alpha in ((12, 0.2), (12, 0.05), (8, 0.3)):
            margin = conformal_margin(net, *draw(n), alpha)
            yield margin
            yield coverage(net, *draw(10), margin, [-1.0, -0.5, 0.5, 1.0, 2.0])
        adapt = AdaptiveAlpha()
        xs, ys = draw(5)
        yield run_online(net, list(zip(xs, ys)), margin, adapt)
        yield adapt.misses


@program
def lovasz_losses_of_masks(convert):
    """Lovasz hinge and softmax per image, classes that are present, an ignored label."""

    def lovasz_grad(gt_sorted):
        total = gt_sorted.sum()
        intersection = total - gt_sorted.cumsum(0)
        union = total + (1.0 - gt_sorted).cumsum(0)
        jaccard = 1.0 - intersection / union
        if gt_sorted.shape[0] > 1:
            jaccard = paddle.concat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
        return jaccard

    def flatten(logits, labels, ignore):
        logits, labels = logits.reshape([-1]), labels.reshape([-1])
        if ignore is None:
            return logits, labels
        valid = labels != ignore
        return logits[valid], labels[valid]

    @convert
    def hinge(logits, labels, per_image=True, ignore=None):
        def one(logit, label):
            logit, label = flatten(logit, label, ignore)
            if logit.shape[0] == 0:
                return logit.sum() * 0.0
            signs = 2.0 * label.astype("float32") - 1.0
            errors = 1.0 - logit * signs
            order = errors.argsort(descending=True)
            grad = lovasz_grad(label.astype("float32")[order])
            return (F.relu(errors[order]) * grad).sum()

        if per_image:
            losses = [one(a, b) for a, b in zip(logits, labels)]
            return sum(losses) / len(losses)
        return one(logits, labels)

    @convert
    def softmax_flat(probs, labels, classes="present"):
        losses = []
        for c in range(probs.shape[1]):
            foreground = (labels == c).astype("float32")
            if classes == "present" and foreground.sum() == 0:
                continue
            errors = (foreground - probs[:, c]).abs()
            order = errors.argsort(descending=True)
            losses.append((errors[order] * lovasz_grad(foreground[order])).sum())
        if not losses:
            return paddle.zeros([])
        return paddle.stack(losses).mean()

    rng = np.random.RandomState(7)
    for step in range(4):
        logits = paddle.to_tensor(rng.randn(2, 3, 3).astype("float32"), stop_gradient=False)
        labels = rng.randint(0, 2, (2, 3, 3))
        if step == 2:
            labels[0] = 255
        labels[1, 0, :step] = 255
        labels = paddle.to_tensor(labels)
        loss = hinge(logits, labels, per_image=step < 3, ignore=255)
        loss.backward()
        yield loss, logits.grad
    for step in range(3):
        raw = paddle.to_tensor(rng.randn(5 + step, 3).astype("float32"), stop_gradient=False)
        labels = paddle.to_tensor(rng.randint(0, 3 - step, 5 + step))
        loss = softmax_flat(F.softmax(raw, axis=-1), labels, "present" if step else "all")
        loss.backward()
        yield loss, raw.grad
