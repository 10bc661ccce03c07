"""Simulation, reinforcement learning, graphs, streams and quantisation."""

import random
from collections import defaultdict, deque, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def go_back(result):
    """backward() from what has a gradient among the results."""
    parts = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, tuple)
        else [result]
    )
    parts = [p for p in parts if isinstance(p, paddle.Tensor) and not p.stop_gradient]
    if parts:
        sum((p * (i + 1)).sum() for i, p in enumerate(parts)).backward()


# policy gradient on a corridor
class Action(Enum):
    LEFT = 0
    RIGHT = 1


class Corridor:
    def __init__(self, length=5, limit=10):
        self.length = length
        self.limit = limit

    def reset(self):
        self.pos, self.t = 1, 0
        return self.observe()

    def observe(self):
        obs = paddle.zeros([self.length])
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.t += 1
        self.pos += 1 if action is Action.RIGHT else -1
        self.pos = max(self.pos, 0)
        done = self.pos == self.length - 1 or self.t >= self.limit
        reward = 1.0 if self.pos == self.length - 1 else -0.05
        return self.observe() if self.pos < self.length else None, reward, done


Transition = namedtuple("Transition", ["logp", "reward", "entropy"])


class Reinforce:
    def __init__(self, env, policy, gamma=0.9, seed=0):
        self.env, self.policy, self.gamma = env, policy, gamma
        self.opt = paddle.optimizer.Adam(0.05, parameters=policy.parameters())
        self.rng = random.Random(seed)
        self.baseline = None

    def rollout(self):
        episode = []
        obs, done = self.env.reset(), False
        while not done:
            logits = self.policy(obs)
            logp = F.log_softmax(logits)
            p_right = float(logp[1].exp())
            action = Action.RIGHT if self.rng.random() < p_right else Action.LEFT
            obs, reward, done = self.env.step(action)
            episode.append(Transition(logp[action.value], reward, -(logp.exp() * logp).sum()))
        return episode

    def train(self, episodes=2, entropy_weight=0.01):
        lengths = []
        for ep in range(episodes):
            episode = self.rollout()
            returns, g = [], 0.0
            for tr in reversed(episode):
                g = tr.reward + self.gamma * g
                returns.insert(0, g)
            self.baseline = (
                returns[0] if self.baseline is None else 0.8 * self.baseline + 0.2 * returns[0]
            )
            loss = paddle.zeros([])
            for tr, r in zip(episode, returns):
                loss = loss - tr.logp * (r - self.baseline) - entropy_weight * tr.entropy
            loss.backward()
            self.opt.step()
            self.opt.clear_grad()
            lengths.append(len(episode))
            print(f"episode {ep}: {len(episode)} steps, return {returns[0]:.3f}")
        return lengths, loss.detach()


def calls_reinforce():
    return [((), {}), ((3,), {}), ((1,), {"entropy_weight": 0.1})]


@program
def corridor_with_a_policy(convert):
    """A policy gradient over episodes of a small corridor, with a baseline."""
    paddle.seed(60)
    agent = Reinforce(Corridor(), nn.Linear(5, 2), seed=1)
    run = convert(agent.train)
    for args, kw in calls_reinforce():
        yield attempt(lambda: run(*args, **kw)), agent.policy, agent.baseline


# DQN with a replay buffer and a target network
Experience = namedtuple("Experience", "s a r s2 done")


class ReplayBuffer:
    def __init__(self, capacity=8, seed=0):
        self.data = deque(maxlen=capacity)
        self.rng = random.Random(seed)

    def push(self, *args):
        self.data.append(Experience(*args))

    def sample(self, n):
        batch = Experience(*zip(*self.rng.sample(list(self.data), n)))
        return (
            paddle.stack(batch.s),
            paddle.to_tensor(batch.a),
            paddle.to_tensor(batch.r, dtype="float32"),
            paddle.stack(batch.s2),
            paddle.to_tensor(batch.done, dtype="float32"),
        )

    def __len__(self):
        return len(self.data)


class DQNAgent:
    def __init__(self, n_states=3, n_actions=2, batch=4, sync=3):
        self.q = nn.Sequential(nn.Linear(n_states, 8), nn.ReLU(), nn.Linear(8, n_actions))
        self.target = nn.Sequential(nn.Linear(n_states, 8), nn.ReLU(), nn.Linear(8, n_actions))
        self.target.set_state_dict(self.q.state_dict())
        self.opt = paddle.optimizer.RMSProp(0.01, parameters=self.q.parameters())
        self.buffer = ReplayBuffer()
        self.batch, self.sync = batch, sync
        self.learned = 0
        self.epsilon = 1.0
        self.rng = random.Random(9)

    def act(self, s):
        if self.rng.random() < self.epsilon:
            return self.rng.randrange(2)
        with paddle.no_grad():
            return int(self.q(s).argmax())

    def learn(self):
        if len(self.buffer) < self.batch:
            return None
        s, a, r, s2, done = self.buffer.sample(self.batch)
        q = paddle.take_along_axis(self.q(s), a.unsqueeze(1), axis=1).squeeze(1)
        with paddle.no_grad():
            goal = r + 0.9 * self.target(s2).max(axis=1) * (1 - done)
        loss = F.smooth_l1_loss(q, goal)
        loss.backward()
        self.opt.step()
        self.opt.clear_grad()
        self.learned += 1
        if self.learned % self.sync == 0:
            self.target.set_state_dict(self.q.state_dict())
        return loss.item()

    def observe(self, states, rewards):
        losses = []
        for i in range(len(states) - 1):
            a = self.act(states[i])
            self.buffer.push(
                states[i],
                a,
                float(rewards[i]) * (1 if a else -1),
                states[i + 1],
                i == len(states) - 2,
            )
            loss = self.learn()
            if loss is not None:
                losses.append(loss)
        self.epsilon = max(0.1, self.epsilon * 0.5)
        return losses


def calls_dqn():
    rng = np.random.RandomState(61)
    return [
        ((paddle.to_tensor(rng.randn(n, 3).astype("float32")), rng.rand(n).tolist()), {})
        for n in (4, 6, 6)
    ]


@program
def replay_with_a_target_network(convert):
    """Q-learning from a replay buffer, with a target network that is synchronised."""
    paddle.seed(61)
    agent = DQNAgent()
    run = convert(agent.observe)
    for args, kw in calls_dqn():
        yield (
            attempt(lambda: run(*args, **kw)),
            agent.q,
            agent.target,
            agent.learned,
            agent.epsilon,
            agent.buffer.data,
        )


# message passing on a graph
class GraphSAGE(nn.Layer):
    def __init__(self, dims=(4, 6, 3), aggregate="mean"):
        super().__init__()
        self.self_fc = nn.LayerList([nn.Linear(a, b) for a, b in zip(dims, dims[1:])])
        self.neigh_fc = nn.LayerList(
            [nn.Linear(a, b, bias_attr=False) for a, b in zip(dims, dims[1:])]
        )
        self.aggregate = aggregate

    def neighbours(self, edges, n):
        adj = defaultdict(list)
        for u, v in edges:
            adj[v].append(u)
            adj[u].append(v)
        return [sorted(set(adj[i])) for i in range(n)]

    def pool(self, h, nbrs):
        rows = []
        for i, idx in enumerate(nbrs):
            if not idx:
                rows.append(paddle.zeros_like(h[i]))
                continue
            block = h[paddle.to_tensor(idx)]
            if self.aggregate == "max":
                rows.append(block.max(axis=0))
            elif self.aggregate == "mean":
                rows.append(block.mean(axis=0))
            else:
                raise NotImplementedError(self.aggregate)
        return paddle.stack(rows)

    def forward(self, x, edges, labels=None):
        nbrs = self.neighbours(edges, x.shape[0])
        h = x
        for depth, (a, b) in enumerate(zip(self.self_fc, self.neigh_fc)):
            h = a(h) + b(self.pool(h, nbrs))
            if depth < len(self.self_fc) - 1:
                h = F.relu(h)
                h = h / h.norm(axis=1, keepdim=True).clip(min=1e-6)
        if labels is None:
            return h
        known = labels >= 0
        if not known.any():
            return h, paddle.zeros([])
        loss = F.cross_entropy(h[known], labels[known])
        return h, loss


def calls_sage():
    rng = np.random.RandomState(62)

    def x(n):
        t = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        t.stop_gradient = False
        return t

    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    return [
        ((x(4), ring), {}),
        ((x(5), ring), {"labels": paddle.to_tensor([0, -1, 2, 1, -1])}),
        ((x(4), ring[:2]), {"labels": paddle.to_tensor([-1, -1, -1, -1])}),
        ((x(5), [(0, 4)]), {"labels": paddle.to_tensor([1, 1, 0, -1, 2])}),
    ]


@program
def neighbours_pooled_by_index(convert):
    """Message passing over lists of neighbours, and a loss over the nodes whose labels are known."""
    paddle.seed(62)
    model = GraphSAGE()
    run = convert(model)
    for args, kw in calls_sage():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw, [p.grad for p in model.parameters()]


# streaming statistics and drift alarms
class Welford:
    def __init__(self, dim):
        self.n = 0
        self.mean = paddle.zeros([dim])
        self.m2 = paddle.zeros([dim])

    def add(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    @property
    def std(self):
        if self.n < 2:
            return paddle.ones_like(self.m2)
        return paddle.sqrt(self.m2 / (self.n - 1))


class DriftMonitor:
    def __init__(self, dim=2, warmup=4, threshold=3.0, window=3):
        self.stats = Welford(dim)
        self.warmup = warmup
        self.threshold = threshold
        self.recent = deque(maxlen=window)
        self.alarms = []
        self.seen = 0

    def check(self, x):
        z = (x - self.stats.mean).abs() / (self.stats.std + 1e-6)
        worst = int(z.argmax())
        score = z[worst].item()
        self.recent.append(score)
        if score > self.threshold:
            return worst, score
        if len(self.recent) == self.recent.maxlen and min(self.recent) > self.threshold / 2:
            return worst, sum(self.recent) / len(self.recent)
        return None

    def consume(self, batch, label=""):
        raised = 0
        for x in batch:
            self.seen += 1
            if self.stats.n >= self.warmup:
                alarm = self.check(x)
                if alarm is not None:
                    column, score = alarm
                    self.alarms.append((self.seen, column))
                    raised += 1
                    print(f"[{label or 'stream'}] #{self.seen} column {column}: {score:.1f} sigma")
                    continue
            self.stats.add(x)
        return self.stats.mean.clone(), self.stats.std, raised


def calls_drift():
    rng = np.random.RandomState(63)

    def batch(n, jump=None):
        x = rng.randn(n, 2).astype("float32")
        if jump is not None:
            x[jump:, 1] += 6
        return paddle.to_tensor(x)

    return [
        ((batch(5),), {}),
        ((batch(4),), {"label": "day 2"}),
        ((batch(5, jump=3),), {"label": "day 3"}),
        ((batch(3, jump=0),), {}),
    ]


@program
def alarms_on_a_stream(convert):
    """Mean and deviation of a stream, kept over calls; alarms for what is far off."""
    monitor = DriftMonitor()
    run = convert(monitor.consume)
    for args, kw in calls_drift():
        yield (
            attempt(lambda: run(*args, **kw)),
            monitor.stats,
            monitor.alarms,
            monitor.recent,
            monitor.seen,
        )


# calibration and fake quantisation
class Scheme(Enum):
    SYMMETRIC = auto()
    AFFINE = auto()


class Observer:
    def __init__(self, scheme, bits=8, percentile=100.0):
        self.scheme, self.bits, self.percentile = scheme, bits, percentile
        self.low = self.high = None

    def observe(self, x):
        values = np.sort(x.numpy().ravel())
        k = max(0, int(len(values) * (1 - self.percentile / 100) / 2))
        low, high = float(values[k]), float(values[-1 - k])
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)

    @property
    def qparams(self):
        if self.scheme is Scheme.SYMMETRIC:
            bound = max(abs(self.low), abs(self.high), 1e-8)
            return bound / (2 ** (self.bits - 1) - 1), 0
        scale = max(self.high - self.low, 1e-8) / (2**self.bits - 1)
        return scale, int(round(-self.low / scale))

    def quantise(self, x):
        scale, zero = self.qparams
        lo, hi = (
            (-(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)
            if zero == 0
            else (0, 2**self.bits - 1)
        )
        q = (paddle.round(x / scale) + zero).clip(lo, hi)
        y = (q - zero) * scale
        return x + (y - x).detach()


class QuantLinear(nn.Layer):
    def __init__(self, linear, bits=4, calibrate=2):
        super().__init__()
        self.linear = linear
        self.input_obs = Observer(Scheme.AFFINE, bits, percentile=95.0)
        self.weight_obs = Observer(Scheme.SYMMETRIC, bits)
        self.remaining = calibrate

    @contextmanager
    def frozen(self):
        was = self.linear.weight.stop_gradient
        self.linear.weight.stop_gradient = True
        try:
            yield
        finally:
            self.linear.weight.stop_gradient = was

    def forward(self, x, report=False):
        if self.remaining > 0:
            self.remaining -= 1
            with paddle.no_grad():
                self.input_obs.observe(x)
                self.weight_obs.observe(self.linear.weight)
            return self.linear(x)
        w = self.weight_obs.quantise(self.linear.weight)
        y = F.linear(self.input_obs.quantise(x), w, self.linear.bias)
        if report:
            with self.frozen(), paddle.no_grad():
                ref = self.linear(x)
                noise = (ref - y).square().mean()
                sqnr = 10 * paddle.log10(ref.square().mean() / noise.clip(min=1e-12))
            print(f"SQNR {sqnr.item():.1f} dB, scale {self.input_obs.qparams[0]:.4f}")
        return y


def calls_quant():
    rng = np.random.RandomState(64)

    def x(n):
        t = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        t.stop_gradient = False
        return t

    return [((x(6),), {}), ((x(6),), {}), ((x(3),), {"report": True}), ((x(6),), {})]


@program
def linear_layer_with_observers(convert):
    """A layer that observes ranges on its first calls and rounds to a few bits on later ones."""
    paddle.seed(64)
    model = QuantLinear(nn.Linear(4, 3))
    run = convert(model)
    for args, kw in calls_quant():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield (
            result,
            args,
            kw,
            model.remaining,
            model.input_obs,
            model.weight_obs,
            [p.grad for p in model.parameters()],
        )


# inventory simulation with a reorder policy
class OutOfStock(Exception):
    def __init__(self, item, missing):
        super().__init__(f"{item}: {missing:g} short")
        self.item = item
        self.missing = missing


@dataclass
class Item:
    name: str
    stock: float
    reorder: float
    lot: float
    lead: int = 2

    def take(self, amount):
        if amount > self.stock:
            missing = amount - self.stock
            self.stock = 0.0
            raise OutOfStock(self.name, missing)
        self.stock -= amount


class Warehouse:
    def __init__(self, items):
        self.items = {i.name: i for i in items}
        self.orders = []
        self.day = 0
        self.lost = defaultdict(float)

    def receive(self):
        arrived = [o for o in self.orders if o[0] <= self.day]
        self.orders = [o for o in self.orders if o[0] > self.day]
        for _, name, amount in arrived:
            self.items[name].stock += amount

    def pending(self, name):
        return sum(amount for _, n, amount in self.orders if n == name)

    def simulate(self, demand, strict=False, price=None):
        cost = paddle.zeros([])
        for row in demand:
            self.day += 1
            self.receive()
            for item, d in zip(self.items.values(), row):
                try:
                    item.take(float(d))
                except OutOfStock as e:
                    if strict:
                        raise
                    self.lost[e.item] += e.missing
                    cost = cost + 5.0 * e.missing
                if item.stock + self.pending(item.name) < item.reorder:
                    self.orders.append((self.day + item.lead, item.name, item.lot))
                    cost = cost + (1.0 if price is None else price[item.name])
            cost = cost + 0.1 * sum(i.stock for i in self.items.values())
        service = 1 - sum(self.lost.values()) / max(float(demand.sum()), 1.0)
        print(f"day {self.day}: cost {cost.item():.2f}, lost {dict(self.lost)}")
        return cost, service


def calls_inventory():
    rng = np.random.RandomState(65)

    def demand(n, rate):
        return paddle.to_tensor(rng.poisson(rate, (n, 2)).astype("float32"))

    return [
        ((demand(4, 2.0),), {}),
        ((demand(4, 4.0),), {"price": {"bolt": 2.0, "nut": 0.5}}),
        ((demand(4, 6.0),), {"strict": True}),
        ((demand(2, 2.0),), {}),
    ]


@program
def stock_with_reorders(convert):
    """A warehouse over days: demand, orders on their way, what is short, an exception when asked for."""
    store = Warehouse([Item("bolt", 10.0, 6.0, 12.0), Item("nut", 4.0, 3.0, 5.0, lead=1)])
    run = convert(store.simulate)
    for args, kw in calls_inventory():
        yield (
            attempt(lambda: run(*args, **kw)),
            list(store.items.values()),
            store.orders,
            store.day,
            store.lost,
        )
