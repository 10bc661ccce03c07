"""Agents, quantisers, experts, filters and geometry, with the state that goes from call to call."""

import collections
import enum
import logging
import math
from dataclasses import dataclass, field

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program

logger = logging.getLogger("agents")
Transition = collections.namedtuple("Transition", "obs action reward next_obs done")


@program
def distributional_q_with_a_replay(convert):
    """C51: projected distributions, a replay in NumPy, a target that is copied, epsilon by a rule."""

    class Replay:
        def __init__(self, capacity, dim, seed=0):
            self.rng = np.random.RandomState(seed)
            self.data = Transition(
                *(
                    np.zeros((capacity, *shape), dtype)
                    for shape, dtype in (
                        ((dim,), "float32"),
                        ((), "int64"),
                        ((), "float32"),
                        ((dim,), "float32"),
                        ((), "float32"),
                    )
                )
            )
            self.capacity, self.size, self.at = capacity, 0, 0

        def add(self, *values):
            for column, value in zip(self.data, values):
                column[self.at] = value
            self.at = (self.at + 1) % self.capacity
            self.size = min(self.size + 1, self.capacity)

        def sample(self, n):
            index = self.rng.randint(0, self.size, n)
            return Transition(*(paddle.to_tensor(column[index]) for column in self.data))

    class C51(nn.Layer):
        def __init__(self, dim, actions, atoms=5, low=-2.0, high=2.0):
            super().__init__()
            self.net = nn.Linear(dim, actions * atoms)
            self.actions, self.atoms, self.low, self.high = actions, atoms, low, high
            self.register_buffer("support", paddle.linspace(low, high, atoms))
            self.gap = (high - low) / (atoms - 1)

        def forward(self, obs):
            return F.softmax(self.net(obs).reshape([-1, self.actions, self.atoms]), axis=-1)

        def q(self, obs):
            return (self(obs) * self.support).sum(axis=-1)

    paddle.seed(4)
    online, target = C51(3, 2), C51(3, 2)
    target.set_state_dict(online.state_dict())
    opt = paddle.optimizer.Adam(0.05, parameters=online.parameters())

    @convert
    def learn(batch, gamma=0.9, double=True):
        with paddle.no_grad():
            chooser = online if double else target
            best = chooser.q(batch.next_obs).argmax(axis=-1)
            rows = paddle.arange(best.shape[0])
            probs = target(batch.next_obs)[rows, best]
            shifted = (
                batch.reward.unsqueeze(1) + gamma * (1 - batch.done).unsqueeze(1) * online.support
            )
            place = (paddle.clip(shifted, online.low, online.high) - online.low) / online.gap
            lower, upper = place.floor(), place.ceil()
            same = (lower == upper).astype("float32")
            projected = paddle.zeros_like(probs)
            for j in range(online.atoms):
                for index, weight in (
                    (lower[:, j], upper[:, j] - place[:, j] + same[:, j]),
                    (upper[:, j], place[:, j] - lower[:, j]),
                ):
                    onehot = F.one_hot(index.astype("int64"), online.atoms)
                    projected += onehot * (weight * probs[:, j]).unsqueeze(1)
        picked = online(batch.obs)[rows, batch.action]
        loss = -(projected * paddle.log(picked + 1e-8)).sum(-1)
        loss.mean().backward()
        opt.step()
        opt.clear_grad()
        return loss.detach()

    @convert
    @paddle.no_grad()
    def act(obs, u, epsilon):
        if u[0] < epsilon:
            return (u[1] * online.actions).astype("int64")
        return online.q(obs.unsqueeze(0)).argmax()

    replay, rng = Replay(8, 3), np.random.RandomState(1)
    obs = rng.randn(3).astype("float32")
    for step in range(10):
        u = paddle.to_tensor(rng.rand(2).astype("float32"))
        action = int(act(paddle.to_tensor(obs), u, epsilon=max(0.1, 1 - step / 5)))
        nxt = rng.randn(3).astype("float32")
        replay.add(obs, action, float(nxt[action]), nxt, float(step % 4 == 3))
        obs = nxt
        if step >= 4:
            yield action, learn(replay.sample(4 + step % 2), double=step % 2 == 0)
        if step % 3 == 2:
            target.set_state_dict(online.state_dict())
    yield online.net.weight


@program
def options_that_end_by_themselves(convert):
    """The options framework on a grid: policies over options, terminations, interrupted options."""

    class Action(enum.IntEnum):
        UP = 0
        DOWN = 1
        LEFT = 2
        RIGHT = 3

    MOVES = {Action.UP: (-1, 0), Action.DOWN: (1, 0), Action.LEFT: (0, -1), Action.RIGHT: (0, 1)}

    @dataclass
    class Option:
        goal: tuple
        length: int = 0

        def action(self, pos):
            dy, dx = self.goal[0] - pos[0], self.goal[1] - pos[1]
            if dy.abs() > dx.abs():
                return Action.DOWN if dy > 0 else Action.UP
            return Action.RIGHT if dx > 0 else Action.LEFT

        def ended(self, pos):
            return (pos == paddle.to_tensor(self.goal)).all()

    class Grid:
        def __init__(self, walls, size=4):
            self.walls, self.size = walls, size

        def move(self, pos, action):
            new = paddle.clip(pos + paddle.to_tensor(MOVES[action]), 0, self.size - 1)
            if self.walls[new[0], new[1]]:
                return pos, -1.0
            return new, -0.1

    @convert
    def run_option(grid, option, pos, limit=6):
        total = paddle.zeros([])
        for step in range(limit):
            if option.ended(pos):
                break
            action = option.action(pos)
            pos, reward = grid.move(pos, action)
            total = total + 0.9**step * reward
        return pos, total, option.ended(pos)

    @convert
    def smdp_update(q, k, reward, best_next, steps, rate=0.5):
        q = q.clone()
        q[k] += rate * (reward + 0.9**steps * best_next - q[k])
        return q

    walls = np.zeros((4, 4), bool)
    walls[1, 2] = True
    grid = Grid(paddle.to_tensor(walls))
    q = paddle.zeros([2])
    options = [Option((0, 3)), Option((3, 1))]
    pos = paddle.to_tensor([2, 2])
    for k, limit in ((0, 6), (1, 6), (0, 2), (1, 1)):
        pos, reward, done = run_option(grid, options[k], pos, limit=limit)
        q = smdp_update(q, k, reward, q.max(), limit)
        yield pos, reward, done, q


@program
def gae_over_ragged_episodes(convert):
    """Advantages over episodes of unlike lengths, V-trace, and a scale that is learned on line."""

    class PopArt:
        def __init__(self, beta=0.2):
            self.mu, self.nu, self.beta = paddle.zeros([]), paddle.ones([]), beta

        @property
        def sigma(self):
            return paddle.sqrt(paddle.clip(self.nu - self.mu**2, min=1e-4))

        @convert
        def update(self, targets, weight, bias):
            old_mu, old_sigma = self.mu, self.sigma
            self.mu = (1 - self.beta) * self.mu + self.beta * targets.mean()
            self.nu = (1 - self.beta) * self.nu + self.beta * (targets**2).mean()
            new_w = weight * old_sigma / self.sigma
            new_b = (old_sigma * bias + old_mu - self.mu) / self.sigma
            return new_w, new_b

    @convert
    def gae(rewards, values, dones, last, gamma=0.9, lam=0.8):
        advantage = paddle.zeros_like(last)
        out = []
        for r, v, d in zip(rewards.flip(0), values.flip(0), dones.flip(0)):
            if d:
                last, advantage = paddle.zeros_like(last), paddle.zeros_like(advantage)
            delta = r + gamma * last - v
            advantage = delta + gamma * lam * advantage
            out.insert(0, advantage)
            last = v
        return paddle.stack(out)

    @convert
    def vtrace(logp, old_logp, rewards, values, bootstrap, gamma=0.9, rho_bar=1.0, c_bar=1.0):
        ratio = paddle.exp(logp - old_logp)
        rho, c = ratio.clip(max=rho_bar), ratio.clip(max=c_bar)
        nxt = paddle.concat([values[1:], bootstrap.unsqueeze(0)])
        delta = rho * (rewards + gamma * nxt - values)
        acc, out = paddle.zeros([]), []
        for t in range(values.shape[0] - 1, -1, -1):
            acc = delta[t] + gamma * c[t] * acc
            out.append(acc + values[t])
        return paddle.stack(out[::-1])

    rng = np.random.RandomState(7)

    def t(*shape):
        return paddle.to_tensor(rng.randn(*shape).astype("float32"))

    norm = PopArt()
    weight, bias = paddle.ones([2]), paddle.zeros([])
    for n in (4, 6, 3):
        dones = paddle.to_tensor(rng.rand(n) > 0.7)
        rewards, values = t(n), t(n)
        adv = gae(rewards, values, dones, t(1)[0])
        yield adv
        yield vtrace(t(n), t(n), rewards, values, t(1)[0])
        weight, bias = norm.update(adv + values, weight, bias)
        yield weight, bias, norm.sigma


@program
def gptq_column_by_column(convert):
    """Weights are rounded one column at a time, the error goes to the columns that follow."""

    @dataclass
    class Grid:
        scale: paddle.Tensor
        zero: paddle.Tensor
        levels: int

        @classmethod
        def fit(cls, w, bits, symmetric):
            levels = 2**bits - 1
            low = paddle.minimum(w.min(axis=1, keepdim=True), paddle.zeros([1]))
            high = paddle.maximum(w.max(axis=1, keepdim=True), paddle.zeros([1]))
            if symmetric:
                high = paddle.maximum(low.abs(), high)
                low = -high
            flat = (low == 0) & (high == 0)
            low = paddle.where(flat, paddle.full_like(low, -1.0), low)
            high = paddle.where(flat, paddle.full_like(high, 1.0), high)
            scale = (high - low) / levels
            zero = (
                paddle.full_like(scale, (levels + 1) / 2) if symmetric else (-low / scale).round()
            )
            return cls(scale, zero, levels)

        def __call__(self, w):
            q = paddle.clip(paddle.round(w / self.scale) + self.zero, 0, self.levels)
            return self.scale * (q - self.zero)

    @convert
    def gptq(weight, hessian, bits=3, group=None, act_order=False, damp=0.05, symmetric=False):
        w = weight.clone()
        n = w.shape[1]
        dead = paddle.diag(hessian) == 0
        if dead.any():
            hessian = hessian + paddle.diag(dead.astype("float32"))
            w = paddle.where(dead.unsqueeze(0), paddle.zeros_like(w), w)
        perm = None
        if act_order:
            perm = paddle.argsort(paddle.diag(hessian), descending=True)
            w = w[:, perm]
            hessian = hessian[perm][:, perm]
        hessian = hessian + damp * paddle.diag(hessian).mean() * paddle.eye(n)
        h_inv = paddle.linalg.cholesky(paddle.linalg.inv(hessian), upper=True)
        grid = Grid.fit(w, bits, symmetric)
        columns, losses = [], paddle.zeros([])
        for i in range(n):
            if group is not None and i % group == 0:
                grid = Grid.fit(w[:, i : i + group], bits, symmetric)
            d = h_inv[i, i]
            col = w[:, i : i + 1]
            q = grid(col)
            err = (col - q) / d
            losses = losses + (err**2).sum() / 2
            if i + 1 < n:
                w[:, i + 1 :] = w[:, i + 1 :] - err @ h_inv[i : i + 1, i + 1 :]
            columns.append(q)
        out = paddle.concat(columns, axis=1)
        if perm is not None:
            out = out[:, paddle.argsort(perm)]
        return out, losses

    rng = np.random.RandomState(5)
    for n, kwargs in (
        (4, {}),
        (4, {"group": 2, "bits": 2}),
        (5, {"act_order": True}),
        (4, {"symmetric": True}),
    ):
        x = rng.randn(8, n).astype("float32")
        if n == 5:
            x[:, 2] = 0
        hessian = paddle.to_tensor(x.T @ x)
        weight = paddle.to_tensor(rng.randn(3, n).astype("float32"))
        yield gptq(weight, hessian, **kwargs)


@program
def experts_that_choose_tokens(convert):
    """Mixtures with routing by experts, a shared expert, jitter, losses of balance, dropped tokens."""

    class Expert(nn.Layer):
        def __init__(self, dim, hidden):
            super().__init__()
            self.up, self.gate, self.down = (
                nn.Linear(dim, hidden),
                nn.Linear(dim, hidden),
                nn.Linear(hidden, dim),
            )

        def forward(self, x):
            return self.down(F.silu(self.gate(x)) * self.up(x))

    class MoE(nn.Layer):
        def __init__(self, dim=4, experts=3, mode="token", k=2, capacity=1.0, shared=True):
            super().__init__()
            self.router = nn.Linear(dim, experts, bias_attr=False)
            self.experts = nn.LayerList([Expert(dim, 6) for _ in range(experts)])
            self.shared = Expert(dim, 6) if shared else None
            self.mode, self.k, self.capacity = mode, k, capacity
            self.register_buffer("load", paddle.zeros([experts]))
            self.aux = {}

        def by_token(self, x, probs):
            weights, index = paddle.topk(probs, self.k, axis=-1)
            weights = weights / weights.sum(axis=-1, keepdim=True)
            out = paddle.zeros_like(x)
            limit = int(math.ceil(self.capacity * x.shape[0] * self.k / len(self.experts)))
            for e, expert in enumerate(self.experts):
                chosen = (index == e).any(axis=-1)
                rows = paddle.nonzero(chosen).flatten()[:limit]
                self.load[e] += rows.shape[0]
                if rows.shape[0] == 0:
                    continue
                w = (weights * (index == e).astype(x.dtype)).sum(-1)[rows]
                out = paddle.index_add(out, rows, 0, expert(x[rows]) * w.unsqueeze(-1))
            return out

        def by_expert(self, x, probs):
            per = max(1, x.shape[0] * self.k // len(self.experts))
            out = paddle.zeros_like(x)
            for e, expert in enumerate(self.experts):
                w, rows = paddle.topk(probs[:, e], min(per, x.shape[0]))
                out = out.index_add(index=rows, axis=0, value=expert(x[rows]) * w.unsqueeze(-1))
                self.load[e] += rows.shape[0]
            return out

        @convert
        def forward(self, x, jitter=None):
            shape = x.shape
            x = x.reshape([-1, shape[-1]])
            routed = x * jitter if self.training and jitter is not None else x
            logits = self.router(routed)
            probs = F.softmax(logits, axis=-1)
            out = getattr(self, f"by_{self.mode}")(x, probs)
            share = F.one_hot(probs.argmax(-1), probs.shape[-1]).mean(axis=0)
            self.aux["balance"] = (share * probs.mean(axis=0)).sum() * probs.shape[-1]
            self.aux["z"] = paddle.logsumexp(logits, axis=-1).square().mean()
            if self.shared is not None:
                out = out + self.shared(x)
            return out.reshape(shape)

    paddle.seed(10)
    for mode, shared in (("token", True), ("expert", False)):
        moe = MoE(mode=mode, shared=shared)
        opt = paddle.optimizer.SGD(0.1, parameters=moe.parameters())
        for shape in ([2, 3, 4], [5, 4], [2, 3, 4]):
            x = paddle.randn(shape)
            loss = moe(x, paddle.uniform([4], min=0.9, max=1.1)).square().mean()
            loss = loss + 0.01 * moe.aux["balance"] + 0.001 * moe.aux["z"]
            loss.backward()
            yield loss, moe.load, moe.router.weight.grad
            opt.step()
            opt.clear_grad()
        moe.eval()
        yield moe(x), dict(moe.aux)


@program
def modem_with_timing_recovery(convert):
    """Symbols with a Costas loop, an equaliser that learns, Viterbi for two taps, and an AGC."""

    @dataclass
    class LoopFilter:
        kp: float
        ki: float
        integral: paddle.Tensor = field(default_factory=lambda: paddle.zeros([]))

        def __call__(self, error):
            self.integral = self.integral + self.ki * error
            return self.kp * error + self.integral

    class Receiver:
        def __init__(self, taps=3):
            self.phase = paddle.zeros([])
            self.gain = paddle.ones([])
            self.loop = LoopFilter(0.2, 0.02)
            self.w = paddle.zeros([taps])
            self.w[taps // 2] = 1.0
            self.line = [paddle.zeros([]) for _ in range(taps)]
            self.locked = False

        @convert
        def receive(self, i, q, train=None, mu=0.1):
            bits, errors = [], []
            for n in range(i.shape[0]):
                c, s = paddle.cos(self.phase), paddle.sin(self.phase)
                re = self.gain * (i[n] * c + q[n] * s)
                im = self.gain * (q[n] * c - i[n] * s)
                self.line = [re] + self.line[:-1]
                y = (paddle.stack(self.line) * self.w).sum()
                decision = paddle.where(y >= 0, paddle.ones([]), -paddle.ones([]))
                wanted = train[n] if train is not None else decision
                error = wanted - y
                if train is not None or error.abs() < 0.5:
                    self.w = self.w + mu * error * paddle.stack(self.line)
                self.phase = self.phase + self.loop(im * paddle.sign(re))
                if self.phase > math.pi:
                    self.phase = self.phase - 2 * math.pi
                elif self.phase < -math.pi:
                    self.phase = self.phase + 2 * math.pi
                power = re**2 + im**2
                self.gain = paddle.clip(self.gain * (1 + 0.1 * (1 - power)), 0.1, 10.0)
                bits.append(decision)
                errors.append(error.square())
            mse = paddle.stack(errors).mean()
            self.locked = bool(mse < 0.2)
            return paddle.stack(bits), mse

    rng = np.random.RandomState(3)
    receiver = Receiver()
    for block, n in enumerate((6, 6, 5, 6)):
        bits = rng.choice([-1.0, 1.0], n).astype("float32")
        angle = 0.4 + 0.05 * np.arange(n)
        noise = rng.randn(2, n) * 0.05
        i, q = 0.7 * bits * np.cos(angle) + noise[0], 0.7 * bits * np.sin(angle) + noise[1]
        out, mse = receiver.receive(
            paddle.to_tensor(i.astype("float32")),
            paddle.to_tensor(q.astype("float32")),
            train=paddle.to_tensor(bits) if block < 2 else None,
        )
        yield out, mse, receiver.locked, receiver.phase, receiver.w


@program
def rays_through_spheres_and_boxes(convert):
    """Sphere tracing with masks, a slab test, reflections with an early end, an SDF by operators."""

    class Sdf:
        def __init__(self, fn):
            self.fn = fn

        def __call__(self, p):
            return self.fn(p)

        def __or__(self, other):
            return Sdf(lambda p: paddle.minimum(self(p), other(p)))

        def __and__(self, other):
            return Sdf(lambda p: paddle.maximum(self(p), other(p)))

        def __invert__(self):
            return Sdf(lambda p: -self(p))

        def blend(self, other, k=0.3):
            def fn(p):
                a, b = self(p), other(p)
                h = paddle.clip(0.5 + 0.5 * (b - a) / k, 0.0, 1.0)
                return b + h * (a - b) - k * h * (1 - h)

            return Sdf(fn)

        def normal(self, p, eps=1e-3):
            steps = eps * paddle.eye(3)
            return F.normalize(
                paddle.stack([self(p + s) - self(p - s) for s in steps], axis=-1), axis=-1
            )

    def sphere(center, radius):
        center = paddle.to_tensor(center)
        return Sdf(lambda p: (p - center).norm(axis=-1) - radius)

    def box(half):
        half = paddle.to_tensor(half)

        def fn(p):
            q = p.abs() - half
            return F.relu(q).norm(axis=-1) + paddle.clip(q.max(axis=-1), max=0.0)

        return Sdf(fn)

    @convert
    def trace(scene, origin, direction, steps=12, far=6.0, eps=1e-2):
        t = paddle.zeros([direction.shape[0]])
        alive = paddle.ones([direction.shape[0]], dtype="bool")
        used = 0
        while alive.any() and used < steps:
            d = scene(origin + t.unsqueeze(-1) * direction)
            t = paddle.where(alive, t + d, t)
            alive = alive & (d > eps) & (t < far)
            used += 1
        return t, t < far, used

    @convert
    def shade(scene, origin, direction, light, bounces=2):
        color = paddle.zeros([direction.shape[0]])
        weight = 1.0
        for bounce in range(bounces + 1):
            t, hit, _ = trace(scene, origin, direction)
            if not hit.any():
                break
            p = origin + t.unsqueeze(-1) * direction
            n = scene.normal(p)
            lambert = F.relu((n * light).sum(-1))
            color = color + weight * paddle.where(hit, lambert, paddle.zeros_like(lambert))
            direction = direction - 2 * (direction * n).sum(-1, keepdim=True) * n
            origin = p + 0.05 * n
            weight *= 0.5
        return color

    scenes = {
        "one": sphere([0.0, 0.0, 3.0], 1.0),
        "cut": box([0.8, 0.8, 0.8]) & ~sphere([0.0, 0.0, 0.0], 1.0),
        "blend": sphere([0.4, 0.0, 3.0], 0.6).blend(sphere([-0.4, 0.0, 3.0], 0.6)),
    }
    light = paddle.to_tensor([0.0, 0.6, -0.8])
    for name, n in (("one", 2), ("blend", 3), ("cut", 2), ("one", 3)):
        directions = F.normalize(
            paddle.to_tensor([[0.1 * k, 0.05 * k, 1.0] for k in range(n)]), axis=-1
        )
        origin = paddle.to_tensor([0.0, 0.0, -2.0 if name == "cut" else 0.0])
        yield trace(scenes[name], origin, directions)
        yield shade(scenes[name], origin, directions, light)
    yield shade(scenes["one"], origin, -directions, light, bounces=1)


@program
def quaternions_and_a_complementary_filter(convert):
    """Attitude by quaternions in a class, slerp, gimbal cases, a filter with rejected readings."""

    @dataclass(frozen=True, eq=False)
    class Quaternion:
        wxyz: paddle.Tensor

        @classmethod
        def from_axis_angle(cls, axis, angle):
            return cls(
                paddle.concat([paddle.cos(angle / 2).reshape([1]), paddle.sin(angle / 2) * axis])
            )

        @property
        def w(self):
            return self.wxyz[0]

        @property
        def vec(self):
            return self.wxyz[1:]

        def __mul__(self, other):
            if isinstance(other, Quaternion):
                w = self.w * other.w - (self.vec * other.vec).sum()
                v = (
                    self.w * other.vec
                    + other.w * self.vec
                    + paddle.cross(self.vec, other.vec, axis=0)
                )
                return Quaternion(paddle.concat([w.reshape([1]), v]))
            return Quaternion(self.wxyz * other)

        def conj(self):
            return Quaternion(self.wxyz * paddle.to_tensor([1.0, -1.0, -1.0, -1.0]))

        def rotate(self, v):
            pure = Quaternion(paddle.concat([paddle.zeros([1]), v]))
            return (self * pure * self.conj()).vec

        def normalised(self):
            q = self.wxyz / self.wxyz.norm()
            if q[0] < 0:
                q = -q
            return Quaternion(q)

        def slerp(self, other, t):
            dot = (self.wxyz * other.wxyz).sum()
            target = other.wxyz
            if dot < 0:
                dot, target = -dot, -target
            if dot > 0.9995:
                return Quaternion(self.wxyz + t * (target - self.wxyz)).normalised()
            theta = paddle.acos(dot)
            a, b = paddle.sin((1 - t) * theta), paddle.sin(t * theta)
            return Quaternion((a * self.wxyz + b * target) / paddle.sin(theta))

        def euler(self):
            w, x, y, z = self.wxyz
            s = 2 * (w * y - z * x)
            pitch = paddle.asin(s.clip(-1.0, 1.0))
            if s.abs() >= 0.999:
                return paddle.zeros([]), pitch, 2 * paddle.atan2(z, w)
            roll = paddle.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
            yaw = paddle.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
            return roll, pitch, yaw

    class Attitude:
        def __init__(self, gain=0.1):
            self.q = Quaternion(paddle.to_tensor([1.0, 0.0, 0.0, 0.0]))
            self.gain, self.rejected = gain, 0

        @convert
        def update(self, gyro, accel, dt=0.1):
            angle = gyro.norm() * dt
            q = self.q
            if angle > 1e-6:
                q = q * Quaternion.from_axis_angle(gyro / gyro.norm(), angle)
            g = accel.norm()
            if (g < 0.8) | (g > 1.2):
                self.rejected += 1
            else:
                seen = q.rotate(accel / g)
                axis = paddle.cross(seen, paddle.to_tensor([0.0, 0.0, 1.0]), axis=0)
                size = axis.norm()
                if size > 1e-4:
                    fix = Quaternion.from_axis_angle(
                        axis / size, self.gain * paddle.asin(size.clip(max=1.0))
                    )
                    q = fix * q
            self.q = q.normalised()
            return self.q.euler()

    @convert
    def path(a, b, steps):
        return paddle.stack([a.slerp(b, k / steps).wxyz for k in range(steps + 1)])

    attitude = Attitude()
    rng = np.random.RandomState(2)
    for k in range(5):
        gyro = paddle.to_tensor((rng.randn(3) * (k != 2)).astype("float32"))
        accel = paddle.to_tensor((np.array([0, 0.1, 1.0]) * (3 if k == 3 else 1)).astype("float32"))
        yield attitude.update(gyro, accel), attitude.rejected, attitude.q.wxyz
    x = paddle.to_tensor([1.0, 0.0, 0.0])
    one = Quaternion.from_axis_angle(x, paddle.to_tensor(0.1))
    for angle in (0.1001, 2.0, 6.0):
        yield path(one, Quaternion.from_axis_angle(x, paddle.to_tensor(angle)), 3)
    y = paddle.to_tensor([0.0, 1.0, 0.0])
    yield convert(Quaternion.euler)(Quaternion.from_axis_angle(y, paddle.to_tensor(math.pi / 2)))


@program
def streaming_separator_with_caches(convert):
    """Causal convolutions with buffers by name, overlap-add, a gate with hysteresis, a reset."""

    class CausalConv(nn.Layer):
        def __init__(self, n_in, n_out, kernel=3, dilation=1):
            super().__init__()
            self.conv = nn.Conv1D(n_in, n_out, kernel, dilation=dilation)
            self.pad = (kernel - 1) * dilation

        def forward(self, x, cache):
            if cache is None:
                cache = paddle.zeros([x.shape[0], x.shape[1], self.pad])
            x = paddle.concat([cache, x], axis=-1)
            return self.conv(x), x[:, :, -self.pad :]

    class Separator(nn.Layer):
        def __init__(self, channels=4, frame=4, hop=2):
            super().__init__()
            self.frame, self.hop = frame, hop
            self.blocks = nn.LayerList(
                [
                    CausalConv(frame if i == 0 else channels, channels, dilation=2**i)
                    for i in range(2)
                ]
            )
            self.mask = nn.Conv1D(channels, frame, 1)
            self.reset()

        def reset(self):
            self.caches = {i: None for i in range(len(self.blocks))}
            self.tail = paddle.zeros([self.frame - self.hop])
            self.open, self.held = False, 0

        def frames(self, samples):
            return paddle.signal.frame(samples, frame_length=self.frame, hop_length=self.hop)

        @convert
        def forward(self, samples, gate=0.05, hold=2):
            x = self.frames(samples).unsqueeze(0)
            h = x
            for i, block in enumerate(self.blocks):
                h, self.caches[i] = block(h, self.caches[i])
                h = F.relu(h)
            y = (F.sigmoid(self.mask(h)) * x).squeeze(0)
            out, tail = [], self.tail
            for k in range(y.shape[-1]):
                segment = y[:, k]
                level = segment.square().mean()
                if level > gate:
                    self.open, self.held = True, 0
                elif self.open:
                    self.held += 1
                    if self.held >= hold:
                        self.open = False
                if not self.open:
                    segment = segment * 0.1
                mixed = segment[: self.hop] + tail
                out.append(mixed)
                tail = segment[self.hop :]
            self.tail = tail
            return paddle.concat(out)

    paddle.seed(15)
    model = Separator()
    model.eval()
    rng = np.random.RandomState(4)
    with paddle.no_grad():
        for n, loud in ((8, 1.0), (8, 0.1), (12, 0.1), (8, 2.0)):
            samples = paddle.to_tensor((rng.randn(n) * loud).astype("float32"))
            yield model(samples), model.open, model.held, model.tail
        model.reset()
        yield model(samples), model(samples, gate=10.0), model.open


@program
def meta_gradients_and_hypergradients(convert):
    """Online cross-validation: rates per parameter by meta-gradients, weights of examples, MAML++."""

    def forward(params, x):
        h = F.relu(F.linear(x, params["w1"], params["b1"]))
        return F.linear(h, params["w2"])

    class MetaLearner:
        def __init__(self, dim=2, hidden=4):
            rng = np.random.RandomState(0)

            def leaf(*shape):
                t = paddle.to_tensor(rng.randn(*shape).astype("float32") * 0.5)
                t.stop_gradient = False
                return t

            self.params = {"w1": leaf(dim, hidden), "b1": leaf(hidden), "w2": leaf(hidden, 1)}
            self.log_rates = {k: paddle.full([], -2.0) for k in self.params}
            for rate in self.log_rates.values():
                rate.stop_gradient = False

        def adapt(self, x, y, steps, first_order=False):
            fast, losses = dict(self.params), []
            for _ in range(steps):
                loss = F.mse_loss(forward(fast, x), y)
                losses.append(loss)
                grads = paddle.grad(loss, list(fast.values()), create_graph=not first_order)
                fast = {
                    k: v - paddle.exp(self.log_rates[k]) * g
                    for (k, v), g in zip(fast.items(), grads)
                }
            return fast, losses

        @convert
        def meta_step(self, tasks, steps=2, first_order=False, rate=0.1):
            total = 0.0
            for (xs, ys), (xq, yq) in tasks:
                fast, inner = self.adapt(xs, ys, steps, first_order=first_order)
                query = F.mse_loss(forward(fast, xq), yq)
                if query > inner[0]:
                    query = query * 0.5
                total = total + query
            wanted = list(self.params.values()) + list(self.log_rates.values())
            grads = paddle.grad(total, wanted, allow_unused=True)
            return total / len(tasks), grads

        def apply(self, grads, rate=0.1):
            for store in (self.params, self.log_rates):
                for k, g in zip(list(store), grads):
                    new = (store[k] - rate * g).detach()
                    new.stop_gradient = False
                    store[k] = new
                grads = grads[len(store) :]

    @convert
    def example_weights(x, y, xv, yv, w, rate=0.5):
        eps = paddle.zeros([x.shape[0]])
        eps.stop_gradient = False
        w = w.detach()
        w.stop_gradient = False
        losses = F.mse_loss(x @ w, y, reduction="none").squeeze(-1)
        (g,) = paddle.grad((eps * losses).sum(), w, create_graph=True)
        val = F.mse_loss(xv @ (w - rate * g), yv)
        (ge,) = paddle.grad(val, eps)
        raw = F.relu(-ge)
        total = raw.sum()
        if total > 0:
            return raw / total
        return paddle.full_like(raw, 1.0 / raw.shape[0])

    rng = np.random.RandomState(8)

    def data(n, slope):
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        return x, x.sum(axis=1, keepdim=True) * slope

    learner = MetaLearner()
    for k, first_order in enumerate((False, True, False)):
        tasks = [(data(4, s), data(3, s)) for s in (1.0, -0.5)[: 1 + k % 2]]
        loss, grads = learner.meta_step(tasks, steps=1 + k % 2, first_order=first_order)
        learner.apply(grads)
        yield loss, grads
    yield learner.params, learner.log_rates
    for n in (3, 5):
        x, y = data(n, 1.0)
        y[0] = y[0] + 5.0
        yield example_weights(x, y, *data(3, 1.0), paddle.zeros([2, 1]))
