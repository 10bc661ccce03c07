"""Numerical methods."""

import math
from collections import namedtuple
from functools import partial

import numpy as np
import paddle

from corpus.realistic import attempt, program


def go_back(result):
    """backward() from what has a gradient among the results."""
    parts = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, tuple)
        else [result]
    )
    parts = [p for p in parts if isinstance(p, paddle.Tensor) and not p.stop_gradient]
    if parts:
        sum((p * (i + 1)).sum() for i, p in enumerate(parts)).backward()


# adaptive Runge-Kutta with a dense record
class StepSizeError(RuntimeError):
    pass


def rk_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + 3 * h / 4, y + 3 * h / 4 * k2)
    y_new = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
    k4 = f(t + h, y_new)
    y_low = y + h * (7 / 24 * k1 + 1 / 4 * k2 + 1 / 3 * k3 + 1 / 8 * k4)
    return y_new, (y_new - y_low).abs().max()


def integrate(y0, t_end=2.0, mu=1.0, tol=1e-3, h=0.25, max_steps=60):
    def van_der_pol(t, y):
        return paddle.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    t, y = 0.0, y0
    times, states = [t], [y]
    rejected = 0
    for _ in range(max_steps):
        if t >= t_end - 1e-9:
            break
        h = min(h, t_end - t)
        y_new, err = rk_step(van_der_pol, t, y, h)
        err = float(err)
        if err <= tol:
            t += h
            y = y_new
            times.append(t)
            states.append(y)
        else:
            rejected += 1
        factor = 2.0 if err == 0 else min(2.0, max(0.3, 0.9 * (tol / err) ** (1 / 3)))
        h *= factor
        if h < 1e-6:
            raise StepSizeError(f"step {h:.2e} too small at t={t:.3f}")
    print(f"{len(times) - 1} steps, {rejected} rejected, t={t:.3f}")
    return paddle.stack(states)[-1], len(times)


def calls_ode():
    def y(a, b):
        t = paddle.to_tensor([a, b])
        t.stop_gradient = False
        return t

    return [
        ((y(1.0, 0.0),), {}),
        ((y(2.0, 0.5),), {"mu": 3.0}),
        ((y(0.1, 0.0),), {"t_end": 1.0, "tol": 1e-5}),
        ((y(1.0, 1.0),), {"tol": 1e-13}),
    ]


@program
def adaptive_steps_of_an_oscillator(convert):
    """A Runge-Kutta pair with steps that are accepted or rejected, on van der Pol's oscillator."""
    run = convert(integrate)
    for args, kw in calls_ode():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw


# conjugate gradients with a preconditioner
CGResult = namedtuple("CGResult", "x iterations residual converged")


def conjugate_gradient(A, b, x0=None, tol=1e-5, max_iter=None, precondition=True):
    n = b.shape[0]
    x = paddle.zeros_like(b) if x0 is None else x0
    max_iter = max_iter or 2 * n
    M = 1.0 / paddle.diag(A) if precondition else paddle.ones([n])
    r = b - A @ x
    z = M * r
    p = z
    rz = paddle.dot(r, z)
    for k in range(max_iter):
        if r.norm() < tol:
            return CGResult(x, k, r.norm(), True)
        Ap = A @ p
        curvature = paddle.dot(p, Ap)
        if curvature <= 0:
            raise ValueError(f"matrix is not positive definite (iteration {k})")
        alpha = rz / curvature
        x = x + alpha * p
        r = r - alpha * Ap
        z = M * r
        rz_new = paddle.dot(r, z)
        p = z + rz_new / rz * p
        rz = rz_new
    return CGResult(x, max_iter, r.norm(), False)


def calls_cg():
    rng = np.random.RandomState(50)

    def spd(n, shift=1.0):
        a = rng.randn(n, n)
        A = paddle.to_tensor((a @ a.T + shift * np.eye(n)).astype("float32"))
        b = paddle.to_tensor(rng.randn(n).astype("float32"))
        b.stop_gradient = False
        return A, b

    A, b = spd(4)
    return [
        ((A, b), {}),
        (spd(5), {"precondition": False}),
        ((-A, b), {}),
        (spd(4), {"max_iter": 2}),
    ]


@program
def gradients_with_a_preconditioner(convert):
    """Conjugate gradients that end early, or find that the matrix is not positive definite."""
    run = convert(conjugate_gradient)
    for args, kw in calls_cg():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw


# Levenberg-Marquardt curve fitting
class CurveFit:
    def __init__(self, model, max_iter=15, lam=1e-2):
        self.model = model
        self.max_iter = max_iter
        self.lam = lam
        self.trace = []

    def jacobian(self, params, x):
        params = params.detach()
        params.stop_gradient = False
        y = self.model(params, x)
        rows = []
        for i in range(len(y)):
            (g,) = paddle.grad(y[i], params, retain_graph=True)
            rows.append(g)
        return y.detach(), paddle.stack(rows)

    def fit(self, x, y, p0):
        params, lam = p0, self.lam
        pred, J = self.jacobian(params, x)
        cost = ((y - pred) ** 2).sum()
        for it in range(self.max_iter):
            JTJ = J.T @ J
            step = paddle.linalg.solve(JTJ + lam * paddle.diag(paddle.diag(JTJ)), J.T @ (y - pred))
            trial = params + step
            new_pred, new_J = self.jacobian(trial, x)
            new_cost = ((y - new_pred) ** 2).sum()
            if new_cost < cost:
                improvement = (cost - new_cost) / cost
                params, pred, J, cost = trial, new_pred, new_J, new_cost
                lam = lam / 3
                self.trace.append(round(float(cost), 5))
                if improvement < 1e-4:
                    break
            else:
                lam = lam * 2
                if lam > 1e6:
                    break
        return params, cost, it


def exponential(p, x):
    return p[0] * paddle.exp(-p[1] * x) + p[2]


def calls_lm():
    rng = np.random.RandomState(51)
    out = []
    for a, b, c, noise in [(2.0, 1.0, 0.5, 0.01), (1.0, 2.0, 0.0, 0.05), (3.0, 0.5, -1.0, 0.0)]:
        x = np.linspace(0, 2, 7).astype("float32")
        y = (a * np.exp(-b * x) + c + noise * rng.randn(7)).astype("float32")
        out.append(
            ((paddle.to_tensor(x), paddle.to_tensor(y), paddle.to_tensor([1.0, 1.0, 0.0])), {})
        )
    return out


@program
def curve_fit_with_damping(convert):
    """Levenberg-Marquardt with the Jacobian from gradients, and a trace of the cost."""
    curve = CurveFit(exponential)
    run = convert(curve.fit)
    for args, kw in calls_lm():
        yield attempt(lambda: run(*args, **kw)), curve.trace


# L-BFGS with a backtracking line search
def rosenbrock(x, a=1.0, b=5.0):
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2


def value_and_grad(f, x):
    x = x.detach()
    x.stop_gradient = False
    v = f(x)
    (g,) = paddle.grad(v, [x])
    return v.detach(), g


def line_search(f, x, v, g, d, c1=1e-4, shrink=0.5):
    slope = paddle.dot(g, d)
    t = 1.0
    while f(x + t * d) > v + c1 * t * slope:
        t *= shrink
        if t < 1e-8:
            break
    return t


def lbfgs(x0, memory=3, iters=12, tol=1e-4, b=5.0, callback=None):
    f = partial(rosenbrock, b=b)
    x = x0
    v, g = value_and_grad(f, x)
    S, Y = [], []
    for k in range(iters):
        if g.norm() < tol:
            break
        q = g
        alphas = []
        for s, y in zip(reversed(S), reversed(Y)):
            a = paddle.dot(s, q) / paddle.dot(y, s)
            q = q - a * y
            alphas.append(a)
        if S:
            q = q * paddle.dot(S[-1], Y[-1]) / paddle.dot(Y[-1], Y[-1])
        for s, y, a in zip(S, Y, reversed(alphas)):
            q = q + s * (a - paddle.dot(y, q) / paddle.dot(y, s))
        d = -q
        t = line_search(f, x, v, g, d)
        x_new = x + t * d
        v_new, g_new = value_and_grad(f, x_new)
        s, y = x_new - x, g_new - g
        if paddle.dot(s, y) > 1e-10:
            S.append(s)
            Y.append(y)
            if len(S) > memory:
                S.pop(0)
                Y.pop(0)
        x, v, g = x_new, v_new, g_new
        if callback is not None:
            callback(k, v)
    return x, v, k


def show(k, v):
    if k % 3 == 0:
        print(f"iter {k}: {float(v):.5f}")


def calls_lbfgs():
    return [
        ((paddle.to_tensor([-1.0, 1.0]),), {}),
        ((paddle.to_tensor([0.0, 0.5]),), {"memory": 2, "callback": show}),
        ((paddle.to_tensor([1.0, 1.0]),), {"b": 10.0}),
    ]


@program
def limited_memory_by_hand(convert):
    """L-BFGS in two loops with a line search that halves the step, and a callback."""
    run = convert(lbfgs)
    for args, kw in calls_lbfgs():
        yield attempt(lambda: run(*args, **kw))


# eigenpairs by power iteration with deflation
def power_iteration(A, v, tol, max_iter):
    value = paddle.zeros([])
    for i in range(max_iter):
        w = A @ v
        norm = w.norm()
        if norm < 1e-8:
            return paddle.zeros([]), v, i
        w = w / norm
        new_value = w @ A @ w
        if (new_value - value).abs() < tol:
            return new_value, w, i + 1
        value, v = new_value, w
    print(f"no convergence in {max_iter} iterations")
    return value, v, max_iter


def top_eigen(A, k=2, tol=1e-5, max_iter=40):
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"square matrix expected, got {A.shape}")
    n = A.shape[0]
    values, vectors, counts = [], [], []
    work = A.clone()
    for j in range(k):
        start = paddle.ones([n]) / math.sqrt(n)
        for u in vectors:
            start = start - (start @ u) * u
        lam, v, count = power_iteration(work, start, tol, max_iter)
        if lam.abs() < 1e-6:
            break
        big = v.abs().argmax()
        if v[big] < 0:
            v = -v
        values.append(lam)
        vectors.append(v)
        counts.append(count)
        work -= lam * paddle.outer(v, v)
    return paddle.stack(values), paddle.stack(vectors, axis=1), counts


def calls_eigen():
    rng = np.random.RandomState(52)

    def sym(n):
        a = rng.randn(n, n)
        t = paddle.to_tensor((a + a.T).astype("float32"))
        t.stop_gradient = False
        return t

    u = paddle.to_tensor([1.0, 2.0, 2.0])
    return [
        ((sym(3),), {}),
        ((sym(4),), {"k": 3, "max_iter": 10}),
        ((paddle.outer(u, u),), {}),
        ((paddle.ones([2, 3]),), {}),
    ]


@program
def eigenpairs_by_deflation(convert):
    """The largest eigenvalues by power iteration, one after the other."""
    run = convert(top_eigen)
    for args, kw in calls_eigen():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw


# adaptive Simpson quadrature and root finding
def simpson(f, a, b):
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def adaptive_simpson(f, a, b, tol, depth=0, max_depth=8):
    m = (a + b) / 2
    whole = simpson(f, a, b)
    left, right = simpson(f, a, m), simpson(f, m, b)
    delta = left + right - whole
    if depth >= max_depth or abs(float(delta)) < 15 * tol:
        return left + right + delta / 15
    return adaptive_simpson(f, a, m, tol / 2, depth + 1) + adaptive_simpson(
        f, m, b, tol / 2, depth + 1
    )


def bisect(f, lo, hi, xtol=1e-4):
    flo, fhi = f(lo), f(hi)
    if flo * fhi > 0:
        raise ValueError("no sign change in the interval")
    n = 0
    while hi - lo > xtol:
        mid = (lo + hi) / 2
        fm = f(mid)
        n += 1
        if fm == 0:
            return mid, n
        if flo * fm < 0:
            hi = mid
        else:
            lo, flo = mid, fm
    return (lo + hi) / 2, n


def quantile_of_density(coef, q=0.5, lo=0.0, hi=2.0, tol=1e-3):
    """Where the density exp(poly(x)) on [lo, hi] has accumulated the share q."""

    def density(x):
        total = 0.0
        for c in reversed(coef):
            total = total * x + c
        return paddle.exp(total)

    mass = adaptive_simpson(density, lo, hi, tol)
    try:
        x, n = bisect(
            lambda t: adaptive_simpson(density, lo, t, tol, max_depth=3) / mass - q,
            lo,
            hi,
            xtol=0.1,
        )
    except ValueError as e:
        print("failed:", e)
        return None, mass
    return x, mass


def calls_quadrature():
    return [
        ((paddle.to_tensor([0.0, 0.5, -0.3]),), {}),
        ((paddle.to_tensor([0.1, -1.0]),), {"q": 0.25}),
        ((paddle.to_tensor([0.0, 1.0]),), {"q": 1.5}),
    ]


@program
def quantile_of_a_density(convert):
    """Simpson's rule by recursion, and a quantile by bisection."""
    run = convert(quantile_of_density)
    for args, kw in calls_quadrature():
        yield attempt(lambda: run(*args, **kw))
