"""Root finding, integration, splines, fits, clipping and events."""

import bisect
from collections import namedtuple
from enum import Enum
from typing import List

import paddle

from corpus.realistic import attempt, program


class NoBracket(ValueError):
    pass


def brent(f, a, b, tol=1e-10, max_iter=60):
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise NoBracket(f"f({float(a):.2f}) and f({float(b):.2f}) have the same sign")
    if fa.abs() < fb.abs():
        a, b, fa, fb = b, a, fb, fa
    c, fc, d = a, fa, a
    bisected = True
    for iteration in range(max_iter):
        if fb == 0 or (b - a).abs() < tol:
            break
        if fa != fc and fb != fc:
            s = (
                a * fb * fc / ((fa - fb) * (fa - fc))
                + b * fa * fc / ((fb - fa) * (fb - fc))
                + c * fa * fb / ((fc - fa) * (fc - fb))
            )
        else:
            s = b - fb * (b - a) / (fb - fa)
        low, high = (3 * a + b) / 4, b
        if low > high:
            low, high = high, low
        step = (b - c).abs() if bisected else (c - d).abs()
        if not (low < s < high) or (s - b).abs() >= step / 2 or step < tol:
            s = (a + b) / 2
            bisected = True
        else:
            bisected = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if fa.abs() < fb.abs():
            a, b, fa, fb = b, a, fb, fa
    return b, iteration


def cubic(x):
    return (x + 3) * (x - 1) ** 2


def cosine(x):
    return paddle.cos(x) - x


@program
def brent_root(convert):
    """Brent's root finder on a function of a tensor: inverse quadratic, secant and bisection steps."""

    solve = convert(brent)
    number = lambda v: paddle.to_tensor(v, dtype="float64")
    yield solve(cubic, number(-4.0), number(4 / 3))
    yield solve(cosine, number(0.0), number(1.0))
    yield attempt(lambda: solve(cubic, number(2.0), number(3.0)))


class Event(Enum):
    BOUNCE = "bounce"
    REST = "rest"
    TIMEOUT = "timeout"


def next_impact(height, velocity, gravity):
    """The time until the floor; the positive root of the quadratic."""
    disc = velocity * velocity + 2 * gravity * height
    return (velocity + paddle.sqrt(disc)) / gravity


def simulate(height, velocity, restitution=0.7, gravity=9.81, t_end=5.0, rest_speed=0.5):
    t = paddle.zeros([], dtype=height.dtype)
    events = []
    while True:
        dt = next_impact(height, velocity, gravity)
        if t + dt > t_end:
            remaining = t_end - t
            height = height + velocity * remaining - 0.5 * gravity * remaining**2
            velocity = velocity - gravity * remaining
            events.append(Event.TIMEOUT)
            break
        t = t + dt
        impact = gravity * dt - velocity
        velocity = restitution * impact
        height = paddle.zeros_like(height)
        if velocity < rest_speed:
            events.append(Event.REST)
            velocity = paddle.zeros_like(velocity)
            break
        events.append(Event.BOUNCE)
    return height, velocity, t, [e.value for e in events]


@program
def bouncing_ball(convert):
    """An event-driven simulation: a ball falls, bounces on a slope of floors, and comes to rest."""

    run = convert(simulate)
    h = paddle.to_tensor(2.0, stop_gradient=False)
    height, velocity, t, events = run(h, paddle.to_tensor(0.0))
    (velocity + t).backward()
    yield height, velocity, t, events, h
    yield run(paddle.to_tensor(1.0), paddle.to_tensor(3.0), restitution=0.4)
    yield run(paddle.to_tensor(0.5), paddle.to_tensor(0.0), t_end=0.1)


Solution = namedtuple("Solution", "t y steps rejected status")
A = [
    [],
    [1 / 4],
    [3 / 32, 9 / 32],
    [1932 / 2197, -7200 / 2197, 7296 / 2197],
    [439 / 216, -8, 3680 / 513, -845 / 4104],
    [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40],
]
B4 = [25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0]
B5 = [16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55]


def weighted(coefficients, slopes):
    return sum(c * k for c, k in zip(coefficients, slopes) if c)


def integrate(f, y0, t_end, tol=1e-5, h=0.1, event=None, max_steps=200):
    t, y = 0.0, y0
    steps = rejected = 0
    while t < t_end:
        if steps + rejected >= max_steps:
            raise RuntimeError("too many steps")
        h = min(h, t_end - t)
        slopes = []
        for row in A:
            slopes.append(f(y + h * weighted(row, slopes) if row else y))
        low, high = y + h * weighted(B4, slopes), y + h * weighted(B5, slopes)
        error = (high - low).abs().max().item()
        if error > tol:
            rejected += 1
            h *= max(0.1, 0.9 * (tol / error) ** 0.2)
            continue
        t, y = t + h, high
        steps += 1
        h *= min(5.0, 0.9 * (tol / max(error, 1e-12)) ** 0.2)
        if event is not None and event(y):
            return Solution(t, y, steps, rejected, "event")
    return Solution(t, y, steps, rejected, "done")


def oscillator(y):
    return paddle.stack([y[1], -y[0]])


def decay(y):
    return -y


@program
def rk45_integrator(convert):
    """An adaptive Runge-Kutta-Fehlberg integrator with step control, dense history and a stop event."""

    run = convert(integrate)
    y0 = paddle.to_tensor([1.0, 0.0], dtype="float64")
    yield run(oscillator, y0, 2.0)
    yield run(oscillator, y0, 4.0, event=lambda y: y[0] < 0)
    yield run(decay, y0, 1.0, tol=1e-3, h=2.0)
    yield attempt(lambda: run(oscillator, y0, 50.0, max_steps=5))


def thomas(lower, diagonal, upper, rhs):
    n = len(rhs)
    c, d = [None] * n, [None] * n
    c[0], d[0] = upper[0] / diagonal[0], rhs[0] / diagonal[0]
    for i in range(1, n):
        denominator = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / denominator
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / denominator
    x = [None] * n
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


class Spline:
    def __init__(self, knots: paddle.Tensor, values: paddle.Tensor):
        self.knots, self.values = knots, values

    def evaluate(self, queries, extrapolate="raise"):
        x, y = self.knots, self.values
        h = x[1:] - x[:-1]
        slope = (y[1:] - y[:-1]) / h
        inner = thomas(h[:-1], 2 * (h[:-1] + h[1:]), h[1:], 6 * (slope[1:] - slope[:-1]))
        m = paddle.concat([paddle.zeros([1]), paddle.stack(inner), paddle.zeros([1])])
        grid = x.tolist()
        out = []
        for q in queries:
            if q < x[0] or q > x[-1]:
                if extrapolate == "raise":
                    raise ValueError(f"{q.item():.2f} is outside of [{grid[0]}, {grid[-1]}]")
                q = paddle.clip(q, x[0], x[-1])
            i = min(bisect.bisect_right(grid, float(q)) - 1, len(grid) - 2)
            a, b = x[i + 1] - q, q - x[i]
            value = (
                (m[i] * a**3 + m[i + 1] * b**3) / (6 * h[i])
                + (y[i] / h[i] - m[i] * h[i] / 6) * a
                + (y[i + 1] / h[i] - m[i + 1] * h[i] / 6) * b
            )
            out.append(value)
        return paddle.stack(out)


@program
def cubic_spline(convert):
    """A natural cubic spline: the tridiagonal system by Thomas, then evaluation with a search for the interval."""

    spline = Spline(
        paddle.to_tensor([0.0, 1, 2.5, 4, 5]),
        paddle.to_tensor([1.0, 0, 2, 1, 3], stop_gradient=False),
    )
    evaluate = convert(spline.evaluate)
    out = evaluate(paddle.to_tensor([0.5, 2.5, 4.9]))
    out.sum().backward()
    yield out, spline.values
    yield attempt(lambda: evaluate(paddle.to_tensor([1.0, 7.0])))
    yield evaluate(paddle.to_tensor([-1.0, 5.0, 3.0]), extrapolate="clamp")


def residuals(params, x, y):
    a, b, c = params[0], params[1], params[2]
    return a * paddle.exp(-b * x) + c - y


def jacobian(params, x, y):
    params = params.detach()
    params.stop_gradient = False
    r = residuals(params, x, y)
    rows = [paddle.grad(r[i], params, retain_graph=True)[0] for i in range(r.shape[0])]
    return r.detach(), paddle.stack(rows)


def fit(params, x, y, damping=1e-2, max_iter=25, tol=1e-9, verbose=False):
    cost = residuals(params, x, y).square().sum()
    history = {"cost": [cost.item()], "accepted": 0, "rejected": 0}
    for k in range(max_iter):
        r, J = jacobian(params, x, y)
        H, g = J.T @ J, J.T @ r
        while True:
            step = paddle.linalg.solve(H + damping * paddle.diag(paddle.diag(H)), -g)
            trial = params + step
            new_cost = residuals(trial, x, y).square().sum()
            if new_cost < cost:
                damping = max(damping / 3, 1e-9)
                history["accepted"] += 1
                break
            damping *= 2
            history["rejected"] += 1
            if damping > 1e6:
                return params, history, "stalled"
        improvement = cost - new_cost
        params, cost = trial, new_cost
        history["cost"].append(cost.item())
        if verbose:
            print(f"{k}: cost {cost.item():.4g}, damping {damping:.1e}")
        if improvement < tol:
            return params, history, "converged"
    return params, history, "max_iter"


@program
def levenberg_marquardt(convert):
    """Levenberg-Marquardt for a curve fit, with the Jacobian from paddle.grad and a damping that adapts."""

    run = convert(fit)
    x = paddle.linspace(0, 3, 8, dtype="float64")
    y = 2.0 * paddle.exp(-1.3 * x) + 0.5
    start = paddle.to_tensor([1.0, 1.0, 0.0], dtype="float64")
    params, history, status = run(start, x, y, max_iter=4, tol=1e-4)
    yield params, history["accepted"], status, [round(c, 6) for c in history["cost"]]
    yield run(
        paddle.to_tensor([1.0, 3.0, 0.0], dtype="float64"),
        x,
        y,
        damping=1e-4,
        max_iter=3,
        verbose=True,
    )[2]
    yield run(params, x, y + 0.01, max_iter=2)[0]


Point = paddle.Tensor


def inside(p: Point, a: Point, b: Point) -> paddle.Tensor:
    return (b[0] - a[0]) * (p[1] - a[1]) >= (b[1] - a[1]) * (p[0] - a[0])


def intersect(p: Point, q: Point, a: Point, b: Point) -> Point:
    d1, d2 = q - p, b - a
    t = ((a[0] - p[0]) * d2[1] - (a[1] - p[1]) * d2[0]) / (d1[0] * d2[1] - d1[1] * d2[0])
    return p + t * d1


def clip(subject: paddle.Tensor, window: paddle.Tensor):
    output: List[Point] = list(subject)
    corners = list(window)
    for a, b in zip(corners, corners[1:] + corners[:1]):
        if not output:
            break
        points, output = output, []
        previous = points[-1]
        for current in points:
            if inside(current, a, b):
                if not inside(previous, a, b):
                    output.append(intersect(previous, current, a, b))
                output.append(current)
            elif inside(previous, a, b):
                output.append(intersect(previous, current, a, b))
            previous = current
    if len(output) < 3:
        return None, paddle.zeros([])
    polygon = paddle.stack(output)
    x, y = polygon[:, 0], polygon[:, 1]
    area = 0.5 * (x * paddle.roll(y, -1) - y * paddle.roll(x, -1)).sum()
    return polygon, area


@program
def polygon_clipping(convert):
    """Sutherland-Hodgman clipping of a polygon by a convex window, and its area."""

    run = convert(clip)
    window = paddle.to_tensor([[0.0, 0], [2, 0], [2, 2], [0, 2]])
    yield run(paddle.to_tensor([[1.0, 1], [3, 1], [3, 3], [1, 3]]), window)
    triangle = paddle.to_tensor([[0.5, 0.5], [1.5, 0.5], [1.0, 3.0]], stop_gradient=False)
    polygon, area = run(triangle, window)
    area.backward()
    yield polygon, area, triangle
    yield run(triangle.detach() + 10, window)
