"""Learning by hand: replays, V-trace, trees of moves, plateaus, rates without rates, penalties."""

from __future__ import annotations

import contextlib
import copy
import math
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def a_replay_on_a_sum_tree(convert):
    """Prioritised replay on a sum tree that lives in a tensor, and a double-Q update that writes the priorities back."""

    class Batch(NamedTuple):
        obs: paddle.Tensor
        action: paddle.Tensor
        reward: paddle.Tensor
        after: paddle.Tensor
        done: paddle.Tensor

    class SumTree:
        def __init__(self, capacity):
            self.leaves = 1
            while self.leaves < capacity:
                self.leaves *= 2
            self.nodes = paddle.zeros([2 * self.leaves])

        @property
        def total(self):
            return self.nodes[1]

        def __setitem__(self, i, priority):
            node = i + self.leaves
            self.nodes[node] = priority
            while node > 1:
                node //= 2
                self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1]

        def __getitem__(self, i):
            return self.nodes[i + self.leaves]

        def find(self, mass):
            node = paddle.ones([], dtype="int64")
            while node < self.leaves:
                left = self.nodes[2 * node]
                if mass < left:
                    node = 2 * node
                else:
                    mass, node = mass - left, 2 * node + 1
            return node - self.leaves

    class PrioritisedReplay:
        def __init__(self, capacity, obs, alpha=0.6, beta=0.4):
            self.capacity, self.alpha, self.beta = capacity, alpha, beta
            self.tree, self.cursor, self.size, self.top = SumTree(capacity), 0, 0, 1.0
            self.obs, self.after = paddle.zeros([capacity, obs]), paddle.zeros([capacity, obs])
            self.action = paddle.zeros([capacity], dtype="int64")
            self.reward, self.done = paddle.zeros([capacity]), paddle.zeros([capacity])

        def push(self, *, obs, action, reward, after, done=False):
            i = self.cursor
            self.obs[i], self.after[i], self.action[i], self.reward[i], self.done[i] = (
                obs,
                after,
                action,
                reward,
                float(done),
            )
            self.tree[i] = self.top**self.alpha
            self.cursor = (i + 1) % self.capacity
            self.size = min(self.size + 1, self.capacity)

        def sample(self, u):
            """u in [0, 1): one stratum each"""
            n = u.shape[0]
            spots = paddle.stack(
                [self.tree.find((k + u[k]) / n * self.tree.total) for k in range(n)]
            )
            spots = spots.clip(max=self.size - 1)
            p = self.tree.nodes[spots + self.tree.leaves] / self.tree.total
            weight = (self.size * p) ** -self.beta
            fields = {name: getattr(self, name)[spots] for name in Batch._fields}
            return spots, Batch(**fields), weight / weight.max()

        def update(self, spots, errors, eps=1e-2):
            for i, e in zip(spots, errors.abs() + eps):
                self.tree[i] = e**self.alpha
                self.top = max(self.top, float(e))

    def records_of(convert):
        paddle.seed(12)
        online, target = nn.Linear(3, 2), nn.Linear(3, 2)
        target.set_state_dict(online.state_dict())
        buffer = PrioritisedReplay(6, 3)
        opt = paddle.optimizer.SGD(0.1, parameters=online.parameters())

        def learn(u, gamma=0.9):
            if buffer.size < u.shape[0]:
                return None
            spots, b, weight = buffer.sample(u)
            q = online(b.obs).take_along_axis(b.action.unsqueeze(-1), 1).squeeze(-1)
            with paddle.no_grad():
                greedy = online(b.after).argmax(axis=-1, keepdim=True)
                goal = b.reward + gamma * (1 - b.done) * target(b.after).take_along_axis(
                    greedy, 1
                ).squeeze(-1)
            loss = (weight * F.smooth_l1_loss(q, goal, reduction="none")).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            buffer.update(spots, (goal - q).detach())
            return loss, spots

        learn = convert(learn)
        push = convert(buffer.push)
        records = []
        for k in range(8):
            obs = paddle.randn([3])
            push(obs=obs, action=k % 2, reward=float(k % 3) - 1, after=obs + 0.1, done=k % 4 == 3)
            if k >= 1:
                records += [
                    learn(paddle.rand([3 if k < 6 else 4])),
                    buffer.tree.nodes.clone(),
                    buffer.top,
                    buffer.cursor,
                ]
            if k == 5:
                target.set_state_dict(online.state_dict())
        return records + [online.weight.clone(), buffer.tree.total, buffer.tree[2]]

    yield from records_of(convert)


@program
def a_learner_by_vtrace(convert):
    """An IMPALA learner: V-trace targets from behaviour logits, clipped importance weights, three losses, a grad-norm clip."""

    @dataclass(frozen=True)
    class Options:
        gamma: float = 0.95
        rho_bar: float = 1.0
        c_bar: float = 1.0
        entropy: float = 0.01
        baseline: float = 0.5
        max_norm: float = 1.0

        def __post_init__(self):
            if self.rho_bar < self.c_bar:
                raise ValueError(f"rho_bar {self.rho_bar} must not be below c_bar {self.c_bar}")

    class ActorCritic(nn.Layer):
        def __init__(self, obs, actions, width=8):
            super().__init__()
            self.body = nn.Linear(obs, width)
            self.core = nn.LSTMCell(width, width)
            self.policy, self.value = nn.Linear(width, actions), nn.Linear(width, 1)

        def forward(self, obs, firsts):
            """time major; the core forgets where an episode begins"""
            state = [paddle.zeros([obs.shape[1], self.core.hidden_size])] * 2
            logits, values = [], []
            for x, first in zip(F.elu(self.body(obs)), firsts):
                keep = (1 - first).unsqueeze(-1)
                state = [keep * s for s in state]
                out, state = self.core(x, tuple(state))
                logits.append(self.policy(out))
                values.append(self.value(out).squeeze(-1))
            return paddle.stack(logits), paddle.stack(values)

    def log_prob(logits, actions):
        return -F.cross_entropy(logits, actions, reduction="none", axis=-1).reshape(actions.shape)

    @paddle.no_grad()
    def vtrace(log_rho, discounts, rewards, values, bootstrap, o: Options):
        rho = log_rho.exp()
        clipped, c = rho.clip(max=o.rho_bar), rho.clip(max=o.c_bar)
        after = paddle.concat([values[1:], bootstrap.unsqueeze(0)])
        delta = clipped * (rewards + discounts * after - values)
        acc, out = paddle.zeros_like(bootstrap), []
        for t in reversed(range(rewards.shape[0])):
            acc = delta[t] + discounts[t] * c[t] * acc
            out.append(acc)
        vs = paddle.stack(out[::-1]) + values
        vs_after = paddle.concat([vs[1:], bootstrap.unsqueeze(0)])
        return vs, clipped * (rewards + discounts * vs_after - values)

    class Learner:
        def __init__(self, net, options=Options(), lr=0.05):
            self.net, self.o = net, options
            self.opt = paddle.optimizer.RMSProp(lr, parameters=net.parameters())
            self.clips = 0

        def update(self, traj: Dict[str, paddle.Tensor]):
            o = self.o
            logits, values = self.net(traj["obs"], traj["first"])
            logits, values, bootstrap = logits[:-1], values[:-1], values[-1]
            chosen = log_prob(logits, traj["action"])
            log_rho = chosen.detach() - log_prob(traj["behaviour"], traj["action"])
            vs, advantage = vtrace(
                log_rho, o.gamma * (1 - traj["first"][1:]), traj["reward"], values, bootstrap, o
            )
            losses = {
                "policy": -(chosen * advantage).mean(),
                "value": o.baseline * (vs - values).square().mean() / 2,
                "entropy": o.entropy * (F.softmax(logits) * F.log_softmax(logits)).sum(-1).mean(),
            }
            total = sum(losses.values())
            total.backward()
            norm = paddle.sqrt(
                sum(p.grad.square().sum() for p in self.net.parameters() if p.grad is not None)
            )
            if norm > o.max_norm:
                self.clips += 1
                with paddle.no_grad():
                    for p in self.net.parameters():
                        p.grad.set_value(p.grad * (o.max_norm / norm))
            self.opt.step()
            self.opt.clear_grad()
            return {k: float(v) for k, v in losses.items()} | {
                "norm": norm,
                "rho": log_rho.exp().mean(),
            }

    def records_of(convert):
        paddle.seed(17)
        records = []
        for options in (
            Options(),
            Options(rho_bar=1.5, max_norm=0.05),
            Options(gamma=0.5, entropy=0.1),
        ):
            learner = Learner(ActorCritic(3, 4), options)
            update = convert(learner.update)
            for t, b in ((4, 2), (4, 2), (6, 1)):
                first = (paddle.rand([t + 1, b]) < 0.25).astype("float32")
                traj = {
                    "obs": paddle.randn([t + 1, b, 3]),
                    "first": first,
                    "action": paddle.randint(0, 4, [t, b]),
                }
                traj |= {"reward": paddle.randn([t, b]), "behaviour": paddle.randn([t, b, 4])}
                records += [update(traj), learner.clips]
            records += [learner.net.value.weight.clone(), asdict(learner.o)]
        try:
            Options(rho_bar=0.5)
        except ValueError as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def moves_halved_in_a_search_tree(convert):
    """Gumbel search: sequential halving at the root, a tree with a learnt model below it, improved policies out."""

    class Node:
        __slots__ = ("hidden", "reward", "logits", "value", "visits", "total", "children")

        def __init__(self, hidden, reward, logits, value):
            self.hidden, self.reward, self.logits, self.value = hidden, reward, logits, value
            self.visits, self.total = 0, paddle.zeros([])
            self.children: Dict[int, Node] = {}

        @property
        def mean(self):
            return self.total / self.visits if self.visits else self.value

        def q(self, action, gamma):
            child = self.children.get(action)
            return self.value if child is None else child.reward + gamma * child.mean

        def completed(self, gamma):
            return paddle.stack([self.q(a, gamma) for a in range(self.logits.shape[0])])

    class Model(nn.Layer):
        def __init__(self, actions, width=6):
            super().__init__()
            self.actions = actions
            self.dynamics, self.head = (
                nn.Linear(width + actions, width + 1),
                nn.Linear(width, actions + 1),
            )

        def expand(self, hidden, action: Optional[int] = None):
            reward = paddle.zeros([])
            if action is not None:
                one = F.one_hot(paddle.to_tensor(action), self.actions)
                out = self.dynamics(paddle.concat([hidden, one]))
                hidden, reward = F.tanh(out[:-1]), out[-1]
            out = self.head(hidden)
            return Node(hidden, reward, out[:-1], F.tanh(out[-1]))

    class Search:
        def __init__(self, model, gamma=0.95, c_visit=10.0, c_scale=0.5):
            self.model, self.gamma, self.c_visit, self.c_scale = model, gamma, c_visit, c_scale
            self.deepest = 0

        def sigma(self, node, q):
            low, high = q.min(), q.max()
            scaled = (q - low) / (high - low) if high - low > 1e-6 else paddle.zeros_like(q)
            most = max((c.visits for c in node.children.values()), default=0)
            return (self.c_visit + most) * self.c_scale * 0.1 * scaled

        def select(self, node):
            """the action whose visits lag most behind the improved policy"""
            improved = F.softmax(
                node.logits + self.sigma(node, node.completed(self.gamma)), axis=-1
            )
            visits = paddle.to_tensor(
                [
                    float(node.children[a].visits) if a in node.children else 0.0
                    for a in range(self.model.actions)
                ]
            )
            return int((improved - visits / (1 + visits.sum())).argmax())

        def simulate(self, root, action):
            path = [root]
            while True:
                node = path[-1]
                if action not in node.children:
                    node.children[action] = self.model.expand(node.hidden, action)
                    path.append(node.children[action])
                    break
                path.append(node.children[action])
                action = self.select(path[-1])
            self.deepest = max(self.deepest, len(path) - 1)
            back = path[-1].value
            for node in reversed(path):
                node.total, node.visits = node.total + back, node.visits + 1
                back = node.reward + self.gamma * back

        @paddle.no_grad()
        def run(self, hidden, gumbel, budget=12, considered=4):
            self.deepest = 0
            root = self.model.expand(hidden)
            base = root.logits + gumbel
            alive = base.topk(min(considered, self.model.actions))[1].tolist()
            rounds = max(1, math.ceil(math.log2(len(alive))))
            for _ in range(rounds):
                for action in alive:
                    for _ in range(max(1, budget // (rounds * len(alive)))):
                        self.simulate(root, action)
                if len(alive) > 1:
                    score = base + self.sigma(root, root.completed(self.gamma))
                    alive = sorted(alive, key=lambda a: -float(score[a]))[
                        : math.ceil(len(alive) / 2)
                    ]
            policy = F.softmax(root.logits + self.sigma(root, root.completed(self.gamma)), axis=-1)
            return alive[0], policy, root.mean

    def records_of(convert):
        paddle.seed(33)
        search = Search(Model(5))
        run = convert(search.run)
        records = []
        for k, options in enumerate(
            [
                {},
                {"budget": 4},
                {"considered": 2, "budget": 10},
                {"considered": 1, "budget": 3},
                {"considered": 9, "budget": 16},
            ]
        ):
            gumbel = -paddle.log(-paddle.log(paddle.rand([5]).clip(1e-3, 0.999)))
            action, policy, value = run(F.tanh(paddle.randn([6])), gumbel, **options)
            records += [action, policy, value, search.deepest]
        return records

    yield from records_of(convert)


@program
def rates_by_a_state_machine(convert):
    """A learning-rate controller as a state machine (warm-up, hold, decay, rescue, done) with best-weights rollback."""

    class Mode(str, Enum):
        WARMUP = "warmup"
        HOLD = "hold"
        DECAY = "decay"
        RESCUE = "rescue"
        DONE = "done"

    class Controller:
        def __init__(self, base=0.1, warmup=2, patience=1, factor=0.5, floor=0.01, blowup=3.0):
            self.base, self.warmup, self.patience, self.factor, self.floor, self.blowup = (
                base,
                warmup,
                patience,
                factor,
                floor,
                blowup,
            )
            self.mode, self.lr, self.age, self.bad = Mode.WARMUP, base / warmup, 0, 0
            self.best, self.events = float("inf"), []
            self.handlers: Dict[Mode, Callable] = {m: getattr(self, f"on_{m.value}") for m in Mode}

        def move(self, mode, why):
            self.events.append(f"{self.mode.value}->{mode.value} ({why})")
            self.mode, self.age = mode, 0

        def on_warmup(self, loss):
            self.lr = min(self.base, self.lr + self.base / self.warmup)
            if self.age >= self.warmup:
                self.move(Mode.HOLD, f"lr {self.lr:.3f}")

        def on_hold(self, loss):
            if self.bad > self.patience:
                self.move(Mode.DECAY, f"{self.bad} bad")

        def on_decay(self, loss):
            self.lr *= self.factor
            self.bad = 0
            self.move(Mode.DONE if self.lr < self.floor else Mode.HOLD, f"lr {self.lr:.4f}")

        def on_rescue(self, loss):
            self.lr = max(self.lr * 0.1, self.floor)
            self.move(Mode.HOLD, "rolled back")

        def on_done(self, loss):
            pass

        def update(self, loss):
            self.age += 1
            improved = loss < self.best
            if improved:
                self.best, self.bad = loss, 0
            else:
                self.bad += 1
            if not loss < self.blowup * max(self.best, 1e-8):
                self.move(Mode.RESCUE, "blow-up")
            self.handlers[self.mode](loss)
            return improved

    class Trainer:
        def __init__(self, net, controller):
            self.net, self.controller = net, controller
            self.saved = copy.deepcopy(net.state_dict())
            self.velocity = {p.name: paddle.zeros_like(p) for p in net.parameters()}

        def step(self, x, y):
            if self.controller.mode is Mode.DONE:
                return None
            loss = (self.net(x) - y).square().mean()
            loss.backward()
            before = self.controller.mode
            if self.controller.update(loss.item()):
                self.saved = {k: v.clone() for k, v in self.net.state_dict().items()}
            rescued = (
                any("RESCUE" in e.upper() for e in self.controller.events[-2:])
                and before is not self.controller.mode
            )
            with paddle.no_grad():
                if rescued:
                    self.net.set_state_dict(self.saved)
                for p in self.net.parameters():
                    v = self.velocity[p.name]
                    if rescued:
                        v.zero_()
                    else:
                        v.set_value(0.8 * v + p.grad)
                        p.set_value(p - self.controller.lr * v)
                    p.clear_gradient()
            return loss

    def records_of(convert):
        paddle.seed(4)
        records = []
        for seed, options, scale in [
            (0, {}, 1.0),
            (1, {"base": 0.6, "warmup": 1}, 3.0),
            (2, {"patience": 0, "factor": 0.2, "floor": 0.05}, 1.0),
        ]:
            paddle.seed(seed)
            trainer = Trainer(nn.Linear(3, 1), Controller(**options))
            step = convert(trainer.step)
            for k in range(7):
                x = scale * paddle.randn([4 + k % 2, 3])
                loss = step(x, x.sum(axis=-1, keepdim=True) + 0.3 * paddle.randn([4 + k % 2, 1]))
                records += [loss, trainer.controller.lr, trainer.controller.mode]
            records += [list(trainer.controller.events), trainer.net.weight.clone()]
        return records

    yield from records_of(convert)


@program
def rates_that_adapt_themselves(convert):
    """D-Adaptation SGD by hand: parameter groups, state per parameter, an estimate of the distance that only grows."""

    class DAdaptSGD:
        defaults = dict(lr=1.0, weight_decay=0.0, momentum=0.9, growth=float("inf"), frozen=False)

        def __init__(self, groups: Iterable, d0=1e-3, **options):
            unknown = set(options) - set(self.defaults)
            if unknown:
                raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
            groups = list(groups)
            if groups and not isinstance(groups[0], dict):
                groups = [{"params": groups}]
            self.groups: List[Dict[str, Any]] = [
                {**self.defaults, **options, **g, "params": list(g["params"])} for g in groups
            ]
            self.state = defaultdict(dict)
            self.d, self.numerator, self.steps = d0, 0.0, 0
            self.g0 = None

        def _live(self):
            for group in self.groups:
                if group["frozen"]:
                    continue
                for p in group["params"]:
                    if p.grad is not None:
                        yield group, p

        @paddle.no_grad()
        def step(self):
            live = list(self._live())
            if not live:
                return None
            square = sum((p.grad * p.grad).sum() for _, p in live)
            if not paddle.isfinite(square):
                return float("nan")
            if self.g0 is None:
                self.g0 = float(square.sqrt())
            for group, p in live:
                state, g = self.state[p.name], p.grad
                if not state:
                    state.update(z=p.clone(), s=paddle.zeros_like(p), x0=p.clone())
                if group["weight_decay"]:
                    g = g + group["weight_decay"] * p
                scale = self.d * group["lr"] / (self.g0 + 1e-12)
                self.numerator += float(scale * (g * state["s"]).sum())
                state["s"] = state["s"] + scale * g
                state["z"] = state["z"] - scale * g
                p.set_value(group["momentum"] * p + (1 - group["momentum"]) * state["z"])
            size = sum(self.state[p.name]["s"].norm() for _, p in live)
            if size > 0:
                estimate = 2 * self.numerator / float(size)
                limit = min(g["growth"] for g in self.groups) * self.d
                self.d = max(self.d, min(estimate, limit))
            self.steps += 1
            return self.d

        def zero_grad(self):
            for group in self.groups:
                for p in group["params"]:
                    p.clear_grad()

    def records_of(convert):
        paddle.seed(21)
        net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
        opt = DAdaptSGD(
            [
                {"params": net[0].parameters(), "weight_decay": 0.1},
                {"params": net[2].parameters(), "lr": 2.0, "momentum": 0.5},
            ],
            d0=0.05,
            growth=1.5,
        )

        def train(x, y, repeat=1):
            losses = []
            for _ in range(repeat):
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                opt.step()
                opt.zero_grad()
                losses.append(float(loss))
            return losses

        train = convert(train)
        records = []
        for k, (n, repeat) in enumerate([(4, 1), (4, 3), (7, 2), (2, 1), (5, 2)]):
            if k == 3:
                opt.groups[0]["frozen"] = True
            x = paddle.randn([n, 3])
            y = paddle.randint(0, 2, [n])
            records += [train(x, y, repeat=repeat), opt.d, opt.numerator, opt.steps]
            records += [p.clone() for p in net.parameters()]
        try:
            DAdaptSGD(net.parameters(), nesterov=True)
        except TypeError as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def a_gan_with_a_lazy_penalty(convert):
    """A GAN step with lazy R1 regularisation (a second derivative), an EMA generator, and adaptive augmentation."""

    @contextlib.contextmanager
    def frozen(*layers):
        before = [[p.stop_gradient for p in layer.parameters()] for layer in layers]
        try:
            for layer in layers:
                for p in layer.parameters():
                    p.stop_gradient = True
            yield
        finally:
            for layer, flags in zip(layers, before):
                for p, flag in zip(layer.parameters(), flags):
                    p.stop_gradient = flag

    class Augment:
        """flips and shifts with probability p, which follows the sign of the critic on real data"""

        def __init__(self, target=-0.8, speed=0.1):
            self.p, self.target, self.speed = 0.0, target, speed

        def __call__(self, x, u):
            if self.p == 0:
                return x
            flip = (u[:, :1] < self.p).astype(x.dtype)
            shift = paddle.where(u[:, 1:] < self.p, u[:, 1:] - 0.5, paddle.zeros_like(u[:, 1:]))
            return x * (1 - 2 * flip) + shift

        def adapt(self, real_logits):
            sign = real_logits.sign().mean()
            self.p = min(
                1.0, max(0.0, self.p + (self.speed if sign > self.target else -self.speed))
            )

    class GANStep:
        def __init__(self, latent=2, data=3, r1_every=2, r1=4.0, ema=0.9):
            self.G = nn.Sequential(nn.Linear(latent, 6), nn.LeakyReLU(0.2), nn.Linear(6, data))
            self.D = nn.Sequential(nn.Linear(data, 6), nn.Softplus(), nn.Linear(6, 1))
            self.G_ema = copy.deepcopy(self.G)
            self.opt_g = paddle.optimizer.Adam(0.01, beta1=0.0, parameters=self.G.parameters())
            self.opt_d = paddle.optimizer.Adam(0.02, beta1=0.0, parameters=self.D.parameters())
            self.augment, self.r1_every, self.r1, self.ema, self.step = (
                Augment(),
                r1_every,
                r1,
                ema,
                0,
            )
            self.log: List[Dict[str, float]] = []

        def d_step(self, real, z, u):
            fake = self.G(z).detach()
            logits = self.D(self.augment(real, u))
            loss = F.softplus(-logits).mean() + F.softplus(self.D(self.augment(fake, u))).mean()
            entry = {"d": float(loss)}
            if self.step % self.r1_every == 0:
                x = real.detach()
                x.stop_gradient = False
                (grad,) = paddle.grad(self.D(x).sum(), [x], create_graph=True)
                penalty = grad.square().sum(axis=1).mean()
                loss = loss + 0.5 * self.r1 * self.r1_every * penalty
                entry["r1"] = float(penalty)
            loss.backward()
            self.opt_d.step()
            self.opt_d.clear_grad()
            self.augment.adapt(logits.detach())
            return entry

        def g_step(self, z, u):
            with frozen(self.D):
                loss = F.softplus(-self.D(self.augment(self.G(z), u))).mean()
                loss.backward()
            self.opt_g.step()
            self.opt_g.clear_grad()
            with paddle.no_grad():
                for avg, p in zip(self.G_ema.parameters(), self.G.parameters()):
                    avg.set_value(self.ema * avg + (1 - self.ema) * p)
            return {"g": float(loss)}

        def __call__(self, real, z, u):
            entry = {**self.d_step(real, z, u), **self.g_step(z, u)}
            self.step += 1
            self.log.append(entry)
            return entry

    def records_of(convert):
        paddle.seed(44)
        gan = GANStep()
        step = convert(gan.__call__)
        records = []
        for n in (4, 4, 6, 4, 3, 4):
            real = paddle.randn([n, 3]) * 0.5 + 1
            records += [step(real, paddle.randn([n, 2]), paddle.rand([n, 4])), gan.augment.p]
        records += [p.clone() for net in (gan.G, gan.D, gan.G_ema) for p in net.parameters()]
        records += [
            gan.step,
            [sorted(e) for e in gan.log],
            [p.stop_gradient for p in gan.D.parameters()],
        ]
        return records

    yield from records_of(convert)


@program
def samples_by_heun(convert):
    """The sampler of Karras et al.: rho schedule, churn, Heun's second-order step, guidance on an interval, callbacks."""

    @dataclass
    class SamplerConfig:
        steps: int = 5
        sigma_min: float = 0.02
        sigma_max: float = 5.0
        rho: float = 7.0
        churn: float = 0.0
        churn_range: Tuple[float, float] = (0.05, 2.0)
        guidance: float = 1.0
        guided_range: Tuple[float, float] = (0.0, math.inf)
        clip: Optional[float] = None

        def sigmas(self):
            ramp = paddle.linspace(0, 1, self.steps)
            a, b = self.sigma_max ** (1 / self.rho), self.sigma_min ** (1 / self.rho)
            return paddle.concat([(a + ramp * (b - a)) ** self.rho, paddle.zeros([1])])

    class Denoiser(nn.Layer):
        def __init__(self, dim, classes, sigma_data=0.5):
            super().__init__()
            self.sd = sigma_data
            self.label = nn.Embedding(classes + 1, 4)
            self.net = nn.Sequential(nn.Linear(dim + 5, 12), nn.Silu(), nn.Linear(12, dim))

        def forward(self, x, sigma, label):
            total = sigma**2 + self.sd**2
            skip, out, scale = self.sd**2 / total, sigma * self.sd / total.sqrt(), 1 / total.sqrt()
            noise = (sigma.log() / 4).reshape([1, 1]).expand([x.shape[0], 1])
            h = paddle.concat([scale * x, noise, self.label(label)], axis=-1)
            return skip * x + out * self.net(h)

    class Sampler:
        def __init__(self, model: Denoiser, classes: int):
            self.model, self.null = model, classes
            self.calls = 0

        def denoise(self, x, sigma, label, c: SamplerConfig):
            self.calls += 1
            d = self.model(x, sigma, label)
            low, high = c.guided_range
            if c.guidance != 1.0 and low <= sigma <= high:
                self.calls += 1
                d0 = self.model(x, sigma, paddle.full_like(label, self.null))
                d = d0 + c.guidance * (d - d0)
            if c.clip is not None:
                d = d.clip(-c.clip, c.clip)
            return d

        @paddle.no_grad()
        def sample(self, x, label, c: SamplerConfig, callback: Optional[Callable] = None):
            sigmas = c.sigmas()
            x = x * sigmas[0]
            for i, (now, nxt) in enumerate(zip(sigmas[:-1], sigmas[1:])):
                gamma = 0.0
                if c.churn_range[0] <= now <= c.churn_range[1]:
                    gamma = min(c.churn / c.steps, math.sqrt(2) - 1)
                hat = now * (1 + gamma)
                if gamma > 0:
                    x = x + (hat**2 - now**2).sqrt() * paddle.sin(17.0 * x + i)
                slope = (x - self.denoise(x, hat, label, c)) / hat
                step = nxt - hat
                ahead = x + step * slope
                if nxt > 0:
                    slope2 = (ahead - self.denoise(ahead, nxt, label, c)) / nxt
                    ahead = x + step * (slope + slope2) / 2
                x = ahead
                if callback is not None and callback(i, hat, x):
                    break
            return x

    def records_of(convert):
        paddle.seed(5)
        sampler = Sampler(Denoiser(3, 4), 4)
        sampler.model.eval()
        sample = convert(sampler.sample)
        seen: List = []

        def watch(i, sigma, x):
            seen.append((i, round(float(sigma), 4)))
            return x.abs().max() < 1.0

        base = SamplerConfig()
        records = []
        for n, config, callback in [
            (2, base, None),
            (3, replace(base, churn=2.0), None),
            (2, replace(base, guidance=2.5, guided_range=(0.1, 3.0)), watch),
            (1, replace(base, steps=8, clip=0.5), watch),
            (2, replace(base, steps=2, rho=3.0, churn=5.0, guidance=0.0), None),
        ]:
            sampler.calls = 0
            out = sample(paddle.randn([n, 3]), paddle.randint(0, 4, [n]), config, callback)
            records += [out, sampler.calls, list(seen)]
        return records

    yield from records_of(convert)
