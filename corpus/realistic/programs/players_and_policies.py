"""Games and agents: regret matching, alpha-beta, traces, prioritised replay, planning with a model."""

import collections
import itertools
import math
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def regret_matching_for_kuhn_poker(convert):
    """Counterfactual regret minimisation: a recursion over histories with nodes in a dict."""

    class InfoSet:
        count = 0

        def __init__(self, key):
            self.key = key
            self.regrets = paddle.zeros([2])
            self.total = paddle.zeros([2])
            InfoSet.count += 1

        def strategy(self, weight):
            positive = F.relu(self.regrets)
            norm = positive.sum()
            if norm > 0:
                now = positive / norm
            else:
                now = paddle.full([2], 0.5)
            self.total = self.total + weight * now
            return now

        @property
        def average(self):
            return self.total / self.total.sum().clip(min=1e-9)

    class Trainer:
        actions = "pb"

        def __init__(self):
            self.nodes = {}

        def payoff(self, cards, history):
            if len(history) < 2:
                return None
            me, other = len(history) % 2, 1 - len(history) % 2
            higher = cards[me] > cards[other]
            if history[-1] == "p":
                if history == "pp":
                    return paddle.where(higher, paddle.to_tensor(1.0), paddle.to_tensor(-1.0))
                return paddle.to_tensor(1.0)
            if history[-2:] == "bb":
                return 2.0 if higher else -2.0
            return None

        def walk(self, cards, history, reach):
            value = self.payoff(cards, history)
            if value is not None:
                return value
            player = len(history) % 2
            key = f"{int(cards[player])}{history}"
            node = self.nodes.setdefault(key, InfoSet(key))
            strategy = node.strategy(reach[player])
            utilities = []
            for a, name in enumerate(self.actions):
                following = list(reach)
                following[player] = reach[player] * strategy[a]
                utilities.append(-self.walk(cards, history + name, following))
            utilities = paddle.stack([paddle.to_tensor(u) for u in utilities])
            mean = (strategy * utilities).sum()
            node.regrets = node.regrets + reach[1 - player] * (utilities - mean)
            return mean

        @convert
        def train(self, deals, linear=False):
            value = paddle.zeros([])
            for t, cards in enumerate(deals):
                weight = float(t + 1) if linear else 1.0
                start = [paddle.to_tensor(weight), paddle.ones([])]
                value += self.walk(cards, "", start)
            return value / len(deals)

    trainer = Trainer()
    deals = list(itertools.permutations(range(3), 2))
    for order in (deals, deals[::-1], deals[:4]):
        yield trainer.train(paddle.to_tensor(order))
    yield trainer.train(paddle.to_tensor(deals), linear=True)
    yield {key: node.average for key, node in sorted(trainer.nodes.items())}


@program
def alpha_beta_on_connect_three(convert):
    """Negamax with alpha-beta, a transposition table, move ordering and iterative deepening."""

    class Flag(IntEnum):
        EXACT = 0
        LOWER = 1
        UPPER = 2

    class Entry(NamedTuple):
        depth: int
        flag: Flag
        value: float
        move: Optional[int]

    class Board:
        height, width, need = 3, 4, 3

        def __init__(self, cells=None, turn=1):
            self.cells = paddle.zeros([self.height, self.width]) if cells is None else cells
            self.turn = turn

        def moves(self):
            free = (self.cells[0] == 0).tolist()
            order = sorted(range(self.width), key=lambda c: abs(c - self.width // 2))
            return [c for c in order if free[c]]

        def play(self, column):
            cells = self.cells.clone()
            filled = (cells[:, column] != 0).sum()
            cells[self.height - 1 - filled, column] = float(self.turn)
            return Board(cells, -self.turn)

        def won(self):
            owner = (self.cells == -self.turn).astype("float32")[None, None]
            n = self.need
            for kernel in (
                paddle.ones([1, n]),
                paddle.ones([n, 1]),
                paddle.eye(n),
                paddle.eye(n).flip(0),
            ):
                if min(kernel.shape) <= min(self.height, self.width):
                    if (F.conv2d(owner, kernel[None, None]) >= n).any():
                        return True
            return False

        @property
        def key(self):
            return tuple(self.cells.flatten().astype("int64").tolist()), self.turn

        def score(self):
            middle = self.cells[:, self.width // 2].sum() * self.turn
            return float(0.1 * middle)

    class Search:
        def __init__(self):
            self.table = {}
            self.visited = self.hits = 0

        def negamax(self, board, depth, alpha, beta):
            self.visited += 1
            if board.won():
                return -10.0 - depth, None
            moves = board.moves()
            if not moves:
                return 0.0, None
            if depth == 0:
                return board.score(), None
            old = alpha
            if (entry := self.table.get(board.key)) is not None and entry.depth >= depth:
                self.hits += 1
                match entry:
                    case Entry(flag=Flag.EXACT, value=value, move=move):
                        return value, move
                    case Entry(flag=Flag.LOWER, value=value):
                        alpha = max(alpha, value)
                    case Entry(value=value):
                        beta = min(beta, value)
                if alpha >= beta:
                    return entry.value, entry.move
            best, choice = -math.inf, None
            for move in moves:
                value = -self.negamax(board.play(move), depth - 1, -beta, -alpha)[0]
                if value > best:
                    best, choice = value, move
                alpha = max(alpha, best)
                if alpha >= beta:
                    break
            flag = Flag.UPPER if best <= old else Flag.LOWER if best >= beta else Flag.EXACT
            self.table[board.key] = Entry(depth, flag, best, choice)
            return best, choice

        @convert
        def best(self, cells, turn, depth=2):
            found = None
            for d in range(1, depth + 1):
                value, move = self.negamax(Board(cells, turn), d, -math.inf, math.inf)
                found = (value, move, d)
                if abs(value) >= 10:
                    break
            return found

    search = Search()
    position = paddle.zeros([3, 4])
    yield search.best(position, 1)
    yield search.visited, search.hits
    position[2] = paddle.to_tensor([1.0, 1.0, 0.0, -1.0])
    yield search.best(position, 1), search.best(position, -1)
    position[1, 3] = -1.0
    yield search.best(position, -1, depth=3), len(search.table) > 0


@program
def eligibility_traces_on_tiles(convert):
    """Semi-gradient SARSA(lambda) on a small mountain car, tile coding, three kinds of traces."""

    class TileCoder:
        def __init__(self, low, high, tilings=2, tiles=3):
            self.low, self.high = paddle.to_tensor(low), paddle.to_tensor(high)
            self.tilings, self.tiles = tilings, tiles

        def __len__(self):
            return self.tilings * self.tiles**2

        def __call__(self, state):
            scaled = (state - self.low) / (self.high - self.low) * (self.tiles - 1)
            active = []
            for k in range(self.tilings):
                cell = (scaled + k / self.tilings).floor().clip(0, self.tiles - 1).astype("int64")
                active.append(k * self.tiles**2 + cell[0] * self.tiles + cell[1])
            return paddle.stack(active)

    class Traces(collections.UserDict):
        """How a trace grows, by its name."""

        def mark(self, kind, e, index):
            return self.data[kind](e, index)

    traces = Traces(
        accumulate=lambda e, i: paddle.index_add(e, i, 0, paddle.ones([i.shape[0]])),
        replace=lambda e, i: paddle.index_fill(e, i, 0, 1.0),
    )

    def car(state, action):
        x, v = state
        v = (v + 0.003 * (action - 1) * 5 - 0.0025 * paddle.cos(3 * x) * 5).clip(-0.07, 0.07)
        x = (x + v * 4).clip(-1.2, 0.6)
        if x <= -1.2:
            v = paddle.zeros_like(v)
        return paddle.stack([x, v]), x >= 0.5

    class Agent:
        def __init__(self, coder, lam=0.8, alpha=0.3, kind="replace"):
            self.coder, self.lam, self.alpha, self.kind = coder, lam, alpha, kind
            self.w = paddle.zeros([3, len(coder)])
            self.episodes = []

        def q(self, features):
            return self.w[:, features].sum(axis=1)

        def choose(self, features, u, epsilon):
            if u[0] < epsilon:
                return (u[1] * 3).astype("int64")
            return self.q(features).argmax()

        @convert
        def episode(self, state, draws, epsilon=0.2):
            e = paddle.zeros_like(self.w)
            features = self.coder(state)
            action = self.choose(features, draws[0], epsilon)
            total = 0.0
            for t, u in enumerate(draws[1:]):
                following, done = car(state, action)
                reward = 0.0 if done else -1.0
                total += reward
                delta = reward - self.q(features)[action]
                row = traces.mark(self.kind, e[action], features)
                e[action] = row
                if done:
                    self.w = self.w + self.alpha / self.coder.tilings * delta * e
                    break
                new_features = self.coder(following)
                new_action = self.choose(new_features, u, epsilon)
                delta = delta + self.q(new_features)[new_action]
                self.w = self.w + self.alpha / self.coder.tilings * delta * e
                e = self.lam * e
                state, features, action = following, new_features, new_action
            else:
                t = -1
            self.episodes.append(t)
            return state, total, t

    rng = np.random.RandomState(3)
    coder = TileCoder([-1.2, -0.07], [0.6, 0.07])
    for kind in ("replace", "accumulate"):
        agent = Agent(coder, kind=kind)
        for n, x in ((6, -0.5), (8, 0.3), (8, 0.45)):
            draws = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
            yield agent.episode(paddle.to_tensor([x, 0.03]), draws)
        yield agent.w, agent.episodes
    lost = Agent(coder, kind="dutch")
    yield attempt(lambda: lost.episode(paddle.to_tensor([0.0, 0.0]), paddle.ones([3, 2])))


@program
def prioritised_replay_in_a_sum_tree(convert):
    """A sum tree in a tensor, stratified samples, importance weights, n-step returns, a Q network."""

    class SumTree:
        def __init__(self, capacity):
            self.capacity = capacity
            self.nodes = paddle.zeros([2 * capacity - 1])

        def update(self, leaf, priority):
            i = leaf + self.capacity - 1
            change = priority - self.nodes[i]
            self.nodes[i] = priority
            while i > 0:
                i = (i - 1) // 2
                self.nodes[i] = self.nodes[i] + change

        def find(self, value):
            i = paddle.to_tensor(0)
            while i < self.capacity - 1:
                left = 2 * i + 1
                if value <= self.nodes[left]:
                    i = left
                else:
                    value = value - self.nodes[left]
                    i = left + 1
            return i - (self.capacity - 1), self.nodes[i]

        @property
        def total(self):
            return self.nodes[0]

    class NStep:
        def __init__(self, n, gamma):
            self.n, self.gamma = n, gamma
            self.recent = collections.deque()

        def push(self, obs, action, reward, done):
            self.recent.append((obs, action, reward))
            out = []
            while self.recent and (done or len(self.recent) >= self.n):
                powers = itertools.accumulate(
                    itertools.repeat(self.gamma, len(self.recent) - 1),
                    lambda a, b: a * b,
                    initial=1.0,
                )
                ret = sum(g * r for g, (_, _, r) in zip(powers, self.recent))
                first_obs, first_action, _ = self.recent.popleft()
                out.append((first_obs, first_action, ret))
            return out

    class Replay:
        alpha, beta, eps = 0.6, 0.4, 1e-2

        def __init__(self, capacity, dim):
            self.tree = SumTree(capacity)
            self.obs = paddle.zeros([capacity, dim])
            self.action = paddle.zeros([capacity], dtype="int64")
            self.ret = paddle.zeros([capacity])
            self.at = self.size = 0
            self.top = paddle.ones([])

        def add(self, obs, action, ret):
            self.obs[self.at], self.action[self.at], self.ret[self.at] = obs, action, ret
            self.tree.update(self.at, self.top**self.alpha)
            self.at = (self.at + 1) % self.tree.capacity
            self.size = min(self.size + 1, self.tree.capacity)

        def sample(self, u):
            segment = self.tree.total / u.shape[0]
            pairs = [self.tree.find(segment * (k + x)) for k, x in enumerate(u)]
            index, priority = map(paddle.stack, zip(*pairs))
            weights = (self.size * priority / self.tree.total) ** -self.beta
            return index, weights / weights.max()

        def refresh(self, index, errors):
            for i, e in zip(index, errors.abs() + self.eps):
                self.tree.update(i, e**self.alpha)
                if e > self.top:
                    self.top = e

    paddle.seed(11)
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
    opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())

    @convert
    def observe(replay, steps, obs, action, reward, done=False):
        stored = steps.push(obs, action, reward, done)
        for item in stored:
            replay.add(*item)
        return len(stored)

    @convert
    def learn(replay, u):
        index, weights = replay.sample(u)
        q = net(replay.obs[index])
        picked = paddle.take_along_axis(q, replay.action[index].unsqueeze(1), axis=1).squeeze(1)
        error = replay.ret[index] - picked
        loss = (weights * error**2).mean()
        opt.clear_grad()
        loss.backward()
        opt.step()
        replay.refresh(index, error.detach())
        return loss.detach(), index

    rng = np.random.RandomState(0)
    replay, steps = Replay(4, 2), NStep(2, 0.9)
    for t in range(7):
        obs = paddle.to_tensor(rng.randn(2).astype("float32"))
        action, reward = int(rng.randint(3)), float(rng.randn())
        stored = observe(replay, steps, obs, action, reward, done=t == 4)
        yield stored, replay.tree.nodes, replay.at
        if t >= 2:
            yield learn(replay, paddle.to_tensor(rng.rand(2 + t % 2).astype("float32")))
    yield replay.top, net[0].weight


@program
def planning_with_a_learned_model(convert):
    """Dyna-Q with prioritised sweeping: a maze, a model in a dict, a queue of urgent states."""

    class Maze:
        arrows = {"^": (-1, 0), "v": (1, 0), "<": (0, -1), ">": (0, 1)}

        def __init__(self, text):
            rows = text.split()
            self.height, self.width = len(rows), len(rows[0])
            self.walls = {
                (y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if c == "#"
            }
            self.goal = next(
                (y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if c == "G"
            )

        def step(self, place, arrow):
            y, x = (a + b for a, b in zip(place, self.arrows[arrow]))
            inside = 0 <= y < self.height and 0 <= x < self.width
            if not inside or (y, x) in self.walls:
                y, x = place
            return (y, x), float((y, x) == self.goal)

    @dataclass
    class Planner:
        maze: Maze
        gamma: float = 0.9
        theta: float = 1e-3
        q: paddle.Tensor = None
        model: dict = field(default_factory=dict)
        before: dict = field(default_factory=lambda: collections.defaultdict(set))
        queue: list = field(default_factory=list)

        def __post_init__(self):
            if self.q is None:
                self.q = paddle.zeros([self.maze.height, self.maze.width, 4])

        def priority(self, place, a):
            (y, x), reward = self.model[place, a]
            target = reward + self.gamma * self.q[y, x].max()
            return target - self.q[place[0], place[1], a]

        def push(self, place, a):
            p = self.priority(place, a).abs()
            if p > self.theta:
                self.queue.append((p, place, a))
                self.queue.sort(key=lambda item: item[0], reverse=True)

        def sweep(self, n):
            done = 0
            while self.queue and done < n:
                _, place, a = self.queue.pop(0)
                self.q[place[0], place[1], a] += self.priority(place, a)
                done += 1
                for earlier, b in sorted(self.before[place]):
                    self.push(earlier, b)
            return done

        @convert
        def walk(self, start, draws, epsilon=0.3, sweeps=3):
            place = start
            swept = []
            for u in draws:
                values = self.q[place[0], place[1]]
                if u[0] < epsilon or (values == values[0]).all():
                    a = int(u[1] * 4)
                else:
                    a = int(values.argmax())
                following, reward = self.maze.step(place, "^v<>"[a])
                self.model[place, a] = (following, reward)
                self.before[following].add((place, a))
                self.push(place, a)
                swept.append(self.sweep(sweeps))
                if reward > 0:
                    break
                place = following
            return place, swept

    rng = np.random.RandomState(14)
    planner = Planner(Maze("..G .#. ..."))
    for n, start in ((8, (2, 0)), (8, (0, 1)), (12, (1, 2)), (6, (2, 0))):
        draws = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
        yield planner.walk(start, draws)
        yield planner.q.max(axis=-1), len(planner.model), len(planner.queue)
