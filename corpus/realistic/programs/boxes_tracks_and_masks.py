"""Detection: anchors, suppression, tracking, metrics and augmentation."""

from collections import deque
from dataclasses import dataclass

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def box_area(b):
    return (b[..., 2] - b[..., 0]).clip(min=0) * (b[..., 3] - b[..., 1]).clip(min=0)


def box_iou(a, b):
    lt = paddle.maximum(a[:, None, :2], b[None, :, :2])
    rb = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clip(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (box_area(a)[:, None] + box_area(b)[None, :] - inter + 1e-9)


def random_boxes(rng, n, size=20.0):
    xy = rng.rand(n, 2) * size
    wh = 2 + rng.rand(n, 2) * size / 2
    return paddle.to_tensor(np.concatenate([xy, xy + wh], 1).astype("float32"))


def go_back(result):
    """backward() from what has a gradient among the results."""
    parts = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, tuple)
        else [result]
    )
    parts = [p for p in parts if isinstance(p, paddle.Tensor) and not p.stop_gradient]
    if parts:
        sum((p * (i + 1)).sum() for i, p in enumerate(parts)).backward()


# post-processing of a detector, class by class
@dataclass
class Detection:
    label: str
    score: float
    box: list


class PostProcessor:
    def __init__(self, names, score_thr=0.3, iou_thr=0.5, max_det=5):
        self.names = names
        self.score_thr = score_thr
        self.iou_thr = iou_thr
        self.max_det = max_det

    def nms(self, boxes, scores):
        order = scores.argsort(descending=True)
        keep = []
        while order.shape[0] > 0:
            i = order[0]
            keep.append(int(i))
            if order.shape[0] == 1:
                break
            rest = order[1:]
            iou = box_iou(boxes[i].unsqueeze(0), boxes[rest])[0]
            order = rest[iou <= self.iou_thr]
        return keep

    def __call__(self, boxes, probs, image_size=(20, 20)):
        h, w = image_size
        boxes = boxes.clone()
        boxes[:, 0::2] = boxes[:, 0::2].clip(0, w)
        boxes[:, 1::2] = boxes[:, 1::2].clip(0, h)
        found = []
        for c, name in enumerate(self.names):
            scores = probs[:, c]
            mask = scores > self.score_thr
            if not mask.any():
                continue
            b, s = boxes[mask], scores[mask]
            for k in self.nms(b, s):
                found.append(
                    Detection(name, round(s[k].item(), 4), [round(v, 2) for v in b[k].tolist()])
                )
        found.sort(key=lambda d: -d.score)
        for d in found[: self.max_det]:
            print(f"{d.label:>5} {d.score:.2f} {d.box}")
        return found[: self.max_det]


def calls_post():
    rng = np.random.RandomState(30)

    def one(n, scale=1.0):
        return random_boxes(rng, n), paddle.to_tensor((rng.rand(n, 3) * scale).astype("float32"))

    return [(one(8), {}), (one(8, 0.2), {}), (one(12), {"image_size": (15, 30)}), (one(1), {})]


@program
def detections_class_by_class(convert):
    """Clipping, a threshold and non-maximum suppression for each class, the best ones printed."""
    post = PostProcessor(["cat", "dog", "car"])
    run = convert(post.__call__)
    for args, kw in calls_post():
        yield attempt(lambda: run(*args, **kw))


# anchors, matching and the loss
class AnchorLoss(paddle.nn.Layer):
    def __init__(self, strides=(4, 8), size=16, pos=0.5, neg=0.4):
        super().__init__()
        self.pos, self.neg = pos, neg
        anchors = []
        for s in strides:
            for y in range(0, size, s):
                for x in range(0, size, s):
                    anchors.append([x, y, x + s, y + s])
        self.register_buffer("anchors", paddle.to_tensor(anchors, dtype="float32"))

    def encode(self, gt):
        a = self.anchors
        aw, ah = a[:, 2] - a[:, 0], a[:, 3] - a[:, 1]
        gw, gh = gt[:, 2] - gt[:, 0], gt[:, 3] - gt[:, 1]
        dx = ((gt[:, 0] + gt[:, 2]) - (a[:, 0] + a[:, 2])) / 2 / aw
        dy = ((gt[:, 1] + gt[:, 3]) - (a[:, 1] + a[:, 3])) / 2 / ah
        return paddle.stack([dx, dy, paddle.log(gw / aw), paddle.log(gh / ah)], axis=1)

    def match(self, gt):
        iou = box_iou(self.anchors, gt)
        best = iou.max(axis=1)
        which = iou.argmax(axis=1)
        state = paddle.full([len(self.anchors)], -1, dtype="int64")
        state[best < self.neg] = 0
        state[best >= self.pos] = 1
        for g in range(gt.shape[0]):
            a = iou[:, g].argmax()
            state[a] = 1
            which[a] = g
        return state, which

    def forward(self, cls, reg, targets):
        cls_loss, reg_loss, n_pos = 0.0, 0.0, 0
        for i, gt in enumerate(targets):
            if gt is None or len(gt) == 0:
                cls_loss = cls_loss + F.binary_cross_entropy_with_logits(
                    cls[i], paddle.zeros_like(cls[i])
                )
                continue
            state, which = self.match(gt)
            used = state >= 0
            positive = state == 1
            cls_loss = cls_loss + F.binary_cross_entropy_with_logits(
                cls[i][used], positive.astype("float32")[used]
            )
            goal = self.encode(gt[which])
            reg_loss = reg_loss + F.smooth_l1_loss(
                reg[i][positive], goal[positive], reduction="sum"
            )
            n_pos += int(positive.sum())
        return {"cls": cls_loss / len(targets), "reg": reg_loss / max(n_pos, 1), "positives": n_pos}


def calls_anchor():
    rng = np.random.RandomState(31)

    def heads(b):
        c = paddle.to_tensor(rng.randn(b, 20).astype("float32"))
        r = paddle.to_tensor(rng.randn(b, 20, 4).astype("float32"))
        c.stop_gradient = r.stop_gradient = False
        return c, r

    return [
        ((*heads(2), [random_boxes(rng, 2, 10), random_boxes(rng, 1, 10)]), {}),
        ((*heads(2), [None, random_boxes(rng, 3, 10)]), {}),
        ((*heads(1), [None]), {}),
        ((*heads(2), [random_boxes(rng, 1, 10), random_boxes(rng, 2, 10)]), {}),
    ]


@program
def anchors_and_their_loss(convert):
    """Anchors as a buffer, matched to boxes, with a loss over those that count."""
    loss = AnchorLoss()
    run = convert(loss)
    for args, kw in calls_anchor():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw


# a tracker that keeps tracks over frames
class Track:
    _next = 1

    def __init__(self, box, ident):
        self.id = ident
        self.box = box
        self.hits = 1
        self.missed = 0
        self.trail = deque([box.tolist()[:2]], maxlen=3)

    def update(self, box, momentum=0.6):
        self.box = momentum * box + (1 - momentum) * self.box
        self.hits += 1
        self.missed = 0
        self.trail.append([round(v, 2) for v in self.box[:2].tolist()])


class Tracker:
    def __init__(self, iou_thr=0.3, max_missed=1):
        self.tracks = []
        self.iou_thr = iou_thr
        self.max_missed = max_missed
        self.counter = 0

    def update(self, boxes):
        unmatched = set(range(boxes.shape[0]))
        if self.tracks and boxes.shape[0]:
            iou = box_iou(paddle.stack([t.box for t in self.tracks]), boxes).numpy()
            pairs = sorted(
                ((iou[i, j], i, j) for i in range(iou.shape[0]) for j in range(iou.shape[1])),
                reverse=True,
            )
            taken = set()
            for score, i, j in pairs:
                if score < self.iou_thr:
                    break
                if i in taken or j not in unmatched:
                    continue
                taken.add(i)
                unmatched.discard(j)
                self.tracks[i].update(boxes[j])
            for i, t in enumerate(self.tracks):
                if i not in taken:
                    t.missed += 1
        else:
            for t in self.tracks:
                t.missed += 1
        self.tracks = [t for t in self.tracks if t.missed <= self.max_missed]
        for j in sorted(unmatched):
            self.counter += 1
            self.tracks.append(Track(boxes[j], self.counter))
        return {t.id: t.hits for t in self.tracks}


def calls_tracker():
    rng = np.random.RandomState(32)
    base = random_boxes(rng, 3)
    empty = paddle.zeros([0, 4])
    return [
        ((base,), {}),
        ((base + 0.5,), {}),
        ((base[1:] + 1.0,), {}),
        ((empty,), {}),
        ((base + 1.5,), {}),
    ]


@program
def tracks_matched_by_overlap(convert):
    """Tracks over frames: pairs in order of overlap, a moving box, tracks that are lost."""
    tracker = Tracker()
    run = convert(tracker.update)
    for args, kw in calls_tracker():
        yield attempt(lambda: run(*args, **kw)), tracker.tracks, tracker.counter


# average precision with NumPy
def average_precision(recall, precision):
    r = np.concatenate([[0.0], recall, [1.0]])
    p = np.concatenate([[1.0], precision, [0.0]])
    p = np.maximum.accumulate(p[::-1])[::-1]
    idx = np.where(r[1:] != r[:-1])[0]
    return float(np.sum((r[idx + 1] - r[idx]) * p[idx + 1]))


def evaluate_map(predictions, truths, thresholds=(0.5, 0.75)):
    """predictions: per image (boxes, scores); truths: per image boxes."""
    result = {}
    n_truth = sum(t.shape[0] for t in truths)
    for thr in thresholds:
        records = []
        for (boxes, scores), gt in zip(predictions, truths):
            used = np.zeros(gt.shape[0], dtype=bool)
            order = np.argsort(-scores.numpy(), kind="stable")
            iou = box_iou(boxes, gt).numpy() if gt.shape[0] else None
            for k in order:
                hit = False
                if iou is not None:
                    j = int(iou[k].argmax())
                    if iou[k, j] >= thr and not used[j]:
                        used[j] = True
                        hit = True
                records.append((float(scores[int(k)]), hit))
        records.sort(key=lambda r: r[0], reverse=True)
        tp = np.cumsum([hit for _, hit in records])
        recall = tp / max(n_truth, 1)
        precision = tp / (np.arange(len(records)) + 1)
        result[f"AP{int(thr * 100)}"] = round(average_precision(recall, precision), 4)
    result["mAP"] = sum(result.values()) / len(result)
    print(", ".join(f"{k}={v:.3f}" for k, v in result.items()))
    return result


def calls_map():
    rng = np.random.RandomState(33)

    def images(*sizes):
        predictions, truths = [], []
        for n, extra in sizes:
            gt = random_boxes(rng, n)
            noise = paddle.to_tensor(rng.randn(n, 4).astype("float32") * 0.7)
            boxes = paddle.concat([gt + noise, random_boxes(rng, extra)])
            predictions.append((boxes, paddle.to_tensor(rng.rand(n + extra).astype("float32"))))
            truths.append(gt)
        return predictions, truths

    return [
        (images((3, 2), (2, 1)), {}),
        (images((4, 0)), {"thresholds": (0.3, 0.5, 0.7)}),
        (images((1, 1), (2, 2), (3, 1)), {}),
    ]


@program
def average_precision_by_numpy(convert):
    """Predictions matched to boxes, precision over recall, at several thresholds."""
    run = convert(evaluate_map)
    for args, kw in calls_map():
        yield attempt(lambda: run(*args, **kw))


# augmentation pipeline
class Compose:
    def __init__(self, transforms, seed=0):
        self.transforms = transforms
        self.rng = np.random.RandomState(seed)
        self.applied = []

    def __call__(self, image, boxes=None):
        names = []
        for t, prob in self.transforms:
            if self.rng.rand() >= prob:
                continue
            image, boxes = t(image, boxes, self.rng)
            names.append(type(t).__name__)
        self.applied.append("+".join(names) or "none")
        return image, boxes


class HorizontalFlip:
    def __call__(self, image, boxes, rng):
        w = image.shape[-1]
        image = image.flip(axis=[-1])
        if boxes is not None:
            boxes = boxes.clone()
            boxes[:, [0, 2]] = w - boxes[:, [2, 0]]
        return image, boxes


class RandomErase:
    def __init__(self, size=3):
        self.size = size

    def __call__(self, image, boxes, rng):
        y = int(rng.randint(0, image.shape[1] - self.size))
        x = int(rng.randint(0, image.shape[2] - self.size))
        image = image.clone()
        image[:, y : y + self.size, x : x + self.size] = image.mean()
        return image, boxes


class ColourJitter:
    def __init__(self, strength=0.3):
        self.strength = strength

    def __call__(self, image, boxes, rng):
        factors = 1 + self.strength * (2 * rng.rand(image.shape[0]) - 1)
        factors = paddle.to_tensor(factors, dtype=image.dtype).reshape([-1, 1, 1])
        image = (image * factors).clip(0.0, 1.0)
        if image.max() < 0.5:
            image = image / image.max()
        return image, boxes


def calls_augment():
    rng = np.random.RandomState(34)

    def image(scale=1.0):
        return paddle.to_tensor((rng.rand(3, 8, 8) * scale).astype("float32"))

    return [
        ((image(), random_boxes(rng, 2, 4)), {}),
        ((image(0.3),), {}),
        ((image(),), {"boxes": random_boxes(rng, 1, 4)}),
        ((image(0.3),), {}),
    ]


@program
def augmentations_by_chance(convert):
    """A chain of transforms of a picture and its boxes, each with a probability."""
    chain = Compose([(HorizontalFlip(), 0.5), (RandomErase(), 0.7), (ColourJitter(), 0.8)], seed=4)
    run = convert(chain.__call__)
    for args, kw in calls_augment():
        yield attempt(lambda: run(*args, **kw)), chain.applied


# connected components of a mask, run-length coding
def label_components(mask, min_area=2):
    h, w = mask.shape
    grid = mask.numpy()
    labels = np.zeros((h, w), dtype="int64")
    current = 0
    regions = []
    for y in range(h):
        for x in range(w):
            if not grid[y, x] or labels[y, x]:
                continue
            current += 1
            stack = [(y, x)]
            labels[y, x] = current
            cells = []
            while stack:
                cy, cx = stack.pop()
                cells.append((cy, cx))
                for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    ny, nx = cy + dy, cx + dx
                    if 0 <= ny < h and 0 <= nx < w and grid[ny, nx] and not labels[ny, nx]:
                        labels[ny, nx] = current
                        stack.append((ny, nx))
            if len(cells) >= min_area:
                ys, xs = zip(*cells)
                regions.append({"area": len(cells), "bbox": (min(xs), min(ys), max(xs), max(ys))})
    return labels, sorted(regions, key=lambda r: -r["area"])


def segment(logits, threshold=0.5, min_area=2):
    mask = F.sigmoid(logits) > threshold
    labels, regions = label_components(mask, min_area)
    flat = mask.flatten().astype("int32").tolist()
    runs, last, length = [], 0, 0
    for v in flat:
        if v == last:
            length += 1
        else:
            runs.append(length)
            last, length = v, 1
    runs.append(length)
    coverage = mask.astype("float32").mean()
    if not regions:
        print("nothing found")
        return None, runs, coverage
    print(f"{len(regions)} regions, largest {regions[0]['area']}")
    return regions, runs, coverage


def calls_segment():
    rng = np.random.RandomState(35)

    def t(h, w, shift=0.0):
        return paddle.to_tensor((2 * rng.randn(h, w) + shift).astype("float32"))

    return [
        ((t(5, 6),), {}),
        ((t(5, 6, -9.0),), {}),
        ((t(4, 4),), {"min_area": 1, "threshold": 0.7}),
        ((t(5, 6),), {}),
    ]


@program
def components_of_a_mask(convert):
    """Connected components of a thresholded mask by a stack, and its run lengths."""
    run = convert(segment)
    for args, kw in calls_segment():
        yield attempt(lambda: run(*args, **kw))
