"""Decoding and search: greedy, beam, nucleus sampling, CTC, constrained, A*, tree search."""

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


def bigram_lm(vocab, seed=0, scale=1.5):
    rng = np.random.RandomState(seed)
    return paddle.to_tensor((rng.randn(vocab, vocab) * scale).astype("float32"))


@dataclass
class GenerationConfig:
    max_new_tokens: int = 6
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    eos_token_id: int = 0
    pad_token_id: int = 0
    do_sample: bool = False


@program
def generation_mixin(convert):
    """A generate() with a config object, logits processors, a KV cache and an EOS stop."""

    class TinyDecoder(nn.Layer):
        def __init__(self, vocab=12, dim=8):
            super().__init__()
            self.wte = nn.Embedding(vocab, dim)
            self.q_proj = nn.Linear(dim, dim)
            self.k_proj = nn.Linear(dim, dim)
            self.v_proj = nn.Linear(dim, dim)
            self.lm_head = nn.Linear(dim, vocab)
            self.dim = dim

        def decode(self, ids, cache=None):
            h = self.wte(ids)
            q, k, v = self.q_proj(h), self.k_proj(h), self.v_proj(h)
            if cache is not None:
                k = paddle.concat(x=[cache[0], k], axis=1)
                v = paddle.concat(x=[cache[1], v], axis=1)
            scores = paddle.matmul(q, k, transpose_y=True) / math.sqrt(self.dim)
            q_len, k_len = scores.shape[-2], scores.shape[-1]
            if q_len > 1:
                mask = paddle.tril(paddle.ones([q_len, k_len]), diagonal=k_len - q_len)
                scores = paddle.where(mask > 0, scores, paddle.full_like(scores, -1e4))
            h = h + paddle.matmul(F.softmax(scores, axis=-1), v)
            return self.lm_head(h), (k, v)

    class Generator:
        def __init__(self, model, config):
            self.model = model
            self.config = config

        def process(self, logits, generated):
            cfg = self.config
            if cfg.repetition_penalty != 1.0:
                picked = paddle.take_along_axis(logits, generated, axis=1)
                picked = paddle.where(
                    picked < 0, picked * cfg.repetition_penalty, picked / cfg.repetition_penalty
                )
                logits = paddle.put_along_axis(logits, generated, picked, axis=1)
            if cfg.temperature != 1.0:
                logits = logits / cfg.temperature
            if cfg.top_k > 0:
                kth = paddle.topk(logits, k=min(cfg.top_k, logits.shape[-1]))[0][:, -1:]
                logits = paddle.where(logits < kth, paddle.full_like(logits, -1e4), logits)
            return logits

        def generate(self, input_ids):
            cfg = self.config
            generated = input_ids
            unfinished = paddle.ones([input_ids.shape[0], 1], dtype="int64")
            logits, cache = self.model.decode(input_ids)
            for _ in range(cfg.max_new_tokens):
                next_logits = self.process(logits[:, -1, :], generated)
                if cfg.do_sample:
                    next_token = paddle.multinomial(F.softmax(next_logits, axis=-1))
                else:
                    next_token = paddle.argmax(next_logits, axis=-1, keepdim=True)
                next_token = next_token * unfinished + cfg.pad_token_id * (1 - unfinished)
                generated = paddle.concat([generated, next_token], axis=1)
                unfinished = unfinished * (next_token != cfg.eos_token_id).astype("int64")
                if not paddle.any(unfinished.astype("bool")):
                    break
                logits, cache = self.model.decode(next_token, cache=cache)
            return generated

    paddle.seed(11)
    model = TinyDecoder()
    model.eval()
    prompt = paddle.to_tensor([[3, 5, 7], [1, 1, 2]])
    configs = [
        GenerationConfig(),
        GenerationConfig(repetition_penalty=1.3, temperature=0.7, eos_token_id=4),
        GenerationConfig(top_k=3, max_new_tokens=3, eos_token_id=9, pad_token_id=11),
        GenerationConfig(do_sample=True, top_k=4, temperature=1.5),
    ]
    with paddle.no_grad():
        for config in configs:
            generator = Generator(model, config)
            generator.generate = convert(generator.generate)
            yield generator.generate(prompt)
            yield generator.generate(prompt[:, :2])
            yield generator.generate(prompt[:1])


@program
def top_p_sampling_from_uniforms(convert):
    """Top-p filtering and inverse-CDF sampling from given uniforms, with a floor on kept tokens."""

    def top_p_filter(probs, top_p, min_keep=1):
        sorted_probs = paddle.sort(probs, axis=-1, descending=True)
        order = paddle.argsort(probs, axis=-1, descending=True)
        cumulative = paddle.cumsum(sorted_probs, axis=-1)
        drop = cumulative - sorted_probs > top_p
        drop[:, :min_keep] = False
        sorted_probs = paddle.where(drop, paddle.zeros_like(sorted_probs), sorted_probs)
        filtered = paddle.put_along_axis(paddle.zeros_like(probs), order, sorted_probs, axis=-1)
        return filtered / filtered.sum(axis=-1, keepdim=True)

    class NucleusSampler:
        def __init__(self, table, top_p=0.9, temperature=1.0):
            self.table = table
            self.top_p = top_p
            self.temperature = temperature
            self.history = []

        @convert
        def step(self, token, uniform):
            logits = self.table[token]
            if self.temperature == 0:
                choice = logits.argmax(axis=-1)
            else:
                probs = F.softmax(logits / self.temperature, axis=-1)
                probs = top_p_filter(probs, self.top_p)
                cdf = paddle.cumsum(probs, axis=-1)
                choice = (cdf < uniform.unsqueeze(-1)).astype("int64").sum(axis=-1)
                choice = paddle.clip(choice, max=logits.shape[-1] - 1)
            entropy = None
            if self.temperature > 0:
                entropy = -(probs * paddle.log(probs + 1e-9)).sum(-1)
                if (entropy < 0.1).all():
                    print("low entropy")
            self.history.append(choice)
            return choice, entropy

    table = bigram_lm(10, seed=4)
    rng = np.random.RandomState(0)
    for temperature, top_p in ((1.0, 0.9), (0.5, 0.5), (0, 1.0), (0.05, 0.3)):
        sampler = NucleusSampler(table, top_p=top_p, temperature=temperature)
        token = paddle.to_tensor([1, 2, 3])
        for _ in range(4):
            token, entropy = sampler.step(token, paddle.to_tensor(rng.rand(3).astype("float32")))
            yield token, entropy
        yield paddle.stack(sampler.history, axis=1)


@program
def beam_search_with_length_penalty(convert):
    """Batched beam search keeping a pool of finished hypotheses on tensors; stops when none can win."""

    class BeamSearch:
        def __init__(self, vocab_size, beam_size, eos, length_penalty=0.6, early_stopping=True):
            self.vocab_size = vocab_size
            self.beam_size = beam_size
            self.eos = eos
            self.length_penalty = length_penalty
            self.early_stopping = early_stopping

        def normalizer(self, length):
            return ((5.0 + length) / 6.0) ** self.length_penalty

        def search(self, step_fn, start_ids, max_len):
            batch = start_ids.shape[0]
            k, v = self.beam_size, self.vocab_size
            ids = paddle.tile(start_ids.reshape([batch, 1, 1]), repeat_times=[1, k, 1])
            log_probs = paddle.to_tensor([0.0] + [-1e9] * (k - 1)).unsqueeze(0).expand([batch, k])
            best_score = paddle.full([batch], -1e9)
            best_ids = paddle.full([batch, max_len + 1], self.eos, dtype="int64")
            for step in range(max_len):
                scores = step_fn(ids[:, :, -1].reshape([-1])).reshape([batch, k, v])
                total = (log_probs.unsqueeze(-1) + scores).reshape([batch, k * v])
                top, index = paddle.topk(total, k=2 * k, axis=-1)
                beam_id, token = index // v, index % v
                candidates = paddle.concat(
                    [
                        paddle.take_along_axis(
                            ids, beam_id.unsqueeze(-1).expand([batch, 2 * k, ids.shape[-1]]), axis=1
                        ),
                        token.unsqueeze(-1),
                    ],
                    axis=-1,
                )
                is_eos = token == self.eos
                done_score = paddle.where(
                    is_eos, top / self.normalizer(step + 1), paddle.full_like(top, -1e9)
                )
                score, at = done_score.max(axis=-1), done_score.argmax(axis=-1)
                better = score > best_score
                if better.any():
                    winner = paddle.take_along_axis(
                        candidates, at.reshape([-1, 1, 1]).expand([batch, 1, step + 2]), axis=1
                    ).squeeze(1)
                    winner = F.pad(winner, [0, max_len - step - 1], value=self.eos)
                    best_ids = paddle.where(better.unsqueeze(-1), winner, best_ids)
                    best_score = paddle.where(better, score, best_score)
                alive = paddle.where(is_eos, paddle.full_like(top, -1e9), top)
                log_probs, keep = paddle.topk(alive, k=k, axis=-1)
                ids = paddle.take_along_axis(
                    candidates, keep.unsqueeze(-1).expand([batch, k, step + 2]), axis=1
                )
                if self.early_stopping:
                    bound = log_probs[:, 0] / self.normalizer(max_len)
                    if paddle.all(best_score > bound):
                        break
            return best_ids, best_score

    def make_step(table):
        def step_fn(tokens):
            return F.log_softmax(table[tokens], axis=-1)

        return step_fn

    for seed, beam_size, kwargs in (
        (0, 2, {}),
        (1, 3, {"length_penalty": 0.0}),
        (2, 2, {"early_stopping": False}),
    ):
        searcher = BeamSearch(8, beam_size, eos=7, **kwargs)
        run = convert(searcher.search)
        yield run(make_step(bigram_lm(8, seed)), paddle.to_tensor([1, 2]), max_len=5)
        yield run(make_step(bigram_lm(8, seed + 10)), paddle.to_tensor([3, 0, 5]), max_len=4)


@program
def ctc_greedy_decoder(convert):
    """Best path, merged repeats, removed blanks; variable lengths padded; a confidence per sample."""

    class CTCGreedyDecoder(nn.Layer):
        def __init__(self, blank=0, pad=-1, min_confidence=0.0):
            super().__init__()
            self.blank = blank
            self.pad = pad
            self.min_confidence = min_confidence
            self.register_buffer("seen", paddle.zeros([1], dtype="int64"))

        def forward(self, logits, lengths):
            probs = F.softmax(logits, axis=-1)
            conf, path = probs.max(axis=-1), probs.argmax(axis=-1)
            batch, time = path.shape
            previous = paddle.concat(
                [paddle.full([batch, 1], -1, dtype="int64"), path[:, :-1]], axis=1
            )
            inside = paddle.arange(time).unsqueeze(0) < lengths.unsqueeze(1)
            keep = (path != self.blank) & (path != previous) & inside
            if self.min_confidence > 0:
                keep = keep & (conf > self.min_confidence)
            rows = []
            longest = int(keep.astype("int64").sum(axis=1).max())
            for b in range(batch):
                tokens = paddle.masked_select(path[b], keep[b])
                n = tokens.shape[0]
                if n < longest:
                    tokens = paddle.concat(
                        [tokens, paddle.full([longest - n], self.pad, dtype="int64")]
                    )
                rows.append(tokens)
            self.seen += batch
            if longest == 0:
                return None, conf.mean()
            return paddle.stack(rows), (conf * inside.astype(conf.dtype)).sum(1) / lengths.astype(
                conf.dtype
            )

    decoder = CTCGreedyDecoder()
    decoder = convert(decoder)
    rng = np.random.RandomState(3)
    for batch, time in ((2, 7), (3, 7), (2, 5)):
        logits = paddle.to_tensor(rng.randn(batch, time, 4).astype("float32") * 2)
        lengths = paddle.to_tensor(rng.randint(2, time + 1, size=batch))
        yield decoder(logits, lengths)
    decoder.min_confidence = 0.999
    yield decoder(paddle.zeros([1, 4, 4]), paddle.to_tensor([4]))
    yield decoder.seen


@program
def ctc_prefixes_in_a_dict(convert):
    """The textbook prefix beam search with a dict of prefixes; probabilities stay tensors."""

    def log_add(*args):
        return paddle.logsumexp(paddle.stack(list(args)), axis=0)

    @convert
    def prefix_beam_search(log_probs, beam_width: int = 3, blank: int = 0, lm_weight: float = 0.0):
        neg_inf = paddle.to_tensor(-1e9)
        steps, symbols = log_probs.shape
        beams = {(): (paddle.to_tensor(0.0), neg_inf)}
        for t in range(steps):
            next_beams = defaultdict(lambda: (neg_inf, neg_inf))
            for prefix, (p_blank, p_label) in beams.items():
                for s in range(symbols):
                    p = log_probs[t, s]
                    if s == blank:
                        nb, nl = next_beams[prefix]
                        next_beams[prefix] = (log_add(nb, p_blank + p, p_label + p), nl)
                        continue
                    extended = prefix + (s,)
                    nb, nl = next_beams[extended]
                    if prefix and s == prefix[-1]:
                        next_beams[extended] = (nb, log_add(nl, p_blank + p))
                        sb, sl = next_beams[prefix]
                        next_beams[prefix] = (sb, log_add(sl, p_label + p))
                    else:
                        bonus = lm_weight * len(extended)
                        next_beams[extended] = (nb, log_add(nl, p_blank + p, p_label + p) + bonus)
            ranked = sorted(
                next_beams.items(), key=lambda item: float(log_add(*item[1])), reverse=True
            )
            beams = dict(ranked[:beam_width])
        best = next(iter(beams))
        return list(best), log_add(*beams[best])

    rng = np.random.RandomState(5)
    for seed, width in ((0, 2), (1, 3)):
        log_probs = F.log_softmax(paddle.to_tensor(rng.randn(3, 3).astype("float32")), axis=-1)
        yield prefix_beam_search(log_probs, beam_width=width)
    yield prefix_beam_search(log_probs, beam_width=2, lm_weight=0.5)


@program
def trie_constrained_decoding(convert):
    """Greedy decoding where only continuations in a trie of phrases are allowed."""

    class TrieNode:
        def __init__(self):
            self.children: Dict[int, "TrieNode"] = {}
            self.is_end = False

    class Trie:
        def __init__(self, phrases):
            self.root = TrieNode()
            for phrase in phrases:
                node = self.root
                for token in phrase:
                    node = node.children.setdefault(token, TrieNode())
                node.is_end = True

        def allowed(self, prefix, eos):
            node = self.root
            for token in prefix:
                if token not in node.children:
                    return [eos]
                node = node.children[token]
            out = sorted(node.children)
            if node.is_end or not out:
                out.append(eos)
            return out

    class ConstrainedDecoder:
        def __init__(self, table, trie, eos):
            self.table, self.trie, self.eos = table, trie, eos
            self.vocab = table.shape[0]

        def mask_for(self, prefix):
            mask = paddle.full([self.vocab], -1e9)
            for token in self.trie.allowed(prefix, self.eos):
                mask[token] = 0.0
            return mask

        def decode(self, start, max_len=6):
            prefix = []
            score = paddle.zeros([])
            last = start
            while len(prefix) < max_len:
                logp = F.log_softmax(self.table[last] + self.mask_for(prefix), axis=-1)
                token = int(paddle.argmax(logp))
                score = score + logp[token]
                if token == self.eos:
                    break
                prefix.append(token)
                last = token
            return prefix, score

    trie = Trie([[1, 2, 3], [1, 2, 4, 5], [2, 2], [6]])
    for seed in (0, 1, 2):
        decoder = ConstrainedDecoder(bigram_lm(8, seed), trie, eos=7)
        decode = convert(decoder.decode)
        for start in (0, 3):
            yield decode(start)
        yield decode(5, max_len=1)


@program
def speculative_decoding(convert):
    """A draft model proposes gamma tokens; the target accepts a prefix and resamples one."""

    @dataclass
    class Stats:
        proposed: int = 0
        accepted: int = 0
        rounds: List[int] = field(default_factory=list)

    class Speculative:
        def __init__(self, draft, target, gamma=3):
            self.draft = F.softmax(draft, axis=-1)
            self.target = F.softmax(target, axis=-1)
            self.gamma = gamma
            self.stats = Stats()

        def verify(self, token, uniforms):
            proposal, q = [], []
            last = token
            for _ in range(self.gamma):
                dist = self.draft[last]
                last = dist.argmax()
                proposal.append(last)
                q.append(dist[last])
            accepted = []
            last = token
            for i, candidate in enumerate(proposal):
                p = self.target[last]
                ratio = p[candidate] / q[i]
                if uniforms[i] > ratio:
                    residual = F.relu(p - self.draft[last])
                    if residual.sum() > 0:
                        replacement = residual.argmax()
                    else:
                        replacement = p.argmax()
                    accepted.append(replacement)
                    break
                accepted.append(candidate)
                last = candidate
            else:
                accepted.append(self.target[last].argmax())
            self.stats.proposed += self.gamma
            self.stats.accepted += len(accepted) - 1
            self.stats.rounds.append(len(accepted))
            return accepted

    rng = np.random.RandomState(2)
    for seed in (0, 3):
        target = bigram_lm(6, seed)
        spec = Speculative(target + 0.5 * bigram_lm(6, seed + 1), target)
        verify = convert(spec.verify)
        token = paddle.to_tensor(1)
        for _ in range(4):
            out = verify(token, paddle.to_tensor(rng.rand(3).astype("float32")))
            token = out[-1]
            yield out
        yield spec.stats


@program
def astar_on_grid(convert):
    """A* over a grid of tensor costs with a heap of Python tuples and a came-from dict."""

    @convert
    def astar(cost, start: Tuple[int, int], goal: Tuple[int, int], wall: float = 9.0, weight=1.0):
        rows, cols = cost.shape

        def heuristic(node):
            return weight * (abs(node[0] - goal[0]) + abs(node[1] - goal[1]))

        frontier = [(heuristic(start), 0.0, start)]
        best = {start: 0.0}
        came_from: Dict[Tuple[int, int], Optional[Tuple[int, int]]] = {start: None}
        expanded = 0
        while frontier:
            _, g, node = heapq.heappop(frontier)
            if node == goal:
                break
            if g > best[node]:
                continue
            expanded += 1
            for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                r, c = node[0] + dr, node[1] + dc
                if not (0 <= r < rows and 0 <= c < cols):
                    continue
                step = cost[r, c].item()
                if step >= wall:
                    continue
                total = g + step
                if total < best.get((r, c), float("inf")):
                    best[(r, c)] = total
                    came_from[(r, c)] = node
                    heapq.heappush(frontier, (total + heuristic((r, c)), total, (r, c)))
        else:
            return None, expanded
        path = []
        current = goal
        while current is not None:
            path.append(current)
            current = came_from[current]
        return path[::-1], paddle.to_tensor([float(cost[p]) for p in path[::-1]]).sum()

    cost = np.random.RandomState(0).randint(1, 10, size=(4, 5)).astype("float32")
    cost[0, 0] = cost[3, 4] = 1
    yield astar(paddle.to_tensor(cost), (0, 0), (3, 4))
    yield astar(paddle.to_tensor(cost), (0, 0), (3, 4), wall=6.0)
    yield astar(paddle.to_tensor(np.full([3, 3], 9.0, "float32")), (0, 0), (2, 2))
    yield astar(paddle.ones([3, 3]), (0, 0), (2, 2), weight=2.0)


@program
def monte_carlo_tree_search(convert):
    """PUCT search on a take-away game with a value network; nodes are Python objects."""

    class Node:
        __slots__ = ("prior", "visits", "value_sum", "children")

        def __init__(self, prior):
            self.prior = prior
            self.visits = 0
            self.value_sum = 0.0
            self.children = {}

        @property
        def value(self):
            return self.value_sum / self.visits if self.visits else 0.0

    class Network(nn.Layer):
        def __init__(self, hidden=8):
            super().__init__()
            self.body = nn.Linear(2, hidden)
            self.policy = nn.Linear(hidden, 3)
            self.value_head = nn.Linear(hidden, 1)

        def forward(self, state):
            h = F.tanh(self.body(state))
            return F.softmax(self.policy(h), axis=-1), F.tanh(self.value_head(h)).squeeze(-1)

    class MCTS:
        def __init__(self, network, c_puct=1.5):
            self.network = network
            self.c_puct = c_puct
            self.evaluations = 0

        def evaluate(self, stones, player):
            self.evaluations += 1
            state = paddle.to_tensor([[stones / 10.0, float(player)]])
            priors, value = self.network(state)
            return priors[0], value[0]

        def select(self, node):
            total = math.sqrt(node.visits)
            return max(
                node.children.items(),
                key=lambda kv: kv[1].value + self.c_puct * kv[1].prior * total / (1 + kv[1].visits),
            )

        def simulate(self, node, stones, player):
            node.visits += 1
            if stones == 0:
                value = -1.0
            elif not node.children:
                priors, value = self.evaluate(stones, player)
                for move in range(1, min(3, stones) + 1):
                    node.children[move] = Node(float(priors[move - 1]))
                value = float(value)
            else:
                move, child = self.select(node)
                value = -self.simulate(child, stones - move, 1 - player)
            node.value_sum += -value
            return value

        def search(self, stones, simulations=8):
            root = Node(1.0)
            for _ in range(simulations):
                self.simulate(root, stones, 0)
            counts = paddle.zeros([3])
            for move, child in root.children.items():
                counts[move - 1] = child.visits
            return counts / counts.sum(), root.value

    network = Network()
    network.forward = convert(network.forward)
    mcts = MCTS(network)
    for stones in (3, 5, 7):
        yield mcts.search(stones)
    whole = MCTS(Network())
    search = convert(whole.search)
    yield search(4, simulations=5)
    yield whole.evaluations


@program
def no_repeat_ngram_and_min_length(convert):
    """A logits-processor pipeline: callables in a list, banned n-grams found on tensors."""

    class NoRepeatNGram:
        def __init__(self, n):
            self.n = n

        def __call__(self, ids, logits):
            n, length = self.n, ids.shape[1]
            if length + 1 < n:
                return logits
            tail = ids[:, length - n + 1 :]
            penalty = paddle.zeros_like(logits)
            for start in range(length - n + 1):
                window = ids[:, start : start + n - 1]
                same = (window == tail).all(axis=1)
                banned = F.one_hot(ids[:, start + n - 1], num_classes=logits.shape[-1])
                penalty = penalty + banned * same.astype("float32").unsqueeze(-1)
            return paddle.where(penalty > 0, paddle.full_like(logits, float("-inf")), logits)

    class MinLength:
        def __init__(self, minimum, eos):
            self.minimum, self.eos = minimum, eos
            self.applied = 0

        def __call__(self, ids, logits):
            if ids.shape[1] < self.minimum:
                logits = logits.clone()
                logits[:, self.eos] = float("-inf")
                self.applied += 1
            return logits

    class ProcessorList(list):
        def __call__(self, ids, logits):
            for processor in self:
                logits = processor(ids, logits)
            return logits

    table = bigram_lm(6, seed=9)
    min_length = MinLength(4, eos=0)
    processors = ProcessorList([NoRepeatNGram(2), min_length])

    @convert
    def decode(ids, max_length):
        while ids.shape[1] < max_length:
            logits = processors(ids, table[ids[:, -1]])
            token = logits.argmax(-1)
            ids = paddle.concat([ids, token.unsqueeze(1)], axis=1)
            if (token == 0).all():
                break
        return ids

    yield decode(paddle.to_tensor([[1, 2]]), 8)
    yield decode(paddle.to_tensor([[1, 2], [3, 3]]), 7)
    yield decode(paddle.to_tensor([[4]]), max_length=5)
    processors.pop(0)
    yield decode(paddle.to_tensor([[1, 2]]), 8)
    yield min_length.applied
