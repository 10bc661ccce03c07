"""Simulation: differential equations, events, particles, populations, queues, filters."""

import math
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import Callable, Dict, List, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@dataclass
class ODESolution:
    t: list
    y: list
    n_accepted: int = 0
    n_rejected: int = 0
    status: str = "running"

    def stack(self):
        return paddle.stack(self.t), paddle.stack(self.y)


@program
def rk45_adaptive(convert):
    """Embedded Runge-Kutta (Bogacki-Shampine) with step control, rejected steps and a solution object."""

    class AdaptiveRK23:
        def __init__(self, rhs, rtol=1e-3, atol=1e-5, max_steps=12, safety=0.9):
            self.rhs = rhs
            self.rtol, self.atol = rtol, atol
            self.max_steps, self.safety = max_steps, safety

        def attempt_step(self, t, y, h):
            k1 = self.rhs(t, y)
            k2 = self.rhs(t + h / 2, y + h / 2 * k1)
            k3 = self.rhs(t + 3 * h / 4, y + 3 * h / 4 * k2)
            high = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = self.rhs(t + h, high)
            low = y + h * (7 * k1 + 6 * k2 + 8 * k3 + 3 * k4) / 24
            scale = self.atol + self.rtol * paddle.maximum(y.abs(), high.abs())
            error = paddle.sqrt((((high - low) / scale) ** 2).mean())
            return high, error

        def integrate(self, t0, t1, y0, h=0.1):
            t, y = paddle.to_tensor(t0), y0
            h = paddle.to_tensor(h)
            solution = ODESolution(t=[t], y=[y])
            for _ in range(self.max_steps):
                h = paddle.minimum(h, t1 - t)
                candidate, error = self.attempt_step(t, y, h)
                if error <= 1.0:
                    t, y = t + h, candidate
                    solution.t.append(t)
                    solution.y.append(y)
                    solution.n_accepted += 1
                    if t >= t1 - 1e-6:
                        solution.status = "finished"
                        break
                else:
                    solution.n_rejected += 1
                factor = self.safety * (1.0 / paddle.clip(error, min=1e-4)) ** (1.0 / 3.0)
                h = h * paddle.clip(factor, 0.2, 4.0)
            else:
                solution.status = "max steps"
            return solution

    solver = AdaptiveRK23(lambda t, y: -y + paddle.sin(t))
    integrate = convert(solver.integrate)
    yield integrate(0.0, paddle.to_tensor(1.0), paddle.to_tensor([1.0, -1.0]))
    yield integrate(0.0, paddle.to_tensor(0.3), paddle.to_tensor([1.0, 0.5]), h=0.5)
    solver.rhs = lambda t, y: paddle.stack([y[1], (1 - y[0] ** 2) * y[1] * 5 - y[0]])
    yield integrate(0.0, paddle.to_tensor(4.0), paddle.to_tensor([2.0, 0.0]), h=0.2)


@program
def bouncing_ball_events(convert):
    """Integration with event location by bisection; the velocity flips and energy is lost."""

    State = namedtuple("State", "height velocity time")
    GRAVITY = 9.81

    class Event(IntEnum):
        NONE = 0
        BOUNCE = 1
        REST = 2

    class Ball:
        def __init__(self, restitution=0.8, dt=0.05):
            self.restitution = restitution
            self.dt = dt
            self.bounces = []

        def flow(self, s, dt):
            return State(
                s.height + s.velocity * dt - 0.5 * GRAVITY * dt * dt,
                s.velocity - GRAVITY * dt,
                s.time + dt,
            )

        def locate(self, s, dt):
            lo, hi = paddle.zeros([]), dt
            for _ in range(12):
                mid = (lo + hi) / 2
                if self.flow(s, mid).height < 0:
                    hi = mid
                else:
                    lo = mid
            return hi

        def step(self, s):
            dt = paddle.to_tensor(self.dt)
            nxt = self.flow(s, dt)
            if nxt.height >= 0:
                return nxt, Event.NONE
            when = self.locate(s, dt)
            hit = self.flow(s, when)
            velocity = -self.restitution * hit.velocity
            self.bounces.append(hit.time)
            if velocity < 0.5:
                return State(paddle.zeros([]), paddle.zeros([]), hit.time), Event.REST
            return State(paddle.zeros([]), velocity, hit.time), Event.BOUNCE

        def simulate(self, height, max_steps=60):
            s = State(height, paddle.zeros_like(height), paddle.zeros_like(height))
            track = [s.height]
            for i in range(max_steps):
                s, event = self.step(s)
                track.append(s.height)
                if event == Event.REST:
                    break
            return s, event, len(track), paddle.stack(track).max()

    ball = Ball(restitution=0.5, dt=0.1)
    simulate = convert(ball.simulate)
    yield simulate(paddle.to_tensor(1.0), max_steps=14)
    yield len(ball.bounces), ball.bounces[:2]
    yield simulate(paddle.to_tensor(0.02), max_steps=5)
    ball.restitution = 0.9
    yield simulate(paddle.to_tensor(2.0), max_steps=8)


@program
def leapfrog_nbody(convert):
    """Symplectic N-body integration with softening, energy drift and collisions that merge bodies."""

    class NBody:
        def __init__(self, masses, softening=0.05, merge_radius=0.0):
            self.masses = masses
            self.softening = softening
            self.merge_radius = merge_radius

        def acceleration(self, x):
            d = x.unsqueeze(0) - x.unsqueeze(1)
            r2 = (d**2).sum(-1) + self.softening**2
            inv = r2**-1.5
            inv = inv * (1 - paddle.eye(x.shape[0]))
            return (d * (inv * self.masses.unsqueeze(0)).unsqueeze(-1)).sum(axis=1)

        def energy(self, x, v):
            kinetic = 0.5 * (self.masses * (v**2).sum(-1)).sum()
            r = paddle.sqrt(((x.unsqueeze(0) - x.unsqueeze(1)) ** 2).sum(-1) + self.softening**2)
            mm = self.masses.unsqueeze(0) * self.masses.unsqueeze(1)
            potential = -(paddle.triu(mm / r, diagonal=1)).sum()
            return kinetic + potential

        def run(self, x, v, dt, steps, every=2):
            a = self.acceleration(x)
            start = self.energy(x, v)
            frames = {}
            for s in range(steps):
                v = v + 0.5 * dt * a
                x = x + dt * v
                a = self.acceleration(x)
                v = v + 0.5 * dt * a
                if s % every == 0:
                    frames[s] = x
                if self.merge_radius > 0:
                    gap = paddle.cdist(x, x) + 1e3 * paddle.eye(x.shape[0])
                    if gap.min() < self.merge_radius:
                        print("collision in step", s)
                        break
            drift = (self.energy(x, v) - start).abs() / start.abs()
            return x, v, drift, frames

    rng = np.random.RandomState(0)
    bodies = NBody(paddle.to_tensor([1.0, 0.5, 0.2]))
    run = convert(bodies.run)
    for steps in (3, 5):
        x = paddle.to_tensor(rng.randn(3, 2).astype("float32"))
        yield run(x, paddle.zeros([3, 2]), dt=0.01, steps=steps)
    bodies.merge_radius = 0.3
    yield run(
        paddle.to_tensor([[0.0, 0.0], [0.5, 0.0], [5.0, 5.0]]),
        paddle.to_tensor([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]),
        0.05,
        4,
    )


@program
def queue_simulation(convert):
    """M/M/c queue from given draws: a heap of departures in Python, waiting times on tensors."""

    @dataclass(order=True)
    class Departure:
        time: float
        server: int = field(compare=False)

    class QueueSimulator:
        def __init__(self, servers):
            self.servers = servers
            self.log: List[str] = []

        def lindley(self, interarrival, service):
            """Waiting times of a single server by the Lindley recursion."""
            wait = paddle.zeros([])
            waits = []
            busy = 0
            for k in range(interarrival.shape[0]):
                wait = F.relu(wait + service[k - 1] - interarrival[k]) if k > 0 else wait
                if wait > 0:
                    busy += 1
                waits.append(wait)
            return paddle.stack(waits), busy

        def run(self, interarrival, service):
            if self.servers == 1:
                return self.lindley(interarrival, service)
            arrivals = paddle.cumsum(interarrival)
            free_at = paddle.zeros([self.servers])
            waits = []
            for k in range(arrivals.shape[0]):
                server = free_at.argmin()
                start = paddle.maximum(arrivals[k], free_at[server])
                waits.append(start - arrivals[k])
                free_at[server] = start + service[k]
            waits = paddle.stack(waits)
            delayed = (waits > 0).astype("int64").sum()
            if delayed > 2:
                self.log.append("busy")
            return waits, delayed

    rng = np.random.RandomState(3)
    for servers in (1, 2):
        simulator = QueueSimulator(servers)
        run = convert(simulator.run)
        for n in (5, 5, 7):
            inter = paddle.to_tensor(rng.exponential(1.0, n).astype("float32"))
            yield run(inter, paddle.to_tensor(rng.exponential(1.5, n).astype("float32")))
        yield simulator.log


@program
def gillespie_sir(convert):
    """Stochastic SIR from given uniforms; the loop ends when nobody is infected or time is up."""

    class SIR:
        def __init__(self, beta=0.5, gamma=0.2, horizon=8.0):
            self.beta, self.gamma, self.horizon = beta, gamma, horizon

        def propensities(self, s, i, n):
            return paddle.stack([self.beta * s * i / n, self.gamma * i])

        @convert
        def simulate(self, s, i, uniforms):
            n = s + i
            r = paddle.zeros_like(s)
            t = paddle.zeros([])
            times, infected = [], []
            k = 0
            while i > 0 and t < self.horizon and k < uniforms.shape[0]:
                rates = self.propensities(s, i, n)
                total = rates.sum()
                t = t - paddle.log(uniforms[k, 0]) / total
                if uniforms[k, 1] * total < rates[0]:
                    s, i = s - 1, i + 1
                else:
                    i, r = i - 1, r + 1
                times.append(t)
                infected.append(i)
                k += 1
            return dict(s=s, i=i, r=r, t=t, events=k), times, infected

    rng = np.random.RandomState(11)
    for beta in (0.5, 2.0):
        model = SIR(beta=beta)
        for s0, i0, n in ((9.0, 1.0, 12), (5.0, 3.0, 12), (4.0, 0.0, 12)):
            uniforms = paddle.to_tensor(rng.uniform(0.05, 1, (n, 2)).astype("float32"))
            yield model.simulate(paddle.to_tensor(s0), paddle.to_tensor(i0), uniforms)


@program
def particle_filter(convert):
    """Bootstrap filter with systematic resampling when the effective sample size drops."""

    class ParticleFilter:
        def __init__(self, n, transition, obs_std, threshold=0.5):
            self.n, self.transition, self.obs_std = n, transition, obs_std
            self.threshold = threshold
            self.particles = paddle.linspace(-1, 1, n)
            self.log_weights = paddle.full([n], -math.log(n))
            self.resampled = 0
            self.evidence = paddle.zeros([])

        @property
        def weights(self):
            return F.softmax(self.log_weights, axis=0)

        @property
        def ess(self):
            return 1.0 / (self.weights**2).sum()

        def systematic(self, u):
            positions = (paddle.arange(self.n, dtype="float32") + u) / self.n
            index = paddle.searchsorted(paddle.cumsum(self.weights), positions)
            return paddle.clip(index, max=self.n - 1)

        def update(self, y, noise, u):
            self.particles = self.transition(self.particles) + noise
            loglik = -0.5 * ((y - self.particles) / self.obs_std) ** 2
            self.log_weights = self.log_weights + loglik
            total = paddle.logsumexp(self.log_weights)
            self.log_weights = self.log_weights - total
            self.evidence = self.evidence + total
            if self.ess < self.threshold * self.n:
                self.particles = self.particles[self.systematic(u)]
                self.log_weights = paddle.full([self.n], -math.log(self.n))
                self.resampled += 1
            return (self.weights * self.particles).sum()

    rng = np.random.RandomState(5)
    for threshold in (0.5, 0.9):
        pf = ParticleFilter(8, lambda x: 0.9 * x + 0.1, obs_std=0.3, threshold=threshold)
        update = convert(pf.update)
        for y in (0.2, 0.4, 2.0, 0.3, 0.1):
            noise = paddle.to_tensor(rng.randn(8).astype("float32") * 0.2)
            yield update(paddle.to_tensor(y), noise, float(rng.rand()))
            yield pf.ess, pf.resampled
        yield pf.evidence, pf.particles


@program
def kalman_with_missing(convert):
    """Kalman filter and RTS smoother; NaN observations are skipped, outliers are gated."""

    @dataclass(frozen=True)
    class LinearModel:
        F: paddle.Tensor
        H: paddle.Tensor
        Q: paddle.Tensor
        R: paddle.Tensor
        gate: Optional[float] = None

    class Kalman:
        def __init__(self, model: LinearModel):
            self.model = model

        def predict(self, x, p):
            m = self.model
            return m.F @ x, m.F @ p @ m.F.t() + m.Q

        def correct(self, x, p, z):
            m = self.model
            innovation = z - m.H @ x
            s = m.H @ p @ m.H.t() + m.R
            k = p @ m.H.t() @ paddle.linalg.inv(s)
            if m.gate is not None:
                distance = (innovation * (paddle.linalg.inv(s) @ innovation)).sum()
                if distance > m.gate:
                    return x, p, False
            return x + k @ innovation, (paddle.eye(x.shape[0]) - k @ m.H) @ p, True

        def filter(self, zs, x, p, smooth=False):
            means, covs, predicted = [], [], []
            used = 0
            for z in zs:
                x, p = self.predict(x, p)
                predicted.append((x, p))
                if not paddle.isnan(z).any():
                    x, p, ok = self.correct(x, p, z)
                    if ok:
                        used += 1
                means.append(x)
                covs.append(p)
            if smooth:
                for t in range(len(means) - 2, -1, -1):
                    xp, pp = predicted[t + 1]
                    gain = covs[t] @ self.model.F.t() @ paddle.linalg.inv(pp)
                    means[t] = means[t] + gain @ (means[t + 1] - xp)
                    covs[t] = covs[t] + gain @ (covs[t + 1] - pp) @ gain.t()
            return paddle.stack(means), covs[-1], used

    dt = 0.5
    base = dict(
        F=paddle.to_tensor([[1.0, dt], [0.0, 1.0]]),
        H=paddle.to_tensor([[1.0, 0.0]]),
        Q=0.01 * paddle.eye(2),
        R=paddle.to_tensor([[0.1]]),
    )
    zs = paddle.to_tensor([[0.1], [0.6], [float("nan")], [1.4], [9.0], [2.6]])
    for gate in (None, 6.0):
        kalman = Kalman(LinearModel(**base, gate=gate))
        run = convert(kalman.filter)
        for smooth in (False, True):
            yield run(zs, paddle.zeros([2]), paddle.eye(2), smooth=smooth)
        yield run(zs[:3], paddle.ones([2]), paddle.eye(2) * 2)


@program
def game_of_life_and_sandpile(convert):
    """Cellular automata: a cycle detector over seen states, a sandpile that topples until stable."""

    class Life:
        kernel = paddle.to_tensor([[[[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]]])

        def __init__(self, wrap=False):
            self.wrap = wrap

        def neighbours(self, board):
            mode = "circular" if self.wrap else "constant"
            padded = F.pad(board[None, None], [1, 1, 1, 1], mode=mode)
            return F.conv2d(padded, self.kernel)[0, 0]

        def step(self, board):
            n = self.neighbours(board)
            alive = board > 0.5
            return ((alive & ((n == 2) | (n == 3))) | (~alive & (n == 3))).astype("float32")

        def run(self, board, generations=6):
            seen = [board]
            period = 0
            for g in range(generations):
                board = self.step(board)
                if board.sum() == 0:
                    return board, g + 1, "extinct"
                for back, old in enumerate(reversed(seen)):
                    if (old == board).all():
                        period = back + 1
                        break
                if period:
                    return board, g + 1, f"period {period}"
                seen.append(board)
            return board, generations, "alive"

    @convert
    def topple(grid, threshold=4):
        topplings = paddle.zeros([], dtype="int64")
        while (grid >= threshold).any():
            over = (grid >= threshold).astype("int64")
            topplings += over.sum()
            grid = grid - 4 * over
            grid[1:] += over[:-1]
            grid[:-1] += over[1:]
            grid[:, 1:] += over[:, :-1]
            grid[:, :-1] += over[:, 1:]
        return grid, topplings

    life = Life()
    run = convert(life.run)
    blinker = np.zeros((5, 5), "float32")
    blinker[2, 1:4] = 1
    glider = np.zeros((5, 5), "float32")
    glider[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    lonely = np.eye(5, dtype="float32")[:1].repeat(5, 0) * np.eye(5, dtype="float32")
    for board in (blinker, glider, lonely):
        yield run(paddle.to_tensor(board), generations=3)
    life.wrap = True
    yield run(paddle.to_tensor(glider), generations=3)
    for height in (3, 6, 9):
        pile = np.zeros((3, 3), "int64")
        pile[1, 1] = height
        yield topple(paddle.to_tensor(pile))


@program
def traffic_light_state_machine(convert):
    """A controller with an Enum of phases, handlers in a dict, sensors as tensors, a log of changes."""

    class Phase(Enum):
        RED = auto()
        GREEN = auto()
        AMBER = auto()

    class Controller:
        MIN_GREEN = 2

        def __init__(self):
            self.phase = Phase.RED
            self.timer = 0
            self.queue = paddle.zeros([2])
            self.changes: List[Tuple[int, str]] = []
            self.handlers: Dict[Phase, Callable] = {
                Phase.RED: self.on_red,
                Phase.GREEN: self.on_green,
                Phase.AMBER: self.on_amber,
            }

        def on_red(self, arrivals):
            if self.queue[0] > 2.0:
                return Phase.GREEN
            return Phase.RED

        def on_green(self, arrivals):
            self.queue[0] = F.relu(self.queue[0] - 2.0)
            if self.timer >= self.MIN_GREEN and (self.queue[0] == 0 or self.queue[1] > 4):
                return Phase.AMBER
            return Phase.GREEN

        def on_amber(self, arrivals):
            return Phase.RED if self.timer >= 1 else Phase.AMBER

        def tick(self, arrivals):
            self.queue = self.queue + arrivals
            nxt = self.handlers[self.phase](arrivals)
            if nxt is not self.phase:
                self.changes.append((len(self.changes), nxt.name))
                self.phase, self.timer = nxt, 0
            else:
                self.timer += 1
            return self.queue

    controller = Controller()
    tick = convert(controller.tick)
    rng = np.random.RandomState(1)
    for _ in range(10):
        arrivals = paddle.to_tensor(rng.randint(0, 3, 2).astype("float32"))
        yield tick(arrivals), controller.phase, controller.timer
    yield controller.changes


@program
def heat_equation_multigrid(convert):
    """A recursive V-cycle on Python sizes, smoothing with slices; stops when the residual is small."""

    class Multigrid:
        def __init__(self, pre=2, post=2, omega=2.0 / 3.0):
            self.pre, self.post, self.omega = pre, post, omega
            self.visits = defaultdict(int)

        def residual(self, u, f, h):
            r = paddle.zeros_like(u)
            r[1:-1] = f[1:-1] - (2 * u[1:-1] - u[:-2] - u[2:]) / (h * h)
            return r

        def smooth(self, u, f, h, sweeps):
            for _ in range(sweeps):
                new = u.clone()
                new[1:-1] = (1 - self.omega) * u[1:-1] + self.omega * 0.5 * (
                    u[:-2] + u[2:] + h * h * f[1:-1]
                )
                u = new
            return u

        def cycle(self, u, f, h):
            n = u.shape[0]
            self.visits[n] += 1
            u = self.smooth(u, f, h, self.pre)
            if n > 3:
                r = self.residual(u, f, h)
                coarse_r = r[::2].clone()
                coarse_r[1:-1] = 0.25 * (r[1:-2:2] + 2 * r[2:-1:2] + r[3::2])
                e = self.cycle(paddle.zeros_like(coarse_r), coarse_r, 2 * h)
                fine = paddle.zeros_like(u)
                fine[::2] = e
                fine[1::2] = 0.5 * (e[:-1] + e[1:])
                u = u + fine
            return self.smooth(u, f, h, self.post)

        def solve(self, f, tol=1e-2, max_cycles=6):
            h = 1.0 / (f.shape[0] - 1)
            u = paddle.zeros_like(f)
            norms = []
            for c in range(max_cycles):
                u = self.cycle(u, f, h)
                norm = self.residual(u, f, h).abs().max()
                norms.append(norm)
                if norm < tol:
                    break
            return u, norms

    mg = Multigrid()
    solve = convert(mg.solve)
    for n in (5, 9):
        x = paddle.linspace(0, 1, n)
        yield solve(paddle.sin(math.pi * x) * 10, max_cycles=3)
        yield solve(paddle.ones([n]), tol=0.5, max_cycles=3)
    yield dict(mg.visits)


@program
def neural_ode_trained(convert):
    """A neural ODE with RK4, trained through the solver in train mode, with dense output in eval."""

    class Dynamics(nn.Layer):
        def __init__(self, dim=2, hidden=5):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim))
            self.nfe = 0

        def forward(self, t, y):
            self.nfe += 1
            return self.net(y**3) * paddle.cos(t)

    class NeuralODE(nn.Layer):
        def __init__(self, func, method="rk4", steps=3):
            super().__init__()
            self.func, self.method, self.steps = func, method, steps

        def increment(self, t, y, h):
            f = self.func
            if self.method == "euler":
                return h * f(t, y)
            k1 = f(t, y)
            k2 = f(t + h / 2, y + h / 2 * k1)
            k3 = f(t + h / 2, y + h / 2 * k2)
            k4 = f(t + h, y + h * k3)
            return h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        def forward(self, y, ts):
            outputs = [y]
            for i in range(len(ts) - 1):
                h = (ts[i + 1] - ts[i]) / self.steps
                t = ts[i]
                for _ in range(self.steps):
                    y = y + self.increment(t, y, h)
                    t = t + h
                if y.abs().max() > 50:
                    print("blow-up")
                    break
                outputs.append(y)
            if self.training:
                return outputs[-1]
            return paddle.stack(outputs)

    for method in ("euler", "rk4"):
        paddle.seed(8)
        model = NeuralODE(Dynamics(), method=method, steps=2)
        optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=model.parameters())
        run = convert(model)
        y0 = paddle.to_tensor([[1.0, 0.5], [0.3, -0.8]])
        for epoch in range(3):
            loss = F.mse_loss(run(y0, paddle.to_tensor([0.0, 0.5, 1.0])), -y0)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            yield loss
        model.eval()
        with paddle.no_grad():
            yield run(y0, paddle.linspace(0, 1, 4))
            yield run(y0 * 20, paddle.to_tensor([0.0, 5.0, 10.0]))
        yield model.func.nfe
