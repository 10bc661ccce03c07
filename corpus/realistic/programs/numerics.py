"""Numerical methods: linear systems, eigenvalues, root finding, least squares, quadrature."""

import logging
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Callable, Dict, List

import numpy as np
import paddle

from corpus.realistic import attempt, program


def random_matrix(n, m=None, seed=0, scale=1.0):
    return paddle.to_tensor(
        (np.random.RandomState(seed).randn(n, m or n) * scale).astype("float32")
    )


def diagonally_dominant(n, seed=0):
    a = np.random.RandomState(seed).rand(n, n).astype("float32")
    return paddle.to_tensor(a + n * np.eye(n, dtype="float32"))


class IterativeSolver(ABC):
    """Base class: subclasses say what one sweep does."""

    def __init__(self, max_iter: int = 40, tol: float = 1e-5):
        self.max_iter = max_iter
        self.tol = tol
        self.residuals: List[paddle.Tensor] = []

    @abstractmethod
    def sweep(self, a, b, x): ...

    def solve(self, a, b, x=None):
        if x is None:
            x = paddle.zeros_like(b)
        self.residuals = []
        for k in range(self.max_iter):
            x = self.sweep(a, b, x)
            residual = paddle.linalg.norm(b - a @ x)
            self.residuals.append(residual)
            if residual < self.tol:
                break
            if paddle.isnan(residual):
                raise FloatingPointError(f"diverged in sweep {k}")
        return x


class Jacobi(IterativeSolver):
    def sweep(self, a, b, x):
        d = paddle.diagonal(a)
        return (b - (a @ x - d * x)) / d


class GaussSeidel(IterativeSolver):
    def __init__(self, omega=1.0, **kwargs):
        super().__init__(**kwargs)
        self.omega = omega

    def sweep(self, a, b, x):
        x = x.clone()
        for i in range(b.shape[0]):
            sigma = (a[i] * x).sum() - a[i, i] * x[i]
            x[i] = (1 - self.omega) * x[i] + self.omega * (b[i] - sigma) / a[i, i]
        return x


@program
def jacobi_and_gauss_seidel(convert):
    """Stationary iterations as subclasses of one base; the residuals stay on the object."""
    for solver in (
        Jacobi(max_iter=12),
        GaussSeidel(max_iter=8),
        GaussSeidel(omega=1.1, max_iter=6, tol=1e-2),
    ):
        solve = convert(solver.solve)
        for n, seed in ((3, 0), (3, 1), (4, 2)):
            b = random_matrix(n, 1, seed + 10).flatten()
            yield solve(diagonally_dominant(n, seed), b)
            yield len(solver.residuals), solver.residuals[-1]
        yield solve(diagonally_dominant(3, 0), paddle.ones([3]), x=paddle.full([3], 0.25))


@program
def power_iteration_with_deflation(convert):
    """Leading eigenpairs by power iteration; a Rayleigh quotient decides when to stop."""

    @dataclass
    class EigenPair:
        value: paddle.Tensor
        vector: paddle.Tensor
        iterations: int = 0

    @convert
    def leading(a, v, max_iter=100, tol=1e-4):
        v = v / v.norm()
        value = paddle.dot(v, a @ v)
        for it in range(max_iter):
            w = a @ v
            norm = w.norm()
            if norm < 1e-12:
                return EigenPair(paddle.zeros([]), v, it)
            v = w / norm
            new = paddle.dot(v, a @ v)
            change = (new - value).abs()
            value = new
            if change < tol * value.abs():
                break
        return EigenPair(value=value, vector=v, iterations=it + 1)

    def spectrum(a, k):
        pairs = []
        for i in range(k):
            pair = leading(a, paddle.ones([a.shape[0]]), max_iter=30)
            a = a - pair.value * paddle.outer(pair.vector, pair.vector)
            pairs.append(pair)
        return pairs

    for seed in (0, 1):
        m = random_matrix(3, seed=seed)
        yield spectrum(m @ m.t(), 2)
    yield leading(paddle.zeros([3, 3]), paddle.ones([3]))
    yield leading(paddle.diag(paddle.to_tensor([5.0, 1.0])), paddle.to_tensor([1.0, 1.0]), 3)


@program
def lanczos_tridiagonal(convert):
    """Lanczos with full reorthogonalisation and a breakdown test; the basis is a list of vectors."""

    class Lanczos:
        def __init__(self, operator: Callable, steps: int):
            self.operator = operator
            self.steps = steps

        def __call__(self, start):
            basis = [start / paddle.norm(start)]
            alphas, betas = [], []
            for j in range(self.steps):
                w = self.operator(basis[-1])
                alpha = (w * basis[-1]).sum()
                w = w - alpha * basis[-1]
                if j > 0:
                    w = w - betas[-1] * basis[-2]
                for q in basis:
                    w = w - (q * w).sum() * q
                alphas.append(alpha)
                beta = paddle.norm(w)
                if beta < 1e-5:
                    break
                if j < self.steps - 1:
                    betas.append(beta)
                    basis.append(w / beta)
            k = len(alphas)
            t = paddle.diag(paddle.stack(alphas))
            if k > 1:
                off = paddle.stack(betas[: k - 1])
                t = t + paddle.diag(off, offset=1) + paddle.diag(off, offset=-1)
            return t, paddle.stack(basis)

    m = random_matrix(5, seed=3)
    sym = (m + m.t()) / 2
    lanczos = Lanczos(lambda v: paddle.mv(sym, v), steps=3)
    run = convert(lanczos)
    yield run(paddle.ones([5]))
    yield run(paddle.to_tensor([1.0, 0.0, 0.0, 0.0, 0.0]))
    lanczos.operator = lambda v: v * 2.0
    yield run(paddle.ones([4]))
    lanczos.steps = 2
    yield run(paddle.arange(1, 4, dtype="float32"))


@program
def gauss_newton_curve_fit(convert):
    """Levenberg-Marquardt on exp decay with an analytic Jacobian, damping up and down."""

    logger = logging.getLogger("curve_fit")

    def model(t, p):
        return p[0] * paddle.exp(-p[1] * t) + p[2]

    def jacobian(t, p):
        e = paddle.exp(-p[1] * t)
        return paddle.stack([e, -p[0] * t * e, paddle.ones_like(t)], axis=1)

    class LevenbergMarquardt:
        def __init__(self, lam=1e-2, up=10.0, down=0.1, max_iter=25, ftol=1e-7):
            self.lam0, self.up, self.down = lam, up, down
            self.max_iter, self.ftol = max_iter, ftol

        def fit(self, t, y, p):
            lam = paddle.to_tensor(self.lam0)
            r = y - model(t, p)
            cost = (r**2).sum()
            accepted = 0
            for it in range(self.max_iter):
                j = jacobian(t, p)
                jtj = j.t() @ j
                step = paddle.linalg.solve(
                    jtj + lam * paddle.diag(paddle.diagonal(jtj)), (j.t() @ r).unsqueeze(-1)
                ).squeeze(-1)
                trial = p + step
                r_trial = y - model(t, trial)
                cost_trial = (r_trial**2).sum()
                if cost_trial < cost:
                    improvement = (cost - cost_trial) / cost
                    p, r, cost = trial, r_trial, cost_trial
                    lam = lam * self.down
                    accepted += 1
                    if improvement < self.ftol:
                        logger.debug("converged after %d", it)
                        break
                else:
                    lam = lam * self.up
                    if lam > 1e6:
                        break
            return p, cost, accepted

    t = paddle.linspace(0, 3, 8)
    lm = LevenbergMarquardt(max_iter=6)
    fit = convert(lm.fit)
    for truth in ([2.0, 1.0, 0.5], [1.0, 0.3, -1.0]):
        y = model(t, paddle.to_tensor(truth))
        p, cost, accepted = fit(t, y, paddle.to_tensor([1.0, 0.5, 0.0]))
        yield p, accepted
    lm.max_iter = 2
    yield fit(t[:6], y[:6] + 0.1, paddle.ones([3]))


@program
def adaptive_simpson(convert):
    """Adaptive quadrature with an explicit stack of intervals; depth bounded."""

    @convert
    def integrate(f, a, b, tol=1e-3, max_depth=6):
        def simpson(lo, hi):
            mid = (lo + hi) / 2
            return (hi - lo) / 6 * (f(lo) + 4 * f(mid) + f(hi))

        total = paddle.zeros([])
        evaluations = 0
        stack = [(a, b, simpson(a, b), tol, 0)]
        while stack:
            lo, hi, whole, eps, depth = stack.pop()
            mid = (lo + hi) / 2
            left, right = simpson(lo, mid), simpson(mid, hi)
            evaluations += 2
            delta = left + right - whole
            if depth >= max_depth or paddle.abs(delta) <= 15 * eps:
                total = total + left + right + delta / 15
            else:
                stack.append((lo, mid, left, eps / 2, depth + 1))
                stack.append((mid, hi, right, eps / 2, depth + 1))
        return total, evaluations

    zero, one = paddle.to_tensor(0.0), paddle.to_tensor(1.0)
    yield integrate(lambda x: x**2, zero, one)
    yield integrate(paddle.exp, zero, one * 2)
    yield integrate(lambda x: paddle.sqrt(x), zero, one, tol=1e-2, max_depth=3)


@program
def gmres_restarted(convert):
    """GMRES(m) with Givens rotations kept in Python lists."""

    @convert
    def gmres(a, b, x=None, restart=3, max_restarts=3, tol=1e-4):
        x = paddle.zeros_like(b) if x is None else x
        b_norm = paddle.norm(b)
        for outer in range(max_restarts):
            r = b - a @ x
            beta = paddle.norm(r)
            if beta <= tol * b_norm:
                return x, beta, outer
            v = [r / beta]
            h = paddle.zeros([restart + 1, restart])
            cs, sn = [], []
            g = [beta]
            for j in range(restart):
                w = a @ v[j]
                column = []
                for i in range(j + 1):
                    hij = paddle.dot(w, v[i])
                    w = w - hij * v[i]
                    column.append(hij)
                last = paddle.norm(w)
                v.append(w / (last + 1e-12))
                for i, (c, s) in enumerate(zip(cs, sn)):
                    column[i], column[i + 1 if i + 1 < len(column) else i] = (
                        c * column[i] + s * (column[i + 1] if i + 1 < len(column) else last),
                        -s * column[i] + c * (column[i + 1] if i + 1 < len(column) else last),
                    )
                denom = paddle.sqrt(column[j] ** 2 + last**2)
                c, s = column[j] / denom, last / denom
                cs.append(c)
                sn.append(s)
                column[j] = denom
                g.append(-s * g[j])
                g[j] = c * g[j]
                for i, value in enumerate(column):
                    h[i, j] = value
            top = paddle.stack(g[:restart])
            y = paddle.linalg.triangular_solve(h[:restart], top.unsqueeze(1), upper=True).squeeze(1)
            x = x + sum(yi * vi for yi, vi in zip(y, v))
        return x, paddle.norm(b - a @ x), max_restarts

    for n, seed in ((4, 0), (4, 1), (5, 2)):
        yield gmres(diagonally_dominant(n, seed), random_matrix(n, 1, seed).flatten())
    yield gmres(paddle.eye(3), paddle.ones([3]) * 2, restart=1)
    yield gmres(paddle.eye(3), paddle.ones([3]), x=paddle.ones([3]))


@program
def secant_and_brent_registry(convert):
    """Root finders in a registry; a result object, warnings when the budget runs out."""

    FINDERS: Dict[str, Callable] = {}

    def register(name):
        def wrap(function):
            FINDERS[name] = function
            return function

        return wrap

    class Root:
        def __init__(self, x, fx, iterations, flag="converged"):
            self.x, self.fx, self.iterations, self.flag = x, fx, iterations, flag

        def __repr__(self):
            return f"Root({self.flag} after {self.iterations})"

    @register("secant")
    def secant(f, x0, x1, tol, max_iter):
        f0, f1 = f(x0), f(x1)
        for it in range(max_iter):
            if (f1 - f0).abs() < 1e-12:
                return Root(x1, f1, it, flag="flat")
            x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
            x0, f0, x1 = x1, f1, x2
            f1 = f(x1)
            if f1.abs() < tol:
                return Root(x1, f1, it)
        return Root(x1, f1, max_iter, flag="budget")

    @register("regula_falsi")
    def illinois(f, a, b, tol, max_iter):
        fa, fb = f(a), f(b)
        side = 0
        for it in range(max_iter):
            c = (fb * a - fa * b) / (fb - fa)
            fc = f(c)
            if fc.abs() < tol:
                break
            if fc * fb > 0:
                b, fb = c, fc
                if side == -1:
                    fa = fa / 2
                side = -1
            else:
                a, fa = c, fc
                if side == +1:
                    fb = fb / 2
                side = +1
        return Root(c, fc, it)

    def find_root(f, a, b, method="secant", tol=1e-5, max_iter=12):
        try:
            finder = FINDERS[method]
        except KeyError:
            raise ValueError(f"method must be one of {sorted(FINDERS)}, got {method!r}") from None
        root = finder(f, a, b, tol, max_iter)
        print(root)
        return root

    find = convert(find_root)
    cubic = lambda x: x**3 - x - 2
    yield find(cubic, paddle.to_tensor(1.0), paddle.to_tensor(2.0))
    yield find(cubic, paddle.to_tensor(1.0), paddle.to_tensor(2.0), method="regula_falsi")
    yield find(lambda x: paddle.cos(x) - x, paddle.to_tensor(0.0), paddle.to_tensor(1.0))
    yield find(lambda x: x * 0 + 1.0, paddle.to_tensor(0.0), paddle.to_tensor(1.0))
    yield find(paddle.exp, paddle.to_tensor(0.0), paddle.to_tensor(1.0), max_iter=3)
    yield attempt(lambda: find(cubic, paddle.to_tensor(1.0), paddle.to_tensor(2.0), method="brent"))


@program
def cholesky_by_hand(convert):
    """Cholesky and triangular solves written with index loops; raises when a pivot is not positive."""

    class NotPositiveDefinite(Exception):
        def __init__(self, pivot):
            super().__init__(f"pivot {pivot} is not positive")
            self.pivot = pivot

    @convert
    def cholesky(a, jitter=0.0):
        n = a.shape[0]
        zero = paddle.zeros([])
        l = [[zero for _ in range(n)] for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                s = a[i, j]
                if i == j:
                    s = s + jitter
                for k in range(j):
                    s = s - l[i][k] * l[j][k]
                if i == j:
                    if s <= 0:
                        raise NotPositiveDefinite(i)
                    l[i][i] = paddle.sqrt(s)
                else:
                    l[i][j] = s / l[j][j]
        return paddle.stack([paddle.stack(row) for row in l])

    @convert
    def solve_lower(l, b):
        x = []
        for i in range(b.shape[0]):
            s = b[i]
            for k in range(i):
                s = s - l[i, k] * x[k]
            x.append(s / l[i, i])
        return paddle.stack(x)

    for seed in (0, 1):
        m = random_matrix(3, seed=seed)
        a = m @ m.t() + paddle.eye(3)
        a.stop_gradient = False
        l = cholesky(a)
        y = solve_lower(l, paddle.ones([3]))
        loss = (y**2).sum() + paddle.log(paddle.diagonal(l)).sum()
        loss.backward()
        yield l, y, loss, a.grad
    yield attempt(lambda: cholesky(-paddle.eye(2)))
    yield attempt(lambda: cholesky(paddle.to_tensor([[1.0, 2.0], [2.0, 1.0]])))
    yield cholesky(paddle.zeros([2, 2]), jitter=1e-2)


@program
def broyden_fixed_point_cache(convert):
    """Anderson acceleration of a fixed point with a deque of past residuals kept between calls."""

    class Anderson:
        def __init__(self, g, window=3, beta=1.0):
            self.g, self.beta = g, beta
            self.xs = deque(maxlen=window)
            self.fs = deque(maxlen=window)
            self.total_steps = 0

        def step(self, x):
            f = self.g(x) - x
            self.xs.append(x)
            self.fs.append(f)
            self.total_steps += 1
            if len(self.fs) == 1:
                return x + self.beta * f, f.abs().max()
            df = paddle.stack(
                [self.fs[i + 1] - self.fs[i] for i in range(len(self.fs) - 1)], axis=1
            )
            dx = paddle.stack(
                [self.xs[i + 1] - self.xs[i] for i in range(len(self.xs) - 1)], axis=1
            )
            gram = df.t() @ df + 1e-6 * paddle.eye(df.shape[1])
            gamma = paddle.linalg.solve(gram, (df.t() @ f).unsqueeze(1)).squeeze(1)
            return x + self.beta * f - (dx + self.beta * df) @ gamma, f.abs().max()

        def solve(self, x, tol=1e-3, max_iter=6):
            for _ in range(max_iter):
                x, err = self.step(x)
                if err < tol:
                    break
            return x, err

        def reset(self):
            self.xs.clear()
            self.fs.clear()

    m = random_matrix(3, seed=6, scale=0.2)
    stepper = Anderson(lambda x: paddle.tanh(m @ x + 0.5))
    step = convert(stepper.step)
    x = paddle.zeros([3])
    for _ in range(5):
        x, err = step(x)
        yield x, err
    yield stepper.total_steps, list(stepper.xs)
    stepper.reset()
    solve = convert(stepper.solve)
    yield solve(paddle.zeros([3]))
    stepper.reset()
    yield solve(paddle.ones([3]), tol=1e-1)
    yield stepper.total_steps, len(stepper.fs)
