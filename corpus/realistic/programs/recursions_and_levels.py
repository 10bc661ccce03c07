"""Losses by their recursions, packed steps, pictures in levels and crops, teachers and pacers."""

import copy
import math
from collections import deque, namedtuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def convert_call(f, x, labels):
    loss, ok = f(x, labels)
    if ok:
        loss.backward()
    return loss, ok


@program
def ctc_loss_by_its_recursion(convert):
    """The CTC loss by its alpha recursion, with gradients, against labels of several lengths."""

    @convert
    def ctc(logits, labels, blank=0):
        logp = F.log_softmax(logits, axis=-1)
        T = logp.shape[0]
        extended = []
        for l in labels:
            extended.extend([blank, int(l)])
        extended.append(blank)
        S = len(extended)
        neg = paddle.full(shape=[], fill_value=-1e30)
        alpha = [neg] * S
        alpha[0] = logp[0, blank]
        if S > 1:
            alpha[1] = logp[0, extended[1]]
        for t in range(1, T):
            fresh = []
            for s in range(S):
                terms = [alpha[s]]
                if s - 1 >= 0:
                    terms.append(alpha[s - 1])
                if s - 2 >= 0 and extended[s] != blank and extended[s] != extended[s - 2]:
                    terms.append(alpha[s - 2])
                total = paddle.logsumexp(paddle.stack(terms)) if len(terms) > 1 else terms[0]
                fresh.append(total + logp[t, extended[s]])
            alpha = fresh
        tail = alpha[-2:]
        loss = -paddle.logsumexp(paddle.stack(tail))
        if loss > 1e10:
            return paddle.zeros_like(loss), False
        return loss, True

    rng = np.random.RandomState(0)
    for n, labels in ((4, [1, 2]), (5, [1, 1]), (3, [2, 3, 1]), (2, [1, 1, 2]), (4, [])):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"), stop_gradient=False)
        out = attempt(lambda: convert_call(ctc, x, labels))
        yield out, x


@program
def cell_over_packed_steps(convert):
    """Sort by length, pack into steps, run a cell over shrinking batches, unsort; gradients."""

    class Packed(namedtuple("Packed", "data sizes order")):
        __slots__ = ()

        @property
        def total(self):
            return sum(self.sizes)

    def pack(rows):
        order = sorted(range(len(rows)), key=lambda i: -rows[i].shape[0])
        longest = rows[order[0]].shape[0]
        data, sizes = [], []
        for t in range(longest):
            alive = [rows[i][t] for i in order if rows[i].shape[0] > t]
            data.append(paddle.stack(alive))
            sizes.append(len(alive))
        return Packed(data, sizes, order)

    cell = nn.GRUCell(3, 4)

    @convert
    def run(rows, clip_at=1.0):
        packed = pack(rows)
        h = paddle.zeros([len(rows), 4])
        finished = []
        for x, n in zip(packed.data, packed.sizes):
            if n < h.shape[0]:
                finished.insert(0, h[n:])
                h = h[:n]
            _, h = cell(x, h)
        finished.insert(0, h)
        out = paddle.concat(finished, axis=0)
        inverse = np.argsort(np.array(packed.order))
        out = paddle.index_select(out, index=paddle.to_tensor(inverse), axis=0)
        norm = paddle.linalg.norm(out)
        if norm > clip_at:
            out = out * (clip_at / norm)
        return out, packed.total

    rng = np.random.RandomState(4)
    for lens, c in (((3, 1, 2), 1.0), ((2, 2), 10.0), ((1, 4, 1, 3), 0.1)):
        rows = [
            paddle.to_tensor(rng.randn(n, 3).astype("float32"), stop_gradient=False) for n in lens
        ]

        def go():
            out, n = run(rows, clip_at=c)
            (out**2).sum().backward()
            g = cell.weight_hh.grad.clone()
            cell.clear_gradients()
            return out, n, g, [r.grad for r in rows]

        yield attempt(go)


@program
def details_shrunk_in_a_pyramid(convert):
    """An image pyramid: build, threshold details per level, collapse; sizes that are odd."""

    class Pyramid:
        def __init__(self, levels, mode="bilinear"):
            self.levels, self.mode = levels, mode
            k = paddle.to_tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
            self.kernel = (k.unsqueeze(0) * k.unsqueeze(1)).reshape([1, 1, 5, 5])

        def down(self, x):
            return F.conv2d(F.pad(x, [2, 2, 2, 2], mode="reflect"), self.kernel)[:, :, ::2, ::2]

        def up(self, x, size):
            return F.interpolate(x, size=size, mode=self.mode, align_corners=False)

        def build(self, x):
            out = []
            for _ in range(self.levels):
                if min(x.shape[2:]) < 4:
                    break
                small = self.down(x)
                out.append(x - self.up(small, x.shape[2:]))
                x = small
            out.append(x)
            return out

        def collapse(self, parts):
            *details, x = parts
            for d in reversed(details):
                x = self.up(x, size=[d.shape[2], d.shape[3]]) + d
            return x

    pyr = Pyramid(3)

    @convert
    def denoise(img, strength=0.1, adaptive=False):
        parts = pyr.build(img)
        kept = []
        for i, d in enumerate(parts[:-1]):
            thr = strength * 2**-i
            if adaptive:
                sigma = d.abs().median() / 0.6745
                if sigma > 0.2:
                    thr = thr * sigma
            shrunk = d.sign() * F.relu(d.abs() - thr)
            kept.append((shrunk != 0).astype("float32").mean())
            parts[i] = shrunk
        return pyr.collapse(parts), kept, len(parts)

    rng = np.random.RandomState(3)
    for shape, a in (
        ((1, 1, 16, 16), False),
        ((2, 1, 9, 13), True),
        ((1, 1, 5, 4), True),
        ((1, 1, 3, 3), False),
    ):
        img = paddle.to_tensor(rng.rand(*shape).astype("float32"), stop_gradient=False)

        def go():
            out, kept, n = denoise(img, adaptive=a)
            out.mean().backward()
            return out, kept, n, img.grad

        yield attempt(go)


@program
def quads_ordered_and_cropped(convert):
    """Post-processing of OCR boxes: order points, size, rotate tall crops, affine sampling, grouping into lines."""

    def order_points(pts):
        s, d = pts.sum(axis=1), pts[:, 1] - pts[:, 0]
        return paddle.stack([pts[s.argmin()], pts[d.argmin()], pts[s.argmax()], pts[d.argmax()]])

    @convert
    def crop(img, quads, size=(4, 8), min_side=0.5):
        crops, skipped = [], []
        for i, q in enumerate(quads):
            q = order_points(q)
            width = paddle.dist(q[0], q[1])
            height = paddle.dist(q[0], q[3])
            if width < min_side or height < min_side:
                skipped.append(i)
                continue
            u = paddle.linspace(0, 1, size[1]).reshape([1, -1, 1])
            v = paddle.linspace(0, 1, size[0]).reshape([-1, 1, 1])
            top = q[0] * (1 - u) + q[1] * u
            bottom = q[3] * (1 - u) + q[2] * u
            grid = top * (1 - v) + bottom * v
            H, W = img.shape[-2:]
            norm = grid / paddle.to_tensor([W - 1, H - 1], dtype="float32") * 2 - 1
            patch = F.grid_sample(img, norm.unsqueeze(0), align_corners=True)
            if height > 1.5 * width:
                patch = paddle.rot90(patch, k=1, axes=[2, 3])
                patch = F.interpolate(patch, size=list(size))
            crops.append(patch)
        if crops:
            return paddle.concat(crops), skipped
        return None, skipped

    img = paddle.arange(48, dtype="float32").reshape([1, 1, 6, 8])
    square, tall, tiny = (
        [[0, 0], [4, 0], [4, 3], [0, 3]],
        [[1, 5], [1, 0], [2, 0], [2, 5]],
        [[0, 0], [0.1, 0], [0.1, 0.1], [0, 0.1]],
    )
    for quads in ([square], [square, tall], [tiny], [tall, tiny, square]):
        yield attempt(lambda: crop(img, paddle.to_tensor(quads, dtype="float32")))


def params_of(net):
    return {n: p.clone() for n, p in net.named_parameters()}


@program
def mean_teacher_with_a_ramp(convert):
    """Mean teacher: EMA of parameters and buffers, a ramp, confidence masks."""

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc1, self.bn, self.fc2 = nn.Linear(3, 5), nn.BatchNorm1D(5), nn.Linear(5, 3)

        def forward(self, x):
            return self.fc2(F.relu(self.bn(self.fc1(x))))

    class EMA:
        def __init__(self, model, decay=0.9):
            self.model = copy.deepcopy(model)
            self.model.eval()
            self.decay, self.updates = decay, 0
            for p in self.model.parameters():
                p.stop_gradient = True

        @paddle.no_grad()
        def update(self, model):
            self.updates += 1
            d = self.decay * (1 - math.exp(-self.updates / 3))
            source = model.state_dict()
            for k, v in self.model.state_dict().items():
                if v.dtype in (paddle.float32, paddle.float64):
                    v.set_value(d * v + (1 - d) * source[k].detach())

    student = Net()
    ema = EMA(student)
    opt = paddle.optimizer.Momentum(
        learning_rate=0.1, momentum=0.9, parameters=student.parameters()
    )

    @convert
    def train_step(x, y, u, step, threshold=0.4):
        sup = F.cross_entropy(student(x), y)
        with paddle.no_grad():
            target = F.softmax(ema.model(u), axis=-1)
        conf = target.max(axis=-1)
        mask = (conf > threshold).astype("float32")
        weight = min(1.0, step / 3)
        cons = paddle.zeros([])
        if mask.sum() > 0:
            per = ((F.softmax(student(u), axis=-1) - target) ** 2).sum(-1)
            cons = (per * mask).sum() / mask.sum()
        loss = sup + weight * cons
        loss.backward()
        opt.step()
        opt.clear_grad()
        ema.update(student)
        return loss, mask.mean(), weight

    rng = np.random.RandomState(2)
    for step in range(4):
        x, u = (paddle.to_tensor(rng.randn(4, 3).astype("float32")) for _ in range(2))
        y = paddle.to_tensor(rng.randint(0, 3, 4))
        yield (
            attempt(lambda: train_step(x, y, u, step, threshold=[0.4, 0.99, 0.3, 0.4][step])),
            ema.updates,
            params_of(ema.model),
            student.bn._mean,
        )


@program
def self_paced_by_a_threshold(convert):
    """Self-paced learning: keep the easy samples, a threshold that grows; a history in an object."""

    class Pacer:
        def __init__(self, threshold, growth=1.3):
            self.threshold, self.growth = threshold, growth
            self.history = deque(maxlen=3)

        def select(self, losses):
            keep = losses < self.threshold
            if not keep.any():
                self.threshold = float(losses.min()) * 1.1
                keep = losses < self.threshold
            self.history.append(int(keep.sum()))
            return keep

        def grow(self):
            if len(self.history) == self.history.maxlen and len(set(self.history)) == 1:
                self.threshold *= self.growth**2
            else:
                self.threshold *= self.growth

    net = nn.Linear(2, 3)
    opt = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    pacer = Pacer(0.9)

    @convert
    def step(x, y):
        losses = F.cross_entropy(net(x), y, reduction="none").flatten()
        keep = pacer.select(losses.detach())
        loss = paddle.masked_select(losses, keep).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        pacer.grow()
        return loss, keep.astype("int32").sum()

    rng = np.random.RandomState(7)
    for i in range(5):
        x = paddle.to_tensor(rng.randn(4, 2).astype("float32") * (1 + 3 * (i == 1)))
        y = paddle.to_tensor(rng.randint(0, 3, 4))
        yield attempt(lambda: step(x, y)), pacer.threshold, list(pacer.history), net.weight.clone()


@program
def losses_skipped_where_not_finite(convert):
    """Several losses from a registry, weighted by learned log variances; some are skipped when not finite."""
    LOSSES = {}

    def loss(name, weight=1.0):
        def add(fn):
            LOSSES[name] = (fn, weight)
            return fn

        return add

    @loss("mse")
    def _mse(out, batch):
        return F.mse_loss(out["reg"], batch["target"])

    @loss("focal", weight=0.5)
    def _focal(out, batch, gamma=2.0):
        p = F.softmax(out["cls"], axis=-1)
        pt = (p * F.one_hot(batch["label"], p.shape[-1])).sum(-1)
        return ((1 - pt) ** gamma * -paddle.log(pt + 1e-8)).mean()

    @loss("dice")
    def _dice(out, batch):
        p, t = F.sigmoid(out["mask"]), batch["mask"]
        return 1 - 2 * (p * t).sum() / (p.sum() + t.sum())

    class MultiTask(nn.Layer):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(3, 4)
            self.heads = nn.LayerDict(
                {"reg": nn.Linear(4, 1), "cls": nn.Linear(4, 3), "mask": nn.Linear(4, 2)}
            )
            self.log_vars = nn.ParameterList(
                [paddle.create_parameter([1], "float32", is_bias=True) for _ in LOSSES]
            )

        def forward(self, batch, active=None):
            h = F.gelu(self.trunk(batch["x"]))
            out = {k: head(h) for k, head in self.heads.items()}
            total, parts, skipped = 0.0, {}, []
            for (name, (fn, weight)), s in zip(LOSSES.items(), self.log_vars):
                if active and name not in active:
                    continue
                value = fn(out, batch)
                if not paddle.isfinite(value):
                    skipped.append(name)
                    continue
                total = total + weight * paddle.exp(-s) * value + 0.5 * s
                parts[name] = value.detach()
            return total, parts, skipped

    net = convert(MultiTask())
    rng = np.random.RandomState(8)
    for active, bad in ((None, False), (("mse",), False), (None, True), (("mse",), True)):
        target = rng.randn(4, 1).astype("float32")
        if bad:
            target[0] = np.nan
        batch = {
            "x": paddle.to_tensor(rng.randn(4, 3).astype("float32")),
            "target": paddle.to_tensor(target),
            "label": paddle.to_tensor(rng.randint(0, 3, [4])),
            "mask": paddle.to_tensor(rng.randint(0, 2, [4, 2]).astype("float32")),
        }

        def go():
            total, parts, skipped = net(batch, active=active)
            if not isinstance(total, float):
                total.backward()
            g = [p.grad.clone() if p.grad is not None else None for p in net.parameters()]
            net.clear_gradients()
            return total, parts, skipped, g

        yield attempt(go)
