"""Classical computer vision: labels, edges, flow, masks and seams, as a course assignment has them."""

import enum
import itertools
import math
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def connected_components_in_two_passes(convert):
    """Two-pass labelling with a union-find object; areas and boxes of what was found."""

    class UnionFind:
        def __init__(self, n):
            self.parent = paddle.arange(n)

        def find(self, i):
            while self.parent[i] != i:
                self.parent[i] = self.parent[self.parent[i]]
                i = self.parent[i]
            return i

        def union(self, a, b):
            a, b = self.find(a), self.find(b)
            if a == b:
                return False
            low, high = paddle.minimum(a, b), paddle.maximum(a, b)
            self.parent[high] = low
            return True

    class Component(NamedTuple):
        label: paddle.Tensor
        area: paddle.Tensor
        box: tuple

        @property
        def width(self):
            return self.box[2] - self.box[0] + 1

    @convert
    def label(image, connectivity=4):
        h, w = image.shape
        labels = paddle.zeros([h, w], dtype="int64")
        sets = UnionFind(h * w + 1)
        merged = 0
        following = paddle.to_tensor(1)
        offsets = [(-1, 0), (0, -1)]
        if connectivity == 8:
            offsets += [(-1, -1), (-1, 1)]
        for y, x in itertools.product(range(h), range(w)):
            if not image[y, x]:
                continue
            neighbours = [
                labels[y + dy, x + dx] for dy, dx in offsets if 0 <= y + dy < h and 0 <= x + dx < w
            ]
            best = paddle.to_tensor(0)
            for n in neighbours:
                if n > 0:
                    if best == 0:
                        best = n
                    elif sets.union(best, n):
                        merged += 1
                        best = paddle.minimum(best, n)
            if best == 0:
                best = following
                following = following + 1
            labels[y, x] = best
        for y in range(h):
            for x in range(w):
                if labels[y, x] > 0:
                    labels[y, x] = sets.find(labels[y, x])
        return labels, merged

    @convert
    def components(labels, smallest=1):
        found = []
        for value in paddle.unique(labels):
            if value == 0:
                continue
            ys, xs = paddle.nonzero(labels == value, as_tuple=True)
            area = paddle.to_tensor(ys.shape[0])
            if area >= smallest:
                found.append(Component(value, area, (xs.min(), ys.min(), xs.max(), ys.max())))
        found.sort(key=lambda c: -int(c.area))
        return found, [c.width for c in found]

    rng = np.random.RandomState(3)
    for size, connectivity in ((4, 4), (5, 8), (4, 4), (5, 4)):
        image = paddle.to_tensor(rng.rand(size, size) > 0.45)
        labels, merged = label(image, connectivity)
        yield labels, merged
        yield components(labels)
        yield components(labels, smallest=3)


@program
def edges_with_hysteresis(convert):
    """Canny: blur, gradients, thinning by direction, two thresholds that grow along the edge."""

    @dataclass(frozen=True)
    class Settings:
        low: float = 0.1
        high: float = 0.3
        sigma: float = 1.0
        max_rounds: int = 50

        def __post_init__(self):
            if self.low > self.high:
                raise ValueError(f"low {self.low} above high {self.high}")

    class Canny:
        calls = 0
        kernels = {
            "x": [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]],
            "y": [[-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]],
        }

        def __init__(self, settings):
            self.settings = settings
            radius = max(1, round(2 * settings.sigma))
            grid = paddle.arange(-radius, radius + 1, dtype="float32")
            line = paddle.exp(-(grid**2) / (2 * settings.sigma**2))
            kernel = paddle.outer(line, line)
            self.gauss = kernel / kernel.sum()

        @staticmethod
        def filter(image, kernel):
            kernel = paddle.to_tensor(kernel)
            ry, rx = (s // 2 for s in kernel.shape)
            padded = F.pad(image[None, None], [rx, rx, ry, ry], mode="replicate")
            return F.conv2d(padded, kernel[None, None]).squeeze([0, 1])

        def thin(self, size, angle):
            h, w = size.shape
            out = paddle.zeros_like(size)
            sector = (paddle.round(angle / (math.pi / 4)) % 4).astype("int64")
            steps = {0: (0, 1), 1: (1, 1), 2: (1, 0), 3: (1, -1)}
            for y in range(1, h - 1):
                for x in range(1, w - 1):
                    dy, dx = steps[int(sector[y, x])]
                    here = size[y, x]
                    if here >= size[y + dy, x + dx] and here >= size[y - dy, x - dx]:
                        out[y, x] = here
            return out

        @convert
        def __call__(self, image):
            Canny.calls += 1
            smooth = self.filter(image, self.gauss)
            gx, gy = (self.filter(smooth, self.kernels[axis]) for axis in "xy")
            size = (gx**2 + gy**2).sqrt()
            size = size / size.max().clip(min=1e-6)
            thin = self.thin(size, paddle.atan2(gy, gx))
            strong = thin >= self.settings.high
            weak = thin >= self.settings.low
            rounds = 0
            while rounds < self.settings.max_rounds:
                grown = F.max_pool2d(strong.astype("float32")[None, None], 3, 1, 1)[0, 0] > 0
                grown = grown & weak
                if (grown == strong).all():
                    break
                strong = grown
                rounds += 1
            else:
                print(f"edges: still growing after {rounds} rounds")
            return strong, rounds

    y, x = np.mgrid[0:9, 0:9].astype("float32")
    disc = ((y - 4) ** 2 + (x - 4) ** 2 < 9).astype("float32")
    ramp = (x + 0.5 * y) / 12
    detect = Canny(Settings())
    for picture in (disc, ramp, disc * ramp, np.zeros_like(disc)):
        yield detect(paddle.to_tensor(picture))
    eager = Canny(Settings(low=0.02, high=0.6, max_rounds=2))
    for picture in (disc * ramp, ramp[:7]):
        yield eager(paddle.to_tensor(picture))
    yield Canny.calls, attempt(lambda: Settings(low=0.5))


@program
def optical_flow_over_a_pyramid(convert):
    """Horn-Schunck from coarse to fine, each level warped by the last, until the update is small."""

    def pyramid(image, levels):
        yield image
        for _ in range(levels - 1):
            image = F.avg_pool2d(image, 2)
            yield image

    def warp(image, flow):
        _, _, h, w = image.shape
        ys, xs = paddle.meshgrid(
            paddle.arange(h, dtype="float32"), paddle.arange(w, dtype="float32")
        )
        grid = paddle.stack(
            [
                2 * (xs + flow[0]) / max(w - 1, 1) - 1,
                2 * (ys + flow[1]) / max(h - 1, 1) - 1,
            ],
            axis=-1,
        )
        return F.grid_sample(image, grid.unsqueeze(0), padding_mode="border", align_corners=True)

    class FlowSolver:
        def __init__(self, alpha=0.5, tol=1e-3, levels=2, patience=None):
            self.alpha, self.tol, self.levels = alpha, tol, levels
            self.patience = patience or 30
            self.history = defaultdict(list)
            self.mean = (
                paddle.to_tensor([[1.0, 2.0, 1.0], [2.0, 0.0, 2.0], [1.0, 2.0, 1.0]]).reshape(
                    [1, 1, 3, 3]
                )
                / 12
            )

        def average(self, component):
            padded = F.pad(component[None, None], [1, 1, 1, 1], mode="replicate")
            return F.conv2d(padded, self.mean)[0, 0]

        def level(self, first, second, flow):
            second = warp(second, flow)
            ix = F.pad((first + second)[0, 0, :, 1:] - (first + second)[0, 0, :, :-1], [0, 0, 0, 1])
            iy = F.pad((first + second)[0, 0, 1:] - (first + second)[0, 0, :-1], [0, 1, 0, 0])
            ix, iy, it = ix / 2, iy / 2, (second - first)[0, 0]
            delta = paddle.zeros_like(flow)
            for step in range(self.patience):
                u, v = (self.average(c) for c in delta)
                common = (ix * u + iy * v + it) / (self.alpha**2 + ix**2 + iy**2)
                new = paddle.stack([u - ix * common, v - iy * common])
                moved = (new - delta).abs().max()
                delta = new
                if moved < self.tol:
                    break
            return flow + delta, step + 1

        @convert
        def __call__(self, first, second):
            levels = list(zip(pyramid(first, self.levels), pyramid(second, self.levels)))
            flow = None
            for depth, (a, b) in reversed(list(enumerate(levels))):
                if flow is None:
                    flow = paddle.zeros([2, *a.shape[2:]])
                else:
                    flow = 2 * F.interpolate(flow[None], size=a.shape[2:], mode="bilinear")[0]
                flow, used = self.level(a, b, flow)
                self.history[depth].append(used)
            return flow

    y, x = np.mgrid[0:8, 0:8].astype("float32")

    def blob(cx, cy):
        data = np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 6)
        return paddle.to_tensor(data.astype("float32")).reshape([1, 1, 8, 8])

    solver = FlowSolver()
    for start, stop in (((3, 4), (4, 4)), ((3, 3), (3.5, 4)), ((4, 4), (4, 4))):
        yield solver(blob(*start), blob(*stop))
    yield {k: [int(n) for n in v] for k, v in solver.history.items()}
    coarse = FlowSolver(alpha=2.0, levels=3, patience=5)
    yield coarse(blob(2, 4), blob(4, 5)), dict(coarse.history)


@program
def run_length_masks_and_their_overlap(convert):
    """Masks as runs: encode, decode, union and intersection, crowd overlap, and a mask class."""

    class Mask:
        __slots__ = ("counts", "shape")
        made = 0

        def __init__(self, counts, shape):
            self.counts, self.shape = counts, tuple(shape)
            type(self).made += 1

        @classmethod
        def encode(cls, bitmap):
            flat = bitmap.T.flatten().astype("int32")
            change = paddle.nonzero(flat[1:] != flat[:-1]).flatten() + 1
            ends = paddle.concat([change, paddle.to_tensor([flat.shape[0]])])
            starts = paddle.concat([paddle.to_tensor([0]), change])
            counts = ends - starts
            if flat[0] == 1:
                counts = paddle.concat([paddle.zeros([1], dtype=counts.dtype), counts])
            return cls(counts, bitmap.shape)

        def decode(self):
            values = paddle.arange(self.counts.shape[0]) % 2
            flat = paddle.repeat_interleave(values, self.counts)
            return flat.reshape(self.shape[::-1]).T.astype("bool")

        @property
        def area(self):
            return self.counts[1::2].sum()

        def __and__(self, other):
            return Mask.encode(self.decode() & other.decode())

        def __or__(self, other):
            return Mask.encode(self.decode() | other.decode())

        def __bool__(self):
            return bool(self.area > 0)

        def __len__(self):
            return self.counts.shape[0]

        def iou(self, other, crowd=False):
            inter = (self & other).area
            whole = self.area if crowd else (self | other).area
            if whole == 0:
                return paddle.to_tensor(0.0)
            return inter.astype("float32") / whole.astype("float32")

    @convert
    def encode(bitmap):
        mask = Mask.encode(bitmap)
        return mask, mask.area, len(mask)

    @convert
    def table(masks, others, crowd=()):
        rows = []
        for mask in masks:
            rows.append(
                paddle.stack([mask.iou(other, crowd=j in crowd) for j, other in enumerate(others)])
            )
        return paddle.stack(rows)

    @convert
    def merge(masks, at_least=0.0):
        kept = [mask for mask in masks if mask]
        if not kept:
            return None
        total = reduce(lambda a, b: a | b if a.iou(b) >= at_least else a, kept)
        return total.decode(), total.area

    rng = np.random.RandomState(8)
    for h, w in ((4, 5), (3, 4), (4, 5)):
        bitmaps = [paddle.to_tensor(rng.rand(h, w) > t) for t in (0.3, 0.6, 0.8)]
        encoded = [encode(b) for b in bitmaps]
        yield [(m.counts, m.shape, area, n) for m, area, n in encoded]
        masks = [m for m, _, _ in encoded]
        yield [m.decode() for m in masks]
        yield table(masks, masks[:2], crowd={1})
        yield merge(masks), merge(masks, at_least=0.5)
    yield merge([])


@program
def seams_carved_from_an_image(convert):
    """Seam carving: energy, dynamic programme, backtracking, removal; protected regions; a report."""

    class Energy(enum.Enum):
        GRADIENT = "gradient"
        FORWARD = "forward"
        ENTROPY = "entropy"

    Seam = namedtuple("Seam", ["columns", "cost"])

    @dataclass
    class Carver:
        energy: Energy = Energy.GRADIENT
        protect: float = 1e3
        removed: list = field(default_factory=list)

        def weigh(self, image):
            match self.energy:
                case Energy.GRADIENT:
                    dx = (image - paddle.roll(image, 1, axis=1)).abs()
                    dy = (image - paddle.roll(image, 1, axis=0)).abs()
                    return dx + dy
                case Energy.FORWARD:
                    left, right = paddle.roll(image, 1, axis=1), paddle.roll(image, -1, axis=1)
                    return (left - right).abs()
                case other:
                    raise NotImplementedError(f"no energy for {other.value!r}")

        def seam(self, energy):
            h, w = energy.shape
            cost = energy[0]
            back = []
            for row in energy[1:]:
                padded = F.pad(cost, [1, 1], value=float("inf"))
                options = paddle.stack([padded[:-2], padded[1:-1], padded[2:]])
                back.append(options.argmin(axis=0) - 1)
                cost = row + options.min(axis=0)
            j = cost.argmin()
            columns = [j]
            for choice in reversed(back):
                j = j + choice[j]
                columns.insert(0, j)
            return Seam(paddle.stack(columns), cost.min())

        def remove(self, image, seam):
            h, w = image.shape
            keep = paddle.arange(w).unsqueeze(0) != seam.columns.unsqueeze(1)
            return paddle.masked_select(image, keep).reshape([h, w - 1])

    @convert
    def carve(carver, image, mask, target, budget=None):
        original = image.shape[1]
        spent = 0.0
        while image.shape[1] > target:
            energy = carver.weigh(image) + carver.protect * mask
            seam = carver.seam(energy)
            if budget is not None and spent + seam.cost > budget:
                print(f"over budget: {float(spent):.3f} + {float(seam.cost):.3f}")
                break
            spent = spent + seam.cost
            carver.removed.append(seam)
            image, mask = carver.remove(image, seam), carver.remove(mask, seam)
        return image, original - image.shape[1], spent

    rng = np.random.RandomState(5)
    carver = Carver()
    for h, w, target in ((4, 6, 4), (5, 7, 6), (4, 6, 3)):
        image = paddle.to_tensor(rng.rand(h, w).astype("float32"))
        mask = paddle.zeros([h, w])
        mask[:, w // 2] = 1.0
        yield carve(carver, image, mask, target)
        yield carve(Carver(Energy.FORWARD), image, mask, target, budget=1.2)
    yield carver.removed
    yield attempt(lambda: carve(Carver(Energy.ENTROPY), image, mask, 3))
