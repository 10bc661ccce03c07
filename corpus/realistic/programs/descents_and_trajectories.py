"""Optimisation and integration by hand: quasi-Newton, simplex, Krylov, events, error control."""

from collections import deque
from typing import NamedTuple

import numpy as np
import paddle

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def limited_memory_bfgs(convert):
    """L-BFGS with a deque of pairs, Armijo backtracking and a curvature test."""

    class LBFGS:
        def __init__(self, fun, history=3, max_iter=6, tol=1e-4):
            self.fun, self.max_iter, self.tol = fun, max_iter, tol
            self.pairs = deque(maxlen=history)
            self.evaluations = 0

        def value_and_grad(self, x):
            x = x.detach()
            x.stop_gradient = False
            y = self.fun(x)
            (g,) = paddle.grad(y, [x])
            self.evaluations += 1
            return y.detach(), g

        def direction(self, g):
            q = g
            alphas = []
            for s, y in reversed(self.pairs):
                rho = 1.0 / (y * s).sum()
                alpha = rho * (s * q).sum()
                q = q - alpha * y
                alphas.append((alpha, rho, s, y))
            if self.pairs:
                s, y = self.pairs[-1]
                q = q * ((s * y).sum() / (y * y).sum())
            for alpha, rho, s, y in reversed(alphas):
                q = q + s * (alpha - rho * (y * q).sum())
            return -q

        def minimise(self, x):
            f, g = self.value_and_grad(x)
            trace = [f]
            for _ in range(self.max_iter):
                if g.abs().max() < self.tol:
                    break
                d = self.direction(g)
                slope = (g * d).sum()
                if slope >= 0:
                    self.pairs.clear()
                    d, slope = -g, -(g * g).sum()
                step = 1.0
                while True:
                    candidate = x + step * d
                    f_new, g_new = self.value_and_grad(candidate)
                    if f_new <= f + 1e-4 * step * slope or step < 1e-6:
                        break
                    step *= 0.5
                s, y = candidate - x, g_new - g
                if (s * y).sum() > 1e-8:
                    self.pairs.append((s, y))
                x, f, g = candidate, f_new, g_new
                trace.append(f)
            return x, trace

    def rosenbrock(x):
        return ((1 - x[:-1]) ** 2).sum() + 5 * ((x[1:] - x[:-1] ** 2) ** 2).sum()

    for start in ([0.0, 0.0], [-1.0, 1.5]):
        solver = LBFGS(rosenbrock)
        minimise = convert(solver.minimise)
        x, trace = minimise(T(start))
        yield x, trace, solver.evaluations, len(solver.pairs)


@program
def simplex_descent(convert):
    """Nelder-Mead with reflection, expansion, contraction and shrinking."""

    class Result(NamedTuple):
        x: paddle.Tensor
        value: paddle.Tensor
        moves: dict

    def himmelblau(p):
        return (p[0] ** 2 + p[1] - 11) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2

    @convert
    def nelder_mead(f, start, size=1.0, steps=8, tol=1e-3):
        n = start.shape[0]
        simplex = [start] + [start + size * paddle.eye(n)[i] for i in range(n)]
        values = [f(p) for p in simplex]
        moves = dict.fromkeys(["reflect", "expand", "contract", "shrink"], 0)
        for _ in range(steps):
            order = paddle.stack(values).argsort().tolist()
            simplex = [simplex[i] for i in order]
            values = [values[i] for i in order]
            if (values[-1] - values[0]).abs() < tol:
                break
            centre = sum(simplex[:-1]) / n
            reflected = centre + (centre - simplex[-1])
            fr = f(reflected)
            if fr < values[0]:
                expanded = centre + 2 * (centre - simplex[-1])
                fe = f(expanded)
                if fe < fr:
                    simplex[-1], values[-1] = expanded, fe
                    moves["expand"] += 1
                else:
                    simplex[-1], values[-1] = reflected, fr
                    moves["reflect"] += 1
            elif fr < values[-2]:
                simplex[-1], values[-1] = reflected, fr
                moves["reflect"] += 1
            else:
                contracted = centre + 0.5 * (simplex[-1] - centre)
                fc = f(contracted)
                if fc < values[-1]:
                    simplex[-1], values[-1] = contracted, fc
                    moves["contract"] += 1
                else:
                    simplex = [simplex[0] + 0.5 * (p - simplex[0]) for p in simplex]
                    values = [f(p) for p in simplex]
                    moves["shrink"] += 1
        best = int(paddle.stack(values).argmin())
        return Result(simplex[best], values[best], moves)

    for start in ([0.0, 0.0], [2.5, 2.5], [-3.0, 3.0]):
        yield attempt(lambda: nelder_mead(himmelblau, T(start)))


@program
def stabilised_biconjugate_gradients(convert):
    """BiCGSTAB with breakdown tests, a preconditioner and an info dict."""

    class Breakdown(RuntimeError):
        pass

    @convert
    def solve(A, b, x0=None, M=None, tol=1e-4, maxiter=None, strict=False):
        x = paddle.zeros_like(b) if x0 is None else x0
        if M is None:
            M = lambda v: v
        if maxiter is None:
            maxiter = 2 * b.shape[0]
        r = b - A @ x
        shadow = r.clone()
        rho = alpha = omega = T(1.0)
        p = v = paddle.zeros_like(b)
        info = {"iterations": 0, "residuals": [], "status": "running"}
        bnorm = b.norm()
        while info["iterations"] < maxiter:
            residual = r.norm() / bnorm
            info["residuals"].append(residual)
            if residual < tol:
                info["status"] = "converged"
                break
            rho_new = (shadow * r).sum()
            if rho_new.abs() < 1e-12:
                if strict:
                    raise Breakdown(f"rho vanished at iteration {info['iterations']}")
                info["status"] = "breakdown"
                break
            beta = (rho_new / rho) * (alpha / omega)
            p = r + beta * (p - omega * v)
            ph = M(p)
            v = A @ ph
            alpha = rho_new / (shadow * v).sum()
            s = r - alpha * v
            sh = M(s)
            t = A @ sh
            tt = (t * t).sum()
            omega = (t * s).sum() / tt if tt > 0 else T(0.0)
            x = x + alpha * ph + omega * sh
            r = s - omega * t
            rho = rho_new
            info["iterations"] += 1
        return x, info

    rng = np.random.RandomState(0)
    A = rng.randn(3, 3).astype("float32") + 3 * np.eye(3, dtype="float32")
    diagonal = T(np.diag(A).copy())
    for seed in (0, 1):
        b = T(np.random.RandomState(seed).randn(3).astype("float32"))
        x, info = solve(T(A), b)
        yield x, info["iterations"], info["status"], info["residuals"]
        x, info = solve(T(A), b, M=lambda v: v / diagonal, maxiter=2)
        yield x, info["iterations"], info["status"]
    skew = T(np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]], "float32"))
    yield attempt(lambda: solve(skew, T([1.0, 0.0, 0.0]))[1]["status"])
    yield attempt(lambda: solve(skew, T([1.0, 0.0, 0.0]), strict=True)[1]["status"])


@program
def ball_with_located_bounces(convert):
    """A ball that bounces: events are located by bisection, and it comes to rest."""

    class Event:
        def __init__(self, time, kind, speed):
            self.time, self.kind, self.speed = time, kind, speed

        def __repr__(self):
            return f"Event({self.kind})"

    class Ball:
        def __init__(self, gravity=9.81, restitution=0.7, rest_speed=0.6):
            self.gravity, self.restitution, self.rest_speed = gravity, restitution, rest_speed
            self.events = []

        def flow(self, h, v, dt):
            return h + v * dt - 0.5 * self.gravity * dt * dt, v - self.gravity * dt

        def locate(self, h, v, dt):
            lo, hi = paddle.zeros([]), dt
            while hi - lo > 1e-3:
                mid = 0.5 * (lo + hi)
                if self.flow(h, v, mid)[0] > 0:
                    lo = mid
                else:
                    hi = mid
            return lo

        def simulate(self, h, v, t_end=1.0, dt=0.1):
            t = paddle.zeros([])
            self.events = []
            resting = False
            heights = [h]
            while t < t_end and not resting:
                h_new, v_new = self.flow(h, v, dt)
                if h_new < 0:
                    when = self.locate(h, v, T(dt))
                    _, speed = self.flow(h, v, when)
                    h, v = paddle.zeros_like(h), -self.restitution * speed
                    t = t + when
                    self.events.append(Event(t, "bounce", v))
                    if v < self.rest_speed:
                        resting = True
                        self.events.append(Event(t, "rest", paddle.zeros_like(v)))
                else:
                    h, v, t = h_new, v_new, t + dt
                heights.append(h)
            return paddle.stack(heights), t, resting

    ball = Ball()
    simulate = convert(ball.simulate)
    for h, v in ((1.0, 0.0), (0.2, -1.0), (0.01, 0.0)):
        yield attempt(lambda: simulate(T(h), T(v)))
        yield [(e.kind, e.time, e.speed) for e in ball.events]


@program
def embedded_pair_with_controller(convert):
    """Bogacki-Shampine steps with a PI controller, rejections and interpolation at given times."""

    class StepTooSmall(ArithmeticError):
        def __init__(self, t, h):
            super().__init__(f"step {float(h):.1e} at {float(t):.2f}")

    class Controller:
        def __init__(self, order=3, safety=0.9, low=0.2, high=5.0):
            self.k_i, self.k_p = 0.7 / order, 0.4 / order
            self.safety, self.low, self.high = safety, low, high
            self.previous = None
            self.rejected = 0

        def scale(self, error):
            factor = self.safety * error.clip(min=1e-6) ** -self.k_i
            if self.previous is not None:
                factor = factor * self.previous**self.k_p
            return factor.clip(self.low, self.high)

    def integrate(f, y, t1, times, rtol=1e-2, atol=1e-3, h_min=1e-4):
        controller = Controller()
        t, h = T(0.0), T(0.2)
        k1 = f(t, y)
        knots = [(t, y, k1)]
        while t < t1:
            h = paddle.minimum(h, t1 - t)
            if h < h_min and t1 - t > h_min:
                raise StepTooSmall(t, h)
            k2 = f(t + h / 2, y + h / 2 * k1)
            k3 = f(t + 3 * h / 4, y + 3 * h / 4 * k2)
            y_new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = f(t + h, y_new)
            err = h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)
            norm = (
                (err / (atol + rtol * paddle.maximum(y.abs(), y_new.abs()))).square().mean().sqrt()
            )
            if norm <= 1:
                t, y, k1 = t + h, y_new, k4
                controller.previous = norm.clip(min=1e-6)
                knots.append((t, y, k1))
            else:
                controller.rejected += 1
            h = h * controller.scale(norm)
        out = []
        for want in times:
            for (ta, ya, ka), (tb, yb, kb) in zip(knots, knots[1:]):
                if ta <= want and want <= tb:
                    s = (want - ta) / (tb - ta)
                    out.append(
                        (1 + 2 * s) * (1 - s) ** 2 * ya
                        + s * (1 - s) ** 2 * (tb - ta) * ka
                        + s**2 * (3 - 2 * s) * yb
                        + s**2 * (s - 1) * (tb - ta) * kb
                    )
                    break
        return y, out, len(knots), controller.rejected

    def oscillator(t, y):
        return paddle.stack([y[1], -4 * y[0] - 0.3 * y[1] * (1 + t)])

    def stiff(t, y):
        return -(y**3) * 1e6 * paddle.sign(paddle.sin(1e4 * t))

    run = convert(integrate)
    for start, end in (([1.0, 0.0], 1.0), ([0.0, 2.0], 0.6)):
        yield attempt(lambda: run(oscillator, T(start), T(end), [0.25, 0.5]))
    yield attempt(lambda: run(stiff, T([1.0, -1.0]), T(0.5), [0.1], h_min=1e-2))
