"""Solvers: roots, linear systems, eigenvalues, fixed points."""

from dataclasses import dataclass
from typing import Callable

import numpy as np
import paddle

from corpus.realistic import attempt, program


def spd_matrix(n, seed=0, shift=1.0):
    rng = np.random.RandomState(seed)
    a = rng.randn(n, n).astype("float32")
    return paddle.to_tensor(a @ a.T / n + shift * np.eye(n, dtype="float32"))


def vector(n, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(n).astype("float32"))


@dataclass
class CGResult:
    x: paddle.Tensor
    iterations: int
    residual: paddle.Tensor
    converged: bool


@program
def conjugate_gradient(convert):
    """Preconditioned CG with a dataclass result and a history of residual norms."""

    class ConjugateGradient:
        def __init__(self, max_iter=50, rtol=1e-5, precondition=False):
            self.max_iter = max_iter
            self.rtol = rtol
            self.precondition = precondition
            self.calls = 0

        def apply_preconditioner(self, a, r):
            if not self.precondition:
                return r
            return r / paddle.diag(a)

        def solve(self, a, b, x0=None):
            self.calls += 1
            x = paddle.zeros_like(b) if x0 is None else x0
            r = b - paddle.matmul(a, x)
            z = self.apply_preconditioner(a, r)
            p = z
            rz = (r * z).sum()
            target = self.rtol * paddle.norm(b)
            converged = False
            for k in range(self.max_iter):
                if paddle.norm(r) <= target:
                    converged = True
                    break
                ap = paddle.matmul(a, p)
                alpha = rz / (p * ap).sum()
                x = x + alpha * p
                r = r - alpha * ap
                z = self.apply_preconditioner(a, r)
                rz_new = (r * z).sum()
                p = z + (rz_new / rz) * p
                rz = rz_new
            return CGResult(x=x, iterations=k, residual=paddle.norm(r), converged=converged)

    for precondition in (False, True):
        solver = ConjugateGradient(precondition=precondition)
        solver.solve = convert(solver.solve)
        for n, seed in ((4, 0), (6, 1), (6, 2)):
            yield solver.solve(spd_matrix(n, seed), vector(n, seed))
        yield solver.solve(spd_matrix(6, 3), vector(6, 3), x0=vector(6, 9))
        yield solver.solve(spd_matrix(4, 0), paddle.zeros([4]))
        yield solver.calls


@program
def newton_with_backtracking(convert):
    """Damped Newton for a scalar function per element, with a line search and a failure flag."""

    def residual(x, c):
        return x**3 + 2.0 * x - c

    def derivative(x):
        return 3.0 * x**2 + 2.0

    @convert
    def newton(c, x, tol=1e-6, max_iter=30, verbose=False):
        f = residual(x, c)
        for it in range(max_iter):
            step = f / derivative(x)
            t = 1.0
            trial = x - step
            while residual(trial, c).abs().sum() > f.abs().sum() and t > 1e-3:
                t *= 0.5
                trial = x - t * step
            x = trial
            f = residual(x, c)
            if verbose:
                print(f"iter {it}: |f| = {float(f.abs().max()):.3e}")
            if f.abs().max() < tol:
                break
        else:
            print("no convergence")
        return x, f

    for c0 in (1.0, 5.0, -3.0):
        c = paddle.to_tensor([c0, 2 * c0, 0.5], stop_gradient=False)
        x, f = newton(c, paddle.ones([3]))
        x.sum().backward()
        yield x, c.grad
    yield newton(paddle.to_tensor([100.0]), paddle.to_tensor([0.0]), max_iter=2)
    yield newton(paddle.to_tensor([4.0]), paddle.to_tensor([0.5]), verbose=True)[0]


@program
def bisection_with_bracket(convert):
    """Bisection that first expands its bracket, raising when there is no sign change."""

    @convert
    def bisect(f: Callable, lo, hi, *, tol: float = 1e-4, max_expand: int = 8):
        flo, fhi = f(lo), f(hi)
        n_expand = 0
        while (flo * fhi > 0) and n_expand < max_expand:
            width = hi - lo
            lo, hi = lo - width, hi + width
            flo, fhi = f(lo), f(hi)
            n_expand += 1
        if flo * fhi > 0:
            raise ValueError("no sign change in the bracket")
        history = []
        while hi - lo > tol:
            mid = (lo + hi) / 2
            fmid = f(mid)
            history.append(mid)
            if fmid == 0:
                return mid, history
            if flo * fmid < 0:
                hi, fhi = mid, fmid
            else:
                lo, flo = mid, fmid
        return (lo + hi) / 2, history

    lo, hi = paddle.to_tensor(0.0), paddle.to_tensor(1.0)
    root, history = bisect(lambda x: x * x - 0.3, lo, hi)
    yield root, len(history)
    yield bisect(lambda x: x - 0.5, lo, hi)
    yield bisect(paddle.cos, lo, hi, tol=1e-2)[0]
    yield attempt(lambda: bisect(lambda x: x * x + 1.0, lo, hi, max_expand=2))
