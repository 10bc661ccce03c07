"""Minimisers that users carry from project to project, with and without derivatives."""

import abc
import collections
import functools
import heapq
import logging
import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Callable, Generic, Optional, TypeVar

import numpy as np
import paddle

from corpus.realistic import attempt, program

log = logging.getLogger("search")


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def bowl(x):
    return ((x - 0.5) ** 2).sum() + 0.1 * x.prod()


@program
def simplex_of_nelder_and_mead(convert):
    """Reflect, expand, contract, shrink; a simplex that is a sorted list of vertices; restarts."""

    @functools.total_ordering
    class Vertex:
        def __init__(self, x, f):
            self.x, self.f = x, f

        def __lt__(self, other):
            return self.f < other.f

        def __eq__(self, other):
            return self.f == other.f

        def towards(self, centre, t):
            return centre + t * (self.x - centre)

    class Counter:
        def __init__(self, fn, limit):
            self.fn, self.limit, self.calls = fn, limit, 0

        def __call__(self, x):
            self.calls += 1
            return Vertex(x, self.fn(x))

        @property
        def exhausted(self):
            return self.calls >= self.limit

    @convert
    def minimise(fn, start, step=0.5, tol=1e-4, limit=40):
        evaluate = Counter(fn, limit)
        n = start.shape[0]
        simplex = [evaluate(start)]
        for i in range(n):
            corner = start.clone()
            corner[i] += step
            simplex.append(evaluate(corner))
        moves = collections.Counter()
        while not evaluate.exhausted:
            simplex.sort()
            best, *middle, worst = simplex
            if (worst.f - best.f).abs() < tol:
                moves["converged"] += 1
                break
            centre = sum((v.x for v in [best, *middle]), paddle.zeros_like(start)) / n
            reflected = evaluate(worst.towards(centre, -1.0))
            if best <= reflected < simplex[-2]:
                simplex[-1] = reflected
                moves["reflect"] += 1
            elif reflected < best:
                expanded = evaluate(worst.towards(centre, -2.0))
                simplex[-1] = min(expanded, reflected)
                moves["expand"] += 1
            else:
                contracted = evaluate(worst.towards(centre, 0.5))
                if contracted < worst:
                    simplex[-1] = contracted
                    moves["contract"] += 1
                else:
                    simplex = [best] + [
                        evaluate(best.x + 0.5 * (v.x - best.x)) for v in simplex[1:]
                    ]
                    moves["shrink"] += 1
        top = min(simplex)
        return top.x, top.f, dict(moves), evaluate.calls

    for fn, start in ((bowl, [2.0, -1.0]), (rosenbrock, [-1.0, 1.0]), (bowl, [0.5, 0.5, 0.0])):
        yield minimise(fn, paddle.to_tensor(start))
    yield minimise(bowl, paddle.to_tensor([3.0, 3.0]), tol=0.5, limit=25)


@program
def covariance_matrix_adaptation(convert):
    """CMA-ES as ask and tell: recombination weights, evolution paths, a step size, stop reasons."""

    class Stop(Exception):
        def __init__(self, reason, generation):
            super().__init__(f"{reason} in generation {generation}")
            self.reason = reason

    class CMA:
        def __init__(self, mean, sigma, popsize=6):
            self.n, self.lam, self.mu = mean.shape[0], popsize, popsize // 2
            raw = np.log(self.mu + 0.5) - np.log(np.arange(1, self.mu + 1))
            self.weights = paddle.to_tensor((raw / raw.sum()).astype("float32"))
            self.mueff = float(1 / (self.weights**2).sum())
            n = self.n
            self.cc = 4 / (n + 4)
            self.cs = (self.mueff + 2) / (n + self.mueff + 5)
            self.c1 = 2 / ((n + 1.3) ** 2 + self.mueff)
            self.cmu = min(1 - self.c1, 2 * (self.mueff - 2 + 1 / self.mueff) / ((n + 2) ** 2))
            self.damps = 1 + self.cs
            self.chi = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))
            self.mean, self.sigma = mean, paddle.to_tensor(float(sigma))
            self.pc = self.ps = paddle.zeros([n])
            self.C = paddle.eye(n)
            self.generation = 0
            self.best = (None, float("inf"))

        def ask(self, z):
            vals, self.B = paddle.linalg.eigh(self.C)
            self.D = vals.clip(min=1e-10).sqrt()
            steps = (z * self.D) @ self.B.T
            return self.mean + self.sigma * steps

        def tell(self, xs, fs):
            order = paddle.argsort(fs)[: self.mu]
            chosen = xs[order]
            if fs.min() < self.best[1]:
                self.best = (xs[order[0]], fs.min())
            old, self.mean = self.mean, self.weights @ chosen
            shift = (self.mean - old) / self.sigma
            whitened = self.B @ ((self.B.T @ shift) / self.D)
            self.ps = (1 - self.cs) * self.ps + math.sqrt(
                self.cs * (2 - self.cs) * self.mueff
            ) * whitened
            length = self.ps.norm()
            hsig = (
                length / math.sqrt(1 - (1 - self.cs) ** (2 * (self.generation + 1)))
                < (1.4 + 2 / (self.n + 1)) * self.chi
            )
            self.pc = (1 - self.cc) * self.pc
            if hsig:
                self.pc = self.pc + math.sqrt(self.cc * (2 - self.cc) * self.mueff) * shift
            artmp = (chosen - old) / self.sigma
            self.C = (
                (1 - self.c1 - self.cmu) * self.C
                + self.c1 * paddle.outer(self.pc, self.pc)
                + self.cmu * (artmp.T * self.weights) @ artmp
            )
            self.sigma = self.sigma * paddle.exp((self.cs / self.damps) * (length / self.chi - 1))
            self.generation += 1
            if self.sigma < 1e-2:
                raise Stop("small step", self.generation)
            if (spread := fs.max() - fs.min()) < 1e-5:
                raise Stop(f"flat {float(spread):.1e}", self.generation)

    def run(es, fn, draws):
        try:
            for z in draws:
                xs = es.ask(z)
                es.tell(xs, paddle.stack([fn(x) for x in xs]))
        except Stop as stop:
            return stop.reason, es.best
        return "budget", es.best

    run = convert(run)
    rng = np.random.RandomState(2)
    es = CMA(paddle.to_tensor([1.5, -1.0]), 0.6)
    for rounds in (3, 5, 3):
        draws = paddle.to_tensor(rng.randn(rounds, 6, 2).astype("float32"))
        yield run(es, bowl, draws)
        yield es.mean, es.sigma, es.C, es.generation
    tight = CMA(paddle.to_tensor([0.4, 0.4, 0.4]), 0.0101, popsize=8)
    yield run(tight, bowl, paddle.to_tensor(rng.randn(12, 8, 3).astype("float32")))
    yield tight.generation


@program
def levenberg_marquardt_with_models(convert):
    """Curve fitting for several model classes: Jacobian by autograd, damping up and down, a report."""

    class Model(abc.ABC):
        names: tuple = ()

        @abc.abstractmethod
        def __call__(self, theta, t): ...

        def describe(self, theta):
            return ", ".join(f"{n}={float(v):.3f}" for n, v in zip(self.names, theta))

    class Decay(Model):
        names = ("amplitude", "rate")

        def __call__(self, theta, t):
            a, k = theta
            return a * paddle.exp(-k * t)

    class Logistic(Model):
        names = ("top", "slope", "middle")

        def __call__(self, theta, t):
            top, slope, middle = theta.unbind()
            return top / (1 + paddle.exp(-slope * (t - middle)))

    @dataclass(frozen=True)
    class Fit:
        theta: paddle.Tensor
        cost: paddle.Tensor
        damping: float
        accepted: int = 0
        rejected: int = 0

        def step(self, ok, **changes):
            if ok:
                return replace(
                    self, accepted=self.accepted + 1, damping=self.damping / 3, **changes
                )
            return replace(self, rejected=self.rejected + 1, damping=self.damping * 2)

    def jacobian(model, theta, t):
        theta = theta.detach()
        theta.stop_gradient = False
        out = model(theta, t)
        rows = [paddle.grad(out[i], theta, retain_graph=True)[0] for i in range(out.shape[0])]
        return out.detach(), paddle.stack(rows)

    @convert
    def fit(model, theta, t, y, *, damping=1.0, rounds=8, tol=1e-5):
        residual = model(theta, t) - y
        state = Fit(theta, (residual**2).sum(), damping)
        for _ in range(rounds):
            out, J = jacobian(model, state.theta, t)
            r = out - y
            A = J.T @ J
            try:
                delta = paddle.linalg.solve(
                    A + state.damping * paddle.diag(paddle.diag(A)), -(J.T @ r)
                )
            except (ValueError, RuntimeError) as error:
                log.warning("singular: %s", error)
                break
            proposal = state.theta + delta
            cost = ((model(proposal, t) - y) ** 2).sum()
            done = delta.norm() < tol * (1 + state.theta.norm())
            state = state.step(cost < state.cost, theta=proposal, cost=cost)
            if done:
                break
        return state

    t = paddle.linspace(0, 3, 7)
    for model, true, start in (
        (Decay(), [2.0, 0.8], [1.0, 0.3]),
        (Logistic(), [1.5, 2.0, 1.0], [1.0, 1.0, 0.5]),
        (Decay(), [0.5, 1.8], [1.0, 0.1]),
    ):
        y = model(paddle.to_tensor(true), t)
        state = fit(model, paddle.to_tensor(start), t, y)
        yield state, model.describe(state.theta)
        yield fit(model, paddle.to_tensor(start), t[:5], y[:5], damping=0.01, rounds=3)


@program
def swarm_with_neighbourhoods(convert):
    """Particle swarm: particles in arrays, neighbourhoods by strategy, bounds that bounce, stagnation."""

    T = TypeVar("T")

    class Registry(Generic[T]):
        def __init__(self):
            self._entries: dict[str, T] = {}

        def __call__(self, name: str) -> Callable[[T], T]:
            def add(entry):
                self._entries[name] = entry
                return entry

            return add

        def __getitem__(self, name):
            try:
                return self._entries[name]
            except KeyError:
                known = ", ".join(sorted(self._entries))
                raise KeyError(f"{name}: one of {known}") from None

        def __contains__(self, name):
            return name in self._entries

    topology = Registry()

    @topology("star")
    def star(best_x, best_f):
        return best_x[best_f.argmin()].expand_as(best_x)

    @topology("ring")
    def ring(best_x, best_f):
        rows = []
        n = best_f.shape[0]
        for i in range(n):
            near = [(i - 1) % n, i, (i + 1) % n]
            winner = min(near, key=lambda j: best_f[j])
            rows.append(best_x[winner])
        return paddle.stack(rows)

    class Swarm:
        def __init__(self, x, low, high, topology_name="star", inertia=0.7, pull=1.4):
            self.x, self.v = x, paddle.zeros_like(x)
            self.low, self.high = low, high
            self.neighbours = topology[topology_name]
            self.inertia, self.pull = inertia, pull
            self.best_x: Optional[paddle.Tensor] = None
            self.best_f: Optional[paddle.Tensor] = None
            self.stale = 0

        def bounce(self):
            out = (self.x < self.low) | (self.x > self.high)
            self.v = paddle.where(out, -0.5 * self.v, self.v)
            self.x = self.x.clip(self.low, self.high)

        def step(self, fn, r):
            f = paddle.stack([fn(x) for x in self.x])
            if self.best_f is None:
                self.best_x, self.best_f = self.x, f
            else:
                better = f < self.best_f
                if better.any():
                    self.stale = 0
                else:
                    self.stale += 1
                self.best_x = paddle.where(better.unsqueeze(-1), self.x, self.best_x)
                self.best_f = paddle.minimum(f, self.best_f)
            leader = self.neighbours(self.best_x, self.best_f)
            self.v = (
                self.inertia * self.v
                + self.pull * r[0] * (self.best_x - self.x)
                + self.pull * r[1] * (leader - self.x)
            )
            self.x = self.x + self.v
            self.bounce()
            return self.best_f.min()

    @convert
    def optimise(swarm, fn, draws, patience=3):
        trace = []
        for r in draws:
            trace.append(swarm.step(fn, r))
            if swarm.stale >= patience:
                swarm.inertia *= 0.5
                swarm.stale = 0
        return paddle.stack(trace)

    rng = np.random.RandomState(4)
    for name, n, d in (("star", 4, 2), ("ring", 5, 2), ("ring", 4, 3)):
        swarm = Swarm(paddle.to_tensor(rng.rand(n, d).astype("float32") * 4 - 2), -2.0, 2.0, name)
        for rounds in (4, 6):
            draws = paddle.to_tensor(rng.rand(rounds, 2, n, d).astype("float32"))
            yield optimise(swarm, rosenbrock, draws, patience=1)
            yield swarm.x, swarm.inertia, swarm.stale
    yield "von neumann" in topology, attempt(lambda: topology["von neumann"])


@program
def best_first_branch_and_bound(convert):
    """Integers by branch and bound: a heap of nodes, relaxation bounds, an incumbent, pruning counts."""

    @dataclass(order=True)
    class Node:
        bound: float
        depth: int
        taken: tuple

    class Tally:
        def __init__(self):
            self.opened = self.pruned = 0

        def __repr__(self):
            return f"Tally(opened={self.opened}, pruned={self.pruned})"

    @contextmanager
    def counted(tally, name):
        before = tally.pruned
        try:
            yield tally
        finally:
            log.info("%s pruned %d", name, tally.pruned - before)
            tally.opened += 1

    def relax(values, weights, capacity, taken):
        """The bound of a knapsack: fill up by ratio, the last one in part."""
        room = capacity - sum(weights[i] for i, t in enumerate(taken) if t)
        if room < 0:
            return None
        worth = sum((values[i] for i, t in enumerate(taken) if t), paddle.zeros([]))
        rest = range(len(taken), values.shape[0])
        for i in sorted(rest, key=lambda i: float(-values[i] / weights[i])):
            if weights[i] <= room:
                worth = worth + values[i]
                room = room - weights[i]
            else:
                return worth + values[i] * room / weights[i]
        return worth

    @convert
    def solve(values, weights, capacity, limit=40):
        tally = Tally()
        n = values.shape[0]
        best, plan = paddle.zeros([]), ()
        heap = [Node(-float(relax(values, weights, capacity, ())), 0, ())]
        while heap and tally.opened < limit:
            node = heapq.heappop(heap)
            with counted(tally, f"node {tally.opened}"):
                if -node.bound <= best:
                    tally.pruned += 1
                    continue
                if node.depth == n:
                    worth = sum(values[i] for i, t in enumerate(node.taken) if t)
                    if worth > best:
                        best, plan = worth, node.taken
                    continue
                for choice in (True, False):
                    taken = (*node.taken, choice)
                    bound = relax(values, weights, capacity, taken)
                    if bound is None:
                        tally.pruned += 1
                    elif bound > best:
                        heapq.heappush(heap, Node(-float(bound), node.depth + 1, taken))
        return best, plan, repr(tally)

    values = paddle.to_tensor([6.0, 10.0, 12.0, 7.0])
    weights = paddle.to_tensor([1.0, 2.0, 3.0, 2.0])
    for capacity in (5.0, 3.0, 8.0):
        yield solve(values, weights, paddle.to_tensor(capacity))
    yield solve(values[:3] * 1.5, weights[1:], 4.0, limit=5)
