"""Decoding written by users: beams as lists of objects, pools of chains, adaptive depth."""

import heapq
from collections import namedtuple
from dataclasses import dataclass
from typing import List

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


def bigrams(vocab, seed, scale=2.0):
    rng = np.random.RandomState(seed)
    return F.log_softmax(
        paddle.to_tensor(rng.randn(vocab, vocab).astype("float32") * scale), axis=-1
    )


@dataclass
class Hyp:
    tokens: List[paddle.Tensor]
    score: paddle.Tensor
    done: bool = False

    def extended(self, token, logp, eos):
        return Hyp(self.tokens + [token], self.score + logp, token == eos)

    def normalised(self, alpha):
        return self.score / ((5.0 + len(self.tokens)) / 6.0) ** alpha


@program
def beams_as_objects_in_a_list(convert):
    """Each step expands every hypothesis, sorts by score and keeps the best; done ones wait."""

    class Searcher:
        def __init__(self, table, width, eos=0, alpha=0.6):
            self.table, self.width, self.eos, self.alpha = table, width, eos, alpha

        def expand(self, hyp):
            if hyp.done:
                return [hyp]
            logp = self.table[hyp.tokens[-1]]
            values, ids = paddle.topk(logp, self.width)
            return [hyp.extended(ids[k], values[k], self.eos) for k in range(self.width)]

        @convert
        def search(self, start, steps):
            beam = [Hyp([start], paddle.to_tensor(0.0))]
            for _ in range(steps):
                candidates = [new for hyp in beam for new in self.expand(hyp)]
                candidates.sort(key=lambda h: h.score, reverse=True)
                beam = candidates[: self.width]
                if all(h.done for h in beam):
                    break
            return max(beam, key=lambda h: h.normalised(self.alpha))

    for width, steps in ((1, 3), (2, 3), (2, 4)):
        searcher = Searcher(bigrams(5, seed=width), width)
        for start in (1, 3):
            best = searcher.search(paddle.to_tensor(start), steps)
            yield paddle.stack(best.tokens), best.score


@program
def beam_in_tensors_with_finished_pool(convert):
    """The usual batch of beams in tensors, with a pool of finished ones and early stopping."""

    Pool = namedtuple("Pool", "scores lengths worst")

    def add_to_pool(pool, scores, length, alpha, finished):
        value = paddle.where(
            finished, scores / float(length) ** alpha, paddle.full_like(scores, -1e9)
        )
        merged = paddle.concat([pool.scores, value])
        lengths = paddle.concat([pool.lengths, paddle.full_like(value, length)])
        top, order = paddle.topk(merged, pool.scores.shape[0])
        return Pool(top, lengths[order], top[-1])

    @convert
    def decode(table, start, width, max_len, alpha=0.7, eos=0):
        vocab = table.shape[0]
        tokens = paddle.full([width, 1], start, dtype="int64")
        scores = paddle.concat([paddle.zeros([1]), paddle.full([width - 1], -1e9)])
        pool = Pool(paddle.full([width], -1e9), paddle.zeros([width]), paddle.to_tensor(-1e9))
        for length in range(1, max_len + 1):
            step = scores.unsqueeze(-1) + table[tokens[:, -1]]
            top, flat = paddle.topk(step.flatten(), 2 * width)
            source, token = flat // vocab, flat % vocab
            is_eos = token == eos
            pool = add_to_pool(pool, top, length, alpha, is_eos)
            live = paddle.where(is_eos, paddle.full_like(top, -1e9), top)
            scores, keep = paddle.topk(live, width)
            tokens = paddle.concat([tokens[source[keep]], token[keep].unsqueeze(-1)], axis=1)
            best_possible = scores[0] / float(max_len) ** alpha
            if pool.worst > -1e8 and best_possible < pool.worst:
                break
        return tokens, scores, pool

    for seed, width, max_len in ((0, 2, 4), (1, 3, 5), (2, 2, 6)):
        yield decode(bigrams(6, seed), 1 + seed, width, max_len)
    yield decode(bigrams(4, 3, scale=6.0), 2, 2, 5, alpha=0.0)


@program
def priority_queue_best_first(convert):
    """Best-first search with heapq over tuples of cost and order, bounded by expansions."""

    @convert
    def best_first(table, start, goal, limit):
        heap = [(paddle.to_tensor(0.0), 0, [start])]
        counter = 0
        expanded = 0
        for _ in range(limit):
            cost, _, path = heapq.heappop(heap)
            expanded += 1
            node = path[-1]
            if node == goal:
                return cost, path, expanded
            row = -table[node]
            values, ids = paddle.topk(-row, 2)
            for k in range(2):
                counter += 1
                heapq.heappush(heap, (cost - values[k], counter, path + [ids[k]]))
        return None, [], expanded

    for seed, goal in ((0, 3), (1, 2)):
        yield best_first(bigrams(5, seed), paddle.to_tensor(0), paddle.to_tensor(goal), limit=4)


@program
def tempered_chains_that_swap(convert):
    """Parallel tempering: Metropolis moves in each chain, swaps of neighbours, adapted steps."""

    @dataclass
    class Chain:
        beta: float
        x: paddle.Tensor
        energy: paddle.Tensor
        step: paddle.Tensor
        accepted: paddle.Tensor

    def energy_of(x):
        return ((x.square() - 1.0) ** 2).sum() + 0.3 * x.sum()

    class Sampler:
        def __init__(self, betas, dim):
            self.chains = [
                Chain(
                    b,
                    paddle.zeros([dim]),
                    energy_of(paddle.zeros([dim])),
                    paddle.to_tensor(0.5),
                    paddle.zeros([]),
                )
                for b in betas
            ]
            self.swaps = 0

        def move(self, chain, noise, u):
            proposal = chain.x + chain.step * noise
            energy = energy_of(proposal)
            if paddle.log(u) < chain.beta * (chain.energy - energy):
                chain.x, chain.energy = proposal, energy
                chain.accepted = chain.accepted + 1
                chain.step = chain.step * 1.05
            else:
                chain.step = paddle.clip(chain.step * 0.97, min=0.05)

        @convert
        def sweep(self, noise, uniforms):
            for i, chain in enumerate(self.chains):
                self.move(chain, noise[i], uniforms[i])
            for a, b in zip(self.chains, self.chains[1:]):
                delta = (a.beta - b.beta) * (a.energy - b.energy)
                if delta > 0 or paddle.exp(delta) > uniforms[-1]:
                    a.x, b.x = b.x, a.x
                    a.energy, b.energy = b.energy, a.energy
                    self.swaps += 1
            return self.chains[0].x

    rng = np.random.RandomState(12)
    sampler = Sampler([1.0, 0.4, 0.1], 2)
    for _ in range(4):
        noise = paddle.to_tensor(rng.randn(3, 2).astype("float32"))
        uniforms = paddle.to_tensor(rng.rand(4).astype("float32"))
        yield sampler.sweep(noise, uniforms), sampler.swaps, sampler.chains


@program
def depth_by_confidence_with_budget(convert):
    """A stack of blocks with an exit after each; a budget over the batch decides who goes on."""

    class Block(nn.Layer):
        def __init__(self, size, classes, index):
            super().__init__()
            rng = np.random.RandomState(20 + index)
            self.index = index
            self.w = self.create_parameter(
                [size, size],
                default_initializer=nn.initializer.Assign(
                    rng.randn(size, size).astype("float32") * 0.7
                ),
            )
            self.head = self.create_parameter(
                [size, classes],
                default_initializer=nn.initializer.Assign(
                    rng.randn(size, classes).astype("float32")
                ),
            )

        def forward(self, h):
            h = h + paddle.tanh(h @ self.w)
            return h, F.softmax(h @ self.head, axis=-1)

    class Adaptive(nn.Layer):
        def __init__(self, depth, size, classes, threshold=0.8):
            super().__init__()
            self.blocks = nn.LayerList([Block(size, classes, i) for i in range(depth)])
            self.threshold = threshold
            self.register_buffer("used", paddle.zeros([depth]))

        @convert
        def forward(self, x, budget=None):
            n = x.shape[0]
            answer = paddle.zeros([n, self.blocks[0].head.shape[1]])
            open_ = paddle.ones([n], dtype="bool")
            spent = paddle.zeros([])
            h = x
            for block in self.blocks:
                h, probs = block(h)
                spent = spent + open_.astype("float32").sum()
                self.used[block.index] += open_.astype("float32").sum()
                sure = probs.max(axis=-1) > self.threshold
                last = block.index == len(self.blocks) - 1
                leave = open_ if last else paddle.logical_and(open_, sure)
                if budget is not None and spent >= budget:
                    leave = open_
                answer = paddle.where(leave.unsqueeze(-1), probs, answer)
                open_ = paddle.logical_and(open_, paddle.logical_not(leave))
                if not open_.any():
                    return answer, spent, block.index
            return answer, spent, len(self.blocks)

    model = Adaptive(3, 4, 3)
    rng = np.random.RandomState(13)
    for size, budget in ((2, None), (5, None), (5, 6.0), (1, None)):
        x = paddle.to_tensor(rng.randn(size, 4).astype("float32"), stop_gradient=False)
        answer, spent, depth = model(x, budget)
        answer.square().sum().backward()
        yield answer, spent, depth, x.grad, model.used
        model.clear_gradients()
    model.threshold = 0.34
    yield model(x)[1:]
