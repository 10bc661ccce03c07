"""External memories, attention caches, mixtures of experts, quantisation observers."""

import math
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def neural_turing_machine_memory(convert):
    """Content and location addressing, erase and add; a copy task read out step by step."""

    @dataclass
    class Address:
        key: paddle.Tensor
        beta: paddle.Tensor
        gate: paddle.Tensor
        shift: paddle.Tensor
        gamma: paddle.Tensor

    class Memory:
        def __init__(self, slots, width):
            self.data = paddle.full([slots, width], 0.1)
            self.slots = slots

        def by_content(self, key, beta):
            sim = F.cosine_similarity(self.data, key.unsqueeze(0), axis=-1)
            return F.softmax(beta * sim, axis=0)

        def address(self, a, previous):
            content = self.by_content(a.key, a.beta)
            gated = a.gate * content + (1 - a.gate) * previous
            shifted = sum(
                a.shift[i] * paddle.roll(gated, shifts=offset)
                for i, offset in enumerate((-1, 0, 1))
            )
            sharp = shifted**a.gamma
            return sharp / (sharp.sum() + 1e-8)

        def write(self, w, erase, add):
            w = w.unsqueeze(-1)
            self.data = self.data * (1 - w * erase) + w * add

        def read(self, w):
            return paddle.matmul(w, self.data)

    class Head(nn.Layer):
        def __init__(self, inputs, width):
            super().__init__()
            self.fc = nn.Linear(inputs, width + 6)
            self.width = width

        def forward(self, h):
            out = self.fc(h)
            return Address(
                key=out[: self.width].tanh(),
                beta=F.softplus(out[self.width]),
                gate=F.sigmoid(out[self.width + 1]),
                shift=F.softmax(out[self.width + 2 : self.width + 5], axis=0),
                gamma=1 + F.softplus(out[self.width + 5]),
            )

    class NTM(nn.Layer):
        def __init__(self, inputs=3, hidden=6, slots=5, width=4):
            super().__init__()
            self.controller = nn.Linear(inputs + width, hidden)
            self.write_head, self.read_head = Head(hidden, width), Head(hidden, width)
            self.edit = nn.Linear(hidden, 2 * width)
            self.out = nn.Linear(hidden + width, inputs)
            self.slots, self.width = slots, width

        def forward(self, sequence, recall=0):
            memory = Memory(self.slots, self.width)
            w_write = w_read = F.one_hot(paddle.to_tensor(0), self.slots)
            read = paddle.zeros([self.width])
            outputs = []
            blank = paddle.zeros_like(sequence[0])
            for t in range(sequence.shape[0] + recall):
                x = sequence[t] if t < sequence.shape[0] else blank
                h = self.controller(paddle.concat([x, read])).tanh()
                w_write = memory.address(self.write_head(h), w_write)
                erase, add = self.edit(h).chunk(2)
                memory.write(w_write, F.sigmoid(erase), add.tanh())
                w_read = memory.address(self.read_head(h), w_read)
                read = memory.read(w_read)
                if t >= sequence.shape[0] or recall == 0:
                    outputs.append(self.out(paddle.concat([h, read])))
            return paddle.stack(outputs), memory.data, w_read

    model = convert(NTM())
    rng = np.random.RandomState(0)
    for length, recall in ((3, 0), (4, 4), (2, 3)):
        seq = paddle.to_tensor(rng.randn(length, 3).astype("float32"))
        out, data, weights = model(seq, recall=recall)
        out.square().mean().backward()
        yield out, data, weights, model.write_head.fc.weight.grad
        model.clear_gradients()


@program
def key_value_memory_with_eviction(convert):
    """A bounded memory: matching keys are merged, the least used slot makes room for new ones."""

    class EpisodicMemory:
        def __init__(self, capacity, dim, threshold=0.9):
            self.keys = paddle.zeros([capacity, dim])
            self.values = paddle.zeros([capacity])
            self.usage = paddle.zeros([capacity])
            self.size = 0
            self.capacity = capacity
            self.threshold = threshold
            self.stats = {"merged": 0, "added": 0, "evicted": 0}

        def similarity(self, key):
            return F.cosine_similarity(self.keys[: self.size], key.unsqueeze(0), axis=-1)

        def _put(self, slot, key, value):
            self.keys[slot] = key
            self.values[slot] = value
            self.usage[slot] = 1.0

        @convert
        def write(self, key, value):
            self.usage = self.usage * 0.9
            if self.size > 0:
                sim = self.similarity(key)
                best = sim.argmax()
                if sim[best] > self.threshold:
                    self.keys[best] = 0.5 * (self.keys[best] + key)
                    self.values[best] = 0.5 * (self.values[best] + value)
                    self.usage[best] += 1.0
                    self.stats["merged"] += 1
                    return best
            if self.size < self.capacity:
                self._put(self.size, key, value)
                self.size += 1
                self.stats["added"] += 1
                return paddle.to_tensor(self.size - 1)
            slot = self.usage.argmin()
            self._put(slot, key, value)
            self.stats["evicted"] += 1
            return slot

        @convert
        def read(self, query, k=2, default=None):
            if self.size == 0:
                return default
            sim, index = paddle.topk(self.similarity(query), k=min(k, self.size))
            self.usage[index] = self.usage[index] + 0.5
            return (F.softmax(5 * sim, axis=0) * self.values[index]).sum()

    rng = np.random.RandomState(1)
    memory = EpisodicMemory(capacity=3, dim=2)
    yield memory.read(paddle.ones([2]), default="nothing")
    angles = (0.0, 0.05, 1.5, 3.0, 1.55, 4.5, 0.02, 5.5)
    for i, angle in enumerate(angles):
        key = paddle.to_tensor([math.cos(angle), math.sin(angle)])
        yield memory.write(key, paddle.to_tensor(float(i)))
        if i % 2:
            query = paddle.to_tensor(rng.randn(2).astype("float32"))
            yield memory.read(query, k=1 + i % 3)
    yield memory.keys, memory.values, memory.usage, memory.stats


@program
def attention_with_a_sliding_cache(convert):
    """Streaming attention: a window of past chunks, a few sink positions, positions by ALiBi."""

    class SlidingCache:
        def __init__(self, window, sinks=1):
            self.window, self.sinks = window, sinks
            self.k: Optional[paddle.Tensor] = None
            self.v: Optional[paddle.Tensor] = None
            self.seen = 0

        def append(self, k, v) -> Tuple[paddle.Tensor, paddle.Tensor]:
            self.seen += k.shape[1]
            if self.k is not None:
                k = paddle.concat(x=[self.k, k], axis=1)
                v = paddle.concat(x=[self.v, v], axis=1)
            if k.shape[1] > self.window + self.sinks:
                k = paddle.concat([k[:, : self.sinks], k[:, -self.window :]], axis=1)
                v = paddle.concat([v[:, : self.sinks], v[:, -self.window :]], axis=1)
            self.k, self.v = k, v
            return k, v

        def __len__(self):
            return 0 if self.k is None else self.k.shape[1]

    class StreamingAttention(nn.Layer):
        def __init__(self, dim=6, heads=2):
            super().__init__()
            self.heads, self.head_dim = heads, dim // heads
            self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            slopes = [2.0 ** -(i + 1) for i in range(heads)]
            self.register_buffer("slopes", paddle.to_tensor(slopes).reshape([1, heads, 1, 1]))

        def split_heads(self, x):
            return x.reshape([x.shape[0], x.shape[1], self.heads, self.head_dim])

        def forward(self, x, cache=None):
            q, k, v = [self.split_heads(part) for part in self.qkv(x).chunk(3, axis=-1)]
            if cache is not None:
                k, v = cache.append(k, v)
            q, k, v = (t.transpose([0, 2, 1, 3]) for t in (q, k, v))
            scores = paddle.matmul(q, k, transpose_y=True) / math.sqrt(self.head_dim)
            rows, columns = q.shape[2], k.shape[2]
            distance = paddle.arange(columns - rows, columns).unsqueeze(-1) - paddle.arange(columns)
            scores = scores - self.slopes * distance.abs().astype("float32")
            scores = paddle.where(distance >= 0, scores, paddle.full_like(scores, -1e9))
            y = paddle.matmul(F.softmax(scores, axis=-1), v).transpose([0, 2, 1, 3])
            return self.out(y.flatten(start_axis=2))

    layer = convert(StreamingAttention())
    rng = np.random.RandomState(2)
    for window in (3, 5):
        cache = SlidingCache(window=window)
        for chunk in (2, 1, 3, 1, 4):
            x = paddle.to_tensor(rng.randn(2, chunk, 6).astype("float32"))
            y = layer(x, cache=cache)
            yield y, len(cache), cache.seen
        y.sum().backward()
        yield layer.out.weight.grad, cache.k
        layer.clear_gradients()
    yield layer(x)


@program
def switch_routing_with_capacity(convert):
    """Top-1 experts with a capacity, dropped tokens, a balancing loss and jitter in training."""

    class Expert(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

        def forward(self, x):
            return self.down(F.relu(self.up(x)))

    class SwitchFFN(nn.Layer):
        def __init__(self, dim=4, experts=3, capacity_factor=1.0, jitter=0.1):
            super().__init__()
            self.router = nn.Linear(dim, experts)
            self.experts = nn.LayerList([Expert(dim) for _ in range(experts)])
            self.capacity_factor, self.jitter = capacity_factor, jitter
            self.dropped = None

        def route(self, x):
            if self.training and self.jitter:
                x = x * paddle.uniform(x.shape, min=1 - self.jitter, max=1 + self.jitter)
            probs = F.softmax(self.router(x), axis=-1)
            return probs, probs.max(axis=-1), probs.argmax(axis=-1)

        def forward(self, x):
            shape = x.shape
            x = x.reshape([-1, shape[-1]])
            tokens, count = x.shape[0], len(self.experts)
            capacity = max(1, int(self.capacity_factor * tokens / count))
            probs, gate, choice = self.route(x)
            out = x.clone()
            dropped = paddle.zeros([], dtype="int64")
            for i, expert in enumerate(self.experts):
                index = paddle.nonzero(choice == i).flatten()
                if index.shape[0] > capacity:
                    dropped = dropped + index.shape[0] - capacity
                    index = index[:capacity]
                if index.shape[0] == 0:
                    continue
                y = expert(paddle.gather(x, index)) * paddle.gather(gate, index).unsqueeze(-1)
                out = paddle.scatter(out, index, y, overwrite=True)
            load = F.one_hot(choice, count).mean(axis=0)
            balance = count * (load * probs.mean(axis=0)).sum()
            self.dropped = dropped
            return out.reshape(shape), balance

    paddle.seed(4)
    model = convert(SwitchFFN())
    rng = np.random.RandomState(4)
    for shape, factor in (((2, 4, 4), 1.0), ((6, 4), 2.0), ((2, 4, 4), 0.5)):
        model.capacity_factor = factor
        x = paddle.to_tensor(rng.randn(*shape).astype("float32"))
        y, balance = model(x)
        (y.square().mean() + 0.01 * balance).backward()
        yield y, balance, model.dropped, model.router.weight.grad
        model.clear_gradients()
    model.eval()
    yield model(x)
    yield model(paddle.ones([1, 4])), model.dropped


@program
def mixture_of_experts_with_noisy_top_k(convert):
    """Noisy top-k gating (Shazeer) with importance and load, dense combination."""

    def cv_squared(x, eps=1e-10):
        if x.shape[0] == 1:
            return paddle.zeros([])
        return x.var() / (x.mean().square() + eps)

    def normal_cdf(value):
        return 0.5 * (1 + paddle.erf(value / math.sqrt(2)))

    class NoisyTopKGate(nn.Layer):
        def __init__(self, dim, experts, k=2):
            super().__init__()
            self.w_gate = self.create_parameter([dim, experts])
            self.w_noise = self.create_parameter([dim, experts])
            self.k, self.experts = k, experts

        def forward(self, x, noise=None):
            clean = paddle.matmul(x, self.w_gate)
            logits, std = clean, None
            if self.training:
                std = F.softplus(paddle.matmul(x, self.w_noise)) + 1e-2
                noise = paddle.randn(clean.shape) if noise is None else noise
                logits = clean + noise * std
            values, index = logits.topk(min(self.k + 1, self.experts), axis=-1)
            top, where = values[:, : self.k], index[:, : self.k]
            gates = paddle.put_along_axis(
                paddle.zeros_like(logits), where, F.softmax(top, axis=-1), axis=1
            )
            if self.training and self.k < self.experts:
                load = self.load(clean, logits, std, values)
            else:
                load = (gates > 0).astype("float32").sum(axis=0)
            return gates, load

        def load(self, clean, noisy, std, values):
            threshold_in, threshold_out = values[:, self.k : self.k + 1], values[:, self.k - 1 :]
            is_in = noisy > threshold_in
            p_in = normal_cdf((clean - threshold_in) / std)
            p_out = normal_cdf((clean - threshold_out[:, :1]) / std)
            return paddle.where(is_in, p_in, p_out).sum(axis=0)

    class MoE(nn.Layer):
        def __init__(self, dim=4, experts=4, k=2):
            super().__init__()
            self.gate = NoisyTopKGate(dim, experts, k=k)
            self.experts = nn.LayerList([nn.Linear(dim, dim) for _ in range(experts)])

        def forward(self, x, noise=None):
            gates, load = self.gate(x, noise=noise)
            y = paddle.stack([expert(x) for expert in self.experts], axis=1)
            y = (gates.unsqueeze(-1) * y).sum(axis=1)
            return y, cv_squared(gates.sum(axis=0)) + cv_squared(load), gates

    rng = np.random.RandomState(5)
    for k in (1, 2, 4):
        moe = convert(MoE(k=k))
        for n in (3, 5):
            x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
            noise = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
            y, aux, gates = moe(x, noise=noise)
            (y.mean() + 0.1 * aux).backward()
            yield y, aux, gates, moe.gate.w_gate.grad
            moe.clear_gradients()
        moe.eval()
        yield moe(x)


@program
def quantisation_observers(convert):
    """Min-max, moving-average and percentile observers behind one fake-quantiser."""

    class Observer:
        def __init__(self, bits=8, symmetric=True):
            self.bits, self.symmetric = bits, symmetric
            self.low = self.high = None

        @property
        def levels(self):
            return 2**self.bits - 1

        def observe(self, x):
            raise NotImplementedError

        def qparams(self):
            if self.symmetric:
                bound = paddle.maximum(self.low.abs(), self.high.abs())
                return bound / (self.levels // 2), paddle.zeros([])
            low = paddle.minimum(self.low, paddle.zeros([]))
            high = paddle.maximum(self.high, paddle.zeros([]))
            scale = (high - low) / self.levels
            return scale, paddle.round(-low / scale)

    class MinMax(Observer):
        def observe(self, x):
            low, high = x.min(), x.max()
            if self.low is None:
                self.low, self.high = low, high
            else:
                self.low = paddle.minimum(self.low, low)
                self.high = paddle.maximum(self.high, high)

    class MovingAverage(Observer):
        momentum = 0.9

        def observe(self, x):
            low, high = x.min(), x.max()
            if self.low is not None:
                low = self.momentum * self.low + (1 - self.momentum) * low
                high = self.momentum * self.high + (1 - self.momentum) * high
            self.low, self.high = low, high

    class Percentile(Observer):
        def __init__(self, q=0.9, **kwargs):
            super().__init__(**kwargs)
            self.q = q

        def observe(self, x):
            self.low = paddle.quantile(x, 1 - self.q).astype("float32")
            self.high = paddle.quantile(x, self.q).astype("float32")

    class FakeQuant:
        def __init__(self, observer):
            self.observer = observer
            self.enabled, self.observing = True, True
            self.saturated = paddle.zeros([], dtype="int64")

        @convert
        def __call__(self, x):
            if self.observing:
                self.observer.observe(x.detach())
            if not self.enabled:
                return x
            scale, zero = self.observer.qparams()
            if self.observer.symmetric:
                qmin, qmax = -(self.observer.levels // 2), self.observer.levels // 2
            else:
                qmin, qmax = 0, self.observer.levels
            q = paddle.round(x / scale) + zero
            outside = ((q < qmin) | (q > qmax)).astype("int64").sum()
            if outside > 0:
                self.saturated = self.saturated + outside
            value = (q.clip(qmin, qmax) - zero) * scale
            return x + (value - x).detach()

    rng = np.random.RandomState(6)
    observers = OrderedDict(
        minmax=MinMax(bits=4),
        average=MovingAverage(bits=4, symmetric=False),
        percentile=Percentile(q=0.8, bits=3),
    )
    for name, observer in observers.items():
        quant = FakeQuant(observer)
        for shape in ((2, 5), (2, 5), (7,)):
            x = paddle.to_tensor(rng.randn(*shape).astype("float32"), stop_gradient=False)
            y = quant(x)
            y.square().sum().backward()
            yield name, y, x.grad, observer.low, observer.high
        quant.observing = False
        yield quant(x * 3), quant.saturated
        quant.enabled = False
        yield quant(x)


@program
def lru_cache_of_features(convert):
    """A feature cache keyed by integers: hits skip the encoder, the oldest entry goes."""

    class LRU:
        def __init__(self, capacity):
            self.capacity = capacity
            self.store = OrderedDict()
            self.hits = self.misses = 0

        def get(self, key):
            if key not in self.store:
                self.misses += 1
                return None
            self.hits += 1
            self.store.move_to_end(key)
            return self.store[key]

        def put(self, key, value):
            self.store[key] = value
            self.store.move_to_end(key)
            if len(self.store) > self.capacity:
                self.store.popitem(last=False)

    class Encoder(nn.Layer):
        def __init__(self, dim=3):
            super().__init__()
            self.fc = nn.Linear(dim, dim)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            h = self.fc(x)
            while h.norm() > 1.0:
                h = 0.7 * h
            return h

    encoder = Encoder()
    cache = LRU(capacity=3)
    recent = deque(maxlen=4)

    @convert
    def lookup(keys, table, use_cache=True):
        rows = []
        for key in keys:
            feature = cache.get(key) if use_cache else None
            if feature is None:
                feature = encoder(table[key])
                if use_cache:
                    cache.put(key, feature.detach())
            recent.append(key)
            rows.append(feature)
        stacked = paddle.stack(rows)
        return stacked, stacked.mean(axis=0)

    rng = np.random.RandomState(7)
    table = paddle.to_tensor(rng.randn(6, 3).astype("float32") * 2)
    for keys in ((0, 1, 2), (2, 1, 3), (4, 0, 0, 5), (5,)):
        yield lookup(keys, table)
        yield list(cache.store), cache.hits, cache.misses, list(recent)
    yield lookup((1, 2), table, use_cache=False), encoder.calls
    table = table + 1
    yield lookup((5, 0), table), list(cache.store.values())
