"""Numerical methods from the textbook, with their stopping rules and safeguards."""

import math
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def shallow_water_with_cfl_steps(convert):
    """A dam that breaks: Lax and Friedrichs fluxes, steps by the CFL rule, dry cells, gauges."""

    class Blowup(RuntimeError):
        def __init__(self, time, what):
            super().__init__(f"{what} at t={time:.4f}")

    @dataclass
    class Gauge:
        at: int
        times: list = field(default_factory=list)
        depths: list = field(default_factory=list)

        def read(self, t, h):
            self.times.append(t)
            self.depths.append(h[self.at])

    class ShallowWater:
        def __init__(self, n=16, g=9.81, cfl=0.5, dry=1e-3):
            self.n, self.g, self.cfl, self.dry = n, g, cfl, dry
            self.dx = 1.0 / n
            self.gauges = [Gauge(n // 4), Gauge(3 * n // 4)]

        def flux(self, h, q):
            u = paddle.where(h > self.dry, q / h.clip(min=self.dry), paddle.zeros_like(q))
            return q, q * u + 0.5 * self.g * h**2, u

        @staticmethod
        def pad(v, sign=1.0):
            return paddle.concat([sign * v[:1], v, sign * v[-1:]])

        def step(self, h, q, dt):
            hp, qp = self.pad(h), self.pad(q, -1.0)
            fh, fq, _ = self.flux(hp, qp)
            r = dt / (2 * self.dx)
            new_h = 0.5 * (hp[:-2] + hp[2:]) - r * (fh[2:] - fh[:-2])
            new_q = 0.5 * (qp[:-2] + qp[2:]) - r * (fq[2:] - fq[:-2])
            return new_h, new_q

        @convert
        def run(self, h, q, until, max_steps=60):
            t, steps = paddle.zeros([]), 0
            while t < until:
                _, _, u = self.flux(h, q)
                speed = (u.abs() + (self.g * h.clip(min=0.0)).sqrt()).max()
                dt = self.cfl * self.dx / speed
                if t + dt > until:
                    dt = until - t
                h, q = self.step(h, q, dt)
                t = t + dt
                steps += 1
                if not paddle.isfinite(h).all():
                    raise Blowup(float(t), "depth is not finite")
                if (h < 0).any():
                    h = h.clip(min=0.0)
                    q = paddle.where(h > self.dry, q, paddle.zeros_like(q))
                if steps % 5 == 0:
                    for gauge in self.gauges:
                        gauge.read(t, h)
                if steps >= max_steps:
                    break
            return h, q, t, steps

    for left, until, cfl in ((2.0, 0.05, 0.5), (5.0, 0.08, 0.9), (2.0, 0.05, 0.25)):
        solver = ShallowWater(cfl=cfl)
        h = paddle.to_tensor(np.where(np.arange(16) < 8, left, 1.0).astype("float32"))
        yield solver.run(h, paddle.zeros([16]), paddle.to_tensor(until))
        yield [(g.at, g.times, g.depths) for g in solver.gauges]
    bad = paddle.full([16], float("nan"))
    yield attempt(lambda: solver.run(bad, paddle.zeros([16]), paddle.to_tensor(0.1)))


@program
def diffusion_by_thomas(convert):
    """Crank and Nicolson with a tridiagonal solver, steps halved where two solutions disagree."""

    @convert
    def thomas(lower, diagonal, upper, rhs):
        n = rhs.shape[0]
        c, d = [None] * n, [None] * n
        if diagonal[0] == 0:
            raise ZeroDivisionError("first pivot is zero")
        c[0], d[0] = upper[0] / diagonal[0], rhs[0] / diagonal[0]
        for i in range(1, n):
            pivot = diagonal[i] - lower[i - 1] * c[i - 1]
            if i < n - 1:
                c[i] = upper[i] / pivot
            d[i] = (rhs[i] - lower[i - 1] * d[i - 1]) / pivot
        x = paddle.zeros_like(rhs)
        x[n - 1] = d[n - 1]
        for i in reversed(range(n - 1)):
            x[i] = d[i] - c[i] * x[i + 1]
        return x

    class Rod:
        def __init__(self, conductivity, n=8):
            self.k = conductivity
            self.n = n
            self.dx = 1 / (n + 1)

        def advance(self, u, dt, theta=0.5):
            face = self.k(0.5 * (u[1:] + u[:-1]))
            west = paddle.concat([face[:1], face])
            east = paddle.concat([face, face[-1:]])
            r = dt / self.dx**2
            left = paddle.concat([paddle.zeros([1]), u[:-1]])
            right = paddle.concat([u[1:], paddle.zeros([1])])
            explicit = u + (1 - theta) * r * (east * (right - u) - west * (u - left))
            diagonal = 1 + theta * r * (east + west)
            return thomas(-theta * r * face, diagonal, -theta * r * face, explicit)

        @convert
        def integrate(self, u, end, dt, tolerance=2e-3, smallest=1e-4):
            t = 0.0
            log = {"accepted": 0, "rejected": 0}
            while t < end - 1e-9:
                dt = min(dt, end - t)
                whole = self.advance(u, dt)
                half = self.advance(self.advance(u, dt / 2), dt / 2)
                error = float((whole - half).abs().max())
                if error > tolerance and dt > smallest:
                    dt /= 2
                    log["rejected"] += 1
                    continue
                u = (4 * half - whole) / 3
                t += dt
                log["accepted"] += 1
                if error < tolerance / 10:
                    dt *= 1.5
            return u, log, round(t, 6)

    laws = {"constant": lambda u: paddle.ones_like(u), "linear": lambda u: 0.5 + u.abs()}
    for name, dt in (("constant", 0.01), ("linear", 0.02), ("constant", 0.002)):
        rod = Rod(laws[name])
        x = np.linspace(0, 1, 10)[1:-1]
        u = paddle.to_tensor((np.sin(np.pi * x) + 0.3 * np.sin(4 * np.pi * x)).astype("float32"))
        yield name, rod.integrate(u, 0.05, dt)
    zero = paddle.zeros([3])
    yield attempt(lambda: thomas(zero[:2], zero, zero[:2], zero))


@program
def eigenvalues_by_shifted_qr(convert):
    """Householder to Hessenberg, QR steps with Wilkinson's shift, deflation, pairs of complex."""

    @convert
    def hessenberg(a):
        n = a.shape[0]
        h = a.clone()
        for k in range(n - 2):
            x = h[k + 1 :, k].clone()
            alpha = x.norm()
            if alpha < 1e-8:
                continue
            if x[0] > 0:
                alpha = -alpha
            x[0] = x[0] - alpha
            v = (x / x.norm()).unsqueeze(1)
            h[k + 1 :, :] = h[k + 1 :, :] - 2 * v @ (v.t() @ h[k + 1 :, :])
            h[:, k + 1 :] = h[:, k + 1 :] - 2 * (h[:, k + 1 :] @ v) @ v.t()
        return h

    def wilkinson(block):
        a, b, c, d = block[0, 0], block[0, 1], block[1, 0], block[1, 1]
        trace, det = a + d, a * d - b * c
        disc = trace**2 / 4 - det
        if disc < 0:
            return d
        root = disc.sqrt()
        one, two = trace / 2 + root, trace / 2 - root
        return one if (one - d).abs() < (two - d).abs() else two

    @convert
    def eigenvalues(h, tol=1e-5, limit=60):
        n = h.shape[0]
        real = paddle.zeros([n])
        imag = paddle.zeros([n])
        hi, used = n, 0
        while hi > 0 and used < limit:
            if hi == 1:
                real[0] = h[0, 0]
                hi = 0
                break
            if h[hi - 1, hi - 2].abs() < tol * (h[hi - 1, hi - 1].abs() + h[hi - 2, hi - 2].abs()):
                real[hi - 1] = h[hi - 1, hi - 1]
                hi -= 1
                h = h[:hi, :hi]
                continue
            block = h[hi - 2 :, hi - 2 :]
            trace = block[0, 0] + block[1, 1]
            disc = trace**2 / 4 - (block[0, 0] * block[1, 1] - block[0, 1] * block[1, 0])
            lonely = hi == 2 or h[hi - 2, hi - 3].abs() < tol
            if lonely and disc < 0:
                real[hi - 2 : hi] = trace / 2
                imag[hi - 2] = (-disc).sqrt()
                imag[hi - 1] = -(-disc).sqrt()
                hi -= 2
                h = h[:hi, :hi]
                continue
            mu = wilkinson(block)
            q, r = paddle.linalg.qr(h - mu * paddle.eye(hi))
            h = r @ q + mu * paddle.eye(hi)
            used += 1
        if hi > 0:
            raise ArithmeticError(f"{hi} eigenvalues are left after {limit} steps")
        return real, imag, used

    rng = np.random.RandomState(20)
    for n, symmetric in ((4, True), (4, False), (3, True)):
        a = rng.randn(n, n)
        a = (a + a.T) / 2 if symmetric else a
        h = hessenberg(paddle.to_tensor(a.astype("float32")))
        yield h.triu(-1)
        if symmetric:
            real, imag, used = eigenvalues(h)
            yield real.sort(), imag.abs().sum(), used > 0
    yield attempt(lambda: eigenvalues(h, limit=0))


@program
def powell_with_golden_sections(convert):
    """A direction set without gradients: brackets, golden sections, a direction exchanged."""

    Bracket = namedtuple("Bracket", "a b c fa fb fc")
    GOLD, SHRINK = 1.618034, 0.618034

    class Counter:
        def __init__(self, f):
            self.f = f
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            return self.f(x)

    def bracket(phi, step=0.2, limit=20):
        a, b = paddle.zeros([]), paddle.full([], step)
        fa, fb = phi(a), phi(b)
        if fb > fa:
            a, b, fa, fb = b, a, fb, fa
        c = b + GOLD * (b - a)
        fc = phi(c)
        for _ in range(limit):
            if fc >= fb:
                break
            a, b, c = b, c, c + GOLD * (c - b)
            fa, fb, fc = fb, fc, phi(c)
        return Bracket(a, b, c, fa, fb, fc)

    def golden(phi, br, tol=1e-2):
        x0, x3 = br.a, br.c
        x1 = x3 - SHRINK * (x3 - x0)
        x2 = x0 + SHRINK * (x3 - x0)
        f1, f2 = phi(x1), phi(x2)
        while (x3 - x0).abs() > tol:
            if f1 < f2:
                x3, x2, f2 = x2, x1, f1
                x1 = x3 - SHRINK * (x3 - x0)
                f1 = phi(x1)
            else:
                x0, x1, f1 = x1, x2, f2
                x2 = x0 + SHRINK * (x3 - x0)
                f2 = phi(x2)
        return (x1, f1) if f1 < f2 else (x2, f2)

    @convert
    def powell(f, x, rounds=6, tol=1e-3):
        directions = [row for row in paddle.eye(x.shape[0])]
        fx = f(x)
        for k in range(rounds):
            start, f_start = x, fx
            biggest, which = paddle.zeros([]), 0
            for i, d in enumerate(directions):
                before = fx
                phi = lambda s, x=x, d=d: f(x + s * d)
                s, fx = golden(phi, bracket(phi))
                x = x + s * d
                if before - fx > biggest:
                    biggest, which = before - fx, i
            if 2 * (f_start - fx) <= tol * (f_start.abs() + fx.abs() + 1e-10):
                return x, fx, k + 1
            overall = x - start
            f_far = f(x + overall)
            if f_far < f_start:
                t = 2 * (f_start - 2 * fx + f_far) * (f_start - fx - biggest) ** 2
                t = t - biggest * (f_start - f_far) ** 2
                if t < 0:
                    phi = lambda s: f(x + s * overall)
                    s, fx = golden(phi, bracket(phi))
                    x = x + s * overall
                    directions[which] = directions[-1]
                    directions[-1] = overall / overall.norm()
        return x, fx, rounds

    problems = {
        "bowl": lambda x: ((x - 1) ** 2).sum() + 0.5 * (x[0] * x[1]),
        "valley": lambda x: (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2,
    }
    for name, start in (("bowl", [0.0, 0.0]), ("valley", [-0.5, 1.0]), ("bowl", [3.0, -2.0])):
        f = Counter(problems[name])
        x, fx, rounds = powell(f, paddle.to_tensor(start), rounds=3)
        yield name, x, fx, rounds


@program
def nonnegative_least_squares(convert):
    """Lawson and Hanson: a passive set that grows and shrinks, steps cut at the boundary."""

    class Trace(list):
        def note(self, text, *args):
            self.append(text.format(*args))

    @convert
    def nnls(a, b, tol=1e-5, limit=20, trace=None):
        n = a.shape[1]
        x = paddle.zeros([n])
        passive = paddle.zeros([n], dtype="bool")
        w = a.t() @ (b - a @ x)
        rounds = 0
        while not passive.all() and (w[~passive] > tol).any():
            if rounds >= limit:
                raise RuntimeError("too many rounds")
            rounds += 1
            j = paddle.where(passive, paddle.full_like(w, -math.inf), w).argmax()
            passive[j] = True
            if trace is not None:
                trace.note("in {}", int(j))
            while True:
                columns = a[:, passive]
                s = paddle.zeros([n])
                s[passive] = paddle.linalg.lstsq(columns, b.unsqueeze(1))[0].squeeze(1)
                if (s[passive] > 0).all():
                    break
                blocking = passive & (s <= 0)
                ratio = x[blocking] / (x[blocking] - s[blocking])
                alpha = ratio.min()
                x = x + alpha * (s - x)
                gone = passive & (x.abs() < tol)
                passive = passive & ~gone
                if trace is not None:
                    trace.note("out {}", gone.nonzero().flatten().tolist())
            x = s
            w = a.t() @ (b - a @ x)
        return x, (b - a @ x).norm(), rounds

    @convert
    def certificate(a, b, x, tol=1e-3):
        """The KKT conditions, by name."""
        gradient = a.t() @ (a @ x - b)
        checks = {
            "feasible": bool((x >= -tol).all()),
            "dual": bool((gradient >= -tol).all()),
            "complementary": bool((x * gradient).abs().max() < tol),
        }
        failed = [name for name, ok in checks.items() if not ok]
        if failed:
            raise AssertionError(f"not optimal: {', '.join(failed)}")
        return checks

    rng = np.random.RandomState(22)
    for m, n in ((6, 3), (8, 4), (6, 3)):
        a = paddle.to_tensor(rng.randn(m, n).astype("float32"))
        b = paddle.to_tensor(rng.randn(m).astype("float32"))
        trace = Trace()
        x, residual, rounds = nnls(a, b, trace=trace)
        yield x, residual, rounds, list(trace)
        yield certificate(a, b, x)
    yield attempt(lambda: certificate(a, b, x + 1.0))
