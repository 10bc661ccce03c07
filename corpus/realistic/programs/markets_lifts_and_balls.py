"""Simulations by events and trips: controllers, lifts, order books, balls, bandits."""

import heapq
from collections import Counter, deque, namedtuple
from dataclasses import dataclass, field, make_dataclass
from enum import Enum, IntEnum, auto
from itertools import chain, count, repeat

import numpy as np
import paddle

from corpus.realistic import program


@program
def a_thermostat_with_a_schedule(convert):
    """Rooms heated by PID controllers with anti-windup, a schedule of set points and a sensor that drops out."""

    @dataclass
    class Gains:
        kp: float
        ki: float = 0.0
        kd: float = 0.0

        def __post_init__(self):
            if min(self.kp, self.ki, self.kd) < 0:
                raise ValueError(f"negative gain in {self}")

    class PID:
        def __init__(self, gains, limit=(0.0, 5.0)):
            self.gains = gains
            self.low, self.high = limit
            self.reset()

        def reset(self):
            self.integral = None
            self.previous: paddle.Tensor | None = None
            self.saturated = 0

        def __call__(self, error, dt):
            g = self.gains
            if self.integral is None:
                self.integral = paddle.zeros_like(error)
            slope = 0.0 if self.previous is None else (error - self.previous) / dt
            raw = g.kp * error + g.ki * self.integral + g.kd * slope
            command = raw.clip(self.low, self.high)
            clamped = raw != command
            if clamped.any():
                self.saturated += 1
                self.integral = paddle.where(clamped, self.integral, self.integral + error * dt)
            else:
                self.integral = self.integral + error * dt
            self.previous = error
            return command

    def records_of(convert):
        def simulate(pid, start, schedule, outside=5.0, dt=0.5, tolerance=0.3, drop=frozenset()):
            """Temperatures over time, energy, and the first step at which each set point was reached."""
            temperature = start
            reading = start
            trace, reached = [temperature], {}
            energy = paddle.zeros([])
            for step, target in enumerate(schedule):
                if step not in drop:
                    reading = temperature
                command = pid(target - reading, dt)
                loss = 0.1 * (temperature - outside)
                temperature = temperature + dt * (command - loss)
                energy += command.sum() * dt
                trace.append(temperature)
                if target not in reached and (temperature - target).abs().max() < tolerance:
                    reached[target] = step
                if (temperature > 60).any():
                    raise OverflowError(f"overheated at step {step}")
            return paddle.stack(trace), energy, reached

        run = convert(simulate)
        records = []
        cases = [
            (Gains(1.5), 2, [(20.0, 15)], {}),
            (Gains(1.5, 0.2), 3, [(20.0, 25), (16.0, 15)], {}),
            (Gains(1.2, 0.1, 0.3), 1, [(18.0, 12), (22.0, 12)], {"drop": frozenset({3, 4, 5})}),
            (Gains(9.0, 3.0), 2, [(70.0, 60)], {"outside": 30.0, "dt": 1.0}),
        ]
        for gains, rooms, plan, options in cases:
            pid = PID(gains)
            rng = np.random.RandomState(rooms)
            start = paddle.to_tensor(
                rng.uniform(8, 14, [rooms]).astype("float32"), stop_gradient=False
            )
            for again in range(2):
                schedule = chain.from_iterable(repeat(t, n) for t, n in plan)
                try:
                    trace, energy, reached = run(pid, start, schedule, **options)
                except OverflowError as e:
                    records.append((type(e).__name__, str(e)))
                    continue
                energy.backward()
                records += [
                    trace[::5],
                    energy,
                    reached,
                    start.grad.clone(),
                    pid.saturated,
                    pid.integral,
                ]
                start.clear_grad()
                if again == 0 and rooms > 1:
                    pid.reset()
                else:
                    pid.integral = pid.integral.detach()
                    pid.previous = pid.previous.detach()
        try:
            Gains(1.0, -0.5)
        except ValueError as e:
            records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def lifts_dispatched_by_cost(convert):
    """Two or more lifts, a learned cost for who takes which call, SCAN order within each lift."""

    Direction = IntEnum("Direction", {"DOWN": -1, "IDLE": 0, "UP": 1})

    @dataclass
    class Lift:
        floor: int
        stops: set = field(default_factory=set)
        heading: Direction = Direction.IDLE
        travelled: int = 0

        def step(self):
            if self.floor in self.stops:
                self.stops.discard(self.floor)
                return self.floor
            if not self.stops:
                self.heading = Direction.IDLE
                return None
            ahead = [s for s in self.stops if (s - self.floor) * self.heading > 0]
            if not ahead:
                nearest = min(self.stops, key=lambda s: (abs(s - self.floor), s))
                self.heading = Direction.UP if nearest > self.floor else Direction.DOWN
            self.floor += int(self.heading)
            self.travelled += 1
            return None

        def features(self, origin):
            way = origin - self.floor
            return [
                abs(way),
                len(self.stops),
                1.0 if way * self.heading > 0 else 0.0,
                float(self.heading == 0),
            ]

    Passenger = make_dataclass("Passenger", ["arrives", "origin", "target"])

    def records_of(convert):
        def dispatch(lifts, passenger, weights, busy_limit):
            table = paddle.to_tensor(
                [lift.features(passenger.origin) for lift in lifts], dtype="float32"
            )
            cost = table @ weights
            full = paddle.to_tensor([len(lift.stops) >= busy_limit for lift in lifts])
            if full.all():
                return None, cost.min()
            choice = paddle.where(full, paddle.full_like(cost, 1e3), cost).argmin()
            return int(choice), cost[choice]

        def simulate(lifts, passengers, weights, busy_limit=3, horizon=80):
            pending = deque(sorted(passengers, key=lambda p: p.arrives))
            waiting, riding = ([[] for _ in lifts] for _ in range(2))
            expected, waits, log = paddle.zeros([]), [], []
            for now in range(horizon):
                while pending and pending[0].arrives <= now:
                    passenger = pending.popleft()
                    who, cost = dispatch(lifts, passenger, weights, busy_limit)
                    expected = expected + cost
                    if who is None:
                        passenger.arrives = now + 1
                        pending.appendleft(passenger)
                        break
                    lifts[who].stops.add(passenger.origin)
                    waiting[who].append(passenger)
                for i, lift in enumerate(lifts):
                    if (opened := lift.step()) is None:
                        continue
                    boarding = [p for p in waiting[i] if p.origin == opened]
                    leaving = [p for p in riding[i] if p.target == opened]
                    waits += [now - p.arrives for p in boarding]
                    waiting[i] = [p for p in waiting[i] if p not in boarding]
                    riding[i] = [p for p in riding[i] + boarding if p not in leaving]
                    lift.stops |= {p.target for p in boarding}
                    log.append(f"{now}: lift {i} floor {opened} +{len(boarding)} -{len(leaving)}")
                if not pending and not any(waiting) and not any(riding):
                    break
            else:
                raise TimeoutError(
                    f"{len(pending) + sum(map(len, waiting + riding))} left after {horizon} ticks"
                )
            return expected, paddle.to_tensor(waits, dtype="float32").mean(), log

        run = convert(simulate)
        records = []
        for seed, cars, people, options in [
            (0, 2, 5, {}),
            (1, 1, 3, {}),
            (2, 3, 8, {"busy_limit": 1}),
            (3, 2, 4, {"horizon": 6}),
        ]:
            rng = np.random.RandomState(seed)
            weights = paddle.to_tensor([1.0, 0.5, -0.75, -0.25], stop_gradient=False)
            lifts = [Lift(int(f)) for f in rng.randint(0, 9, cars)]
            for _ in range(2):
                trips = [rng.choice(9, 2, replace=False) for _ in range(people)]
                crowd = [Passenger(int(rng.randint(0, 6)), int(a), int(b)) for a, b in trips]
                try:
                    expected, wait, log = run(lifts, crowd, weights, **options)
                    expected.backward()
                    records += [expected, wait, log, weights.grad.clone()]
                except TimeoutError as e:
                    records.append((type(e).__name__, str(e)))
                records.append([(lift.floor, lift.heading.name, lift.travelled) for lift in lifts])
        return records

    yield from records_of(convert)


@program
def orders_matched_in_a_book(convert):
    """A limit order book with price-time priority, and traders whose quotes come from tensors of signals."""

    @dataclass(order=True)
    class Order:
        key: tuple
        owner: str = field(compare=False)
        side: str = field(compare=False)
        price: float = field(compare=False)
        size: int = field(compare=False)

    class Book:
        def __init__(self, tick=0.05):
            self.tick = tick
            self.sides = {"buy": [], "sell": []}
            self.clock = count()
            self.trades = []

        def best(self, side):
            return self.sides[side][0].price if self.sides[side] else None

        def mid(self, default):
            prices = [p for p in map(self.best, self.sides) if p is not None]
            return sum(prices) / len(prices) if prices else default

        def submit(self, owner, side, price, size):
            if size <= 0:
                raise ValueError(f"{owner}: size {size}")
            price = round(round(price / self.tick) * self.tick, 4)
            other = "sell" if side == "buy" else "buy"
            crosses = (lambda p: p <= price) if side == "buy" else (lambda p: p >= price)
            filled = []
            while size > 0 and self.sides[other] and crosses(self.sides[other][0].price):
                resting = self.sides[other][0]
                amount = min(size, resting.size)
                filled.append((resting.owner, resting.price, amount))
                size -= amount
                resting.size -= amount
                if resting.size == 0:
                    heapq.heappop(self.sides[other])
            if size:
                sign = -1 if side == "buy" else 1
                heapq.heappush(
                    self.sides[side],
                    Order((sign * price, next(self.clock)), owner, side, price, size),
                )
            self.trades.extend(filled)
            return filled

    def records_of(convert):
        def session(book, signals, risk, limits, start=100.0):
            """Every row of signals is one round; every trader quotes around the last mid."""
            names = list(limits)
            inventory, cash = paddle.zeros([len(names)]), paddle.zeros([len(names)])
            mids, rejected, mid = [], [], start
            for t, row in enumerate(signals):
                view = row - risk * inventory
                for i, name in enumerate(names):
                    if view[i].abs() < 0.1:
                        continue
                    side = "buy" if view[i] > 0 else "sell"
                    size = int(paddle.clip(view[i].abs() * 10, max=limits[name]))
                    try:
                        fills = book.submit(name, side, mid + float(view[i]), size)
                    except ValueError as e:
                        rejected.append(f"t={t} {e}")
                        continue
                    for owner, price, amount in fills:
                        change = amount if side == "buy" else -amount
                        for who, n in ((i, change), (names.index(owner), -change)):
                            inventory[who] += n
                            cash[who] -= n * price
                mid = book.mid(mid)
                mids.append(mid)
            wealth = cash + inventory * mid
            return {
                "inventory": inventory,
                "wealth": wealth,
                "mids": [round(m, 3) for m in mids],
                "rejected": rejected,
            }

        run = convert(session)
        records = []
        for seed, rounds, limits, tick in [
            (0, 6, {"ann": 5, "bob": 8, "cy": 3}, 0.05),
            (1, 9, {"ann": 2, "bob": 0}, 0.25),
            (2, 4, {"maker": 10, "a": 4, "b": 4, "c": 1}, 0.01),
        ]:
            rng = np.random.RandomState(seed)
            book = Book(tick)
            risk = paddle.to_tensor(0.02)
            for part in range(2):
                signals = paddle.to_tensor(rng.randn(rounds, len(limits)).astype("float32"))
                records.append(run(book, signals, risk, limits, start=book.mid(50.0)))
                records.append([len(book.trades), book.best("buy"), book.best("sell")])
                risk = risk * 2
            records.append(book.trades[:3])
        records.append(run(Book(), paddle.zeros([2, 1]), risk, {"solo": 1}))
        return records

    yield from records_of(convert)


@program
def a_ball_with_bounce_events(convert):
    """An RK4 integrator with event detection by bisection: bouncing balls, a pendulum hitting a wall, a tank."""

    class Action(Enum):
        STOP = auto()
        CONTINUE = auto()

    Event = namedtuple("Event", "name function direction reaction")
    Hit = namedtuple("Hit", "name time state")

    class StepLimit(RuntimeError): ...

    def records_of(convert):
        def rk4(f, t, y, h):
            k1 = f(t, y)
            k2 = f(t + h / 2, y + h / 2 * k1)
            k3 = f(t + h / 2, y + h / 2 * k2)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))

        def crosses(before, after, direction):
            if direction > 0:
                return (before < 0).logical_and(after >= 0)
            if direction < 0:
                return (before > 0).logical_and(after <= 0)
            return (before * after < 0).logical_or(after == 0)

        def locate(f, event, t, y, h, rounds):
            low, high, start = 0.0, h, event.function(t, y)
            for _ in range(rounds):
                middle = (low + high) / 2
                after = event.function(t + middle, rk4(f, t, y, middle))
                low, high = (middle, high) if start * after > 0 else (low, middle)
            return high

        def integrate(f, y, end, h=0.1, events=(), limit=60, rounds=12):
            """Returns the final time and state, the trajectory and the events that happened."""
            t, steps, trajectory, hits = 0.0, 0, [y], []
            while t < end - 1e-9:
                if steps >= limit:
                    raise StepLimit(f"{limit} steps used up at t={t:.3f}")
                steps += 1
                step = min(h, end - t)
                new = rk4(f, t, y, step)
                fired = None
                for event in events:
                    if crosses(
                        event.function(t, y), event.function(t + step, new), event.direction
                    ):
                        when = locate(f, event, t, y, step, rounds)
                        if fired is None or when < fired[1]:
                            fired = (event, when)
                if fired is not None:
                    event, step = fired
                    new = rk4(f, t, y, step)
                    hits.append(Hit(event.name, t + step, new))
                    new, action = event.reaction(new)
                    if action is Action.STOP:
                        return t + step, new, trajectory + [new], hits
                t, y = t + step, new
                trajectory.append(y)
            return t, y, trajectory, hits

        run = convert(integrate)

        def ball(bounce, stop_below):
            def reaction(y):
                v = -bounce * y[1]
                return paddle.stack(
                    [y[0] + 1e-3, v]
                ), Action.STOP if v < stop_below else Action.CONTINUE

            return (lambda t, y: paddle.stack([y[1], -9.81 + 0 * y[0]])), [
                Event("floor", lambda t, y: y[0], -1, reaction)
            ]

        def flip(y):
            return paddle.stack([y[0], -y[1]]), Action.CONTINUE

        pendulum = lambda t, y: paddle.stack([y[1], -4 * paddle.sin(y[0])])
        walls = [
            Event("left", lambda t, y: y[0] + 0.5, -1, flip),
            Event("peak", lambda t, y: y[1], 0, lambda y: (y, Action.CONTINUE)),
        ]
        cases = [
            (*ball(0.8, 0.5), [1.0, 0.0], 1.5, {}),
            (*ball(0.5, 2.5), [2.0, 1.0], 4.0, {"h": 0.2}),
            (pendulum, walls, [0.9, 0.0], 2.0, {"rounds": 6}),
            (lambda t, y: -y.sqrt() * (1 + t), [], [4.0], 0.5, {}),
            (*ball(0.9, 0.0), [0.3, 0.0], 9.0, {"limit": 15}),
        ]
        records = []
        for f, events, start, end, options in cases:
            y0 = paddle.to_tensor(start, stop_gradient=False)
            try:
                t, y, trajectory, hits = run(f, y0, end, events=events, **options)
            except StepLimit as e:
                records.append((type(e).__name__, str(e)))
                continue
            y.sum().backward()
            records += [round(t, 4), y, len(trajectory), trajectory[-1], y0.grad]
            records.append([(h.name, round(h.time, 3), h.state) for h in hits])
        return records

    yield from records_of(convert)


@program
def bandits_with_linear_bounds(convert):
    """LinUCB with one ridge regression per arm, and an epsilon-greedy rival, on a simulated news feed."""

    class Policy(Enum):
        UCB = "ucb"
        GREEDY = "greedy"
        ROUND_ROBIN = "round_robin"

    class Arm:
        def __init__(self, name, dim, ridge=1.0):
            self.name = name
            self.gram = paddle.eye(dim) * ridge
            self.moment = paddle.zeros([dim])
            self.pulls = 0

        def theta(self):
            return paddle.linalg.solve(self.gram, self.moment.unsqueeze(-1)).squeeze(-1)

        def score(self, context, alpha):
            mean = paddle.dot(self.theta(), context)
            if alpha == 0 or self.pulls == 0:
                return mean if alpha == 0 else mean + 10.0 * alpha
            spread = paddle.dot(
                context, paddle.linalg.solve(self.gram, context.unsqueeze(-1)).squeeze(-1)
            )
            return mean + alpha * spread.clip(min=0).sqrt()

        def update(self, context, reward):
            self.gram = self.gram + paddle.outer(context, context)
            self.moment = self.moment + reward * context
            self.pulls += 1

    def records_of(convert):
        class Bandit:
            def __init__(self, names, dim, policy, alpha=0.5):
                if len(set(names)) != len(names):
                    raise KeyError(f"duplicate arms in {sorted(names)}")
                self.arms = {n: Arm(n, dim) for n in names}
                self.policy = policy
                self.alpha = alpha
                self.clock = 0

            def choose(self, context):
                names = list(self.arms)
                self.clock += 1
                if self.policy is Policy.ROUND_ROBIN:
                    return names[self.clock % len(names)]
                alpha = self.alpha if self.policy is Policy.UCB else 0
                scores = paddle.stack([arm.score(context, alpha) for arm in self.arms.values()])
                return names[int(scores.argmax())]

        def play(bandit, contexts, truth):
            """Returns the total regret and what was shown how often."""
            regret = paddle.zeros([])
            shown = Counter()
            history = []
            for context in contexts:
                rewards = paddle.matmul(truth, context)
                name = bandit.choose(context)
                index = list(bandit.arms).index(name)
                got = rewards[index]
                bandit.arms[name].update(context, got)
                gap = rewards.max() - got
                if gap > 0.05:
                    regret = regret + gap
                    history.append(f"{bandit.clock}:{name}")
                shown[name] += 1
            return regret, shown, history

        run = convert(play)
        records = []
        rng = np.random.RandomState(3)
        for policy in Policy:
            for rounds, names in [(12, ["sport", "arts", "tech"]), (7, ["a", "b"])]:
                dim = len(names) + 1
                truth = paddle.to_tensor(rng.uniform(-1, 1, [len(names), dim]).astype("float32"))
                contexts = paddle.to_tensor(rng.uniform(-1, 1, [rounds, dim]).astype("float32"))
                bandit = Bandit(names, dim, policy)
                for half in (contexts[: rounds // 2], contexts[rounds // 2 :]):
                    regret, shown, history = run(bandit, half, truth)
                    records.append(
                        {
                            "policy": policy.value,
                            "regret": regret,
                            "shown": dict(shown),
                            "misses": history,
                        }
                    )
                records.append([arm.theta() for arm in bandit.arms.values()])
                records.append({n: a.pulls for n, a in bandit.arms.items()})
        try:
            Bandit(["x", "x"], 2, Policy.UCB)
        except KeyError as e:
            records.append((type(e).__name__, str(e)))
        try:
            run(Bandit(["x", "y"], 3, Policy.UCB), paddle.ones([2, 3]), paddle.ones([1, 3]))
        except Exception as e:
            records.append(type(e).__name__)
        return records

    yield from records_of(convert)
