"""NMS, matching and assignment, clustering, mixtures and EM."""

import math
from collections import Counter, OrderedDict, namedtuple
from dataclasses import asdict, dataclass, replace
from typing import Dict

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def boxes_and_scores(n, seed=0):
    rng = np.random.RandomState(seed)
    corner = rng.rand(n, 2) * 6
    size = rng.rand(n, 2) * 4 + 1
    boxes = np.concatenate([corner, corner + size], axis=1).astype("float32")
    return paddle.to_tensor(boxes), paddle.to_tensor(rng.rand(n).astype("float32"))


def pairwise_iou(a, b):
    lt = paddle.maximum(a[:, None, :2], b[None, :, :2])
    rb = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clip(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a[:, None] + area_b[None, :] - inter)


@program
def greedy_nms(convert):
    """NMS that keeps picking the best box while any is left."""

    class NMS:
        def __init__(self, iou_threshold=0.5, score_threshold=0.05, max_output=100):
            self.iou_threshold = iou_threshold
            self.score_threshold = score_threshold
            self.max_output = max_output

        @convert
        def __call__(self, boxes, scores):
            order = paddle.argsort(scores, descending=True)
            order = order[scores[order] > self.score_threshold]
            keep = []
            while order.shape[0] > 0:
                best = order[0]
                keep.append(best)
                if len(keep) >= self.max_output or order.shape[0] == 1:
                    break
                rest = order[1:]
                iou = pairwise_iou(boxes[best].unsqueeze(0), paddle.index_select(boxes, rest))[0]
                order = paddle.masked_select(rest, iou <= self.iou_threshold)
            if not keep:
                return paddle.zeros([0], dtype="int64")
            return paddle.stack(keep)

    for threshold, kwargs in (
        (0.5, {}),
        (0.2, {}),
        (0.5, {"max_output": 2}),
        (0.5, {"score_threshold": 0.99}),
    ):
        nms = NMS(iou_threshold=threshold, **kwargs)
        for n, seed in ((6, 0), (6, 1), (9, 2)):
            yield nms(*boxes_and_scores(n, seed))


@program
def soft_nms_and_multiclass(convert):
    """Soft-NMS with a fixed number of trips and masks, applied per class from a dict of configs."""

    def soft_nms(boxes, scores, sigma=0.5, min_score=0.1, method="gaussian"):
        iou = pairwise_iou(boxes, boxes)
        scores = scores.clone()
        done = paddle.zeros_like(scores, dtype="bool")
        picked = []
        for _ in range(scores.shape[0]):
            current = paddle.where(done, paddle.full_like(scores, -1.0), scores)
            best = current.argmax()
            if current[best] < min_score:
                break
            picked.append((best, current[best]))
            done[best] = True
            overlap = iou[best]
            if method == "gaussian":
                decay = paddle.exp(-(overlap**2) / sigma)
            elif method == "linear":
                decay = paddle.where(overlap > 0.3, 1 - overlap, paddle.ones_like(overlap))
            else:
                raise ValueError(f"unknown method {method!r}")
            scores = paddle.where(done, scores, scores * decay)
        return picked, scores

    @convert
    def detect(boxes, class_scores, configs: Dict[str, dict]):
        results = OrderedDict()
        total = 0
        for index, (name, config) in enumerate(configs.items()):
            picked, rescored = soft_nms(boxes, class_scores[:, index], **config)
            results[name] = {"picked": picked, "max": rescored.max()}
            total += len(picked)
        return results, total

    configs = {"cat": {}, "dog": {"method": "linear", "min_score": 0.3}}
    for n, seed in ((4, 0), (4, 5), (5, 1)):
        boxes, a = boxes_and_scores(n, seed)
        _, b = boxes_and_scores(n, seed + 50)
        yield detect(boxes, paddle.stack([a, b], axis=1), configs)
    yield attempt(lambda: detect(boxes, paddle.stack([a, b], 1), {"cat": {"method": "hard"}}))


@program
def hungarian_auction(convert):
    """The auction algorithm for assignment: bids until every row owns a column; epsilon scaling."""

    class Auction:
        def __init__(self, epsilon=0.3, max_rounds=60):
            self.epsilon = epsilon
            self.max_rounds = max_rounds
            self.rounds_used = []

        def assign(self, benefit):
            n = benefit.shape[0]
            prices = paddle.zeros([n])
            owner = paddle.full([n], -1, dtype="int64")
            row_of = paddle.full([n], -1, dtype="int64")
            rounds = 0
            while (row_of < 0).any() and rounds < self.max_rounds:
                row = (row_of < 0).astype("int32").argmax()
                value = benefit[row] - prices
                top, index = paddle.topk(value, k=2)
                column = index[0]
                previous = owner[column]
                if previous >= 0:
                    row_of[previous] = -1
                prices[column] = prices[column] + top[0] - top[1] + self.epsilon
                owner[column] = row
                row_of[row] = column
                rounds += 1
            self.rounds_used.append(rounds)
            return row_of, prices

    auction = Auction()
    auction.assign = convert(auction.assign)
    rng = np.random.RandomState(0)
    for n in (3, 3, 4, 5):
        benefit = paddle.to_tensor(rng.rand(n, n).astype("float32") * 5)
        row_of, prices = auction.assign(benefit)
        yield row_of, prices, benefit[paddle.arange(n), row_of].sum()
    yield auction.rounds_used
    auction.max_rounds = 2
    yield auction.assign(benefit)


@program
def sinkhorn_matching_loss(convert):
    """Entropic optimal transport with a convergence check and gradients through the iterations."""

    @dataclass(frozen=True)
    class SinkhornConfig:
        epsilon: float = 0.1
        max_iter: int = 30
        tol: float = 1e-4
        log_domain: bool = True

    def sinkhorn_log(cost, mu, nu, cfg):
        f, g = paddle.zeros_like(mu), paddle.zeros_like(nu)
        for it in range(cfg.max_iter):
            f_old = f
            f = cfg.epsilon * (
                paddle.log(mu) - paddle.logsumexp((g.unsqueeze(0) - cost) / cfg.epsilon, axis=1)
            )
            g = cfg.epsilon * (
                paddle.log(nu) - paddle.logsumexp((f.unsqueeze(1) - cost) / cfg.epsilon, axis=0)
            )
            if paddle.max(paddle.abs(f - f_old)) < cfg.tol:
                break
        return paddle.exp((f.unsqueeze(1) + g.unsqueeze(0) - cost) / cfg.epsilon), it

    class MatchingLoss(nn.Layer):
        def __init__(self, config: SinkhornConfig, dim=3):
            super().__init__()
            self.config = config
            self.embed = nn.Linear(dim, dim)
            self.iterations = []

        def forward(self, x, y):
            x, y = self.embed(x), self.embed(y)
            cost = ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(-1)
            n, m = cost.shape
            mu = paddle.full([n], 1.0 / n)
            nu = paddle.full([m], 1.0 / m)
            if self.config.log_domain:
                plan, its = sinkhorn_log(cost, mu, nu, self.config)
                self.iterations.append(its)
            else:
                k = paddle.exp(-cost / self.config.epsilon)
                u, v = paddle.ones_like(mu), paddle.ones_like(nu)
                for _ in range(self.config.max_iter):
                    u = mu / (k @ v + 1e-8)
                    v = nu / (k.t() @ u + 1e-8)
                plan = u[:, None] * k * v[None]
            return (plan * cost).sum(), plan

    rng = np.random.RandomState(1)
    base = SinkhornConfig(epsilon=0.5)
    for config in (base, replace(base, log_domain=False, max_iter=5), replace(base, max_iter=3)):
        paddle.seed(3)
        model = MatchingLoss(config)
        converted = convert(model)
        for n, m in ((3, 4), (3, 4), (5, 2)):
            x = paddle.to_tensor(rng.randn(n, 3).astype("float32") * 0.5)
            y = paddle.to_tensor(rng.randn(m, 3).astype("float32") * 0.5)
            loss, plan = converted(x, y)
            loss.backward()
            yield loss, plan.sum(axis=1), model.embed.weight.grad
            model.clear_gradients()
        yield model.iterations, asdict(config)


@program
def kmeans_with_restarts(convert):
    """Lloyd's algorithm, k-means++ seeding from given uniforms, dead clusters re-seeded."""

    class KMeans:
        def __init__(self, k, max_iter=20, tol=1e-4, verbose=0):
            self.k = k
            self.max_iter = max_iter
            self.tol = tol
            self.verbose = verbose
            self.centers_ = None
            self.inertia_ = None
            self.n_iter_ = 0

        def init_centers(self, x, uniforms):
            centers = [x[0]]
            for c in range(1, self.k):
                d = paddle.stack([((x - center) ** 2).sum(-1) for center in centers]).min(axis=0)
                cdf = paddle.cumsum(d / d.sum())
                centers.append(x[(cdf < uniforms[c]).astype("int64").sum()])
            return paddle.stack(centers)

        def fit(self, x, uniforms):
            centers = self.init_centers(x, uniforms)
            for i in range(self.max_iter):
                distance = ((x[:, None] - centers[None]) ** 2).sum(-1)
                label = distance.argmin(axis=1)
                onehot = F.one_hot(label, self.k)
                count = onehot.sum(axis=0)
                new = paddle.matmul(onehot, x, transpose_x=True) / count.clip(min=1).unsqueeze(-1)
                if (count == 0).any():
                    farthest = x[distance.min(axis=1).argmax()]
                    new = paddle.where((count == 0).unsqueeze(-1), farthest.unsqueeze(0), new)
                shift = ((new - centers) ** 2).sum().sqrt()
                centers = new
                if self.verbose:
                    print("iteration", i, "shift < tol:", bool(shift < self.tol))
                if shift < self.tol:
                    break
            self.centers_ = centers
            self.inertia_ = distance.min(axis=1).sum()
            self.n_iter_ = i + 1
            return self

        def predict(self, x):
            return ((x[:, None] - self.centers_[None]) ** 2).sum(-1).argmin(axis=1)

    rng = np.random.RandomState(4)
    blobs = np.concatenate([rng.randn(5, 2) * 0.3 + c for c in ([0, 0], [4, 4], [0, 5])])
    x = paddle.to_tensor(blobs.astype("float32"))
    for k, verbose in ((3, 0), (2, 1)):
        model = KMeans(k, verbose=verbose)
        fit, predict = convert(model.fit), convert(model.predict)
        best = None
        for restart in range(3):
            fitted = fit(x, paddle.to_tensor(rng.rand(k).astype("float32")))
            yield fitted is model, model.n_iter_, model.inertia_
            if best is None or model.inertia_ < best:
                best = model.inertia_
        yield best, predict(x[::4]), model.centers_


@program
def gaussian_mixture_em(convert):
    """EM for a diagonal mixture with tied or free variances; stops on the change of the bound."""

    LOG_2PI = math.log(2 * math.pi)
    Params = namedtuple("Params", ["weights", "means", "log_vars"])

    def log_prob(x, p):
        diff = x.unsqueeze(1) - p.means.unsqueeze(0)
        quad = (diff**2 * paddle.exp(-p.log_vars)).sum(-1)
        return -0.5 * (quad + p.log_vars.sum(-1) + x.shape[-1] * LOG_2PI) + paddle.log(p.weights)

    def m_step(x, resp, tied):
        nk = resp.sum(axis=0) + 1e-6
        means = resp.t() @ x / nk.unsqueeze(1)
        var = resp.t() @ (x * x) / nk.unsqueeze(1) - means**2
        if tied:
            var = (var * nk.unsqueeze(1)).sum(0, keepdim=True) / nk.sum()
            var = var.expand(means.shape)
        return Params(nk / nk.sum(), means, paddle.log(var.clip(min=1e-3)))

    @convert
    def fit(x, params, tied=False, max_iter=25, tol=1e-3):
        lower = None
        converged = False
        trace = []
        for it in range(1, max_iter + 1):
            joint = log_prob(x, params)
            norm = paddle.logsumexp(joint, axis=1)
            bound = norm.mean()
            trace.append(bound)
            if lower is not None and paddle.abs(bound - lower) < tol:
                converged = True
                break
            lower = bound
            params = m_step(x, paddle.exp(joint - norm.unsqueeze(1)), tied)
        return params, dict(n_iter=it, converged=converged, bound=lower, trace=trace)

    rng = np.random.RandomState(7)
    data = np.concatenate([rng.randn(8, 2) * 0.5, rng.randn(6, 2) + 3]).astype("float32")
    start = Params(
        paddle.to_tensor([0.5, 0.5]),
        paddle.to_tensor([[0.5, 0.5], [2.0, 2.0]]),
        paddle.zeros([2, 2]),
    )
    yield fit(paddle.to_tensor(data), start)
    yield fit(paddle.to_tensor(data[::-1].copy()), start, tied=True)
    yield fit(paddle.to_tensor(data), start, max_iter=2)
    yield fit(paddle.to_tensor(data[:9]), start, tol=0.5)


@program
def dbscan(convert):
    """Density clustering with a work list of point indices, as in the textbook."""

    NOISE, UNSEEN = -1, -2

    class DBSCAN:
        def __init__(self, eps, min_samples=3):
            self.eps = eps
            self.min_samples = min_samples

        def fit_predict(self, x):
            n = x.shape[0]
            near = paddle.cdist(x, x) <= self.eps
            core = near.astype("int64").sum(axis=1) >= self.min_samples
            labels = [UNSEEN] * n
            cluster = 0
            for i in range(n):
                if labels[i] != UNSEEN:
                    continue
                if not core[i]:
                    labels[i] = NOISE
                    continue
                labels[i] = cluster
                queue = [j for j in range(n) if near[i, j] and j != i]
                while queue:
                    j = queue.pop()
                    if labels[j] == NOISE:
                        labels[j] = cluster
                    if labels[j] != UNSEEN:
                        continue
                    labels[j] = cluster
                    if core[j]:
                        queue.extend(k for k in range(n) if near[j, k] and labels[k] == UNSEEN)
                cluster += 1
            return paddle.to_tensor(labels), cluster

    rng = np.random.RandomState(2)
    points = np.concatenate([rng.randn(4, 2) * 0.2, rng.randn(4, 2) * 0.2 + 3, [[10.0, 10.0]]])
    x = paddle.to_tensor(points.astype("float32"))
    for eps in (1.0, 0.05, 20.0):
        model = DBSCAN(eps)
        predict = convert(model.fit_predict)
        yield predict(x)
        yield predict(x[:5])


@program
def dbscan_by_label_propagation(convert):
    """The same clusters by spreading the smallest label until nothing changes."""

    @convert
    def connected_components(adjacency, max_sweeps=None):
        n = adjacency.shape[0]
        labels = paddle.arange(n)
        big = paddle.full([n, n], n, dtype="int64")
        changed = True
        sweeps = 0
        while changed:
            spread = paddle.where(adjacency, labels.unsqueeze(0).expand([n, n]), big).min(axis=1)
            updated = paddle.minimum(labels, spread)
            changed = not paddle.equal_all(updated, labels)
            labels = updated
            sweeps += 1
            if max_sweeps and sweeps >= max_sweeps:
                break
        unique, inverse = paddle.unique(labels, return_inverse=True)
        return inverse, unique.shape[0], sweeps

    rng = np.random.RandomState(5)
    for n, p in ((5, 0.2), (5, 0.6), (7, 0.15)):
        a = rng.rand(n, n) < p
        yield connected_components(paddle.to_tensor(a | a.T | np.eye(n, dtype=bool)))
    chain = np.eye(6, k=1) + np.eye(6, k=-1) + np.eye(6)
    yield connected_components(paddle.to_tensor(chain > 0))
    yield connected_components(paddle.to_tensor(chain > 0), max_sweeps=2)


@program
def stable_matching(convert):
    """Gale-Shapley with preference tensors and a free list; proposals counted per side."""

    @convert
    def gale_shapley(proposer_prefs, receiver_rank):
        n = proposer_prefs.shape[0]
        engaged_to = paddle.full([n], -1, dtype="int64")
        next_choice = paddle.zeros([n], dtype="int64")
        free = list(range(n))
        proposals = Counter()
        while free:
            p = free.pop(0)
            r = proposer_prefs[p, next_choice[p]]
            next_choice[p] += 1
            proposals[p] += 1
            rival = engaged_to[r]
            if rival < 0:
                engaged_to[r] = p
            elif receiver_rank[r, p] < receiver_rank[r, rival]:
                engaged_to[r] = p
                free.append(int(rival))
            else:
                free.append(p)
        return engaged_to, dict(proposals)

    rng = np.random.RandomState(8)
    for n in (3, 3, 4):
        prefs = paddle.to_tensor(np.stack([rng.permutation(n) for _ in range(n)]))
        rank = paddle.to_tensor(np.stack([rng.permutation(n) for _ in range(n)]))
        yield gale_shapley(prefs, rank)


@program
def online_kmeans_codebook(convert):
    """A VQ codebook with EMA updates in train mode, frozen in eval, dead codes replaced."""

    class Codebook(nn.Layer):
        def __init__(self, n_codes, dim, decay=0.9, threshold=0.05):
            super().__init__()
            self.decay, self.threshold, self.n_codes = decay, threshold, n_codes
            self.register_buffer("embed", paddle.randn([n_codes, dim]))
            self.register_buffer("cluster_size", paddle.ones([n_codes]))
            self.register_buffer("embed_sum", self.embed.clone())
            self.replaced = 0

        def replace_dead(self, flat):
            dead = self.cluster_size < self.threshold
            if dead.any():
                donors = flat[paddle.arange(self.n_codes) % flat.shape[0]]
                self.embed.set_value(paddle.where(dead.unsqueeze(1), donors, self.embed))
                self.cluster_size.set_value(
                    paddle.where(dead, paddle.ones_like(self.cluster_size), self.cluster_size)
                )

        def forward(self, z):
            flat = z.reshape([-1, z.shape[-1]])
            distance = (
                (flat**2).sum(1, keepdim=True) - 2 * flat @ self.embed.t() + (self.embed**2).sum(1)
            )
            index = distance.argmin(axis=1)
            quantized = F.embedding(index, self.embed).reshape(z.shape)
            if self.training:
                with paddle.no_grad():
                    onehot = F.one_hot(index, self.n_codes)
                    size = self.decay * self.cluster_size + (1 - self.decay) * onehot.sum(0)
                    total = self.decay * self.embed_sum + (1 - self.decay) * onehot.t() @ flat
                    self.cluster_size.set_value(size)
                    self.embed_sum.set_value(total)
                    self.embed.set_value(total / (size.unsqueeze(1) + 1e-5))
                    self.replace_dead(flat)
            commit = F.mse_loss(quantized.detach(), z)
            quantized = z + (quantized - z).detach()
            usage = paddle.bincount(index, minlength=self.n_codes)
            return quantized, commit, usage

    paddle.seed(5)
    book = Codebook(4, 2, decay=0.5, threshold=0.2)
    model = convert(book)
    rng = np.random.RandomState(3)
    for step in range(4):
        z = paddle.to_tensor(rng.randn(2, 3, 2).astype("float32"), stop_gradient=False)
        q, commit, usage = model(z)
        (q.sum() + commit).backward()
        yield q, commit, usage, z.grad
    yield book
    book.eval()
    yield model(paddle.to_tensor(rng.randn(1, 5, 2).astype("float32")))
    yield book.cluster_size
