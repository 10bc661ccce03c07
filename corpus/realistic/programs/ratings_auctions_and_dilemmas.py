"""Players, bidders and policies with books kept about them."""

import collections
import enum
import heapq
import itertools
from dataclasses import dataclass, field
from typing import Dict, List

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def ratings_by_elo_and_glicko(convert):
    """A season of matches: Elo with K by experience, Glicko-2 volatility by iteration."""

    class Elo:
        def __init__(self, names, start=1500.0):
            self.index = {name: i for i, name in enumerate(names)}
            self.rating = paddle.full([len(names)], start)
            self.games = collections.Counter()

        def k_factor(self, name):
            i = self.index[name]
            if self.games[name] < 2:
                return 40.0
            if self.rating[i] >= 1530:
                return 10.0
            return 20.0

        @convert
        def play(self, home, away, score, advantage=30.0):
            a, b = self.index[home], self.index[away]
            gap = self.rating[b] - self.rating[a] - advantage
            expected = 1.0 / (1.0 + 10.0 ** (gap / 400.0))
            surprise = (score - expected).abs()
            ka, kb = self.k_factor(home), self.k_factor(away)
            self.rating[a] = self.rating[a] + ka * (score - expected)
            self.rating[b] = self.rating[b] - kb * (score - expected)
            self.games.update([home, away])
            return expected, "upset" if surprise > 0.6 else "as expected"

        def table(self):
            names = sorted(self.index, key=lambda n: -float(self.rating[self.index[n]]))
            return [
                f"{n}: {float(self.rating[self.index[n]]):.1f} ({self.games[n]})" for n in names
            ]

    @convert
    def glicko_volatility(delta, phi, v, sigma, tau=0.5, eps=1e-4):
        a = paddle.log(sigma**2)

        def f(x):
            ex = paddle.exp(x)
            top = ex * (delta**2 - phi**2 - v - ex)
            return top / (2 * (phi**2 + v + ex) ** 2) - (x - a) / tau**2

        left = a
        if delta**2 > phi**2 + v:
            right = paddle.log(delta**2 - phi**2 - v)
        else:
            k = 1
            while f(a - k * tau) < 0:
                k += 1
            right = a - k * tau
        fl, fr = f(left), f(right)
        rounds = 0
        while (right - left).abs() > eps:
            c = left + (left - right) * fl / (fr - fl)
            fc = f(c)
            if fc * fr <= 0:
                left, fl = right, fr
            else:
                fl = fl / 2
            right, fr = c, fc
            rounds += 1
            if rounds > 30:
                raise ArithmeticError("volatility does not settle")
        return paddle.exp(left / 2), rounds

    elo = Elo(["ada", "bob", "cyd"])
    season = [("ada", "bob", 1.0), ("bob", "cyd", 0.5), ("cyd", "ada", 0.0), ("ada", "cyd", 1.0)]
    for home, away, score in season + season[::-1]:
        yield elo.play(home, away, paddle.to_tensor(score))
    yield elo.table(), elo.rating
    for delta, phi, v, sigma in (
        (-0.4834, 1.1513, 1.7785, 0.06),
        (3.0, 0.5, 0.7, 0.06),
        (0.1, 0.3, 0.9, 0.2),
    ):
        args = [paddle.to_tensor(value) for value in (delta, phi, v, sigma)]
        yield glicko_volatility(*args)
    yield attempt(lambda: elo.play("ada", "dan", paddle.to_tensor(1.0)))


@program
def skills_by_moment_matching(convert):
    """TrueSkill for two teams with draws: truncated Gaussians, uncertainty, quality of a match."""

    @dataclass
    class Player:
        mu: paddle.Tensor
        sigma: paddle.Tensor
        history: List[str] = field(default_factory=list)

        @property
        def exposed(self):
            return self.mu - 3 * self.sigma

    class Outcome(enum.Enum):
        WIN = 1
        DRAW = 0
        LOSS = -1

    def pdf(x):
        return paddle.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    def cdf(x):
        return 0.5 * (1 + paddle.erf(x / np.sqrt(2)))

    def v_win(t, eps):
        denominator = cdf(t - eps)
        if denominator < 1e-5:
            return -t + eps
        return pdf(t - eps) / denominator

    def v_draw(t, eps):
        a = t.abs()
        denominator = cdf(eps - a) - cdf(-eps - a)
        if denominator < 1e-5:
            value = -a + eps
        else:
            value = (pdf(-eps - a) - pdf(eps - a)) / denominator
        return -value if t < 0 else value

    def w_draw(t, eps):
        a = t.abs()
        denominator = cdf(eps - a) - cdf(-eps - a)
        if denominator < 1e-5:
            return paddle.ones_like(a)
        v = v_draw(a, eps)
        return v**2 + ((eps - a) * pdf(eps - a) + (eps + a) * pdf(eps + a)) / denominator

    class Environment:
        def __init__(self, beta=4.2, tau=0.08, draw=0.7):
            self.beta, self.tau, self.draw = beta, tau, draw

        def new(self, mu=25.0, sigma=8.3):
            return Player(paddle.to_tensor(mu), paddle.to_tensor(sigma))

        @convert
        def rate(self, left, right, outcome):
            if outcome is Outcome.LOSS:
                self.rate(right, left, Outcome.WIN)
                return None
            everyone = left + right
            c2 = sum(p.sigma**2 + self.tau**2 + self.beta**2 for p in everyone)
            c = c2.sqrt()
            t = (sum(p.mu for p in left) - sum(p.mu for p in right)) / c
            eps = self.draw / c
            if outcome is Outcome.WIN:
                v = v_win(t, eps)
                w = v * (v + t - eps)
            else:
                v, w = v_draw(t, eps), w_draw(t, eps)
            w = w.clip(0.0, 1.0)
            for sign, team in ((1, left), (-1, right)):
                for p in team:
                    s2 = p.sigma**2 + self.tau**2
                    p.mu = p.mu + sign * s2 / c * v
                    p.sigma = (s2 * (1 - s2 / c2 * w)).sqrt()
                    p.history.append(outcome.name if sign > 0 else f"not {outcome.name}")
            return t

        @convert
        def quality(self, a, b):
            total = 2 * self.beta**2 + a.sigma**2 + b.sigma**2
            score = (2 * self.beta**2 / total).sqrt() * paddle.exp(
                -((a.mu - b.mu) ** 2) / (2 * total)
            )
            if score > 0.5:
                return score, "good"
            elif score > 0.2:
                return score, "fair"
            return score, "poor"

    env = Environment()
    pool = {name: env.new() for name in "abcd"}
    games = [("ab", "cd", Outcome.WIN), ("ac", "bd", Outcome.DRAW), ("a", "b", Outcome.LOSS)]
    for left, right, outcome in games * 2:
        yield env.rate([pool[n] for n in left], [pool[n] for n in right], outcome)
        yield env.quality(pool["a"], pool["d"])
    yield {n: (p.mu, p.sigma, p.exposed, p.history) for n, p in pool.items()}
    strong = env.new(60.0, 1.0)
    yield env.rate([pool["a"]], [strong], Outcome.WIN), pool["a"].mu, env.quality(pool["a"], strong)


@program
def slots_sold_with_paced_budgets(convert):
    """Second-price auctions for slots, reserves, budgets that pace the bids, a ledger of the day."""

    @dataclass
    class Campaign:
        name: str
        bid: float
        budget: float
        spent: paddle.Tensor = None
        pacing: paddle.Tensor = None
        wins: int = 0

        def __post_init__(self):
            self.spent = paddle.zeros([])
            self.pacing = paddle.ones([])

    class Exchange:
        def __init__(self, campaigns, slots=2, reserve=0.2, positions=(1.0, 0.6)):
            self.campaigns = campaigns
            self.slots, self.reserve = slots, reserve
            self.positions = paddle.to_tensor(positions)
            self.ledger = collections.defaultdict(list)

        @convert
        def auction(self, quality, user):
            bids = paddle.stack([c.bid * c.pacing for c in self.campaigns])
            alive = paddle.stack([c.spent < c.budget for c in self.campaigns])
            scores = paddle.where(alive, bids * quality, paddle.zeros_like(bids))
            order = scores.argsort(descending=True)
            revenue = paddle.zeros([])
            for slot in range(self.slots):
                winner = int(order[slot])
                if scores[winner] < self.reserve:
                    break
                following = scores[order[slot + 1]]
                price = paddle.maximum(following, paddle.to_tensor(self.reserve)) / quality[winner]
                charge = price * self.positions[slot]
                campaign = self.campaigns[winner]
                campaign.spent = campaign.spent + charge
                campaign.wins += 1
                self.ledger[campaign.name].append((user, slot, charge))
                revenue += charge
            return revenue

        @convert
        def pace(self, elapsed, step=0.3):
            notes = []
            for c in self.campaigns:
                target = c.budget * elapsed
                if c.spent > target * 1.1:
                    c.pacing = paddle.clip(c.pacing * (1 - step), min=0.1)
                    notes.append(f"{c.name} slows to {float(c.pacing):.2f}")
                elif c.spent < target * 0.9:
                    c.pacing = paddle.clip(c.pacing * (1 + step), max=1.0)
            return notes

    campaigns = [
        Campaign("shoes", 1.2, 2.0),
        Campaign("books", 0.9, 1.5),
        Campaign("tea", 0.7, 3.0),
    ]
    exchange = Exchange(campaigns)
    rng = np.random.RandomState(15)
    for hour in range(6):
        quality = paddle.to_tensor(rng.uniform(0.2, 1.0, 3).astype("float32"))
        yield exchange.auction(quality, f"user{hour}")
        yield exchange.pace((hour + 1) / 6)
    yield {c.name: (c.spent, c.pacing, c.wins) for c in campaigns}
    yield dict(exchange.ledger)


@program
def policies_judged_offline(convert):
    """Logged bandit feedback: IPS, clipped, self-normalised and doubly robust, with a bootstrap."""

    class Logger:
        def __init__(self, actions, seed):
            self.rng = np.random.RandomState(seed)
            self.actions = actions
            self.rows = []

        def log(self, context, propensities):
            action = self.rng.choice(self.actions, p=propensities)
            mean = 1 / (1 + np.exp(-context[action % len(context)]))
            reward = float(self.rng.rand() < mean)
            self.rows.append((context, action, reward, propensities[action]))

        def tensors(self):
            x, a, r, p = zip(*self.rows)
            return (
                paddle.to_tensor(np.stack(x).astype("float32")),
                paddle.to_tensor(np.array(a)),
                paddle.to_tensor(np.array(r, dtype="float32")),
                paddle.to_tensor(np.array(p, dtype="float32")),
            )

    class RewardModel(nn.Layer):
        def __init__(self, dim, actions):
            super().__init__()
            self.heads = nn.Linear(dim, actions)

        def forward(self, x):
            return F.sigmoid(self.heads(x))

    @convert
    def fit_model(model, x, a, r, rate=0.5, rounds=10, tolerance=1e-3):
        last = None
        for used in range(1, rounds + 1):
            predicted = paddle.take_along_axis(model(x), a.unsqueeze(1), axis=1).squeeze(1)
            loss = F.binary_cross_entropy(predicted, r)
            grads = paddle.grad(loss, model.parameters())
            with paddle.no_grad():
                for p, g in zip(model.parameters(), grads):
                    p.set_value(p - rate * g)
            if last is not None and last - loss < tolerance:
                break
            last = loss
        return loss, used

    @convert
    def estimate(policy, model, x, a, r, p, clip=None):
        probs = policy(x)
        chosen = paddle.take_along_axis(probs, a.unsqueeze(1), axis=1).squeeze(1)
        weights = chosen / p
        if clip is not None:
            cut = (weights > clip).astype("int64").sum()
            weights = paddle.clip(weights, max=clip)
        else:
            cut = 0
        ess = weights.sum() ** 2 / (weights**2).sum()
        if ess < 2:
            raise ValueError(f"effective sample size of {float(ess):.2f}")
        q = model(x)
        direct = (probs * q).sum(axis=1)
        qa = paddle.take_along_axis(q, a.unsqueeze(1), axis=1).squeeze(1)
        return {
            "ips": (weights * r).mean(),
            "snips": (weights * r).sum() / weights.sum(),
            "dm": direct.mean(),
            "dr": (direct + weights * (r - qa)).mean(),
            "ess": ess,
            "cut": cut,
        }

    @convert
    def bootstrap(values, picks, level=0.8):
        means = []
        for pick in picks:
            means.append(values[pick].mean())
        ordered = paddle.stack(means).sort()
        tail = int((1 - level) / 2 * len(picks))
        return ordered[tail], ordered[-1 - tail]

    paddle.seed(6)
    rng = np.random.RandomState(6)
    logger = Logger(3, 8)
    for _ in range(16):
        weights = rng.dirichlet(np.ones(3)) * 0.7 + 0.1
        logger.log(rng.randn(2), weights / weights.sum())
    data = logger.tensors()
    model = RewardModel(2, 3)
    yield fit_model(model, *data[:3])
    policies = {
        "uniform": lambda x: paddle.full([x.shape[0], 3], 1 / 3),
        "greedy": lambda x: F.one_hot(model(x).argmax(axis=1), 3),
        "soft": lambda x: F.softmax(4 * model(x), axis=-1),
    }
    for (name, policy), clip in itertools.product(policies.items(), (None, 2.0)):
        yield name, estimate(policy, model, *data, clip=clip)
    picks = [paddle.to_tensor(rng.randint(0, 16, 16)) for _ in range(10)]
    yield bootstrap(data[2], picks)
    yield attempt(lambda: estimate(policies["greedy"], model, *(d[:2] for d in data)))


@program
def dilemma_in_a_tournament(convert):
    """Strategies as classes, noise by given draws, scores in a heap, shares that replicate."""

    PAYOFF = {("C", "C"): (3, 3), ("C", "D"): (0, 5), ("D", "C"): (5, 0), ("D", "D"): (1, 1)}

    class Strategy:
        registry: Dict[str, type] = {}

        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__(**kwargs)
            Strategy.registry[cls.__name__] = cls

        def __init__(self):
            self.mine, self.theirs = [], []

        def decide(self):
            raise NotImplementedError

        def record(self, mine, theirs):
            self.mine.append(mine)
            self.theirs.append(theirs)

    class Always(Strategy):
        def decide(self):
            return "C"

    class Never(Strategy):
        def decide(self):
            return "D"

    class TitForTat(Strategy):
        def decide(self):
            return self.theirs[-1] if self.theirs else "C"

    class Pavlov(Strategy):
        def decide(self):
            if not self.mine:
                return "C"
            return "C" if self.mine[-1] == self.theirs[-1] else "D"

    @convert
    def match(first, second, draws, noise=0.1):
        a, b = first(), second()
        scores = [0, 0]
        for draw in draws:
            moves = [a.decide(), b.decide()]
            if draw < noise:
                moves[0] = "D" if moves[0] == "C" else "C"
            a.record(*moves)
            b.record(*moves[::-1])
            for k, points in enumerate(PAYOFF[tuple(moves)]):
                scores[k] += points
        return scores, "".join(a.mine)

    @convert
    def replicate(shares, matrix, mutation=0.01, limit=30, tolerance=1e-3):
        history = []
        for generation in range(limit):
            fitness = matrix @ shares
            mean = (shares * fitness).sum()
            new = shares * fitness / mean
            new = (1 - mutation) * new + mutation / shares.shape[0]
            extinct = new < 0.02
            if extinct.any():
                new = paddle.where(extinct, paddle.zeros_like(new), new)
                new = new / new.sum()
            moved = (new - shares).abs().max()
            shares = new
            history.append(mean)
            if moved < tolerance:
                return shares, paddle.stack(history), f"settled after {generation + 1}"
        return shares, paddle.stack(history), "still moving"

    rng = np.random.RandomState(18)
    names = sorted(Strategy.registry)
    matrix = np.zeros((len(names), len(names)), dtype="float32")
    board = []
    for i, j in itertools.combinations_with_replacement(range(len(names)), 2):
        draws = paddle.to_tensor(rng.rand(6).astype("float32"))
        scores, moves = match(Strategy.registry[names[i]], Strategy.registry[names[j]], draws)
        matrix[i, j], matrix[j, i] = scores[0] / 6, scores[1] / 6
        heapq.heappush(board, (-max(scores), names[i], names[j], moves))
    yield [heapq.heappop(board) for _ in range(3)]
    table = paddle.to_tensor(matrix)
    yield replicate(paddle.full([4], 0.25), table)
    yield replicate(paddle.to_tensor([0.05, 0.85, 0.05, 0.05]), table, limit=8)
