"""RL, experts, low bits, graphs, memories, diffusion and inner loops, as in the code beside papers."""

import collections
import enum
import math
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


def rnd(*shape, seed=0):
    return T(np.random.RandomState(seed).randn(*shape).astype("float32"))


@program
def recurrent_ppo_with_masks(convert):
    """A GRU policy unrolled with episode masks, a running normaliser of returns, adaptive KL coefficients, early exits."""

    class Rollout(NamedTuple):
        obs: paddle.Tensor
        act: paddle.Tensor
        rew: paddle.Tensor
        done: paddle.Tensor
        logp: Optional[paddle.Tensor] = None

    class RunningStd:
        def __init__(self, eps=1e-4):
            self.mean, self.var, self.count = paddle.zeros([]), paddle.ones([]), eps

        def update(self, x):
            n = x.shape[0]
            delta = x.mean() - self.mean
            total = self.count + n
            m2 = (
                self.var * self.count
                + x.var(unbiased=False) * n
                + delta**2 * self.count * n / total
            )
            self.mean = self.mean + delta * n / total
            self.var, self.count = m2 / total, total

    class Policy(nn.Layer):
        def __init__(self, obs=3, act=2, hid=4):
            super().__init__()
            self.cell = nn.GRUCell(obs, hid)
            self.pi, self.v = nn.Linear(hid, act), nn.Linear(hid, 1)

        def unroll(self, obs, done, h=None):
            h = paddle.zeros([1, self.cell.hidden_size]) if h is None else h
            hs = []
            for t in range(obs.shape[0]):
                if t > 0 and done[t - 1]:
                    h = paddle.zeros_like(h)
                _, h = self.cell(obs[t : t + 1], h)
                hs.append(h[0])
            hs = paddle.stack(hs)
            return F.log_softmax(self.pi(hs)), self.v(hs)[:, 0], h

    class PPO:
        def __init__(self, policy, clip=0.2, target_kl=0.02):
            self.policy, self.clip, self.target_kl = policy, clip, target_kl
            self.kl_coef, self.rms = 0.5, RunningStd()
            self.opt = paddle.optimizer.Adam(0.03, parameters=policy.parameters())

        def gae(self, rew, val, done, gamma=0.9, lam=0.8):
            adv, last = [None] * rew.shape[0], paddle.zeros([])
            for t in reversed(range(rew.shape[0])):
                nxt = val[t + 1] if t + 1 < rew.shape[0] else paddle.zeros([])
                mask = 0.0 if done[t] else 1.0
                last = rew[t] + gamma * nxt * mask - val[t] + gamma * lam * mask * last
                adv[t] = last
            return paddle.stack(adv)

        def update(self, roll, epochs=4):
            with paddle.no_grad():
                old, val, _ = self.policy.unroll(roll.obs, roll.done)
                adv = self.gae(roll.rew, val, roll.done)
                ret = adv + val
                self.rms.update(ret)
                adv = (adv - adv.mean()) / (adv.std() + 1e-6)
            logs = []
            for epoch in range(epochs):
                logp, v, _ = self.policy.unroll(roll.obs, roll.done)
                pick = lambda lp: lp.take_along_axis(roll.act.unsqueeze(1), 1)[:, 0]
                ratio = (pick(logp) - pick(old)).exp()
                surr = paddle.minimum(
                    ratio * adv, ratio.clip(1 - self.clip, 1 + self.clip) * adv
                ).mean()
                kl = (old.exp() * (old - logp)).sum(-1).mean()
                vloss = ((v - ret) / (self.rms.var.sqrt() + 1e-6)).square().mean()
                loss = -surr + self.kl_coef * kl + 0.5 * vloss
                loss.backward()
                self.opt.step()
                self.opt.clear_grad()
                logs.append((loss.detach(), kl.detach()))
                if kl > 1.5 * self.target_kl:
                    self.kl_coef *= 2
                    print(f"stop at epoch {epoch}: kl {kl.item():.3f}")
                    break
            else:
                if kl < self.target_kl / 1.5:
                    self.kl_coef /= 2
            return logs, self.kl_coef

    paddle.seed(61)
    agent = PPO(Policy())
    update = convert(agent.update)
    for n, seed in ((6, 0), (6, 1), (4, 2)):
        rng = np.random.RandomState(seed)
        roll = Rollout(
            rnd(n, 3, seed=seed),
            T(rng.randint(0, 2, n)),
            rnd(n, seed=seed + 5),
            T(rng.rand(n) < 0.3),
        )
        yield attempt(lambda: update(roll, epochs=6)), agent.rms, agent.kl_coef
    yield agent.policy.pi.weight, agent.policy.cell.weight_hh


@program
def experts_balanced_without_a_loss(convert):
    """DeepSeek-like routing: sigmoid gates, groups of experts, a bias that balances the load, shared experts, dropped tokens."""

    @dataclass
    class MoeConfig:
        dim: int = 4
        experts: int = 6
        groups: int = 3
        top_groups: int = 2
        top_k: int = 2
        capacity: Optional[float] = None
        bias_rate: float = 0.1

        def __post_init__(self):
            assert self.experts % self.groups == 0, (
                f"{self.experts} experts in {self.groups} groups"
            )

    class Gate(nn.Layer):
        def __init__(self, c):
            super().__init__()
            self.c = c
            self.w = self.create_parameter([c.dim, c.experts])
            self.register_buffer("bias", paddle.zeros([c.experts]))

        def forward(self, x):
            c = self.c
            scores = F.sigmoid(x @ self.w * 4)
            biased = scores.detach() + self.bias
            if c.groups > 1:
                g = biased.reshape([x.shape[0], c.groups, -1])
                gs = g.topk(min(2, g.shape[-1]), -1)[0].sum(-1)
                keep = F.one_hot(gs.topk(c.top_groups, -1)[1], c.groups).sum(1)
                biased = paddle.where(keep.unsqueeze(-1) > 0, g, paddle.full_like(g, -1e9)).reshape(
                    biased.shape
                )
            idx = biased.topk(c.top_k, -1)[1]
            w = scores.take_along_axis(idx, 1)
            return w / w.sum(-1, keepdim=True), idx

        @paddle.no_grad()
        def balance(self, idx):
            load = paddle.bincount(idx.flatten(), minlength=self.c.experts).astype("float32")
            self.bias += self.c.bias_rate * paddle.sign(load.mean() - load)
            return load

    class MoE(nn.Layer):
        def __init__(self, c):
            super().__init__()
            self.c, self.gate = c, Gate(c)
            self.experts = nn.LayerList(
                [nn.Linear(c.dim, c.dim, bias_attr=False) for _ in range(c.experts)]
            )
            self.shared = nn.Linear(c.dim, c.dim)
            self.loads, self.dropped = [], 0

        def forward(self, x):
            shape = x.shape
            x = x.reshape([-1, shape[-1]])
            w, idx = self.gate(x)
            out = paddle.zeros_like(x)
            cap = (
                None
                if self.c.capacity is None
                else math.ceil(self.c.capacity * x.shape[0] * self.c.top_k / self.c.experts)
            )
            for e, expert in enumerate(self.experts):
                rows, slot = paddle.where(idx == e)
                rows, slot = rows.flatten(), slot.flatten()
                if rows.shape[0] == 0:
                    continue
                if cap is not None and rows.shape[0] > cap:
                    best = w[rows, slot].topk(cap)[1]
                    self.dropped += int(rows.shape[0]) - cap
                    rows, slot = rows[best], slot[best]
                y = expert(x[rows]) * w[rows, slot].unsqueeze(1)
                out = paddle.index_add(out, rows, 0, y)
            if self.training:
                self.loads.append(self.gate.balance(idx))
            return (out + self.shared(x)).reshape(shape)

    for c in (MoeConfig(), MoeConfig(groups=1, capacity=0.8), MoeConfig(top_k=1, top_groups=1)):
        paddle.seed(71)
        moe = MoE(c)
        f = convert(moe)
        for seed, shape in ((0, (2, 5, 4)), (1, (1, 3, 4)), (2, (2, 5, 4))):
            if seed == 2:
                moe.eval()
            y = f(rnd(*shape, seed=seed))
            y.square().mean().backward()
            yield y, moe.gate.w.grad, moe.experts[0].weight.grad, moe.gate.bias, moe.dropped
            moe.clear_gradients()
        yield moe.loads
    yield attempt(lambda: MoeConfig(groups=4))


@program
def bits_learnt_with_straight_through(convert):
    """LSQ with PyLayer gradients, observers that warm up and freeze, per-channel scales, zero points, packed int4 export."""

    class Round(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, scale, lo, hi):
            ctx.save_for_backward(x, scale)
            ctx.bounds = (lo, hi)
            ctx.wanted = (not x.stop_gradient, not scale.stop_gradient)
            return (x / scale).round().clip(lo, hi) * scale

        @staticmethod
        def backward(ctx, dy):
            x, scale = ctx.saved_tensor()
            lo, hi = ctx.bounds
            q = x / scale
            inside = ((q >= lo) & (q <= hi)).astype(dy.dtype)
            ds = paddle.where(
                q < lo,
                paddle.full_like(q, lo),
                paddle.where(q > hi, paddle.full_like(q, hi), q.round() - q),
            )
            grad_scale = 1.0 / math.sqrt(x.size * hi)
            ds = dy * ds * grad_scale
            grads = dy * inside, ds.sum() if scale.ndim == 0 else ds.sum(0)
            return tuple(g if w else None for g, w in zip(grads, ctx.wanted))

    class Phase(enum.Enum):
        OBSERVE = enum.auto()
        LEARN = enum.auto()
        FROZEN = enum.auto()

    class Observer(nn.Layer):
        def __init__(self, bits=4, warm=2):
            super().__init__()
            self.hi, self.lo = 2 ** (bits - 1) - 1, -(2 ** (bits - 1))
            self.scale = self.create_parameter([], default_initializer=nn.initializer.Constant(1.0))
            self.register_buffer("amax", paddle.zeros([]))
            self.warm, self.calls, self.phase = warm, 0, Phase.OBSERVE

        def forward(self, x):
            if self.phase is Phase.OBSERVE and self.training:
                self.calls += 1
                top = x.detach().abs().max()
                self.amax = top if self.calls == 1 else 0.9 * self.amax + 0.1 * top
                if self.calls >= self.warm:
                    self.scale.set_value((self.amax / self.hi).clip(1e-5))
                    self.phase = Phase.LEARN
                return x
            return Round.apply(x, self.scale, self.lo, self.hi)

    class QLinear(nn.Layer):
        def __init__(self, i, o):
            super().__init__()
            self.w = self.create_parameter([i, o])
            self.act = Observer()
            self.register_buffer("packed", paddle.zeros([0], "uint8"))

        def forward(self, x):
            s = (self.w.detach().abs().max(0) / 7).clip(1e-5)
            return self.act(x) @ Round.apply(self.w, s, -8, 7)

        def export(self):
            s = (self.w.abs().max(0) / 7).clip(1e-5)
            q = ((self.w / s).round().clip(-8, 7) + 8).astype("int32").flatten()
            if q.shape[0] % 2:
                q = paddle.concat([q, paddle.zeros([1], "int32")])
            self.packed = (q[0::2] + q[1::2] * 16).astype("uint8")
            self.act.phase = Phase.FROZEN
            return s

        def unpack(self, s):
            p = self.packed.astype("int32")
            q = paddle.stack([p % 16, p // 16], 1).flatten()[: self.w.size] - 8
            return q.reshape(self.w.shape).astype("float32") * s

    paddle.seed(81)
    net = QLinear(5, 3)
    f = convert(net)
    opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    for k in range(4):
        y = f(rnd(4, 5, seed=k) * (k + 1))
        loss = (y - 1).square().mean()
        loss.backward()
        yield y, net.act.scale.grad, net.w.grad, net.act.phase, net.act.amax
        opt.step()
        opt.clear_grad()
    export, unpack = convert(net.export), convert(net.unpack)
    s = export()
    yield s, net.packed, unpack(s), net.act.phase, f(rnd(2, 5, seed=9))


@program
def relations_passed_over_two_kinds(convert):
    """A heterogeneous GNN: relations by name with their own reducers, an attention readout, subgraphs by hops, an inductive update."""

    Edges = namedtuple("Edges", "src dst")

    class Reducer:
        table = {}

        def __init_subclass__(cls, name, **kw):
            super().__init_subclass__(**kw)
            Reducer.table[name] = cls()

    class SumReducer(Reducer, name="sum"):
        def __call__(self, msg, dst, n):
            return paddle.scatter_nd_add(paddle.zeros([n, msg.shape[1]]), dst.unsqueeze(1), msg)

    class MeanReducer(SumReducer, name="mean"):
        def __call__(self, msg, dst, n):
            deg = paddle.bincount(dst, minlength=n).astype("float32").clip(1)
            return super().__call__(msg, dst, n) / deg.unsqueeze(1)

    class MaxReducer(Reducer, name="max"):
        def __call__(self, msg, dst, n):
            rows = []
            for i in range(n):
                mine = msg[dst == i]
                rows.append(mine.max(0) if mine.shape[0] > 0 else paddle.zeros([msg.shape[1]]))
            return paddle.stack(rows)

    class HeteroConv(nn.Layer):
        def __init__(self, dim, relations):
            super().__init__()
            self.rel = nn.LayerDict(
                {"__".join(k): nn.Linear(dim, dim) for k, _ in relations.items()}
            )
            self.reduce = {k: Reducer.table[r] for k, r in relations.items()}
            self.self_loop = nn.Linear(dim, dim)

        def forward(self, feats, graph):
            out = {k: self.self_loop(v) for k, v in feats.items()}
            for key, edges in graph.items():
                if key not in self.reduce:
                    continue
                if edges.src.shape[0] == 0:
                    continue
                s, _, d = key
                msg = self.rel["__".join(key)](feats[s])[edges.src]
                out[d] = out[d] + self.reduce[key](msg, edges.dst, feats[d].shape[0])
            return {k: F.elu(v) for k, v in out.items()}

    class Model(nn.Layer):
        def __init__(self, dim=3, depth=2):
            super().__init__()
            paddle.seed(91)
            relations = {
                ("user", "buys", "item"): "sum",
                ("item", "by", "user"): "mean",
                ("user", "knows", "user"): "max",
            }
            self.convs = nn.LayerList([HeteroConv(dim, relations) for _ in range(depth)])
            self.query = self.create_parameter([dim])

        def forward(self, feats, graph, tol=0.05):
            for depth, conv in enumerate(self.convs):
                new = conv(feats, graph)
                change = max((new[k] - feats[k]).abs().mean() for k in sorted(new))
                feats = new
                if change < tol:
                    break
            pooled = {}
            for kind, x in feats.items():
                a = F.softmax(x @ self.query, 0)
                pooled[kind] = a @ x
            return pooled, feats, depth + 1

    def khop(edges, seeds, hops):
        seen = set(seeds)
        frontier = deque(seeds)
        for _ in range(hops):
            for _ in range(len(frontier)):
                v = frontier.popleft()
                for u in edges.src[edges.dst == v].tolist():
                    if u not in seen:
                        seen.add(u)
                        frontier.append(u)
        return sorted(seen)

    model = Model()
    f, hop = convert(model), convert(khop)
    E = lambda *p: Edges(T([a for a, _ in p], dtype="int64"), T([b for _, b in p], dtype="int64"))
    graph = {
        ("user", "buys", "item"): E((0, 1), (1, 1), (2, 0)),
        ("item", "by", "user"): E((1, 0), (1, 1), (0, 2)),
        ("user", "knows", "user"): E((0, 1), (2, 1), (1, 0)),
        ("item", "like", "item"): E((0, 1)),
    }
    for nu, ni, g in (
        (3, 2, graph),
        (4, 3, {k: v for k, v in graph.items() if k[1] != "knows"}),
        (3, 2, {}),
    ):
        pooled, feats, depth = f({"user": rnd(nu, 3, seed=nu), "item": rnd(ni, 3, seed=ni + 7)}, g)
        pooled["user"].sum().backward()
        yield pooled, feats, depth, model.query.grad, model.convs[0].self_loop.weight.grad
        model.clear_gradients()
    yield (
        attempt(lambda: hop(graph["user", "knows", "user"], [1], 1)),
        attempt(lambda: hop(graph["user", "knows", "user"], [0], 3)),
    )


@program
def unipc_with_a_trained_score(convert):
    """A multistep diffusion scheduler with buffers of model outputs, dynamic thresholds, an inpainting mask, a corrector, its timesteps."""

    class Prediction(str, enum.Enum):
        EPS = "epsilon"
        SAMPLE = "sample"
        V = "v_prediction"

    @dataclass
    class Output:
        prev: paddle.Tensor
        x0: Optional[paddle.Tensor] = None

    class Multistep:
        order = 2

        def __init__(self, steps=20, prediction="epsilon", threshold=None, lower_order_final=True):
            betas = np.linspace(0.01, 0.3, steps)
            self.alphas = T(np.cumprod(1 - betas).astype("float32"))
            self.prediction = Prediction(prediction)
            self.threshold, self.lower_order_final = threshold, lower_order_final
            self.timesteps = None

        def set_timesteps(self, n):
            self.timesteps = np.unique(np.linspace(0, len(self.alphas) - 1, n).round().astype(int))[
                ::-1
            ].copy()
            self.outputs = [None] * self.order
            self.lower = 0

        def coeffs(self, t):
            a = self.alphas[t]
            return a.sqrt(), (1 - a).sqrt(), 0.5 * (a / (1 - a)).log()

        def to_x0(self, out, t, x):
            a, s, _ = self.coeffs(t)
            match self.prediction:
                case Prediction.EPS:
                    x0 = (x - s * out) / a
                case Prediction.SAMPLE:
                    x0 = out
                case Prediction.V:
                    x0 = a * x - s * out
            if self.threshold is not None:
                q = x0.abs().flatten(1).quantile(self.threshold, axis=1).reshape([-1, 1])
                q = paddle.maximum(q, paddle.ones_like(q))
                x0 = (
                    x0.clip(-1e3, 1e3)
                    if (q <= 1).all()
                    else paddle.minimum(paddle.maximum(x0, -q), q) / q
                )
            return x0

        def step(self, out, i, x):
            t = int(self.timesteps[i])
            x0 = self.to_x0(out, t, x)
            self.outputs = [*self.outputs[1:], x0]
            last = i == len(self.timesteps) - 1
            if last:
                return Output(x0, x0)
            a0, s0, l0 = self.coeffs(t)
            a1, s1, l1 = self.coeffs(int(self.timesteps[i + 1]))
            h = l1 - l0
            d = x0
            if self.lower >= 1 and not (self.lower_order_final and i == len(self.timesteps) - 2):
                _, _, lm = self.coeffs(int(self.timesteps[i - 1]))
                r = (l0 - lm) / h
                d = x0 + 0.5 / r * (x0 - self.outputs[-2])
            self.lower = min(self.lower + 1, self.order)
            return Output(s1 / s0 * x - a1 * paddle.expm1(-h) * d, x0)

    class Score(nn.Layer):
        def __init__(self, dim=2):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(dim + 2, 8), nn.Silu(), nn.Linear(8, dim))

        def forward(self, x, t):
            e = T([math.sin(t / 5), math.cos(t / 5)]).expand([x.shape[0], 2])
            return self.net(paddle.concat([x, e], 1))

    def sample(model, sched, x, n, known=None, mask=None, guidance=None, stop=None):
        sched.set_timesteps(n)
        trace = []
        for i, t in enumerate(sched.timesteps):
            with paddle.no_grad():
                out = model(x, int(t))
                if guidance:
                    out = out + guidance * (out - model(paddle.zeros_like(x), int(t)))
            res = sched.step(out, i, x)
            x = res.prev
            if mask is not None:
                a = sched.alphas[int(t)].sqrt()
                x = paddle.where(mask, known * a, x)
            if len(trace) and stop and (res.x0 - trace[-1]).abs().max() < stop:
                break
            trace.append(res.x0)
        return x, len(trace), trace[-1]

    paddle.seed(101)
    model = Score()
    run = convert(sample)
    x = rnd(3, 2, seed=3)
    for kw in (
        {},
        {"prediction": "v_prediction", "threshold": 0.9},
        {"prediction": "sample", "lower_order_final": False},
    ):
        sched = Multistep(**kw)
        yield attempt(lambda: run(model, sched, x, 5)), sched.outputs, sched.lower
        yield (
            attempt(
                lambda: run(
                    model, sched, x[:2], 4, x[1:], T([[True, False], [False, True]]), 0.5, 0.2
                )
            ),
            sched.lower,
        )
    yield attempt(lambda: Multistep(prediction="flow"))


@program
def inner_loops_with_warped_gradients(convert):
    """MAML with learned preconditioners, tasks that stop early, first-order switches, second-order outer steps, a task memory."""

    class TaskMemory:
        """Nearest past task gives the initial weights."""

        def __init__(self, size=3):
            self.items: List[Tuple[paddle.Tensor, List[paddle.Tensor]]] = []
            self.size, self.hits = size, collections.Counter()

        def find(self, key, radius=1.0):
            best, where = None, None
            for i, (k, _) in enumerate(self.items):
                d = (k - key).norm()
                if best is None or d < best:
                    best, where = d, i
            if best is not None and best < radius:
                self.hits[where] += 1
                return self.items[where][1]
            return None

        def store(self, key, params):
            if len(self.items) >= self.size:
                self.items.pop(0)
            self.items.append((key, [p.detach().clone() for p in params]))

    class Learner(nn.Layer):
        def __init__(self):
            super().__init__()
            paddle.seed(111)
            self.w1 = self.create_parameter([1, 5])
            self.b1 = self.create_parameter([5], is_bias=True)
            self.w2 = self.create_parameter([5, 1])
            self.warp = nn.ParameterList(
                [
                    paddle.create_parameter(
                        p.shape, "float32", default_initializer=nn.initializer.Constant(0.3)
                    )
                    for p in (self.w1, self.b1, self.w2)
                ]
            )

        def params(self):
            return [self.w1, self.b1, self.w2]

        def net(self, x, params):
            w1, b1, w2 = params
            return F.tanh(x @ w1 + b1) @ w2

        def adapt(self, x, y, params, steps=3, first_order=False, tol=1e-2):
            used = 0
            for _ in range(steps):
                loss = F.mse_loss(self.net(x, params), y)
                if loss < tol:
                    break
                grads = paddle.grad(loss, params, create_graph=not first_order)
                if first_order:
                    grads = [g.detach() for g in grads]
                params = [p - w * g for p, w, g in zip(params, self.warp, grads)]
                used += 1
            return params, used

        def outer(self, tasks, memory=None, **kw):
            total, used = paddle.zeros([]), []
            for (xs, ys), (xq, yq) in tasks:
                key = paddle.stack([ys.mean(), ys.std()])
                init = self.params()
                if memory is not None:
                    near = memory.find(key)
                    if near is not None:
                        init = [0.5 * p + 0.5 * n for p, n in zip(init, near)]
                fast, n = self.adapt(xs, ys, init, **kw)
                total = total + F.mse_loss(self.net(xq, fast), yq)
                used.append(n)
                if memory is not None:
                    memory.store(key, fast)
            return total / len(tasks), used

    def task(seed, n=5):
        rng = np.random.RandomState(seed)
        amp, phase = rng.uniform(0.5, 2), rng.uniform(0, 3)
        x = rng.uniform(-2, 2, [2 * n, 1]).astype("float32")
        y = (amp * np.sin(x + phase)).astype("float32")
        return (T(x[:n]), T(y[:n])), (T(x[n:]), T(y[n:]))

    model = Learner()
    outer = convert(model.outer)
    opt = paddle.optimizer.Adam(0.02, parameters=model.parameters())
    memory = TaskMemory()
    for k, kw in enumerate(
        (
            {},
            {"first_order": True},
            {"steps": 1},
            {"tol": 0.5},
            {"memory": memory},
            {"memory": memory, "steps": 2},
        )
    ):
        loss, used = outer([task(k), task(k + 1, 4)], **kw)
        loss.backward()
        yield loss, used, model.w1.grad, model.warp[0].grad, model.warp[2].grad
        opt.step()
        opt.clear_grad()
    yield len(memory.items), dict(memory.hits), model.w2
