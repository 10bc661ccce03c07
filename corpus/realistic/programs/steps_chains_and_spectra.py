"""Science: IMEX and multirate steps, Newton-Krylov, NUTS-like chains, tempered SMC, sparse GPs, spectra."""

import dataclasses
import enum
import math
import warnings
from collections import defaultdict, namedtuple
from functools import cached_property, partial, wraps
from typing import Protocol

import numpy as np
import paddle

from corpus.realistic import attempt, program

TT = paddle.to_tensor


@program
def newton_krylov_with_forcing(convert):
    """Bratu's problem by Newton-Krylov: Jacobian products by differences or by gradients, forcing terms, a line search."""

    class Status(enum.IntEnum):
        CONVERGED = 0
        STALLED = 1
        MAX_ITER = 2

    Outcome = namedtuple("Outcome", "x status residuals inner")

    def residual(u, lam, h):
        down = paddle.diag(paddle.ones([u.shape[0] - 1], u.dtype), offset=-1)
        left, right = down @ u, down.t() @ u
        return (left - 2 * u + right) / h**2 + lam * paddle.exp(u)

    def fd_product(f, u, fu, v):
        n = v.norm()
        if n == 0:
            return paddle.zeros_like(v)
        eps = 1e-6 * (1 + u.norm()) / n
        return (f(u + eps * v) - fu) / eps

    def ad_product(f, u, fu, v):
        u = u.detach()
        u.stop_gradient = False
        dummy = paddle.ones_like(v)
        dummy.stop_gradient = False
        (g,) = paddle.grad(f(u), u, dummy, create_graph=True)
        return paddle.grad(g, dummy, v)[0].detach()

    def gmres(op, b, tol, m=12):
        beta = b.norm()
        if beta < 1e-14:
            return paddle.zeros_like(b), 0
        V, H = [b / beta], []
        y = None
        for j in range(m):
            w = op(V[j])
            col = []
            for v in V:
                hij = w @ v
                col.append(hij)
                w = w - hij * v
            wn = w.norm()
            col.append(wn)
            H.append(col)
            k = len(H)
            mat = paddle.zeros([k + 1, k], b.dtype)
            for c, colv in enumerate(H):
                mat[: len(colv), c] = paddle.stack(colv)
            rhs = paddle.zeros([k + 1], b.dtype)
            rhs[0] = beta
            y = paddle.linalg.pinv(mat) @ rhs
            if (mat @ y - rhs).norm() <= tol * beta or wn < 1e-12:
                break
            V.append(w / wn)
        return sum(y[i] * V[i] for i in range(len(H))), len(H)

    def solve(u, lam, product=fd_product, eta=0.5, tol=1e-8, max_iter=8):
        f = partial(residual, lam=lam, h=1.0 / (u.shape[0] + 1))
        fu = f(u)
        norms, inner, status = [fu.norm()], 0, Status.MAX_ITER
        for _ in range(max_iter):
            if norms[-1] < tol:
                status = Status.CONVERGED
                break
            du, its = gmres(lambda v: product(f, u, fu, v), -fu, eta)
            inner += its
            t = 1.0
            while (trial := f(u + t * du)).norm() > (1 - 1e-4 * t) * norms[-1]:
                t *= 0.5
                if t < 1e-3:
                    status = Status.STALLED
                    break
            if status == Status.STALLED:
                break
            u, fu = u + t * du, trial
            norms.append(fu.norm())
            ratio = norms[-1] / norms[-2]
            eta = float(paddle.clip(0.9 * ratio**2, 1e-4, 0.5))
        return Outcome(u, status, norms, inner)

    run = convert(solve)
    u0 = paddle.zeros([6], "float64")
    for lam, kw in ((1.0, {}), (2.0, {"product": ad_product}), (30.0, {"max_iter": 3}), (0.0, {})):
        yield attempt(lambda: run(u0, lam, **kw))
    yield attempt(lambda: run(paddle.zeros([4], "float64") + 1, 3.0, eta=0.1))


@program
def stiff_and_soft_parts_apart(convert):
    """An IMEX pair with step doubling on a reaction-diffusion line; dense output; events through a protocol."""

    class Event(Protocol):
        def __call__(self, t, u): ...

    class Threshold:
        terminal = True

        def __init__(self, level):
            self.level = level
            self.times = []

        def __call__(self, t, u):
            return u.max() - self.level

    class Decay(Threshold):
        terminal = False

    class Imex:
        def __init__(self, n, diffusion=0.1, rtol=1e-3):
            eye = paddle.eye(n, dtype="float64")
            self.L = diffusion * (paddle.roll(eye, 1, 0) + paddle.roll(eye, -1, 0) - 2 * eye) * n
            self.eye, self.rtol = eye, rtol
            self._lu: dict = {}
            self.counts = defaultdict(int)

        def solve(self, dt, b):
            key = round(dt, 10)
            if key not in self._lu:
                if len(self._lu) > 3:
                    self._lu.pop(next(iter(self._lu)))
                self._lu[key] = paddle.linalg.inv(self.eye - dt * self.L)
            return self._lu[key] @ b

        def react(self, u):
            return u * (1 - u) * (u - 0.2) * 4

        def step(self, u, dt):
            self.counts["steps"] += 1
            return self.solve(dt, u + dt * self.react(u))

        def integrate(self, u, t_end, dt=0.1, events=()):
            t, log = 0.0, []
            signs = [e(t, u) > 0 for e in events]
            while t < t_end - 1e-12:
                dt = min(dt, t_end - t)
                big = self.step(u, dt)
                half = self.step(self.step(u, dt / 2), dt / 2)
                err = (big - half).abs().max() / (self.rtol + self.rtol * u.abs().max())
                if err > 1 and dt > 1e-3:
                    dt /= 2
                    self.counts["rejected"] += 1
                    continue
                t, u = t + dt, 2 * half - big
                log.append((round(t, 6), u.mean()))
                for k, e in enumerate(events):
                    now = e(t, u) > 0
                    if bool(now) != bool(signs[k]):
                        e.times.append(t)
                        if e.terminal:
                            return u, t, log
                    signs[k] = now
                if err < 0.25:
                    dt *= 2
            return u, t, log

    for n, seed in ((6, 0), (8, 1)):
        solver = Imex(n)
        run = convert(solver.integrate)
        u = TT(np.random.RandomState(seed).rand(n))
        high, low = Threshold(0.9), Decay(0.7)
        yield attempt(lambda: run(u, 1.0))
        yield attempt(lambda: run(u, 3.0, 0.2, (high, low))), high.times, low.times
        yield dict(solver.counts), len(solver._lu)
        yield attempt(lambda: run(u * 0.2, 0.5, events=[low])), low.times


@program
def trees_of_leaps_without_turns(convert):
    """A small NUTS: recursive doubling with U-turn stops and divergences, dual averaging of the step size in a warm-up."""

    Tree = namedtuple("Tree", "q_m p_m q_p p_p q n ok alpha n_alpha")

    @dataclasses.dataclass
    class DualAveraging:
        mu: float
        target: float = 0.8
        gamma: float = 0.05
        t0: int = 10
        kappa: float = 0.75
        count: int = 0
        h: float = 0.0
        log_bar: float = 0.0

        def update(self, accept):
            self.count += 1
            w = 1.0 / (self.count + self.t0)
            self.h = (1 - w) * self.h + w * (self.target - accept)
            log_eps = self.mu - math.sqrt(self.count) / self.gamma * self.h
            k = self.count**-self.kappa
            self.log_bar = k * log_eps + (1 - k) * self.log_bar
            return math.exp(log_eps)

    class Nuts:
        def __init__(self, logp, eps=0.3, depth=3, seed=0):
            self.logp, self.eps, self.depth = logp, eps, depth
            self.rng = np.random.RandomState(seed)
            self.adapt = DualAveraging(math.log(10 * eps))
            self.divergent = 0

        def grad(self, q):
            q = q.detach()
            q.stop_gradient = False
            return paddle.grad(self.logp(q), q)[0]

        def leap(self, q, p, eps):
            p = p + 0.5 * eps * self.grad(q)
            q = q + eps * p
            return q, p + 0.5 * eps * self.grad(q)

        def joint(self, q, p):
            return self.logp(q) - 0.5 * p @ p

        def build(self, q, p, logu, v, j, h0):
            if j == 0:
                q1, p1 = self.leap(q, p, v * self.eps)
                h = self.joint(q1, p1)
                if logu - 100.0 > h:
                    self.divergent += 1
                return Tree(
                    q1,
                    p1,
                    q1,
                    p1,
                    q1,
                    int(logu <= h),
                    bool(logu - 100.0 < h),
                    min(1.0, float((h - h0).exp())),
                    1,
                )
            a = self.build(q, p, logu, v, j - 1, h0)
            if not a.ok:
                return a
            if v < 0:
                b = self.build(a.q_m, a.p_m, logu, v, j - 1, h0)
                a = a._replace(q_m=b.q_m, p_m=b.p_m)
            else:
                b = self.build(a.q_p, a.p_p, logu, v, j - 1, h0)
                a = a._replace(q_p=b.q_p, p_p=b.p_p)
            if b.n and self.rng.rand() < b.n / max(a.n + b.n, 1):
                a = a._replace(q=b.q)
            d = a.q_p - a.q_m
            ok = b.ok and bool(d @ a.p_m >= 0) and bool(d @ a.p_p >= 0)
            return a._replace(
                n=a.n + b.n, ok=ok, alpha=a.alpha + b.alpha, n_alpha=a.n_alpha + b.n_alpha
            )

        def sample(self, q, warm=True):
            p = TT(self.rng.randn(*q.shape))
            h0 = self.joint(q, p)
            logu = h0 + math.log(self.rng.rand())
            tree = Tree(q, p, q, p, q, 1, True, 0.0, 1)
            n = 1
            for j in range(self.depth):
                v = 1 if self.rng.rand() < 0.5 else -1
                side = self.build(
                    tree.q_m if v < 0 else tree.q_p, tree.p_m if v < 0 else tree.p_p, logu, v, j, h0
                )
                tree = (
                    tree._replace(q_m=side.q_m, p_m=side.p_m)
                    if v < 0
                    else tree._replace(q_p=side.q_p, p_p=side.p_p)
                )
                if side.ok and self.rng.rand() < min(1.0, side.n / n):
                    tree = tree._replace(q=side.q)
                n += side.n
                d = tree.q_p - tree.q_m
                if not side.ok or (d @ tree.p_m) < 0 or (d @ tree.p_p) < 0:
                    break
            if warm:
                self.eps = self.adapt.update(side.alpha / side.n_alpha)
            return tree.q, n, j

    scale = TT([1.0, 4.0], dtype="float64")
    for logp in (
        lambda q: -0.5 * (q * q * scale).sum(),
        lambda q: -((q[0] ** 2 + q[1] ** 2 - 1) ** 2),
    ):
        nuts = Nuts(logp)
        step = convert(nuts.sample)
        q = TT([0.3, -0.2], dtype="float64")
        for k in range(4):
            out = attempt(lambda: step(q, warm=k < 3))
            yield out, round(nuts.eps, 5), nuts.divergent
            q = out[0] if isinstance(out, tuple) else q
        yield nuts.adapt


@program
def populations_heated_slowly(convert):
    """Tempered SMC: the next temperature by bisection on the effective sample size, systematic resampling, moves, evidence."""

    class Target:
        def __init__(self, modes):
            self.modes = TT(modes)

        def loglik(self, x):
            d = (x.unsqueeze(1) - self.modes.unsqueeze(0)).square().sum(-1)
            return paddle.logsumexp(-4 * d, 1)

        def logprior(self, x):
            return -0.5 * (x / 2).square().sum(-1)

    def ess(logw):
        w = paddle.nn.functional.softmax(logw, 0)
        return 1.0 / w.square().sum()

    class Smc:
        def __init__(self, target, n, alpha=0.6):
            self.target, self.n, self.alpha = target, n, alpha
            self.temps, self.accepts = [0.0], []

        def next_temp(self, loglik, t):
            lo, hi = t, 1.0
            if ess((hi - t) * loglik) >= self.alpha * self.n:
                return 1.0
            for _ in range(12):
                mid = (lo + hi) / 2
                if ess((mid - t) * loglik) < self.alpha * self.n:
                    hi = mid
                else:
                    lo = mid
            return lo if lo > t else hi

        def resample(self, x, logw, u):
            w = paddle.nn.functional.softmax(logw, 0)
            at = (paddle.arange(self.n).astype(x.dtype) + u) / self.n
            return x[paddle.searchsorted(w.cumsum(0), at).clip(max=self.n - 1)]

        def __call__(self, x, noise, uniforms):
            logz, t, k = paddle.zeros([], x.dtype), 0.0, 0
            self.temps, self.accepts = [0.0], []
            step = 0.5
            while t < 1.0 and k < noise.shape[0]:
                loglik = self.target.loglik(x)
                new = self.next_temp(loglik, t)
                logw = (new - t) * loglik
                logz = logz + paddle.logsumexp(logw, 0) - math.log(self.n)
                x = self.resample(x, logw, uniforms[k, 0])
                prop = x + step * noise[k]
                dens = lambda y: new * self.target.loglik(y) + self.target.logprior(y)
                accept = uniforms[k, 1:].log() < dens(prop) - dens(x)
                x = paddle.where(accept.unsqueeze(1), prop, x)
                rate = accept.astype("float32").mean()
                step = step * 1.3 if rate > 0.4 else step / 1.3
                self.temps.append(new)
                self.accepts.append(rate)
                t, k = new, k + 1
            else:
                if t < 1.0:
                    warnings.warn(f"only at temperature {t:.2f}", RuntimeWarning)
            return x, logz, k

    for n, modes in ((8, [[0.0, 0.0], [3.0, 3.0]]), (12, [[-4.0, 1.0]])):
        smc = Smc(Target(modes), n)
        run = convert(smc.__call__)
        rng = np.random.RandomState(n)
        f = lambda *s: TT(rng.rand(*s).astype("float32"))
        for rounds in (10, 2):
            x, noise = f(n, 2) * 6 - 3, f(rounds, n, 2) * 2 - 1
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield attempt(lambda: run(x, noise, f(rounds, n + 1)))
            yield (
                [str(w.message) for w in caught if w.category is RuntimeWarning],
                smc.temps,
                smc.accepts,
            )


@program
def kernels_added_and_multiplied(convert):
    """GP regression with an algebra of kernels, a cached Cholesky with growing jitter, inducing points and a fit."""

    class Kernel:
        def __add__(self, other):
            return Combined(self, other, paddle.add, "+")

        def __mul__(self, other):
            return Combined(self, other, paddle.multiply, "*")

        @property
        def params(self):
            return [v for v in vars(self).values() if isinstance(v, paddle.Tensor)]

    class Combined(Kernel):
        def __init__(self, a, b, op, sign):
            self.a, self.b, self.op, self.sign = a, b, op, sign

        def __call__(self, x, y):
            return self.op(self.a(x, y), self.b(x, y))

        def __repr__(self):
            return f"({self.a} {self.sign} {self.b})"

        @property
        def params(self):
            return self.a.params + self.b.params

    class RBF(Kernel):
        def __init__(self, log_len=0.0):
            self.log_len = TT(log_len, dtype="float64", stop_gradient=False)

        def __call__(self, x, y):
            return paddle.exp(-0.5 * ((x.unsqueeze(1) - y.unsqueeze(0)) / self.log_len.exp()) ** 2)

        def __repr__(self):
            return "RBF"

    class Linear(Kernel):
        def __init__(self):
            self.var = TT(0.5, dtype="float64", stop_gradient=False)

        def __call__(self, x, y):
            return self.var * x.unsqueeze(1) * y.unsqueeze(0)

        def __repr__(self):
            return "Lin"

    class NotPositive(ArithmeticError):
        pass

    class GP:
        def __init__(self, kernel, x, y, noise=0.1):
            self.kernel, self.x, self.y, self.noise = kernel, x, y, noise
            self.jitters = []

        @cached_property
        def chol(self):
            K = self.kernel(self.x, self.x) + self.noise**2 * paddle.eye(
                self.x.shape[0], dtype="float64"
            )
            for jitter in (0.0, 1e-8, 1e-4, 1e-2):
                cand = K + jitter * paddle.eye(K.shape[0], dtype=K.dtype)
                if paddle.linalg.eigvalsh(cand).min() > 1e-6:
                    self.jitters.append(jitter)
                    return paddle.linalg.cholesky(cand)
            raise NotPositive(f"{self.kernel} on {self.x.shape[0]} points")

        def nll(self):
            self.__dict__.pop("chol", None)
            half = paddle.linalg.inv(self.chol) @ self.y
            return (
                0.5 * half.square().sum()
                + self.chol.diag().log().sum()
                + 0.5 * len(self.y) * math.log(2 * math.pi)
            )

        def fit(self, steps=4, lr=0.1):
            losses = []
            for _ in range(steps):
                loss = self.nll()
                if losses and loss > losses[-1]:
                    lr *= 0.5
                grads = paddle.grad(loss, self.kernel.params)
                with paddle.no_grad():
                    for p, g in zip(self.kernel.params, grads):
                        p.subtract_(lr * g)
                losses.append(loss.detach())
            return losses

        def predict(self, xs, full=False):
            ks = self.kernel(self.x, xs)
            mean = (ks.t() @ paddle.linalg.cholesky_solve(self.y.unsqueeze(1), self.chol))[:, 0]
            v = paddle.linalg.triangular_solve(self.chol, ks, upper=False)
            cov = self.kernel(xs, xs) - v.t() @ v
            return (mean, cov) if full else (mean, cov.diag().clip(0).sqrt())

    for kernel, noise in ((RBF() + Linear(), 0.2), (RBF(0.5) * RBF(-0.5), 0.1), (Linear(), 0.0)):
        x = TT(np.linspace(-1, 2, 6))
        gp = GP(kernel, x, (3 * x).sin(), noise)
        fit, predict = convert(gp.fit), convert(gp.predict)
        yield repr(kernel), attempt(lambda: fit()), gp.jitters, kernel.params
        yield attempt(lambda: predict(TT([0.1, 0.5], dtype="float64")))
        yield attempt(lambda: predict(x[:3] + 0.05, full=True)), attempt(lambda: fit(2, 0.01))


@program
def vortices_in_a_periodic_box(convert):
    """Pseudo-spectral 2D turbulence: dealiasing, integrating factors, a CFL step, energy spectra, forcing by generators."""

    def rk(order):
        def deco(f):
            @wraps(f)
            def wrapper(self, w, dt):
                if order == 1:
                    return f(self, w, dt)
                k1 = self.rhs(w)
                mid = (w + 0.5 * dt * k1) * self.factor(dt / 2)
                return w * self.factor(dt) + dt * self.rhs(mid) * self.factor(dt / 2)

            wrapper.order = order
            return wrapper

        return deco

    class Flow:
        def __init__(self, n, nu=0.01, cfl=0.5):
            k = paddle.to_tensor(np.fft.fftfreq(n, 1.0 / n).astype("float32"))
            self.kx, self.ky = paddle.meshgrid(k, k)
            self.k2 = self.kx**2 + self.ky**2
            self.inv = paddle.where(self.k2 > 0, 1 / self.k2.clip(1e-6), paddle.zeros_like(self.k2))
            self.mask = ((self.kx.abs() < n / 3) & (self.ky.abs() < n / 3)).astype("float32")
            self.n, self.nu, self.cfl, self.time = n, nu, cfl, 0.0

        def velocity(self, w):
            psi = w * self.inv
            i = paddle.to_tensor(1j, dtype="complex64")
            return paddle.fft.ifft2(i * self.ky * psi).real(), paddle.fft.ifft2(
                -i * self.kx * psi
            ).real()

        def rhs(self, w):
            u, v = self.velocity(w)
            i = paddle.to_tensor(1j, dtype="complex64")
            wx, wy = (
                paddle.fft.ifft2(i * self.kx * w).real(),
                paddle.fft.ifft2(i * self.ky * w).real(),
            )
            return -paddle.fft.fft2(u * wx + v * wy) * self.mask

        def factor(self, dt):
            return paddle.exp(-self.nu * self.k2 * dt)

        @rk(1)
        def euler(self, w, dt):
            return (w + dt * self.rhs(w)) * self.factor(dt)

        @rk(2)
        def midpoint(self, w, dt):
            """Replaced by the decorator."""

        def energy(self, w):
            u, v = self.velocity(w)
            return 0.5 * (u**2 + v**2).mean()

        def spectrum(self, w):
            e = (w.abs() ** 2 * self.inv).flatten() / self.n**4
            shells = self.k2.sqrt().round().astype("int64").flatten()
            return paddle.stack([e[shells == s].sum() for s in range(1, self.n // 2)])

        def run(self, field, t_end, scheme="midpoint", force=None):
            w = paddle.fft.fft2(field)
            step = getattr(self, scheme)
            self.time, energies = 0.0, [self.energy(w)]
            while self.time < t_end and len(energies) < 20:
                u, v = self.velocity(w)
                top = paddle.maximum(u.abs().max(), v.abs().max())
                dt = (
                    self.cfl * (2 * math.pi / self.n) / top if top > 1e-3 else paddle.to_tensor(0.1)
                )
                dt = paddle.minimum(dt, t_end - self.time + paddle.zeros([]))
                w = step(w, dt)
                if force is not None:
                    w = w + paddle.fft.fft2(next(force)) * dt
                self.time += float(dt)
                energies.append(self.energy(w))
                if energies[-1] > 2 * energies[0] + 1:
                    raise FloatingPointError(f"energy grew in step {len(energies) - 1}")
            return paddle.fft.ifft2(w).real(), energies, self.spectrum(w), step.order

    def kicks(n, size):
        k = 0
        while True:
            yield paddle.full([n, n], size * (-1) ** k)
            k += 1

    for n, nu in ((8, 0.02), (6, 0.1)):
        flow = Flow(n, nu)
        run = convert(flow.run)
        field = TT(np.random.RandomState(n).randn(n, n).astype("float32"))
        yield attempt(lambda: run(field, 1.0)), flow.time
        yield attempt(lambda: run(field, 0.5, "euler", kicks(n, 0.3))), flow.time
        yield attempt(lambda: run(field * 0, 0.3)), flow.time
        yield attempt(lambda: run(field, 0.5, "leapfrog"))
