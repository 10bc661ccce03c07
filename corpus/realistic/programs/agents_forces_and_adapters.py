"""Agents with buffers, forces and clouds of points, weights that are adapted, routed and quantised."""

import abc
import contextlib
import copy
import functools
import math
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field, fields, replace
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def twin_critics_over_a_ring_of_tensors(convert):
    """TD3 on a point mass: a ring buffer of preallocated tensors, delayed policy, Polyak targets."""

    class ReplayBuffer:
        def __init__(self, capacity, obs_dim, act_dim):
            self.capacity = capacity
            self.storage = {
                "obs": paddle.zeros([capacity, obs_dim]),
                "act": paddle.zeros([capacity, act_dim]),
                "rew": paddle.zeros([capacity]),
                "next": paddle.zeros([capacity, obs_dim]),
                "done": paddle.zeros([capacity]),
            }
            self.ptr = self.size = 0

        def add(self, **kw):
            for key, value in kw.items():
                self.storage[key][self.ptr] = value
            self.ptr = (self.ptr + 1) % self.capacity
            self.size = min(self.size + 1, self.capacity)

        def sample(self, idx):
            return {k: v[idx] for k, v in self.storage.items()}

    def mlp(sizes, out=None):
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers += [nn.Linear(a, b), nn.Tanh()]
        layers.pop()
        if out is not None:
            layers.append(out())
        return nn.Sequential(*layers)

    class TD3:
        def __init__(self, obs_dim=2, act_dim=1, tau=0.1, delay=2, gamma=0.9):
            self.actor = mlp([obs_dim, 6, act_dim], out=nn.Tanh)
            self.critics = nn.LayerList([mlp([obs_dim + act_dim, 6, 1]) for _ in range(2)])
            self.targets = copy.deepcopy({"actor": self.actor, "critics": self.critics})
            self.actor_opt = paddle.optimizer.Adam(0.01, parameters=self.actor.parameters())
            self.critic_opt = paddle.optimizer.Adam(0.01, parameters=self.critics.parameters())
            self.tau, self.delay, self.gamma = tau, delay, gamma
            self.updates = 0

        @convert
        def act(self, obs, noise=None):
            with paddle.no_grad():
                a = self.actor(obs)
            if noise is not None:
                a = (a + noise).clip(-1.0, 1.0)
            return a

        def soft_update(self, source, target):
            for p, t in zip(source.parameters(), target.parameters()):
                t.set_value(self.tau * p + (1 - self.tau) * t)

        @convert
        def update(self, batch, noise):
            with paddle.no_grad():
                smooth = (0.2 * noise).clip(-0.5, 0.5)
                a2 = (self.targets["actor"](batch["next"]) + smooth).clip(-1, 1)
                sa2 = paddle.concat(x=[batch["next"], a2], axis=-1)
                q2 = paddle.minimum(*[c(sa2).squeeze(-1) for c in self.targets["critics"]])
                target = batch["rew"] + self.gamma * (1 - batch["done"]) * q2
            sa = paddle.concat(x=[batch["obs"], batch["act"]], axis=-1)
            critic_loss = sum(F.smooth_l1_loss(c(sa).squeeze(-1), target) for c in self.critics)
            self.critic_opt.clear_grad()
            critic_loss.backward()
            self.critic_opt.step()
            info = {"critic": critic_loss.item(), "target": target.mean().item()}
            self.updates += 1
            if self.updates % self.delay == 0:
                pi = paddle.concat([batch["obs"], self.actor(batch["obs"])], axis=-1)
                actor_loss = -self.critics[0](pi).mean()
                self.actor_opt.clear_grad()
                actor_loss.backward()
                self.actor_opt.step()
                self.soft_update(self.actor, self.targets["actor"])
                self.soft_update(self.critics, self.targets["critics"])
                info["actor"] = actor_loss.item()
            return info

    @convert
    def env_step(state, action, limit=2.0):
        pos, vel = state[0], state[1]
        vel = 0.9 * vel + 0.3 * action[0]
        pos = pos + vel
        done = pos.abs() > limit
        reward = -(pos**2) - 0.1 * action[0] ** 2
        if done:
            reward = reward - 5.0
        return paddle.stack([pos, vel]), reward, done

    paddle.seed(1)
    rng = np.random.RandomState(0)
    agent, buffer = TD3(), ReplayBuffer(6, 2, 1)

    @convert
    def remember(buffer, transition):
        buffer.add(**transition)
        return buffer.size

    state = paddle.to_tensor([1.0, 0.0])
    for t in range(9):
        noise = paddle.to_tensor(0.5 * rng.randn(1).astype("float32"))
        action = agent.act(state, noise if t % 3 else None)
        nxt, reward, done = env_step(state, action)
        yield remember(
            buffer, dict(obs=state, act=action, rew=reward, next=nxt, done=done.astype("float32"))
        )
        state = paddle.to_tensor([1.0, 0.0]) if done else nxt
        if buffer.size >= 4:
            idx = paddle.to_tensor(rng.randint(0, buffer.size, 3 if t < 7 else 4))
            noise = paddle.to_tensor(rng.randn(len(idx), 1).astype("float32"))
            yield agent.update(buffer.sample(idx), noise)
    yield buffer.storage, buffer.ptr
    yield agent.targets["actor"].state_dict()


@program
def rates_of_a_stochastic_volatility(convert):
    """Heston paths by Euler and Milstein, antithetic halves, a barrier, adaptive steps, Greeks."""

    @dataclass(frozen=True)
    class Heston:
        kappa: float = 2.0
        theta: float = 0.04
        xi: float = 0.3
        rho: float = -0.7
        rate: float = 0.02

        def drift(self, v):
            return self.kappa * (self.theta - v)

    class Scheme(abc.ABC):
        @abc.abstractmethod
        def variance(self, model, v, dt, dw): ...

    class FullTruncation(Scheme):
        def variance(self, model, v, dt, dw):
            vp = v.clip(min=0.0)
            return v + model.drift(vp) * dt + model.xi * paddle.sqrt(vp) * dw

    class Milstein(Scheme):
        def variance(self, model, v, dt, dw):
            vp = paddle.maximum(v, paddle.zeros_like(v))
            new = vp + model.drift(vp) * dt + model.xi * vp.sqrt() * dw
            new += 0.25 * model.xi**2 * (dw**2 - dt)
            return new.abs()

    SCHEMES = {cls.__name__.lower(): cls for cls in Scheme.__subclasses__()}

    @convert
    def price(
        spot, strike, normals, model, scheme="milstein", T=1.0, barrier=None, antithetic=True
    ):
        stepper = SCHEMES[scheme]()
        steps = normals.shape[0]
        dt = T / steps
        z = paddle.concat([normals, -normals], axis=1) if antithetic else normals
        n = z.shape[1]
        log_s = paddle.log(spot) * paddle.ones([n])
        v = paddle.full([n], model.theta)
        alive = paddle.ones([n], dtype="bool")
        for k in range(steps):
            z1, z2 = z[k, :, 0], z[k, :, 1]
            zv = model.rho * z1 + math.sqrt(1 - model.rho**2) * z2
            vp = v.clip(min=0.0)
            log_s = log_s + (model.rate - 0.5 * vp) * dt + paddle.sqrt(vp * dt + 1e-12) * z1
            v = stepper.variance(model, v, dt, math.sqrt(dt) * zv)
            if barrier is not None:
                alive &= log_s < math.log(barrier)
                if not alive.any():
                    return paddle.zeros([]), 0.0
        payoff = F.relu(log_s.exp() - strike) * alive.astype("float32")
        value = math.exp(-model.rate * T) * payoff.mean()
        stderr = payoff.std() / math.sqrt(n)
        return value, stderr.item()

    @convert
    def integrate(f, y0, t1, tol=1e-2, h=0.25):
        """Step doubling for dy = f(y) dt."""
        t, y, accepted, rejected = 0.0, y0, 0, 0
        h = paddle.to_tensor(h)
        while t < t1:
            h = paddle.minimum(h, paddle.to_tensor(t1) - t)
            full = y + h * f(y)
            half = y + h / 2 * f(y)
            two = half + h / 2 * f(half)
            err = (full - two).abs().max()
            if err <= tol:
                t, y = t + h, 2 * two - full
                accepted += 1
            else:
                rejected += 1
            h = h * (0.9 * (tol / (err + 1e-8)) ** 0.5).clip(0.3, 2.0)
            if accepted + rejected > 30:
                raise RuntimeError(f"too many steps at t={float(t):.3f}")
        return y, accepted, rejected

    rng = np.random.RandomState(1)
    for scheme, barrier, n, steps in [
        ("milstein", None, 6, 4),
        ("fulltruncation", 1.3, 6, 4),
        ("milstein", 1.05, 8, 5),
        ("milstein", 0.5, 4, 3),
    ]:
        spot = paddle.to_tensor(1.0, stop_gradient=False)
        z = paddle.to_tensor(rng.randn(steps, n, 2).astype("float32"))
        value, err = price(spot, 0.95, z, Heston(), scheme=scheme, barrier=barrier)
        yield value, err
        if not value.stop_gradient:
            (delta,) = paddle.grad(value, spot)
            yield delta
    yield integrate(lambda y: -2.0 * y, paddle.to_tensor([1.0, 2.0]), 1.0)
    yield integrate(lambda y: paddle.sin(y) - 8 * y, paddle.to_tensor([3.0]), 1.0, tol=5e-2)
    yield attempt(lambda: integrate(lambda y: -90 * y, paddle.to_tensor([1.0]), 2.0, tol=1e-4))
    yield attempt(lambda: price(spot, 1.0, z, Heston(), scheme="exact"))


@program
def liquid_with_lists_of_neighbours(convert):
    """Lennard-Jones in a box: minimum image, Verlet lists that are rebuilt, a thermostat, observables."""

    class Box:
        def __init__(self, length):
            self.length = length

        def wrap(self, r):
            return r - self.length * paddle.floor(r / self.length)

        def image(self, d):
            return d - self.length * paddle.round(d / self.length)

    class NeighbourList:
        def __init__(self, box, cutoff, skin):
            self.box, self.cutoff, self.skin = box, cutoff, skin
            self.pairs = None
            self.origin = None
            self.builds = 0

        def stale(self, r):
            if self.pairs is None:
                return True
            moved = self.box.image(r - self.origin).norm(axis=-1).max()
            return moved > self.skin / 2

        def get(self, r):
            if self.stale(r):
                d = self.box.image(r.unsqueeze(0) - r.unsqueeze(1)).norm(axis=-1)
                close = paddle.triu((d < self.cutoff + self.skin).astype("int32"), diagonal=1)
                self.pairs = paddle.nonzero(close)
                self.origin = r.clone()
                self.builds += 1
            return self.pairs

    class Simulation:
        def __init__(self, positions, velocities, length=4.0, dt=0.01, target=0.5):
            self.box = Box(length)
            self.r, self.v = positions, velocities
            self.list = NeighbourList(self.box, cutoff=1.6, skin=0.3)
            self.dt, self.target = dt, target
            self.trace = defaultdict(list)

        def forces(self, r):
            pairs = self.list.get(r)
            f = paddle.zeros_like(r)
            if pairs.shape[0] == 0:
                return f, paddle.zeros([])
            i, j = pairs[:, 0], pairs[:, 1]
            d = self.box.image(r[i] - r[j])
            r2 = (d**2).sum(-1).clip(min=0.3)
            inside = (r2 < self.list.cutoff**2).astype(r.dtype)
            s6 = 1 / r2**3
            pair = ((48 * s6 * (s6 - 0.5) / r2 * inside).unsqueeze(-1) * d).clip(-50, 50)
            f = paddle.index_add(f, i, 0, pair)
            f = paddle.index_add(f, j, 0, -pair)
            return f, (4 * s6 * (s6 - 1) * inside).sum()

        def temperature(self):
            return (self.v**2).sum() / (2 * self.v.shape[0])

        @convert
        def run(self, steps, thermostat="rescale", every=2):
            f, energy = self.forces(self.r)
            for step in range(steps):
                self.v = self.v + 0.5 * self.dt * f
                self.r = self.box.wrap(self.r + self.dt * self.v)
                f, energy = self.forces(self.r)
                self.v = self.v + 0.5 * self.dt * f
                temp = self.temperature()
                if thermostat == "rescale" and step % every == 0:
                    if (temp - self.target).abs() > 0.1:
                        self.v = self.v * paddle.sqrt(self.target / temp).clip(0.8, 1.25)
                elif thermostat == "berendsen":
                    self.v *= paddle.sqrt(1 + 0.1 * (self.target / temp - 1))
                self.trace["energy"].append(energy.item())
                self.trace["temp"].append(round(temp.item(), 4))
            return energy, self.temperature()

    rng = np.random.RandomState(2)
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(2)), -1).reshape(-1, 2) * 1.2
    for n, thermostat in [(6, "rescale"), (4, "berendsen"), (6, None)]:
        start = paddle.to_tensor((grid[:n] + 0.05 * rng.randn(n, 2)).astype("float32"))
        sim = Simulation(start, paddle.to_tensor(rng.randn(n, 2).astype("float32")))
        yield sim.run(4, thermostat=thermostat)
        yield sim.run(3, thermostat=thermostat, every=1)
        yield sim.r, sim.v, sim.list.builds, dict(sim.trace)


@program
def clouds_registered_by_pairs(convert):
    """Point-to-plane ICP with trimmed pairs, normals by PCA, RANSAC poses, voxels, early returns."""

    def normals_of(points, k=4):
        d = paddle.cdist(points, points)
        _, idx = d.topk(k, axis=-1, largest=False)
        out = []
        for i in range(points.shape[0]):
            nb = points[idx[i]]
            c = nb - nb.mean(0, keepdim=True)
            _, vec = paddle.linalg.eigh(c.T @ c / k)
            n = vec[:, 0]
            if paddle.dot(n, points[i]) < 0:
                n = -n
            out.append(n)
        return paddle.stack(out)

    def rotation(w):
        theta = w.norm()
        zero = paddle.zeros([])
        K = paddle.stack([zero, -w[2], w[1], w[2], zero, -w[0], -w[1], w[0], zero]).reshape([3, 3])
        eye = paddle.eye(3)
        if theta < 1e-6:
            return eye + K
        return eye + paddle.sin(theta) / theta * K + (1 - paddle.cos(theta)) / theta**2 * K @ K

    @dataclass
    class Pose:
        R: paddle.Tensor
        t: paddle.Tensor

        def __call__(self, p):
            return p @ self.R.T + self.t

        def __matmul__(self, other):
            return Pose(self.R @ other.R, self.R @ other.t + self.t)

    @convert
    def icp(source, target, iters=6, trim=0.8, tol=1e-4):
        pose = Pose(paddle.eye(3), paddle.zeros([3]))
        normals = normals_of(target)
        last, history = float("inf"), []
        for it in range(iters):
            moved = pose(source)
            d = paddle.cdist(moved, target)
            dist, nearest = d.min(axis=1), d.argmin(axis=1)
            keep = dist.argsort()[: max(6, int(trim * len(source)))]
            p, q, n = moved[keep], target[nearest[keep]], normals[nearest[keep]]
            A = paddle.concat(x=[paddle.cross(p, n, axis=1), n], axis=1)
            b = ((q - p) * n).sum(axis=1)
            x = paddle.linalg.solve(A.T @ A + 1e-4 * paddle.eye(6), A.T @ b)
            pose = Pose(rotation(x[:3]), x[3:]) @ pose
            error = b.abs().mean().item()
            history.append(error)
            if abs(last - error) < tol:
                return pose, history, True
            last = error
        return pose, history, False

    @convert
    def ransac_translation(src, dst, samples, thr=0.2, enough=0.9):
        best, best_count = None, -1
        for s in samples:
            t = dst[s] - src[s]
            inliers = (src + t - dst).norm(axis=-1) < thr
            count = inliers.sum()
            if count > best_count:
                best_count = count
                best = (dst[inliers] - src[inliers]).mean(axis=0) if count > 0 else t
            if best_count >= enough * len(src):
                break
        return best, best_count

    @convert
    def voxel_downsample(points, size):
        if len(points) == 0:
            return points, {}
        cells = paddle.floor(points / size).astype("int64")
        uniq, inverse, counts = paddle.unique(
            cells, return_inverse=True, return_counts=True, axis=0
        )
        sums = paddle.zeros([uniq.shape[0], 3]).index_add(inverse.flatten(), 0, points)
        table = {tuple(c): n for c, n in zip(uniq.tolist(), counts.tolist())}
        return sums / counts.unsqueeze(-1).astype("float32"), table

    rng = np.random.RandomState(3)
    for n, angle in [(10, 0.1), (10, 0.3), (12, 0.0)]:
        src = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        true = Pose(
            rotation(paddle.to_tensor([0.0, 0.0, angle])), paddle.to_tensor([0.1, 0.0, 0.05])
        )
        dst = true(src)
        pose, history, ok = icp(src, dst)
        print(ok, len(history))
        yield (pose.R - true.R).abs().max() < 0.5, ok
        shifted = src + paddle.to_tensor([0.5, 0.2, 0.0])
        shifted[: n // 4] += 3.0
        yield ransac_translation(src, shifted, [int(i) for i in rng.permutation(n)])
        yield voxel_downsample(src, 1.0)
    yield voxel_downsample(paddle.zeros([0, 3]), 1.0)


@program
def adapters_that_come_and_go(convert):
    """LoRA wrapped around named layers: switched by context, merged, pruned, ranks given by scores."""

    @dataclass
    class LoraConfig:
        r: int = 2
        alpha: float = 4.0
        targets: Tuple[str, ...] = ("q", "v")
        dropout: float = 0.0

        @property
        def scaling(self):
            return self.alpha / self.r

    class LoraLinear(nn.Layer):
        def __init__(self, base, cfg):
            super().__init__()
            self.base, self.cfg = base, cfg
            base.weight.stop_gradient = True
            self.a = self.create_parameter(
                [base.weight.shape[0], cfg.r], default_initializer=nn.initializer.Normal(std=0.3)
            )
            self.b = self.create_parameter(
                [cfg.r, base.weight.shape[1]], default_initializer=nn.initializer.Constant(0.1)
            )
            self.register_buffer("mask", paddle.ones([cfg.r]))
            self.merged = False
            self.enabled = True

        def delta(self):
            return (self.a * self.mask) @ self.b * self.cfg.scaling

        def merge(self):
            if not self.merged:
                self.base.weight.set_value(self.base.weight + self.delta())
                self.merged = True

        def unmerge(self):
            if self.merged:
                self.base.weight.set_value(self.base.weight - self.delta())
                self.merged = False

        def forward(self, x):
            y = self.base(x)
            if self.enabled and not self.merged:
                y = y + ((x @ self.a) * self.mask) @ self.b * self.cfg.scaling
            return y

    class Attention(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(dim, dim, bias_attr=False) for _ in range(3))

        def forward(self, x):
            w = F.softmax(self.q(x) @ self.k(x).transpose([0, 2, 1]) / math.sqrt(x.shape[-1]))
            return x + w @ self.v(x)

    class Tower(nn.Layer):
        def __init__(self, dim=4, depth=2):
            super().__init__()
            self.blocks = nn.LayerList([Attention(dim) for _ in range(depth)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def inject(model, cfg):
        for name, layer in list(model.named_sublayers()):
            leaf = name.split(".")[-1]
            if leaf in cfg.targets and isinstance(layer, nn.Linear):
                parent = functools.reduce(
                    lambda o, p: o[int(p)] if p.isdigit() else getattr(o, p),
                    name.split(".")[:-1],
                    model,
                )
                setattr(parent, leaf, LoraLinear(layer, replace(cfg)))
        return model

    def adapters(model):
        return OrderedDict((n, m) for n, m in model.named_sublayers() if isinstance(m, LoraLinear))

    @contextlib.contextmanager
    def disabled(model):
        layers = list(adapters(model).values())
        for m in layers:
            m.enabled = False
        try:
            yield
        finally:
            for m in layers:
                m.enabled = True

    @convert
    def train_step(model, opt, x, y, reg=0.01):
        loss = F.mse_loss(model(x), y)
        for m in adapters(model).values():
            loss = loss + reg * (m.a.T @ m.a - paddle.eye(m.cfg.r)).square().sum()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    @convert
    def prune(model, budget):
        """Keep the `budget` most important ranks over all adapters."""
        scores = {}
        for name, m in adapters(model).items():
            importance = m.a.norm(axis=0) * m.b.norm(axis=1)
            for r in range(m.cfg.r):
                scores[name, r] = importance[r] * m.mask[r]
        values = paddle.stack(list(scores.values()))
        threshold = paddle.sort(values, descending=True)[budget - 1]
        kept = 0
        for (name, r), s in scores.items():
            if s < threshold:
                adapters(model)[name].mask[r] = 0.0
            else:
                kept += 1
        return kept, threshold

    @convert
    def both(model, x):
        with disabled(model), paddle.no_grad():
            plain = model(x)
        return plain, model(x)

    rng = np.random.RandomState(4)
    paddle.seed(4)
    model = inject(Tower(), LoraConfig())
    opt = paddle.optimizer.Adam(
        0.02, parameters=[p for p in model.parameters() if not p.stop_gradient]
    )
    for n, length in [(2, 3), (2, 3), (3, 2)]:
        x = paddle.to_tensor(rng.randn(n, length, 4).astype("float32"))
        yield train_step(model, opt, x, 0.5 * x)
        yield both(model, x)
    yield prune(model, budget=5)
    yield both(model, x)
    for m in adapters(model).values():
        m.merge()
    yield both(model, x)
    for m in adapters(model).values():
        m.unmerge()
    yield both(model, x), [m.mask for m in adapters(model).values()]


@program
def experts_with_observers(convert):
    """A routed layer with capacity and losses; observers with moving ranges; int8 simulation per mode."""

    class Observer(nn.Layer):
        def __init__(self, bits=8, momentum=0.8, symmetric=True):
            super().__init__()
            self.qmax = 2 ** (bits - 1) - 1
            self.momentum, self.symmetric = momentum, symmetric
            self.register_buffer("low", paddle.to_tensor(float("inf")))
            self.register_buffer("high", paddle.to_tensor(float("-inf")))
            self.mode = "observe"

        def forward(self, x):
            if self.mode == "observe":
                lo, hi = x.detach().min(), x.detach().max()
                if paddle.isinf(self.low):
                    self.low.set_value(lo)
                    self.high.set_value(hi)
                else:
                    m = self.momentum
                    self.low.set_value(m * self.low + (1 - m) * lo)
                    self.high.set_value(m * self.high + (1 - m) * hi)
            elif self.mode == "quantise":
                scale, zero = self.params()
                q = paddle.clip(paddle.round(x / scale) + zero, -self.qmax - 1, self.qmax)
                return x + ((q - zero) * scale - x).detach()
            return x

        def params(self):
            if self.symmetric:
                bound = paddle.maximum(self.low.abs(), self.high.abs())
                return bound / self.qmax, 0.0
            scale = (self.high - self.low) / (2 * self.qmax + 1)
            return scale, -self.qmax - 1 - paddle.round(self.low / scale)

    class MoE(nn.Layer):
        def __init__(self, dim=4, experts=3, k=2, capacity_factor=1.0):
            super().__init__()
            self.router = nn.Linear(dim, experts)
            self.experts = nn.LayerList([nn.Linear(dim, dim) for _ in range(experts)])
            self.observers = nn.LayerList(
                [Observer(bits=4, symmetric=i % 2 == 0) for i in range(experts)]
            )
            self.k, self.capacity_factor = k, capacity_factor
            self.dropped = 0

        @convert
        def forward(self, x, noise=None):
            tokens = x.reshape([-1, x.shape[-1]])
            n, e = tokens.shape[0], len(self.experts)
            logits = self.router(tokens)
            if noise is not None:
                logits = logits + noise
            probs = F.softmax(logits, axis=-1)
            weight, chosen = paddle.topk(probs, self.k, axis=-1)
            weight = weight / weight.sum(axis=-1, keepdim=True)
            capacity = math.ceil(self.capacity_factor * self.k * n / e)
            out = paddle.zeros_like(tokens)
            load = []
            for i, (expert, observer) in enumerate(zip(self.experts, self.observers)):
                rows, slots = paddle.nonzero(chosen == i, as_tuple=True)
                rows, slots = rows.flatten(), slots.flatten()
                load.append(rows.shape[0])
                if rows.shape[0] == 0:
                    continue
                if rows.shape[0] > capacity:
                    self.dropped += rows.shape[0] - capacity
                    gate = weight[rows, slots]
                    _, best = gate.topk(capacity)
                    rows, slots = rows[best], slots[best]
                y = expert(observer(tokens[rows]))
                y = y * weight[rows, slots].unsqueeze(-1)
                out = paddle.scatter(out, rows, out[rows] + y)
            fraction = paddle.to_tensor([l / (n * self.k) for l in load])
            balance = e * (fraction * probs.mean(0)).sum()
            z_loss = (paddle.logsumexp(logits, axis=-1) ** 2).mean()
            return out.reshape(x.shape), {"balance": balance, "z": z_loss, "load": load}

    def set_mode(layer, mode):
        for sub in layer.sublayers():
            if isinstance(sub, Observer):
                sub.mode = mode

    paddle.seed(5)
    moe = MoE()
    opt = paddle.optimizer.Momentum(0.05, parameters=moe.parameters())
    rng = np.random.RandomState(5)
    for mode, n, length in [
        ("observe", 2, 3),
        ("observe", 1, 4),
        ("quantise", 2, 3),
        ("off", 2, 2),
    ]:
        set_mode(moe, mode)
        for noisy in (True, False):
            x = paddle.to_tensor(rng.randn(n, length, 4).astype("float32"))
            noise = paddle.to_tensor(rng.randn(n * length, 3).astype("float32")) if noisy else None
            y, losses = moe(x, noise=noise)
            loss = F.mse_loss(y, 0.3 * x) + 0.01 * losses["balance"] + 0.001 * losses["z"]
            loss.backward()
            opt.step()
            opt.clear_grad()
            print(f"{mode}: {losses['load']}, dropped {moe.dropped}")
            yield y, losses, loss
    yield [(o.low, o.high) for o in moe.observers]
    yield moe.router.weight


@program
def stages_built_from_a_config(convert):
    """A registry, dataclass settings with overrides, mixins, callbacks and a runner that returns early."""

    REGISTRY: Dict[str, Callable[..., Any]] = {}

    def register(name):
        def wrap(cls):
            if name in REGISTRY:
                raise KeyError(f"{name} is registered")
            REGISTRY[name] = cls
            cls.kind = name
            return cls

        return wrap

    @dataclass
    class StageConfig:
        kind: str
        options: dict = field(default_factory=dict)
        enabled: bool = True

    @dataclass
    class RunConfig:
        stages: List[StageConfig] = field(default_factory=list)
        max_norm: float = 4.0
        rounds: int = 3

        @classmethod
        def from_dict(cls, raw):
            known = {f.name for f in fields(cls)}
            unknown = set(raw) - known
            if unknown:
                raise ValueError(f"unknown keys: {sorted(unknown)}")
            raw = dict(raw)
            raw["stages"] = [StageConfig(**s) for s in raw.get("stages", [])]
            return cls(**raw)

        def override(self, **kw):
            return replace(self, **kw)

    class LoggingMixin:
        def log(self, message, *args):
            self.__dict__.setdefault("lines", []).append(message % args)

    class StatsMixin:
        @property
        def mean_change(self):
            changes = getattr(self, "changes", [])
            return sum(changes) / len(changes) if changes else 0.0

        def note(self, before, after):
            self.__dict__.setdefault("changes", []).append((after - before).abs().mean().item())

    class Stage(StatsMixin, LoggingMixin):
        def __call__(self, x, ctx):
            y = self.apply(x, ctx)
            self.note(x, y)
            return y

    @register("scale")
    class Scale(Stage):
        def __init__(self, factor=2.0):
            self.factor = factor

        def apply(self, x, ctx):
            return x * self.factor

    @register("clip")
    class Clip(Stage):
        def __init__(self, limit):
            self.limit = limit

        def apply(self, x, ctx):
            if (x.abs() > self.limit).any():
                self.log("clipped %d values", int((x.abs() > self.limit).sum()))
                ctx["clips"] = ctx.get("clips", 0) + 1
                return x.clip(-self.limit, self.limit)
            return x

    @register("whiten")
    class Whiten(Stage):
        def __init__(self, momentum=0.5):
            self.momentum, self.mean = momentum, None

        def apply(self, x, ctx):
            batch = x.mean(axis=0)
            self.mean = (
                batch
                if self.mean is None
                else (self.momentum * self.mean + (1 - self.momentum) * batch)
            )
            return x - self.mean

    class Callback:
        def on_round(self, runner, x): ...
        def on_end(self, runner, x): ...

    class StopOnNorm(Callback):
        def __init__(self, limit):
            self.limit = limit

        def on_round(self, runner, x):
            if x.norm() > self.limit:
                return "stop"

    class Tape(Callback):
        def __init__(self):
            self.norms = []

        def on_round(self, runner, x):
            self.norms.append(x.norm().item())

        def on_end(self, runner, x):
            self.norms.append("end")

    class Runner:
        def __init__(self, cfg, callbacks=()):
            self.cfg = cfg
            self.stages = [REGISTRY[s.kind](**s.options) for s in cfg.stages if s.enabled]
            self.callbacks = list(callbacks)
            self.ctx = {}

        def emit(self, event, x):
            results = [getattr(cb, event)(self, x) for cb in self.callbacks]
            return "stop" in results

        @convert
        def run(self, x):
            for round_ in range(self.cfg.rounds):
                for stage in self.stages:
                    x = stage(x, self.ctx)
                if self.emit("on_round", x):
                    return x, round_, "stopped"
            self.emit("on_end", x)
            return x, self.cfg.rounds, "done"

    raw = {
        "stages": [
            {"kind": "whiten"},
            {"kind": "scale", "options": {"factor": 1.5}},
            {"kind": "clip", "options": {"limit": 1.0}, "enabled": True},
        ],
        "rounds": 3,
    }
    base = RunConfig.from_dict(raw)
    rng = np.random.RandomState(6)
    for cfg in (
        base,
        base.override(rounds=5, max_norm=1.0),
        base.override(stages=base.stages[1:2]),
    ):
        tape = Tape()
        runner = Runner(cfg, [StopOnNorm(cfg.max_norm), tape])
        for n in (2, 3, 3):
            x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
            yield runner.run(x)
            yield tape.norms, runner.ctx
        for stage in runner.stages:
            print(stage.kind, f"{stage.mean_change:.4f}", getattr(stage, "lines", []))
    yield attempt(lambda: RunConfig.from_dict({"stage": []}))
    yield attempt(lambda: Runner(base.override(stages=[StageConfig("blur")])))
