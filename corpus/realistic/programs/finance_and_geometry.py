"""Pricing, portfolios and backtests; registration, robust fits, hulls and clipping."""

import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Callable, List, Optional, Tuple

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def option_pricing_with_greeks(convert):
    """Black-Scholes with Greeks by gradients, implied volatility by Newton and bisection."""

    @dataclass(frozen=True)
    class Option:
        strike: float
        expiry: float
        call: bool = True

    @dataclass
    class Market:
        spot: paddle.Tensor
        vol: paddle.Tensor
        rate: float = 0.02

    def normal_cdf(x):
        return 0.5 * (1 + paddle.erf(x / math.sqrt(2)))

    def price(option, market):
        root = math.sqrt(option.expiry)
        drift = (market.rate + 0.5 * market.vol**2) * option.expiry
        d1 = (paddle.log(market.spot / option.strike) + drift) / (market.vol * root)
        d2 = d1 - market.vol * root
        discount = option.strike * math.exp(-market.rate * option.expiry)
        if option.call:
            return market.spot * normal_cdf(d1) - discount * normal_cdf(d2)
        return discount * normal_cdf(-d2) - market.spot * normal_cdf(-d1)

    @convert
    def portfolio_value(positions, market):
        total = paddle.zeros([])
        values = OrderedDict()
        for name, (option, quantity) in positions.items():
            values[name] = quantity * price(option, market)
            total = total + values[name]
        return total, values

    @convert
    def implied_vol(option, market, target, max_iter=12, tol=1e-4):
        vol = paddle.to_tensor(0.3)
        low, high = paddle.to_tensor(0.01), paddle.to_tensor(2.0)
        used = 0
        for used in range(1, max_iter + 1):
            now = Market(spot=market.spot, vol=vol, rate=market.rate)
            error = price(option, now) - target
            if error.abs() < tol:
                break
            if error > 0:
                high = vol
            else:
                low = vol
            bumped = price(option, Market(market.spot, vol + 1e-2, market.rate))
            vega = (bumped - error - target) / 1e-2
            newton = vol - error / vega.clip(min=1e-3)
            inside = (newton > low) & (newton < high)
            vol = paddle.where(inside, newton, 0.5 * (low + high))
        return vol, used

    positions = {
        "call": (Option(strike=100.0, expiry=1.0), 2.0),
        "put": (Option(strike=90.0, expiry=0.5, call=False), -1.0),
    }
    for spot, vol in ((100.0, 0.2), (80.0, 0.4)):
        market = Market(
            spot=paddle.to_tensor(spot, stop_gradient=False),
            vol=paddle.to_tensor(vol, stop_gradient=False),
        )
        total, values = portfolio_value(positions, market)
        total.backward()
        yield total, values, market.spot.grad, market.vol.grad
        flat = Market(paddle.to_tensor(spot), paddle.to_tensor(vol))
        for option, _ in positions.values():
            yield implied_vol(option, flat, price(option, flat) * 1.05)
    yield implied_vol(Option(100.0, 1.0), flat, paddle.to_tensor(1e-6), max_iter=4)


@program
def monte_carlo_barrier_and_american(convert):
    """Paths under a seed: knock-out barriers, antithetic pairs, Longstaff-Schwartz exercise."""

    class Paths:
        def __init__(self, spot=1.0, vol=0.3, rate=0.03, steps=5, dt=0.2):
            self.spot, self.vol, self.rate = spot, vol, rate
            self.steps, self.dt = steps, dt

        def generate(self, count, antithetic=False):
            z = paddle.randn([count, self.steps])
            if antithetic:
                z = paddle.concat(x=[z, -z], axis=0)
            moves = (self.rate - 0.5 * self.vol**2) * self.dt + self.vol * math.sqrt(self.dt) * z
            return self.spot * paddle.exp(paddle.cumsum(moves, axis=1))

        def discount(self, steps=None):
            return math.exp(-self.rate * self.dt * (self.steps if steps is None else steps))

    @convert
    def barrier(paths, count, strike=1.0, knock_out=1.4, antithetic=False):
        s = paths.generate(count, antithetic=antithetic)
        alive = paddle.ones([s.shape[0]], dtype="bool")
        for t in range(paths.steps):
            alive = alive & (s[:, t] < knock_out)
            if not alive.any():
                return paddle.zeros([]), t
        payoff = F.relu(s[:, -1] - strike) * alive.astype("float32")
        return paths.discount() * payoff.mean(), paths.steps

    def regress(x, y, weight):
        basis = paddle.stack([paddle.ones_like(x), x, x * x], axis=1)
        a = paddle.matmul(basis * weight.unsqueeze(-1), basis, transpose_x=True)
        b = paddle.matmul(basis * weight.unsqueeze(-1), y.unsqueeze(-1), transpose_x=True)
        coefficients = paddle.linalg.solve(a + 1e-3 * paddle.eye(3), b)
        return paddle.matmul(basis, coefficients).squeeze(-1)

    @convert
    def american_put(paths, count, strike=1.05):
        s = paths.generate(count)
        cash = F.relu(strike - s[:, -1])
        exercised = []
        for t in range(paths.steps - 2, -1, -1):
            cash = cash * paths.discount(steps=1)
            now = F.relu(strike - s[:, t])
            in_money = (now > 0).astype("float32")
            if in_money.sum() < 4:
                exercised.append(paddle.zeros([]))
                continue
            hold = regress(s[:, t], cash, in_money)
            stop = (now > hold) & (in_money > 0)
            exercised.append(stop.astype("float32").mean())
            cash = paddle.where(stop, now, cash)
        return cash.mean() * paths.discount(steps=1), exercised

    for seed, vol in ((0, 0.3), (1, 0.1)):
        paths = Paths(vol=vol)
        paddle.seed(seed)
        yield barrier(paths, 8)
        yield barrier(paths, 4, antithetic=True, knock_out=1.1)
        yield barrier(paths, 4, knock_out=0.2)
        yield american_put(paths, 12)
    yield american_put(Paths(spot=2.0, steps=3), 6)


@program
def portfolio_optimiser_and_backtest(convert):
    """Projected gradient on the simplex; a backtest with costs, stops and a drawdown guard."""

    def project_to_simplex(w):
        u = paddle.sort(w, descending=True)
        css = paddle.cumsum(u) - 1.0
        k = paddle.arange(1, w.shape[0] + 1).astype("float32")
        support = (u - css / k > 0).astype("int64").sum()
        theta = css[support - 1] / support.astype("float32")
        return F.relu(w - theta)

    class Optimiser:
        def __init__(self, risk_aversion=2.0, lr=0.3, max_iter=25, tol=1e-3):
            self.risk_aversion, self.lr = risk_aversion, lr
            self.max_iter, self.tol = max_iter, tol

        def gradient(self, w, mean, cov):
            return mean - self.risk_aversion * paddle.matmul(cov, w)

        @convert
        def solve(self, mean, cov, start=None):
            w = paddle.full_like(mean, 1.0 / mean.shape[0]) if start is None else start
            for i in range(self.max_iter):
                new = project_to_simplex(w + self.lr * self.gradient(w, mean, cov))
                change = (new - w).abs().sum()
                w = new
                if change < self.tol:
                    break
            return w, i + 1

    @dataclass
    class Account:
        cash: paddle.Tensor
        peak: paddle.Tensor
        weights: Optional[paddle.Tensor] = None
        halted: bool = False
        curve: List[paddle.Tensor] = field(default_factory=list)
        turnover: List[paddle.Tensor] = field(default_factory=list)

        @property
        def drawdown(self):
            return 1 - self.cash / self.peak

    @convert
    def backtest(returns, optimiser, window=3, cost=0.001, max_drawdown=None):
        account = Account(cash=paddle.to_tensor(1.0), peak=paddle.to_tensor(1.0))
        for t in range(window, returns.shape[0]):
            past = returns[t - window : t]
            centred = past - past.mean(axis=0)
            cov = paddle.matmul(centred, centred, transpose_x=True) / window
            target, _ = optimiser.solve(past.mean(axis=0), cov, start=account.weights)
            if account.weights is not None:
                traded = (target - account.weights).abs().sum()
                account.turnover.append(traded)
                account.cash = account.cash * (1 - cost * traded)
            account.weights = target
            account.cash = account.cash * (1 + (target * returns[t]).sum())
            account.peak = paddle.maximum(account.peak, account.cash)
            account.curve.append(account.cash)
            if max_drawdown is not None and account.drawdown > max_drawdown:
                account.halted = True
                break
        return account

    rng = np.random.RandomState(2)
    optimiser = Optimiser()
    for assets in (2, 3):
        a = rng.randn(assets, assets).astype("float32")
        mean = paddle.to_tensor(rng.rand(assets).astype("float32"))
        yield optimiser.solve(mean, paddle.to_tensor(a @ a.T))
        returns = paddle.to_tensor(0.1 * rng.randn(6, assets).astype("float32"))
        yield backtest(returns, optimiser)
        yield backtest(returns, optimiser, max_drawdown=0.02)
    optimiser.max_iter = 2
    yield optimiser.solve(mean, paddle.eye(3), start=paddle.to_tensor([1.0, 0.0, 0.0]))


@program
def loans_bonds_and_rates(convert):
    """Amortisation with prepayment, yields by Newton, a curve by bootstrapping, day counts."""
    Bond = namedtuple("Bond", ["coupon", "years", "price"])

    class Loan:
        def __init__(self, principal, rate, periods):
            self.principal, self.rate, self.periods = principal, rate, periods

        @property
        def payment(self):
            factor = (1 + self.rate) ** self.periods
            return self.principal * self.rate * factor / (factor - 1)

        @convert
        def schedule(self, prepayments=None):
            balance = paddle.to_tensor(float(self.principal))
            payment = self.payment
            rows = []
            for period in range(self.periods):
                interest = balance * self.rate
                paid = payment - interest
                if prepayments is not None:
                    paid = paid + prepayments[period]
                if paid >= balance:
                    rows.append(dict(interest=interest, paid=balance))
                    balance = paddle.zeros_like(balance)
                    break
                balance = balance - paid
                rows.append(dict(interest=interest, paid=paid))
            total = sum(row["interest"] for row in rows)
            return balance, total, len(rows)

    @convert
    def yield_to_maturity(bond, guess=0.05, max_iter=10, tol=1e-5):
        y = paddle.to_tensor(guess)
        for i in range(max_iter):
            value, slope = paddle.zeros([]), paddle.zeros([])
            for t in range(1, bond.years + 1):
                flow = bond.coupon + (100.0 if t == bond.years else 0.0)
                value = value + flow / (1 + y) ** t
                slope = slope - t * flow / (1 + y) ** (t + 1)
            step = (value - bond.price) / slope
            y = y - step
            if step.abs() < tol:
                break
        return y, i

    @convert
    def bootstrap(bonds):
        discounts: List[paddle.Tensor] = []
        for bond in sorted(bonds, key=lambda b: b.years):
            known = sum((bond.coupon * d for d in discounts), paddle.zeros([]))
            discount = (bond.price - known) / (bond.coupon + 100.0)
            assert bool(discount > 0), f"negative discount at {bond.years} years"
            discounts.append(discount)
        zero = [d ** (-1.0 / (i + 1)) - 1 for i, d in enumerate(discounts)]
        return discounts, zero

    @convert
    def interpolate(zero, t, method="linear"):
        curve = paddle.stack(zero)
        position = t - 1.0
        left = position.floor().clip(0, curve.shape[0] - 2).astype("int64")
        weight = position - left.astype("float32")
        if method == "flat":
            weight = (weight > 0.5).astype("float32")
        return (1 - weight) * curve[left] + weight * curve[left + 1]

    yield Loan(1000.0, 0.01, 6).schedule()
    extra = paddle.to_tensor([0.0, 300.0, 400.0, 0.0, 0.0, 0.0])
    yield Loan(1000.0, 0.01, 6).schedule(prepayments=extra)
    yield Loan(500.0, 0.05, 3).schedule(extra * 0)
    bonds = [Bond(3.0, 2, 99.0), Bond(2.0, 1, 100.5), Bond(4.0, 3, 101.0)]
    for bond in bonds:
        yield yield_to_maturity(bond)
    discounts, zero = bootstrap([b._replace(price=paddle.to_tensor(b.price)) for b in bonds])
    yield discounts, zero
    for t in (1.0, 1.4, 2.8, 3.5):
        yield interpolate(zero, paddle.to_tensor(t))
        yield interpolate(zero, paddle.to_tensor(t), method="flat")
    yield attempt(lambda: bootstrap([Bond(5.0, 1, paddle.to_tensor(-3.0))]))


@program
def ransac_line_with_refit(convert):
    """RANSAC with drawn pairs, an adaptive number of trials and a least-squares refit."""

    @dataclass
    class Line:
        normal: paddle.Tensor
        offset: paddle.Tensor

        def distance(self, points):
            return (paddle.matmul(points, self.normal) - self.offset).abs()

    def through(p, q):
        direction = q - p
        normal = paddle.stack([-direction[1], direction[0]])
        normal = normal / (normal.norm() + 1e-9)
        return Line(normal=normal, offset=(normal * p).sum())

    def least_squares(points, weights):
        total = weights.sum().clip(min=1e-6)
        center = (points * weights.unsqueeze(-1)).sum(axis=0) / total
        d = (points - center) * weights.sqrt().unsqueeze(-1)
        _, vectors = paddle.linalg.eigh(paddle.matmul(d, d, transpose_x=True))
        normal = vectors[:, 0]
        if normal[1] < 0:
            normal = -normal
        return Line(normal=normal, offset=(normal * center).sum())

    class Ransac:
        def __init__(self, threshold=0.15, trials=20, confidence=0.95):
            self.threshold, self.trials, self.confidence = threshold, trials, confidence

        def needed(self, inlier_share):
            good = (inlier_share**2).clip(1e-6, 1 - 1e-6)
            return math.log(1 - self.confidence) / paddle.log(1 - good)

        @convert
        def fit(self, points, pairs):
            best = paddle.zeros([])
            inliers = paddle.zeros([points.shape[0]])
            limit = paddle.to_tensor(float(self.trials))
            used = paddle.zeros([])
            for i in range(min(self.trials, pairs.shape[0])):
                if i >= limit:
                    break
                used = used + 1
                line = through(points[pairs[i, 0]], points[pairs[i, 1]])
                inside = (line.distance(points) < self.threshold).astype("float32")
                if inside.sum() > best:
                    best, inliers = inside.sum(), inside
                    limit = self.needed(best / points.shape[0])
            refit = least_squares(points, inliers)
            return refit, inliers, used

    rng = np.random.RandomState(3)
    for n, outliers in ((8, 2), (10, 5), (6, 0)):
        x = rng.uniform(-2, 2, n)
        points = np.stack([x, 0.5 * x + 1 + 0.03 * rng.randn(n)], axis=1)
        points[:outliers] = rng.uniform(-3, 3, (outliers, 2))
        pairs = np.stack([rng.choice(n, 2, replace=False) for _ in range(12)])
        solver = Ransac()
        line, inliers, used = solver.fit(
            paddle.to_tensor(points.astype("float32")), paddle.to_tensor(pairs)
        )
        yield line, inliers, used
    solver.trials = 2
    yield solver.fit(paddle.to_tensor(points.astype("float32")), paddle.to_tensor(pairs))


@program
def iterative_closest_point(convert):
    """ICP in the plane with trimming; stops when the error no longer falls."""

    class Transform:
        def __init__(self, rotation, translation):
            self.rotation, self.translation = rotation, translation

        @classmethod
        def identity(cls):
            return cls(paddle.eye(2), paddle.zeros([2]))

        def __call__(self, points):
            return paddle.matmul(points, self.rotation, transpose_y=True) + self.translation

        def __matmul__(self, other):
            return Transform(
                rotation=paddle.matmul(self.rotation, other.rotation),
                translation=paddle.matmul(self.rotation, other.translation) + self.translation,
            )

        @property
        def angle(self):
            return paddle.atan2(self.rotation[1, 0], self.rotation[0, 0])

    def closest(points, target):
        d = (points.unsqueeze(1) - target.unsqueeze(0)).square().sum(axis=-1)
        return d.argmin(axis=1), d.min(axis=1).sqrt()

    def best_rigid(source, target, weights):
        w = (weights / weights.sum()).unsqueeze(-1)
        a, b = (w * source).sum(axis=0), (w * target).sum(axis=0)
        s = source - a
        t = target - b
        dot = (w * s * t).sum()
        cross = (w.squeeze(-1) * (s[:, 0] * t[:, 1] - s[:, 1] * t[:, 0])).sum()
        angle = paddle.atan2(cross, dot)
        c, n = paddle.cos(angle), paddle.sin(angle)
        rotation = paddle.stack([paddle.stack([c, -n]), paddle.stack([n, c])])
        return Transform(rotation, b - paddle.matmul(rotation, a))

    @convert
    def register(source, target, max_iter=15, tol=1e-4, trim=None, init=None):
        transform = Transform.identity() if init is None else init
        errors = []
        previous = None
        for iteration in range(max_iter):
            moved = transform(source)
            index, distance = closest(moved, target)
            weights = paddle.ones_like(distance)
            if trim is not None:
                weights = (distance <= paddle.quantile(distance, trim)).astype("float32")
            error = (weights * distance).sum() / weights.sum()
            errors.append(error)
            if previous is not None and previous - error < tol:
                break
            previous = error
            step = best_rigid(moved, paddle.gather(target, index), weights)
            transform = step @ transform
        return transform, errors

    rng = np.random.RandomState(4)
    for n, angle in ((6, 0.2), (8, -0.3)):
        points = rng.randn(n, 2).astype("float32") * 2
        c, s = math.cos(angle), math.sin(angle)
        moved = points @ np.array([[c, s], [-s, c]], dtype="float32") + [0.3, -0.1]
        source, target = paddle.to_tensor(points), paddle.to_tensor(moved.astype("float32"))
        transform, errors = register(source, target)
        yield transform, transform.angle, errors
        transform, errors = register(source, target[:-1], trim=0.7)
        yield transform.angle, len(errors), errors[-1]
    yield register(source, target, init=transform, max_iter=2)[1]


@program
def polygons_hulls_and_clipping(convert):
    """Areas and orientation, a monotone-chain hull, Sutherland-Hodgman clipping, containment."""
    Edge = namedtuple("Edge", "start end")

    class Polygon:
        def __init__(self, points):
            assert points.shape[0] >= 3, f"{points.shape[0]} points are no polygon"
            self.points = points

        @property
        def edges(self):
            following = paddle.roll(self.points, -1, axis=0)
            return [Edge(p, q) for p, q in zip(self.points, following)]

        def signed_area(self):
            x, y = self.points[:, 0], self.points[:, 1]
            return 0.5 * (x * paddle.roll(y, -1) - paddle.roll(x, -1) * y).sum()

        def oriented(self):
            if self.signed_area() < 0:
                return Polygon(paddle.flip(self.points, axis=[0]))
            return self

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    @convert
    def area_and_centroid(polygon):
        p = polygon.oriented()
        area = p.signed_area()
        center = paddle.zeros([2])
        for edge in p.edges:
            c = edge.start[0] * edge.end[1] - edge.end[0] * edge.start[1]
            center = center + (edge.start + edge.end) * c
        return area, center / (6 * area)

    @convert
    def contains(polygon, point):
        inside = paddle.to_tensor(False)
        for a, b in polygon.edges:
            crosses = (a[1] > point[1]) != (b[1] > point[1])
            if crosses:
                x = (b[0] - a[0]) * (point[1] - a[1]) / (b[1] - a[1]) + a[0]
                if point[0] < x:
                    inside = ~inside
        return inside

    def half_hull(points):
        chain: List[Tuple] = []
        for p in points:
            while len(chain) >= 2 and cross(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    @convert
    def hull_size(points):
        order = paddle.argsort(points[:, 0])
        ordered = [points[i] for i in order]
        return len(half_hull(ordered)) + len(half_hull(ordered[::-1]))

    @convert
    def clipped_area(distance_to: Callable, polygon):
        """The area on the positive side of a line, by signed distances at the corners."""
        area = paddle.zeros([])
        anchor = polygon.points[0]
        kept = []
        for a, b in polygon.edges:
            da, db = distance_to(a), distance_to(b)
            if da >= 0:
                kept.append(a)
            if (da >= 0) != (db >= 0):
                kept.append(a + (b - a) * da / (da - db))
        for p, q in zip(kept[1:], kept[2:]):
            area = area + 0.5 * cross(kept[0], p, q)
        return area.abs(), anchor

    rng = np.random.RandomState(5)
    square = Polygon(paddle.to_tensor([[0.0, 0.0], [0.0, 2.0], [2.0, 2.0], [2.0, 0.0]]))
    triangle = Polygon(paddle.to_tensor([[0.0, 0.0], [3.0, 0.5], [1.0, 2.0]]))
    for polygon in (square, triangle):
        yield area_and_centroid(polygon), polygon.signed_area()
        for point in ([1.0, 1.0], [2.5, 1.9], [-1.0, 0.5]):
            yield contains(polygon, paddle.to_tensor(point))
    for n in (4, 6):
        points = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        yield attempt(lambda: hull_size(points))
    yield attempt(lambda: clipped_area(lambda p: p[0] - 1.0, square))
    yield attempt(lambda: clipped_area(lambda p: p[0] + p[1] - 1.0, triangle))
    yield attempt(lambda: Polygon(paddle.zeros([2, 2])))
