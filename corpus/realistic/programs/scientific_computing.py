"""Physics and numerics: residuals with derivatives of networks, grids, fronts, adjoints."""

import math
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def physics_informed_network_for_burgers(convert):
    """Residuals with first and second derivatives, weights that follow the size of the losses."""

    class MLP(nn.Layer):
        def __init__(self, widths=(2, 8, 8, 1)):
            super().__init__()
            self.layers = nn.LayerList([nn.Linear(a, b) for a, b in zip(widths[:-1], widths[1:])])

        def forward(self, x, t):
            h = paddle.concat([x, t], axis=-1)
            for layer in self.layers[:-1]:
                h = paddle.tanh(layer(h))
            return self.layers[-1](h)

    class Burgers:
        def __init__(self, net, nu=0.01 / math.pi):
            self.net, self.nu = net, nu
            self.weights = {"residual": 1.0, "initial": 1.0, "boundary": 1.0}

        def residual(self, x, t):
            x.stop_gradient = False
            t.stop_gradient = False
            u = self.net(x, t)
            u_x, u_t = paddle.grad(u, [x, t], create_graph=True)
            (u_xx,) = paddle.grad(u_x, [x], create_graph=True)
            return u_t + u * u_x - self.nu * u_xx

        def losses(self, batch):
            x0 = batch["x0"]
            zero = paddle.zeros_like(x0)
            return {
                "residual": self.residual(batch["x"], batch["t"]).square().mean(),
                "initial": (self.net(x0, zero) + paddle.sin(math.pi * x0)).square().mean(),
                "boundary": self.net(paddle.ones_like(zero), batch["tb"]).square().mean(),
            }

    paddle.seed(2)
    problem = Burgers(MLP())
    scheduler = paddle.optimizer.lr.ExponentialDecay(learning_rate=1e-2, gamma=0.9)
    optimizer = paddle.optimizer.Adam(scheduler, parameters=problem.net.parameters())

    @convert
    def train_step(batch):
        losses = problem.losses(batch)
        total = sum(problem.weights[name] * value for name, value in losses.items())
        total.backward()
        optimizer.step()
        optimizer.clear_grad()
        return total, losses

    for epoch in range(4):
        n = 6 if epoch < 2 else 4
        batch = {
            "x": paddle.uniform([n, 1], min=-1.0, max=1.0),
            "t": paddle.rand([n, 1]),
            "x0": paddle.uniform([n, 1], min=-1.0, max=1.0),
            "tb": paddle.rand([n, 1]),
        }
        total, losses = train_step(batch)
        scheduler.step()
        if epoch == 1:
            largest = max(float(v) for v in losses.values())
            problem.weights = {k: round(largest / float(v), 3) for k, v in losses.items()}
        yield total, losses
    yield [p for p in problem.net.parameters()][0]


@program
def eikonal_by_fast_sweeping(convert):
    """Arrival times on a grid: four sweeps in a round, until nothing changes."""

    @convert
    def sweep_until_stable(speed, sources, h=1.0, tol=1e-5, max_rounds=10):
        ny, nx = speed.shape
        u = paddle.full([ny + 2, nx + 2], 1e6)
        frozen = paddle.zeros([ny + 2, nx + 2], dtype="bool")
        for y, x in sources:
            u[y + 1, x + 1] = 0.0
            frozen[y + 1, x + 1] = True
        rounds = 0
        while rounds < max_rounds:
            before = u.clone()
            for dy, dx in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                for y in range(1, ny + 1)[::dy]:
                    for x in range(1, nx + 1)[::dx]:
                        if frozen[y, x]:
                            continue
                        a = paddle.minimum(u[y - 1, x], u[y + 1, x])
                        b = paddle.minimum(u[y, x - 1], u[y, x + 1])
                        f = h / speed[y - 1, x - 1]
                        if (a - b).abs() >= f:
                            new = paddle.minimum(a, b) + f
                        else:
                            new = (a + b + paddle.sqrt(2 * f * f - (a - b) ** 2)) / 2
                        u[y, x] = paddle.minimum(u[y, x], new)
            rounds += 1
            if (u - before).abs().max() < tol:
                break
        return u[1:-1, 1:-1], rounds

    rng = np.random.RandomState(1)
    for shape, sources in (((3, 3), [(0, 0)]), ((3, 3), [(1, 2), (0, 0)]), ((2, 4), [(1, 3)])):
        speed = paddle.to_tensor(rng.uniform(0.5, 2.0, shape).astype("float32"))
        yield sweep_until_stable(speed, sources)
    yield sweep_until_stable(speed, sources, max_rounds=1)


@program
def adjoint_of_an_ode(convert):
    """A neural ODE whose backward is its own solve, as a PyLayer, with a choice of the stepper."""

    STEPPERS = {}

    def stepper(name):
        def register(fn):
            STEPPERS[name] = fn
            return fn

        return register

    @stepper("euler")
    def euler(f, t, y, dt):
        return y + dt * f(t, y)

    @stepper("rk4")
    def rk4(f, t, y, dt):
        k1 = f(t, y)
        k2 = f(t + dt / 2, y + dt / 2 * k1)
        k3 = f(t + dt / 2, y + dt / 2 * k2)
        k4 = f(t + dt, y + dt * k3)
        return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    class Dynamics(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(dim, 6), nn.Tanh(), nn.Linear(6, dim))
            self.evaluations = 0

        def forward(self, t, y):
            self.evaluations += 1
            return self.net(y) * (1 - 0.1 * t)

    @convert
    def odeint(func, y0, ts, method="rk4", substeps=2):
        step = STEPPERS[method]
        ys, y = [y0], y0
        for t0, t1 in zip(ts[:-1], ts[1:]):
            dt = (t1 - t0) / substeps
            for k in range(substeps):
                y = step(func, t0 + k * dt, y, dt)
            ys.append(y)
        return paddle.stack(ys)

    paddle.seed(4)
    func = Dynamics(2)
    opt = paddle.optimizer.SGD(0.05, parameters=func.parameters())
    target = paddle.to_tensor([[1.0, 0.0], [0.7, 0.4], [0.2, 0.6]])
    for method in ("euler", "rk4", "euler"):
        y0 = paddle.to_tensor([1.0, 0.1], stop_gradient=False)
        ys = odeint(func, y0, paddle.to_tensor([0.0, 0.5, 1.0]), method=method)
        loss = F.mse_loss(ys, target)
        loss.backward()
        yield ys, loss, y0.grad, func.evaluations
        opt.step()
        opt.clear_grad()
    yield odeint(func, y0, [0.0, 0.25], substeps=1)
    yield attempt(lambda: odeint(func, y0, [0.0, 1.0], method="dopri"))


@program
def finite_elements_with_refinement(convert):
    """Poisson on a line: assembly by element, the Thomas algorithm, and marking of bad elements."""

    @dataclass
    class Mesh:
        nodes: paddle.Tensor
        level: int = 0

        @property
        def sizes(self):
            return self.nodes[1:] - self.nodes[:-1]

        def refined(self, marks):
            points = [self.nodes[0]]
            for i in range(len(self.nodes) - 1):
                if marks[i]:
                    points.append((self.nodes[i] + self.nodes[i + 1]) / 2)
                points.append(self.nodes[i + 1])
            return replace(self, nodes=paddle.stack(points), level=self.level + 1)

    @convert
    def assemble(mesh, f):
        n = mesh.nodes.shape[0]
        diag, off, rhs = paddle.zeros([n]), paddle.zeros([n - 1]), paddle.zeros([n])
        for e in range(n - 1):
            h = mesh.sizes[e]
            mid = (mesh.nodes[e] + mesh.nodes[e + 1]) / 2
            diag[e] += 1 / h
            diag[e + 1] += 1 / h
            off[e] -= 1 / h
            rhs[e] += h / 2 * f(mid)
            rhs[e + 1] += h / 2 * f(mid)
        return diag[1:-1], off[1:-1], rhs[1:-1]

    @convert
    def thomas(diag, off, rhs):
        n = diag.shape[0]
        c, d = [], []
        for i in range(n):
            upper = off[i] if i < n - 1 else paddle.zeros([])
            if i == 0:
                c.append(upper / diag[0])
                d.append(rhs[0] / diag[0])
            else:
                denominator = diag[i] - off[i - 1] * c[-1]
                c.append(upper / denominator)
                d.append((rhs[i] - off[i - 1] * d[-1]) / denominator)
        x = [None] * n
        x[-1] = d[-1]
        for i in range(n - 2, -1, -1):
            x[i] = d[i] - c[i] * x[i + 1]
        return paddle.stack(x)

    @convert
    def indicator(mesh, u, f):
        full = paddle.concat([paddle.zeros([1]), u, paddle.zeros([1])])
        slope = (full[1:] - full[:-1]) / mesh.sizes
        jump = (slope[1:] - slope[:-1]).abs()
        eta = mesh.sizes * f((mesh.nodes[1:] + mesh.nodes[:-1]) / 2).abs()
        eta[:-1] += jump / 2
        eta[1:] += jump / 2
        return eta > 0.5 * eta.max()

    def source(x):
        return paddle.exp(-((x - 0.3) ** 2) * 50.0)

    mesh = Mesh(paddle.linspace(0.0, 1.0, 5))
    for _ in range(3):
        system = assemble(mesh, source)
        u = thomas(*system)
        marks = indicator(mesh, u, source)
        yield mesh.nodes, u, marks
        mesh = mesh.refined(marks)
    yield mesh


@program
def inverse_problem_with_regularisation(convert):
    """A blur is undone by ISTA and FISTA with backtracking and a stop by the discrepancy."""

    @dataclass(frozen=True)
    class Options:
        lam: float = 0.05
        accelerate: bool = True
        max_iter: int = 30
        noise: float = 0.0

    def soft(x, t):
        return paddle.sign(x) * F.relu(x.abs() - t)

    def tv(x, eps=1e-3):
        return paddle.sqrt((x[1:] - x[:-1]) ** 2 + eps).sum()

    @convert
    def ista(a, b, options):
        x = paddle.zeros([a.shape[1]])
        z, t, step = x, 1.0, 1.0
        trace = []
        for k in range(options.max_iter):
            r = paddle.mv(a, z) - b
            g = paddle.mv(a.t(), r)
            f = 0.5 * (r * r).sum()
            while True:
                new = soft(z - step * g, step * options.lam)
                d = new - z
                model = f + (g * d).sum() + (d * d).sum() / (2 * step)
                value = 0.5 * (paddle.mv(a, new) - b).square().sum()
                if value <= model + 1e-6:
                    break
                step *= 0.5
            if options.accelerate:
                t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
                z = new + (t - 1) / t_new * (new - x)
                t = t_new
            else:
                z = new
            moved = (new - x).norm()
            x = new
            trace.append(value)
            if moved < 1e-3 * paddle.maximum(x.norm(), paddle.to_tensor(1.0)):
                break
            if paddle.sqrt(2 * value) <= options.noise:
                break
        return x, len(trace), trace[-1], step

    @convert
    def gradient_flow(a, b, weight, steps):
        x = paddle.zeros([a.shape[1]])
        x.stop_gradient = False
        for i in range(steps):
            loss = F.mse_loss(paddle.mv(a, x), b, reduction="sum") + weight * tv(x)
            g = paddle.grad(loss, x)[0]
            x = (x - 0.1 * g).detach()
            x.stop_gradient = False
        return x, loss

    rng = np.random.RandomState(6)
    for n, options in (
        (5, Options()),
        (5, Options(accelerate=False, max_iter=12)),
        (6, Options(lam=0.2, noise=0.3)),
    ):
        a = paddle.to_tensor((np.eye(n) + 0.3 * np.eye(n, k=1)).astype("float32"))
        truth = rng.randn(n) * (rng.rand(n) > 0.4)
        b = paddle.mv(a, paddle.to_tensor(truth.astype("float32")))
        yield ista(a, b, options)
        yield gradient_flow(a, b, 0.01, steps=n)


@program
def contact_events_of_a_chain(convert):
    """Masses on springs above a floor; contacts are logged in a dict of lists, energy is watched."""

    class Chain:
        def __init__(self, n, stiffness=30.0, restitution=0.6):
            self.y = paddle.linspace(1.0, 1.0 + 0.2 * (n - 1), n)
            self.v = paddle.zeros([n])
            self.k, self.e = stiffness, restitution
            self.contacts = defaultdict(list)
            self.time = 0.0

        def force(self):
            stretch = self.y[1:] - self.y[:-1] - 0.2
            zero = paddle.zeros([1])
            pull = self.k * stretch
            return paddle.concat([pull, zero]) - paddle.concat([zero, pull]) - 9.81

        @property
        def energy(self):
            kinetic = 0.5 * self.v.square().sum()
            stretch = self.y[1:] - self.y[:-1] - 0.2
            return kinetic + 9.81 * self.y.sum() + 0.5 * self.k * stretch.square().sum()

        @convert
        def advance(self, dt, steps):
            hits = paddle.zeros_like(self.y, dtype="int64")
            for _ in range(steps):
                self.v = self.v + dt * self.force()
                self.y = self.y + dt * self.v
                below = (self.y < 0) & (self.v < 0)
                if below.any():
                    self.v = paddle.where(below, -self.e * self.v, self.v)
                    self.y = paddle.clip(self.y, min=0.0)
                    hits += below.astype("int64")
                self.time += dt
            return hits, self.energy

    for n in (2, 3):
        chain = Chain(n)
        for frame in range(4):
            hits, energy = chain.advance(0.01, steps=20)
            for i, count in enumerate(hits.tolist()):
                if count:
                    chain.contacts[i].append((frame, count))
            yield hits, energy, round(chain.time, 4)
        yield chain.y, chain.v, dict(chain.contacts)
