"""Dynamic programming: edit distance, alignment, Viterbi, DTW, knapsack, chains, shortest paths."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def levenshtein(convert):
    """Edit distance with a full table of scalars, weights from a config dict, optional early exit."""

    @convert
    def edit_distance(a, b, costs=None, cutoff=None):
        costs = {"insert": 1.0, "delete": 1.0, "substitute": 1.0, **(costs or {})}
        n, m = a.shape[0], b.shape[0]
        previous = [j * costs["insert"] for j in range(m + 1)]
        previous = paddle.to_tensor(previous, dtype="float32")
        for i in range(1, n + 1):
            current = [previous[0] + costs["delete"]]
            for j in range(1, m + 1):
                if a[i - 1] == b[j - 1]:
                    best = previous[j - 1]
                else:
                    best = previous[j - 1] + costs["substitute"]
                best = paddle.minimum(best, previous[j] + costs["delete"])
                best = paddle.minimum(best, current[j - 1] + costs["insert"])
                current.append(best)
            previous = paddle.stack(current)
            if cutoff is not None and previous.min() > cutoff:
                return paddle.to_tensor(float("inf"))
        return previous[-1]

    kitten = paddle.to_tensor([11, 9, 20, 20, 5])
    sitting = paddle.to_tensor([19, 9, 20, 20, 9, 7])
    yield edit_distance(kitten, sitting)
    yield edit_distance(sitting, kitten)
    yield edit_distance(kitten, kitten)
    yield edit_distance(kitten, sitting, costs={"substitute": 2.0})
    yield edit_distance(kitten, paddle.to_tensor([1, 2, 3, 4, 6]), cutoff=2.0)
    yield edit_distance(kitten[:0], sitting[:2])


class Move(Enum):
    STOP = 0
    DIAGONAL = 1
    UP = 2
    LEFT = 3


class Alignment(NamedTuple):
    score: paddle.Tensor
    pairs: list


@program
def smith_waterman(convert):
    """Local alignment with traceback over a tensor of moves."""

    class Aligner:
        def __init__(self, match=2.0, mismatch=-1.0, gap=-1.5):
            self.match, self.mismatch, self.gap = match, mismatch, gap

        def fill(self, a, b):
            n, m = a.shape[0], b.shape[0]
            table = paddle.zeros([n + 1, m + 1])
            moves = paddle.zeros([n + 1, m + 1], dtype="int64")
            for i in range(1, n + 1):
                for j in range(1, m + 1):
                    same = self.match if a[i - 1] == b[j - 1] else self.mismatch
                    options = paddle.stack(
                        [
                            paddle.zeros([]),
                            table[i - 1, j - 1] + same,
                            table[i - 1, j] + self.gap,
                            table[i, j - 1] + self.gap,
                        ]
                    )
                    table[i, j] = options.max()
                    moves[i, j] = options.argmax()
            return table, moves

        def traceback(self, table, moves):
            flat = int(table.argmax())
            i, j = divmod(flat, table.shape[1])
            pairs = []
            while True:
                move = Move(int(moves[i, j]))
                if move is Move.STOP:
                    break
                if move is Move.DIAGONAL:
                    i, j = i - 1, j - 1
                    pairs.append((i, j))
                elif move is Move.UP:
                    i -= 1
                else:
                    j -= 1
            return pairs[::-1]

        def align(self, a, b):
            table, moves = self.fill(a, b)
            return Alignment(table.max(), self.traceback(table, moves))

    aligner = Aligner()
    fill = convert(aligner.fill)
    a = paddle.to_tensor([1, 2, 3, 4])
    b = paddle.to_tensor([5, 2, 3, 1])
    table, moves = fill(a, b)
    yield table, moves, aligner.traceback(table, moves)
    yield fill(b, a)
    aligner.gap = -0.25
    yield fill(a, b[1:])
    align = convert(aligner.align)
    yield align(a, b)
    yield align(a[1:], a)


@program
def viterbi_decoder(convert):
    """Viterbi over a linear-chain CRF with lengths, back pointers in a list, start and end scores."""

    class CRFDecoder(nn.Layer):
        def __init__(self, num_tags):
            super().__init__()
            self.num_tags = num_tags
            self.transitions = self.create_parameter([num_tags, num_tags])
            self.start = self.create_parameter([num_tags])
            self.end = self.create_parameter([num_tags])

        def forward(self, emissions, lengths=None):
            batch, steps, _ = emissions.shape
            if lengths is None:
                lengths = paddle.full([batch], steps, dtype="int64")
            score = self.start + emissions[:, 0]
            history = []
            for t in range(1, steps):
                total = score.unsqueeze(2) + self.transitions.unsqueeze(0)
                best, pointer = total.max(axis=1), total.argmax(axis=1)
                best = best + emissions[:, t]
                active = (lengths > t).unsqueeze(1)
                score = paddle.where(active, best, score)
                identity = paddle.arange(self.num_tags).unsqueeze(0).expand([batch, self.num_tags])
                history.append(paddle.where(active, pointer, identity))
            score = score + self.end
            last = score.argmax(axis=1)
            path = [last]
            for pointer in reversed(history):
                last = paddle.take_along_axis(pointer, last.unsqueeze(1), axis=1).squeeze(1)
                path.insert(0, last)
            return score.max(axis=1), paddle.stack(path, axis=1)

        def log_partition(self, emissions):
            alpha = self.start + emissions[:, 0]
            for t in range(1, emissions.shape[1]):
                alpha = (
                    paddle.logsumexp(alpha.unsqueeze(2) + self.transitions, axis=1)
                    + emissions[:, t]
                )
            return paddle.logsumexp(alpha + self.end, axis=1)

    crf = CRFDecoder(3)
    crf.log_partition = convert(crf.log_partition)
    model = convert(crf)
    rng = np.random.RandomState(0)
    for batch, steps in ((2, 4), (3, 5), (1, 1)):
        emissions = paddle.to_tensor(rng.randn(batch, steps, 3).astype("float32"))
        emissions.stop_gradient = False
        score, path = model(emissions)
        yield score, path
        loss = (crf.log_partition(emissions) - score).mean()
        loss.backward()
        yield loss, emissions.grad, crf.transitions.grad
        crf.clear_gradients()
    yield model(paddle.to_tensor(rng.randn(2, 4, 3).astype("float32")), paddle.to_tensor([4, 2]))


@program
def dtw_with_window(convert):
    """Dynamic time warping with a Sakoe-Chiba band; soft-DTW when gamma is positive."""

    def softmin(values, gamma):
        if gamma == 0:
            return paddle.min(paddle.stack(values))
        return -gamma * paddle.logsumexp(-paddle.stack(values) / gamma, axis=0)

    @convert
    def dtw(x, y, *, window=None, gamma=0.0, return_path=False):
        n, m = len(x), len(y)
        window = max(window or max(n, m), abs(n - m))
        distance = (x.unsqueeze(1) - y.unsqueeze(0)) ** 2
        infinity = paddle.to_tensor(1e8)
        rows = [[infinity] * (m + 1) for _ in range(n + 1)]
        rows[0][0] = paddle.zeros([])
        for i in range(1, n + 1):
            for j in range(max(1, i - window), min(m, i + window) + 1):
                neighbours = [rows[i - 1][j - 1], rows[i - 1][j], rows[i][j - 1]]
                rows[i][j] = distance[i - 1, j - 1] + softmin(neighbours, gamma)
        if not return_path:
            return rows[n][m]
        path, i, j = [], n, m
        while i > 0 and j > 0:
            path.append((i - 1, j - 1))
            steps = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
            i, j = min(steps, key=lambda ij: float(rows[ij[0]][ij[1]]))
        return rows[n][m], path[::-1]

    x = paddle.to_tensor([0.0, 1.0, 2.0, 1.0], stop_gradient=False)
    y = paddle.to_tensor([0.0, 0.5, 2.0, 2.0, 1.0])
    yield dtw(x, y)
    yield dtw(x, y, window=1)
    cost = dtw(x, y, gamma=0.5)
    cost.backward()
    yield cost, x.grad
    yield dtw(x.detach(), y[1:], return_path=True)
    yield dtw(y, y)


@program
def knapsack(convert):
    """0/1 knapsack over a value row, with a keep matrix and item recovery."""

    @dataclass
    class Item:
        name: str
        weight: int
        value: float

    class Knapsack:
        def __init__(self, items, unbounded=False):
            self.items = items
            self.unbounded = unbounded
            self.last_table = None

        def solve(self, values, capacity):
            best = paddle.zeros([capacity + 1])
            keep = []
            for index, item in enumerate(self.items):
                if item.weight > capacity:
                    keep.append(paddle.zeros([capacity + 1], dtype="bool"))
                    continue
                if self.unbounded:
                    for w in range(item.weight, capacity + 1):
                        candidate = best[w - item.weight] + values[index]
                        if candidate > best[w]:
                            best[w] = candidate
                    keep.append(best > 0)
                else:
                    shifted = paddle.concat(
                        x=[
                            paddle.full([item.weight], float("-inf")),
                            best[: capacity + 1 - item.weight] + values[index],
                        ],
                        axis=0,
                    )
                    keep.append(shifted > best)
                    best = paddle.maximum(best, shifted)
            self.last_table = paddle.stack(keep)
            return best[capacity], best

        def chosen(self, capacity):
            names = []
            for index in range(len(self.items) - 1, -1, -1):
                if self.last_table[index, capacity]:
                    names.append(self.items[index].name)
                    capacity -= self.items[index].weight
            return names

    items = [Item("map", 2, 3.0), Item("rope", 3, 4.0), Item("tent", 5, 8.0), Item("lamp", 1, 1.5)]
    for unbounded in (False, True):
        sack = Knapsack(items, unbounded)
        solve = convert(sack.solve)
        for scale in (1.0, 0.5):
            values = paddle.to_tensor([item.value * scale for item in items])
            yield solve(values, 7)
        yield solve(paddle.to_tensor([5.0, 1.0, 1.0, 1.0]), 4)
        yield sack.last_table
        if not unbounded:
            yield sack.chosen(4)


@program
def matrix_chain_and_scan(convert):
    """Interval DP with recursion on Python bounds, memoised in a dict of tensors."""

    class MatrixChain:
        def __init__(self):
            self.memo = {}
            self.lookups = 0

        def cost(self, dims, i, j):
            if i == j:
                return paddle.zeros([])
            if (i, j) in self.memo:
                self.lookups += 1
                return self.memo[(i, j)]
            best = None
            for k in range(i, j):
                here = (
                    self.cost(dims, i, k)
                    + self.cost(dims, k + 1, j)
                    + dims[i] * dims[k + 1] * dims[j + 1]
                )
                if best is None:
                    best = here
                elif here < best:
                    best = here
            self.memo[(i, j)] = best
            return best

        def __call__(self, dims):
            self.memo.clear()
            return self.cost(dims, 0, dims.shape[0] - 2)

    chain = MatrixChain()
    run = convert(chain)
    for values in ([2.0, 3.0, 4.0, 5.0], [5.0, 1.0, 6.0, 2.0], [10.0, 1.0, 10.0, 1.0, 10.0]):
        yield run(paddle.to_tensor(values)), chain.lookups
    yield sorted(chain.memo)


@program
def forward_backward_hmm(convert):
    """Scaled forward-backward of an HMM and its Baum-Welch update over several sweeps."""

    @dataclass
    class HMM:
        initial: paddle.Tensor
        transition: paddle.Tensor
        emission: paddle.Tensor

        def likelihood(self, observations):
            return paddle.gather(self.emission, observations, axis=1).t()

    def forward_pass(hmm, b):
        alphas, scales = [], []
        alpha = hmm.initial * b[0]
        for t in range(b.shape[0]):
            if t > 0:
                alpha = paddle.matmul(alpha, hmm.transition) * b[t]
            c = alpha.sum()
            alpha = alpha / c
            alphas.append(alpha)
            scales.append(c)
        return paddle.stack(alphas), paddle.stack(scales)

    def backward_pass(hmm, b, scales):
        beta = paddle.ones_like(hmm.initial)
        betas = [beta]
        for t in range(b.shape[0] - 2, -1, -1):
            beta = paddle.mv(hmm.transition, b[t + 1] * beta) / scales[t + 1]
            betas.append(beta)
        return paddle.stack(betas[::-1])

    @convert
    def baum_welch(hmm, observations, n_iter=10, tol=1e-3, verbose=False):
        previous = paddle.to_tensor(-float("inf"))
        history = []
        for sweep in range(n_iter):
            b = hmm.likelihood(observations)
            alphas, scales = forward_pass(hmm, b)
            betas = backward_pass(hmm, b, scales)
            loglik = paddle.log(scales).sum()
            history.append(loglik)
            gamma = alphas * betas
            xi = (
                alphas[:-1].unsqueeze(2)
                * hmm.transition.unsqueeze(0)
                * (b[1:] * betas[1:] / scales[1:].unsqueeze(1)).unsqueeze(1)
            ).sum(axis=0)
            hmm.initial = gamma[0]
            hmm.transition = xi / xi.sum(axis=1, keepdim=True)
            onehot = F.one_hot(observations, num_classes=hmm.emission.shape[1])
            hmm.emission = paddle.matmul(gamma, onehot, transpose_x=True) / gamma.sum(
                axis=0
            ).unsqueeze(1)
            if verbose:
                print("sweep", sweep, "loglik %.3f" % loglik.item())
            if loglik - previous < tol:
                break
            previous = loglik
        return loglik, history

    def fresh():
        return HMM(
            paddle.to_tensor([0.6, 0.4]),
            paddle.to_tensor([[0.7, 0.3], [0.4, 0.6]]),
            paddle.to_tensor([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]),
        )

    hmm = fresh()
    yield baum_welch(hmm, paddle.to_tensor([0, 1, 2, 0, 1]), n_iter=4)
    yield hmm
    yield baum_welch(hmm, paddle.to_tensor([2, 2, 2, 1, 0]), n_iter=4, tol=0.05)
    yield hmm
    yield baum_welch(fresh(), paddle.to_tensor([0, 0, 2]), n_iter=2, verbose=True)[0]


@program
def shortest_paths(convert):
    """Bellman-Ford with a negative-cycle check and Floyd-Warshall with a closure for the relaxation."""

    class NegativeCycle(ValueError):
        pass

    @convert
    def bellman_ford(src, dst, weight, n_nodes, source=0):
        dist = paddle.full([n_nodes], 1e9)
        dist[source] = 0.0
        for sweep in range(n_nodes):
            proposal = dist[src] + weight
            updated = dist
            for e in range(src.shape[0]):
                node = dst[e]
                if proposal[e] < updated[node]:
                    updated = paddle.scatter(updated, node.reshape([1]), proposal[e].reshape([1]))
            if paddle.equal_all(updated, dist):
                return dist, sweep
            dist = updated
        raise NegativeCycle("a cycle of negative weight")

    @convert
    def floyd_warshall(d, on_update=None):
        n = d.shape[0]
        for k in range(n):
            through = d[:, k : k + 1] + d[k : k + 1, :]
            changed = (through < d).sum()
            if changed > 0 and on_update is not None:
                on_update(k, changed)
            d = paddle.minimum(d, through)
        return d

    src, dst = paddle.to_tensor([0, 0, 1, 2, 1]), paddle.to_tensor([1, 2, 2, 3, 3])
    yield bellman_ford(src, dst, paddle.to_tensor([4.0, 1.0, 2.0, 5.0, 1.0]), 4)
    yield bellman_ford(src, dst, paddle.to_tensor([1.0, 5.0, -3.0, 2.0, 9.0]), 4)
    yield attempt(
        lambda: bellman_ford(
            paddle.to_tensor([0, 1, 2]),
            paddle.to_tensor([1, 2, 1]),
            paddle.to_tensor([1.0, -2.0, 1.0]),
            3,
        )
    )
    log = []
    d = paddle.to_tensor([[0.0, 3.0, 9.0], [1e9, 0.0, 2.0], [1.0, 1e9, 0.0]])
    yield floyd_warshall(d, on_update=lambda k, n: log.append((k, int(n))))
    yield log
    yield floyd_warshall(paddle.to_tensor([[0.0, 1.0], [1.0, 0.0]]))


@program
def segment_least_squares(convert):
    """Optimal segmentation of a series with a penalty per segment; the split points come back."""

    @convert
    def segment(y, penalty=1.0, max_segments=None):
        n = y.shape[0]
        prefix = paddle.concat([paddle.zeros([1]), paddle.cumsum(y)])
        squares = paddle.concat([paddle.zeros([1]), paddle.cumsum(y * y)])

        def sse(i, j):
            total = prefix[j] - prefix[i]
            return squares[j] - squares[i] - total * total / (j - i)

        best = [paddle.zeros([])]
        split = []
        for j in range(1, n + 1):
            costs = paddle.stack([best[i] + sse(i, j) + penalty for i in range(j)])
            best.append(costs.min())
            split.append(costs.argmin())
        splits = paddle.stack(split)
        position = paddle.to_tensor(n)
        bounds = []
        while position > 0:
            position = splits[position - 1]
            bounds.append(position)
            if max_segments is not None and len(bounds) >= max_segments:
                break
        bounds.reverse()
        return best[-1], bounds

    series = paddle.to_tensor([1.0, 1.1, 0.9, 5.0, 5.2, 4.9, 2.0, 2.1])
    yield segment(series)
    yield segment(series, penalty=20.0)
    yield segment(series.flip(0), penalty=0.5)
    yield segment(series, 0.01, max_segments=3)


@program
def longest_common_subsequence(convert):
    """LCS by anti-diagonals in one tensor, then greedy recovery in a while loop on tensors."""

    class LCS:
        calls = 0

        def __init__(self, keep_table=False):
            self.keep_table = keep_table

        def table(self, a, b):
            n, m = a.shape[0], b.shape[0]
            equal = (a.unsqueeze(1) == b.unsqueeze(0)).astype("int32")
            t = paddle.zeros([n + 1, m + 1], dtype="int32")
            for i in range(n):
                for j in range(m):
                    t[i + 1, j + 1] = paddle.where(
                        equal[i, j] == 1, t[i, j] + 1, paddle.maximum(t[i, j + 1], t[i + 1, j])
                    )
            return t

        def recover(self, a, b):
            LCS.calls += 1
            t = self.table(a, b)
            i = paddle.to_tensor(a.shape[0])
            j = paddle.to_tensor(b.shape[0])
            out = []
            while i > 0 and j > 0:
                if a[i - 1] == b[j - 1]:
                    out.append(a[i - 1])
                    i, j = i - 1, j - 1
                elif t[i - 1, j] >= t[i, j - 1]:
                    i = i - 1
                else:
                    j = j - 1
            result = paddle.stack(out[::-1]) if out else paddle.zeros([0], dtype="int64")
            if self.keep_table:
                return result, t
            return result

    lcs = LCS()
    recover = convert(lcs.recover)
    yield recover(paddle.to_tensor([1, 3, 4, 1]), paddle.to_tensor([3, 1, 4, 1]))
    yield recover(paddle.to_tensor([1, 2, 3, 4]), paddle.to_tensor([1, 2, 3, 4]))
    lcs.keep_table = True
    yield recover(paddle.to_tensor([2, 2, 5]), paddle.to_tensor([5, 2, 2]))
    yield recover(paddle.to_tensor([1, 1]), paddle.to_tensor([2, 2, 2]))
    yield LCS.calls
