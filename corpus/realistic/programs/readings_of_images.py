"""What comes after a detector or a reader of text: lines, peaks, masks, crossings, tables, fields."""

import re
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import List, Optional

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def words_grouped_into_lines(convert):
    """Boxes of words are sorted, joined to lines by their vertical overlap, and read from left to right."""

    @dataclass
    class Line:
        words: List[int] = field(default_factory=list)
        top: Optional[paddle.Tensor] = None
        bottom: Optional[paddle.Tensor] = None

        def overlap(self, box):
            inter = paddle.minimum(self.bottom, box[3]) - paddle.maximum(self.top, box[1])
            return inter.clip(min=0) / (box[3] - box[1])

        def add(self, i, box):
            self.words.append(i)
            if self.top is None:
                self.top, self.bottom = box[1], box[3]
            else:
                self.top = paddle.minimum(self.top, box[1])
                self.bottom = paddle.maximum(self.bottom, box[3])

    class Reader:
        def __init__(self, threshold=0.5, gap=12.0):
            self.threshold, self.gap = threshold, gap
            self.pages = 0

        def lines(self, boxes):
            order = paddle.argsort(boxes[:, 1])
            found = []
            for k in range(boxes.shape[0]):
                i = int(order[k])
                box = boxes[i]
                for line in found:
                    if line.overlap(box) > self.threshold:
                        line.add(i, box)
                        break
                else:
                    line = Line()
                    line.add(i, box)
                    found.append(line)
            return found

        def read(self, boxes, words):
            self.pages += 1
            text = []
            for line in self.lines(boxes):
                line.words.sort(key=lambda i: float(boxes[i, 0]))
                pieces = [words[line.words[0]]]
                for a, b in zip(line.words, line.words[1:]):
                    wide = boxes[b, 0] - boxes[a, 2] > self.gap
                    pieces.append(("\t" if wide else " ") + words[b])
                text.append("".join(pieces))
            return "\n".join(text)

    reader = Reader()
    read = convert(reader.read)
    page = [
        ([[60, 10, 90, 20], [10, 11, 50, 21], [10, 30, 40, 42]], ["world", "hello", "again"]),
        ([[0, 0, 5, 5], [50, 1, 60, 6], [62, 0, 70, 5], [0, 4, 3, 20]], ["a", "b", "c", "d"]),
        ([[0, 0, 5, 5]], ["one"]),
    ]
    for boxes, words in page:
        yield attempt(lambda: read(T(boxes, dtype="float32"), words)), reader.pages
    reader.threshold = 0.05
    yield attempt(lambda: read(T(page[1][0], dtype="float32"), page[1][1]))


@program
def peaks_of_a_heatmap_refined(convert):
    """Keypoints from heat maps: the peak, a quarter step towards the higher neighbour, flipped pairs."""
    Pose = namedtuple("Pose", "points scores visible")
    PAIRS = [(1, 2)]

    def refine(heat, y, x):
        h, w = heat.shape
        dx = dy = paddle.zeros([])
        if 0 < x < w - 1:
            dx = paddle.sign(heat[y, x + 1] - heat[y, x - 1]) * 0.25
        if 0 < y < h - 1:
            dy = paddle.sign(heat[y + 1, x] - heat[y - 1, x]) * 0.25
        return x + dx, y + dy

    @convert
    def decode(heats, flipped=None, threshold=0.3, stride=4):
        if flipped is not None:
            back = flipped.flip([-1])
            for a, b in PAIRS:
                back = paddle.concat([back[:a], back[b : b + 1], back[a : a + 1], back[b + 1 :]])
            heats = (heats + back) / 2
        points, scores = [], []
        for heat in heats:
            flat = heat.flatten()
            best = int(flat.argmax())
            score = flat[best]
            if score < threshold:
                points.append(paddle.full([2], -1.0))
                scores.append(paddle.zeros_like(score))
                continue
            w = heat.shape[1]
            x, y = refine(heat, best // w, best % w)
            points.append(T([float(x), float(y)]) * stride)
            scores.append(score)
        scores = paddle.stack(scores)
        return Pose(paddle.stack(points), scores, (scores > 0).astype("int32").sum())

    rng = np.random.RandomState(3)
    for size in ((3, 6, 5), (3, 4, 4), (4, 5, 7)):
        h = T(rng.rand(*size).astype("float32"))
        yield attempt(lambda: decode(h))
        yield attempt(lambda: decode(h * 0.6, h.flip([-1]) * 0.6, threshold=0.55))
        yield attempt(lambda: decode(h * 0.1))


@program
def masks_merged_into_a_panoptic_map(convert):
    """Instances in order of their score, then stuff; parts that are hidden too much are dropped."""

    class Merger:
        def __init__(self, n_stuff, overlap=0.5, min_area=3):
            self.n_stuff, self.overlap, self.min_area = n_stuff, overlap, min_area
            self.stats = Counter()

        def things(self, canvas, masks, scores, classes):
            segments = []
            order = paddle.argsort(scores, descending=True)
            for i in order.tolist():
                mask = masks[i] > 0.5
                area = mask.astype("int64").sum()
                if area == 0:
                    self.stats["empty"] += 1
                    continue
                free = mask & (canvas == 0)
                visible = free.astype("int64").sum()
                if visible / area < self.overlap:
                    self.stats["hidden"] += 1
                    continue
                label = len(segments) + 1
                canvas = paddle.where(free, paddle.full_like(canvas, label), canvas)
                segments.append({"id": label, "class": int(classes[i]), "area": visible})
                self.stats["thing"] += 1
            return canvas, segments

        def stuff(self, canvas, semantic, segments):
            for c in range(self.n_stuff):
                free = (semantic == c) & (canvas == 0)
                area = free.sum()
                if area < self.min_area:
                    continue
                label = len(segments) + 1
                canvas = canvas * (1 - free.astype(canvas.dtype)) + label * free.astype(
                    canvas.dtype
                )
                segments.append({"id": label, "class": -c - 1, "area": area})
            return canvas

        def __call__(self, masks, scores, classes, semantic):
            canvas = paddle.zeros(masks.shape[1:], dtype="int64")
            canvas, segments = self.things(canvas, masks, scores, classes)
            canvas = self.stuff(canvas, semantic, segments)
            return canvas, segments

    merger = Merger(2)
    merge = convert(merger.__call__)
    rng = np.random.RandomState(5)
    for n in (3, 3, 2):
        soft = T((rng.rand(n, 4, 5) * (1.2 if n == 3 else 0.4)).astype("float32"))
        semantic = T(rng.randint(0, 2, [4, 5]))
        got = attempt(
            lambda: merge(soft, T(rng.rand(n).astype("float32")), T(np.arange(n)), semantic)
        )
        yield got, dict(merger.stats)


@program
def people_counted_at_a_line(convert):
    """Objects that cross a line are counted by direction; ids are kept in a dict with a grace period."""

    class Counter_:
        def __init__(self, start, end, grace=2):
            self.a, self.b = T(start), T(end)
            self.last, self.lost = {}, defaultdict(int)
            self.inside, self.outside, self.grace = 0, 0, grace

        def side(self, p):
            d = self.b - self.a
            q = p - self.a
            cross = d[0] * q[1] - d[1] * q[0]
            if cross.abs() < 1e-6:
                return 0
            return 1 if cross > 0 else -1

        def update(self, detections):
            for key, p in detections.items():
                now = self.side(p)
                before = self.last.get(key, 0)
                if now and before and now != before:
                    if now > 0:
                        self.inside += 1
                    else:
                        self.outside += 1
                if now:
                    self.last[key] = now
                self.lost.pop(key, None)
            for key in list(self.last):
                if key not in detections:
                    self.lost[key] += 1
                    if self.lost[key] > self.grace:
                        del self.last[key], self.lost[key]
            return self.inside - self.outside

    counter = Counter_([0.0, 0.0], [10.0, 0.0])
    update = convert(counter.update)
    frames = [
        {1: [2.0, 1.0], 2: [3.0, -1.0]},
        {1: [2.0, -1.0], 2: [3.0, -2.0]},
        {1: [2.0, 0.0], 2: [3.0, 2.0]},
        {1: [2.0, 3.0]},
        {1: [2.0, 3.0]},
        {1: [2.0, -3.0], 3: [0.0, 1.0]},
        {3: [0.0, -1.0], 2: [1.0, 1.0]},
    ]
    for frame in frames:
        got = attempt(lambda: update({k: T(v) for k, v in frame.items()}))
        yield got, counter.inside, counter.outside, dict(counter.last), dict(counter.lost)


@program
def fields_read_from_an_invoice(convert):
    """Characters of a recogniser become fields: confusions are mended where a pattern asks for digits."""
    ALPHABET = " 0123456789OIlSB.-ABC"
    CONFUSED = {"O": "0", "I": "1", "l": "1", "S": "5", "B": "8"}

    class Field:
        registry = {}

        def __init_subclass__(cls, **kw):
            super().__init_subclass__(**kw)
            cls.registry[cls.__name__.lower()] = cls()

        pattern = r".*"

        def clean(self, text):
            return text

        def parse(self, text, confidence):
            text = self.clean(text.strip())
            if not re.fullmatch(self.pattern, text):
                raise ValueError(f"{type(self).__name__}: {text!r} does not match")
            return text, confidence

    class Amount(Field):
        pattern = r"\d+\.\d\d"

        def clean(self, text):
            return "".join(CONFUSED.get(c, c) for c in text)

        def parse(self, text, confidence):
            text, confidence = super().parse(text, confidence)
            return float(text), confidence

    class Code(Field):
        pattern = r"[A-C]+-\d"

    def greedy(logits):
        probs = F.softmax(logits, axis=-1)
        top, ids = probs.max(axis=-1), probs.argmax(axis=-1)
        keep, conf, previous = [], paddle.ones([]), 0
        for i, p in zip(ids.tolist(), top):
            if i != previous and i != 0:
                keep.append(ALPHABET[i])
                conf = conf * p
            previous = i
        return "".join(keep), conf ** (1 / max(len(keep), 1))

    @convert
    def read(lines, kinds, minimum=0.2):
        result, errors = {}, []
        for logits, kind in zip(lines, kinds):
            text, confidence = greedy(logits)
            if confidence < minimum:
                errors.append((kind, "unsure", confidence))
                continue
            try:
                result[kind] = Field.registry[kind].parse(text, confidence)
            except (ValueError, KeyError) as e:
                errors.append((kind, str(e), confidence))
        return result, errors

    def written(text, sharp):
        ids, out = [ALPHABET.index(c) for c in text], []
        for i in ids:
            row = np.zeros(len(ALPHABET), "float32")
            row[i] = sharp
            out += [row, row]
            blank = np.zeros(len(ALPHABET), "float32")
            blank[0] = 4.0
            out.append(blank)
        return T(np.stack(out))

    yield attempt(lambda: read([written("I2.5O", 6.0), written("AC-1", 5.0)], ["amount", "code"]))
    yield attempt(lambda: read([written("I2.5A", 6.0), written("AC-l", 5.0)], ["amount", "code"]))
    yield attempt(lambda: read([written("1.00", 1.0), written("B-2", 5.0)], ["amount", "other"]))


@program
def cells_of_a_table_from_boxes(convert):
    """Rows and columns are clusters of edges; cells that span several are found; text is put in."""

    class Axis:
        def __init__(self, tolerance):
            self.tolerance = tolerance
            self.centres = []

        def fit(self, values):
            self.centres = []
            group = []
            for v in paddle.sort(values):
                if group and v - group[-1] > self.tolerance:
                    self.centres.append(sum(group) / len(group))
                    group = []
                group.append(v)
            if group:
                self.centres.append(sum(group) / len(group))
            return self

        def __len__(self):
            return len(self.centres)

        def index(self, value):
            distances = paddle.stack([(value - c).abs() for c in self.centres])
            return int(distances.argmin())

    @convert
    def structure(boxes, texts, tolerance=3.0):
        xs = Axis(tolerance).fit(paddle.concat([boxes[:, 0], boxes[:, 2]]))
        ys = Axis(tolerance).fit(paddle.concat([boxes[:, 1], boxes[:, 3]]))
        grid = [["" for _ in range(len(xs) - 1)] for _ in range(len(ys) - 1)]
        spans = {}
        for box, text in zip(boxes, texts):
            c0, c1 = xs.index(box[0]), xs.index(box[2])
            r0, r1 = ys.index(box[1]), ys.index(box[3])
            if c1 <= c0 or r1 <= r0:
                raise ValueError(f"no area: {text}")
            if (c1 - c0) * (r1 - r0) > 1:
                spans[text] = (r1 - r0, c1 - c0)
            for r in range(r0, r1):
                for c in range(c0, c1):
                    grid[r][c] += text
        return grid, spans, paddle.stack(xs.centres)

    tables = [
        [[0, 0, 10, 5], [10, 0, 20, 5], [0, 5, 20, 10]],
        [[0, 0, 10, 5], [11, 1, 21, 6], [0, 5, 10, 10], [9, 6, 20, 11]],
        [[0, 0, 10, 5], [10, 0, 11, 5]],
    ]
    for boxes in tables:
        yield attempt(lambda: structure(T(boxes, dtype="float32"), list("ABCD")))
    yield attempt(lambda: structure(T(tables[1], dtype="float32"), list("ABCD"), tolerance=0.5))
