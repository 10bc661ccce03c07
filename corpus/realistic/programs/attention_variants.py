"""Attention in its variants: positions, windows, buckets, tiles, recurrence, compression."""

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def rotary_positions_that_rescale(convert):
    """LLaMA's attention: cached cosines that grow, NTK scaling beyond the length, shared keys."""

    class DynamicNTKRotary(nn.Layer):
        def __init__(self, dim, max_position=4, base=10000.0):
            super().__init__()
            self.dim, self.base, self.max_position = dim, base, max_position
            self.max_seq_len_cached = -1
            self._set_cos_sin_cache(max_position)

        def _set_cos_sin_cache(self, seq_len):
            self.max_seq_len_cached = seq_len
            base = self.base
            if seq_len > self.max_position:
                scale = 2.0 * seq_len / self.max_position - 1.0
                base = self.base * scale ** (self.dim / (self.dim - 2))
            inv_freq = 1.0 / (base ** (paddle.arange(0, self.dim, 2).astype("float32") / self.dim))
            freqs = paddle.einsum("i,j->ij", paddle.arange(seq_len).astype("float32"), inv_freq)
            emb = paddle.concat([freqs, freqs], axis=-1)
            self.cos_cached, self.sin_cached = emb.cos(), emb.sin()

        def forward(self, seq_len):
            if seq_len > self.max_seq_len_cached:
                self._set_cos_sin_cache(seq_len)
            return self.cos_cached[:seq_len], self.sin_cached[:seq_len]

    def rotate_half(x):
        x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
        return paddle.concat([-x2, x1], axis=-1)

    def apply_rotary(q, k, cos, sin, position_ids):
        cos = cos[position_ids].unsqueeze(2)
        sin = sin[position_ids].unsqueeze(2)
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

    def repeat_kv(x, n_rep):
        b, s, h, d = x.shape
        if n_rep == 1:
            return x
        return x.unsqueeze(-2).tile([1, 1, 1, n_rep, 1]).reshape([b, s, h * n_rep, d])

    class Attention(nn.Layer):
        def __init__(self, hidden=8, heads=2, kv_heads=1):
            super().__init__()
            self.heads, self.kv_heads, self.head_dim = heads, kv_heads, hidden // heads
            self.q_proj = nn.Linear(hidden, hidden, bias_attr=False)
            self.k_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias_attr=False)
            self.v_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias_attr=False)
            self.o_proj = nn.Linear(hidden, hidden, bias_attr=False)
            self.rotary = DynamicNTKRotary(self.head_dim)

        @convert
        def forward(self, x, past=None, use_cache=False, attention_mask=None):
            b, s, _ = x.shape
            q = self.q_proj(x).reshape([b, s, self.heads, self.head_dim])
            k = self.k_proj(x).reshape([b, s, self.kv_heads, self.head_dim])
            v = self.v_proj(x).reshape([b, s, self.kv_heads, self.head_dim])
            offset = past[0].shape[1] if past is not None else 0
            cos, sin = self.rotary(offset + s)
            position_ids = paddle.arange(offset, offset + s).unsqueeze(0).expand([b, s])
            q, k = apply_rotary(q, k, cos, sin, position_ids)
            if past is not None:
                k = paddle.concat([past[0], k], axis=1)
                v = paddle.concat([past[1], v], axis=1)
            present = (k, v) if use_cache else None
            k, v = (
                repeat_kv(k, self.heads // self.kv_heads),
                repeat_kv(v, self.heads // self.kv_heads),
            )
            q, k, v = (t.transpose(perm=[0, 2, 1, 3]) for t in (q, k, v))
            w = paddle.matmul(q, k.transpose([0, 1, 3, 2])) / math.sqrt(self.head_dim)
            causal = paddle.triu(paddle.full([s, offset + s], -1e4), diagonal=1 + offset)
            w = w + causal
            if attention_mask is not None:
                w = w + (1.0 - attention_mask[:, None, None, :]) * -1e4
            out = paddle.matmul(F.softmax(w, axis=-1), v)
            out = self.o_proj(out.transpose([0, 2, 1, 3]).reshape([b, s, -1]))
            return (out, present) if use_cache else out

    paddle.seed(1)
    attn = Attention()
    for b, s in ((1, 3), (2, 3), (2, 6)):
        x = paddle.randn([b, s, 8])
        mask = paddle.ones([b, s])
        mask[:, :1] = 0
        yield attn(x), attn(x, attention_mask=mask), attn.rotary.max_seq_len_cached
    past = None
    for step in range(4):
        out, past = attn(paddle.randn([1, 1 + (step == 0) * 2, 8]), past=past, use_cache=True)
        yield out, past[0].shape
    yield attn.rotary.cos_cached.shape


@program
def relative_bias_in_buckets(convert):
    """T5's buckets, ALiBi's slopes, and a choice between them by name."""

    def bucket(relative, bidirectional=True, num_buckets=8, max_distance=16):
        ret = paddle.zeros_like(relative)
        n = -relative
        if bidirectional:
            num_buckets //= 2
            ret += (n < 0).astype("int64") * num_buckets
            n = paddle.abs(n)
        else:
            n = paddle.maximum(n, paddle.zeros_like(n))
        max_exact = num_buckets // 2
        is_small = n < max_exact
        large = max_exact + (
            paddle.log(paddle.clip(n, min=1).astype("float32") / max_exact)
            / math.log(max_distance / max_exact)
            * (num_buckets - max_exact)
        ).astype("int64")
        large = paddle.minimum(large, paddle.full_like(large, num_buckets - 1))
        ret += paddle.where(is_small, n, large)
        return ret

    @lru_cache(maxsize=None)
    def slopes(heads):
        closest = 2 ** math.floor(math.log2(heads))
        base = 2 ** (-(2 ** -(math.log2(closest) - 3)))
        out = [base**i for i in range(1, closest + 1)]
        if closest != heads:
            extra = 2 ** (-(2 ** -(math.log2(2 * closest) - 3)))
            out += [extra**i for i in range(1, 2 * (heads - closest) + 1, 2)]
        return out

    class BiasedAttention(nn.Layer):
        def __init__(self, heads, kind, causal=False):
            super().__init__()
            self.heads, self.kind, self.causal = heads, kind, causal
            if kind == "t5":
                self.table = nn.Embedding(8, heads)
            self.fn = {"t5": self.t5, "alibi": self.alibi, "none": lambda q, k: 0.0}[kind]

        def relative(self, q, k):
            return paddle.arange(k).unsqueeze(0) - paddle.arange(q).unsqueeze(1)

        def t5(self, q, k):
            index = bucket(self.relative(q, k), bidirectional=not self.causal)
            return self.table(index).transpose([2, 0, 1]).unsqueeze(0)

        def alibi(self, q, k):
            distance = self.relative(q, k).abs().astype("float32")
            return -paddle.to_tensor(slopes(self.heads)).reshape([1, -1, 1, 1]) * distance

        @convert
        def forward(self, q, k, v):
            scores = paddle.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
            scores = scores + self.fn(q.shape[1], k.shape[1])
            if self.causal:
                hidden = self.relative(q.shape[1], k.shape[1]) > 0
                scores = paddle.where(hidden, paddle.to_tensor(-1e9), scores)
            return paddle.einsum("bhqk,bkhd->bqhd", F.softmax(scores, axis=-1), v)

    paddle.seed(4)
    for heads, kind, causal in (
        (2, "t5", False),
        (3, "alibi", True),
        (2, "t5", True),
        (1, "none", True),
    ):
        attn = BiasedAttention(heads, kind, causal)
        for n in (4, 7):
            q = paddle.randn([1, n, heads, 4])
            q.stop_gradient = False
            out = attn(q, q * 0.5, paddle.randn([1, n, heads, 4]))
            out.sum().backward()
            yield out, q.grad
    yield attempt(lambda: BiasedAttention(2, "rope"))


@program
def tiles_with_a_running_softmax(convert):
    """Flash attention by hand: blocks of keys, a maximum and a sum that are carried along."""

    @dataclass
    class Carry:
        out: paddle.Tensor
        peak: paddle.Tensor
        total: paddle.Tensor

        def merge(self, scores, values):
            peak = paddle.maximum(self.peak, scores.max(axis=-1, keepdim=True))
            scale = paddle.exp(self.peak - peak)
            p = paddle.exp(scores - peak)
            return Carry(
                self.out * scale + p @ values,
                peak,
                self.total * scale + p.sum(axis=-1, keepdim=True),
            )

    @convert
    def flash(q, k, v, block_q=2, block_k=3, causal=False, window: Optional[int] = None):
        n, d = q.shape
        rows = []
        skipped = 0
        for i in range(0, n, block_q):
            qi = q[i : i + block_q] * d**-0.5
            m = qi.shape[0]
            carry = Carry(paddle.zeros([m, d]), paddle.full([m, 1], -1e30), paddle.zeros([m, 1]))
            for j in range(0, k.shape[0], block_k):
                if causal and j > i + m - 1:
                    skipped += 1
                    continue
                if window is not None and j + block_k <= i - window:
                    skipped += 1
                    continue
                kj, vj = k[j : j + block_k], v[j : j + block_k]
                scores = qi @ kj.t()
                if causal or window is not None:
                    distance = paddle.arange(i, i + m).unsqueeze(1) - paddle.arange(
                        j, j + kj.shape[0]
                    ).unsqueeze(0)
                    if causal:
                        scores = paddle.where(distance < 0, paddle.full_like(scores, -1e30), scores)
                    if window is not None:
                        far = distance.abs() > window
                        scores = paddle.where(far, paddle.full_like(scores, -1e30), scores)
                carry = carry.merge(scores, vj)
            rows.append(carry.out / carry.total)
        return paddle.concat(rows), skipped

    rng = np.random.RandomState(2)
    for n, kwargs in (
        (5, {}),
        (5, {"causal": True}),
        (8, {"causal": True, "window": 2}),
        (6, {"block_q": 6, "block_k": 6}),
    ):
        q, k, v = (
            paddle.to_tensor(rng.randn(n, 4).astype("float32"), stop_gradient=False)
            for _ in range(3)
        )
        out, skipped = flash(q, k, v, **kwargs)
        out.square().sum().backward()
        yield out, skipped, q.grad, k.grad, v.grad


@program
def linear_attention_in_three_modes(convert):
    """RetNet: parallel, recurrent and by chunks; the three must agree."""

    class Retention(nn.Layer):
        modes = ("parallel", "recurrent", "chunk")

        def __init__(self, dim=4, gamma=0.9):
            super().__init__()
            self.gamma = gamma
            self.qkv = nn.Linear(dim, 3 * dim)

        def _parallel(self, q, k, v):
            n = q.shape[1]
            i = paddle.arange(n, dtype="float32")
            gap = i.unsqueeze(1) - i.unsqueeze(0)
            decay = paddle.where(gap >= 0, self.gamma**gap, paddle.zeros_like(gap))
            return ((q @ k.transpose([0, 2, 1])) * decay) @ v

        def _recurrent(self, q, k, v, state=None):
            if state is None:
                state = paddle.zeros([q.shape[0], q.shape[2], v.shape[2]])
            outs = []
            for t in range(q.shape[1]):
                state = self.gamma * state + paddle.bmm(k[:, t].unsqueeze(2), v[:, t].unsqueeze(1))
                outs.append(paddle.bmm(q[:, t].unsqueeze(1), state).squeeze(1))
            return paddle.stack(outs, axis=1)

        def _chunk(self, q, k, v, size=2):
            b, n, d = q.shape
            state = paddle.zeros([b, d, d])
            outs = []
            for start in range(0, n, size):
                qc, kc, vc = (x[:, start : start + size] for x in (q, k, v))
                m = qc.shape[1]
                power = paddle.arange(1, m + 1, dtype="float32").reshape([1, m, 1])
                inner = self._parallel(qc, kc, vc)
                cross = (qc @ state) * self.gamma**power
                outs.append(inner + cross)
                weight = self.gamma ** (m - power)
                state = self.gamma**m * state + (kc * weight).transpose([0, 2, 1]) @ vc
            return paddle.concat(outs, axis=1)

        @convert
        def forward(self, x, mode="parallel", **kwargs):
            q, k, v = self.qkv(x).chunk(3, axis=-1)
            return getattr(self, f"_{mode}")(q, k, v, **kwargs)

    paddle.seed(8)
    layer = Retention()
    for n in (3, 5):
        x = paddle.randn([2, n, 4])
        outs = [layer(x, mode=mode) for mode in Retention.modes]
        yield outs
        yield [bool(paddle.allclose(outs[0], o, atol=1e-4)) for o in outs]
    yield layer(x, mode="chunk", size=3)
    yield layer(x, "recurrent", state=paddle.ones([2, 4, 4]))
    yield attempt(lambda: layer(x, mode="serial"))


@program
def hashed_buckets_of_a_reformer(convert):
    """LSH attention: random rotations, a sort by bucket, chunks that look one back, and undone."""

    @convert
    def lsh_attention(qk, v, rotations, chunk=2, seed_mask=None):
        n, d = qk.shape
        outs, logits = [], []
        for rotation in rotations:
            rotated = qk @ rotation
            buckets = paddle.concat([rotated, -rotated], axis=-1).argmax(axis=-1)
            ticker = buckets * n + paddle.arange(n)
            order = paddle.argsort(ticker)
            undo = paddle.argsort(order)
            sqk, sv = qk[order], v[order]
            sb = paddle.gather(buckets, order)
            keys = F.normalize(sqk, p=2, axis=-1)
            rows, norms = [], []
            for start in range(0, n, chunk):
                stop = min(start + chunk, n)
                lo = max(start - chunk, 0)
                dots = sqk[start:stop] @ keys[lo:stop].t() / math.sqrt(d)
                same = sb[start:stop].unsqueeze(1) == sb[lo:stop].unsqueeze(0)
                me = order[start:stop].unsqueeze(1) == order[lo:stop].unsqueeze(0)
                dots = paddle.where(same, dots, paddle.full_like(dots, -1e5))
                dots = paddle.where(me, paddle.full_like(dots, -1e3), dots)
                if seed_mask is not None:
                    hidden = seed_mask[order[lo:stop]].unsqueeze(0).expand_as(dots)
                    dots = dots.masked_fill(hidden, -1e6)
                lse = paddle.logsumexp(dots, axis=-1, keepdim=True)
                rows.append(paddle.exp(dots - lse) @ sv[lo:stop])
                norms.append(lse)
            outs.append(paddle.concat(rows)[undo])
            logits.append(paddle.concat(norms)[undo])
        weights = F.softmax(paddle.stack(logits), axis=0)
        return (paddle.stack(outs) * weights).sum(axis=0)

    rng = np.random.RandomState(11)
    for n, rounds in ((4, 1), (6, 2), (5, 2)):
        qk = paddle.to_tensor(rng.randn(n, 4).astype("float32"), stop_gradient=False)
        v = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        rotations = paddle.to_tensor(rng.randn(rounds, 4, 2).astype("float32"))
        out = lsh_attention(qk, v, rotations)
        out.sum().backward()
        yield out, qk.grad
        mask = paddle.to_tensor(rng.rand(n) > 0.8)
        yield lsh_attention(qk, v, list(rotations), chunk=3, seed_mask=mask)


@program
def memory_that_is_compressed(convert):
    """A compressive transformer: old states are pooled into a second memory, both are bounded."""

    class CompressiveMemory(nn.Layer):
        def __init__(self, dim=4, mem_len=3, cmem_len=2, ratio=2, how="mean"):
            super().__init__()
            self.mem_len, self.cmem_len, self.ratio = mem_len, cmem_len, ratio
            self.mem = paddle.zeros([0, dim])
            self.cmem = paddle.zeros([0, dim])
            self.proj = nn.Linear(dim, dim)
            pools = {
                "mean": lambda x: x.mean(axis=1),
                "max": lambda x: x.max(axis=1),
                "last": partial(paddle.index_select, index=paddle.to_tensor([ratio - 1]), axis=1),
            }
            self.pool = pools[how]

        @convert
        def forward(self, x):
            context = paddle.concat([self.cmem, self.mem, x], axis=0)
            w = F.softmax(self.proj(x) @ context.t(), axis=-1)
            out = w @ context
            mem = paddle.concat([self.mem, x.detach()], axis=0)
            overflow = mem.shape[0] - self.mem_len
            if overflow > 0:
                old, mem = mem[:overflow], mem[overflow:]
                usable = overflow // self.ratio * self.ratio
                if usable > 0:
                    pooled = self.pool(old[-usable:].reshape([-1, self.ratio, x.shape[-1]]))
                    cmem = paddle.concat([self.cmem, pooled.reshape([-1, x.shape[-1]])], axis=0)
                    self.cmem = cmem[max(cmem.shape[0] - self.cmem_len, 0) :]
            self.mem = mem
            return out

    paddle.seed(3)
    for how in ("mean", "max", "last"):
        memory = CompressiveMemory(how=how)
        for n in (2, 3, 2, 4, 1):
            out = memory(paddle.randn([n, 4]))
            yield out, memory.mem, memory.cmem
