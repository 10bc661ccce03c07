"""Recommenders, embedding tables, pruned and quantised networks, as teams keep them."""

from collections import OrderedDict, defaultdict
from dataclasses import asdict, dataclass, field
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def two_towers_with_corrected_negatives(convert):
    """In-batch negatives with a logQ correction from streaming estimates, accidental hits masked, a temperature."""

    class Frequencies:
        """How many steps lie between two sightings of an id, in a hashed table."""

        def __init__(self, buckets, rate=0.5):
            self.last = paddle.zeros([buckets])
            self.gap = paddle.full([buckets], 4.0)
            self.step, self.rate, self.buckets = 0, rate, buckets

        def __call__(self, ids):
            self.step += 1
            slot = ids * 7 % self.buckets
            uniq = paddle.unique(slot)
            gap = self.step - self.last[uniq]
            self.gap[uniq] = (1 - self.rate) * self.gap[uniq] + self.rate * gap
            self.last[uniq] = paddle.full(uniq.shape, float(self.step))
            return 1 / self.gap[slot]

    class Towers(nn.Layer):
        def __init__(self, users, items, dim):
            super().__init__()
            paddle.seed(23)
            self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
            self.log_t = self.create_parameter([], default_initializer=nn.initializer.Constant(0.0))
            self.freq = Frequencies(8)

        def score(self, u, i):
            u, i = F.normalize(self.user(u), axis=-1), F.normalize(self.item(i), axis=-1)
            return u @ i.t() * self.log_t.exp().clip(max=20.0)

        def forward(self, users, items, weights=None):
            logits = self.score(users, items)
            if self.training:
                logits = logits - self.freq(items).log().unsqueeze(0)
            same = (items.unsqueeze(0) == items.unsqueeze(1)) & ~paddle.eye(len(items)).astype(
                "bool"
            )
            if same.any():
                logits = paddle.where(same, paddle.full_like(logits, -1e9), logits)
            loss = F.cross_entropy(logits, paddle.arange(len(items)), reduction="none")
            if weights is not None:
                return (loss * weights).sum() / weights.sum().clip(min=1e-6)
            return loss.mean()

    model = Towers(5, 6, 3)
    net = convert(model)
    for users, items, weights in (
        ([0, 1, 2], [1, 2, 3], None),
        ([0, 1, 2], [1, 1, 3], None),
        ([3, 4, 1, 0], [5, 1, 5, 2], [1.0, 0.5, 0.0, 2.0]),
        ([0, 3, 1], [4, 0, 2], [0.0, 0.0, 0.0]),
    ):
        loss = attempt(lambda: net(T(users), T(items), None if weights is None else T(weights)))
        yield loss
        if isinstance(loss, paddle.Tensor):
            loss.backward()
        yield model.log_t.grad, model.item.weight.grad, model.freq.gap + 0, model.freq.step
        model.clear_gradients()
    model.eval()
    yield attempt(lambda: net(T([0, 1]), T([1, 2])))


@program
def sessions_with_hard_exclusions(convert):
    """A recurrent session model that recommends a slate: seen items out, caps for each brand, diversity by MMR."""

    class Slate(NamedTuple):
        items: list
        scores: list
        skipped: int

    class Session(nn.Layer):
        def __init__(self, n, dim, brands):
            super().__init__()
            paddle.seed(29)
            self.items, self.cell = nn.Embedding(n, dim), nn.GRUCell(dim, dim)
            self.brands = brands
            self.states = {}

        def observe(self, user, item):
            h = self.states.get(user)
            if h is None:
                h = paddle.zeros([1, self.items.weight.shape[1]])
            e = self.items(item)
            novelty = 1 - F.cosine_similarity(h, e).abs()
            if novelty < 0.2:
                self.states[user] = h
                return h
            out, _ = self.cell(e, h)
            self.states[user] = out
            return out

        @paddle.no_grad()
        def slate(self, user, seen=(), k=3, cap=1, trade=0.7):
            h = self.states[user]
            scores = (h @ self.items.weight.t())[0]
            for i in seen:
                scores[i] = -1e9
            emb = F.normalize(self.items.weight, axis=-1)
            chosen, values, counts, skipped = [], [], defaultdict(int), 0
            for _ in range(len(self.brands)):
                if len(chosen) == k:
                    break
                mmr = trade * scores
                if chosen:
                    sim = (emb @ emb[T(chosen)].t()).max(axis=-1)
                    mmr = mmr - (1 - trade) * sim
                best = int(mmr.argmax())
                if scores[best] < -1e8:
                    break
                brand = self.brands[best]
                if counts[brand] >= cap:
                    skipped += 1
                else:
                    counts[brand] += 1
                    chosen.append(best)
                    values.append(mmr[best])
                scores[best] = -1e9
            return Slate(chosen, values, skipped)

    model = Session(6, 4, "aabbcd")
    observe, slate = convert(model.observe), convert(model.slate)
    for user, item in (("u", 1), ("u", 3), ("v", 2), ("u", 3)):
        yield attempt(lambda: observe(user, T([item])))
    yield attempt(lambda: slate("u", seen=[1, 3]))
    yield attempt(lambda: slate("v", seen=[2], k=5, cap=2))
    yield attempt(lambda: slate("v", seen=range(6)))
    yield attempt(lambda: slate("w"))


@program
def machines_of_fields_and_factors(convert):
    """Field-aware factorisation with interactions pruned by a gate, trained by FTRL with sparse weights."""

    @dataclass
    class Ftrl:
        alpha: float = 0.3
        beta: float = 1.0
        l1: float = 0.05
        l2: float = 0.1
        z: dict = field(default_factory=dict)
        n: dict = field(default_factory=dict)

        def weight(self, k, like):
            if k not in self.z:
                return paddle.zeros_like(like)
            z, n = self.z[k], self.n[k]
            w = -(z - paddle.sign(z) * self.l1) / ((self.beta + n.sqrt()) / self.alpha + self.l2)
            return paddle.where(z.abs() <= self.l1, paddle.zeros_like(w), w)

        def update(self, k, w, g):
            n = self.n.get(k, paddle.zeros_like(g))
            sigma = ((n + g * g).sqrt() - n.sqrt()) / self.alpha
            self.z[k] = self.z.get(k, paddle.zeros_like(g)) + g - sigma * w
            self.n[k] = n + g * g

    class FFM(nn.Layer):
        def __init__(self, sizes, dim=2):
            super().__init__()
            paddle.seed(31)
            self.sizes = sizes
            f = len(sizes)
            self.linear = nn.LayerList([nn.Embedding(s, 1) for s in sizes])
            self.factors = nn.LayerList([nn.Embedding(s, f * dim) for s in sizes])
            self.gates = self.create_parameter(
                [f * (f - 1) // 2], default_initializer=nn.initializer.Constant(1.0)
            )
            self.ftrl = Ftrl()

        def forward(self, x):
            f = len(self.sizes)
            lin = sum(e(x[:, k]) for k, e in enumerate(self.linear))[:, 0]
            v = [e(x[:, k]).reshape([x.shape[0], f, -1]) for k, e in enumerate(self.factors)]
            pairs = paddle.stack(
                [(v[i][:, j] * v[j][:, i]).sum(-1) for i, j in combinations(range(f), 2)], -1
            )
            return lin + (pairs * self.gates).sum(-1)

        def learn(self, x, y):
            loss = F.binary_cross_entropy_with_logits(self(x), y)
            grads = paddle.grad(loss, [self.gates, self.factors[0].weight])
            with paddle.no_grad():
                self.ftrl.update("gates", self.gates, grads[0])
                self.gates.set_value(self.ftrl.weight("gates", self.gates))
                self.factors[0].weight.set_value(self.factors[0].weight - 0.1 * grads[1])
            alive = int((self.gates != 0).sum())
            if alive == 0:
                return loss, "pruned"
            return loss, alive

    model = FFM([3, 4, 2])
    learn, predict = convert(model.learn), convert(model)
    rng = np.random.RandomState(8)
    for n in (4, 4, 6, 2):
        x = T(np.stack([rng.randint(0, s, n) for s in model.sizes], 1))
        yield attempt(lambda: learn(x, T(rng.randint(0, 2, n).astype("float32")))), model.gates + 0
        yield attempt(lambda: predict(x))
    yield (
        {k: v for k, v in asdict(model.ftrl).items() if not isinstance(v, dict)},
        dict(model.ftrl.z),
    )


@program
def features_kept_in_an_evicting_table(convert):
    """An embedding table of fixed size: slots are given out by id, the least frequent is evicted, rows start anew."""

    class Table(nn.Layer):
        def __init__(self, slots, dim):
            super().__init__()
            paddle.seed(37)
            self.rows = nn.Embedding(slots, dim)
            self.slot_of = OrderedDict()
            self.hits = [0] * slots
            self.register_buffer("age", paddle.zeros([slots]))

        def admit(self, key):
            if key in self.slot_of:
                self.slot_of.move_to_end(key)
                slot = self.slot_of[key]
            elif len(self.slot_of) < len(self.hits):
                slot = self.slot_of[key] = len(self.slot_of)
            else:
                worst = min(self.slot_of, key=lambda k: self.hits[self.slot_of[k]])
                slot = self.slot_of[key] = self.slot_of.pop(worst)
                self.hits[slot] = 0
                with paddle.no_grad():
                    self.rows.weight[slot] = paddle.zeros_like(self.rows.weight[slot])
            self.hits[slot] += 1
            return slot

        def forward(self, keys):
            slots = [self.admit(k) for k in keys]
            index = paddle.to_tensor(slots)
            self.age += 1
            self.age[index] = 0.0
            e = self.rows(index)
            stale = self.age > 2
            if stale.any():
                e = e - 0.1 * self.rows.weight[stale].mean(axis=0)
            return e

    table = Table(3, 2)
    lookup = convert(table)
    for keys in (["a", "b"], ["a", "c"], ["a", "d"], ["d", "a", "c"], ["e"]):
        out = attempt(lambda: lookup(keys))
        yield out, dict(table.slot_of), list(table.hits), table.age + 0
        if isinstance(out, paddle.Tensor):
            out.square().sum().backward()
        yield table.rows.weight.grad, table.rows.weight + 0
        table.clear_gradients()


@program
def two_of_four_weights_kept(convert):
    """N:M sparsity: masks by magnitude or by activations, permuted channels, a straight-through pass, a schedule."""

    class Masked(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, w, mask, decay):
            ctx.save_for_backward(w, mask)
            ctx.decay = decay
            return w * mask

        @staticmethod
        def backward(ctx, g):
            w, mask = ctx.saved_tensor()
            return g + ctx.decay * (1 - mask) * w

    class SparseLinear(nn.Layer):
        def __init__(self, i, o, n=2, m=4, decay=0.1):
            super().__init__()
            paddle.seed(41)
            self.weight = self.create_parameter([o, i])
            self.n, self.m, self.decay, self.on = n, m, decay, False
            self.register_buffer("act", paddle.zeros([i]))
            self.perm = list(range(i))

        def importance(self):
            s = self.weight.abs()
            if self.act.sum() > 0:
                s = s * self.act.sqrt()
            return s

        def mask(self):
            o, i = self.weight.shape
            s = self.importance()[:, self.perm].reshape([o, i // self.m, self.m])
            keep = s.topk(self.n, axis=-1)[1]
            m = paddle.put_along_axis(paddle.zeros_like(s), keep, 1.0, axis=-1).reshape([o, i])
            inverse = [self.perm.index(k) for k in range(i)]
            return m[:, inverse]

        def permute(self):
            kept = (self.importance() * self.mask()).sum()
            best = list(self.perm)
            for a in range(len(best)):
                for b in range(a + self.m, len(best)):
                    trial = list(best)
                    trial[a], trial[b] = trial[b], trial[a]
                    self.perm = trial
                    now = (self.importance() * self.mask()).sum()
                    if now > kept:
                        kept, best = now, trial
            self.perm = best
            return kept

        def forward(self, x):
            if self.training:
                self.act = 0.9 * self.act + 0.1 * x.detach().square().mean(0)
            w = Masked.apply(self.weight, self.mask(), self.decay) if self.on else self.weight
            return F.linear(x, w.t())

    layer = SparseLinear(8, 2)
    net = convert(layer)
    permute = convert(layer.permute)
    rng = np.random.RandomState(9)
    for k in range(5):
        if k == 2:
            layer.on = True
        if k == 3:
            yield attempt(permute), list(layer.perm)
        if k == 4:
            layer.eval()
        out = attempt(lambda: net(T(rng.randn(3 + k % 2, 8).astype("float32"))))
        yield out, layer.act + 0
        if isinstance(out, paddle.Tensor):
            out.square().mean().backward()
        yield layer.weight.grad, layer.mask()
        layer.clear_gradients()


@program
def scales_moved_from_activations_to_weights(convert):
    """SmoothQuant on a small network: ranges are collected by hooks, alpha is searched, layers are replaced."""

    class Ranges:
        def __init__(self, model):
            self.max = {}
            self.handles = [
                layer.register_forward_pre_hook(self.hook(name))
                for name, layer in model.named_sublayers()
                if isinstance(layer, nn.Linear)
            ]

        def hook(self, name):
            def see(layer, inputs):
                now = inputs[0].detach().abs().max(axis=0)
                self.max[name] = paddle.maximum(self.max[name], now) if name in self.max else now

            return see

        def close(self):
            for h in self.handles:
                h.remove()

    def fake(x, bits, axis=None):
        top = 2 ** (bits - 1) - 1
        scale = (x.abs().max() if axis is None else x.abs().max(axis=axis, keepdim=True)) / top
        if axis is None and scale == 0:
            return x
        scale = scale.clip(min=1e-8)
        return (x / scale).round().clip(-top - 1, top) * scale

    class Smoothed(nn.Layer):
        def __init__(self, linear, scale, bits):
            super().__init__()
            self.scale, self.bits = scale, bits
            self.weight = fake(linear.weight * scale.unsqueeze(-1), bits, axis=0)
            self.bias = linear.bias

        def forward(self, x):
            return F.linear(fake(x / self.scale, self.bits), self.weight, self.bias)

    def smooth(linear, top, alpha):
        s = top.clip(min=1e-5) ** alpha / linear.weight.abs().max(axis=1).clip(min=1e-5) ** (
            1 - alpha
        )
        return s.clip(min=1e-3)

    paddle.seed(43)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    ranges = Ranges(model)
    run = convert(lambda x: model(x))
    rng = np.random.RandomState(10)
    for n in (4, 2, 5):
        yield (
            attempt(lambda: run(T((rng.randn(n, 3) * [1, 10, 0.1]).astype("float32")))),
            dict(ranges.max),
        )
    ranges.close()

    @convert
    def search(x, name, alphas, bits=4):
        layer = dict(model.named_sublayers())[name]
        target = layer(x)
        best, found = None, None
        for alpha in alphas:
            candidate = Smoothed(layer, smooth(layer, ranges.max[name], alpha), bits)
            err = (candidate(x) - target).square().mean()
            if best is None or err < best:
                best, found = err, alpha
        return found, best

    x = T((rng.randn(6, 3) * [1, 10, 0.1]).astype("float32"))
    yield attempt(lambda: search(x, "0", [0.25, 0.5, 0.75]))
    yield attempt(lambda: search(paddle.zeros([2, 3]), "0", [0.5, 0.9]))
    yield attempt(lambda: search(x, "1", [0.5]))


@program
def bits_given_to_layers_by_sensitivity(convert):
    """Mixed precision under a budget: a heap of gains, layers that are rolled back, a report in text."""

    def quantise(w, bits):
        if bits >= 16:
            return w
        top = 2 ** (bits - 1) - 1
        s = w.abs().max() / top
        return (w / s).round() * s

    class Allocation:
        def __init__(self, layers, choices=(2, 4, 8)):
            self.layers, self.choices = layers, choices
            self.bits = {k: choices[0] for k in layers}

        def output(self, x, bits):
            return reduce(
                lambda h, k: paddle.tanh(h @ quantise(self.layers[k], bits[k])), self.layers, x
            )

        def error(self, x, target, bits):
            return (self.output(x, bits) - target).square().mean()

        def cost(self):
            return sum(self.layers[k].size * b for k, b in self.bits.items())

        def gain(self, x, target, name):
            at = self.choices.index(self.bits[name])
            if at + 1 == len(self.choices):
                return None
            more = {**self.bits, name: self.choices[at + 1]}
            saved = self.error(x, target, self.bits) - self.error(x, target, more)
            return saved / (self.layers[name].size * (more[name] - self.bits[name])), more[name]

        def allocate(self, x, budget):
            target = self.output(x, dict.fromkeys(self.layers, 32))
            trace = []
            while True:
                options = {k: g for k in self.layers if (g := self.gain(x, target, k)) is not None}
                if not options:
                    break
                name = max(options, key=lambda k: float(options[k][0]))
                gain, bits = options[name]
                if gain <= 0:
                    break
                old = self.bits[name]
                self.bits[name] = bits
                if self.cost() > budget:
                    self.bits[name] = old
                    break
                trace.append(f"{name}: {old} -> {bits} ({float(gain):.1e})")
            return self.error(x, target, self.bits), trace

    rng = np.random.RandomState(12)
    layers = OrderedDict(
        (f"fc{i}", T((rng.randn(a, b) / 2).astype("float32")))
        for i, (a, b) in enumerate([(3, 4), (4, 4), (4, 2)])
    )
    for budget in (100, 200, 10_000):
        plan = Allocation(layers)
        allocate = convert(plan.allocate)
        x = T(rng.randn(5, 3).astype("float32"))
        yield attempt(lambda: allocate(x, budget)), plan.bits, plan.cost()
    yield attempt(lambda: allocate(paddle.zeros([2, 3]), 10_000)), plan.bits
