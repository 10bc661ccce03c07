"""Numerical methods that choose their own steps."""

import bisect
import functools
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import paddle

from corpus.realistic import attempt, program

C = [0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0]
A = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
E = [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]


@dataclass
class Segment:
    """One accepted step, interpolated by a cubic Hermite polynomial."""

    t0: float
    t1: float
    y0: paddle.Tensor
    y1: paddle.Tensor
    f0: paddle.Tensor
    f1: paddle.Tensor

    def __call__(self, t):
        h = self.t1 - self.t0
        s = (t - self.t0) / h
        a = (1 + 2 * s) * (1 - s) ** 2
        b = s * (1 - s) ** 2 * h
        c = s**2 * (3 - 2 * s)
        d = s**2 * (s - 1) * h
        return a * self.y0 + b * self.f0 + c * self.y1 + d * self.f1


class DenseOutput:
    def __init__(self):
        self.ends = []
        self.segments = []

    def append(self, segment):
        self.ends.append(segment.t1)
        self.segments.append(segment)

    def __call__(self, t):
        i = min(bisect.bisect_left(self.ends, t), len(self.segments) - 1)
        return self.segments[i](t)


class Solver:
    def __init__(self, fun, rtol=1e-5, atol=1e-7, max_steps=200):
        self.fun, self.rtol, self.atol, self.max_steps = fun, rtol, atol, max_steps
        self.nfev = 0

    def f(self, t, y):
        self.nfev += 1
        return self.fun(t, y)

    def stages(self, t, y, h, k0):
        k = [k0]
        for i in range(1, 7):
            dy = sum(a * kj for a, kj in zip(A[i], k))
            y_new = y + h * dy
            k.append(self.f(t + C[i] * h, y_new))
        return y_new, k

    def solve(self, y, t_end, event=None, h=0.1):
        t, dense, rejected = 0.0, DenseOutput(), 0
        k0 = self.f(t, y)
        for _ in range(self.max_steps):
            h = min(h, t_end - t)
            y_new, k = self.stages(t, y, h, k0)
            err = h * sum(e * kj for e, kj in zip(E, k))
            scale = self.atol + self.rtol * paddle.maximum(y.abs(), y_new.abs())
            norm = float(((err / scale) ** 2).mean().sqrt())
            if norm > 1:
                rejected += 1
                h *= max(0.2, 0.9 * norm**-0.2)
                continue
            segment = Segment(t, t + h, y, y_new, k0, k[-1])
            dense.append(segment)
            if event is not None and event(y) * event(y_new) < 0:
                root = self.locate(segment, event)
                return root, segment(root), dense, rejected
            t, y, k0 = t + h, y_new, k[-1]
            if t >= t_end - 1e-12:
                return t, y, dense, rejected
            h *= min(5.0, 0.9 * max(norm, 1e-10) ** -0.2)
        raise RuntimeError(f"no end after {self.max_steps} steps, t = {t:.3f}")

    def locate(self, segment, event):
        lo, hi = segment.t0, segment.t1
        sign = event(segment(lo)) > 0
        while hi - lo > 1e-7:
            mid = 0.5 * (lo + hi)
            if (event(segment(mid)) > 0) == sign:
                lo = mid
            else:
                hi = mid
        return 0.5 * (lo + hi)


def ball(t, y):
    return paddle.stack([y[1], -9.81 - 0.1 * y[1] * y[1].abs()])


def fall(y0, t_end, stop=True):
    solver = Solver(ball)
    t, y, dense, rejected = solver.solve(y0, t_end, event=(lambda y: y[0]) if stop else None)
    print(f"t={t:.4f} nfev={solver.nfev} rejected={rejected}")
    return t, y, paddle.stack([dense(t * i / 4) for i in range(5)])


@program
def dormand_prince_with_events(convert):
    """Dormand-Prince with step control, event location by bisection on the dense output, and interpolation."""
    function = convert(fall)

    def calls():
        def y(*v):
            return paddle.to_tensor(v, dtype="float64")

        return [(y(2.0, 3.0), 3.0), (y(10.0, 0.0), 0.8), (y(0.5, 1.0), 1.0, False)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def value_grad_hess(fun, x):
    x = x.detach()
    x.stop_gradient = False
    value = fun(x)
    (grad,) = paddle.grad(value, [x], create_graph=True)
    rows = [paddle.grad(grad[i], [x], retain_graph=True)[0] for i in range(x.shape[0])]
    return value.detach(), grad.detach(), paddle.stack(rows).detach()


def dogleg(g, B, radius):
    newton = -paddle.linalg.solve(B, g)
    if newton.norm() <= radius and (g * newton).sum() < 0:
        return newton, "newton"
    gBg = (g * (B @ g)).sum()
    if gBg <= 0:
        return -radius * g / g.norm(), "gradient"
    cauchy = -((g * g).sum() / gBg) * g
    if cauchy.norm() >= radius:
        return -radius * g / g.norm(), "cauchy"
    d = newton - cauchy
    a, b, c = (d * d).sum(), 2 * (cauchy * d).sum(), (cauchy * cauchy).sum() - radius**2
    tau = (-b + paddle.sqrt(b * b - 4 * a * c)) / (2 * a)
    return cauchy + tau * d, "dogleg"


def minimize(x, radius=1.0, max_radius=10.0, eta=0.15, tol=1e-6, max_iter=40):
    kinds = {}
    for it in range(max_iter):
        f, g, B = value_grad_hess(rosenbrock, x)
        if g.norm() < tol:
            break
        step, kind = dogleg(g, B, radius)
        kinds[kind] = kinds.get(kind, 0) + 1
        predicted = -((g * step).sum() + 0.5 * (step * (B @ step)).sum())
        actual = f - rosenbrock(x + step)
        rho = actual / predicted
        if rho < 0.25:
            radius = radius * 0.25
        elif rho > 0.75 and step.norm() > 0.99 * radius:
            radius = min(2 * radius, max_radius)
        if rho > eta:
            x = x + step
    print("iterations", it, "kinds", sorted(kinds))
    return x, rosenbrock(x)


@program
def dogleg_trust_region(convert):
    """Trust region with the dogleg step on a small nonlinear function."""
    function = convert(minimize)

    def calls():
        def x(*v):
            return paddle.to_tensor(v, dtype="float64")

        return [(x(-1.2, 1.0),), (x(0.0, 0.5), 0.3), (x(1.1, 0.9, 1.2), 1.0)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class LineSearchFailed(RuntimeError):
    pass


class Problem:
    """Counts evaluations; the gradient comes from autograd."""

    def __init__(self, fun):
        self.fun = fun
        self.evaluations = 0

    def __call__(self, x):
        self.evaluations += 1
        x = x.detach()
        x.stop_gradient = False
        f = self.fun(x)
        g = paddle.grad(f, x)[0]
        return f.detach(), g


def wolfe(problem, x, f0, g0, d, c1=1e-4, c2=0.9, max_ls=25):
    slope = paddle.dot(g0, d)
    if slope >= 0:
        raise LineSearchFailed("not a descent direction")
    lo, hi, step = 0.0, float("inf"), 1.0
    for _ in range(max_ls):
        f, g = problem(x + step * d)
        if f > f0 + c1 * step * slope:
            hi = step
        elif paddle.dot(g, d) < c2 * slope:
            lo = step
        else:
            return step, f, g
        step = (lo + hi) / 2 if hi < float("inf") else 2 * lo
    raise LineSearchFailed(f"no step in {max_ls} trials")


class LBFGS:
    def __init__(self, memory=4, tol=1e-5, max_iter=30):
        self.history = deque(maxlen=memory)
        self.tol = tol
        self.max_iter = max_iter

    def direction(self, g):
        q = -g
        alphas = []
        for s, y, rho in reversed(self.history):
            alpha = rho * paddle.dot(s, q)
            alphas.append(alpha)
            q = q - alpha * y
        if self.history:
            s, y, _ = self.history[-1]
            q = q * (paddle.dot(s, y) / paddle.dot(y, y))
        for (s, y, rho), alpha in zip(self.history, reversed(alphas)):
            beta = rho * paddle.dot(y, q)
            q = q + s * (alpha - beta)
        return q

    def minimize(self, fun, x):
        problem = Problem(fun)
        self.history.clear()
        f, g = problem(x)
        reason = "max_iter"
        for it in range(self.max_iter):
            if g.abs().max() < self.tol:
                reason = "converged"
                break
            d = self.direction(g)
            try:
                step, f_new, g_new = wolfe(problem, x, f, g, d)
            except LineSearchFailed as e:
                if not self.history:
                    reason = f"failed: {e}"
                    break
                self.history.clear()
                continue
            s, y = step * d, g_new - g
            sy = paddle.dot(s, y)
            if sy > 1e-10:
                self.history.append((s, y, 1.0 / sy))
            x, f, g = x + s, f_new, g_new
        return {
            "x": x,
            "f": f,
            "iterations": it,
            "evaluations": problem.evaluations,
            "reason": reason,
        }


@program
def lbfgs_with_wolfe_search(convert):
    """L-BFGS with a bounded history and a strong Wolfe line search."""
    solver = LBFGS()

    def quartic(x):
        return ((x - 1) ** 4).sum() + ((x[1:] - x[:-1]) ** 2).sum() + (x**2).sum() * 0.1

    def fit(x):
        return solver.minimize(quartic, x)

    function = convert(fit)

    def calls():
        def x(*v):
            return paddle.to_tensor(v, dtype="float64")

        return [(x(-1.2, 1.0),), (x(3.0, -1.0, 0.5),), (x(0.5, 0.5, 0.4, -2.0),)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


def jacobi(A):
    d = paddle.diagonal(A)
    return lambda v: v / d


def givens(a, b):
    r = paddle.sqrt(a * a + b * b)
    if r == 0:
        return paddle.ones_like(a), paddle.zeros_like(b)
    return a / r, b / r


def cycle(matvec, M, b, x, m, tol):
    r = M(b - matvec(x))
    beta = r.norm()
    if beta < tol:
        return x, beta, 0
    n = b.shape[0]
    V = [r / beta]
    H = paddle.zeros([m + 1, m], dtype=b.dtype)
    cs, sn = [], []
    rhs = paddle.zeros([m + 1], dtype=b.dtype)
    rhs[0] = beta
    k = 0
    for j in range(min(m, n)):
        w = M(matvec(V[j]))
        for i in range(j + 1):
            H[i, j] = paddle.dot(w, V[i])
            w = w - H[i, j] * V[i]
        h = w.norm()
        H[j + 1, j] = h
        for i, (c, s) in enumerate(zip(cs, sn)):
            upper = c * H[i, j] + s * H[i + 1, j]
            H[i + 1, j] = -s * H[i, j] + c * H[i + 1, j]
            H[i, j] = upper
        c, s = givens(H[j, j].clone(), H[j + 1, j].clone())
        cs.append(c)
        sn.append(s)
        H[j, j] = c * H[j, j] + s * H[j + 1, j]
        H[j + 1, j] = 0.0
        rhs[j + 1] = -s * rhs[j]
        rhs[j] = c * rhs[j]
        k = j + 1
        if rhs[j + 1].abs() < tol or h < 1e-12:
            break
        V.append(w / h)
    y = paddle.linalg.triangular_solve(H[:k, :k], rhs[:k].unsqueeze(-1), upper=True).squeeze(-1)
    for i in range(k):
        x = x + y[i] * V[i]
    return x, rhs[k].abs(), k


def gmres(A, b, restart=3, tol=1e-8, max_cycles=20, precondition=True):
    matvec = functools.partial(paddle.matmul, A)
    M = jacobi(A) if precondition else (lambda v: v)
    x = paddle.zeros_like(b)
    iterations = 0
    for c in range(max_cycles):
        x, residual, k = cycle(matvec, M, b, x, restart, tol)
        iterations += k
        if residual < tol:
            return x, iterations
    raise ArithmeticError(f"residual {float(residual):.2e} after {iterations} iterations")


@program
def gmres_with_givens(convert):
    """Restarted GMRES with Givens rotations and a Jacobi preconditioner."""
    function = convert(gmres)

    def calls():
        paddle.seed(8)
        A = paddle.randn([5, 5], dtype="float64") * 0.3 + paddle.eye(5, dtype="float64") * 3
        b = paddle.randn([5], dtype="float64")
        hard = paddle.to_tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype="float64")
        return [(A, b), (A[:3, :3], b[:3], 2), (hard, b[:3], 2, 1e-8, 3, False)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Iterate(NamedTuple):
    x: paddle.Tensor
    y: paddle.Tensor
    s: paddle.Tensor

    @property
    def mu(self):
        return (self.x * self.s).mean()

    def moved(self, step, primal, dual):
        return Iterate(self.x + primal * step.x, self.y + dual * step.y, self.s + dual * step.s)


class Infeasible(Exception):
    def __init__(self, message, gap):
        super().__init__(message)
        self.gap = gap


def ratio(v, dv):
    negative = dv < 0
    if not negative.any():
        return paddle.ones([], dtype=v.dtype)
    return paddle.minimum(paddle.ones([], dtype=v.dtype), (-v[negative] / dv[negative]).min())


class InteriorPoint:
    def __init__(self, A, b, c, tol=1e-7):
        self.A, self.b, self.c, self.tol = A, b, c, tol

    def start(self):
        A = self.A
        gram = A @ A.T
        x = A.T @ paddle.linalg.solve(gram, self.b)
        y = paddle.linalg.solve(gram, A @ self.c)
        s = self.c - A.T @ y
        x = x + paddle.clip(-1.5 * x.min(), min=0) + 0.5
        s = s + paddle.clip(-1.5 * s.min(), min=0) + 0.5
        return Iterate(x, y, s)

    def residuals(self, it):
        return self.A @ it.x - self.b, self.A.T @ it.y + it.s - self.c

    def newton(self, it, rp, rd, rc):
        d = it.x / it.s
        M = (self.A * d) @ self.A.T
        rhs = -rp - self.A @ (d * rd - rc / it.s)
        dy = paddle.linalg.solve(M, rhs)
        ds = -rd - self.A.T @ dy
        dx = -(rc + it.x * ds) / it.s
        return Iterate(dx, dy, ds)

    def solve(self, max_iter=30):
        it = self.start()
        for k in range(max_iter):
            rp, rd = self.residuals(it)
            if rp.norm() < self.tol and rd.norm() < self.tol and it.mu < self.tol:
                return it, k
            affine = self.newton(it, rp, rd, it.x * it.s)
            ap, ad = ratio(it.x, affine.x), ratio(it.s, affine.s)
            sigma = (it.moved(affine, ap, ad).mu / it.mu) ** 3
            step = self.newton(it, rp, rd, it.x * it.s + affine.x * affine.s - sigma * it.mu)
            ap, ad = 0.99 * ratio(it.x, step.x), 0.99 * ratio(it.s, step.s)
            it = it.moved(step, ap, ad)
            if not paddle.isfinite(it.mu) or it.x.abs().max() > 1e4 or it.s.abs().max() > 1e4:
                break
        raise Infeasible("did not converge", float(rp.norm()))


def linprog(A, b, c):
    try:
        it, k = InteriorPoint(A, b, c).solve()
    except Infeasible as e:
        return None, str(e), e.gap > 0.1
    return it.x, (c * it.x).sum(), k


@program
def interior_point_of_mehrotra(convert):
    """Primal-dual interior point method (Mehrotra) for min c'x, Ax = b, x >= 0."""
    function = convert(linprog)

    def calls():
        def t(v):
            return paddle.to_tensor(v, dtype="float64")

        return [
            (t([[1.0, 1, 1, 0], [1, 3, 0, 1]]), t([4.0, 6]), t([-3.0, -5, 0, 0])),
            (t([[2.0, 1, 1]]), t([2.0]), t([-1.0, -1, 0])),
            (t([[1.0, 1, 0], [1, 1, 1]]), t([3.0, 1]), t([1.0, 1, 1])),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class LinearOperator:
    def __init__(self, shape):
        self.shape = shape
        self.applied = 0

    def _matvec(self, v):
        raise NotImplementedError

    def __matmul__(self, v):
        if v.shape[0] != self.shape[1]:
            raise ValueError(f"cannot apply {self.shape} to {v.shape}")
        self.applied += 1
        return self._matvec(v)

    def __add__(self, other):
        return SumOperator(self, other)

    def __rmul__(self, k):
        return ScaledOperator(k, self)


class Dense(LinearOperator):
    def __init__(self, A):
        super().__init__(tuple(A.shape))
        self.A = A

    def _matvec(self, v):
        return self.A @ v


class Diagonal(LinearOperator):
    def __init__(self, d):
        super().__init__((d.shape[0], d.shape[0]))
        self.d = d

    def _matvec(self, v):
        return self.d * v


class SumOperator(LinearOperator):
    def __init__(self, a, b):
        super().__init__(a.shape)
        self.a, self.b = a, b

    def _matvec(self, v):
        return self.a @ v + self.b @ v


class ScaledOperator(LinearOperator):
    def __init__(self, k, a):
        super().__init__(a.shape)
        self.k, self.a = k, a

    def _matvec(self, v):
        return self.k * (self.a @ v)


def lanczos(op, v, m):
    v = v / v.norm()
    basis, alpha, beta = [v], [], []
    for j in range(m):
        w = op @ basis[-1]
        alpha.append(paddle.dot(w, basis[-1]))
        Q = paddle.stack(basis)
        for _ in range(2):
            w = w - Q.T @ (Q @ w)
        b = w.norm()
        if b < 1e-8:
            print("invariant subspace of size", j + 1)
            break
        if j + 1 < m:
            beta.append(b)
            basis.append(w / b)
    T = paddle.diag(paddle.stack(alpha))
    if beta:
        off = paddle.stack(beta)
        T = T + paddle.diag(off, 1) + paddle.diag(off, -1)
    return T, paddle.stack(basis)


def ritz(A, d, v, m=3):
    op = Dense(A) + 0.5 * Diagonal(d)
    T, Q = lanczos(op, v, m)
    values = paddle.linalg.eigvalsh(T)
    return values, op.applied, Q.shape[0]


@program
def lanczos_of_operators(convert):
    """Lanczos with full reorthogonalisation, Ritz values, and an early end at an invariant subspace."""
    function = convert(ritz)

    def calls():
        paddle.seed(6)
        A = paddle.randn([4, 4], dtype="float64")
        A = A + A.T
        d = paddle.to_tensor([1.0, 2, 3, 4], dtype="float64")
        e = paddle.to_tensor([1.0, 0, 0, 0], dtype="float64")
        return [
            (A, d, paddle.ones([4], dtype="float64")),
            (paddle.diag(d), d, e),
            (A[:3, :3], d[:2], e[:3]),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))
