"""Event-driven simulations and service logic: elevators, rate limits, retries, networks of queues."""

import enum
import math
from collections import namedtuple
from dataclasses import dataclass, field
from typing import List

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def token_bucket_rate_limiter(convert):
    """A token bucket per client: refilled by elapsed time, bursts are bounded, refusals counted."""

    class Bucket:
        def __init__(self, rate, burst):
            self.rate = rate
            self.burst = burst
            self.tokens = paddle.to_tensor(float(burst))
            self.last = paddle.to_tensor(0.0)
            self.refused = paddle.to_tensor(0)

        def refill(self, now):
            elapsed = paddle.clip(now - self.last, min=0.0)
            self.tokens = paddle.minimum(
                self.tokens + elapsed * self.rate, paddle.to_tensor(float(self.burst))
            )
            self.last = now

        @convert
        def allow(self, now, cost=1.0):
            self.refill(now)
            if self.tokens >= cost:
                self.tokens = self.tokens - cost
                return True
            self.refused += 1
            return False

        @convert
        def wait_for(self, now, cost):
            self.refill(now)
            missing = cost - self.tokens
            if missing <= 0:
                return paddle.to_tensor(0.0)
            return missing / self.rate

    clients = {"a": Bucket(1.0, 2), "b": Bucket(0.5, 4)}
    for at, name, cost in (
        (0.0, "a", 1),
        (0.1, "a", 1),
        (0.2, "a", 1),
        (1.5, "a", 1),
        (1.5, "b", 3),
    ):
        bucket = clients[name]
        yield bucket.allow(paddle.to_tensor(at), cost=float(cost)), bucket.tokens, bucket.refused
    yield [b.wait_for(paddle.to_tensor(2.0), 3.0) for b in clients.values()]
    yield clients


@program
def elevator_by_scan(convert):
    """One elevator, calls on floors, the SCAN discipline; each step moves or opens the door."""

    class Direction(enum.IntEnum):
        DOWN = -1
        IDLE = 0
        UP = 1

    @dataclass
    class Elevator:
        floors: int
        at: paddle.Tensor
        direction: paddle.Tensor
        calls: paddle.Tensor
        served: List[paddle.Tensor] = field(default_factory=list)
        travelled: int = 0

    @convert
    def step(lift):
        here = lift.at
        if lift.calls.sum() == 0:
            lift.direction = paddle.to_tensor(int(Direction.IDLE))
            return "idle"
        if lift.calls[here] > 0:
            lift.calls[here] = 0
            lift.served.append(here)
            return "open"
        index = paddle.arange(lift.floors)
        above = paddle.logical_and(lift.calls > 0, index > here).any()
        below = paddle.logical_and(lift.calls > 0, index < here).any()
        if lift.direction >= 0 and above:
            lift.direction = paddle.to_tensor(1)
        elif below:
            lift.direction = paddle.to_tensor(-1)
        else:
            lift.direction = paddle.to_tensor(1)
        lift.at = here + lift.direction
        lift.travelled += 1
        return "move"

    lift = Elevator(6, paddle.to_tensor(2), paddle.to_tensor(1), paddle.zeros([6], dtype="int64"))
    arrivals = {0: [4], 1: [0], 3: [5], 8: [3]}
    for tick in range(16):
        for floor in arrivals.get(tick, ()):
            lift.calls[floor] = 1
        yield step(lift), lift.at, lift.direction, lift.travelled
    yield lift.served


@program
def retries_with_backoff_and_breaker(convert):
    """A client with exponential backoff and a circuit breaker over a recorded trace of failures."""

    class BreakerOpen(Exception):
        def __init__(self, until):
            super().__init__(f"open for {float(until):.2f} s")
            self.until = until

    class Breaker:
        def __init__(self, threshold=3, cooldown=5.0):
            self.threshold, self.cooldown = threshold, cooldown
            self.failures = paddle.zeros([], dtype="int64")
            self.open_until = paddle.to_tensor(-1.0)

        def check(self, now):
            if now < self.open_until:
                raise BreakerOpen(self.open_until - now)

        def record(self, ok, now):
            if ok:
                self.failures = paddle.zeros_like(self.failures)
            else:
                self.failures = self.failures + 1
                if self.failures >= self.threshold:
                    self.open_until = now + self.cooldown

    @convert
    def call(breaker, outcomes, now, attempts=4, base=0.1, factor=2.0):
        breaker.check(now)
        delay = paddle.to_tensor(base)
        waited = paddle.to_tensor(0.0)
        for n in range(attempts):
            ok = outcomes[n]
            breaker.record(ok, now + waited)
            if ok:
                return n + 1, waited
            waited = waited + delay
            delay = paddle.clip(delay * factor, max=1.0)
        return -1, waited

    breaker = Breaker()
    traces = [[1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 1]]
    for second, trace in enumerate(traces):
        now = paddle.to_tensor(float(second * 2))
        result = attempt(lambda: call(breaker, paddle.to_tensor(trace, dtype="bool"), now))
        yield result, breaker.failures, breaker.open_until
    yield attempt(
        lambda: call(breaker, paddle.to_tensor(traces[1], dtype="bool"), paddle.to_tensor(20.0))
    )


Event = namedtuple("Event", "time kind who")


@program
def tandem_queue_by_event_list(convert):
    """Two stations in a row, with finite room; events in arrays, the earliest is next."""

    ARRIVE, DONE_ONE, DONE_TWO = range(3)

    @convert
    def simulate(arrivals, first, second, room):
        never = paddle.to_tensor(math.inf)
        clock = paddle.to_tensor(0.0)
        events = paddle.stack([arrivals[0], never, never])
        arrived, queue, middle, left, lost = 0, 0, 0, 0, 0
        log = []
        while not bool((events == math.inf).all()):
            kind = paddle.argmin(events)
            clock = events[kind]
            if kind == ARRIVE:
                arrived += 1
                if queue < room:
                    queue += 1
                    if queue == 1:
                        events[DONE_ONE] = clock + first[arrived - 1]
                else:
                    lost += 1
                if arrived < arrivals.shape[0]:
                    events[ARRIVE] = arrivals[arrived]
                else:
                    events[ARRIVE] = math.inf
            elif kind == DONE_ONE:
                queue -= 1
                middle += 1
                if middle == 1:
                    events[DONE_TWO] = clock + second[left]
                events[DONE_ONE] = clock + first[arrived - 1] if queue > 0 else never
            else:
                middle -= 1
                left += 1
                log.append(clock)
                events[DONE_TWO] = clock + second[left] if middle > 0 else never
        return clock, left, lost, log

    rng = np.random.RandomState(5)
    for n, room in ((4, 3), (6, 2), (6, 1)):
        arrivals = paddle.to_tensor(np.cumsum(rng.exponential(1.0, n)).astype("float32"))
        first = paddle.to_tensor(rng.exponential(1.2, n).astype("float32"))
        second = paddle.to_tensor(rng.exponential(0.8, n + 1).astype("float32"))
        yield simulate(arrivals, first, second, room)


@program
def inventory_with_orders_in_transit(convert):
    """An (s, S) policy with lead times: orders in transit are a list that shifts every day."""

    @dataclass
    class Policy:
        low: float
        high: float
        lead: int = 2
        hold: float = 0.1
        short: float = 1.0
        fixed: float = 2.0

    @convert
    def run(policy, demand, start):
        stock = start
        transit = [paddle.zeros([]) for _ in range(policy.lead)]
        cost = paddle.zeros([])
        orders = 0
        for day in range(demand.shape[0]):
            stock = stock + transit.pop(0)
            sold = paddle.minimum(stock, demand[day])
            missed = demand[day] - sold
            stock = stock - sold
            cost = cost + policy.hold * stock + policy.short * missed
            position = stock + sum(transit)
            if position <= policy.low:
                amount = policy.high - position
                cost = cost + policy.fixed
                orders += 1
            else:
                amount = paddle.zeros([])
            transit.append(amount)
        return {"cost": cost, "orders": orders, "stock": stock, "transit": transit}

    rng = np.random.RandomState(11)
    demand = paddle.to_tensor(rng.poisson(3, 10).astype("float32"))
    for policy in (
        Policy(4.0, 12.0),
        Policy(2.0, 6.0, lead=1),
        Policy(8.0, 20.0, lead=3, fixed=5.0),
    ):
        start = paddle.to_tensor(6.0, stop_gradient=False)
        out = run(policy, demand, start)
        out["cost"].backward()
        yield out, start.grad
    yield run(Policy(4.0, 12.0), demand[:4], paddle.to_tensor(0.0))
