"""Graphs: attention on edges, sampling, communities, cuts, components, coordinates."""

import collections
import heapq
import random
from typing import Dict, List, Tuple

import numpy as np
import paddle
import paddle.geometric as G
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


class Graph:
    """An edge list with degrees and neighbours that are computed when they are needed."""

    def __init__(self, num_nodes, edges, feat=None):
        self.num_nodes = num_nodes
        self.edges = paddle.to_tensor(np.asarray(edges, dtype="int64").reshape(-1, 2))
        self.feat = feat
        self._adj = None

    @property
    def src(self):
        return self.edges[:, 0]

    @property
    def dst(self):
        return self.edges[:, 1]

    def indegree(self):
        ones = paddle.ones([self.edges.shape[0]], dtype="float32")
        return paddle.scatter_nd_add(paddle.zeros([self.num_nodes]), self.dst.unsqueeze(-1), ones)

    def adjacency(self) -> Dict[int, List[int]]:
        if self._adj is None:
            self._adj = collections.defaultdict(list)
            for u, v in self.edges.tolist():
                self._adj[u].append(v)
        return self._adj


@program
def graph_attention_with_edge_softmax(convert):
    """GAT layers with heads on an edge list, residuals, dropout of edges, graphs of many sizes."""

    def segment_softmax(scores, dst, n):
        peak = paddle.full([n, scores.shape[1]], -1e9)
        for head_peak in [G.segment_max(scores[paddle.argsort(dst)], paddle.sort(dst))]:
            peak = peak[: n - head_peak.shape[0]] if head_peak.shape[0] < n else peak[:0]
            peak = paddle.concat([head_peak, peak])
        e = paddle.exp(scores - paddle.gather(peak, dst))
        total = paddle.scatter_nd_add(paddle.zeros([n, scores.shape[1]]), dst.unsqueeze(-1), e)
        return e / (paddle.gather(total, dst) + 1e-9)

    class GATConv(nn.Layer):
        def __init__(self, n_in, n_out, heads=2, concat=True):
            super().__init__()
            self.heads, self.n_out, self.concat = heads, n_out, concat
            self.fc = nn.Linear(n_in, heads * n_out)
            self.attn_src = self.create_parameter([1, heads, n_out])
            self.attn_dst = self.create_parameter([1, heads, n_out])

        def forward(self, graph, x, keep=None):
            h = self.fc(x).reshape([-1, self.heads, self.n_out])
            a_src, a_dst = (h * self.attn_src).sum(-1), (h * self.attn_dst).sum(-1)
            src, dst = graph.src, graph.dst
            if keep is not None:
                src, dst = src[keep], dst[keep]
            scores = F.leaky_relu(a_src[src] + a_dst[dst], negative_slope=0.2)
            alpha = segment_softmax(scores, dst, graph.num_nodes)
            msg = h[src] * alpha.unsqueeze(-1)
            out = paddle.zeros_like(h).scatter_nd_add(dst.unsqueeze(-1), msg)
            return out.flatten(1) if self.concat else out.mean(axis=1)

    class GAT(nn.Layer):
        def __init__(self):
            super().__init__()
            self.convs = nn.LayerList([GATConv(3, 4), GATConv(8, 2, concat=False)])

        @convert
        def forward(self, graph, drop=None):
            x = graph.feat
            keep = None if drop is None else drop > 0.3
            for i, conv in enumerate(self.convs):
                x = conv(graph, x, keep)
                if i < len(self.convs) - 1:
                    x = F.elu(x)
            return F.log_softmax(x, axis=-1)

    paddle.seed(4)
    net = GAT()
    rng = np.random.RandomState(1)
    for n, m in ((4, 6), (4, 8), (6, 9)):
        edges = np.concatenate([rng.randint(0, n, (m, 2)), np.arange(n)[:, None].repeat(2, 1)])
        graph = Graph(n, edges, paddle.to_tensor(rng.randn(n, 3).astype("float32")))
        out = net(graph)
        F.nll_loss(out, paddle.to_tensor(rng.randint(0, 2, n))).backward()
        yield out, graph.indegree(), net.convs[0].attn_src.grad
        net.clear_gradients()
        drop = rng.rand(len(edges)).astype("float32")
        drop[m:] = 1.0
        yield net(graph, paddle.to_tensor(drop))


@program
def communities_by_moving_nodes(convert):
    """Louvain's first phase: nodes move to the community with the best gain until none does."""

    @convert
    def louvain(adj, labels, max_passes=5, resolution=1.0):
        n = adj.shape[0]
        m2 = adj.sum()
        degree = adj.sum(axis=1)
        moved, passes = True, 0
        while moved and passes < max_passes:
            moved = False
            for i in range(n):
                member = F.one_hot(labels, n)
                total = (member * degree.unsqueeze(1)).sum(0)
                own = labels[i]
                links = paddle.mv(member.t(), adj[i])
                total[own] -= degree[i]
                gain = links - resolution * total * degree[i] / m2
                best = gain.argmax()
                if gain[best] > gain[own] + 1e-6:
                    labels[i] = best
                    moved = True
            passes += 1
        return labels, passes

    @convert
    def modularity(adj, labels, resolution=1.0):
        degree = adj.sum(1)
        m2 = adj.sum()
        expected = paddle.outer(degree, degree) / m2
        same = (labels.unsqueeze(0) == labels.unsqueeze(1)).astype(adj.dtype)
        return ((adj - resolution * expected) * same).sum() / m2

    rng = np.random.RandomState(5)
    for sizes, resolution in (((3, 2), 1.0), ((2, 2, 2), 1.0), ((3, 2), 0.3)):
        n = sum(sizes)
        group = np.repeat(np.arange(len(sizes)), sizes)
        adj = ((group[:, None] == group) | (rng.rand(n, n) > 0.85)).astype("float32")
        adj = np.maximum(adj, adj.T) * (1 - np.eye(n, dtype="float32"))
        adj = paddle.to_tensor(adj)
        labels, passes = louvain(adj, paddle.arange(n), resolution=resolution)
        yield labels, passes, modularity(adj, labels, resolution)


@program
def negative_cycles_and_arbitrage(convert):
    """Bellman-Ford on logarithms of rates, with predecessors, and the cycle that was found."""

    @convert
    def bellman_ford(weights, edges, source, n):
        dist = paddle.full([n], float("inf"))
        dist[source] = 0.0
        pred = paddle.full([n], -1, dtype="int64")
        last = paddle.to_tensor(-1)
        for _ in range(n):
            last = paddle.to_tensor(-1)
            for k, (u, v) in enumerate(edges):
                candidate = dist[u] + weights[k]
                if candidate < dist[v] - 1e-6:
                    dist[v] = candidate
                    pred[v] = u
                    last = paddle.to_tensor(v)
            if last < 0:
                break
        return dist, pred, last

    @convert
    def cycle_from(pred, start, n):
        node = start
        for _ in range(n):
            node = pred[node]
        cycle = [node]
        walker = pred[node]
        while walker != node:
            cycle.append(walker)
            walker = pred[walker]
        cycle.reverse()
        return cycle

    edges = [(0, 1), (1, 2), (2, 0), (0, 2), (2, 1)]
    for rates in (
        [0.9, 0.9, 1.1, 0.85, 1.05],
        [1.2, 1.1, 0.9, 1.0, 0.9],
        [1.0, 1.0, 1.0, 1.3, 0.9],
    ):
        weights = -paddle.log(paddle.to_tensor(rates))
        dist, pred, last = bellman_ford(weights, edges, 0, 3)
        yield dist, pred, last
        if last >= 0:
            yield cycle_from(pred, last, 3)


@program
def strongly_connected_components(convert):
    """Tarjan with explicit stacks in Python, and by closure of the matrix with tensors."""

    def tarjan(adj):
        index, low, stack, on, result = {}, {}, [], set(), []

        def visit(u):
            index[u] = low[u] = len(index)
            stack.append(u)
            on.add(u)
            for v in adj[u]:
                if v not in index:
                    visit(v)
                    low[u] = min(low[u], low[v])
                elif v in on:
                    low[u] = min(low[u], index[v])
            if low[u] == index[u]:
                component = []
                while True:
                    v = stack.pop()
                    on.discard(v)
                    component.append(v)
                    if v == u:
                        break
                result.append(sorted(component))

        for u in sorted(adj):
            if u not in index:
                visit(u)
        return sorted(result)

    @convert
    def by_closure(matrix):
        reach = matrix | paddle.eye(matrix.shape[0]).astype("bool")
        while True:
            wider = paddle.matmul(reach.astype("float32"), reach.astype("float32")) > 0
            if (wider == reach).all():
                break
            reach = wider
        mutual = reach & reach.t()
        return mutual.astype("int64").argmax(axis=1), reach

    @convert
    def condensed(graph, feats):
        """The mean of each component, in the order of the components."""
        parts = tarjan(graph.adjacency())
        pooled = [feats[paddle.to_tensor(part)].mean(axis=0) for part in parts]
        return paddle.stack(pooled), parts

    rng = np.random.RandomState(8)
    for n, m in ((4, 6), (5, 7), (4, 3)):
        edges = [tuple(int(x) for x in e) for e in rng.randint(0, n, (m, 2))]
        matrix = np.zeros((n, n), bool)
        for u, v in edges:
            matrix[u, v] = True
        yield by_closure(paddle.to_tensor(matrix))
        graph = Graph(n, edges + [(i, i) for i in range(n)])
        yield condensed(graph, paddle.arange(n * 2).reshape([n, 2]).astype("float32"))


@program
def walks_with_skip_grams(convert):
    """node2vec: biased walks in Python with random, skip-grams with negatives on embeddings."""

    class Node2Vec(nn.Layer):
        def __init__(self, n, dim=4, p=0.5, q=2.0):
            super().__init__()
            self.center, self.context = nn.Embedding(n, dim), nn.Embedding(n, dim)
            self.p, self.q, self.n = p, q, n

        def walk(self, adj, start, length):
            path = [start]
            while len(path) < length:
                options = adj[path[-1]]
                if not options:
                    break
                if len(path) == 1:
                    path.append(random.choice(options))
                    continue
                weights = []
                for node in options:
                    if node == path[-2]:
                        weights.append(1 / self.p)
                    elif node in adj[path[-2]]:
                        weights.append(1.0)
                    else:
                        weights.append(1 / self.q)
                path.append(random.choices(options, weights=weights, k=1)[0])
            return path

        @staticmethod
        def pairs(path, window) -> List[Tuple[int, int]]:
            return [
                (u, path[j])
                for i, u in enumerate(path)
                for j in range(max(0, i - window), min(len(path), i + window + 1))
                if i != j
            ]

        @convert
        def loss(self, pairs, negatives):
            u, v = pairs[:, 0], pairs[:, 1]
            cu = self.center(u)
            pos = F.log_sigmoid((cu * self.context(v)).sum(axis=-1))
            neg = F.log_sigmoid(-paddle.bmm(self.context(negatives), cu.unsqueeze(-1)).squeeze(-1))
            valid = (negatives != v.unsqueeze(-1)).astype("float32")
            return -(pos.mean() + (neg * valid).sum() / paddle.clip(valid.sum(), min=1.0))

        @convert
        def nearest(self, node, k=2):
            table = F.normalize(self.center.weight, axis=1)
            scores = paddle.mv(table, table[node])
            scores[node] = -float("inf")
            values, index = paddle.topk(scores, k)
            return index.tolist(), values

    paddle.seed(6)
    graph = Graph(
        5, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (0, 2), (2, 0)]
    )
    model = Node2Vec(5)
    opt = paddle.optimizer.Adagrad(0.1, parameters=model.parameters())
    for epoch in range(4):
        path = model.walk(graph.adjacency(), epoch % 5, length=4)
        pairs = model.pairs(path, window=1 + epoch % 2)
        neg = paddle.randint(0, 5, [len(pairs), 2])
        loss = model.loss(paddle.to_tensor(pairs), neg)
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield path, loss
    for node in range(2):
        yield model.nearest(paddle.to_tensor(node)), model.nearest(node, k=3)


@program
def coordinates_from_distances(convert):
    """Force layout with cooling, classical scaling, stress, and an embedding in the Poincaré ball."""

    @convert
    def force_layout(pos, adj, iterations=10, k=0.5, t=0.3):
        for step in range(iterations):
            delta = pos.unsqueeze(1) - pos.unsqueeze(0)
            dist = paddle.clip(delta.norm(axis=-1), min=0.01)
            force = k * k / dist**2 - adj * dist / k
            move = paddle.einsum("ijk,ij->ik", delta, force)
            length = paddle.clip(move.norm(axis=-1, keepdim=True), min=0.01)
            pos = pos + move * paddle.minimum(length, paddle.to_tensor(t)) / length
            t *= 0.9
            if length.max() < 0.05:
                return pos, step
        return pos, iterations

    @convert
    def classical_scaling(d, dims=2):
        n = d.shape[0]
        j = paddle.eye(n) - 1.0 / n
        b = -0.5 * j @ (d**2) @ j
        values, vectors = paddle.linalg.eigh(b)
        kept = []
        for i in range(n - 1, n - 1 - dims, -1):
            if values[i] <= 1e-6:
                break
            column = vectors[:, i]
            sign = paddle.sign(column[column.abs().argmax()])
            kept.append(column * sign * paddle.sqrt(values[i]))
        return kept

    @convert
    def poincare_step(table, u, v, lr=0.1, eps=1e-5):
        table.stop_gradient = False
        a, b = table[u], table[v]
        sq = ((a - b) ** 2).sum(-1)
        gap = (1 - (a**2).sum(-1)) * (1 - (b**2).sum(-1))
        dist = paddle.acosh(1 + 2 * sq / gap + eps)
        loss = dist.mean()
        (g,) = paddle.grad(loss, [table])
        scale = (1 - (table**2).sum(-1, keepdim=True)) ** 2 / 4
        new = (table - lr * scale * g).detach()
        norm = new.norm(axis=-1, keepdim=True)
        if (norm >= 1).any():
            new = paddle.where(norm >= 1, new / norm * (1 - eps), new)
        return new, loss

    rng = np.random.RandomState(4)
    for n in (3, 4, 3):
        points = rng.randn(n, 2)
        d = np.linalg.norm(points[:, None] - points[None], axis=-1).astype("float32")
        adj = paddle.to_tensor((d < np.median(d)).astype("float32")) - paddle.eye(n)
        yield force_layout(paddle.to_tensor(rng.rand(n, 2).astype("float32")), adj)
        yield classical_scaling(paddle.to_tensor(d))
    table = paddle.to_tensor((rng.rand(4, 2) * 0.9).astype("float32"))
    for lr in (0.1, 0.1, 5.0):
        table, loss = poincare_step(table, [0, 1], [2, 3], lr=lr)
        yield table, loss
    yield attempt(lambda: classical_scaling(paddle.zeros([2, 3])))


@program
def contraction_and_spanning_forests(convert):
    """Karger's cuts from given orders, Borůvka's rounds, a heap of edges in Python around tensors."""

    @convert
    def karger(edges, order, n):
        label = paddle.arange(n)
        groups = n
        for k in order:
            if groups <= 2:
                break
            u, v = edges[k, 0], edges[k, 1]
            a, b = label[u], label[v]
            if a == b:
                continue
            label = paddle.where(label == b, a, label)
            groups -= 1
        cut = (label[edges[:, 0]] != label[edges[:, 1]]).astype("int64").sum()
        return cut, label

    @convert
    def boruvka(edges, weights, n):
        label = paddle.arange(n)
        chosen = paddle.zeros([edges.shape[0]], dtype="bool")
        total = paddle.zeros([])
        for _ in range(n):
            across = label[edges[:, 0]] != label[edges[:, 1]]
            if not across.any():
                break
            for c in range(n):
                touches = (label[edges[:, 0]] == c) ^ (label[edges[:, 1]] == c)
                if touches.any():
                    cost = paddle.where(touches, weights, paddle.full_like(weights, 1e9))
                    best = cost.argmin()
                    chosen[best] = True
                    total = total + weights[best]
                    a, b = label[edges[best, 0]], label[edges[best, 1]]
                    label = paddle.where(label == paddle.maximum(a, b), paddle.minimum(a, b), label)
        return chosen, total, label

    def prim_on_the_side(edges, weights, n):
        """In plain Python, to hold the result against."""
        adj = collections.defaultdict(list)
        for (u, v), w in zip(edges, weights):
            adj[u].append((w, v))
            adj[v].append((w, u))
        seen, heap, total = {0}, list(adj[0]), 0.0
        heapq.heapify(heap)
        while heap and len(seen) < n:
            w, v = heapq.heappop(heap)
            if v not in seen:
                seen.add(v)
                total += w
                for item in adj[v]:
                    heapq.heappush(heap, item)
        return round(total, 4)

    rng = np.random.RandomState(12)
    for n, extra in ((4, 2), (4, 3), (5, 2)):
        edges = [(i, i + 1) for i in range(n - 1)]
        edges += [tuple(int(x) for x in rng.choice(n, 2, replace=False)) for _ in range(extra)]
        weights = [round(float(w), 2) for w in rng.rand(len(edges))]
        e = paddle.to_tensor(edges)
        yield prim_on_the_side(edges, weights, n), boruvka(e, paddle.to_tensor(weights), n)
        best = min((karger(e, rng.permutation(len(edges)).tolist(), n)[0] for _ in range(3)))
        yield best
