"""Physics and games in steps: cloth, spins, waves, fluids, boards and cards."""

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def cloth_held_by_constraints(convert):
    """Position-based cloth: Verlet steps, springs that tear, a ball and a floor, pins that are let go."""

    class Cloth:
        def __init__(self, w, h, gap=1.0):
            ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
            p = np.stack([xs.ravel() * gap, 3.0 - ys.ravel() * gap], 1).astype("float32")
            self.pos, self.old = T(p), T(p)
            self.springs = [
                (r * w + c, r * w + c + d)
                for r in range(h)
                for c in range(w)
                for d, ok in ((1, c + 1 < w), (w, r + 1 < h))
                if ok
            ]
            self.rest = gap
            self.pinned = {0: self.pos[0], w - 1: self.pos[w - 1]}
            self.torn = 0

        def satisfy(self, limit):
            alive = []
            for a, b in self.springs:
                d = self.pos[b] - self.pos[a]
                length = d.norm()
                if length > limit * self.rest:
                    self.torn += 1
                    continue
                alive.append((a, b))
                push = 0.5 * (1 - self.rest / length.clip(min=1e-6)) * d
                self.pos[a] += push
                self.pos[b] -= push
            self.springs = alive

        def step(self, force, dt=0.1, limit=1.8, floor=-1.0):
            velocity = (self.pos - self.old) * 0.99
            self.old = self.pos
            self.pos = self.pos + velocity + force * dt * dt
            for _ in range(2):
                self.satisfy(limit)
                for i, p in self.pinned.items():
                    self.pos[i] = p
            below = self.pos[:, 1] < floor
            if below.any():
                y = self.pos[:, 1].clip(min=floor)
                self.pos = paddle.stack([self.pos[:, 0], y], axis=1)
            return self.pos.mean(axis=0)

    cloth = Cloth(2, 2)
    step = convert(cloth.step)
    for force in ([0.0, -9.8], [0.0, -9.8], [5.0, -60.0]):
        yield attempt(lambda: step(T(force))), cloth.torn, list(cloth.springs), cloth.pos + 0
    del cloth.pinned[0]
    yield attempt(lambda: step(T([0.0, -400.0]), limit=1.2)), cloth.torn, cloth.pos + 0


@program
def spins_flipped_in_clusters(convert):
    """Wolff clusters on a periodic lattice grow from a queue; magnetisation and energy are recorded."""

    class Lattice:
        def __init__(self, n, seed=0):
            rng = np.random.RandomState(seed)
            self.n = n
            self.spins = T(rng.choice([-1.0, 1.0], [n, n]).astype("float32"))

        def neighbours(self, r, c):
            for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                yield (r + dr) % self.n, (c + dc) % self.n

        @property
        def energy(self):
            s = self.spins
            return -(s * (s.roll(1, 0) + s.roll(1, 1))).sum()

        def wolff(self, start, draws, beta):
            add = 1 - paddle.exp(-2 * beta)
            seed_spin = self.spins[start]
            cluster, queue, k = {start}, deque([start]), 0
            while queue and k < draws.shape[0]:
                here = queue.popleft()
                for site in self.neighbours(*here):
                    if site in cluster or k >= draws.shape[0]:
                        continue
                    k += 1
                    if self.spins[site] == seed_spin and draws[k - 1] < add:
                        cluster.add(site)
                        queue.append(site)
            for r, c in cluster:
                self.spins[r, c] = -self.spins[r, c]
            return len(cluster)

    lattice = Lattice(3)
    flip = convert(lattice.wolff)
    rng = np.random.RandomState(1)
    for k, beta in ((6, 0.5), (6, 2.0), (9, 0.1), (4, 1.0)):
        start = (int(rng.randint(3)), int(rng.randint(3)))
        draws = T(rng.rand(k).astype("float32"))
        yield attempt(lambda: flip(start, draws, T(beta))), lattice.energy, lattice.spins.mean()


@program
def waves_with_absorbing_borders(convert):
    """A wave equation: the CFL number is checked, a source is switched off, sensors trigger, a mode damps."""

    class Unstable(ValueError):
        pass

    @dataclass
    class Sensor:
        at: tuple
        threshold: float
        fired: object = None

    class Waves:
        def __init__(self, n, speed, sensors=()):
            self.u = paddle.zeros([n, n])
            self.v = paddle.zeros([n, n])
            self.speed = speed
            self.sensors = list(sensors)
            self.t = 0

        def laplacian(self, u):
            padded = F.pad(u.unsqueeze(0).unsqueeze(0), [1, 1, 1, 1], mode="replicate")[0, 0]
            return (
                padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2] - 4 * u
            )

        def damp(self, u, width=1, factor=0.5):
            u[:width] *= factor
            u[-width:] *= factor
            u[:, :width] *= factor
            u[:, -width:] *= factor
            return u

        def run(self, steps, dt, source=None, absorb=True):
            number = self.speed.max() * dt
            if number > 0.7:
                raise Unstable(f"CFL {float(number):.2f} is more than 0.7")
            trace = []
            for _ in range(steps):
                accel = self.speed**2 * self.laplacian(self.u)
                if source is not None:
                    (r, c), amp = source
                    accel[r, c] += amp * paddle.sin(paddle.full([], self.t * dt))
                self.v = self.v + dt * accel
                self.u = self.u + dt * self.v
                if absorb:
                    self.u = self.damp(self.u)
                self.t += 1
                for s in self.sensors:
                    if s.fired is None and self.u[s.at].abs() > s.threshold:
                        s.fired = self.t
                trace.append((self.u**2 + self.v**2).sum())
                if trace[-1] < 1e-9:
                    source = None
            return paddle.stack(trace)

    waves = Waves(5, paddle.full([5, 5], 1.0), [Sensor((2, 3), 0.05), Sensor((0, 0), 10.0)])
    run = convert(waves.run)
    yield attempt(lambda: run(3, T(0.5), ((2, 2), T(2.0)))), [s.fired for s in waves.sensors]
    yield (
        attempt(lambda: run(3, T(0.5), ((2, 2), T(2.0)))),
        [s.fired for s in waves.sensors],
        waves.u + 0,
    )
    yield attempt(lambda: run(2, T(0.6), absorb=False)), waves.t
    yield attempt(lambda: run(2, T(0.9))), waves.t
    waves.speed = paddle.full([5, 5], 0.3)
    yield attempt(lambda: run(2, T(0.9))), waves.t, waves.u + 0


@program
def fluid_around_an_obstacle(convert):
    """Lattice Boltzmann in two dimensions: streaming, bounce-back, inflow, and a stop when it is steady."""
    C = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    W = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
    OPPOSITE = [C.index((-x, -y)) for x, y in C]

    class Flow:
        def __init__(self, h, w, inflow, tau):
            self.c = T(np.array(C, "float32"))
            self.w = T(np.array(W, "float32"))
            self.inflow, self.tau = inflow, tau
            self.solid = paddle.zeros([h, w], dtype="bool")
            self.solid[h // 2, w // 3] = True
            self.f = self.equilibrium(paddle.ones([h, w]), paddle.zeros([2, h, w]))

        def equilibrium(self, rho, u):
            cu = paddle.einsum("qd,dhw->qhw", self.c, u)
            return (
                self.w.reshape([-1, 1, 1]) * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u * u).sum(0))
            )

        def macroscopic(self):
            rho = self.f.sum(0)
            return rho, paddle.einsum("qd,qhw->dhw", self.c, self.f) / rho

        def step(self):
            moved = [
                paddle.roll(self.f[q], shifts=[y, x], axis=[0, 1]) for q, (x, y) in enumerate(C)
            ]
            self.f = paddle.stack(moved)
            rho, u = self.macroscopic()
            u[0, :, 0] = self.inflow
            u[1, :, 0] = 0.0
            post = self.f + (self.equilibrium(rho, u) - self.f) / self.tau
            back = paddle.stack([self.f[q] for q in OPPOSITE])
            self.f = paddle.where(self.solid, back, post)
            return u

        def settle(self, tol, limit=20):
            old = None
            for k in range(limit):
                u = self.step()
                if old is not None:
                    change = (u - old).abs().mean()
                    if change < tol:
                        return k, u.norm(), True
                    if not paddle.isfinite(change):
                        raise FloatingPointError("the flow has no numbers any more")
                old = u
            return limit, u.norm(), False

    flow = Flow(4, 6, 0.05, 0.8)
    settle = convert(flow.settle)
    for tol, limit in ((1e-3, 6), (2e-3, 6), (1e-9, 2)):
        yield attempt(lambda: settle(tol, limit)), flow.macroscopic()[0].mean()
    flow.tau = 0.501
    flow.inflow = 1e20
    yield attempt(lambda: settle(1e-9, 8))


@program
def tiles_that_are_merged(convert):
    """2048: rows slide and merge, moves are tried in order of their gain, the game ends when none is left."""
    MOVES = {"left": 0, "up": 1, "right": 2, "down": 3}

    class Board:
        def __init__(self, cells):
            self.cells = T(cells, dtype="int64")
            self.score = 0
            self.moves = []

        @staticmethod
        def slide(row):
            tiles = [v for v in row.tolist() if v]
            out, gain, i = [], 0, 0
            while i < len(tiles):
                if i + 1 < len(tiles) and tiles[i] == tiles[i + 1]:
                    out.append(2 * tiles[i])
                    gain += 2 * tiles[i]
                    i += 2
                else:
                    out.append(tiles[i])
                    i += 1
            return paddle.to_tensor(out + [0] * (row.shape[0] - len(out)), dtype="int64"), gain

        def tried(self, move):
            k = MOVES[move]
            turned = paddle.rot90(self.cells, k)
            rows, gain = zip(*(self.slide(r) for r in turned))
            return paddle.rot90(paddle.stack(rows), -k), sum(gain)

        def play(self):
            best = None
            for move in MOVES:
                cells, gain = self.tried(move)
                if (cells == self.cells).all():
                    continue
                empty = int((cells == 0).sum())
                if best is None or (gain, empty) > best[0]:
                    best = (gain, empty), move, cells
            if best is None:
                raise StopIteration
            (gain, _), move, self.cells = best
            self.score += gain
            self.moves.append(move)
            return self.cells

    for cells in ([[2, 2, 4], [0, 2, 4], [8, 0, 8]], [[2, 4], [4, 2]], [[0, 2], [0, 2]]):
        board = Board(cells)
        play = convert(board.play)
        yield attempt(play), board.score, list(board.moves)
        yield attempt(play), board.score, list(board.moves), board.cells


@program
def fields_opened_between_mines(convert):
    """Minesweeper: counts by convolution, flooding of empty fields, flags by a rule, a status."""

    class Status(Enum):
        PLAYING = auto()
        WON = auto()
        LOST = auto()

    class Field:
        def __init__(self, mines):
            self.mines = T(mines, dtype="float32")
            kernel = paddle.ones([1, 1, 3, 3])
            kernel[0, 0, 1, 1] = 0
            self.kernel = kernel
            self.counts = self.around(self.mines)
            self.open = paddle.zeros_like(self.mines)
            self.flags = paddle.zeros_like(self.mines)
            self.status = Status.PLAYING

        def around(self, x):
            return F.conv2d(x.reshape([1, 1, *x.shape]), self.kernel, padding=1)[0, 0]

        def click(self, r, c):
            if self.status is not Status.PLAYING:
                raise RuntimeError(f"the game is {self.status.name.lower()}")
            if self.mines[r, c] > 0:
                self.status = Status.LOST
                return self.open
            self.open[r, c] = 1
            while True:
                source = self.open * (self.counts == 0).astype("float32")
                grown = ((self.around(source) > 0) | (self.open > 0)).astype("float32")
                grown = grown * (1 - self.mines)
                if (grown == self.open).all():
                    break
                self.open = grown
            hidden = 1 - self.open
            sure = (self.around(hidden) == self.counts) & (self.open > 0) & (self.counts > 0)
            self.flags = ((self.around(sure.astype("float32")) > 0) & (hidden > 0)).astype(
                "float32"
            )
            if (self.open + self.mines).min() > 0:
                self.status = Status.WON
            return self.open

    field = Field([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    click = convert(field.click)
    for r, c in ((3, 1), (0, 0), (0, 3), (3, 3), (1, 3), (2, 2)):
        yield attempt(lambda: click(r, c)), field.status.name, field.flags + 0


@program
def cards_dealt_to_a_learner(convert):
    """Blackjack by Monte Carlo control: episodes of a generator, returns to a table keyed by states."""

    class Deck:
        def __init__(self, values):
            self.values, self.i = values, 0

        def draw(self):
            v = self.values[self.i]
            self.i += 1
            return v

    class Hand:
        def __init__(self, *cards):
            self.cards = list(cards)

        def __add__(self, card):
            return Hand(*self.cards, card)

        @property
        def total(self):
            s = sum(self.cards)
            if (paddle.stack(self.cards) == 1).any() and s <= 11:
                return s + 10
            return s

        @property
        def bust(self):
            return self.total > 21

    class Agent:
        def __init__(self, eps=0.1):
            self.q = paddle.zeros([22, 2])
            self.n = paddle.zeros([22, 2])
            self.eps = eps

        def act(self, total, coin):
            if coin < self.eps:
                return paddle.to_tensor(1)
            return self.q[total].argmax()

        def learn(self, visits, reward):
            for total, action in visits:
                self.n[total, action] += 1
                self.q[total, action] += (reward - self.q[total, action]) / self.n[total, action]

    agent = Agent()

    @convert
    def episode(cards, coins):
        deck = Deck(cards)
        player, dealer = Hand(deck.draw(), deck.draw()), Hand(deck.draw())
        visits = []
        reward = None
        for coin in coins:
            a = agent.act(player.total, coin)
            visits.append((player.total, a))
            if a == 0:
                break
            player = player + deck.draw()
            if player.bust:
                reward = paddle.full([], -1.0)
                break
        if reward is None:
            while dealer.total < 17:
                dealer += deck.draw()
            if dealer.bust or dealer.total < player.total:
                reward = paddle.full([], 1.0)
            else:
                reward = -(dealer.total > player.total).astype("float32")
        agent.learn(visits, reward)
        return reward, player.total, dealer.total

    for cards, coins in (
        ([5, 6, 10, 9, 8, 7, 3], [0.05, 0.5]),
        ([10, 6, 10, 9, 8, 7, 3], [0.05, 0.5]),
        ([1, 6, 4, 9, 8, 7, 3, 10], [0.5, 0.5]),
        ([10, 10, 1, 2, 3, 1, 5, 9], [0.5]),
    ):
        yield attempt(lambda: episode(T(cards), T(coins))), agent.q.sum(), agent.n.sum(0)
