"""Solvers by hand: Krylov methods with fall-backs, simplex, maximum flow, collisions, reactions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter, deque, namedtuple
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import combinations
from typing import Callable, Dict, Hashable, Iterable, List, Tuple

import paddle
import paddle.nn.functional as F

from corpus.realistic import program


@program
def krylov_solvers_with_a_fall_back(convert):
    """BiCGSTAB with a Jacobi preconditioner, breakdown as an exception, and GMRES(m) as the fall-back."""

    class Breakdown(RuntimeError):
        def __init__(self, where, iteration):
            super().__init__(f"{where} vanished at iteration {iteration}")
            self.where, self.iteration = where, iteration

    @dataclass
    class Report:
        x: paddle.Tensor
        method: str
        iterations: int
        residual: float
        note: str = ""

        @property
        def ok(self):
            return self.residual < 1e-3

    def bicgstab(matvec: Callable, b, x0, precond: Callable, tol, max_iter, eps=1e-10):
        x, r = x0, b - matvec(x0)
        shadow, rho, alpha, omega = r, paddle.ones([]), paddle.ones([]), paddle.ones([])
        v = p = paddle.zeros_like(b)
        target = tol * b.norm()
        for it in range(1, max_iter + 1):
            rho_new = (shadow * r).sum()
            if rho_new.abs() < eps:
                raise Breakdown("rho", it)
            beta = (rho_new / rho) * (alpha / omega)
            p = r + beta * (p - omega * v)
            y = precond(p)
            v = matvec(y)
            denom = (shadow * v).sum()
            if denom.abs() < eps:
                raise Breakdown("shadow.v", it)
            alpha = rho_new / denom
            s = r - alpha * v
            if s.norm() < target:
                return x + alpha * y, it
            z = precond(s)
            t = matvec(z)
            omega = (t * s).sum() / (t * t).sum()
            x = x + alpha * y + omega * z
            r = s - omega * t
            if r.norm() < target:
                return x, it
            rho = rho_new
        raise Breakdown("patience", max_iter)

    def gmres(matvec: Callable, b, x0, restart, tol):
        r = b - matvec(x0)
        beta = r.norm()
        basis, columns = [r / beta], []
        for k in range(restart):
            w = matvec(basis[k])
            h = []
            for q in basis:
                h.append((w * q).sum())
                w = w - h[-1] * q
            h.append(w.norm())
            columns.append(h)
            if h[-1] < tol:
                break
            basis.append(w / h[-1])
        m = len(columns)
        H = paddle.zeros([m + 1, m])
        for j, h in enumerate(columns):
            for i, value in enumerate(h):
                H[i, j] = value
        e1 = paddle.zeros([m + 1])
        e1[0] = beta
        coeffs = paddle.linalg.lstsq(H, e1.unsqueeze(-1))[0].squeeze(-1)
        return x0 + sum(c * q for c, q in zip(coeffs, basis)), m

    def solve(A, b, tol=1e-5, max_iter=25, restart=None):
        diagonal = paddle.diag(A)
        safe = paddle.where(diagonal.abs() > 1e-6, diagonal, paddle.ones_like(diagonal))
        matvec = lambda v: A @ v
        x0 = paddle.zeros_like(b)
        try:
            x, its = bicgstab(matvec, b, x0, lambda v: v / safe, tol, max_iter)
            method, note = "bicgstab", ""
        except Breakdown as e:
            x, its = gmres(matvec, b, x0, restart or b.shape[0], tol)
            method, note = "gmres", str(e)
        return Report(x, method, its, float((A @ x - b).norm()), note)

    def records_of(convert):
        run = convert(solve)
        paddle.seed(8)
        records = []
        for n, kind, options in [
            (5, "dominant", {}),
            (4, "skew", {}),
            (6, "dominant", {"max_iter": 1}),
            (3, "identity", {}),
            (5, "general", {"tol": 1e-3}),
            (2, "skew", {"restart": 1}),
        ]:
            noise = paddle.randn([n, n])
            A = {
                "dominant": noise * 0.3 + 3 * paddle.eye(n),
                "skew": noise - noise.T,
                "identity": paddle.eye(n),
                "general": noise + paddle.eye(n) * 1.5,
            }[kind]
            report = run(A, paddle.randn([n]), **options)
            records += [kind, report.x, report.method, report.iterations, report.note, report.ok]
        return records

    yield from records_of(convert)


@program
def linear_programs_by_simplex(convert):
    """Linear programs by the two-phase simplex method: Bland's rule, unbounded and infeasible problems, duals, warm facts."""

    EPS = 1e-5

    class Status(IntEnum):
        OPTIMAL = 0
        UNBOUNDED = 1
        INFEASIBLE = 2
        LIMIT = 3

    class LPError(Exception):
        status = Status.LIMIT

    class Unbounded(LPError):
        status = Status.UNBOUNDED

    class Infeasible(LPError):
        status = Status.INFEASIBLE

    @dataclass
    class Solution:
        status: Status
        x: paddle.Tensor | None = None
        value: paddle.Tensor | None = None
        duals: paddle.Tensor | None = None
        pivots: int = 0
        message: str = ""

        def __bool__(self):
            return self.status is Status.OPTIMAL

    class Tableau:
        def __init__(self, body, rhs, basis):
            self.t = paddle.concat([body, rhs.unsqueeze(-1)], axis=1)
            self.basis, self.pivots = basis, 0

        def price(self, cost):
            """reduced costs and minus the value"""
            row = paddle.concat([cost, paddle.zeros([1])])
            for i, b in enumerate(self.basis):
                row = row - row[b] * self.t[i]
            return row

        def pivot(self, i, j):
            row = self.t[i] / self.t[i, j]
            self.t = self.t - paddle.outer(self.t[:, j], row)
            self.t[i] = row
            self.basis[i] = j
            self.pivots += 1

        def entering(self, row, allowed, bland):
            reduced = row[:allowed]
            if not (reduced < -EPS).any():
                return None
            if bland:
                return int((reduced < -EPS).astype("int32").argmax())
            return int(reduced.argmin())

        def leaving(self, j):
            column, best, at = self.t[:, j], None, None
            for i in range(len(self.basis)):
                if column[i] <= EPS:
                    continue
                ratio = self.t[i, -1] / column[i]
                if (
                    best is None
                    or ratio < best - EPS
                    or (ratio < best + EPS and self.basis[i] < self.basis[at])
                ):
                    best, at = ratio, i
            return at

        def optimise(self, cost, allowed, limit):
            for k in range(limit):
                row = self.price(cost)
                j = self.entering(row, allowed, bland=k > limit // 2)
                if j is None:
                    return -row[-1], row
                i = self.leaving(j)
                if i is None:
                    raise Unbounded(f"column {j} has no bound after {self.pivots} pivots")
                self.pivot(i, j)
            raise LPError(f"no optimum within {limit} pivots")

    def linprog(c, A, b, limit=20):
        """min c.x with A x <= b and x >= 0"""
        m, n = A.shape
        sign = paddle.where(b < 0, -paddle.ones_like(b), paddle.ones_like(b))
        body = paddle.concat([A, paddle.eye(m)], axis=1) * sign.unsqueeze(-1)
        needed = [i for i in range(m) if b[i] < 0]
        basis = [n + i for i in range(m)]
        if needed:
            extra = paddle.zeros([m, len(needed)])
            for k, i in enumerate(needed):
                extra[i, k] = 1.0
                basis[i] = n + m + k
            body = paddle.concat([body, extra], axis=1)
        table = Tableau(body, b * sign, basis)
        try:
            if needed:
                phase1 = paddle.concat([paddle.zeros([n + m]), paddle.ones([len(needed)])])
                value, _ = table.optimise(phase1, n + m, limit)
                if value > 1e-4:
                    raise Infeasible(f"phase one ends at {float(value):.3f}")
            cost = paddle.concat([c, paddle.zeros([m + len(needed)])])
            value, row = table.optimise(cost, n + m, limit)
        except LPError as e:
            return Solution(e.status, pivots=table.pivots, message=str(e))
        x = paddle.zeros([n])
        for i, j in enumerate(table.basis):
            if j < n:
                x[j] = table.t[i, -1]
        return Solution(Status.OPTIMAL, x, value, row[n : n + m] * sign, table.pivots)

    def records_of(convert):
        solve = convert(linprog)
        f = lambda v: paddle.to_tensor(v, dtype="float32")
        problems = [
            ([-3, -5], [[1, 0], [0, 2], [3, 2]], [4, 12, 18], {}),
            ([1, 1], [[-1, -2], [-3, -1]], [-4, -6], {}),
            ([-1, 0], [[-1, 1]], [2], {}),
            ([1, 1], [[1, 1], [-1, -1]], [1, -3], {}),
            ([-2, -3, -1], [[1, 1, 1], [2, 1, 0], [0, 1, 3], [1, 0, 1]], [6, 5, 7, 4], {}),
            (
                [-2, -3, -1],
                [[1, 1, 1], [2, 1, 0], [0, 1, 3], [1, 0, 1]],
                [6, 5, 7, 4],
                {"limit": 2},
            ),
        ]
        records = []
        for c, A, b, options in problems:
            s = solve(f(c), f(A), f(b), **options)
            records += [s, bool(s), s.status.name]
        return records

    yield from records_of(convert)


@program
def flows_by_push_and_relabel(convert):
    """Maximum flow by push-relabel with the gap heuristic, on a dense residual tensor, and the minimum cut as an assignment."""

    class FlowNetwork:
        def __init__(self, edges: Iterable[Tuple[Hashable, Hashable, float]], source="s", sink="t"):
            edges = list(edges)
            self.names = sorted(
                {u for u, _, _ in edges} | {v for _, v, _ in edges} | {source, sink}, key=str
            )
            self.at: Dict[Hashable, int] = {n: k for k, n in enumerate(self.names)}
            self.source, self.sink = self.at[source], self.at[sink]
            self.capacity = paddle.zeros([len(self)] * 2)
            for u, v, c in edges:
                if c < 0:
                    raise ValueError(f"capacity of {u}->{v} is negative: {c}")
                self.capacity[self.at[u], self.at[v]] += c

        def __len__(self):
            return len(self.names)

        def __contains__(self, name):
            return name in self.at

    class PushRelabel:
        def __init__(self, net: FlowNetwork):
            self.net = net
            self.counters = dict.fromkeys(("push", "relabel", "gap"), 0)

        def prepare(self):
            n, s = len(self.net), self.net.source
            self.residual = self.net.capacity.clone()
            self.excess, self.height = paddle.zeros([n]), [0] * n
            self.height[s] = n
            self.queue = deque()
            for v in range(n):
                amount = self.residual[s, v].clone()
                if amount > 0:
                    self.push(s, v, amount)

        def push(self, u, v, amount):
            self.residual[u, v] -= amount
            self.residual[v, u] += amount
            if self.excess[v] == 0 and v not in (self.net.source, self.net.sink):
                self.queue.append(v)
            self.excess[u] -= amount
            self.excess[v] += amount
            self.counters["push"] += 1

        def relabel(self, u):
            old = self.height[u]
            open_to = [self.height[v] for v in range(len(self.net)) if self.residual[u, v] > 1e-6]
            self.height[u] = 1 + min(open_to)
            self.counters["relabel"] += 1
            if old not in self.height and old < len(self.net):
                self.counters["gap"] += 1
                for v, h in enumerate(self.height):
                    if old < h < len(self.net) and v != self.net.source:
                        self.height[v] = len(self.net) + 1

        def discharge(self, u):
            while self.excess[u] > 1e-6:
                for v in range(len(self.net)):
                    if self.residual[u, v] > 1e-6 and self.height[u] == self.height[v] + 1:
                        self.push(u, v, paddle.minimum(self.excess[u], self.residual[u, v]))
                        break
                else:
                    self.relabel(u)

        def solve(self):
            self.counters = dict.fromkeys(self.counters, 0)
            self.prepare()
            while self.queue:
                self.discharge(self.queue.popleft())
            return self.excess[self.net.sink], self.cut()

        def cut(self):
            seen, todo = {self.net.source}, [self.net.source]
            while todo:
                u = todo.pop()
                for v in (self.residual[u] > 1e-6).nonzero().flatten().tolist():
                    if v not in seen:
                        seen.add(v)
                        todo.append(v)
            return sorted(str(self.net.names[k]) for k in seen)

    def records_of(convert):
        records = []
        graphs = {
            "diamond": [("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3)],
            "blocked": [("s", "a", 4), ("a", "b", 0), ("b", "t", 5)],
            "fractions": [
                ("s", 1, 0.5),
                ("s", 2, 1.25),
                (1, 3, 2),
                (2, 3, 0.75),
                (3, "t", 1.0),
                (2, "t", 0.25),
                (3, 1, 0.5),
            ],
        }
        for name, edges in graphs.items():
            solver = PushRelabel(FlowNetwork(edges))
            solve = convert(solver.solve)
            records += [
                name,
                solve(),
                dict(solver.counters),
                solver.residual.clone(),
                solver.height[:],
            ]
            if name == "diamond":
                solver.net.capacity[solver.net.at["b"], solver.net.at["t"]] = 0.5
                records += [solve(), dict(solver.counters)]
        try:
            FlowNetwork([("s", "t", -1)])
        except ValueError as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def collisions_by_gjk(convert):
    """GJK for convex shapes behind a broad phase (sweep and prune), with separating distances and a small class hierarchy."""

    class Shape(ABC):
        def __init__(self, name, centre):
            self.name, self.centre = name, paddle.to_tensor(centre, dtype="float32")

        @abstractmethod
        def local_support(self, d): ...

        def support(self, d):
            return self.centre + self.local_support(d)

        def bounds(self, axis):
            d = paddle.zeros([2])
            d[axis] = 1.0
            return self.support(-d)[axis], self.support(d)[axis]

        def move(self, v):
            self.centre = self.centre + v

    class Circle(Shape):
        def __init__(self, name, centre, radius):
            super().__init__(name, centre)
            self.radius = radius

        def local_support(self, d):
            return self.radius * d / (d.norm() + 1e-9)

    class Polygon(Shape):
        def __init__(self, name, centre, points):
            super().__init__(name, centre)
            self.points = paddle.to_tensor(points, dtype="float32")

        @classmethod
        def box(cls, name, centre, w, h):
            return cls(name, centre, [[-w, -h], [w, -h], [w, h], [-w, h]])

        def local_support(self, d):
            return self.points[(self.points @ d).argmax()]

    class Capsule(Circle):
        def __init__(self, name, centre, radius, axis):
            super().__init__(name, centre, radius)
            self.axis = paddle.to_tensor(axis, dtype="float32")

        def local_support(self, d):
            end = self.axis if (self.axis * d).sum() > 0 else -self.axis
            return end + super().local_support(d)

    def closest(simplex):
        """the point of a simplex nearest to the origin, and the part of the simplex that holds it"""
        if len(simplex) == 1:
            return simplex[0], simplex
        if len(simplex) == 2:
            a, b = simplex
            t = -(a * (b - a)).sum() / ((b - a).square().sum() + 1e-12)
            if t <= 0:
                return a, [a]
            if t >= 1:
                return b, [b]
            return a + t * (b - a), simplex
        a, b, c = simplex
        cross = lambda u, v: u[0] * v[1] - u[1] * v[0]
        signs = paddle.stack([cross(b - a, -a), cross(c - b, -b), cross(a - c, -c)])
        if (signs >= 0).all() or (signs <= 0).all():
            return paddle.zeros([2]), simplex
        options = [closest(list(edge)) for edge in combinations(simplex, 2)]
        return min(options, key=lambda o: float(o[0].square().sum()))

    def gjk(p: Shape, q: Shape, max_iter=12, tol=1e-4):
        d = q.centre - p.centre
        if d.norm() < tol:
            return paddle.zeros([]), 0
        simplex = [p.support(d) - q.support(-d)]
        v = simplex[0]
        for it in range(1, max_iter + 1):
            if v.norm() < tol:
                return paddle.zeros([]), it
            w = p.support(-v) - q.support(v)
            if (v * v).sum() - (v * w).sum() < tol:
                break
            v, simplex = closest([*simplex, w])
        return v.norm(), it

    class World:
        def __init__(self, *shapes):
            self.shapes = {s.name: s for s in shapes}
            self.tests = 0

        def broad(self):
            spans = sorted(
                (tuple(float(b) for b in s.bounds(0)), s.name) for s in self.shapes.values()
            )
            active = []
            for (lo, hi), name in spans:
                active = [(h, n) for h, n in active if h >= lo]
                yield from ((n, name) for _, n in active)
                active.append((hi, name))

        def step(self, velocities, dt=1.0):
            for name, v in velocities.items():
                self.shapes[name].move(dt * v)
            touching, gaps = [], {}
            for a, b in self.broad():
                self.tests += 1
                gap, its = gjk(self.shapes[a], self.shapes[b])
                if gap < 1e-3:
                    touching.append(tuple(sorted((a, b))))
                else:
                    gaps[f"{a}-{b}"] = gap
            return sorted(touching), gaps

    def records_of(convert):
        world = World(
            Circle("ball", [0, 0], 1.0),
            Polygon.box("crate", [3, 0.2], 0.8, 0.5),
            Capsule("pill", [0.5, 3], 0.4, [1.0, 0.3]),
            Polygon("wedge", [-1, -3], [[0, 1], [-1, -1], [1.5, -1]]),
        )
        step = convert(world.step)
        records = []
        for moves, dt in [
            ({}, 1.0),
            ({"ball": [0.9, 0.0]}, 1.0),
            ({"ball": [0.5, 0.1], "pill": [0.4, -0.8]}, 2.0),
            ({"wedge": [0.2, 1.3]}, 1.0),
            ({"crate": [5.0, 0.0], "pill": [-0.1, -1.0]}, 0.5),
        ]:
            velocities = {k: paddle.to_tensor(v) for k, v in moves.items()}
            records += [
                step(velocities, dt),
                world.tests,
                [s.centre for s in world.shapes.values()],
            ]
        return records

    yield from records_of(convert)


@program
def reactions_by_gillespie(convert):
    """Gillespie's stochastic simulation of a reaction network described by strings such as '2A + B -> C @ 0.5'."""

    @dataclass(frozen=True)
    class Reaction:
        uses: tuple
        makes: tuple
        rate: float

        PATTERN = re.compile(r"^(?P<left>.*)->(?P<right>.*)@\s*(?P<rate>[\d.]+)$")

        @classmethod
        def parse(cls, text):
            m = cls.PATTERN.match(text)
            if m is None:
                raise ValueError(f"cannot parse reaction {text!r}")

            def side(s):
                out = Counter()
                for term in filter(None, map(str.strip, s.split("+"))):
                    n, name = re.match(r"(\d*)\s*(\w+)", term).groups()
                    out[name] += int(n or 1)
                return tuple(sorted(out.items()))

            return cls(side(m["left"]), side(m["right"]), float(m["rate"]))

    class Network:
        def __init__(self, *texts):
            self.reactions = [Reaction.parse(t) for t in texts]
            self.species = sorted({s for r in self.reactions for s, _ in r.uses + r.makes})
            rows = [
                [dict(r.makes).get(s, 0) - dict(r.uses).get(s, 0) for s in self.species]
                for r in self.reactions
            ]
            self.change = paddle.to_tensor(rows, dtype="float32")

        def propensities(self, counts):
            out = []
            for r in self.reactions:
                a = paddle.full([], r.rate)
                for name, need in r.uses:
                    n = counts[self.species.index(name)]
                    for k in range(need):
                        a = a * paddle.clip(n - k, min=0) / (k + 1)
                out.append(a)
            return paddle.stack(out)

        def simulate(self, counts, until, uniforms, watch=None):
            """uniforms is [steps, 2]: the randomness is an input, so that a run can be repeated"""
            t, fired = paddle.zeros([]), paddle.zeros([len(self.reactions)], dtype="int64")
            history = [counts]
            reason = "out of random numbers"
            for u, v in uniforms:
                a = self.propensities(counts)
                total = a.sum()
                if total <= 0:
                    reason = "dead"
                    break
                wait = -paddle.log(u) / total
                if t + wait > until:
                    t, reason = paddle.full([], until), "time"
                    break
                t = t + wait
                k = (a.cumsum() < v * total).sum()
                counts = counts + self.change[k]
                fired[k] += 1
                history.append(counts)
                if watch is not None and watch(counts):
                    reason = "watched"
                    break
            return {
                "t": t,
                "counts": counts,
                "fired": fired,
                "path": paddle.stack(history),
                "reason": reason,
            }

    def records_of(convert):
        net = Network("S + I -> 2I @ 0.4", "I -> R @ 0.5", "-> S @ 0.1")
        dimer = Network("2A -> B @ 0.3", "B -> 2 A @ 0.05")
        paddle.seed(9)
        records = [net.species, dimer.species, net.change]
        run = {"sir": convert(net.simulate), "dimer": convert(dimer.simulate)}
        for name, counts, until, steps, watch in [
            ("sir", [2.0, 0.0, 6.0], 3.0, 25, None),
            ("sir", [1.0, 0.0, 0.0], 0.001, 4, None),
            ("dimer", [5.0, 0.0], 50.0, 6, None),
            ("dimer", [1.0, 0.0], 5.0, 6, None),
            ("sir", [3.0, 0.0, 5.0], 9.0, 30, lambda c: c[0] == 0),
            ("dimer", [8.0, 1.0], 9.0, 10, lambda c: c[1] >= 3),
        ]:
            u = paddle.rand([steps, 2]).clip(1e-4, 1.0)
            records.append(run[name](paddle.to_tensor(counts), until, u, watch=watch))
        try:
            Network("A => B @ 1")
        except ValueError as e:
            records.append(str(e))
        return records

    yield from records_of(convert)


@program
def weight_decays_by_hypergradients(convert):
    """Learning the weight decay of every feature: hypergradients by the implicit function theorem and a Neumann series."""

    Pair = Tuple[paddle.Tensor, paddle.Tensor]

    @dataclass
    class Problem:
        train: Pair
        valid: Pair
        kind: str = "logistic"

        def fit_loss(self, w, data):
            x, y = data
            score = x @ w
            if self.kind == "logistic":
                return (F.softplus(score) - y * score).sum() / y.shape[0]
            return (score - y).square().sum() / y.shape[0]

        def inner(self, w, log_decay):
            return self.fit_loss(w, self.train) + 0.5 * (log_decay.exp() * w.square()).sum()

        def outer(self, w):
            return self.fit_loss(w, self.valid)

    @dataclass
    class Trace:
        inner_steps: List[int] = field(default_factory=list)
        terms: List[int] = field(default_factory=list)
        valid: List[float] = field(default_factory=list)

    def descend(problem, w, log_decay, lr, max_steps, tol):
        for k in range(max_steps):
            (g,) = paddle.grad(problem.inner(w, log_decay), [w])
            if g.norm() < tol:
                return w, k
            w = (w - lr * g).detach()
            w.stop_gradient = False
        return w, max_steps

    def hvp(grad, w, v):
        (out,) = paddle.grad((grad * v).sum(), [w], retain_graph=True)
        return out

    def hypergradient(problem, w, log_decay, lr, terms, tol=1e-4):
        (v,) = paddle.grad(problem.outer(w), [w])
        (g,) = paddle.grad(problem.inner(w, log_decay), [w], create_graph=True)
        p, used = v, 0
        for used in range(1, terms + 1):
            v = v - lr * hvp(g, w, v)
            p = p + v
            if v.abs().max() < tol:
                break
        (mixed,) = paddle.grad((g * (lr * p).detach()).sum(), [log_decay])
        return -mixed, used

    def records_of(convert):
        def tune(
            problem, log_decay, w, rounds=2, lr=0.3, outer_lr=1.0, max_steps=15, terms=8, tol=1e-2
        ):
            trace = Trace()
            for _ in range(rounds):
                w, steps = descend(problem, w, log_decay, lr, max_steps, tol)
                hyper, used = hypergradient(problem, w, log_decay, lr, terms)
                trace.inner_steps.append(steps)
                trace.terms.append(used)
                trace.valid.append(problem.outer(w).item())
                log_decay = (log_decay - outer_lr * hyper).detach()
                log_decay.stop_gradient = False
                if len(trace.valid) > 1 and trace.valid[-1] > trace.valid[-2]:
                    outer_lr *= 0.5
            return log_decay, w, trace

        run = convert(tune)
        paddle.seed(19)
        records = []
        for n, dim, kind, options in [
            (8, 3, "logistic", {}),
            (6, 2, "square", {"lr": 0.1}),
            (8, 3, "logistic", {"rounds": 4, "tol": 0.05}),
            (5, 4, "square", {"lr": 0.05, "terms": 2, "max_steps": 5}),
            (4, 1, "logistic", {"rounds": 1, "terms": 30}),
        ]:
            truth = paddle.randn([dim])

            def draw():
                x = paddle.randn([n, dim])
                y = x @ truth
                return x, (
                    (y > 0).astype("float32") if kind == "logistic" else y + 0.1 * paddle.randn([n])
                )

            problem = Problem(draw(), draw(), kind)
            log_decay, w = paddle.full([dim], -2.0), paddle.zeros([dim])
            log_decay.stop_gradient = w.stop_gradient = False
            log_decay, w, trace = run(problem, log_decay, w, **options)
            records += [log_decay, w, trace]
        return records

    yield from records_of(convert)


@program
def a_codec_by_levinson(convert):
    """A small LPC speech codec: Levinson-Durbin with early stop, reflection coefficients quantised, lattice synthesis."""

    Packet = namedtuple("Packet", "order codes gain residual voiced")

    class UnstableFrame(ValueError):
        pass

    class Codec:
        def __init__(self, order=4, bits=5, keep=0.5):
            self.order, self.steps, self.keep = order, 2 ** (bits - 1), keep
            self.memory = paddle.zeros([order])
            self.packets = []

        @staticmethod
        def autocorrelation(x, order):
            return paddle.stack([(x[: x.shape[0] - k] * x[k:]).sum() for k in range(order + 1)])

        def levinson(self, r, enough=0.02):
            error = r[0] * 1.0001 + 1e-6
            a, reflections = paddle.ones([1]), []
            for m in range(1, self.order + 1):
                acc = (a * r[1 : m + 1].flip(0)).sum()
                k = -acc / error
                if k.abs() >= 1:
                    raise UnstableFrame(f"reflection {m} is {float(k):.3f}")
                padded = paddle.concat([a, paddle.zeros([1])])
                a = padded + k * padded.flip(0)
                reflections.append(k)
                error = error * (1 - k * k)
                if error < enough * r[0]:
                    break
            return a, reflections, error

        def quantise(self, k):
            return int((paddle.asin(k) / (3.14159265 / 2) * self.steps).round())

        def dequantise(self, code):
            return paddle.sin(paddle.to_tensor(code / self.steps * 3.14159265 / 2))

        def lattice(self, excitation, ks):
            backward = [paddle.zeros([]) for _ in range(len(ks) + 1)]
            out = []
            for e in excitation:
                f = e
                for m in reversed(range(len(ks))):
                    f = f - ks[m] * backward[m]
                    backward[m + 1] = backward[m] + ks[m] * f
                backward[0] = f
                out.append(f)
            return paddle.stack(out)

        def encode(self, x):
            window = 0.54 - 0.46 * paddle.cos(
                2 * 3.14159265 * paddle.arange(x.shape[0], dtype="float32") / (x.shape[0] - 1)
            )
            reflections = []
            with suppress(UnstableFrame):
                _, reflections, _ = self.levinson(self.autocorrelation(x * window, self.order))
            codes = [self.quantise(k) for k in reflections]
            a = paddle.ones([1])
            for k in map(self.dequantise, codes):
                padded = paddle.concat([a, paddle.zeros([1])])
                a = padded + k * padded.flip(0)
            padded = paddle.concat([paddle.zeros([len(codes)]), x])
            residual = sum(
                a[j] * padded[len(codes) - j : padded.shape[0] - j] for j in range(len(codes) + 1)
            )
            gain = residual.square().mean().sqrt()
            if gain < 1e-4:
                return Packet(len(codes), codes, paddle.zeros([]), None, False)
            count = max(1, round(self.keep * x.shape[0]))
            top = residual.abs().topk(count)[1]
            sparse = paddle.zeros_like(residual)
            sparse[top] = (residual[top] / gain * 4).round() / 4
            crossings = (x[1:] * x[:-1] < 0).astype("float32").mean()
            return Packet(len(codes), codes, gain, sparse, bool(crossings < 0.3))

        def decode(self, p, length):
            if p.residual is None:
                return paddle.zeros([length])
            return self.lattice(p.residual * p.gain, [self.dequantise(c) for c in p.codes])

        def roundtrip(self, x):
            p = self.encode(x)
            self.packets.append((p.order, p.codes, p.voiced))
            y = self.decode(p, x.shape[0])
            noise = (x - y).square().sum()
            snr = (
                10 * paddle.log10(x.square().sum() / noise)
                if noise > 0
                else paddle.to_tensor(float("inf"))
            )
            return y, p.gain, snr

    def records_of(convert):
        paddle.seed(121)
        records = []
        for options in ({}, {"order": 2, "keep": 1.0}, {"order": 6, "bits": 3, "keep": 0.2}):
            codec = Codec(**options)
            run = convert(codec.roundtrip)
            t = paddle.arange(20, dtype="float32")
            for x in (
                paddle.sin(0.4 * t) + 0.05 * paddle.randn([20]),
                paddle.randn([16]),
                paddle.zeros([8]),
                (0.9**t) * paddle.cos(1.1 * t),
            ):
                records += list(run(x))
            records.append(list(codec.packets))
            try:
                codec.levinson(paddle.to_tensor([1.0] + [2.0] * codec.order))
            except UnstableFrame as e:
                records.append(str(e))
        return records

    yield from records_of(convert)
