"""Models that step: a state space with a cache, sets matched to sets, queues, stiff steps, slots."""

import itertools
import math
from collections import deque
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def selective_state_space_with_a_cache(convert):
    """A Mamba-like block: scan over a prompt, single steps from a cache, chunks, and generation."""

    @dataclass
    class Cache:
        conv: paddle.Tensor
        ssm: paddle.Tensor
        seen: int = 0

        @classmethod
        def empty(cls, batch, cfg):
            return cls(
                paddle.zeros([batch, cfg.dim, cfg.width - 1]),
                paddle.zeros([batch, cfg.dim, cfg.state]),
            )

    @dataclass(frozen=True)
    class Config:
        dim: int = 3
        state: int = 2
        width: int = 3
        layers: int = 2
        vocab: int = 7

    class Block(nn.Layer):
        def __init__(self, cfg):
            super().__init__()
            self.cfg = cfg
            self.inner = nn.Linear(cfg.dim, 2 * cfg.dim, bias_attr=False)
            self.conv = self.create_parameter([cfg.dim, cfg.width])
            self.to_bc = nn.Linear(cfg.dim, 2 * cfg.state + 1)
            self.log_a = self.create_parameter(
                [cfg.dim, cfg.state], default_initializer=nn.initializer.Constant(0.3)
            )
            self.out = nn.Linear(cfg.dim, cfg.dim)

        def forward(self, x, cache=None):
            b, length, d = x.shape
            u, gate = self.inner(x).chunk(2, axis=-1)
            cache = cache if cache is not None else Cache.empty(b, self.cfg)
            padded = paddle.concat([cache.conv, u.transpose([0, 2, 1])], axis=-1)
            u = sum(
                padded[:, :, k : k + length] * self.conv[:, k].unsqueeze(-1)
                for k in range(self.cfg.width)
            )
            u = F.silu(u).transpose([0, 2, 1])
            B, C, dt = self.to_bc(u).split([self.cfg.state, self.cfg.state, 1], axis=-1)
            dt = F.softplus(dt)
            A = -paddle.exp(self.log_a)
            h, ys = cache.ssm, []
            for t in range(length):
                decay = paddle.exp(dt[:, t].unsqueeze(-1) * A)
                h = decay * h + (dt[:, t] * u[:, t]).unsqueeze(-1) * B[:, t].unsqueeze(1)
                ys.append((h * C[:, t].unsqueeze(1)).sum(-1))
            cache.conv = padded[:, :, padded.shape[-1] - self.cfg.width + 1 :]
            cache.ssm = h
            cache.seen += length
            return x + self.out(paddle.stack(ys, axis=1) * F.silu(gate)), cache

    class Model(nn.Layer):
        def __init__(self, cfg):
            super().__init__()
            self.embed = nn.Embedding(cfg.vocab, cfg.dim)
            self.blocks = nn.LayerList([Block(cfg) for _ in range(cfg.layers)])
            self.norm = nn.LayerNorm(cfg.dim)

        @convert
        def forward(self, ids, caches=None):
            x = self.embed(ids)
            new = []
            for block, cache in itertools.zip_longest(self.blocks, caches or []):
                x, cache = block(x, cache)
                new.append(cache)
            return self.norm(x) @ self.embed.weight.T, new

        @convert
        @paddle.no_grad()
        def generate(self, ids, steps, eos=0, temperature=None, draws=None):
            logits, caches = self(ids)
            done = paddle.zeros([ids.shape[0]], dtype="bool")
            out = []
            for k in range(steps):
                last = logits[:, -1]
                if temperature is not None:
                    p = F.softmax(last / temperature, axis=-1).cumsum(-1)
                    token = (p < draws[k].unsqueeze(-1)).astype("int64").sum(-1)
                else:
                    token = last.argmax(-1)
                token = paddle.where(done, paddle.full_like(token, eos), token)
                out.append(token)
                done = done | (token == eos)
                if done.all():
                    break
                logits, caches = self(token.unsqueeze(1), caches)
            return paddle.stack(out, axis=1), [c.seen for c in caches]

    paddle.seed(2)
    model = Model(Config())
    rng = np.random.RandomState(3)
    for b, n in ((1, 4), (2, 3), (1, 6)):
        ids = paddle.to_tensor(rng.randint(0, 7, (b, n)))
        logits, caches = model(ids)
        yield logits, caches
        step, caches = model(ids[:, :1], caches)
        yield step, [c.seen for c in caches]
        yield model.generate(ids, 4, eos=int(rng.randint(7)))
    draws = paddle.to_tensor(rng.rand(5, 1).astype("float32"))
    yield model.generate(ids, 5, temperature=1.5, draws=draws)
    logits, _ = model(ids)
    F.cross_entropy(logits[:, :-1], ids[:, 1:]).backward()
    yield model.blocks[0].log_a.grad, model.embed.weight.grad


@program
def detections_matched_as_a_set(convert):
    """DETR-like: costs, the Hungarian method with potentials, losses on pairs, no-object weights."""

    class Target(NamedTuple):
        labels: paddle.Tensor
        boxes: paddle.Tensor

        def __len__(self):
            return self.labels.shape[0]

    def corners(boxes):
        cx, cy, w, h = boxes.unbind(-1)
        return paddle.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], axis=-1)

    def giou(a, b):
        a, b = corners(a).unsqueeze(1), corners(b).unsqueeze(0)
        low, high = paddle.maximum(a[..., :2], b[..., :2]), paddle.minimum(a[..., 2:], b[..., 2:])
        inter = (high - low).clip(min=0).prod(-1)
        area = lambda x: (x[..., 2:] - x[..., :2]).prod(-1)
        union = area(a) + area(b) - inter
        hull_low = paddle.minimum(a[..., :2], b[..., :2])
        hull_high = paddle.maximum(a[..., 2:], b[..., 2:])
        hull = (hull_high - hull_low).prod(-1)
        return inter / union - (hull - union) / hull

    def hungarian(cost):
        """Rows are few, columns many: the column of each row."""
        n, m = cost.shape
        u, v = paddle.zeros([n + 1]), paddle.zeros([m + 1])
        p = paddle.zeros([m + 1], dtype="int64")
        way = paddle.zeros([m + 1], dtype="int64")
        for i in range(1, n + 1):
            p[0] = i
            j0 = paddle.to_tensor(0)
            least = paddle.full([m + 1], 1e9)
            used = paddle.zeros([m + 1], dtype="bool")
            while True:
                used[j0] = True
                i0, delta, j1 = p[j0], paddle.to_tensor(1e9), paddle.to_tensor(0)
                for j in range(1, m + 1):
                    if used[j]:
                        continue
                    reduced = cost[i0 - 1, j - 1] - u[i0] - v[j]
                    if reduced < least[j]:
                        least[j] = reduced
                        way[j] = j0
                    if least[j] < delta:
                        delta, j1 = least[j], paddle.to_tensor(j)
                for j in range(m + 1):
                    if used[j]:
                        u[p[j]] += delta
                        v[j] -= delta
                    else:
                        least[j] -= delta
                j0 = j1
                if p[j0] == 0:
                    break
            while j0 != 0:
                j1 = way[j0]
                p[j0] = p[j1]
                j0 = j1
        rows = [None] * n
        for j in range(1, m + 1):
            for i in range(n):
                if p[j] == i + 1:
                    rows[i] = j - 1
        return rows

    class SetLoss:
        weights = {"label": 1.0, "l1": 5.0, "giou": 2.0}

        def __init__(self, classes, nothing=0.1):
            self.classes = classes
            self.class_weight = paddle.ones([classes + 1])
            self.class_weight[-1] = nothing

        @paddle.no_grad()
        def match(self, logits, boxes, target):
            prob = F.softmax(logits, axis=-1)[:, target.labels]
            l1 = (boxes.unsqueeze(1) - target.boxes.unsqueeze(0)).abs().sum(-1)
            cost = -prob + 5 * l1 - 2 * giou(boxes, target.boxes)
            return hungarian(cost.T)

        def __call__(self, logits, boxes, target):
            labels = paddle.full([logits.shape[0]], self.classes, dtype="int64")
            parts = {"l1": boxes.sum() * 0, "giou": boxes.sum() * 0}
            matched = self.match(logits, boxes, target) if len(target) else []
            for t, q in enumerate(matched):
                labels[q] = target.labels[t]
                parts["l1"] = parts["l1"] + (boxes[q] - target.boxes[t]).abs().sum()
                pair = giou(boxes[q].unsqueeze(0), target.boxes[t : t + 1])
                parts["giou"] = parts["giou"] + 1 - pair[0, 0]
            parts = {k: v / max(len(target), 1) for k, v in parts.items()}
            parts["label"] = F.cross_entropy(logits, labels, weight=self.class_weight)
            return sum(self.weights[k] * v for k, v in parts.items()), matched

    @convert
    def assign(cost):
        return hungarian(cost)

    loss_of = convert(SetLoss(3).__call__)

    rng = np.random.RandomState(19)
    for n, m in ((2, 3), (3, 3), (2, 3), (1, 4)):
        yield assign(paddle.to_tensor(rng.rand(n, m).astype("float32")))
    for q, t in ((3, 2), (3, 1), (2, 0)):
        logits = paddle.to_tensor(rng.randn(q, 4).astype("float32"), stop_gradient=False)
        boxes = paddle.to_tensor(rng.rand(q, 4).astype("float32") * 0.5 + 0.1, stop_gradient=False)
        target = Target(
            paddle.to_tensor(rng.randint(0, 3, t).astype("int64")),
            paddle.to_tensor(rng.rand(t, 4).astype("float32") * 0.5 + 0.1),
        )
        loss, matched = loss_of(logits, boxes, target)
        loss.backward()
        yield loss.detach(), matched, logits.grad, boxes.grad


@program
def dilated_generation_with_queues(convert):
    """A WaveNet: causal layers for training, queues of activations for samples, mu-law in and out."""

    class MuLaw:
        def __init__(self, channels=8):
            self.mu = channels - 1

        def encode(self, x):
            y = paddle.sign(x) * paddle.log1p(self.mu * x.abs()) / math.log1p(self.mu)
            return ((y + 1) / 2 * self.mu + 0.5).floor().astype("int64")

        def decode(self, code):
            y = 2 * code.astype("float32") / self.mu - 1
            return paddle.sign(y) * ((1 + self.mu) ** y.abs() - 1) / self.mu

        def __len__(self):
            return self.mu + 1

    class Layer(nn.Layer):
        def __init__(self, dim, dilation):
            super().__init__()
            self.dilation = dilation
            self.past, self.now = nn.Linear(dim, 2 * dim), nn.Linear(dim, 2 * dim)
            self.residual, self.skip = nn.Linear(dim, dim), nn.Linear(dim, dim)

        def gate(self, before, x):
            a, b = (self.past(before) + self.now(x)).chunk(2, axis=-1)
            h = paddle.tanh(a) * F.sigmoid(b)
            return x + self.residual(h), self.skip(h)

        def forward(self, x):
            pad = paddle.zeros([min(self.dilation, x.shape[0]), x.shape[1]])
            before = paddle.concat([pad, x[: max(x.shape[0] - self.dilation, 0)]])
            return self.gate(before, x)

        def step(self, queue, x):
            out = self.gate(queue.popleft(), x)
            queue.append(x)
            return out

    class WaveNet(nn.Layer):
        def __init__(self, codec, dim=3, dilations=(1, 2, 4)):
            super().__init__()
            self.codec = codec
            self.embed = nn.Embedding(len(codec), dim)
            self.layers = nn.LayerList([Layer(dim, d) for d in dilations])
            self.head = nn.Linear(dim, len(codec))

        @property
        def receptive_field(self):
            return 1 + sum(layer.dilation for layer in self.layers)

        @convert
        def forward(self, codes):
            x, skips = self.embed(codes), []
            for layer in self.layers:
                x, skip = layer(x)
                skips.append(skip)
            return self.head(F.relu(sum(skips)))

        def queues(self):
            return [
                deque([paddle.zeros([self.head.weight.shape[0]])] * l.dilation, maxlen=l.dilation)
                for l in self.layers
            ]

        def tick(self, queues, code):
            x, total = self.embed(code), 0.0
            for layer, queue in zip(self.layers, queues):
                x, skip = layer.step(queue, x)
                total = total + skip
            return self.head(F.relu(total))

        @convert
        @paddle.no_grad()
        def sample(self, prompt, draws, silence=None):
            queues = self.queues()
            for code in prompt:
                logits = self.tick(queues, code)
            out, quiet = [], 0
            for u in draws:
                p = F.softmax(logits, axis=-1).cumsum(0)
                code = (p < u).sum().clip(max=len(self.codec) - 1)
                value = self.codec.decode(code)
                out.append(value)
                quiet = quiet + 1 if value.abs() < 0.1 else 0
                if silence is not None and quiet >= silence:
                    break
                logits = self.tick(queues, code)
            return paddle.stack(out), quiet

    paddle.seed(6)
    codec = MuLaw()
    net = WaveNet(codec)
    opt = paddle.optimizer.Adam(0.02, parameters=net.parameters())
    rng = np.random.RandomState(9)
    for n in (6, 9, 6):
        wave = paddle.to_tensor(np.sin(np.arange(n + 1) * 0.9).astype("float32") * 0.8)
        codes = codec.encode(wave)
        loss = F.cross_entropy(net(codes[:-1]), codes[1:])
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield codes, codec.decode(codes), loss.detach()
        draws = paddle.to_tensor(rng.rand(n - 2).astype("float32"))
        yield net.sample(codes[:3], draws)
    yield net.sample(codes[:2], paddle.full([5], 0.5), silence=1), net.receptive_field


@program
def stiff_equations_by_implicit_steps(convert):
    """Implicit Euler, trapezoid and BDF2 behind one class, Newton inside, steps that adapt or fail."""

    class StepFailed(ArithmeticError):
        pass

    class System(NamedTuple):
        name: str
        f: Callable
        jac: Callable

    def vdp(mu):
        def f(t, y):
            return paddle.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

        def jac(t, y):
            zero, one = paddle.zeros([]), paddle.ones([])
            return paddle.stack(
                [
                    paddle.stack([zero, one]),
                    paddle.stack([-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]),
                ]
            )

        return System(f"vdp({mu:g})", f, jac)

    def newton(residual, jacobian, start, tol=1e-5, limit=8):
        y = start
        for k in range(limit):
            delta = paddle.linalg.solve(jacobian(y), -residual(y))
            y = y + delta
            if delta.abs().max() < tol:
                return y, k + 1
        raise StepFailed(f"Newton did not converge in {limit} steps")

    class Method:
        order = 1

        def __init__(self, system):
            self.system = system
            self.newton_steps = 0

        def solve(self, t, start, beta, constant):
            f, jac = self.system.f, self.system.jac
            eye = paddle.eye(start.shape[0])
            y, used = newton(
                lambda y: y - beta * f(t, y) - constant,
                lambda y: eye - beta * jac(t, y),
                start,
            )
            self.newton_steps += used
            return y

        def advance(self, t, h, history):
            y = history[-1]
            return self.solve(t + h, y, h, y)

    class Trapezoid(Method):
        order = 2

        def advance(self, t, h, history):
            y = history[-1]
            return self.solve(t + h, y, h / 2, y + h / 2 * self.system.f(t, y))

    class BDF2(Method):
        order = 2

        def advance(self, t, h, history):
            if len(history) < 2:
                return super().advance(t, h, history)
            *_, older, y = history
            return self.solve(t + h, y, 2 * h / 3, (4 * y - older) / 3)

    @convert
    def fixed(method, y, stop, steps):
        h, history = stop / steps, [y]
        for k in range(steps):
            history.append(method.advance(k * h, h, history))
        return paddle.stack(history)

    @convert
    def adaptive(method, y, stop, h=0.1, tol=1e-2, most=25):
        t = paddle.zeros([])
        h = paddle.to_tensor(h)
        accepted = rejected = 0
        while t < stop and accepted + rejected < most:
            h = paddle.minimum(h, stop - t)
            full = method.advance(t, h, [y])
            half = method.advance(t, h / 2, [y])
            half = method.advance(t + h / 2, h / 2, [half])
            error = (half - full).norm() / (2**method.order - 1)
            if error <= tol:
                t, y = t + h, half
                accepted += 1
            else:
                rejected += 1
            factor = 0.9 * (tol / error.clip(min=1e-8)) ** (1 / (method.order + 1))
            h = h * factor.clip(0.3, 2.0)
        return t, y, accepted, rejected

    for kind, mu in ((Method, 2.0), (Trapezoid, 2.0), (BDF2, 5.0)):
        method = kind(vdp(mu))
        yield (
            method.system.name,
            attempt(lambda: fixed(method, paddle.to_tensor([1.5, 0.0]), 0.6, 3)),
        )
        yield method.newton_steps
        for y0, tol in (([2.0, 0.0], 1e-2), ([0.5, 0.5], 1e-1)):
            yield attempt(lambda: adaptive(method, paddle.to_tensor(y0), 0.5, tol=tol))
        yield method.newton_steps
    bad = Trapezoid(
        System("root", lambda t, y: -(y.abs().sqrt()), lambda t, y: paddle.eye(1) * 0.0)
    )
    yield attempt(lambda: fixed(bad, paddle.to_tensor([0.01]), 4.0, 2))


@program
def slots_that_compete_for_pixels(convert):
    """Slot attention: iterations until the slots rest, dropped slots, a decoder, greedy readout."""

    class Rested(Exception):
        """Leaves the loop of iterations."""

        def __init__(self, slots, step):
            self.slots, self.step = slots, step

    class SlotAttention(nn.Layer):
        iterations = 4

        def __init__(self, dim, slots, tol=None):
            super().__init__()
            self.mu = self.create_parameter([slots, dim])
            self.q, self.k, self.v = (nn.Linear(dim, dim, bias_attr=False) for _ in "qkv")
            self.gru = nn.GRUCell(dim, dim)
            self.norm = nn.LayerNorm(dim)
            self.tol = tol
            self.attention: Optional[paddle.Tensor] = None

        def update(self, slots, keys, values):
            logits = self.q(self.norm(slots)) @ keys.T / math.sqrt(keys.shape[-1])
            attention = F.softmax(logits, axis=0) + 1e-6
            self.attention = attention
            weights = attention / attention.sum(axis=1, keepdim=True)
            new, _ = self.gru(weights @ values, slots)
            return new

        def forward(self, x, noise):
            keys, values = self.k(x), self.v(x)
            slots = self.mu + 0.1 * noise
            try:
                for step in range(self.iterations):
                    new = self.update(slots, keys, values)
                    moved = (new - slots).abs().max()
                    slots = new
                    if self.tol is not None and moved < self.tol:
                        raise Rested(slots, step + 1)
            except Rested as rest:
                return rest.slots, rest.step
            return slots, self.iterations

    class Scene(nn.Layer):
        def __init__(self, dim=4, slots=3, tol=None):
            super().__init__()
            self.encode = nn.Linear(2, dim)
            self.slots = SlotAttention(dim, slots, tol)
            self.decode = nn.Linear(dim, 3)
            self.position = self.create_parameter([16, dim])

        def broadcast(self, slot, n):
            rgb, alpha = self.decode(slot + self.position[:n]).split([2, 1], axis=-1)
            return rgb, alpha

        @convert
        def forward(self, pixels, noise):
            slots, steps = self.slots(F.relu(self.encode(pixels)), noise)
            parts = [self.broadcast(slot, pixels.shape[0]) for slot in slots]
            colours, alphas = (paddle.stack(p) for p in zip(*parts))
            masks = F.softmax(alphas, axis=0)
            image = (masks * colours).sum(axis=0)
            return image, masks.squeeze(-1), steps

        @convert
        @paddle.no_grad()
        def readout(self, pixels, noise, least=0.2):
            _, masks, _ = self(pixels, noise)
            owner = masks.argmax(axis=0)
            objects = {}
            for k in range(masks.shape[0]):
                mine = owner == k
                share = mine.astype("float32").mean()
                if share >= least:
                    objects[k] = {"share": share, "mean": pixels[mine].mean(axis=0)}
            biggest = max(objects, key=lambda k: objects[k]["share"], default=None)
            return objects, biggest

    paddle.seed(8)
    rng = np.random.RandomState(15)
    for tol, sizes in ((None, (5, 8)), (0.3, (6, 6, 4))):
        scene = Scene(tol=tol)
        opt = paddle.optimizer.AdamW(0.02, parameters=scene.parameters())
        for n in sizes:
            pixels = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
            noise = paddle.to_tensor(rng.randn(3, 4).astype("float32"))
            image, masks, steps = scene(pixels, noise)
            loss = ((image - pixels) ** 2).mean()
            loss.backward()
            yield loss.detach(), masks.detach(), steps, scene.slots.mu.grad
            opt.step()
            opt.clear_grad()
            yield attempt(lambda: scene.readout(pixels, noise))
