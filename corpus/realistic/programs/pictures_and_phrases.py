"""After the network: boxes, masks, scores of segmentations, tokens under rules."""

import enum
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from typing import Dict, Tuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def confusion_of_a_segmentation(convert):
    """mIoU, Dice, kappa and boundary scores that are kept over batches, with an ignored class."""

    class SegmentationMetric:
        def __init__(self, num_classes, ignore_index=255, names=None):
            self.num_classes = num_classes
            self.ignore_index = ignore_index
            self.names = names or [f"class{i}" for i in range(num_classes)]
            self.reset()

        def reset(self):
            self.matrix = paddle.zeros([self.num_classes, self.num_classes], dtype="int64")
            self.samples = 0

        @convert
        def update(self, pred, label):
            if pred.ndim == 4:
                pred = pred.argmax(axis=1)
            assert pred.shape == label.shape, f"{pred.shape} against {label.shape}"
            mask = label != self.ignore_index
            p, t = pred[mask], label[mask]
            if p.shape[0] == 0:
                return self.matrix
            index = t * self.num_classes + p
            counts = paddle.bincount(index, minlength=self.num_classes**2)
            self.matrix += counts.reshape([self.num_classes, self.num_classes])
            self.samples += pred.shape[0]
            return counts

        @convert
        def compute(self):
            m = self.matrix.astype("float32")
            diag = m.diag()
            union = m.sum(axis=0) + m.sum(axis=1) - diag
            iou = diag / paddle.maximum(union, paddle.ones_like(union))
            present = union > 0
            result = {}
            for i, name in enumerate(self.names):
                if present[i]:
                    result[name] = iou[i].item()
            total = m.sum()
            if total == 0:
                result.update(miou=0.0, acc=0.0, kappa=0.0)
                return result
            acc = diag.sum() / total
            expected = (m.sum(0) * m.sum(1)).sum() / (total * total)
            result["miou"] = iou[present].mean().item()
            result["acc"] = acc.item()
            result["kappa"] = ((acc - expected) / (1 - expected + 1e-9)).item()
            return result

    @convert
    def boundary_f1(pred, label, tolerance=1):
        def edges(mask):
            mask = mask.astype("float32").unsqueeze(0).unsqueeze(0)
            eroded = -F.max_pool2d(-mask, kernel_size=3, stride=1, padding=1)
            return (mask - eroded)[0, 0] > 0

        def dilate(edge):
            k = 2 * tolerance + 1
            e = edge.astype("float32").unsqueeze([0, 1])
            return F.max_pool2d(e, kernel_size=k, stride=1, padding=tolerance)[0, 0] > 0

        pe, le = edges(pred), edges(label)
        n_p, n_l = pe.sum().item(), le.sum().item()
        if n_p == 0 and n_l == 0:
            return 1.0
        if n_p == 0 or n_l == 0:
            return 0.0
        precision = (pe & dilate(le)).sum().item() / n_p
        recall = (le & dilate(pe)).sum().item() / n_l
        return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0

    rng = np.random.RandomState(0)
    metric = SegmentationMetric(3, names=["sky", "road", "car"])
    yield metric.compute()
    for n, size in [(1, 4), (2, 4), (2, 6)]:
        logits = paddle.to_tensor(rng.randn(n, 3, size, size).astype("float32"))
        label = rng.randint(0, 2, (n, size, size))
        label[0, 0] = 255
        yield metric.update(logits, paddle.to_tensor(label))
        yield metric.update(logits.argmax(1), paddle.full([n, size, size], 255, dtype="int64"))
        scores = metric.compute()
        print({k: round(v, 4) for k, v in scores.items()}, metric.samples)
        yield scores
    yield attempt(
        lambda: metric.update(paddle.zeros([1, 2, 2], "int64"), paddle.zeros([1, 3, 3], "int64"))
    )
    for size, shift in [(6, 0), (6, 2), (8, 3), (8, 8)]:
        a = paddle.zeros([size, size])
        a[1:4, 1:4] = 1
        b = paddle.zeros([size, size])
        b[1:4, 1 + shift : 4 + shift] = 1
        yield boundary_f1(a > 0, b > 0)


@program
def boxes_decoded_over_levels(convert):
    """Anchor-free decoding of three levels: strides, DFL, thresholds, class-wise NMS, letterbox."""

    @dataclass(frozen=True)
    class Level:
        stride: int
        size: Tuple[int, int]

    class Postprocess:
        def __init__(self, reg_max=4, score_thr=0.3, iou_thr=0.5, max_det=5):
            self.reg_max = reg_max
            self.score_thr, self.iou_thr, self.max_det = score_thr, iou_thr, max_det
            self._grids: Dict[Level, paddle.Tensor] = {}

        def grid(self, level):
            if level not in self._grids:
                h, w = level.size
                yy, xx = paddle.meshgrid(paddle.arange(h), paddle.arange(w))
                g = paddle.stack([xx, yy], axis=-1).astype("float32") + 0.5
                self._grids[level] = g.reshape([-1, 2]) * level.stride
            return self._grids[level]

        def dfl(self, reg):
            n = reg.shape[0]
            prob = F.softmax(reg.reshape([n, 4, self.reg_max + 1]), axis=-1)
            return (prob * paddle.arange(self.reg_max + 1, dtype="float32")).sum(-1)

        def nms(self, boxes, scores):
            order = scores.argsort(descending=True)
            keep = []
            while order.shape[0] > 0:
                i = order[0]
                keep.append(i)
                if order.shape[0] == 1:
                    break
                rest = order[1:]
                lt = paddle.maximum(boxes[i, :2], boxes[rest][:, :2])
                rb = paddle.minimum(boxes[i, 2:], boxes[rest][:, 2:])
                inter = (rb - lt).clip(min=0).prod(axis=1)
                area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])  # noqa: E731
                iou = inter / (area(boxes[i]) + area(boxes[rest]) - inter + 1e-9)
                order = rest[iou <= self.iou_thr]
            return paddle.stack(keep)

        @convert
        def __call__(self, outputs, scale=1.0, pad=(0.0, 0.0)):
            all_boxes, all_scores, all_labels = [], [], []
            for level, (cls, reg) in outputs:
                centers = self.grid(level)
                scores = F.sigmoid(cls)
                best, label = scores.max(axis=-1), scores.argmax(axis=-1)
                idx = paddle.nonzero(best > self.score_thr).flatten()
                if idx.numel() == 0:
                    continue
                dist = self.dfl(reg[idx]) * level.stride
                c = centers[idx]
                boxes = paddle.concat(x=[c - dist[:, :2], c + dist[:, 2:]], axis=1)
                all_boxes.append(boxes)
                all_scores.append(best[idx])
                all_labels.append(label[idx])
            if not all_boxes:
                return {"boxes": paddle.zeros([0, 4]), "scores": paddle.zeros([0]), "labels": []}
            boxes = paddle.concat(x=all_boxes, axis=0)
            scores = paddle.concat(x=all_scores, axis=0)
            labels = paddle.concat(x=all_labels, axis=0)
            kept = []
            for c in paddle.unique(labels).tolist():
                where = paddle.nonzero(labels == c).flatten()
                kept.append(where[self.nms(boxes[where], scores[where])])
            kept = paddle.concat(kept)
            kept = kept[scores[kept].argsort(descending=True)][: self.max_det]
            out = (boxes[kept] - paddle.to_tensor([*pad, *pad])) / scale
            return {"boxes": out, "scores": scores[kept], "labels": labels[kept].tolist()}

    post = Postprocess()
    rng = np.random.RandomState(1)
    levels = [Level(8, (4, 4)), Level(16, (2, 2)), Level(32, (1, 1))]
    for bias, scale in [(-1.0, 1.0), (-9.0, 1.0), (-2.0, 0.5), (-1.5, 2.0)]:
        outputs = []
        for level in levels:
            n = level.size[0] * level.size[1]
            cls = paddle.to_tensor((rng.randn(n, 2) + bias).astype("float32"))
            reg = paddle.to_tensor(rng.randn(n, 20).astype("float32"))
            outputs.append((level, (cls, reg)))
        result = post(outputs, scale=scale, pad=(1.0, 2.0))
        print(f"{len(result['labels'])} boxes")
        yield result


@program
def replies_with_penalties(convert):
    """Sampling-free generation: repetition penalty, n-gram ban, minimum length, stop words, logprobs."""

    class LogitsProcessor(ABC):
        @abstractmethod
        def __call__(self, ids, scores): ...

    class RepetitionPenalty(LogitsProcessor):
        def __init__(self, penalty):
            if penalty <= 0:
                raise ValueError(f"penalty has to be positive, got {penalty}")
            self.penalty = penalty

        def __call__(self, ids, scores):
            picked = paddle.take_along_axis(scores, ids, axis=1)
            picked = paddle.where(picked < 0, picked * self.penalty, picked / self.penalty)
            return paddle.put_along_axis(scores, ids, picked, axis=1)

    class NoRepeatNGram(LogitsProcessor):
        def __init__(self, n):
            self.n = n

        def __call__(self, ids, scores):
            if ids.shape[1] + 1 < self.n:
                return scores
            rows = []
            for row, seq in enumerate(ids.tolist()):
                grams = defaultdict(list)
                for i in range(len(seq) - self.n + 1):
                    gram = tuple(seq[i : i + self.n])
                    grams[gram[:-1]].append(gram[-1])
                banned = grams.get(tuple(seq[len(seq) - self.n + 1 :]), [])
                line = scores[row].clone()
                for token in banned:
                    line[token] = float("-inf")
                rows.append(line)
            return paddle.stack(rows)

    class MinLength(LogitsProcessor):
        def __init__(self, min_length, eos):
            self.min_length, self.eos = min_length, eos

        def __call__(self, ids, scores):
            if ids.shape[1] < self.min_length:
                scores[:, self.eos] = -1e9
            return scores

    class Generator:
        def __init__(self, table, processors, eos=0, pad=1):
            self.table, self.processors = table, processors
            self.eos, self.pad = eos, pad

        @convert
        def generate(self, prompt, max_new_tokens=6, return_logprobs=False):
            ids = prompt
            done = paddle.zeros([prompt.shape[0]], dtype="bool")
            logprobs = []
            for _ in range(max_new_tokens):
                scores = self.table[ids[:, -1]] + 0.3 * self.table[ids[:, 0]]
                for processor in self.processors:
                    scores = processor(ids, scores)
                logp = F.log_softmax(scores, axis=-1)
                nxt = logp.argmax(axis=-1)
                nxt = paddle.where(done, paddle.full_like(nxt, self.pad), nxt)
                logprobs.append(paddle.index_sample(logp, nxt.unsqueeze(1)).squeeze(1))
                ids = paddle.concat(x=[ids, nxt.unsqueeze(-1)], axis=1)
                done = done | (nxt == self.eos)
                if done.all():
                    break
            if return_logprobs:
                return ids, paddle.stack(logprobs, axis=1)
            return ids

    rng = np.random.RandomState(2)
    table = paddle.to_tensor(rng.randn(9, 9).astype("float32"))
    sets = [
        [RepetitionPenalty(1.3)],
        [MinLength(5, 0), RepetitionPenalty(2.0)],
        [NoRepeatNGram(2)],
        [RepetitionPenalty(1.1), NoRepeatNGram(3), MinLength(4, 0)],
    ]
    for processors in sets:
        generator = Generator(table, processors)
        for n, length in [(1, 2), (2, 3), (3, 2)]:
            prompt = paddle.to_tensor(rng.randint(2, 9, (n, length)))
            yield attempt(lambda: generator.generate(prompt, return_logprobs=n == 2))
    yield attempt(lambda: RepetitionPenalty(0))


@program
def calls_of_tools_under_a_grammar(convert):
    """A finite automaton over token strings masks the scores; a table of states is built lazily."""

    class Mode(enum.Enum):
        START = "start"
        KEY = "key"
        VALUE = "value"
        END = "end"

    VOCAB = ["{", "}", '"a"', '"b"', ":", "1", "22", ",", "<eos>"]

    class Grammar:
        """An object of distinct keys: {"a":1,"b":22}."""

        def __init__(self, vocab):
            self.vocab = vocab
            self.masks: Dict[Tuple[Mode, frozenset, str], paddle.Tensor] = {}
            self.misses = 0

        def allowed(self, mode, used, last):
            if mode is Mode.START:
                return {"{"}
            if mode is Mode.KEY:
                if last == ",":
                    return {v for v in self.vocab if re.fullmatch(r'"\w"', v)} - used
                return ({v for v in self.vocab if re.fullmatch(r'"\w"', v)} - used) | {"}"}
            if mode is Mode.VALUE:
                if last == ":":
                    return {v for v in self.vocab if v.isdigit()}
                if last.startswith('"'):
                    return {":"}
                return {",", "}"} if len(used) < 2 else {"}"}
            return {"<eos>"}

        def mask(self, mode, used, last):
            key = (mode, frozenset(used), last)
            if key not in self.masks:
                self.misses += 1
                ok = self.allowed(mode, used, last)
                self.masks[key] = paddle.to_tensor([0.0 if v in ok else -1e9 for v in self.vocab])
            return self.masks[key]

    @dataclass
    class Parse:
        mode: Mode = Mode.START
        used: frozenset = frozenset()
        last: str = ""

        def advance(self, piece):
            if piece == "{":
                return Parse(Mode.KEY, self.used, piece)
            if piece == "}":
                return Parse(Mode.END, self.used, piece)
            if piece.startswith('"'):
                return Parse(Mode.VALUE, self.used | {piece}, piece)
            if piece == ",":
                return Parse(Mode.KEY, self.used, piece)
            return Parse(self.mode, self.used, piece)

    grammar = Grammar(VOCAB)

    @convert
    def constrained(logits_of, steps=12, temperature=1.0):
        parse = Parse()
        pieces, total = [], paddle.zeros([1])
        prev = paddle.zeros([1], dtype="int64")
        for step in range(steps):
            scores = logits_of(prev, step) / temperature + grammar.mask(
                parse.mode, parse.used, parse.last
            )
            prev = scores.argmax(axis=-1, keepdim=True)
            total = total + F.log_softmax(scores, axis=-1)[prev.item()]
            piece = VOCAB[prev.item()]
            if piece == "<eos>":
                return "".join(pieces), total
            pieces.append(piece)
            parse = parse.advance(piece)
        return "".join(pieces) + "...", total

    rng = np.random.RandomState(3)
    for trial in range(4):
        emb = paddle.to_tensor(rng.randn(len(VOCAB), len(VOCAB)).astype("float32"))

        def logits_of(prev, step, emb=emb, trial=trial):
            return emb[prev].squeeze(0) + (0.5 * step if trial % 2 else 0.0)

        text, score = constrained(logits_of, steps=12 if trial < 3 else 4)
        print(text)
        yield text, score
    yield grammar.misses


@program
def overlaps_of_summaries(convert):
    """ROUGE-N, ROUGE-L and chrF of token ids in tensors, with a bootstrap over the corpus."""

    def ngrams(ids, n):
        windows = paddle.stack([ids[i : ids.shape[0] - n + 1 + i] for i in range(n)], axis=1)
        base = paddle.to_tensor([31**k for k in range(n)], dtype="int64")
        return (windows * base).sum(axis=1)

    def overlap(a, b):
        same = a.unsqueeze(1) == b.unsqueeze(0)
        count_a = (a.unsqueeze(1) == a.unsqueeze(0)).astype("float32").sum(1)
        count_b = same.astype("float32").sum(1)
        return (paddle.minimum(count_a, count_b) / count_a).sum()

    def f_measure(p, r, beta=1.0):
        if p + r == 0:
            return paddle.zeros([])
        return (1 + beta**2) * p * r / (beta**2 * p + r)

    @convert
    def rouge_n(hyp, ref, n=2):
        if hyp.shape[0] < n or ref.shape[0] < n:
            return {"p": 0.0, "r": 0.0, "f": 0.0}
        h, r = ngrams(hyp, n), ngrams(ref, n)
        hits = overlap(h, r)
        p, rec = hits / len(h), hits / len(r)
        return {"p": p, "r": rec, "f": f_measure(p, rec)}

    @convert
    def rouge_l(hyp, ref):
        m, n = len(hyp), len(ref)
        table = paddle.zeros([m + 1, n + 1])
        for i in range(1, m + 1):
            for j in range(1, n + 1):
                if hyp[i - 1] == ref[j - 1]:
                    table[i, j] = table[i - 1, j - 1] + 1
                else:
                    table[i, j] = paddle.maximum(table[i - 1, j], table[i, j - 1])
        # walk back for the tokens
        i, j, path = m, n, []
        while i > 0 and j > 0:
            if hyp[i - 1] == ref[j - 1]:
                path.append(hyp[i - 1].item())
                i, j = i - 1, j - 1
            elif table[i - 1, j] >= table[i, j - 1]:
                i -= 1
            else:
                j -= 1
        lcs = table[m, n]
        return f_measure(lcs / m, lcs / n, beta=1.2), path[::-1]

    @convert
    def bootstrap(scores, draws, level=0.9):
        means = paddle.stack([scores[d].mean() for d in draws])
        ordered = paddle.sort(means)
        low = ordered[int((1 - level) / 2 * len(draws))]
        high = ordered[-1 - int((1 - level) / 2 * len(draws))]
        verdict = "tie" if low <= scores.mean() <= high and high - low > 0.2 else "clear"
        return low, high, verdict

    rng = np.random.RandomState(4)
    scores = []
    for m, n in [(4, 5), (6, 3), (1, 4), (5, 5)]:
        hyp = paddle.to_tensor(rng.randint(0, 4, m))
        ref = paddle.to_tensor(rng.randint(0, 4, n))
        for k in (1, 2):
            yield rouge_n(hyp, ref, n=k)
        f, path = rouge_l(hyp, ref)
        yield f, path
        scores.append(f)
    draws = [paddle.to_tensor(rng.randint(0, 4, 4)) for _ in range(10)]
    yield bootstrap(paddle.stack(scores), draws)
    yield bootstrap(paddle.ones([4]), draws, level=0.5)


@program
def instances_pasted_into_a_canvas(convert):
    """Mask heads: crops pasted on a canvas in order of score, areas, RLE, small ones dropped."""

    class Instances:
        """A container that is indexed like a tensor and keeps its fields together."""

        def __init__(self, image_size, **fields):
            self.image_size = image_size
            self._fields = fields

        def __getattr__(self, name):
            if name == "_fields" or name not in self._fields:
                raise AttributeError(f"no field {name!r} in {sorted(self.__dict__)}")
            return self._fields[name]

        def __getitem__(self, index):
            return Instances(self.image_size, **{k: v[index] for k, v in self._fields.items()})

        def __len__(self):
            for v in self._fields.values():
                return len(v)
            return 0

        def set(self, name, value):
            assert len(value) == len(self), f"{name}: {len(value)} for {len(self)}"
            self._fields[name] = value
            return self

        @property
        def fields(self):
            return dict(self._fields)

    def paste(mask, box, canvas_size):
        h, w = canvas_size
        x0, y0, x1, y1 = [int(v) for v in box.round().tolist()]
        x1, y1 = max(x1, x0 + 1), max(y1, y0 + 1)
        size = [y1 - y0, x1 - x0]
        resized = F.interpolate(mask.unsqueeze([0, 1]), size=size, mode="bilinear")[0, 0]
        canvas = paddle.zeros([h, w])
        cy0, cx0, cy1, cx1 = max(y0, 0), max(x0, 0), min(y1, h), min(x1, w)
        if cy1 <= cy0 or cx1 <= cx0:
            return canvas.astype("bool")
        canvas[cy0:cy1, cx0:cx1] = resized[cy0 - y0 : cy1 - y0, cx0 - x0 : cx1 - x0]
        return canvas > 0.5

    def rle(mask):
        flat = mask.astype("int32").T.flatten()
        counts, value, run = [], 0, 0
        for bit in flat.tolist():
            if bit != value:
                counts.append(run)
                value, run = bit, 0
            run += 1
        return counts + [run]

    @convert
    def merge(instances, min_area=2, overlap_thr=0.5):
        canvas = paddle.zeros(list(instances.image_size), dtype="int64")
        order = instances.scores.argsort(descending=True)
        instances = instances[order]
        taken = []
        for i in range(len(instances)):
            one = instances[i]
            mask = paste(one.masks, one.boxes, instances.image_size)
            area = mask.sum().item()
            if area < min_area:
                continue
            hidden = (mask & (canvas > 0)).sum().item()
            if hidden / area > overlap_thr:
                continue
            canvas = paddle.where(
                mask & (canvas == 0), paddle.full_like(canvas, len(taken) + 1), canvas
            )
            taken.append({"score": one.scores.item(), "area": area, "rle": rle(mask)})
        return canvas, taken

    rng = np.random.RandomState(5)
    for n, size in [(2, (6, 6)), (3, (8, 5)), (1, (4, 4))]:
        xy = rng.uniform(-1, 4, (n, 2))
        boxes = np.concatenate([xy, xy + rng.uniform(0.2, 4, (n, 2))], 1).astype("float32")
        inst = Instances(
            size,
            boxes=paddle.to_tensor(boxes),
            masks=paddle.to_tensor(rng.rand(n, 4, 4).astype("float32") + 0.2),
            scores=paddle.to_tensor(rng.rand(n).astype("float32")),
        )
        inst.set("labels", paddle.arange(n))
        canvas, taken = merge(inst)
        yield canvas, taken
        yield sorted(inst.fields)
    yield attempt(lambda: inst.set("areas", paddle.zeros([7])))
    yield attempt(lambda: inst.polygons)
