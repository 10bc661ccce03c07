"""Parts of detectors: assigners, box coders, losses, suppression, and tracking by two passes."""

import math
from dataclasses import dataclass, field

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def bbox_iou(a, b, mode="iou", eps=1e-9):
    """IoU or GIoU of each box of ``a`` with each of ``b``."""
    a, b = a.unsqueeze(1), b.unsqueeze(0)
    lt = paddle.maximum(a[..., :2], b[..., :2])
    rb = paddle.minimum(a[..., 2:], b[..., 2:])
    wh = (rb - lt).clip(min=0)
    overlap = wh[..., 0] * wh[..., 1]
    area_a = (a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1])
    area_b = (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    union = area_a + area_b - overlap + eps
    iou = overlap / union
    if mode == "iou":
        return iou
    elif mode == "giou":
        enclose = paddle.maximum(a[..., 2:], b[..., 2:]) - paddle.minimum(a[..., :2], b[..., :2])
        enclose_area = enclose[..., 0] * enclose[..., 1] + eps
        return iou - (enclose_area - union) / enclose_area
    raise NotImplementedError(f"mode {mode} is not supported")


def random_boxes(rng, n, size=32.0):
    xy = rng.uniform(0, size, (n, 2))
    wh = rng.uniform(4, size / 2, (n, 2))
    return paddle.to_tensor(np.concatenate([xy, xy + wh], -1).astype("float32"))


@program
def anchors_assigned_by_atss(convert):
    """Adaptive training sample selection: the threshold of each object from its own anchors."""

    class ATSSAssigner:
        __shared__ = ["num_classes"]

        def __init__(self, topk=3, num_classes=4, force_gt_matching=False, eps=1e-9):
            self.topk = topk
            self.num_classes = num_classes
            self.force_gt_matching = force_gt_matching
            self.eps = eps

        @convert
        @paddle.no_grad()
        def __call__(self, anchors, num_per_level, gt_labels, gt_bboxes, bg_index):
            num_anchors, num_gt = anchors.shape[0], gt_bboxes.shape[0]
            if num_gt == 0:
                return (
                    paddle.full([num_anchors], bg_index, dtype="int64"),
                    paddle.zeros([num_anchors, 4]),
                )
            ious = bbox_iou(gt_bboxes, anchors)
            centers = (anchors[:, :2] + anchors[:, 2:]) / 2
            gt_centers = (gt_bboxes[:, :2] + gt_bboxes[:, 2:]) / 2
            dist = (gt_centers.unsqueeze(1) - centers.unsqueeze(0)).norm(2, axis=-1)
            candidates, start = [], 0
            for level in paddle.split(dist, num_per_level, axis=-1):
                k = min(self.topk, level.shape[-1])
                _, idx = paddle.topk(level, k, axis=-1, largest=False)
                candidates.append(idx + start)
                start += level.shape[-1]
            idx = paddle.concat(candidates, axis=-1)
            is_topk = F.one_hot(idx, num_anchors).sum(axis=-2)
            picked = paddle.take_along_axis(ious, idx, axis=-1)
            thr = picked.mean(axis=-1, keepdim=True) + picked.std(axis=-1, keepdim=True)
            inside = (
                paddle.concat(
                    [
                        centers.unsqueeze(0) - gt_bboxes[:, :2].unsqueeze(1),
                        gt_bboxes[:, 2:].unsqueeze(1) - centers.unsqueeze(0),
                    ],
                    axis=-1,
                ).min(axis=-1)
                > self.eps
            )
            mask = is_topk * (ious > thr).astype(ious.dtype) * inside.astype(ious.dtype)
            mask_sum = mask.sum(axis=-2)
            if mask_sum.max() > 1:
                multiple = (mask_sum.unsqueeze(0) > 1).tile([num_gt, 1])
                best = F.one_hot(ious.argmax(axis=0), num_gt).transpose([1, 0])
                mask = paddle.where(multiple, best, mask)
                mask_sum = mask.sum(axis=-2)
            if self.force_gt_matching:
                forced = F.one_hot(ious.argmax(axis=-1), num_anchors)
                taken = forced.sum(axis=-2, keepdim=True) == 1
                mask = paddle.where(taken.tile([num_gt, 1]), forced, mask)
                mask_sum = mask.sum(axis=-2)
            gt_index = mask.argmax(axis=-2)
            labels = paddle.gather(gt_labels, gt_index)
            labels = paddle.where(mask_sum > 0, labels, paddle.full_like(labels, bg_index))
            return labels, paddle.gather(gt_bboxes, gt_index)

    rng = np.random.RandomState(0)
    anchors = random_boxes(rng, 12)
    for force in (False, True):
        assigner = ATSSAssigner(topk=2 + force, force_gt_matching=force)
        for n in (2, 4, 0, 3):
            labels = paddle.to_tensor(rng.randint(0, 4, n).astype("int64"))
            yield assigner(anchors, [8, 3, 1], labels, random_boxes(rng, n), bg_index=4)


@program
def simota_with_dynamic_k(convert):
    """YOLOX's assigner: each object takes as many cheap anchors as its overlaps add up to."""

    @convert
    def assign(scores, boxes, gt_boxes, gt_labels, candidate_topk=5, iou_weight=3.0):
        ious = bbox_iou(boxes, gt_boxes)
        onehot = F.one_hot(gt_labels, scores.shape[-1])
        cls_cost = F.binary_cross_entropy(
            scores.unsqueeze(1).tile([1, gt_boxes.shape[0], 1]),
            onehot.unsqueeze(0).tile([scores.shape[0], 1, 1]),
            reduction="none",
        ).sum(-1)
        cost = cls_cost + iou_weight * -paddle.log(ious + 1e-8)
        matching = paddle.zeros_like(cost)
        topk_ious, _ = paddle.topk(ious, min(candidate_topk, ious.shape[0]), axis=0)
        dynamic_ks = paddle.clip(topk_ious.sum(0).astype("int32"), min=1)
        for gt_idx in range(gt_boxes.shape[0]):
            k = dynamic_ks[gt_idx].item()
            _, pos = paddle.topk(cost[:, gt_idx], k=k, largest=False)
            matching[pos, gt_idx] = 1.0
        conflicts = matching.sum(1) > 1
        if conflicts.sum() > 0:
            best = paddle.argmin(cost, axis=1)
            only = F.one_hot(best, gt_boxes.shape[0])
            matching = paddle.where(conflicts.unsqueeze(-1), only, matching)
        fg = matching.sum(1) > 0
        matched = matching[fg].argmax(axis=1)
        return fg, matched, (matching * ious).sum(1)[fg]

    rng = np.random.RandomState(3)
    for n, m in ((10, 2), (10, 4), (6, 1), (10, 2)):
        gts = random_boxes(rng, m)
        near = gts.numpy()[rng.randint(0, m, n)] + rng.randn(n, 4).astype("float32")
        scores = paddle.to_tensor(rng.uniform(0.05, 0.95, (n, 3)).astype("float32"))
        labels = paddle.to_tensor(rng.randint(0, 3, m).astype("int64"))
        yield assign(scores, paddle.to_tensor(near), gts, labels)


@program
def matrix_nms_for_masks(convert):
    """SOLO's parallel suppression of masks, with a linear and a gaussian kernel."""

    @convert
    def matrix_nms(seg_masks, cate_labels, cate_scores, kernel="gaussian", sigma=2.0, update=0.05):
        n = cate_labels.shape[0]
        if n == 0:
            return cate_scores
        flat = seg_masks.reshape([n, -1]).astype("float32")
        sum_masks = flat.sum(axis=1)
        inter = paddle.mm(flat, flat.transpose([1, 0]))
        expanded = sum_masks.expand([n, n])
        iou = paddle.triu(inter / (expanded + expanded.t() - inter), diagonal=1)
        lab = cate_labels.expand([n, n])
        same = paddle.triu((lab == lab.t()).astype("float32"), diagonal=1)
        compensate = (iou * same).max(0).expand([n, n]).t()
        decay = iou * same
        if kernel == "gaussian":
            coef = (paddle.exp(-sigma * decay**2) / paddle.exp(-sigma * compensate**2)).min(0)
        elif kernel == "linear":
            coef = ((1 - decay) / (1 - compensate)).min(0)
        else:
            raise NotImplementedError(kernel)
        scores = cate_scores * coef
        keep = paddle.nonzero(scores > update).flatten()
        if keep.numel() == 0:
            return scores[:1] * 0
        return paddle.sort(paddle.gather(scores, keep), descending=True)

    rng = np.random.RandomState(9)
    for n in (5, 3, 0, 7):
        masks = paddle.to_tensor(rng.rand(n, 4, 4) > 0.4)
        labels = paddle.to_tensor(rng.randint(0, 2, n).astype("int64"))
        scores = paddle.to_tensor(-np.sort(-rng.rand(n)).astype("float32"))
        for kernel in ("gaussian", "linear"):
            yield matrix_nms(masks, labels, scores, kernel=kernel)
        yield matrix_nms(masks, labels, scores, update=2.0)
    yield attempt(lambda: matrix_nms(masks, labels, scores, kernel="box"))


@program
def hard_example_mining_loss(convert):
    """SSD's loss: as many hard negatives as a multiple of the positives, per image."""

    class MultiBoxLoss(nn.Layer):
        def __init__(self, neg_pos_ratio=3, alpha=1.0):
            super().__init__()
            self.ratio = neg_pos_ratio
            self.alpha = alpha
            self.meter = {"pos": [], "neg": []}

        def mine(self, conf_loss, pos):
            conf = conf_loss.clone()
            conf[pos] = 0.0
            order = conf.argsort(axis=1, descending=True)
            rank = order.argsort(axis=1)
            num_neg = paddle.clip(
                pos.astype("int64").sum(axis=1, keepdim=True) * self.ratio, max=pos.shape[1] - 1
            )
            return paddle.logical_and(rank < num_neg, paddle.logical_not(pos))

        @convert
        def forward(self, loc, conf, loc_t, conf_t):
            pos = conf_t > 0
            if not pos.any():
                return loc.sum() * 0.0, conf.sum() * 0.0
            loc_loss = F.smooth_l1_loss(loc[pos], loc_t[pos], reduction="sum")
            every = F.cross_entropy(conf, conf_t, reduction="none").squeeze(-1)
            neg = self.mine(every.detach(), pos)
            conf_loss = (every * paddle.logical_or(pos, neg).astype(every.dtype)).sum()
            total = pos.astype("float32").sum()
            self.meter["pos"].append(total)
            self.meter["neg"].append(neg.astype("float32").sum())
            return self.alpha * loc_loss / total, conf_loss / total

    rng = np.random.RandomState(4)
    criterion = MultiBoxLoss(neg_pos_ratio=2)
    for batch, empty in ((2, False), (3, False), (2, True), (2, False)):
        loc = paddle.to_tensor(rng.randn(batch, 6, 4).astype("float32"), stop_gradient=False)
        conf = paddle.to_tensor(rng.randn(batch, 6, 3).astype("float32"), stop_gradient=False)
        target = rng.randint(0, 3, (batch, 6)) * (rng.rand(batch, 6) > 0.5) * (not empty)
        loc_t = paddle.to_tensor(rng.randn(batch, 6, 4).astype("float32"))
        a, b = criterion(loc, conf, loc_t, paddle.to_tensor(target.astype("int64")))
        (a + b).backward()
        yield a, b, loc.grad, conf.grad
    yield criterion.meter


@program
def byte_track_in_two_passes(convert):
    """Tracks with states and ages; confident detections are matched first, weak ones after."""

    @dataclass
    class Track:
        ident: int
        box: paddle.Tensor
        velocity: paddle.Tensor
        score: float
        missed: int = 0
        history: list = field(default_factory=list)

        def predict(self):
            self.box = self.box + self.velocity
            return self.box

        def update(self, box, score, momentum=0.5):
            self.velocity = momentum * self.velocity + (1 - momentum) * (box - self.box)
            self.box = box
            self.score = score
            self.missed = 0
            self.history.append(box[:2])

    @convert
    def greedy_match(tracks, dets, threshold):
        """Pairs (track, detection) in the order of their overlap."""
        pairs = []
        if len(tracks) == 0 or dets.shape[0] == 0:
            return pairs
        ious = bbox_iou(paddle.stack([t.box for t in tracks]), dets)
        for _ in range(min(ious.shape)):
            flat = ious.flatten().argmax()
            best = ious.max()
            if best < threshold:
                break
            row, col = int(flat) // ious.shape[1], int(flat) % ious.shape[1]
            pairs.append((row, col))
            ious[row, :] = -1.0
            ious[:, col] = -1.0
        return pairs

    class ByteTracker:
        def __init__(self, high=0.6, low=0.1, max_age=2):
            self.high, self.low, self.max_age = high, low, max_age
            self.tracks, self.next_id = [], 0

        def step(self, boxes, scores):
            for track in self.tracks:
                track.predict()
            strong = paddle.nonzero(scores >= self.high).flatten()
            weak = paddle.nonzero((scores < self.high) & (scores > self.low)).flatten()
            pending = list(self.tracks)
            unmatched = None
            for index, threshold in ((strong, 0.3), (weak, 0.5)):
                chosen = paddle.gather(boxes, index) if index.shape[0] else paddle.zeros([0, 4])
                pairs = greedy_match(pending, chosen, threshold)
                for t, d in pairs:
                    pending[t].update(chosen[d], float(scores[index[d]]))
                if unmatched is None:
                    taken = {d for _, d in pairs}
                    unmatched = [i for i in range(chosen.shape[0]) if i not in taken]
                    fresh = [chosen[i] for i in unmatched]
                matched = {t for t, _ in pairs}
                pending = [t for i, t in enumerate(pending) if i not in matched]
            for track in pending:
                track.missed += 1
            self.tracks = [t for t in self.tracks if t.missed <= self.max_age]
            for box in fresh:
                self.tracks.append(Track(self.next_id, box, paddle.zeros([4]), 1.0))
                self.next_id += 1
            return [(t.ident, t.box, t.missed) for t in self.tracks]

    rng = np.random.RandomState(2)
    base = random_boxes(rng, 3).numpy()
    tracker = ByteTracker()
    for frame in range(5):
        seen = base[: 3 - (frame == 2)] + frame + rng.randn(3 - (frame == 2), 4) * 0.2
        scores = rng.uniform(0.2, 1.0, seen.shape[0])
        yield tracker.step(
            paddle.to_tensor(seen.astype("float32")), paddle.to_tensor(scores.astype("float32"))
        )
    yield tracker.tracks


@program
def multi_level_proposals(convert):
    """An RPN: anchors by level, deltas decoded and clipped, the best of each level, then all."""

    def anchors_of(stride, h, w, sizes, ratios):
        base = []
        for size in sizes:
            for ratio in ratios:
                bw, bh = size * math.sqrt(ratio), size / math.sqrt(ratio)
                base.append([-bw / 2, -bh / 2, bw / 2, bh / 2])
        base = paddle.to_tensor(base)
        ys, xs = paddle.meshgrid(paddle.arange(h) * stride, paddle.arange(w) * stride)
        shift = paddle.stack([xs, ys, xs, ys], axis=-1).reshape([-1, 1, 4]).astype("float32")
        return (shift + base.unsqueeze(0)).reshape([-1, 4])

    class RPNHead(nn.Layer):
        def __init__(self, channels=4, sizes=(8,), ratios=(0.5, 1.0), pre=6, post=5):
            super().__init__()
            self.conv = nn.Conv2D(channels, channels, 3, padding=1)
            self.k = len(sizes) * len(ratios)
            self.score = nn.Conv2D(channels, self.k, 1)
            self.delta = nn.Conv2D(channels, self.k * 4, 1)
            self.sizes, self.ratios, self.pre, self.post = sizes, ratios, pre, post

        @convert
        def forward(self, feats, im_shape, min_size=1.0):
            all_boxes, all_scores = [], []
            for level, feat in enumerate(feats):
                hidden = F.relu(self.conv(feat))
                h, w = feat.shape[2:]
                scores = self.score(hidden).transpose([0, 2, 3, 1]).reshape([-1])
                deltas = self.delta(hidden).transpose([0, 2, 3, 1]).reshape([-1, 4])
                anchors = anchors_of(4 * 2**level, h, w, self.sizes, self.ratios)
                top, idx = paddle.topk(scores, min(self.pre, scores.shape[0]))
                a, d = paddle.gather(anchors, idx), paddle.gather(deltas, idx)
                wh = a[:, 2:] - a[:, :2]
                ctr = a[:, :2] + wh / 2 + d[:, :2] * wh
                size = wh * paddle.exp(paddle.clip(d[:, 2:], max=math.log(1000.0 / 16)))
                boxes = paddle.concat([ctr - size / 2, ctr + size / 2], axis=-1)
                boxes[:, 0::2] = paddle.clip(boxes[:, 0::2], 0, im_shape[1])
                boxes[:, 1::2] = paddle.clip(boxes[:, 1::2], 0, im_shape[0])
                keep = ((boxes[:, 2:] - boxes[:, :2]) > min_size).all(axis=-1)
                if not keep.any():
                    continue
                all_boxes.append(paddle.masked_select(boxes, keep.unsqueeze(-1)).reshape([-1, 4]))
                all_scores.append(top[keep])
            if not all_boxes:
                return paddle.zeros([0, 4]), paddle.zeros([0])
            boxes, scores = paddle.concat(all_boxes), paddle.concat(all_scores)
            best = scores.argsort(descending=True)[: self.post]
            return boxes[best], F.sigmoid(scores[best])

    paddle.seed(1)
    head = RPNHead()
    head.eval()
    for sizes, shape in (((4, 2), (16, 16)), ((3, 2), (12, 10)), ((4, 2), (16, 16))):
        feats = [paddle.randn([1, 4, s, s]) for s in sizes]
        yield head(feats, shape)
    yield head([paddle.randn([1, 4, 2, 2])], (0.5, 0.5))
