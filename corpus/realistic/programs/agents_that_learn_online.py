"""Agents: actor-critic rollouts, traces, linear bandits, planning on grids, hindsight, curiosity."""

import random
from collections import deque, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import List, NamedTuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def advantage_actor_critic_rollouts(convert):
    """A2C: an env in tensors, a rollout buffer as a dataclass, GAE or n-step by a setting."""

    class Corridor:
        """Walk to the right end of a corridor; falling off the left end costs."""

        def __init__(self, length=5):
            self.length = length
            self.episodes = 0
            self.pos = None

        def reset(self):
            self.pos = paddle.to_tensor(self.length // 2)
            return self.observe()

        def observe(self):
            return F.one_hot(self.pos.clip(0, self.length - 1), self.length).astype("float32")

        def step(self, action):
            self.pos = self.pos + (2 * action - 1)
            done = (self.pos < 0) | (self.pos >= self.length)
            reward = paddle.where(self.pos >= self.length, 1.0, -0.1)
            if done:
                self.episodes += 1
                self.pos = paddle.to_tensor(self.length // 2)
            return self.observe(), reward, done

    @dataclass
    class Rollout:
        logps: List = field(default_factory=list)
        values: List = field(default_factory=list)
        rewards: List = field(default_factory=list)
        dones: List = field(default_factory=list)
        entropies: List = field(default_factory=list)

        def add(self, **kw):
            for key, value in kw.items():
                getattr(self, f"{key}s" if key != "entropy" else "entropies").append(value)

        def returns(self, last, gamma, lam=None):
            out, running, adv = [], last, paddle.zeros([])
            nxt = last
            for r, d, v in zip(self.rewards[::-1], self.dones[::-1], self.values[::-1]):
                live = 1.0 - d.astype("float32")
                if lam is None:
                    running = r + gamma * live * running
                else:
                    delta = r + gamma * live * nxt - v
                    adv = delta + gamma * lam * live * adv
                    running, nxt = adv + v, v
                out.append(running.detach())
            return paddle.stack(out[::-1])

    class ActorCritic(nn.Layer):
        def __init__(self, obs, hidden=8):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
            self.pi, self.v = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

        def forward(self, obs):
            h = self.body(obs)
            return F.log_softmax(self.pi(h), -1), self.v(h).squeeze(-1)

    class Agent:
        def __init__(self, env, gamma=0.9, lam=None, clip=0.5):
            self.env, self.gamma, self.lam = env, gamma, lam
            self.net = ActorCritic(env.length)
            self.opt = paddle.optimizer.Adam(
                0.02, parameters=self.net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(clip)
            )
            self.obs = env.reset()

        def update(self, steps):
            roll = Rollout()
            for _ in range(steps):
                logp, value = self.net(self.obs)
                action = paddle.multinomial(logp.exp(), 1).squeeze(-1)
                self.obs, reward, done = self.env.step(action)
                roll.add(
                    logp=logp[action],
                    value=value,
                    reward=reward,
                    done=done,
                    entropy=-(logp.exp() * logp).sum(),
                )
            _, last = self.net(self.obs)
            ret = roll.returns(last.detach(), self.gamma, self.lam)
            values = paddle.stack(roll.values)
            adv = (ret - values).detach()
            loss = -(paddle.stack(roll.logps) * adv).mean() + 0.5 * F.mse_loss(values, ret)
            loss = loss - 0.01 * sum(roll.entropies) / len(roll.entropies)
            loss.backward()
            self.opt.step()
            self.opt.clear_grad()
            return {
                "loss": loss,
                "return": ret.mean(),
                "done": sum(d.astype("int64") for d in roll.dones),
            }

    for lam in (None, 0.9):
        agent = Agent(Corridor(), lam=lam)
        agent.update = convert(agent.update)
        for steps in (5, 5, 8):
            yield agent.update(steps)
        yield agent.env.episodes, agent.net.v.weight


@program
def temporal_differences_with_lambda(convert):
    """TD(lambda) on a random walk: accumulating, replacing and dutch traces, online and offline."""

    class Trace(Enum):
        ACCUMULATE = 1
        REPLACE = 2
        DUTCH = 3

    class Features:
        def __init__(self, states, width):
            self.states, self.width = states, width

        def __call__(self, s):
            centres = paddle.linspace(0.0, self.states - 1.0, self.width)
            return paddle.exp(-((s.astype("float32") - centres) ** 2))

        def __len__(self):
            return self.width

    class TDLambda:
        def __init__(self, phi, alpha=0.1, gamma=1.0, lam=0.8, trace=Trace.ACCUMULATE):
            self.phi, self.alpha, self.gamma, self.lam = phi, alpha, gamma, lam
            self.trace = trace
            self.w = paddle.zeros([len(phi)])
            self.errors = deque(maxlen=4)

        def decay(self, z, x):
            z = self.gamma * self.lam * z
            if self.trace is Trace.REPLACE:
                return paddle.maximum(z, x)
            if self.trace is Trace.DUTCH:
                return z + (1 - self.alpha * (z * x).sum()) * x
            return z + x

        def episode(self, start, moves):
            s, z = start, paddle.zeros_like(self.w)
            length = 0
            for move in moves:
                x = self.phi(s)
                z = self.decay(z, x)
                nxt = s + 2 * move.astype("int64") - 1
                terminal = paddle.logical_or(nxt < 0, nxt >= self.phi.states)
                reward = (nxt >= self.phi.states).astype("float32")
                target = reward
                if not terminal:
                    target = target + self.gamma * (self.w * self.phi(nxt)).sum()
                delta = target - (self.w * x).sum()
                self.w = self.w + self.alpha * delta * z
                self.errors.append(delta)
                length += 1
                if terminal:
                    return True, length
                s = nxt
            return False, length

    rng = np.random.RandomState(2)
    for trace in Trace:
        agent = TDLambda(Features(5, 4), trace=trace)
        agent.episode = convert(agent.episode)
        for n in (6, 6, 12):
            moves = paddle.to_tensor(rng.randint(2, size=n))
            yield agent.episode(paddle.to_tensor(2), moves)
            yield agent.w, list(agent.errors)


@program
def linear_bandits_with_confidence(convert):
    """LinUCB and linear Thompson sampling over a common base, with a regret that is a property."""

    class Arm:
        def __init__(self, dim, ridge=1.0):
            self.A_inv = paddle.eye(dim) / ridge
            self.b = paddle.zeros([dim])
            self.pulls = 0

        @property
        def theta(self):
            return self.A_inv @ self.b

        def learn(self, x, r):
            u = self.A_inv @ x
            self.A_inv = self.A_inv - paddle.outer(u, u) / (1 + x @ u)
            self.b = self.b + r * x
            self.pulls = self.pulls + 1

    class LinearBandit:
        name = "base"

        def __init__(self, arms, dim):
            self.arms = [Arm(dim) for _ in range(arms)]
            self.total = paddle.zeros([])
            self.ideal = paddle.zeros([])

        def score(self, arm: Arm, x):
            raise NotImplementedError(f"{self.name} has no score")

        @property
        def regret(self):
            return self.ideal - self.total

        def play(self, contexts, rewards):
            chosen = []
            for x, r in zip(contexts, rewards):
                scores = paddle.stack([self.score(arm, x) for arm in self.arms])
                k = scores.argmax()
                for i, arm in enumerate(self.arms):
                    if k == i:
                        arm.learn(x, r[i])
                self.total = self.total + r[k]
                self.ideal = self.ideal + r.max()
                chosen.append(k)
            return paddle.stack(chosen)

    class LinUCB(LinearBandit):
        name = "ucb"

        def __init__(self, *args, alpha=0.5, **kwargs):
            super().__init__(*args, **kwargs)
            self.alpha = alpha

        def score(self, arm, x):
            return x @ arm.theta + self.alpha * paddle.sqrt(x @ arm.A_inv @ x)

    class LinThompson(LinearBandit):
        name = "thompson"

        def score(self, arm, x):
            chol = paddle.linalg.cholesky(arm.A_inv + 1e-5 * paddle.eye(len(x)))
            return x @ (arm.theta + chol @ paddle.randn([x.shape[0]]))

    rng = np.random.RandomState(0)
    for make in (LinUCB, LinThompson, LinearBandit):
        bandit = make(arms=3, dim=2)
        bandit.play = convert(bandit.play)
        for n in (4, 7):
            c = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
            r = paddle.to_tensor(rng.rand(n, 3).astype("float32"))
            yield attempt(lambda: bandit.play(c, r))
        yield bandit.regret, [arm.pulls for arm in bandit.arms]


@program
def planning_on_a_windy_grid(convert):
    """Value iteration, policy iteration and prioritised sweeping on a grid with walls."""

    class Move(NamedTuple):
        name: str
        dy: int
        dx: int

    MOVES = (Move("up", -1, 0), Move("right", 0, 1), Move("down", 1, 0), Move("left", 0, -1))

    class Grid:
        def __init__(self, text, step=-0.04, slip=0.2):
            rows = text.split("/")
            self.h, self.w = len(rows), len(rows[0])
            cells = [[{"#": -1, ".": 0, "+": 1, "x": 2}[c] for c in row] for row in rows]
            self.kind = paddle.to_tensor(cells)
            self.step, self.slip = step, slip

        @property
        def reward(self):
            r = paddle.full([self.h, self.w], self.step)
            r = paddle.where(self.kind == 1, paddle.ones_like(r), r)
            return paddle.where(self.kind == 2, -paddle.ones_like(r), r)

        def shifted(self, v, move):
            padded = F.pad(v[None, None], [1, 1, 1, 1], mode="replicate")[0, 0]
            moved = padded[1 + move.dy : 1 + move.dy + self.h, 1 + move.dx : 1 + move.dx + self.w]
            wall = F.pad((self.kind < 0).astype("float32")[None, None], [1, 1, 1, 1], value=0.0)[
                0, 0
            ]
            hit = wall[1 + move.dy : 1 + move.dy + self.h, 1 + move.dx : 1 + move.dx + self.w] > 0
            return paddle.where(hit, v, moved)

        def q_values(self, v, gamma):
            outs = [self.shifted(v, m) for m in MOVES]
            qs = []
            for i, out in enumerate(outs):
                left, right = outs[i - 1], outs[(i + 1) % len(outs)]
                qs.append((1 - self.slip) * out + self.slip / 2 * (left + right))
            return self.reward.unsqueeze(0) + gamma * paddle.stack(qs)

    @convert
    def value_iteration(grid, gamma=0.95, tol=1e-3, limit=60):
        terminal = grid.kind > 0
        v = paddle.where(terminal, grid.reward, paddle.zeros([grid.h, grid.w]))
        for sweep in range(1, limit + 1):
            new = paddle.where(terminal, grid.reward, grid.q_values(v, gamma).max(0))
            change = (new - v).abs().max()
            v = new
            if change < tol:
                print(f"converged after {sweep} sweeps")
                break
        else:
            print("not converged:", round(float(change), 4))
        return v, grid.q_values(v, gamma).argmax(0)

    @convert
    def policy_iteration(grid, gamma=0.9, evaluations=8):
        policy = paddle.zeros([grid.h, grid.w], dtype="int64")
        v = paddle.zeros([grid.h, grid.w])
        rounds = 0
        stable = False
        while not stable:
            for _ in range(evaluations):
                q = grid.q_values(v, gamma)
                v = paddle.take_along_axis(q, policy.unsqueeze(0), 0).squeeze(0)
                v = paddle.where(grid.kind > 0, grid.reward, v)
            better = grid.q_values(v, gamma).argmax(0)
            stable = bool((better == policy).all()) or rounds > 10
            policy = better
            rounds += 1
        return policy, rounds

    def render(policy, grid):
        arrows = "^>v<"
        return [
            "".join(
                arrows[a] if k == 0 else "#+x"[(k + 3) % 4 - 2] if k > 0 else "#"
                for a, k in zip(pr, kr)
            )
            for pr, kr in zip(policy.tolist(), grid.kind.tolist())
        ]

    for text in ("...+/.#.x/....", "..+/.x.", "...+/.#.x/...."):
        grid = Grid(text, slip=0.1 if len(text) < 10 else 0.2)
        v, policy = value_iteration(grid)
        yield v, render(policy, grid)
        yield policy_iteration(grid)
    yield value_iteration(grid, gamma=0.99, limit=3)[0]


@program
def hindsight_replay_for_bit_flips(convert):
    """Q-learning on bit strings with goals: hindsight relabelling, a ring buffer, a target net."""

    Step = namedtuple("Step", "state action reward nxt goal", defaults=[None])

    class Ring:
        def __init__(self, capacity, seed=0):
            self.data: List[Step] = []
            self.capacity, self.at = capacity, 0
            self.rng = random.Random(seed)

        def add(self, step):
            if len(self.data) < self.capacity:
                self.data.append(step)
            else:
                self.data[self.at] = step
            self.at = (self.at + 1) % self.capacity

        def sample(self, n):
            picked = self.rng.sample(self.data, n)
            return Step(*(paddle.stack(column) for column in zip(*picked)))

        def __len__(self):
            return len(self.data)

    class Agent:
        def __init__(self, bits, eps=0.3, capacity=24):
            self.bits, self.eps = bits, eps
            self.q = nn.Sequential(nn.Linear(2 * bits, 12), nn.ReLU(), nn.Linear(12, bits))
            self.target = nn.Sequential(nn.Linear(2 * bits, 12), nn.ReLU(), nn.Linear(12, bits))
            self.sync()
            self.opt = paddle.optimizer.SGD(0.05, parameters=self.q.parameters())
            self.memory = Ring(capacity)
            self.wins = 0

        def sync(self, tau=1.0):
            for p, t in zip(self.q.parameters(), self.target.parameters()):
                t.set_value(tau * p + (1 - tau) * t)

        @paddle.no_grad()
        def act(self, state, goal):
            if paddle.rand([]) < self.eps:
                return paddle.randint(0, self.bits, [])
            return self.q(paddle.concat([state, goal])).argmax()

        def episode(self, state, goal):
            path = []
            for _ in range(self.bits):
                action = self.act(state, goal)
                flip = F.one_hot(action, self.bits).astype("float32")
                nxt = (state - flip).abs()
                done = (nxt == goal).all()
                reward = done.astype("float32") - 1.0
                path.append(Step(state, action, reward, nxt, goal))
                state = nxt
                if done:
                    self.wins += 1
                    break
            final = path[-1].nxt
            for step in path:
                self.memory.add(step)
                hit = (step.nxt == final).all().astype("float32") - 1.0
                self.memory.add(step._replace(goal=final, reward=hit))
            return len(path)

        def learn(self, batch=4, gamma=0.9):
            b = self.memory.sample(batch)
            q = self.q(paddle.concat([b.state, b.goal], -1))
            taken = (q * F.one_hot(b.action, self.bits)).sum(-1)
            with paddle.no_grad():
                nxt = self.target(paddle.concat([b.nxt, b.goal], -1)).max(-1)
                y = b.reward + gamma * (b.reward < 0).astype("float32") * nxt
            loss = F.smooth_l1_loss(taken, y)
            loss.backward()
            self.opt.step()
            self.opt.clear_grad()
            self.sync(tau=0.1)
            return loss

    agent = Agent(bits=3)
    agent.episode, agent.learn = convert(agent.episode), convert(agent.learn)
    for k in range(4):
        bits = [float((k >> i) & 1) for i in range(3)]
        yield attempt(lambda: agent.episode(paddle.to_tensor(bits), paddle.ones([3])))
        yield agent.wins, len(agent.memory), agent.memory.at
    for n in (4, 4, 6):
        yield attempt(lambda: agent.learn(n))
    yield [p for p in agent.target.parameters()]


@program
def curiosity_with_running_norms(convert):
    """Random network distillation: running moments, clipped observations, an annealed bonus."""

    class RunningMoments:
        def __init__(self, shape, eps=1e-4):
            self.mean = paddle.zeros(shape)
            self.var = paddle.ones(shape)
            self.count = paddle.to_tensor(eps)

        def update(self, batch):
            n = batch.shape[0]
            mean, var = batch.mean(0), batch.var(0, unbiased=False)
            delta, total = mean - self.mean, self.count + n
            self.mean = self.mean + delta * n / total
            m2 = self.var * self.count + var * n + delta**2 * self.count * n / total
            self.var, self.count = m2 / total, total
            return self

        def __call__(self, x, clip=None):
            out = (x - self.mean) / paddle.sqrt(self.var + 1e-8)
            return out if clip is None else out.clip(-clip, clip)

    class Curiosity(nn.Layer):
        def __init__(self, dim, bonus=1.0, decay=0.9):
            super().__init__()
            self.fixed = nn.Linear(dim, 4)
            for p in self.fixed.parameters():
                p.stop_gradient = True
            self.learner = nn.Sequential(nn.Linear(dim, 6), nn.ELU(), nn.Linear(6, 4))
            self.obs_moments = RunningMoments([dim])
            self.rew_moments = RunningMoments([])
            self.bonus, self.decay = bonus, decay
            self.seen = 0

        @contextmanager
        def frozen(self):
            was = self.training
            self.eval()
            try:
                yield
            finally:
                if was:
                    self.train()

        def forward(self, obs):
            if self.training:
                self.obs_moments.update(obs)
                self.seen += obs.shape[0]
            x = self.obs_moments(obs, clip=3.0)
            error = (self.learner(x) - self.fixed(x).detach()).square().mean(-1)
            reward = error.detach()
            if self.training:
                self.rew_moments.update(reward)
                self.bonus *= self.decay
            scaled = self.bonus * reward / paddle.sqrt(self.rew_moments.var + 1e-6)
            if scaled.max() > 5.0:
                scaled = scaled / scaled.max() * 5.0
            return error.mean(), scaled

    net = Curiosity(3)
    opt = paddle.optimizer.Adam(0.01, parameters=net.learner.parameters())
    forward = convert(net.forward)
    rng = np.random.RandomState(4)
    for n, scale in ((6, 1.0), (6, 3.0), (4, 50.0), (9, 1.0)):
        loss, reward = forward(paddle.to_tensor((scale * rng.randn(n, 3)).astype("float32")))
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield loss, reward, net.bonus, net.seen
    with net.frozen():
        yield forward(paddle.ones([2, 3]))
    yield net.obs_moments, net.rew_moments.count, net.training
