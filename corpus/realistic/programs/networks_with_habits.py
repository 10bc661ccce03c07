"""Networks: ODE blocks with events, linked memories, routed depth, codebooks, GAN steps, cascades."""

import math
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def ode_block_with_events(convert):
    """A neural ODE: Bogacki-Shampine steps with a PI controller, events found by bisection."""

    class Event(NamedTuple):
        time: paddle.Tensor
        state: paddle.Tensor
        name: str

    class StepTooSmall(RuntimeError):
        pass

    @dataclass
    class Controller:
        rtol: float = 1e-2
        atol: float = 1e-3
        safety: float = 0.9
        rejected: int = 0
        last: float = 1.0

        def ratio(self, err, y0, y1):
            scale = self.atol + self.rtol * paddle.maximum(y0.abs(), y1.abs())
            return paddle.sqrt(((err / scale) ** 2).mean())

        def next_step(self, h, ratio):
            factor = self.safety * ratio.clip(min=1e-4) ** (-0.7 / 3)
            return h * factor.clip(0.2, 5.0)

    class Block(nn.Layer):
        def __init__(self, dim, events: Dict[str, Callable] = {}, h0=0.1):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(dim, 8), nn.Tanh(), nn.Linear(8, dim))
            self.events = dict(events)
            self.h0 = h0
            self.nfe = 0
            self.controller = Controller()

        def rhs(self, t, y):
            self.nfe += 1
            return self.net(y) - 0.5 * y

        def bs23(self, t, y, h):
            k1 = self.rhs(t, y)
            k2 = self.rhs(t + h / 2, y + h / 2 * k1)
            k3 = self.rhs(t + 0.75 * h, y + 0.75 * h * k2)
            new = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
            k4 = self.rhs(t + h, new)
            err = h * (-5 / 72 * k1 + 1 / 12 * k2 + 1 / 9 * k3 - 1 / 8 * k4)
            return new, err

        def locate(self, g, t, y, h):
            lo, hi = paddle.zeros([]), h
            sign = g(y) > 0
            for _ in range(6):
                mid = 0.5 * (lo + hi)
                same = (g(self.bs23(t, y, mid)[0]) > 0) == sign
                if same:
                    lo = mid
                else:
                    hi = mid
            return t + hi, self.bs23(t, y, hi)[0]

        def forward(self, y, t1=1.0, max_steps=60):
            t = paddle.zeros([])
            end = paddle.to_tensor(t1)
            h = paddle.to_tensor(self.h0)
            steps = 0
            while t < end:
                if steps >= max_steps:
                    raise StepTooSmall(f"{max_steps} steps were not enough")
                h = paddle.minimum(h, end - t)
                new, err = self.bs23(t, y, h)
                ratio = self.controller.ratio(err, y, new)
                if ratio > 1.0:
                    self.controller.rejected += 1
                    h = self.controller.next_step(h, ratio)
                    steps += 1
                    continue
                for name, g in self.events.items():
                    if (g(y) > 0) != (g(new) > 0):
                        when, state = self.locate(g, t, y, h)
                        return state, Event(time=when, state=state, name=name)
                t, y = t + h, new
                h = self.controller.next_step(h, ratio)
                steps += 1
            return y, None

    block = Block(2)
    block = convert(block)
    for t1, scale in ((1.0, 1.0), (1.0, -2.0), (2.5, 0.5)):
        x = scale * paddle.to_tensor([[1.0, 0.5]])
        y, event = block(x, t1=t1)
        y.sum().backward()
        yield y, event, block.net[0].weight.grad
        block.clear_gradients()
    yield block.controller.rejected, block.nfe
    hit = convert(Block(2, events={"low": lambda y: y.square().sum() - 0.6}))
    yield hit(paddle.to_tensor([[1.5, 1.0]]), t1=6.0)
    yield hit(paddle.to_tensor([[0.1, 0.0]]), t1=0.5)
    yield attempt(lambda: hit(paddle.to_tensor([[9.0, 9.0]]), t1=0.5, max_steps=2))


@program
def external_memory_with_links(convert):
    """A differentiable neural computer: usage, allocation by sorting, temporal links, read modes."""

    @dataclass
    class MemoryState:
        memory: paddle.Tensor
        usage: paddle.Tensor
        link: paddle.Tensor
        precedence: paddle.Tensor
        read_w: paddle.Tensor
        write_w: paddle.Tensor

        def detach(self):
            return MemoryState(**{k: v.detach() for k, v in vars(self).items()})

    class DNC(nn.Layer):
        def __init__(self, inputs, slots=4, width=3, hidden=6):
            super().__init__()
            self.slots, self.width = slots, width
            self.cell = nn.GRUCell(inputs + width, hidden)
            sizes = dict(key_r=width, key_w=width, erase=width, write=width, gates=4, modes=3)
            self.heads = nn.LayerDict({k: nn.Linear(hidden, v) for k, v in sizes.items()})
            self.out = nn.Linear(hidden + width, inputs)

        def fresh(self, batch):
            z = partial(paddle.zeros, dtype="float32")
            n, w = self.slots, self.width
            return MemoryState(
                memory=z([batch, n, w]) + 1e-3,
                usage=z([batch, n]),
                link=z([batch, n, n]),
                precedence=z([batch, n]),
                read_w=z([batch, n]),
                write_w=z([batch, n]),
            )

        def address(self, memory, key, beta):
            sim = F.cosine_similarity(memory, key.unsqueeze(1), axis=-1)
            return F.softmax(sim * beta, axis=-1)

        def allocation(self, usage):
            order = usage.argsort(axis=-1)
            ranked = paddle.take_along_axis(usage, order, axis=-1)
            before = paddle.concat(
                [paddle.ones_like(ranked[:, :1]), ranked.cumprod(-1)[:, :-1]], -1
            )
            scores = (1 - ranked) * before
            return paddle.put_along_axis(paddle.zeros_like(usage), order, scores, axis=-1)

        def step(self, x, h, s: MemoryState):
            read = (s.read_w.unsqueeze(1) @ s.memory).squeeze(1)
            h, _ = self.cell(paddle.concat([x, read], -1), h)
            p = {name: head(h) for name, head in self.heads.items()}
            beta, gw, ga, free = (
                F.softplus(p["gates"][:, 0:1]),
                *map(F.sigmoid, p["gates"][:, 1:].split(3, -1)),
            )
            usage = (s.usage + s.write_w - s.usage * s.write_w) * (1 - free * s.read_w)
            content = self.address(s.memory, p["key_w"], beta)
            ww = gw * (ga * self.allocation(usage) + (1 - ga) * content)
            erase = F.sigmoid(p["erase"])
            memory = s.memory * (1 - ww.unsqueeze(-1) * erase.unsqueeze(1)) + ww.unsqueeze(-1) * p[
                "write"
            ].unsqueeze(1)
            link = (1 - ww.unsqueeze(-1) - ww.unsqueeze(1)) * s.link + ww.unsqueeze(
                -1
            ) * s.precedence.unsqueeze(1)
            link = link * (1 - paddle.eye(self.slots))
            precedence = (1 - ww.sum(-1, keepdim=True)) * s.precedence + ww
            modes = F.softmax(p["modes"], -1).unsqueeze(-1)
            forward = (link @ s.read_w.unsqueeze(-1)).squeeze(-1)
            backward = (s.read_w.unsqueeze(1) @ link).squeeze(1)
            content = self.address(memory, p["key_r"], beta)
            rw = modes[:, 0] * backward + modes[:, 1] * content + modes[:, 2] * forward
            read = (rw.unsqueeze(1) @ memory).squeeze(1)
            return (
                self.out(paddle.concat([h, read], -1)),
                h,
                MemoryState(memory, usage, link, precedence, rw, ww),
            )

        def forward(self, xs, lengths=None, state=None):
            batch, time, _ = xs.shape
            h = paddle.zeros([batch, 6])
            state = state or self.fresh(batch)
            outs = []
            for t in range(time if lengths is None else int(lengths.max())):
                y, h, state = self.step(xs[:, t], h, state)
                if lengths is not None:
                    y = y * (t < lengths).astype("float32").unsqueeze(-1)
                outs.append(y)
            return paddle.stack(outs, 1), state

    net = DNC(2)
    net = convert(net)
    rng = np.random.RandomState(0)
    state = None
    for b, t, lengths in ((2, 3, None), (2, 5, [5, 2]), (1, 4, None), (2, 5, [1, 3])):
        x = paddle.to_tensor(rng.randn(b, t, 2).astype("float32"))
        y, new = net(
            x, lengths=lengths and paddle.to_tensor(lengths), state=state if b == 2 else None
        )
        y.square().mean().backward()
        yield y, new.usage, net.out.weight.grad
        state = new.detach() if b == 2 else state
        net.clear_gradients()


@program
def mixture_of_depths_with_routing(convert):
    """Blocks that only the top tokens pass through, a router loss and a schedule of capacity."""

    @dataclass
    class Config:
        dim: int = 8
        layers: int = 3
        capacity: Union[float, Callable[[int], float]] = 0.5
        route_every: int = 2

        def capacity_at(self, step):
            return self.capacity(step) if callable(self.capacity) else self.capacity

    class Mlp(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.norm, self.up, self.down = (
                nn.LayerNorm(dim),
                nn.Linear(dim, 2 * dim),
                nn.Linear(2 * dim, dim),
            )

        def forward(self, x):
            return self.down(F.gelu(self.up(self.norm(x))))

    class Routed(nn.Layer):
        def __init__(self, block, dim):
            super().__init__()
            self.block = block
            self.router = nn.Linear(dim, 1, bias_attr=False)
            self.aux: Optional[paddle.Tensor] = None
            self.share = 0.0

        def forward(self, x, capacity):
            b, t, d = x.shape
            logits = self.router(x).squeeze(-1)
            if not self.training:
                passed = logits > 0
                self.share = passed.astype("float32").mean()
                if not passed.any():
                    return x
                return x + passed.unsqueeze(-1).astype("float32") * F.sigmoid(logits).unsqueeze(
                    -1
                ) * self.block(x)
            k = max(1, math.ceil(capacity * t))
            top, index = paddle.topk(logits, k, axis=-1)
            index = paddle.sort(index, axis=-1)
            picked = paddle.take_along_axis(x, index.unsqueeze(-1).expand([b, k, d]), axis=1)
            gate = F.sigmoid(paddle.take_along_axis(logits, index, axis=1)).unsqueeze(-1)
            update = gate * self.block(picked)
            target = paddle.put_along_axis(paddle.zeros_like(logits), index, 1.0, axis=1)
            self.aux = F.binary_cross_entropy_with_logits(logits, target)
            return paddle.put_along_axis(
                x, index.unsqueeze(-1).expand([b, k, d]), picked + update, axis=1
            )

    class Model(nn.Layer):
        def __init__(self, config: Config):
            super().__init__()
            self.config = config
            blocks = []
            for i in range(config.layers):
                block = Mlp(config.dim)
                blocks.append(Routed(block, config.dim) if i % config.route_every else block)
            self.blocks = nn.LayerList(blocks)
            self.steps = 0

        def forward(self, x, *, return_aux=False):
            capacity = self.config.capacity_at(self.steps)
            if self.training:
                self.steps += 1
            for block in self.blocks:
                x = block(x, capacity) if isinstance(block, Routed) else x + block(x)
            if not return_aux:
                return x
            aux = [b.aux for b in self.blocks if getattr(b, "aux", None) is not None]
            return x, sum(aux, paddle.zeros([])) / max(len(aux), 1)

    model = convert(Model(Config(capacity=lambda step: max(0.25, 1.0 - 0.25 * step))))
    rng = np.random.RandomState(1)
    for n, t in ((2, 4), (2, 4), (1, 6), (2, 5)):
        x = paddle.to_tensor(rng.randn(n, t, 8).astype("float32"))
        y, aux = model(x, return_aux=True)
        (y.mean() + aux).backward()
        yield y, aux, model.blocks[1].router.weight.grad
        model.clear_gradients()
    model.eval()
    yield model(x), model.blocks[1].share
    yield model(-x), model.steps
    yield attempt(lambda: model(x[:, :, :4]))


@program
def residual_codebooks_with_dead_codes(convert):
    """Residual VQ: EMA codebooks in buffers, k-means initialisation, dead codes, quantiser dropout."""

    class Codebook(nn.Layer):
        def __init__(self, size, dim, decay=0.8, threshold=0.3):
            super().__init__()
            self.decay, self.threshold = decay, threshold
            self.register_buffer("embed", paddle.zeros([size, dim]))
            self.register_buffer("cluster_size", paddle.ones([size]))
            self.register_buffer("embed_avg", paddle.zeros([size, dim]))
            self.register_buffer("inited", paddle.to_tensor(False))

        def init_(self, x, rounds=2):
            k = self.embed.shape[0]
            centres = x[:k] if x.shape[0] >= k else paddle.concat([x] * (k // x.shape[0] + 1))[:k]
            for _ in range(rounds):
                near = paddle.cdist(x, centres).argmin(-1)
                onehot = F.one_hot(near, k).astype("float32")
                counts = onehot.sum(0).unsqueeze(-1)
                centres = paddle.where(counts > 0, onehot.t() @ x / counts.clip(min=1.0), centres)
            self.embed.set_value(centres)
            self.embed_avg.set_value(centres)
            self.inited.set_value(paddle.to_tensor(True))

        def expire(self, x):
            dead = self.cluster_size < self.threshold
            if not dead.any():
                return 0
            pick = paddle.arange(self.embed.shape[0]) % x.shape[0]
            self.embed.set_value(paddle.where(dead.unsqueeze(-1), x[pick], self.embed))
            self.cluster_size.set_value(
                paddle.where(dead, paddle.ones_like(self.cluster_size), self.cluster_size)
            )
            return dead.sum()

        def forward(self, x):
            flat = x.reshape([-1, x.shape[-1]])
            if self.training and not self.inited:
                self.init_(flat.detach())
            codes = paddle.cdist(flat, self.embed).argmin(-1)
            quantized = F.embedding(codes, self.embed).reshape(x.shape)
            revived = 0
            if self.training:
                with paddle.no_grad():
                    onehot = F.one_hot(codes, self.embed.shape[0]).astype("float32")
                    self.cluster_size.set_value(
                        self.decay * self.cluster_size + (1 - self.decay) * onehot.sum(0)
                    )
                    self.embed_avg.set_value(
                        self.decay * self.embed_avg + (1 - self.decay) * onehot.t() @ flat
                    )
                    n = self.cluster_size.sum()
                    smoothed = (self.cluster_size + 1e-5) / (n + 1e-5 * self.embed.shape[0]) * n
                    self.embed.set_value(self.embed_avg / smoothed.unsqueeze(-1))
                    revived = self.expire(flat)
                quantized = x + (quantized - x).detach()
            return quantized, codes.reshape(x.shape[:-1]), revived

    class ResidualVQ(nn.Layer):
        def __init__(self, books=3, size=4, dim=2, dropout=True):
            super().__init__()
            self.layers = nn.LayerList([Codebook(size, dim) for _ in range(books)])
            self.dropout = dropout

        def forward(self, x, n=None):
            residual, out = x, paddle.zeros_like(x)
            codes, losses = [], []
            n = n or len(self.layers)
            for i, layer in enumerate(self.layers):
                if i >= n:
                    break
                q, code, _ = layer(residual)
                losses.append(F.mse_loss(residual, q.detach()))
                residual = residual - q.detach()
                out = out + q
                codes.append(code)
            return out, paddle.stack(codes), paddle.stack(losses).sum()

        def decode(self, codes):
            return sum(F.embedding(c, l.embed) for c, l in zip(codes, self.layers))

    vq = ResidualVQ()
    forward, decode = convert(vq.forward), convert(vq.decode)
    rng = np.random.RandomState(0)
    for shape, n in (((6, 2), None), ((6, 2), 2), ((2, 5, 2), None), ((9, 2), 1)):
        x = paddle.to_tensor(rng.randn(*shape).astype("float32"), stop_gradient=False)
        out, codes, loss = forward(x, n=n)
        (loss + out.sum()).backward()
        yield out, codes, loss, x.grad
    vq.eval()
    out, codes, _ = forward(x)
    yield codes, decode(codes), vq.layers[0].cluster_size, vq.layers[2].inited


@program
def gan_with_two_time_scales(convert):
    """GAN training: losses from a registry, D steps per G step, R1 every k, an EMA generator."""

    LOSSES: Dict[str, Tuple[Callable, Callable]] = {}

    def register(name):
        def add(cls):
            LOSSES[name] = (cls.d, cls.g)
            return cls

        return add

    @register("hinge")
    class Hinge:
        d = staticmethod(lambda real, fake: F.relu(1 - real).mean() + F.relu(1 + fake).mean())
        g = staticmethod(lambda fake: -fake.mean())

    @register("logistic")
    class Logistic:
        d = staticmethod(lambda real, fake: F.softplus(-real).mean() + F.softplus(fake).mean())
        g = staticmethod(lambda fake: F.softplus(-fake).mean())

    @dataclass
    class Settings:
        loss: str = "hinge"
        d_steps: int = 2
        r1_every: int = 2
        r1_weight: float = 0.5
        ema: float = 0.9
        lrs: Dict[str, float] = field(default_factory=lambda: {"g": 0.01, "d": 0.02})

    class Gan:
        def __init__(self, settings: Settings, z=2, x=3):
            self.s = settings
            self.z = z
            self.g = nn.Sequential(nn.Linear(z, 6), nn.LeakyReLU(0.2), nn.Linear(6, x))
            self.d = nn.Sequential(nn.Linear(x, 6), nn.LeakyReLU(0.2), nn.Linear(6, 1))
            self.shadow = OrderedDict((n, p.clone().detach()) for n, p in self.g.named_parameters())
            self.opts = {
                k: paddle.optimizer.Adam(lr, beta1=0.0, parameters=getattr(self, k).parameters())
                for k, lr in settings.lrs.items()
            }
            self.iteration = 0
            self.log = defaultdict(list)

        def requires_grad(self, net, flag):
            for p in net.parameters():
                p.stop_gradient = not flag

        def d_step(self, real):
            d_loss, _ = LOSSES[self.s.loss]
            fake = self.g(paddle.randn([real.shape[0], self.z])).detach()
            loss = d_loss(self.d(real), self.d(fake))
            if self.iteration % self.s.r1_every == 0:
                real = real.detach()
                real.stop_gradient = False
                (grad,) = paddle.grad(self.d(real).sum(), [real], create_graph=True)
                r1 = grad.square().sum(-1).mean()
                loss = loss + self.s.r1_weight * r1
                self.log["r1"].append(r1.detach())
            self.opts["d"].clear_grad()
            loss.backward()
            self.opts["d"].step()
            return loss.detach()

        def g_step(self, n):
            self.requires_grad(self.d, False)
            fake = self.g(paddle.randn([n, self.z]))
            loss = LOSSES[self.s.loss][1](self.d(fake))
            self.opts["g"].clear_grad()
            loss.backward()
            self.opts["g"].step()
            self.requires_grad(self.d, True)
            with paddle.no_grad():
                for name, p in self.g.named_parameters():
                    self.shadow[name] = self.s.ema * self.shadow[name] + (1 - self.s.ema) * p
            return loss.detach()

        def train_iteration(self, batches):
            for _, real in zip(range(self.s.d_steps), batches):
                d = self.d_step(real)
            g = self.g_step(real.shape[0])
            self.iteration += 1
            self.log["d"].append(d)
            self.log["g"].append(g)
            return {"d": d, "g": g}

    rng = np.random.RandomState(0)
    for loss in sorted(LOSSES):
        gan = Gan(Settings(loss=loss))
        gan.train_iteration = convert(gan.train_iteration)
        for n in (4, 4, 6):
            batches = [paddle.to_tensor(rng.randn(n, 3).astype("float32") + 1) for _ in range(3)]
            yield gan.train_iteration(batches)
        yield gan.log, gan.shadow, gan.iteration


@program
def cascade_that_exits_early(convert):
    """A cascade of classifiers: exits by entropy or patience, per sample, with counters."""

    class Exit:
        def __call__(self, logits, before):
            raise NotImplementedError

    class ByEntropy(Exit):
        def __init__(self, threshold):
            self.threshold = threshold

        def __call__(self, logits, before):
            p = F.softmax(logits, -1)
            return -(p * p.clip(min=1e-8).log()).sum(-1) < self.threshold

    class ByPatience(Exit):
        def __init__(self, patience=2):
            self.patience = patience

        def __call__(self, logits, before):
            if len(before) < self.patience:
                return paddle.zeros([logits.shape[0]], dtype="bool")
            agreed = paddle.ones([logits.shape[0]], dtype="bool")
            for old in before[-self.patience :]:
                agreed = agreed & (old.argmax(-1) == logits.argmax(-1))
            return agreed

    class Cascade(nn.Layer):
        def __init__(self, dim, classes, depth=4, policy: Exit = None):
            super().__init__()
            self.stages = nn.LayerList(
                [nn.Sequential(nn.Linear(dim, dim), nn.Tanh()) for _ in range(depth)]
            )
            self.heads = nn.LayerList([nn.Linear(dim, classes) for _ in range(depth)])
            self.policy = policy
            self.register_buffer("exits", paddle.zeros([depth], dtype="int64"))

        def forward(self, x, labels=None):
            if labels is not None:
                return self.joint_loss(x, labels)
            n = x.shape[0]
            out = paddle.zeros([n, self.heads[0].weight.shape[1]])
            alive = paddle.ones([n], dtype="bool")
            before: List[paddle.Tensor] = []
            for i, (stage, head) in enumerate(zip(self.stages, self.heads)):
                x = stage(x)
                logits = head(x)
                last = i == len(self.stages) - 1
                leave = alive if last else alive & self.policy(logits, before)
                out = paddle.where(leave.unsqueeze(-1), logits, out)
                self.exits[i] = self.exits[i] + leave.sum()
                alive = alive & ~leave
                if not alive.any():
                    break
                before.append(logits)
            return out, i

        def joint_loss(self, x, labels):
            losses = []
            for depth, (stage, head) in enumerate(zip(self.stages, self.heads), start=1):
                x = stage(x)
                losses.append(depth * F.cross_entropy(head(x), labels))
            weights = sum(range(1, len(losses) + 1))
            return paddle.add_n(losses) / weights

    rng = np.random.RandomState(3)
    for policy in (ByEntropy(0.9), ByPatience(1), ByPatience()):
        net = Cascade(4, 3, policy=policy)
        run = convert(net.forward)
        x = paddle.to_tensor(3 * rng.randn(5, 4).astype("float32"))
        loss = run(x, labels=paddle.to_tensor([0, 1, 2, 1, 0]))
        loss.backward()
        yield loss, net.heads[3].weight.grad
        for part in (x, x[:2], 10 * x[:3]):
            yield run(part)
        yield net.exits
    yield attempt(lambda: convert(Cascade(4, 3, policy=Exit()))(x))
