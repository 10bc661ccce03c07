"""Simulations: queues, epidemics, bodies, cells, markets, ecosystems."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def queue_with_several_servers(convert):
    """Customers arrive, take the first free server or leave when the queue is too long."""

    @dataclass
    class Log:
        waits: List[paddle.Tensor] = field(default_factory=list)
        lost: paddle.Tensor = field(default_factory=lambda: paddle.zeros([], dtype="int64"))

        def summary(self):
            if not self.waits:
                return None
            waits = paddle.stack(self.waits)
            return dict(mean=waits.mean(), longest=waits.max(), lost=self.lost)

    class Servers:
        def __init__(self, count):
            self.free_at = paddle.zeros([count])
            self.busy = paddle.zeros([count])

        def next_free(self):
            index = self.free_at.argmin()
            return index, self.free_at[index]

        def serve(self, index, begin, duration):
            self.free_at = paddle.where(
                F.one_hot(index, self.free_at.shape[0]) > 0,
                (begin + duration).expand_as(self.free_at),
                self.free_at,
            )
            self.busy = self.busy + F.one_hot(index, self.busy.shape[0]) * duration

    @convert
    def simulate(gaps, services, servers=2, patience=None, close_at=None):
        pool, log = Servers(servers), Log()
        now = paddle.zeros([])
        served = 0
        for gap, service in zip(gaps, services):
            now = now + gap
            if close_at is not None and now > close_at:
                break
            index, free = pool.next_free()
            begin = paddle.maximum(now, free)
            wait = begin - now
            if patience is not None and wait > patience:
                log.lost = log.lost + 1
            else:
                pool.serve(index, begin, service)
            log.waits.append(wait)
            served += 1
        utilisation = pool.busy / pool.free_at.clip(min=1e-6)
        return log.summary(), utilisation, served

    rng = np.random.RandomState(0)
    for n, options in (
        (6, {}),
        (8, {"servers": 1}),
        (8, {"servers": 1, "patience": 0.8}),
        (8, {"servers": 3, "close_at": 2.0}),
    ):
        gaps = paddle.to_tensor(rng.exponential(0.5, n).astype("float32"))
        services = paddle.to_tensor(rng.exponential(0.8, n).astype("float32"))
        yield simulate(gaps, services, **options)


@program
def epidemic_with_interventions(convert):
    """SEIR with a lockdown that switches on and off by thresholds; the peak is recorded."""

    class Compartments(NamedTuple):
        s: paddle.Tensor
        e: paddle.Tensor
        i: paddle.Tensor
        r: paddle.Tensor

        @property
        def total(self):
            return self.s + self.e + self.i + self.r

    @dataclass
    class Policy:
        on: float = 0.05
        off: float = 0.02
        effect: float = 0.3
        active: Optional[paddle.Tensor] = None
        switches: Optional[paddle.Tensor] = None

        def reset(self):
            self.active = paddle.to_tensor(False)
            self.switches = paddle.zeros([], dtype="int64")

        def factor(self, infected):
            if self.active:
                if infected < self.off:
                    self.active = paddle.to_tensor(False)
                    self.switches += 1
            else:
                if infected > self.on:
                    self.active = paddle.to_tensor(True)
                    self.switches += 1
            return paddle.where(self.active, paddle.to_tensor(self.effect), paddle.to_tensor(1.0))

    def derivatives(c, beta, sigma, gamma):
        infection = beta * c.s * c.i / c.total
        return (-infection, infection - sigma * c.e, sigma * c.e - gamma * c.i, gamma * c.i)

    @convert
    def simulate(beta, days=12, sigma=0.4, gamma=0.2, policy=None, dt=1.0, extinct=1e-3):
        c = Compartments(*(paddle.to_tensor(v) for v in (0.97, 0.02, 0.01, 0.0)))
        if policy is not None:
            policy.reset()
        peak, peak_day = c.i, paddle.zeros([])
        curve = []
        for day in range(days):
            b = beta if policy is None else beta * policy.factor(c.i)
            d = derivatives(c, b, sigma, gamma)
            c = Compartments(*(x + dt * dx for x, dx in zip(c, d)))
            curve.append(c.i)
            if c.i > peak:
                peak, peak_day = c.i, paddle.to_tensor(float(day))
            if c.i + c.e < extinct:
                break
        return c, paddle.stack(curve), peak, peak_day

    for beta in (0.9, 0.3, 0.0):
        yield simulate(paddle.to_tensor(beta))
        policy = Policy()
        yield simulate(paddle.to_tensor(beta), policy=policy), policy.switches
    beta = paddle.to_tensor(0.8, stop_gradient=False)
    state, curve, peak, _ = simulate(beta, days=6)
    (curve.sum() + peak).backward()
    yield state.r, beta.grad
    yield simulate(0.01, gamma=0.9, sigma=0.9, days=20)[1].shape


@program
def gravitating_bodies(convert):
    """N bodies by leapfrog with softening; energy drift is watched, close bodies merge."""

    class Bodies:
        def __init__(self, position, velocity, mass):
            self.position, self.velocity, self.mass = position, velocity, mass

        @property
        def kinetic(self):
            return 0.5 * (self.mass * self.velocity.square().sum(axis=-1)).sum()

        def __len__(self):
            return self.mass.shape[0]

    class Simulator:
        def __init__(self, bodies, dt=0.05, softening=0.1, g=1.0):
            self.bodies, self.dt = bodies, dt
            self.softening, self.g = softening, g
            self.time = 0.0

        def differences(self):
            x = self.bodies.position
            d = x.unsqueeze(0) - x.unsqueeze(1)
            return d, d.square().sum(axis=-1) + self.softening**2

        def acceleration(self):
            d, r2 = self.differences()
            weights = self.bodies.mass.unsqueeze(0) / r2**1.5
            return self.g * (d * weights.unsqueeze(-1)).sum(axis=1)

        def potential(self):
            _, r2 = self.differences()
            pair = self.bodies.mass.unsqueeze(0) * self.bodies.mass.unsqueeze(1) / r2.sqrt()
            return -0.5 * self.g * (pair.sum() - paddle.diag(pair).sum())

        def energy(self):
            return self.bodies.kinetic + self.potential()

        @convert
        def run(self, steps, max_drift=None, every=2):
            start = self.energy()
            a = self.acceleration()
            log = []
            for step in range(steps):
                self.bodies.velocity = self.bodies.velocity + 0.5 * self.dt * a
                self.bodies.position = self.bodies.position + self.dt * self.bodies.velocity
                a = self.acceleration()
                self.bodies.velocity = self.bodies.velocity + 0.5 * self.dt * a
                self.time += self.dt
                drift = ((self.energy() - start) / start).abs()
                if step % every == 0:
                    log.append(drift)
                if max_drift is not None and drift > max_drift:
                    break
            return log, drift

        @convert
        def closest_pair(self):
            _, r2 = self.differences()
            r2 = r2 + 1e6 * paddle.eye(len(self.bodies))
            flat = r2.flatten().argmin()
            return flat // len(self.bodies), flat % len(self.bodies), r2.min().sqrt()

    rng = np.random.RandomState(1)
    for n, drift in ((3, None), (4, 1e-3), (2, 10.0)):
        bodies = Bodies(
            paddle.to_tensor(rng.randn(n, 2).astype("float32")),
            paddle.to_tensor(0.3 * rng.randn(n, 2).astype("float32")),
            paddle.to_tensor(rng.uniform(0.5, 1.5, n).astype("float32")),
        )
        simulator = Simulator(bodies)
        yield simulator.run(5, max_drift=drift)
        yield bodies.position, bodies.velocity, simulator.closest_pair()
        yield simulator.run(4, every=3), simulator.energy()


@program
def cellular_automata(convert):
    """Life on a torus until it is still or repeats; an elementary rule by table."""

    class Life:
        def __init__(self, grid):
            self.grid = grid
            self.generation = 0
            self.seen: List[paddle.Tensor] = []

        @staticmethod
        def neighbours(grid):
            total = paddle.zeros_like(grid)
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if dy == 0 and dx == 0:
                        continue
                    total = total + paddle.roll(grid, shifts=(dy, dx), axis=(0, 1))
            return total

        @convert
        def step(self):
            n = self.neighbours(self.grid)
            born = (self.grid == 0) & (n == 3)
            survive = (self.grid == 1) & ((n == 2) | (n == 3))
            self.grid = (born | survive).astype(self.grid.dtype)
            self.generation += 1
            return self.grid.sum()

        @convert
        def run(self, limit=6):
            reason = "limit"
            self.seen = [self.grid]
            for _ in range(limit):
                alive = self.step()
                if alive == 0:
                    reason = "dead"
                    break
                if (self.grid == self.seen[-1]).all():
                    reason = "still"
                    break
                if len(self.seen) > 1 and (self.grid == self.seen[-2]).all():
                    reason = "blinking"
                    break
                self.seen.append(self.grid)
            return reason, self.grid

    @convert
    def elementary(row, rule=110, steps=4):
        table = paddle.to_tensor([(rule >> i) & 1 for i in range(8)])
        rows = [row]
        for _ in range(steps):
            code = 4 * paddle.roll(row, 1) + 2 * row + paddle.roll(row, -1)
            row = table[code]
            rows.append(row)
        return paddle.stack(rows), sum(r.sum() for r in rows)

    patterns = {
        "block": [(1, 1), (1, 2), (2, 1), (2, 2)],
        "blinker": [(2, 1), (2, 2), (2, 3)],
        "pair": [(1, 1), (1, 2)],
        "glider": [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)],
    }
    for name, cells in patterns.items():
        grid = paddle.zeros([6, 6], dtype="int64")
        for y, x in cells:
            grid[y, x] = 1
        life = Life(grid)
        yield name, life.run(), life.generation, len(life.seen)
    start = paddle.zeros([9], dtype="int64")
    start[4] = 1
    for rule in (30, 90, 110):
        yield elementary(start, rule=rule)


@program
def order_book_with_matching(convert):
    """Limit orders are matched by price; prices and sizes are tensors, the book is Python."""

    @dataclass
    class Order:
        side: str
        price: float
        size: paddle.Tensor
        owner: str = "anonymous"

    class Book:
        def __init__(self):
            self.bids: List[Order] = []
            self.asks: List[Order] = []
            self.position: Dict[str, paddle.Tensor] = defaultdict(lambda: paddle.zeros([]))
            self.volume = paddle.zeros([])
            self.counts = Counter()

        def opposite(self, order):
            return self.asks if order.side == "buy" else self.bids

        def crosses(self, order, other):
            if order.side == "buy":
                return order.price >= other.price
            return order.price <= other.price

        def trade(self, order, other):
            size = paddle.minimum(order.size, other.size)
            order.size = order.size - size
            other.size = other.size - size
            self.volume = self.volume + size * other.price
            sign = 1.0 if order.side == "buy" else -1.0
            self.position[order.owner] = self.position[order.owner] + sign * size
            self.position[other.owner] = self.position[other.owner] - sign * size

        @convert
        def submit(self, order):
            self.counts[order.side] += 1
            for other in self.opposite(order):
                if not self.crosses(order, other):
                    break
                if order.size > 0:
                    self.trade(order, other)
            own = self.bids if order.side == "buy" else self.asks
            own.append(order)
            own.sort(key=lambda o: -o.price if order.side == "buy" else o.price)
            return order.size

        def clean(self):
            self.bids = [o for o in self.bids if float(o.size) > 0]
            self.asks = [o for o in self.asks if float(o.size) > 0]

        @convert
        def imbalance(self, depth=2):
            bid = sum((o.size for o in self.bids[:depth]), start=paddle.zeros([]))
            ask = sum((o.size for o in self.asks[:depth]), start=paddle.zeros([]))
            if bid + ask == 0:
                return paddle.zeros([])
            return (bid - ask) / (bid + ask)

    book = Book()
    yield book.imbalance()
    orders = [
        ("sell", 10.2, 3.0, "ann"),
        ("sell", 10.1, 2.0, "bob"),
        ("buy", 10.0, 4.0, "cy"),
        ("buy", 10.15, 3.0, "dee"),
        ("sell", 9.9, 6.0, "ann"),
        ("buy", 11.0, 9.0, "cy"),
    ]
    for side, price, size, owner in orders:
        yield book.submit(Order(side, price, paddle.to_tensor(size), owner=owner))
        book.clean()
        yield book.imbalance(), book.volume, len(book.bids), len(book.asks)
    yield dict(book.position), dict(book.counts)


@program
def predators_and_prey(convert):
    """Lotka-Volterra by Runge-Kutta with an adaptive step; extinction ends the run early."""

    class System:
        def __init__(self, **rates):
            self.a = rates.get("a", 1.1)
            self.b = rates.get("b", 0.4)
            self.c = rates.get("c", 0.1)
            self.d = rates.get("d", 0.4)

        def __call__(self, t, y):
            prey, hunters = y[0], y[1]
            return paddle.stack(
                [
                    self.a * prey - self.b * prey * hunters,
                    self.c * prey * hunters - self.d * hunters,
                ]
            )

    def rk4(f, t, y, h):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    @dataclass
    class Solution:
        times: List[paddle.Tensor]
        states: List[paddle.Tensor]
        rejected: paddle.Tensor
        status: str

    @convert
    def integrate(f, y, t_end=2.0, h=0.3, tol=1e-3, max_steps=12, floor=None):
        t = paddle.zeros([])
        h = paddle.to_tensor(h)
        rejected = paddle.zeros([], dtype="int64")
        times, states = [], []
        status = "finished"
        for _ in range(max_steps):
            if t >= t_end - 1e-6:
                break
            h = paddle.minimum(h, t_end - t)
            whole = rk4(f, t, y, h)
            half = rk4(f, t + h / 2, rk4(f, t, y, h / 2), h / 2)
            error = (whole - half).abs().max() / 15
            if error > tol:
                rejected = rejected + 1
                h = h / 2
                continue
            t, y = t + h, half
            times.append(t)
            states.append(y)
            if error < tol / 20:
                h = h * 2
            if floor is not None and (y < floor).any():
                status = "extinct"
                break
        return Solution(times, states, rejected, status)

    start = paddle.to_tensor([5.0, 3.0])
    yield integrate(System(), start)
    yield integrate(System(b=0.9, d=2.0), start, tol=1e-4)
    yield integrate(System(a=-3.0), start, floor=0.5, t_end=1.5)
    yield attempt(lambda: integrate(System(c=0.5), start, max_steps=3))
    solution = integrate(System(), start * 0.1, t_end=0.6)
    yield solution.status, solution.states
