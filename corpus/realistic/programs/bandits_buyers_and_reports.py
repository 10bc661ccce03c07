"""Agents that decide, people who buy, graphs that are walked, and reports on how well it went."""

import heapq
import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from enum import Enum

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def bandits_of_three_policies(convert):
    """Three bandit policies from a base class, each run against the same rewards."""

    class Policy(ABC):
        def __init__(self, arms):
            self.counts = paddle.zeros([arms])
            self.values = paddle.zeros([arms])
            self.t = 0

        @abstractmethod
        def choose(self): ...

        def learn(self, arm, reward):
            self.t += 1
            self.counts[arm] += 1
            self.values[arm] += (reward - self.values[arm]) / self.counts[arm]

    class Greedy(Policy):
        def choose(self):
            return self.values.argmax()

    class UCB(Policy):
        def choose(self):
            untried = self.counts == 0
            if untried.any():
                return untried.astype("int64").argmax()
            bonus = paddle.sqrt(2 * math.log(self.t + 1) / self.counts)
            return (self.values + bonus).argmax()

    class Optimistic(Greedy):
        def __init__(self, arms, initial=2.0):
            super().__init__(arms)
            self.values = self.values + initial

    def play(policy, rewards):
        total = paddle.zeros([])
        chosen = []
        for t in range(rewards.shape[0]):
            arm = policy.choose()
            reward = rewards[t, arm]
            policy.learn(arm, reward)
            total += reward
            chosen.append(arm)
        regret = rewards.sum(axis=0).max() - total
        return regret, paddle.stack(chosen)

    run = convert(play)
    rng = np.random.RandomState(0)
    for kind in (Greedy, UCB, Optimistic):
        policy = kind(3)
        for _ in range(2):
            rewards = rng.rand(4, 3).astype("float32")
            yield kind.__name__, run(policy, T(rewards)), policy.counts, policy.values, policy.t


@program
def clipped_policy_updates(convert):
    """GAE over a rollout with terminations, then PPO epochs that stop when the KL grows."""

    class Rollout:
        def __init__(self):
            self.data = defaultdict(list)

        def add(self, **items):
            for k, v in items.items():
                self.data[k].append(v)

        def __getattr__(self, name):
            if name in self.data:
                return paddle.stack(self.data[name])
            raise AttributeError(name)

    paddle.seed(1)
    body = nn.Linear(3, 8)
    pi, vf = nn.Linear(8, 2), nn.Linear(8, 1)
    params = [*body.parameters(), *pi.parameters(), *vf.parameters()]
    opt = paddle.optimizer.SGD(0.5, parameters=params)

    def policy(obs):
        h = F.tanh(body(obs))
        return F.log_softmax(pi(h), -1), vf(h).squeeze(-1)

    def advantages(rewards, values, dones, last, gamma=0.9, lam=0.8):
        out = paddle.zeros_like(rewards)
        acc = paddle.zeros([])
        for t in reversed(range(rewards.shape[0])):
            following = last if t == rewards.shape[0] - 1 else values[t + 1]
            if dones[t]:
                following = paddle.zeros([])
                acc = paddle.zeros([])
            delta = rewards[t] + gamma * following - values[t]
            acc = delta + gamma * lam * acc
            out[t] = acc
        return out

    @convert
    def update(obs, actions, rewards, dones, epochs=3, clip=0.2, target_kl=0.01):
        buffer = Rollout()
        with paddle.no_grad():
            for t in range(obs.shape[0]):
                logp, value = policy(obs[t])
                buffer.add(logp=logp[actions[t]], value=value)
        adv = advantages(rewards, buffer.value, dones, paddle.zeros([]))
        returns = adv + buffer.value
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        info = {}
        for epoch in range(epochs):
            logp_all, value = policy(obs)
            logp = paddle.take_along_axis(logp_all, actions.unsqueeze(-1), -1).squeeze(-1)
            ratio = (logp - buffer.logp).exp()
            surrogate = paddle.minimum(ratio * adv, ratio.clip(1 - clip, 1 + clip) * adv)
            entropy = -(logp_all.exp() * logp_all).sum(-1).mean()
            loss = -surrogate.mean() + 0.5 * F.mse_loss(value, returns) - 0.01 * entropy
            loss.backward()
            opt.step()
            opt.clear_grad()
            kl = (buffer.logp - policy(obs)[0].gather(actions[:1], axis=1).squeeze(-1)).mean()
            info = {"epoch": epoch, "loss": loss.detach(), "kl": kl.detach()}
            if kl > target_kl:
                break
        return info

    rng = np.random.RandomState(0)
    for _ in range(3):
        obs = T(rng.randn(4, 3).astype("float32"))
        actions = T(rng.randint(0, 2, [4]))
        rewards = T(rng.rand(4).astype("float32"))
        dones = T(rng.rand(4) < 0.4)
        yield attempt(lambda: update(obs, actions, rewards, dones)), pi.bias.numpy()


@program
def sweeping_by_priority(convert):
    """Value iteration by prioritised sweeping: a heap of Bellman errors, and the greedy policy."""

    @convert
    def sweep(P, R, gamma=0.9, theta=0.05, budget=6):
        n = P.shape[0]
        V = paddle.zeros([n])
        heap = []

        def backup(s):
            return (R[s] + gamma * (P[s] @ V)).max()

        for s in range(n):
            error = (backup(s) - V[s]).abs()
            heapq.heappush(heap, (-float(error), s))
        updates = []
        while heap and len(updates) < budget:
            priority, s = heapq.heappop(heap)
            if -priority < theta:
                break
            V[s] = backup(s)
            updates.append(s)
            for q in range(n):
                if q != s and P[q, :, s].max() > 0:
                    error = float((backup(q) - V[q]).abs())
                    if error > theta:
                        heapq.heappush(heap, (-error, q))
        policy = paddle.stack([(R[s] + gamma * (P[s] @ V)).argmax() for s in range(n)])
        return V, policy, updates

    for seed in (0, 1, 2):
        rng = np.random.RandomState(seed)
        P = rng.rand(3, 2, 3).astype("float32") * (rng.rand(3, 2, 3) < 0.6)
        P = (P / (P.sum(-1, keepdims=True) + 1e-6)).astype("float32")
        R = rng.rand(3, 2).astype("float32")
        yield attempt(lambda: sweep(T(P), T(R)))


@program
def factors_and_diverse_lists(convert):
    """ALS on confidences, then lists re-ranked for diversity, with seen items left out."""

    class Recommender:
        def __init__(self, users, items, k=2, reg=0.1, alpha=5.0, seed=0):
            rng = np.random.RandomState(seed)
            self.U = T(rng.randn(users, k).astype("float32") * 0.1)
            self.V = T(rng.randn(items, k).astype("float32") * 0.1)
            self.reg, self.alpha = reg, alpha
            self.seen = defaultdict(set)

        def half(self, R, fixed):
            k = fixed.shape[1]
            gram = fixed.t() @ fixed + self.reg * paddle.eye(k)
            rows = []
            for r in R:
                conf = self.alpha * r
                A = gram + (fixed * conf.unsqueeze(1)).t() @ fixed
                b = ((1 + conf) * (r > 0).astype("float32")) @ fixed
                rows.append(paddle.linalg.solve(A, b.unsqueeze(1)).squeeze(1))
            return paddle.stack(rows)

        def fit(self, R, sweeps=3, tol=1e-2):
            for u, i in zip(*R.nonzero(as_tuple=True)):
                self.seen[int(u)].add(int(i))
            last = None
            for sweep in range(sweeps):
                self.U = self.half(R, self.V)
                self.V = self.half(R.t(), self.U)
                loss = ((R > 0).astype("float32") - self.U @ self.V.t()).square().mean()
                if last is not None and last - loss < tol * last:
                    break
                last = loss
            return sweep + 1, loss

        def recommend(self, user, n=2, trade=0.7):
            scores = self.V @ self.U[user]
            unit = F.normalize(self.V, axis=1)
            pool = [i for i in range(self.V.shape[0]) if i not in self.seen[user]]
            picked = []
            while pool and len(picked) < n:
                best, best_value = None, -float("inf")
                for i in pool:
                    closeness = max(((unit[i] * unit[j]).sum() for j in picked), default=T(0.0))
                    value = trade * scores[i] - (1 - trade) * closeness
                    if value > best_value:
                        best, best_value = i, value
                picked.append(best)
                pool.remove(best)
            return picked

    rng = np.random.RandomState(1)
    R = (rng.rand(4, 5) < 0.5).astype("float32")
    model = Recommender(4, 5)
    fit, recommend = convert(model.fit), convert(model.recommend)
    yield attempt(lambda: fit(T(R))), model.U, model.V
    yield {k: sorted(v) for k, v in model.seen.items()}
    for user in range(3):
        yield attempt(lambda: recommend(user))


@program
def report_on_a_classifier(convert):
    """A confusion matrix that grows by batch, scores by class, a threshold sweep and a table."""

    class Average(Enum):
        MICRO = "micro"
        MACRO = "macro"
        WEIGHTED = "weighted"

    class Report:
        def __init__(self, names):
            self.names = names
            self.matrix = paddle.zeros([len(names)] * 2, dtype="int64")
            self.probs, self.truth = [], []

        def update(self, logits, labels):
            pred = logits.argmax(-1)
            for t, p in zip(labels, pred):
                self.matrix[t, p] += 1
            self.probs.append(F.softmax(logits, -1))
            self.truth.append(labels)
            return (pred == labels).astype("float32").mean()

        def f1(self, average=Average.MACRO):
            m = self.matrix.astype("float32")
            tp, support, predicted = m.diag(), m.sum(1), m.sum(0)
            if average is Average.MICRO:
                return tp.sum() / m.sum()
            scores = []
            for c in range(len(self.names)):
                precision = tp[c] / predicted[c] if predicted[c] > 0 else T(0.0)
                recall = tp[c] / support[c] if support[c] else T(0.0)
                both = precision + recall
                scores.append(2 * precision * recall / both if both > 0 else both)
            scores = paddle.stack(scores)
            if average == Average.WEIGHTED:
                return (scores * support).sum() / support.sum()
            return scores.mean()

        def best_threshold(self, positive, grid=(0.2, 0.4, 0.6, 0.8)):
            p = paddle.concat(self.probs)[:, positive]
            y = paddle.concat(self.truth) == positive
            best = (T(-1.0), None)
            for threshold in grid:
                hit = p >= threshold
                tp = (hit & y).sum()
                if tp == 0:
                    continue
                j = tp / y.sum() - (hit & ~y).sum() / (~y).sum().clip(min=1)
                if j > best[0]:
                    best = (j, threshold)
            return best

        def show(self):
            lines = ["      " + " ".join(f"{n:>5s}" for n in self.names)]
            for name, row in zip(self.names, self.matrix):
                lines.append(f"{name:>5s} " + " ".join(f"{int(v):5d}" for v in row))
            print("\n".join(lines))

    report = Report(["cat", "dog", "cow"])
    update, f1 = convert(report.update), convert(report.f1)
    threshold, show = convert(report.best_threshold), convert(report.show)
    rng = np.random.RandomState(0)
    for _ in range(3):
        yield update(T(rng.randn(4, 3).astype("float32")), T(rng.randint(0, 3, [4])))
        yield report.matrix, f1(), f1(Average.MICRO), f1(Average.WEIGHTED)
        yield attempt(lambda: threshold(1))
        yield attempt(show)


@program
def shortest_paths_and_spanning_trees(convert):
    """Dijkstra with a heap and predecessors, Kruskal with union-find, on weights of a model."""

    class UnionFind:
        def __init__(self, n):
            self.parent = list(range(n))
            self.size = Counter(range(n))

        def find(self, a):
            while self.parent[a] != a:
                self.parent[a] = self.parent[self.parent[a]]
                a = self.parent[a]
            return a

        def union(self, a, b):
            a, b = self.find(a), self.find(b)
            if a == b:
                return False
            if self.size[a] < self.size[b]:
                a, b = b, a
            self.parent[b] = a
            self.size[a] += self.size[b]
            return True

    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]

    @convert
    def dijkstra(weights, source=0, target=3):
        graph = defaultdict(list)
        for e, (a, b) in enumerate(edges):
            graph[a].append((b, e))
            graph[b].append((a, e))
        cost = {source: paddle.zeros([])}
        previous = {}
        done = set()
        heap = [(0.0, source)]
        while heap:
            _, node = heapq.heappop(heap)
            if node in done:
                continue
            done.add(node)
            if node == target:
                break
            for other, e in graph[node]:
                new = cost[node] + weights[e]
                if other not in cost or new < cost[other]:
                    cost[other] = new
                    previous[other] = node
                    heapq.heappush(heap, (new.item(), other))
        path = [target]
        while path[-1] != source:
            path.append(previous[path[-1]])
        return cost[target], path[::-1]

    @convert
    def kruskal(weights):
        forest = UnionFind(4)
        tree = []
        total = paddle.zeros([])
        for e in weights.argsort().tolist():
            if forest.union(*edges[e]):
                tree.append(edges[e])
                total = total + weights[e]
            if len(tree) == 3:
                break
        return tree, total

    for w in ([1.0, 4.0, 1.0, 5.0, 1.0], [9.0, 1.0, 2.0, 1.0, 7.0], [2.0, 2.0, 0.1, 3.0, 3.1]):
        weights = T(w)
        weights.stop_gradient = False
        length, path = dijkstra(weights)
        length.backward()
        yield length, path, weights.grad
        yield kruskal(T(w))
