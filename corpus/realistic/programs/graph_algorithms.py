"""Graphs: traversal, ranking, components, shortest paths, matching, message passing."""

import heapq
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def random_adjacency(n, seed, p=0.4, directed=True):
    rng = np.random.RandomState(seed)
    a = (rng.rand(n, n) < p).astype("float32")
    np.fill_diagonal(a, 0)
    if not directed:
        a = np.maximum(a, a.T)
    return paddle.to_tensor(a)


@program
def breadth_first_levels(convert):
    """BFS by frontiers on a dense matrix, with parents, and a path read back to the source."""

    @dataclass
    class Traversal:
        level: paddle.Tensor
        parent: paddle.Tensor
        reached: paddle.Tensor
        rounds: int

    def expand(adjacency, frontier):
        return paddle.matmul(frontier.astype("float32"), adjacency) > 0

    @convert
    def bfs(adjacency, source, max_depth: Optional[int] = None, goal=None):
        n = adjacency.shape[0]
        frontier = paddle.zeros([n], dtype="bool")
        frontier[source] = True
        seen = frontier.clone()
        level = paddle.where(seen, paddle.zeros([n]), paddle.full([n], -1.0))
        parent = paddle.full([n], -1, dtype="int64")
        rounds = 0
        for depth in range(1, (max_depth or n) + 1):
            fresh = expand(adjacency, frontier) & ~seen
            if not fresh.any():
                break
            rounds = depth
            from_frontier = adjacency * frontier.astype("float32").unsqueeze(-1)
            parent = paddle.where(fresh, from_frontier.argmax(axis=0), parent)
            level = paddle.where(fresh, paddle.full_like(level, depth), level)
            seen = seen | fresh
            frontier = fresh
            if goal is not None and fresh[goal]:
                break
        return Traversal(level=level, parent=parent, reached=seen.sum(), rounds=rounds)

    @convert
    def path_to(parent, goal, limit=10):
        node, path = goal, [goal]
        while parent[node] >= 0 and len(path) < limit:
            node = parent[node]
            path.append(node)
        return path[::-1]

    for seed, n in ((0, 5), (1, 6), (2, 6)):
        adjacency = random_adjacency(n, seed, p=0.3)
        result = bfs(adjacency, 0)
        yield result
        yield bfs(adjacency, 1, max_depth=1)
        yield bfs(adjacency, 0, goal=paddle.to_tensor(n - 1))
        yield path_to(result.parent, paddle.to_tensor(n - 1))


@program
def pagerank_with_dangling_nodes(convert):
    """PageRank by power iteration, personalised or not, with dangling mass and history."""

    class PageRank:
        def __init__(self, damping=0.85, tol=1e-4, max_iter=50):
            self.damping, self.tol, self.max_iter = damping, tol, max_iter
            self.history = []

        def transition(self, adjacency):
            degree = adjacency.sum(axis=1, keepdim=True)
            dangling = (degree == 0).astype("float32").squeeze(-1)
            return adjacency / degree.clip(min=1.0), dangling

        @convert
        def fit(self, adjacency, personalization=None):
            n = adjacency.shape[0]
            p, dangling = self.transition(adjacency)
            teleport = paddle.full([n], 1.0 / n) if personalization is None else personalization
            rank = teleport
            self.history = []
            for iteration in range(self.max_iter):
                lost = (rank * dangling).sum()
                updated = self.damping * (paddle.matmul(rank, p) + lost * teleport)
                updated = updated + (1 - self.damping) * teleport
                change = (updated - rank).abs().sum()
                self.history.append(change)
                rank = updated
                if change < self.tol:
                    break
            return rank, iteration + 1

    ranker = PageRank()
    for seed, n in ((3, 4), (4, 6)):
        adjacency = random_adjacency(n, seed, p=0.35)
        yield ranker.fit(adjacency)
        yield ranker.history
        start = F.one_hot(paddle.to_tensor(1), n)
        yield ranker.fit(adjacency, personalization=start)
    ranker.damping, ranker.max_iter = 0.5, 3
    yield ranker.fit(adjacency), len(ranker.history)


@program
def union_find_and_kruskal(convert):
    """Union-find with path halving in a parent tensor; Kruskal's tree over sorted edges."""

    class DisjointSets:
        def __init__(self, n):
            self.parent = paddle.arange(n)
            self.rank = paddle.zeros([n], dtype="int64")
            self.components = paddle.to_tensor(n)

        def find(self, x):
            while self.parent[x] != x:
                self.parent[x] = self.parent[self.parent[x]]
                x = self.parent[x]
            return x

        def union(self, a, b):
            a, b = self.find(a), self.find(b)
            if a == b:
                return paddle.to_tensor(False)
            if self.rank[a] < self.rank[b]:
                a, b = b, a
            self.parent[b] = a
            if self.rank[a] == self.rank[b]:
                self.rank[a] = self.rank[a] + 1
            self.components = self.components - 1
            return paddle.to_tensor(True)

    @convert
    def kruskal(edges, weights, n):
        order = paddle.argsort(weights)
        sets = DisjointSets(n)
        chosen = []
        total = paddle.zeros([])
        for i in order:
            a, b = edges[i, 0], edges[i, 1]
            used = sets.union(a, b)
            if used:
                total = total + weights[i]
            chosen.append(used)
            if sets.components == 1:
                break
        return total, paddle.stack(chosen), sets.components, sets.parent

    @convert
    def connected(edges, pairs, n):
        sets = DisjointSets(n)
        for a, b in edges:
            sets.union(a, b)
        return [sets.find(a) == sets.find(b) for a, b in pairs]

    rng = np.random.RandomState(5)
    for n, m in ((4, 5), (5, 6), (4, 2)):
        edges = paddle.to_tensor(rng.randint(0, n, (m, 2)))
        weights = paddle.to_tensor(rng.rand(m).astype("float32"))
        yield kruskal(edges, weights, n=n)
    pairs = [(paddle.to_tensor(0), paddle.to_tensor(b)) for b in (1, 3)]
    yield connected([(edges[i, 0], edges[i, 1]) for i in range(2)], pairs, n=4)


@program
def shortest_paths_three_ways(convert):
    """Dijkstra by masks, Bellman-Ford with negative cycles, Floyd-Warshall; they agree."""
    INF = 1e6

    class NegativeCycle(ValueError):
        pass

    def matrix(n, seed, low=1.0):
        rng = np.random.RandomState(seed)
        w = rng.uniform(low, 5, (n, n)).astype("float32")
        w[rng.rand(n, n) > 0.5] = INF
        np.fill_diagonal(w, 0)
        return paddle.to_tensor(w)

    @convert
    def dijkstra(weights, source):
        n = weights.shape[0]
        distance = paddle.full([n], INF)
        distance[source] = 0.0
        done = paddle.zeros([n], dtype="bool")
        order = []
        for _ in range(n):
            open_distance = paddle.where(done, paddle.full([n], 2 * INF), distance)
            node = open_distance.argmin()
            if open_distance[node] >= INF:
                break
            order.append(node)
            done[node] = True
            through = distance[node] + weights[node]
            distance = paddle.where(~done & (through < distance), through, distance)
        return distance, order

    @convert
    def bellman_ford(weights, source):
        n = weights.shape[0]
        distance = paddle.full([n], INF)
        distance[source] = 0.0
        for round_index in range(n):
            relaxed = (distance.unsqueeze(1) + weights).min(axis=0)
            if paddle.allclose(relaxed, distance):
                return distance, round_index
            distance = relaxed
        raise NegativeCycle(f"still relaxing after {n} rounds")

    @convert
    def floyd_warshall(weights):
        d = weights
        following = paddle.where(weights < INF, 1, 0)
        for k in range(weights.shape[0]):
            through = d[:, k : k + 1] + d[k : k + 1]
            shorter = through < d
            following = paddle.where(shorter, paddle.full_like(following, 2), following)
            d = paddle.minimum(d, through)
        return d, following.sum()

    for n, seed in ((4, 0), (5, 1)):
        weights = matrix(n, seed)
        for source in (0, n - 1):
            yield dijkstra(weights, source)
            yield attempt(lambda: bellman_ford(weights, source))
        yield floyd_warshall(weights)
    cycle = paddle.to_tensor([[0.0, 1.0, INF], [INF, 0.0, -3.0], [1.0, INF, 0.0]])
    yield attempt(lambda: bellman_ford(cycle, 0))


@program
def message_passing_until_stable(convert):
    """A graph network over edge lists with gather and scatter; label propagation until stable."""
    Graph = namedtuple("Graph", ["x", "source", "target"])

    class Conv(nn.Layer):
        def __init__(self, dim, aggregate="mean"):
            super().__init__()
            self.message, self.update = nn.Linear(2 * dim, dim), nn.Linear(2 * dim, dim)
            self.aggregate = aggregate

        def forward(self, graph):
            x, source, target = graph
            pair = paddle.concat(x=[x[source], x[target]], axis=-1)
            m = F.leaky_relu(self.message(pair))
            summed = paddle.zeros_like(x)
            summed = paddle.scatter_nd_add(summed, target.unsqueeze(-1), m)
            if self.aggregate == "mean":
                count = paddle.bincount(target, minlength=x.shape[0]).astype(x.dtype)
                summed = summed / count.clip(min=1.0).unsqueeze(-1)
            return graph._replace(x=self.update(paddle.concat(x=[x, summed], axis=-1)).tanh())

    class GNN(nn.Layer):
        def __init__(self, dim=3, aggregate="mean", max_rounds=4):
            super().__init__()
            self.conv = Conv(dim, aggregate)
            self.head = nn.Linear(dim, 2)
            self.max_rounds = max_rounds

        def forward(self, graph, tol=None):
            rounds = 0
            for rounds in range(1, self.max_rounds + 1):
                after = self.conv(graph)
                change = (after.x - graph.x).abs().mean()
                graph = after
                if tol is not None and change < tol:
                    break
            return self.head(graph.x), rounds

    @convert
    def propagate(graph, labels, known, max_iter=10):
        n = labels.shape[0]
        scores = F.one_hot(labels, 2) * known.unsqueeze(-1)
        for iteration in range(max_iter):
            spread = paddle.scatter_nd_add(
                paddle.zeros([n, 2]), graph.target.unsqueeze(-1), scores[graph.source]
            )
            spread = spread / spread.sum(axis=-1, keepdim=True).clip(min=1e-6)
            updated = paddle.where(known.unsqueeze(-1) > 0, F.one_hot(labels, 2), spread)
            if (updated.argmax(-1) == scores.argmax(-1)).all() and iteration > 0:
                break
            scores = updated
        return scores, iteration

    rng = np.random.RandomState(6)
    for aggregate in ("mean", "sum"):
        model = convert(GNN(aggregate=aggregate))
        for n, e in ((4, 6), (5, 7)):
            graph = Graph(
                x=paddle.to_tensor(rng.randn(n, 3).astype("float32")),
                source=paddle.to_tensor(rng.randint(0, n, e)),
                target=paddle.to_tensor(rng.randint(0, n, e)),
            )
            logits, rounds = model(graph, tol=0.4)
            logits.square().sum().backward()
            yield logits, rounds, model.conv.message.weight.grad
            model.clear_gradients()
            known = paddle.to_tensor([1.0, 1.0] + [0.0] * (n - 2))
            yield propagate(graph, paddle.to_tensor([0, 1] + [0] * (n - 2)), known)
    yield model(graph)


@program
def scheduling_with_topological_order(convert):
    """Tasks with tensor durations: Kahn's order in Python, earliest times and critical path."""

    class TaskGraph:
        def __init__(self):
            self.durations: Dict[str, paddle.Tensor] = {}
            self.before: Dict[str, List[str]] = defaultdict(list)

        def task(self, name, duration, after=()):
            self.durations[name] = duration
            self.before[name].extend(after)
            return self

        def order(self):
            degree = {name: len(self.before[name]) for name in self.durations}
            ready = deque(sorted(name for name, d in degree.items() if d == 0))
            out = []
            while ready:
                name = ready.popleft()
                out.append(name)
                for other in sorted(self.durations):
                    if name in self.before[other]:
                        degree[other] -= 1
                        if degree[other] == 0:
                            ready.append(other)
            if len(out) < len(self.durations):
                missing = sorted(set(self.durations) - set(out))
                raise ValueError(f"a cycle among {missing}")
            return out

    @convert
    def earliest(graph, start=0.0):
        finish = {}
        for name in graph.order():
            begin = paddle.to_tensor(start)
            for other in graph.before[name]:
                if finish[other] > begin:
                    begin = finish[other]
            finish[name] = begin + graph.durations[name]
        return finish, paddle.stack(list(finish.values())).max()

    @convert
    def list_schedule(graph, workers=2):
        free = [paddle.zeros([]) for _ in range(workers)]
        finish: Dict[str, paddle.Tensor] = {}
        for name in graph.order():
            times = paddle.stack(free)
            ready = [finish[other] for other in graph.before[name]]
            begin = times.min()
            if ready:
                begin = paddle.maximum(begin, paddle.stack(ready).max())
            worker = times.argmin()
            end = begin + graph.durations[name]
            free = [paddle.where(worker == i, end, t) for i, t in enumerate(free)]
            finish[name] = end
        return max(free), finish

    def heap_order(graph) -> List[Tuple[float, str]]:
        heap = [(float(d), name) for name, d in graph.durations.items()]
        heapq.heapify(heap)
        return [heapq.heappop(heap) for _ in range(len(heap))]

    rng = np.random.RandomState(7)
    for scale in (1.0, 2.0):
        d = paddle.to_tensor(rng.rand(5).astype("float32") * scale)
        graph = TaskGraph().task("a", d[0]).task("b", d[1]).task("c", d[2], after=["a"])
        graph.task("d", d[3], after=["a", "b"]).task("e", d[4], after=["c", "d"])
        yield earliest(graph)
        yield list_schedule(graph), list_schedule(graph, workers=1)
        yield heap_order(graph), graph.order()
    graph.task("b", d[1], after=["e"])
    yield attempt(lambda: earliest(graph))
