"""Simulations with queues, replay memories, graphs, experts, halting, observers."""

import abc
import functools
import heapq
import itertools
import logging
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

logger = logging.getLogger("agents")


@program
def service_desk_with_priorities(convert):
    """A discrete-event simulation: arrivals, a bounded queue by priority, servers, balking."""

    @dataclass(order=True)
    class Event:
        time: float
        serial: int
        kind: str = field(compare=False)
        who: int = field(compare=False, default=-1)

    @dataclass
    class Desk:
        servers: int
        capacity: int
        busy: int = 0
        waiting: List[Tuple[int, float, int]] = field(default_factory=list)
        balked: int = 0
        waits: List[Any] = field(default_factory=list)

    class Simulation:
        def __init__(self, desk):
            self.desk = desk
            self.serial = itertools.count()
            self.events: List[Event] = []

        def schedule(self, time, kind, who):
            heapq.heappush(self.events, Event(time, next(self.serial), kind, who))

        @convert
        def run(self, arrivals, service, priority, until=None):
            times = arrivals.cumsum()
            for i in range(times.shape[0]):
                self.schedule(float(times[i]), "arrive", i)
            desk = self.desk
            idle = paddle.zeros([])
            previous = 0.0
            while self.events:
                event = heapq.heappop(self.events)
                if until is not None and event.time > until:
                    break
                idle = idle + (desk.servers - desk.busy) * (event.time - previous)
                previous = event.time
                if event.kind == "arrive":
                    if desk.busy < desk.servers:
                        desk.busy += 1
                        desk.waits.append(paddle.zeros([]))
                        self.schedule(event.time + float(service[event.who]), "leave", event.who)
                    elif len(desk.waiting) < desk.capacity:
                        heapq.heappush(
                            desk.waiting, (-int(priority[event.who]), event.time, event.who)
                        )
                    else:
                        desk.balked += 1
                else:
                    if desk.waiting:
                        _, since, who = heapq.heappop(desk.waiting)
                        desk.waits.append(paddle.to_tensor(event.time - since))
                        self.schedule(event.time + float(service[who]), "leave", who)
                    else:
                        desk.busy -= 1
            waits = paddle.stack(desk.waits) if desk.waits else paddle.zeros([0])
            return waits.mean(), waits.max(), idle / max(previous, 1e-9)

    rng = np.random.RandomState(14)
    for n, servers, capacity, until in [(8, 1, 2, None), (10, 2, 3, None), (8, 1, 5, 4.0)]:
        simulation = Simulation(Desk(servers, capacity))
        yield simulation.run(
            paddle.to_tensor(rng.exponential(0.5, n).astype("float32")),
            paddle.to_tensor(rng.exponential(0.9, n).astype("float32")),
            paddle.to_tensor(rng.randint(0, 3, n)),
            until=until,
        )
        yield simulation.desk.balked, simulation.desk.busy, len(simulation.desk.waiting)


@program
def fluid_queues_in_tandem(convert):
    """Queues in time steps, all tensors: a router that looks at lengths, a token bucket, drops."""

    class TokenBucket:
        def __init__(self, rate, burst):
            self.rate, self.burst = rate, burst
            self.tokens = paddle.to_tensor(float(burst))

        def take(self, wanted):
            self.tokens = paddle.minimum(
                self.tokens + self.rate, paddle.to_tensor(float(self.burst))
            )
            granted = paddle.minimum(wanted, self.tokens)
            self.tokens = self.tokens - granted
            return granted

    class Network:
        def __init__(self, queues=3, limit=4.0):
            self.lengths = [paddle.zeros([]) for _ in range(queues)]
            self.limit = limit
            self.dropped = paddle.zeros([])
            self.policy = "shortest"
            self.turn = 0
            self.bucket = TokenBucket(1.5, 3)

        def route(self):
            if self.policy == "round_robin":
                self.turn = (self.turn + 1) % len(self.lengths)
                return self.turn
            best = 0
            for i, length in enumerate(self.lengths):
                if length < self.lengths[best]:
                    best = i
            return best

        @convert
        def simulate(self, demand, capacity):
            history = []
            for t in range(demand.shape[0]):
                inflow = self.bucket.take(demand[t])
                target = self.route()
                self.lengths[target] = self.lengths[target] + inflow
                if self.lengths[target] > self.limit:
                    self.dropped = self.dropped + self.lengths[target] - self.limit
                    self.lengths[target] = paddle.full([], self.limit)
                served = []
                for i in range(len(self.lengths)):
                    out = paddle.minimum(self.lengths[i], capacity[i])
                    self.lengths[i] -= out
                    served.append(out)
                history.append(paddle.stack(served).sum())
                if sum(self.lengths) > 0.8 * self.limit * len(self.lengths):
                    self.policy = "round_robin"
            return paddle.stack(history), self.dropped

    network = Network()
    rng = np.random.RandomState(15)
    for n in (4, 6, 5):
        demand = paddle.to_tensor(rng.exponential(2.0, n).astype("float32"))
        capacity = paddle.to_tensor(rng.rand(3).astype("float32") * 0.4)
        yield network.simulate(demand, capacity)
        yield network.lengths, network.policy, network.turn, network.bucket.tokens


@program
def prioritized_replay_for_n_step_q(convert):
    """A sum tree, importance weights, n-step returns, a double DQN with a soft target."""

    class Transition(NamedTuple):
        state: Any
        action: int
        reward: float
        next_state: Any
        done: bool

    class SumTree:
        def __init__(self, capacity):
            self.capacity = capacity
            self.nodes = paddle.zeros([2 * capacity - 1])

        @property
        def total(self):
            return self.nodes[0]

        def update(self, index, priority):
            node = index + self.capacity - 1
            change = priority - self.nodes[node]
            self.nodes[node] = priority
            while node > 0:
                node = (node - 1) // 2
                self.nodes[node] = self.nodes[node] + change

        def find(self, mass):
            node = 0
            while node < self.capacity - 1:
                left = 2 * node + 1
                if mass <= self.nodes[left]:
                    node = left
                else:
                    mass = mass - self.nodes[left]
                    node = left + 1
            return node - self.capacity + 1

    class Replay:
        def __init__(self, capacity=8, alpha=0.6, n=2, gamma=0.9):
            self.tree = SumTree(capacity)
            self.data: List[Optional[Transition]] = [None] * capacity
            self.position, self.size = 0, 0
            self.alpha, self.n, self.gamma = alpha, n, gamma
            self.pending: Deque[Transition] = deque(maxlen=n)
            self.highest = paddle.to_tensor(1.0)

        def push(self, transition):
            self.pending.append(transition)
            if len(self.pending) < self.n and not transition.done:
                return
            first = self.pending[0]
            reward, last = 0.0, first
            for k, item in enumerate(self.pending):
                reward += self.gamma**k * item.reward
                last = item
                if item.done:
                    break
            merged = first._replace(reward=reward, next_state=last.next_state, done=last.done)
            self.data[self.position] = merged
            self.tree.update(self.position, self.highest**self.alpha)
            self.position = (self.position + 1) % len(self.data)
            self.size = min(self.size + 1, len(self.data))
            if transition.done:
                self.pending.clear()

    replay = Replay()
    paddle.seed(43)
    online, target = nn.Linear(3, 2), nn.Linear(3, 2)
    target.set_state_dict(online.state_dict())
    optimizer = paddle.optimizer.Adam(0.05, parameters=online.parameters())

    @convert
    def learn(uniforms, beta=0.4, tau=0.1):
        n = uniforms.shape[0]
        segment = replay.tree.total / n
        chosen = [int(replay.tree.find((i + u) * segment)) for i, u in enumerate(uniforms)]
        batch = [replay.data[i] for i in chosen]
        states, actions, rewards, next_states, dones = map(list, zip(*batch))
        states, next_states = paddle.stack(states), paddle.stack(next_states)
        rewards = paddle.to_tensor(rewards)
        alive = 1 - paddle.to_tensor(dones, dtype="float32")
        leaves = paddle.stack([replay.tree.nodes[i + replay.tree.capacity - 1] for i in chosen])
        weights = (replay.size * leaves / replay.tree.total) ** -beta
        weights = weights / weights.max()
        with paddle.no_grad():
            best = online(next_states).argmax(-1, keepdim=True)
            future = paddle.take_along_axis(target(next_states), best, axis=1).squeeze(1)
            goal = rewards + replay.gamma**replay.n * alive * future
        q = online(states)[paddle.arange(n), paddle.to_tensor(actions)]
        error = goal - q
        loss = (weights * F.smooth_l1_loss(q, goal, reduction="none")).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        for i, e in zip(chosen, error.detach().abs()):
            replay.tree.update(i, (e + 1e-3) ** replay.alpha)
            if e > replay.highest:
                replay.highest = e
        for p, t in zip(online.parameters(), target.parameters()):
            t.set_value(tau * p + (1 - tau) * t)
        return loss, error, chosen

    rng = np.random.RandomState(16)
    state = paddle.to_tensor(rng.randn(3).astype("float32"))
    for step in range(12):
        nxt = paddle.to_tensor(rng.randn(3).astype("float32"))
        done = step in (4, 9)
        replay.push(Transition(state, int(rng.randint(2)), float(rng.randn()), nxt, done))
        state = nxt
        if step >= 3 and step % 3 == 0:
            yield learn(paddle.to_tensor(rng.rand(2 + step // 6).astype("float32")))
            yield replay.tree.nodes, replay.highest, replay.position, replay.size
    yield list(target.parameters())


@program
def advantages_over_ragged_rollouts(convert):
    """GAE, V-trace and n-step returns over rollouts that end at their own time, by a switch."""

    class Estimator(abc.ABC):
        name: str

        @abc.abstractmethod
        def __call__(self, rewards, values, dones, last, **extra): ...

        @classmethod
        def create(cls, name, **kwargs):
            for sub in cls.__subclasses__():
                if sub.name == name:
                    return sub(**kwargs)
            raise KeyError(name)

    @dataclass
    class GAE(Estimator):
        gamma: float = 0.9
        lam: float = 0.95
        name = "gae"

        def __call__(self, rewards, values, dones, last, **extra):
            out, running = [], paddle.zeros_like(last)
            following = last
            for t in range(rewards.shape[0] - 1, -1, -1):
                alive = 1.0 - dones[t]
                delta = rewards[t] + self.gamma * following * alive - values[t]
                running = delta + self.gamma * self.lam * alive * running
                following = values[t]
                out.insert(0, running)
            adv = paddle.stack(out)
            return adv, adv + values

    @dataclass
    class NStep(Estimator):
        gamma: float = 0.9
        n: int = 2
        name = "nstep"

        def __call__(self, rewards, values, dones, last, **extra):
            steps = rewards.shape[0]
            extended = paddle.concat([values, last.unsqueeze(0)])
            returns = []
            for t in range(steps):
                total, discount = paddle.zeros_like(last), paddle.ones_like(last)
                end = min(t + self.n, steps)
                for k in range(t, end):
                    total = total + discount * rewards[k]
                    discount = discount * self.gamma * (1.0 - dones[k])
                returns.append(total + discount * extended[end])
            returns = paddle.stack(returns)
            return returns - values, returns

    @dataclass
    class VTrace(Estimator):
        gamma: float = 0.9
        rho_bar: float = 1.0
        name = "vtrace"

        def __call__(self, rewards, values, dones, last, *, log_ratio=None):
            rho = log_ratio.exp().clip(max=self.rho_bar) if log_ratio is not None else 1.0
            extended = paddle.concat([values[1:], last.unsqueeze(0)])
            discounts = self.gamma * (1.0 - dones)
            deltas = rho * (rewards + discounts * extended - values)
            acc = paddle.zeros_like(last)
            vs = []
            for t in reversed(range(rewards.shape[0])):
                c = rho[t] if log_ratio is not None else 1.0
                acc = deltas[t] + discounts[t] * c * acc
                vs.append(acc)
            vs.reverse()
            vs = paddle.stack(vs) + values
            return vs - values, vs

    @convert
    def policy_loss(estimator, rewards, values, dones, last, logp, normalise=True, **extra):
        with paddle.no_grad():
            adv, returns = estimator(rewards, values, dones, last, **extra)
            if normalise and adv.std() > 1e-6:
                adv = (adv - adv.mean()) / adv.std()
        actor = -(adv * logp).mean()
        critic = F.mse_loss(values, returns)
        return actor + 0.5 * critic, returns

    rng = np.random.RandomState(17)
    for name, t, kwargs in [
        ("gae", 4, {}),
        ("nstep", 5, {"n": 3}),
        ("vtrace", 4, {}),
        ("gae", 6, {"lam": 0.5}),
    ]:
        arrays = rng.randn(4, t, 2).astype("float32")
        rewards, logp, ratio = (paddle.to_tensor(a) for a in arrays[:3])
        values = paddle.to_tensor(arrays[3], stop_gradient=False)
        logp.stop_gradient = False
        dones = paddle.to_tensor((rng.rand(t, 2) < 0.25).astype("float32"))
        extra = {"log_ratio": ratio} if name == "vtrace" else {}
        estimator = Estimator.create(name, **kwargs)
        loss, returns = policy_loss(
            estimator, rewards, values, dones, paddle.zeros([2]), logp, **extra
        )
        loss.backward()
        yield loss, returns, values.grad, logp.grad
    yield attempt(lambda: Estimator.create("td"))


@program
def messages_until_nothing_changes(convert):
    """A GNN with a registry of aggregators, attention over edges, edge dropping, early fixpoints."""

    AGGREGATORS = {}

    def aggregator(function):
        AGGREGATORS[function.__name__] = function
        return function

    @aggregator
    def add(messages, target, n):
        return paddle.zeros([n, messages.shape[1]]).index_add(target, 0, messages)

    @aggregator
    def mean(messages, target, n):
        degree = paddle.bincount(target, minlength=n).astype("float32").clip(min=1)
        return add(messages, target, n) / degree.unsqueeze(1)

    @aggregator
    def maximum(messages, target, n):
        rows = []
        for i in range(n):
            mine = messages[target == i]
            rows.append(mine.max(0) if mine.shape[0] else paddle.zeros([messages.shape[1]]))
        return paddle.stack(rows)

    class Graph(NamedTuple):
        nodes: paddle.Tensor
        source: paddle.Tensor
        target: paddle.Tensor

        @property
        def n(self):
            return self.nodes.shape[0]

        def with_self_loops(self):
            loop = paddle.arange(self.n)
            return self._replace(
                source=paddle.concat([self.source, loop]), target=paddle.concat([self.target, loop])
            )

    class GraphAttention(nn.Layer):
        def __init__(self, dim, aggregate):
            super().__init__()
            self.w = nn.Linear(dim, dim, bias_attr=False)
            self.a = nn.Linear(2 * dim, 1)
            self.aggregate = AGGREGATORS[aggregate]

        def forward(self, g):
            h = self.w(g.nodes)
            pair = paddle.concat([h[g.source], h[g.target]], axis=-1)
            e = F.leaky_relu(self.a(pair).squeeze(-1), 0.2)
            e = (e - e.max()).exp()
            total = paddle.zeros([g.n]).index_add(g.target, 0, e)
            alpha = e / total[g.target]
            return self.aggregate(h[g.source] * alpha.unsqueeze(-1), g.target, g.n), alpha

    class Propagate(nn.Layer):
        def __init__(self, dim=4, aggregate="add", most=5, tolerance=0.05):
            super().__init__()
            self.layer = GraphAttention(dim, aggregate)
            self.most, self.tolerance = most, tolerance

        @convert
        def forward(self, graph, keep=None):
            if keep is not None:
                graph = graph._replace(source=graph.source[keep], target=graph.target[keep])
            graph = graph.with_self_loops()
            start = graph.nodes
            rounds = 0
            while rounds < self.most:
                new, alpha = self.layer(graph)
                new = 0.5 * start + 0.5 * paddle.tanh(new)
                change = (new - graph.nodes).abs().max()
                graph = graph._replace(nodes=new)
                rounds += 1
                if change < self.tolerance:
                    break
            return graph.nodes.mean(0), rounds, alpha.max()

    rng = np.random.RandomState(18)
    for name, n, m, drop in [("add", 4, 6, False), ("mean", 5, 8, True), ("maximum", 4, 7, False)]:
        paddle.seed(47)
        model = Propagate(aggregate=name)
        for extra in (0, 1):
            graph = Graph(
                paddle.to_tensor(rng.randn(n + extra, 4).astype("float32")),
                *(paddle.to_tensor(rng.randint(0, n, m)) for _ in range(2)),
            )
            keep = paddle.to_tensor(rng.rand(m) < 0.7) if drop else None
            out, rounds, peak = model(graph, keep=keep)
            yield out, rounds, peak
            out.sum().backward()
            yield model.layer.w.weight.grad
            model.clear_gradients()


@program
def experts_with_capacity(convert):
    """A sparse mixture of experts: top-k gates, a capacity, overflow to a shared expert, balance."""

    @dataclass
    class RouterStats:
        load: paddle.Tensor
        dropped: int = 0
        calls: int = 0

    class Expert(nn.Layer):
        def __init__(self, dim, hidden, act):
            super().__init__()
            self.up, self.down, self.act = nn.Linear(dim, hidden), nn.Linear(hidden, dim), act

        def forward(self, x):
            return self.down(self.act(self.up(x)))

    class MoE(nn.Layer):
        def __init__(self, dim=4, experts=3, k=2, factor=1.0):
            super().__init__()
            acts = itertools.cycle([F.relu, F.gelu])
            self.gate = nn.Linear(dim, experts, bias_attr=False)
            self.experts = nn.LayerList(Expert(dim, 6, next(acts)) for _ in range(experts))
            self.shared = nn.Linear(dim, dim)
            self.k, self.factor = k, factor
            self.bias = paddle.zeros([experts])
            self.stats = RouterStats(paddle.zeros([experts]))

        def forward(self, x):
            shape = x.shape
            x = x.reshape([-1, shape[-1]])
            n = x.shape[0]
            probs = F.softmax(self.gate(x))
            _, chosen = (probs + self.bias).topk(self.k)
            weights = paddle.take_along_axis(probs, chosen, axis=1)
            weights = weights / weights.sum(1, keepdim=True)
            capacity = math.ceil(self.factor * n * self.k / len(self.experts))
            out = paddle.zeros_like(x)
            left_over = paddle.zeros([n])
            for e, expert in enumerate(self.experts):
                token, slot = paddle.where(chosen == e)
                token, slot = token.flatten(), slot.flatten()
                self.stats.load[e] += token.shape[0]
                if len(token) == 0:
                    continue
                if len(token) > capacity:
                    w = weights[token, slot]
                    order = w.argsort(descending=True)
                    lost = token[order[capacity:]]
                    left_over[lost] = 1.0
                    self.stats.dropped += len(lost)
                    token, slot = token[order[:capacity]], slot[order[:capacity]]
                y = expert(x[token]) * weights[token, slot].unsqueeze(1)
                out = paddle.scatter_nd_add(out, token.unsqueeze(1), y)
            out = out + left_over.unsqueeze(1) * self.shared(x)
            self.stats.calls += 1
            fraction = F.one_hot(chosen, len(self.experts)).sum([0, 1]) / (n * self.k)
            balance = len(self.experts) * (fraction * probs.mean(0)).sum()
            if self.training:
                self.bias = self.bias + 0.01 * (fraction.mean() - fraction).sign()
            return out.reshape(shape), balance

    paddle.seed(53)
    moe = convert(MoE())
    optimizer = paddle.optimizer.SGD(0.1, parameters=moe.parameters())
    rng = np.random.RandomState(19)
    for shape, training in [
        ((2, 3, 4), True),
        ((5, 4), True),
        ((2, 3, 4), False),
        ((2, 4, 4), True),
    ]:
        moe.train() if training else moe.eval()
        out, balance = moe(paddle.to_tensor(rng.randn(*shape).astype("float32")))
        loss = (out**2).mean() + 0.1 * balance
        loss.backward()
        yield out, balance, moe.gate.weight.grad
        optimizer.step()
        optimizer.clear_grad()
        yield moe.stats, moe.bias


@program
def depth_that_each_token_chooses(convert):
    """Halting per token with a ponder cost, an exit by confidence at inference, hooks that count."""

    class Block(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.fc = nn.Linear(dim, dim)

        def forward(self, x):
            return x + F.gelu(self.fc(self.norm(x)))

    class Adaptive(nn.Layer):
        def __init__(self, dim=5, blocks=4, classes=3, epsilon=0.05):
            super().__init__()
            self.blocks = nn.LayerList([Block(dim) for _ in range(blocks)])
            self.halt = nn.Linear(dim, 1)
            self.exit = nn.Linear(dim, classes)
            self.epsilon = epsilon
            self.exits = defaultdict(int)

        def ponder(self, x):
            b = x.shape[0]
            remaining, halted = paddle.ones([b]), paddle.zeros([b], dtype="bool")
            steps = paddle.zeros([b])
            out = paddle.zeros_like(x)
            cost = paddle.zeros([b])
            for i, block in enumerate(self.blocks):
                x = paddle.where(halted.unsqueeze(-1), x, block(x))
                p = F.sigmoid(self.halt(x)).squeeze(-1)
                last = i == len(self.blocks) - 1
                stop = (remaining - p < self.epsilon) | paddle.full_like(halted, last)
                weight = paddle.where(stop, remaining, p) * (~halted).astype("float32")
                out = out + weight.unsqueeze(-1) * x
                cost = cost + weight * (i + 1)
                steps = steps + (~halted).astype("float32")
                remaining = remaining - weight
                halted = halted | stop
                if halted.all():
                    break
            return out, cost.mean(), steps

        def exit_early(self, x, confidence):
            for depth, block in enumerate(self.blocks, start=1):
                x = block(x)
                probs = F.softmax(self.exit(x) * 2)
                if probs.max(-1).min() > confidence:
                    break
            self.exits[depth] += 1
            return probs, depth

        def forward(self, x, confidence=None):
            if self.training:
                out, cost, steps = self.ponder(x)
                return self.exit(out), cost, steps
            return self.exit_early(x, confidence)

    paddle.seed(59)
    model = Adaptive()
    calls = []
    for i, block in enumerate(model.blocks):
        block.register_forward_post_hook(functools.partial(lambda i, *_: calls.append(i), i))
    model = convert(model)
    optimizer = paddle.optimizer.Adam(0.02, parameters=model.parameters())
    rng = np.random.RandomState(20)
    for n in (3, 4, 3):
        x = paddle.to_tensor(rng.randn(n, 5).astype("float32") * 2)
        model.train()
        logits, cost, steps = model(x)
        loss = F.cross_entropy(logits, paddle.to_tensor(rng.randint(0, 3, n))) + 0.05 * cost
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        yield logits, cost, steps
        model.eval()
        with paddle.no_grad():
            for confidence in (0.35, 0.5, 0.99):
                yield model(x, confidence=confidence)
    yield model.exits


@program
def observers_for_quantisation(convert):
    """Observers by name (range, moving average, percentile, error), fake quantisation, freezing."""

    class Observer:
        kinds: Dict[str, type] = {}

        def __init_subclass__(cls):
            Observer.kinds[cls.__name__.lower()] = cls

        def __init__(self, bits=8, symmetric=True):
            self.bits, self.symmetric = bits, symmetric
            self.low = self.high = None

        @property
        def ready(self):
            return self.low is not None

        def bounds(self, x):
            raise NotImplementedError

        def observe(self, x):
            self.low, self.high = self.bounds(x.detach())

        def qparams(self):
            levels = 2**self.bits - 1
            if self.symmetric:
                reach = max(self.low.abs(), self.high.abs())
                return (2 * reach / levels).clip(min=1e-8), paddle.zeros([])
            low, high = min(self.low, 0.0), max(self.high, 0.0)
            scale = paddle.clip(paddle.to_tensor((high - low) / levels), min=1e-8)
            return scale, paddle.round(-low / scale)

    class MinMax(Observer):
        def bounds(self, x):
            low, high = x.min(), x.max()
            if self.ready:
                low, high = paddle.minimum(low, self.low), paddle.maximum(high, self.high)
            return low, high

    class Moving(Observer):
        momentum = 0.7

        def bounds(self, x):
            low, high = x.min(), x.max()
            if not self.ready:
                return low, high
            m = self.momentum
            return m * self.low + (1 - m) * low, m * self.high + (1 - m) * high

    class Percentile(Observer):
        def bounds(self, x):
            flat = x.flatten().sort()
            k = int(0.1 * flat.shape[0])
            return flat[k], flat[-1 - k]

    class Error(Observer):
        def bounds(self, x):
            best, best_error = None, float("inf")
            for shrink in (1.0, 0.8, 0.6):
                low, high = x.min() * shrink, x.max() * shrink
                step = (high - low) / (2**self.bits - 1)
                q = low + ((x.clip(low, high) - low) / step).round() * step
                error = ((q - x) ** 2).mean()
                if error < best_error:
                    best, best_error = (low, high), error
            return best

    class FakeQuant(nn.Layer):
        def __init__(self, kind, **kwargs):
            super().__init__()
            self.observer = Observer.kinds[kind](**kwargs)
            self.enabled = True

        def forward(self, x):
            if self.training:
                self.observer.observe(x)
            if not (self.enabled and self.observer.ready):
                return x
            scale, zero = self.observer.qparams()
            q = paddle.clip(
                paddle.round(x / scale) + zero,
                -(2 ** (self.observer.bits - 1)) if self.observer.symmetric else 0,
                2 ** (self.observer.bits - 1) - 1
                if self.observer.symmetric
                else 2**self.observer.bits - 1,
            )
            return x + ((q - zero) * scale - x).detach()

    rng = np.random.RandomState(21)
    for kind, kwargs in [
        ("minmax", {"bits": 4}),
        ("moving", {"bits": 8, "symmetric": False}),
        ("percentile", {"bits": 4}),
        ("error", {"bits": 3, "symmetric": False}),
    ]:
        paddle.seed(61)
        model = nn.Sequential(nn.Linear(3, 4), FakeQuant(kind, **kwargs), nn.Linear(4, 1))
        run = convert(model)
        for n, training, enabled in [
            (4, True, False),
            (6, True, True),
            (4, True, True),
            (4, False, True),
        ]:
            run.train() if training else run.eval()
            run[1].enabled = enabled
            out = run(paddle.to_tensor(rng.randn(n, 3).astype("float32")))
            out.sum().backward()
            yield out, run[0].weight.grad, run[1].observer.low, run[1].observer.high
            run.clear_gradients()
