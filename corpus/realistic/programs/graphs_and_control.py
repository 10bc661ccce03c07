"""Graphs, routes, sparse recovery, filters and controllers."""

import bisect
from collections import deque
from dataclasses import dataclass
from typing import Dict, Generic, NamedTuple, Optional, Sequence, TypeVar

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = TypeVar("T")


@program
def pagerank_personalised(convert):
    """PageRank with dangling nodes, a damping schedule and an optional restart vector."""

    class PageRank:
        def __init__(self, damping=0.85, tol=1e-4, max_iter=30):
            self.damping = damping
            self.tol = tol
            self.max_iter = max_iter
            self.errors_ = []

        def transition(self, adjacency):
            degree = adjacency.sum(axis=1, keepdim=True)
            dangling = (degree == 0).astype(adjacency.dtype)
            n = adjacency.shape[0]
            return paddle.where(degree > 0, adjacency / degree.clip(min=1), dangling / n)

        def fit(self, adjacency, personalization=None):
            n = adjacency.shape[0]
            restart = personalization
            if restart is None:
                restart = paddle.full(shape=[n], fill_value=1.0 / n)
            else:
                restart = restart / restart.sum()
            p = self.transition(adjacency)
            rank = restart
            self.errors_ = []
            for iteration in range(self.max_iter):
                new = self.damping * paddle.matmul(x=rank, y=p) + (1 - self.damping) * restart
                error = (new - rank).abs().sum()
                self.errors_.append(error)
                rank = new
                if error < n * self.tol:
                    return rank
            raise RuntimeError(f"no convergence in {self.max_iter} iterations")

    rng = np.random.RandomState(0)
    ranker = PageRank()
    fit = convert(ranker.fit)
    for n in (4, 4, 5):
        a = paddle.to_tensor((rng.rand(n, n) < 0.4).astype("float32"))
        yield fit(a)
        yield len(ranker.errors_), ranker.errors_[-1]
    yield fit(a, personalization=paddle.to_tensor([1.0, 0.0, 0.0, 0.0, 3.0]))
    ranker.max_iter = 1
    yield attempt(lambda: fit(paddle.to_tensor([[0.0, 1.0], [0.0, 0.0]])))


@program
def prim_and_union_find(convert):
    """Minimum spanning trees two ways: Prim on a distance tensor, Kruskal with a union-find on lists."""

    class UnionFind:
        def __init__(self, n):
            self.parent = list(range(n))

        def find(self, i):
            while self.parent[i] != i:
                self.parent[i] = self.parent[self.parent[i]]
                i = self.parent[i]
            return i

        def union(self, i, j):
            a, b = self.find(i), self.find(j)
            if a == b:
                return False
            self.parent[a] = b
            return True

    def prim(distance):
        n = distance.shape[0]
        inside = paddle.zeros([n], dtype="bool")
        inside[0] = True
        best = distance[0].clone()
        parent = paddle.zeros([n], dtype="int64")
        edges, total = [], paddle.zeros([])
        for _ in range(n - 1):
            cost = paddle.where(inside, paddle.full_like(best, float("inf")), best)
            node = cost.argmin()
            total = total + cost[node]
            edges.append(paddle.stack([parent[node], node]))
            inside[node] = True
            closer = distance[node] < best
            parent = paddle.where(closer, node.expand([n]), parent)
            best = paddle.minimum(best, distance[node])
        return total, paddle.stack(edges)

    def kruskal(distance, limit=None):
        n = distance.shape[0]
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        weights = paddle.stack([distance[i, j] for i, j in pairs])
        uf = UnionFind(n)
        total, count = 0.0, 0
        for k in paddle.argsort(weights):
            w = weights[k]
            if limit is not None and w > limit:
                break
            i, j = pairs[int(k)]
            if uf.union(i, j):
                total = total + w
                count += 1
        return total, count

    prim, kruskal = convert(prim), convert(kruskal)
    rng = np.random.RandomState(1)
    for n in (4, 4, 5):
        x = paddle.to_tensor(rng.rand(n, 2).astype("float32"))
        yield prim(paddle.cdist(x, x))
    yield kruskal(paddle.cdist(x[:3], x[:3]))
    yield kruskal(paddle.cdist(x[:3], x[:3]), limit=0.2)


@program
def max_flow_augmenting(convert):
    """Edmonds-Karp on a capacity matrix: breadth-first search by frontier masks, bottleneck along parents."""

    class FlowNetwork:
        def __init__(self, capacity):
            self.capacity = capacity
            self.flow = paddle.zeros_like(capacity)
            self.augmentations = 0

        def search(self, source, sink):
            n = self.capacity.shape[0]
            residual = self.capacity - self.flow
            parent = paddle.full([n], -1, dtype="int64")
            parent[source] = source
            frontier = paddle.zeros([n], dtype="bool")
            frontier[source] = True
            while frontier.any() and parent[sink] < 0:
                reach = (residual > 0) & frontier.unsqueeze(1) & (parent < 0).unsqueeze(0)
                new = reach.any(axis=0)
                via = reach.astype("int64").argmax(axis=0)
                parent = paddle.where(new, via, parent)
                frontier = new
            return parent, residual

        def run(self, source, sink):
            total = paddle.zeros([])
            while True:
                parent, residual = self.search(source, sink)
                if parent[sink] < 0:
                    break
                node = paddle.to_tensor(sink)
                bottleneck = paddle.to_tensor(float("inf"))
                while node != source:
                    bottleneck = paddle.minimum(bottleneck, residual[parent[node], node])
                    node = parent[node]
                node = paddle.to_tensor(sink)
                while node != source:
                    self.flow[parent[node], node] += bottleneck
                    self.flow[node, parent[node]] -= bottleneck
                    node = parent[node]
                total = total + bottleneck
                self.augmentations += 1
            return total

    for capacities in (
        [[0, 3, 2, 0], [0, 0, 1, 2], [0, 0, 0, 4], [0, 0, 0, 0]],
        [[0, 1, 0], [0, 0, 0], [0, 2, 0]],
        [[0, 5, 5, 0], [0, 0, 0, 1], [0, 0, 0, 7], [0, 0, 0, 0]],
    ):
        network = FlowNetwork(paddle.to_tensor(capacities, dtype="float32"))
        run = convert(network.run)
        yield run(0, len(capacities) - 1)
        yield network.flow, network.augmentations


@program
def orthogonal_matching_pursuit(convert):
    """Sparse recovery: atoms join a support until the residual is small; least squares on the support."""

    class SparseCode(NamedTuple):
        support: list
        coefficients: paddle.Tensor
        residual: paddle.Tensor

    @convert
    def omp(dictionary, signal, sparsity=3, tol=1e-3):
        support = []
        residual = signal
        coefficients = paddle.zeros([0])
        for k in range(sparsity):
            correlation = paddle.abs(dictionary.t() @ residual)
            for atom in support:
                correlation[atom] = -1.0
            support.append(correlation.argmax())
            sub = paddle.stack([dictionary[:, a] for a in support], axis=1)
            gram = sub.t() @ sub + 1e-6 * paddle.eye(len(support))
            coefficients = paddle.linalg.solve(gram, (sub.t() @ signal).unsqueeze(-1)).squeeze(-1)
            residual = signal - sub @ coefficients
            if paddle.norm(residual) < tol * paddle.norm(signal):
                break
        return SparseCode(support, coefficients, residual)

    rng = np.random.RandomState(5)
    d = rng.randn(6, 8).astype("float32")
    d /= np.linalg.norm(d, axis=0)
    dictionary = paddle.to_tensor(d)
    yield omp(dictionary, 2.0 * dictionary[:, 3] - dictionary[:, 5])
    yield omp(dictionary, dictionary[:, 1] * 0.5)
    yield omp(dictionary, paddle.to_tensor(rng.randn(6).astype("float32")), sparsity=2)
    yield omp(dictionary, paddle.to_tensor(rng.randn(6).astype("float32")), 4, tol=0.5)


@program
def adaptive_filters(convert):
    """LMS, NLMS and RLS behind one base class; the filter state lives on over calls."""

    class AdaptiveFilter:
        def __init__(self, order):
            self.order = order
            self.w = paddle.zeros([order])
            self.line = deque([paddle.zeros([])] * order, maxlen=order)
            self.frozen = False

        def gain(self, u):
            raise NotImplementedError

        def process(self, x, d):
            outputs, errors = [], []
            for n in range(x.shape[0]):
                self.line.appendleft(x[n])
                u = paddle.stack(list(self.line))
                y = (self.w * u).sum()
                e = d[n] - y
                if not self.frozen and e.abs() > 1e-3:
                    self.w = self.w + self.gain(u) * e
                outputs.append(y)
                errors.append(e)
            return paddle.stack(outputs), paddle.stack(errors)

    class LMS(AdaptiveFilter):
        def __init__(self, order, mu=0.1):
            super().__init__(order)
            self.mu = mu

        def gain(self, u):
            return self.mu * u

    class NLMS(LMS):
        def gain(self, u):
            return super().gain(u) / (1e-3 + (u * u).sum())

    class RLS(AdaptiveFilter):
        def __init__(self, order, lam=0.95, delta=10.0):
            super().__init__(order)
            self.lam = lam
            self.p = delta * paddle.eye(order)

        def gain(self, u):
            pu = self.p @ u
            k = pu / (self.lam + (u * pu).sum())
            self.p = (self.p - paddle.outer(k, pu)) / self.lam
            return k

    rng = np.random.RandomState(2)
    for filter_ in (LMS(2), NLMS(2, mu=0.5), RLS(2)):
        process = convert(filter_.process)
        for n in (4, 4, 3):
            x = rng.randn(n).astype("float32")
            d = 0.7 * x - 0.2 * np.concatenate([[0], x[:-1]]).astype("float32")
            yield process(paddle.to_tensor(x), paddle.to_tensor(d.astype("float32")))
        filter_.frozen = True
        yield process(paddle.ones([2]), paddle.zeros([2]))
        yield filter_.w, list(filter_.line)


@program
def pid_with_antiwindup(convert):
    """A PID loop around a second-order plant: saturation, conditional integration, gain scheduling."""

    @dataclass
    class Gains:
        kp: float
        ki: float
        kd: float = 0.0

    @dataclass
    class PIDState:
        integral: paddle.Tensor
        previous: Optional[paddle.Tensor] = None
        saturated: int = 0

    class PID:
        def __init__(self, schedule: Dict[float, Gains], limit=1.0, dt=0.1):
            self.breakpoints = sorted(schedule)
            self.schedule = schedule
            self.limit, self.dt = limit, dt
            self.state = PIDState(paddle.zeros([]))

        def gains(self, setpoint: float) -> Gains:
            at = bisect.bisect_right(self.breakpoints, setpoint) - 1
            return self.schedule[self.breakpoints[max(at, 0)]]

        def __call__(self, setpoint, measurement):
            g, s = self.gains(setpoint), self.state
            error = setpoint - measurement
            derivative = 0.0 if s.previous is None else (error - s.previous) / self.dt
            raw = g.kp * error + g.ki * s.integral + g.kd * derivative
            command = raw.clip(-self.limit, self.limit)
            if raw == command or error * raw < 0:
                s.integral = s.integral + error * self.dt
            else:
                s.saturated += 1
            s.previous = error
            return command

    class Plant:
        def __init__(self):
            self.x, self.v = paddle.zeros([]), paddle.zeros([])

        def step(self, u, dt):
            self.v = self.v + dt * (u - 0.8 * self.v - 0.5 * self.x)
            self.x = self.x + dt * self.v
            return self.x

    schedule = {0.0: Gains(2.0, 0.5), 1.0: Gains(4.0, 1.0, kd=0.3)}
    pid, plant = PID(schedule), Plant()

    @convert
    def control(setpoint, disturbance, steps=3):
        for _ in range(steps):
            y = plant.step(pid(setpoint, plant.x) + disturbance, pid.dt)
        return y, (setpoint - y).abs() < 0.05

    for setpoint, disturbance in ((0.5, 0.0), (0.5, 0.1), (2.0, 0.0), (2.0, -0.5), (0.1, 0.0)):
        yield control(setpoint, paddle.to_tensor(disturbance))
        yield pid.state, plant


@program
def lqr_and_mpc(convert):
    """Riccati recursion for LQR, then MPC by projected gradient with warm start; costs logged."""

    class LQR:
        def __init__(self, a, b, q, r):
            self.a, self.b, self.q, self.r = a, b, q, r

        def riccati(self, p):
            bt_p = self.b.t() @ p
            k = paddle.linalg.solve(self.r + bt_p @ self.b, bt_p @ self.a)
            return self.q + self.a.t() @ p @ (self.a - self.b @ k), k

        def gain(self, max_iter=20, tol=1e-3):
            p = self.q
            for i in range(max_iter):
                new, k = self.riccati(p)
                delta = (new - p).abs().max()
                p = new
                if delta < tol:
                    break
            return k, p, delta

    class MPC(LQR):
        def __init__(self, *matrices, horizon=4, bound=0.5):
            super().__init__(*matrices)
            self.horizon, self.bound = horizon, bound
            self.plan = paddle.zeros([horizon, 1])
            self.costs = []

        def rollout(self, x, u):
            cost = paddle.zeros([])
            for t in range(self.horizon):
                cost = cost + x @ self.q @ x + (u[t] @ self.r * u[t]).sum()
                x = self.a @ x + self.b @ u[t]
            return cost + 5.0 * (x * x).sum()

        def act(self, x, iterations=3, lr=0.02):
            u = paddle.concat([self.plan[1:], paddle.zeros([1, 1])], axis=0)
            for _ in range(iterations):
                u = u.detach()
                u.stop_gradient = False
                cost = self.rollout(x, u)
                (g,) = paddle.grad(cost, u)
                u = paddle.clip(u - lr * g, -self.bound, self.bound)
                if g.abs().max() < 1e-2:
                    break
            self.plan = u.detach()
            self.costs.append(cost.detach())
            return self.plan[0]

    a = paddle.to_tensor([[1.0, 0.2], [0.0, 0.9]])
    b = paddle.to_tensor([[0.0], [0.2]])
    matrices = (a, b, paddle.eye(2), 0.1 * paddle.eye(1))
    gain = convert(LQR(*matrices).gain)
    yield gain(max_iter=6)
    yield gain(max_iter=4, tol=0.5)
    mpc = MPC(*matrices)
    act = convert(mpc.act)
    x = paddle.to_tensor([1.0, 0.0])
    for _ in range(3):
        u = act(x)
        x = a @ x + b @ u
        yield u, x
    yield mpc.costs


@program
def peak_picking_and_onsets(convert):
    """Onset detection: spectral flux, a moving threshold, a refractory time; peaks as a list of dicts."""

    class OnsetDetector:
        def __init__(self, window=3, delta=0.3, refractory=2):
            self.window, self.delta, self.refractory = window, delta, refractory
            self.previous = None
            self.frames = 0

        def flux(self, spectrum):
            if self.previous is None:
                padded = paddle.concat([spectrum[:1], spectrum], axis=0)
            else:
                padded = paddle.concat([self.previous.unsqueeze(0), spectrum], axis=0)
            self.previous = spectrum[-1]
            return F.relu(padded[1:] - padded[:-1]).sum(axis=1)

        def detect(self, spectrum):
            novelty = self.flux(spectrum)
            n = novelty.shape[0]
            onsets = []
            last = -self.refractory - 1
            for i in range(n):
                lo, hi = max(0, i - self.window), min(n, i + self.window + 1)
                neighbourhood = novelty[lo:hi]
                is_peak = novelty[i] >= neighbourhood.max()
                above = novelty[i] > neighbourhood.mean() + self.delta
                if is_peak and above and i - last > self.refractory:
                    onsets.append({"frame": self.frames + i, "strength": novelty[i]})
                    last = i
            self.frames += n
            return onsets, novelty

    rng = np.random.RandomState(3)
    detector = OnsetDetector()
    detect = convert(detector.detect)
    for n in (5, 5, 4):
        spectrum = rng.rand(n, 3).astype("float32") * 0.2
        spectrum[n // 2] += 2
        yield detect(paddle.to_tensor(spectrum))
    detector.delta = 10.0
    yield detect(paddle.to_tensor(spectrum))
    yield detector.frames


@program
def random_walk_and_alias(convert):
    """Alias tables built with two work lists, then walks on a graph that stop at a sink."""

    def build_alias(probs):
        n = probs.shape[0]
        scaled = probs * n
        accept = paddle.ones([n])
        alias = paddle.arange(n)
        small = [i for i in range(n) if scaled[i] < 1]
        large = [i for i in range(n) if scaled[i] >= 1]
        while small and large:
            s, l = small.pop(), large.pop()
            accept[s] = scaled[s]
            alias[s] = l
            scaled[l] = scaled[l] - (1 - scaled[s])
            if scaled[l] < 1:
                small.append(l)
            else:
                large.append(l)
        return accept, alias

    def draw(accept, alias, u):
        k = (u[0] * accept.shape[0]).astype("int64")
        if u[1] < accept[k]:
            return k
        return alias[k]

    @convert
    def walk(tables, start, uniforms, sink=0):
        accept, alias = tables
        node = start
        visits = paddle.zeros([accept.shape[0]], dtype="int64")
        for step in range(uniforms.shape[0]):
            visits[node] += 1
            if node == sink:
                break
            node = draw(accept[node], alias[node], uniforms[step])
        return node, visits

    rng = np.random.RandomState(6)
    rows = rng.rand(3, 3).astype("float32")
    rows /= rows.sum(axis=1, keepdims=True)
    build = convert(build_alias)
    made = [build_alias(paddle.to_tensor(row)) for row in rows]
    tables = paddle.stack([a for a, _ in made]), paddle.stack([b for _, b in made])
    for start in (1, 2, 0):
        yield walk(
            tables, paddle.to_tensor(start), paddle.to_tensor(rng.rand(5, 2).astype("float32"))
        )
    for row in rows:
        yield build(paddle.to_tensor(row))


@program
def job_shop_list_scheduling(convert):
    """List scheduling of a task graph on machines; ready times are tensors, precedence is Python."""

    class Task(Generic[T]):
        def __init__(self, name: T, after: Sequence[T] = (), machine: int = 0):
            self.name, self.after, self.machine = name, tuple(after), machine

    class CycleError(ValueError): ...

    class Scheduler:
        def __init__(self, tasks, machines=2):
            self.tasks = {task.name: task for task in tasks}
            self.machines = machines

        def order(self):
            done, out = set(), []
            while len(out) < len(self.tasks):
                ready = [
                    t for n, t in self.tasks.items() if n not in done and done.issuperset(t.after)
                ]
                if not ready:
                    raise CycleError(f"cycle among {sorted(set(self.tasks) - done)}")
                for task in ready:
                    out.append(task)
                    done.add(task.name)
            return out

        def schedule(self, durations, assign="fixed"):
            free = [paddle.zeros([]) for _ in range(self.machines)]
            finish: Dict[str, paddle.Tensor] = {}
            plan = []
            for task in self.order():
                ready = paddle.zeros([])
                for other in task.after:
                    ready = paddle.maximum(ready, finish[other])
                machine = task.machine
                if assign == "earliest":
                    machine = 0
                    for m in range(1, self.machines):
                        if free[m] < free[machine]:
                            machine = m
                start = paddle.maximum(ready, free[machine])
                finish[task.name] = start + durations[task.name]
                free[machine] = finish[task.name]
                plan.append((task.name, machine, start))
            makespan = paddle.stack(list(finish.values())).max()
            critical = [name for name, t in finish.items() if t >= makespan - 1e-6]
            return plan, makespan, critical

    tasks = [Task("a"), Task("b", machine=1), Task("c", ["a"]), Task("d", ["a", "b"], 1)]
    scheduler = Scheduler(tasks)
    schedule = convert(scheduler.schedule)
    for values in ([1.0, 2.0, 3.0, 1.0], [2.0, 0.5, 1.0, 4.0]):
        durations = {name: paddle.to_tensor(v) for name, v in zip("abcd", values)}
        yield schedule(durations)
        yield schedule(durations, assign="earliest")
    scheduler.tasks["a"] = Task("a", after=["d"])
    yield attempt(lambda: schedule(durations))


@program
def spectral_clustering(convert):
    """A normalised Laplacian, eigenvectors by orthogonal iteration, then a two-way cut by the best sweep."""

    class SpectralCut:
        def __init__(self, sigma=1.0, n_iter=15):
            self.sigma, self.n_iter = sigma, n_iter

        def affinity(self, x):
            w = paddle.exp(-(paddle.cdist(x, x) ** 2) / (2 * self.sigma**2))
            return w * (1 - paddle.eye(x.shape[0]))

        def fiedler(self, w, v):
            d = w.sum(axis=1)
            root = paddle.rsqrt(d)
            m = root.unsqueeze(1) * w * root.unsqueeze(0) + paddle.eye(w.shape[0])
            first = paddle.sqrt(d) / paddle.norm(paddle.sqrt(d))
            for i in range(self.n_iter):
                v = v - (v * first).sum() * first
                new = m @ v
                new = new / paddle.norm(new)
                if (new - v).abs().max() < 1e-5:
                    break
                v = new
            return v * root

        def fit(self, x, start):
            w = self.affinity(x)
            order = paddle.argsort(self.fiedler(w, start))
            volume = w.sum()
            best_cut = paddle.to_tensor(float("inf"))
            best_size = 0
            n = x.shape[0]
            for k in range(1, n):
                inside = order[:k]
                mask = paddle.zeros([n])
                mask[inside] = 1.0
                cut = (mask.unsqueeze(1) * w * (1 - mask).unsqueeze(0)).sum()
                inner = (mask.unsqueeze(1) * w).sum()
                score = cut / paddle.minimum(inner, volume - inner)
                if score < best_cut:
                    best_cut, best_size = score, k
            labels = paddle.zeros([n], dtype="int64")
            labels[order[:best_size]] = 1
            return labels, best_cut, best_size

    rng = np.random.RandomState(4)
    model = SpectralCut()
    fit = convert(model.fit)
    for gap in (4.0, 2.0):
        pts = np.concatenate([rng.randn(3, 2) * 0.4, rng.randn(2, 2) * 0.4 + gap]).astype("float32")
        yield fit(paddle.to_tensor(pts), paddle.to_tensor([1.0, 0.5, -0.2, 0.3, -1.0]))
    model.n_iter = 2
    yield fit(paddle.to_tensor(pts), paddle.to_tensor([1.0, 0.5, -0.2, 0.3, -1.0]))


@program
def convolutional_code_viterbi(convert):
    """A rate-1/2 code: the trellis is made of Python tuples, path metrics of tensors; puncturing optional."""

    class Trellis:
        def __init__(self, generators=(0b111, 0b101), memory=2):
            self.generators, self.memory = generators, memory
            self.states = 1 << memory

        def output(self, state, bit):
            register = (bit << self.memory) | state
            return tuple(bin(register & g).count("1") & 1 for g in self.generators)

        def step(self, state, bit):
            return ((bit << self.memory) | state) >> 1

    class ViterbiDecoder:
        def __init__(self, trellis):
            self.trellis = trellis

        def encode(self, bits):
            state, out = 0, []
            for bit in bits:
                out.extend(self.trellis.output(state, bit))
                state = self.trellis.step(state, bit)
            return out

        def decode(self, received, erasure=None):
            t = self.trellis
            metrics = [paddle.zeros([])] + [paddle.to_tensor(1e6)] * (t.states - 1)
            paths = [paddle.zeros([0], dtype="int64") for _ in range(t.states)]
            for k in range(received.shape[0] // 2):
                symbol = received[2 * k : 2 * k + 2]
                best = [None] * t.states
                chosen = [None] * t.states
                for state in range(t.states):
                    for bit in (0, 1):
                        expected = paddle.to_tensor([1.0 - 2.0 * b for b in t.output(state, bit)])
                        distance = (symbol - expected) ** 2
                        if erasure is not None:
                            distance = paddle.where(
                                symbol == erasure, paddle.zeros_like(distance), distance
                            )
                        metric = metrics[state] + distance.sum()
                        target = t.step(state, bit)
                        if best[target] is None or metric < best[target]:
                            best[target] = metric
                            chosen[target] = paddle.concat(
                                [paths[state], paddle.full([1], bit, dtype="int64")]
                            )
                metrics, paths = best, chosen
            final = paddle.stack(metrics)
            return paddle.stack(paths)[final.argmin()], final.min()

    coder = ViterbiDecoder(Trellis())
    decode = convert(coder.decode)
    rng = np.random.RandomState(8)
    for bits in ([1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1]):
        clean = np.array([1.0 - 2.0 * b for b in coder.encode(bits)], dtype="float32")
        noisy = clean + rng.randn(len(clean)).astype("float32") * 0.4
        yield decode(paddle.to_tensor(noisy))
    clean[1] = 0.0
    yield decode(paddle.to_tensor(clean), erasure=0.0)
