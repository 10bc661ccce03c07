"""Numerics written out: quadrature, trust regions, events of an ODE, sparse systems, splines."""

import enum
import functools
import warnings
from dataclasses import dataclass, field
from typing import List, NamedTuple, Protocol, Tuple

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def gauss_kronrod_with_a_worklist(convert):
    """Globally adaptive quadrature: the worst interval is halved until the error is small."""

    NODES = [0.0, 0.4058451513773972, 0.7415311855993945, 0.9491079123427585]
    KRONROD_EXTRA = [0.2077849550078985, 0.5860872354676911, 0.8648644233597691, 0.9914553711208126]
    GAUSS_W = [0.4179591836734694, 0.3818300505051189, 0.2797053914892767, 0.1294849661688697]
    K_W = [0.2094821410847278, 0.1903505780647854, 0.1406532597159259, 0.0630920926299786]
    KE_W = [0.2044329400752989, 0.1690047266392679, 0.1047900103222502, 0.0229353220105292]

    def panel(f, a, b):
        centre, half = (a + b) / 2, (b - a) / 2
        gauss = kronrod = 0.0
        for x, gw, kw in zip(NODES, GAUSS_W, K_W):
            value = f(centre + half * x)
            if x:
                value = value + f(centre - half * x)
            gauss = gauss + gw * value
            kronrod = kronrod + kw * value
        for x, kw in zip(KRONROD_EXTRA, KE_W):
            kronrod = kronrod + kw * (f(centre + half * x) + f(centre - half * x))
        return kronrod * half, ((kronrod - gauss) * half).abs()

    class Converged(Exception):
        pass

    @convert
    def integrate(f, a, b, theta, tolerance=1e-6, limit=20, strict=False):
        g = functools.partial(f, theta=theta)
        value, error = panel(g, a, b)
        work = [(a, b, value, error)]
        while sum(item[3] for item in work) > tolerance:
            if len(work) >= limit:
                if strict:
                    raise ArithmeticError(f"not converged in {limit} intervals")
                break
            worst = max(range(len(work)), key=lambda i: float(work[i][3]))
            lo, hi, _, _ = work.pop(worst)
            mid = (lo + hi) / 2
            work.append((lo, mid, *panel(g, lo, mid)))
            work.append((mid, hi, *panel(g, mid, hi)))
        return sum(item[2] for item in work), len(work)

    def bump(x, theta):
        return paddle.exp(-theta * (x - 0.3) ** 2)

    def oscillating(x, theta):
        return paddle.cos(theta * x) / (1 + x * x)

    for f, a, b, theta, kwargs in [
        (bump, 0.0, 1.0, 3.0, {}),
        (bump, -1.0, 2.0, 200.0, {"limit": 12}),
        (oscillating, 0.0, 4.0, 9.0, {"tolerance": 1e-4}),
        (oscillating, 0.0, 9.0, 30.0, {"limit": 4, "strict": True}),
    ]:
        t = paddle.to_tensor(theta, dtype="float64", stop_gradient=False)
        ends = [paddle.to_tensor(e, dtype="float64") for e in (a, b)]
        found = attempt(lambda: integrate(f, *ends, t, **kwargs))
        yield found
        if isinstance(found, tuple):
            found[0].backward()
            yield t.grad


@program
def dogleg_in_a_trust_region(convert):
    """Powell's dogleg: model and actual reduction, the radius that grows and shrinks, a report."""

    class Status(enum.Enum):
        CONVERGED = "gradient below tolerance"
        SMALL_RADIUS = "radius collapsed"
        MAX_ITER = "out of iterations"

    @dataclass
    class Report:
        x: paddle.Tensor
        value: paddle.Tensor
        status: Status
        iterations: int
        accepted: int
        radii: List[float] = field(default_factory=list)

    def gradient_and_hessian(f, x):
        x = x.detach()
        x.stop_gradient = False
        y = f(x)
        (g,) = paddle.grad(y, [x], create_graph=True)
        rows = [paddle.grad(g[i], [x], retain_graph=True)[0] for i in range(x.shape[0])]
        return y.detach(), g.detach(), paddle.stack(rows)

    def dogleg(g, h, radius):
        try_newton = -paddle.linalg.solve(h, g)
        if try_newton.norm() <= radius and try_newton @ g < 0:
            return try_newton
        curvature = g @ h @ g
        if curvature <= 0:
            return -g * (radius / g.norm())
        cauchy = -(g @ g) / curvature * g
        if cauchy.norm() >= radius:
            return cauchy * (radius / cauchy.norm())
        d = try_newton - cauchy
        a, b, c = d @ d, 2 * (cauchy @ d), cauchy @ cauchy - radius**2
        tau = (-b + (b * b - 4 * a * c).sqrt()) / (2 * a)
        return cauchy + tau * d

    @convert
    def minimise(f, x0, radius=1.0, max_radius=4.0, tol=1e-5, max_iter=25, eta=0.1):
        x = x0
        accepted = 0
        radii = []
        status = Status.MAX_ITER
        for k in range(max_iter):
            value, g, h = gradient_and_hessian(f, x)
            if g.abs().max() < tol:
                status = Status.CONVERGED
                break
            step = dogleg(g, h, radius)
            predicted = -(g @ step + 0.5 * (step @ h @ step))
            actual = value - f(x + step)
            rho = actual / predicted if predicted > 0 else paddle.to_tensor(-1.0, dtype=x.dtype)
            if rho < 0.25:
                radius = radius * 0.25
            elif rho > 0.75 and (step.norm() - radius).abs() < 1e-6:
                radius = min(2 * radius, max_radius)
            if rho > eta:
                x = x + step
                accepted += 1
            radii.append(float(radius))
            if radius < 1e-8:
                status = Status.SMALL_RADIUS
                break
        return Report(x, f(x), status, k, accepted, radii)

    def rosenbrock(x):
        return ((1 - x[:-1]) ** 2 + 10 * (x[1:] - x[:-1] ** 2) ** 2).sum()

    def quartic(x):
        return (x**4).sum() / 4 - x.sum()

    for f, start, kwargs in [
        (rosenbrock, [-1.2, 1.0], {}),
        (quartic, [2.0, -1.0, 0.5], {"radius": 0.5}),
        (rosenbrock, [0.5, 0.5, -0.5], {"max_iter": 4, "max_radius": 0.5}),
    ]:
        report = minimise(f, paddle.to_tensor(start, dtype="float64"), **kwargs)
        yield report.x, report.value, report.status.value, report.iterations, report.accepted
        yield report.radii


@program
def bouncing_with_located_events(convert):
    """An embedded Runge-Kutta with step control; events are bisected, and change the state."""

    class Event(Protocol):
        terminal: bool

        def __call__(self, t, y): ...

        def apply(self, y): ...

    class Floor:
        terminal = False

        def __init__(self, restitution):
            self.restitution = restitution
            self.count = 0

        def __call__(self, t, y):
            return y[0]

        def apply(self, y):
            self.count += 1
            return paddle.stack([paddle.zeros([], y.dtype), -self.restitution * y[1]])

    class Slow:
        terminal = True

        def __init__(self, energy):
            self.energy = energy

        def __call__(self, t, y):
            return 9.81 * y[0] + y[1] ** 2 / 2 - self.energy

        def apply(self, y):
            return y

    def bogacki_shampine(f, t, y, h):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + 3 * h / 4, y + 3 * h / 4 * k2)
        y3 = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = f(t + h, y3)
        y2 = y + h * (7 / 24 * k1 + k2 / 4 + k3 / 3 + k4 / 8)
        return y3, (y3 - y2).abs().max()

    def locate(f, event, t, y, h, iterations=20):
        lo, hi = paddle.zeros_like(h), h
        for _ in range(iterations):
            mid = (lo + hi) / 2
            ym, _ = bogacki_shampine(f, t, y, mid)
            if event(t + mid, ym) > 0:
                lo = mid
            else:
                hi = mid
        return hi, bogacki_shampine(f, t, y, hi)[0]

    @convert
    def solve(f, y0, t1, events, h=0.1, tol=1e-5, max_steps=60):
        t, y = paddle.zeros([], y0.dtype), y0
        h = paddle.to_tensor(h, dtype=y0.dtype)
        log = []
        rejected = 0
        for _ in range(max_steps):
            if t >= t1:
                break
            h = paddle.minimum(h, t1 - t)
            new, err = bogacki_shampine(f, t, y, h)
            if err > tol:
                rejected += 1
                h = h * max(0.2, 0.9 * (tol / err) ** (1 / 3))
                continue
            fired = None
            for event in events:
                if event(t, y) > 1e-9 and event(t + h, new) <= 0:
                    fired = event
                    break
            if fired is not None:
                dt, hit = locate(f, fired, t, y, h)
                t = t + dt
                log.append((type(fired).__name__, t))
                y = fired.apply(hit)
                if fired.terminal:
                    break
                continue
            t, y = t + h, new
            h = h * paddle.clip(0.9 * (tol / (err + 1e-12)) ** (1 / 3), 0.5, 3.0)
        return t, y, log, rejected

    def gravity(t, y):
        return paddle.stack([y[1], paddle.full([], -9.81, y.dtype)])

    def drag(t, y, k=0.2):
        return paddle.stack([y[1], -9.81 - k * y[1] * y[1].abs()])

    for f, height, t1, restitution in [
        (gravity, 1.0, 1.5, 0.8),
        (drag, 2.0, 1.0, 0.5),
        (gravity, 0.2, 2.0, 0.4),
    ]:
        floor = Floor(restitution)
        y0 = paddle.to_tensor([height, 0.0], dtype="float64", stop_gradient=False)
        t, y, log, rejected = solve(
            f, y0, paddle.to_tensor(t1, dtype="float64"), [floor, Slow(0.3)]
        )
        yield t, y, log, rejected, floor.count
        (y.sum() + t).backward()
        yield y0.grad


@program
def sparse_systems_with_preconditioners(convert):
    """CSR matrices with operators, conjugate gradients, restarted GMRES, and a choice of both."""

    class CSR(NamedTuple):
        indptr: paddle.Tensor
        indices: paddle.Tensor
        data: paddle.Tensor
        shape: Tuple[int, int]

        @classmethod
        def from_dense(cls, a):
            rows, cols = np.nonzero(a)
            indptr = np.searchsorted(rows, np.arange(a.shape[0] + 1))
            return cls(*map(paddle.to_tensor, (indptr, cols, a[rows, cols])), a.shape)

        @property
        def rows(self):
            counts = self.indptr[1:] - self.indptr[:-1]
            return paddle.repeat_interleave(paddle.arange(self.shape[0]), counts)

        def __matmul__(self, x):
            products = self.data * x[self.indices]
            out = paddle.zeros([self.shape[0]], x.dtype)
            return paddle.scatter_nd_add(out, self.rows.unsqueeze(1), products)

        def diagonal(self):
            on = self.rows == self.indices
            return self.data[on]

    def cg(a, b, precondition, tol, max_iter):
        x = paddle.zeros_like(b)
        r = b - a @ x
        z = precondition(r)
        p, rz = z, r @ z
        for i in range(max_iter):
            ap = a @ p
            alpha = rz / (p @ ap)
            x = x + alpha * p
            r = r - alpha * ap
            if r.norm() < tol * b.norm():
                return x, i + 1, True
            z = precondition(r)
            rz, old = r @ z, rz
            p = z + rz / old * p
        return x, max_iter, False

    def gmres(a, b, precondition, tol, max_iter, restart=4):
        x = paddle.zeros_like(b)
        for outer in range(max_iter):
            r = precondition(b - a @ x)
            beta = r.norm()
            if beta < tol:
                return x, outer, True
            basis = [r / beta]
            h = paddle.zeros([restart + 1, restart], b.dtype)
            used = 0
            for j in range(restart):
                w = precondition(a @ basis[j])
                for i, v in enumerate(basis):
                    projection = w @ v
                    h[i, j] = projection
                    w = w - projection * v
                norm = w.norm()
                h[j + 1, j] = norm
                used = j + 1
                if norm < 1e-10:
                    break
                basis.append(w / norm)
            hs = h[: used + 1, :used]
            e1 = paddle.zeros([used + 1], b.dtype)
            e1[0] = beta
            y = paddle.linalg.solve(hs.t() @ hs, hs.t() @ e1)
            x = x + paddle.stack(basis[:used], axis=1) @ y
        return x, max_iter, False

    @convert
    def solve(a, b, method="cg", jacobi=True, tol=1e-8, max_iter=30):
        if jacobi:
            inverse = 1 / a.diagonal()
            precondition = lambda r: inverse * r  # noqa: E731
        else:
            precondition = lambda r: r  # noqa: E731
        x, iterations, ok = {"cg": cg, "gmres": gmres}[method](a, b, precondition, tol, max_iter)
        residual = (b - a @ x).norm()
        if not ok:
            warnings.warn(f"{method} stopped after {iterations}")
        return x, iterations, ok, residual

    rng = np.random.RandomState(12)
    for n, kwargs in [
        (6, {}),
        (8, {"jacobi": False}),
        (6, {"method": "gmres"}),
        (8, {"method": "gmres", "jacobi": False, "max_iter": 1}),
    ]:
        dense = np.where(rng.rand(n, n) < 0.3, rng.randn(n, n), 0)
        dense = dense + dense.T + np.eye(n) * 6
        b = paddle.to_tensor(rng.randn(n), stop_gradient=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x, iterations, ok, residual = solve(CSR.from_dense(dense), b, **kwargs)
        yield x, iterations, ok, residual < 1e-6
        yield [str(w.message) for w in caught if "stopped" in str(w.message)]
        x.sum().backward()
        yield b.grad


@program
def splines_by_boundary_condition(convert):
    """Cubic splines (natural, clamped, not-a-knot), monotone ones, evaluation and extrapolation."""

    class Boundary(enum.Enum):
        NATURAL = enum.auto()
        CLAMPED = enum.auto()
        MONOTONE = enum.auto()

    def thomas(lower, diag, upper, rhs):
        n = len(diag)
        c, d = [upper[0] / diag[0]], [rhs[0] / diag[0]]
        for i in range(1, n):
            m = diag[i] - lower[i] * c[-1]
            c.append(upper[i] / m if i < n - 1 else None)
            d.append((rhs[i] - lower[i] * d[-1]) / m)
        x = [d[-1]]
        for i in reversed(range(n - 1)):
            x.append(d[i] - c[i] * x[-1])
        return paddle.stack(x[::-1])

    def slopes(x, y, boundary):
        h = x[1:] - x[:-1]
        delta = (y[1:] - y[:-1]) / h
        n = len(x)
        if boundary is Boundary.MONOTONE:
            m = [delta[0]]
            for i in range(1, n - 1):
                if delta[i - 1] * delta[i] <= 0:
                    m.append(paddle.zeros_like(delta[0]))
                else:
                    w1, w2 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
                    m.append((w1 + w2) / (w1 / delta[i - 1] + w2 / delta[i]))
            m.append(delta[-1])
            return paddle.stack(m)
        one, zero = paddle.ones_like(h[0]), paddle.zeros_like(h[0])
        lower = [None, *(h[i] for i in range(1, n - 1))]
        upper = [None, *(h[i - 1] for i in range(1, n - 1))]
        diag = [None, *(2 * (h[i - 1] + h[i]) for i in range(1, n - 1))]
        rhs = [None]
        rhs += [3 * (h[i] * delta[i - 1] + h[i - 1] * delta[i]) for i in range(1, n - 1)]
        match boundary:
            case Boundary.NATURAL:
                diag[0], upper[0], rhs[0] = 2 * one, one, 3 * delta[0]
                last = (one, 2 * one, 3 * delta[-1])
            case Boundary.CLAMPED:
                diag[0], upper[0], rhs[0] = one, zero, zero
                last = (zero, one, zero)
        lower.append(last[0])
        diag.append(last[1])
        rhs.append(last[2])
        return thomas(lower, diag, [*upper, None], rhs)

    class Spline:
        def __init__(self, x, y, boundary):
            self.x, self.y, self.boundary = x, y, boundary
            self.m = slopes(x, y, boundary)

        def __call__(self, t, extrapolate=True):
            i = paddle.searchsorted(self.x, t, right=True) - 1
            i = i.clip(0, len(self.x) - 2)
            h = self.x[i + 1] - self.x[i]
            s = (t - self.x[i]) / h
            out = (
                (1 + 2 * s) * (1 - s) ** 2 * self.y[i]
                + s * (1 - s) ** 2 * h * self.m[i]
                + s**2 * (3 - 2 * s) * self.y[i + 1]
                - s**2 * (1 - s) * h * self.m[i + 1]
            )
            outside = (t < self.x[0]) | (t > self.x[-1])
            if not extrapolate and outside.any():
                raise ValueError(f"{int(outside.sum())} points outside of the knots")
            return out

    @convert
    def resample(x, y, t, boundary=Boundary.NATURAL, extrapolate=True):
        if not (x[1:] > x[:-1]).all():
            order = x.argsort()
            x, y = x[order], y[order]
        spline = Spline(x, y, boundary)
        values = spline(t, extrapolate)
        return values, spline.m

    rng = np.random.RandomState(13)
    for n, k, boundary in [
        (5, 4, Boundary.NATURAL),
        (5, 7, Boundary.CLAMPED),
        (7, 4, Boundary.MONOTONE),
        (6, 4, Boundary.NATURAL),
    ]:
        x = np.cumsum(rng.rand(n) + 0.2)
        if k == 7:
            x = rng.permutation(x)
        y = paddle.to_tensor(rng.randn(n), stop_gradient=False)
        t = paddle.to_tensor(np.sort(rng.rand(k)) * (x.max() - x.min()) + x.min())
        values, m = resample(paddle.to_tensor(x), y, t, boundary=boundary)
        yield values, m
        values.sum().backward()
        yield y.grad
        far = paddle.to_tensor([float(x.max()) + 1.0])
        yield attempt(lambda: resample(paddle.to_tensor(x), y, far, boundary, extrapolate=False))
