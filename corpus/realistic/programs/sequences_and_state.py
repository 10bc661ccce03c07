"""Models that keep state over calls: caches, filters, schedulers, decoders used as services."""

import math
from collections import deque, namedtuple
from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def streaming_ctc_session(convert):
    """A streaming recogniser: chunks come in, the last frame's symbol carries over, endpoints reset it."""

    class Session:
        def __init__(self, model, blank=0, endpoint_silence=3):
            self.model = model
            self.blank = blank
            self.endpoint_silence = endpoint_silence
            self.reset()

        def reset(self):
            self.hidden = None
            self.last = paddle.full([], -1, dtype="int64")
            self.silence = 0
            self.tokens = []

        def accept(self, chunk):
            out, self.hidden = self.model(chunk, self.hidden)
            ids = out[0].argmax(axis=-1)
            for t in range(ids.shape[0]):
                current = ids[t]
                if current == self.blank:
                    self.silence += 1
                else:
                    self.silence = 0
                    if current != self.last:
                        self.tokens.append(current)
                self.last = current
            if self.silence >= self.endpoint_silence:
                result = paddle.stack(self.tokens) if len(self.tokens) > 0 else None
                self.reset()
                return result, True
            return None, False

    class Recognizer(nn.Layer):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(3, 4)
            self.out = nn.Linear(4, 3)

        def forward(self, x, state=None):
            h, state = self.rnn(x, state)
            return self.out(h) * 3, state

    paddle.seed(21)
    model = Recognizer()
    model.eval()
    session = Session(model)
    accept = convert(session.accept)
    rng = np.random.RandomState(4)
    with paddle.no_grad():
        for k in range(6):
            chunk = rng.randn(1, 3, 3).astype("float32") * (3 if k % 3 else 0)
            yield accept(paddle.to_tensor(chunk))
            yield session.silence, len(session.tokens)


@program
def paged_kv_cache(convert):
    """A block-table KV cache: blocks are taken from a free list as sequences grow."""

    @dataclass
    class Sequence:
        id: int
        length: int = 0
        blocks: List[int] = field(default_factory=list)

    class OutOfBlocks(RuntimeError):
        pass

    class PagedCache:
        def __init__(self, n_blocks=4, block_size=2, dim=3):
            self.store = paddle.zeros([n_blocks, block_size, dim])
            self.block_size = block_size
            self.free = deque(range(n_blocks))

        def append(self, seq, key):
            slot = seq.length % self.block_size
            if slot == 0:
                if not self.free:
                    raise OutOfBlocks(f"sequence {seq.id} needs a block")
                seq.blocks.append(self.free.popleft())
            self.store[seq.blocks[-1], slot] = key
            seq.length += 1

        def gather(self, seq):
            table = paddle.to_tensor(seq.blocks)
            return self.store[table].reshape([-1, self.store.shape[-1]])[: seq.length]

        def release(self, seq):
            self.free.extend(seq.blocks)
            seq.blocks.clear()
            seq.length = 0

    def attend(cache, seq, query, key):
        cache.append(seq, key)
        keys = cache.gather(seq)
        weights = F.softmax(keys @ query / math.sqrt(query.shape[0]), axis=0)
        if weights.max() > 0.9:
            print(f"sequence {seq.id} is peaked")
        return weights @ keys

    cache = PagedCache()
    step = convert(attend)
    a, b = Sequence(0), Sequence(1)
    rng = np.random.RandomState(0)
    for k in range(5):
        seq = a if k % 2 == 0 else b
        q, key = rng.randn(2, 3).astype("float32") * 2
        yield step(cache, seq, paddle.to_tensor(q), key=paddle.to_tensor(key))
        yield seq, list(cache.free)
    cache.release(b)
    for _ in range(4):
        yield attempt(lambda: step(cache, a, paddle.ones([3]), paddle.ones([3])))
    yield attempt(lambda: step(cache, a, paddle.ones([3]), paddle.ones([3])))
    yield cache.store, a


@program
def act_with_remainder(convert):
    """ACT: halting probabilities decide per row when pondering stops; the remainder is a loss term."""

    class ACT(nn.Layer):
        def __init__(self, dim=4, max_steps=5, epsilon=0.05):
            super().__init__()
            self.cell = nn.GRUCell(dim, dim)
            self.halt = nn.Linear(dim, 1)
            self.max_steps, self.epsilon = max_steps, epsilon
            self.register_buffer("mean_steps", paddle.zeros([]))

        def forward(self, x, h=None):
            if h is None:
                h = paddle.zeros_like(x)
            batch = x.shape[0]
            halted = paddle.zeros([batch])
            remainder = paddle.zeros([batch])
            steps = paddle.zeros([batch])
            output = paddle.zeros_like(x)
            for n in range(self.max_steps):
                still = (halted < 1 - self.epsilon).astype("float32")
                if still.sum() == 0:
                    break
                h, _ = self.cell(x, h)
                p = F.sigmoid(self.halt(h)).squeeze(-1) * still
                last = ((halted + p > 1 - self.epsilon).astype("float32")) * still
                if n == self.max_steps - 1:
                    last = still
                weight = paddle.where(last > 0, 1 - halted, p) * still
                remainder = remainder + last * (1 - halted)
                halted = halted + weight
                steps = steps + still
                output = output + weight.unsqueeze(-1) * h
            if self.training:
                self.mean_steps = 0.9 * self.mean_steps + 0.1 * steps.mean()
            return output, (steps + remainder).mean()

    paddle.seed(17)
    layer = ACT()
    model = convert(layer)
    rng = np.random.RandomState(0)
    for batch in (2, 2, 3):
        x = paddle.to_tensor(rng.randn(batch, 4).astype("float32"), stop_gradient=False)
        out, ponder = model(x)
        (out.sum() + 0.1 * ponder).backward()
        yield out, ponder, x.grad, layer.halt.bias.grad
        layer.clear_gradients()
    yield layer.mean_steps
    layer.eval()
    layer.max_steps = 2
    with paddle.no_grad():
        yield model(paddle.ones([1, 4]), h=paddle.ones([1, 4]))
    yield layer.mean_steps


@program
def priority_replay_agent(convert):
    """Q-learning on a corridor with a prioritised buffer, a target network and an epsilon schedule."""

    Transition = namedtuple("Transition", ["state", "action", "reward", "next_state", "done"])

    class Replay:
        def __init__(self, capacity):
            self.capacity = capacity
            self.data: List[Transition] = []
            self.priority = paddle.zeros([capacity])
            self.position = 0

        def push(self, transition):
            if len(self.data) < self.capacity:
                self.data.append(transition)
            else:
                self.data[self.position] = transition
            self.priority[self.position] = self.priority.max().clip(min=1.0)
            self.position = (self.position + 1) % self.capacity

        def sample(self, u):
            weights = self.priority[: len(self.data)] ** 0.6
            cdf = paddle.cumsum(weights / weights.sum())
            index = paddle.searchsorted(cdf, u).clip(max=len(self.data) - 1)
            return index

    class Agent:
        def __init__(self, n_states=5, lr=0.5, gamma=0.9, sync=3):
            self.q = paddle.zeros([n_states, 2])
            self.target = self.q.clone()
            self.replay = Replay(6)
            self.lr, self.gamma, self.sync = lr, gamma, sync
            self.learned = 0

        def act(self, state, epsilon, u):
            if u[0] < epsilon:
                return (u[1] > 0.5).astype("int64")
            return self.q[state].argmax()

        def learn(self, states, actions, rewards, nexts, dones, index):
            target = rewards + self.gamma * self.target[nexts].max(axis=1) * (1 - dones)
            current = self.q[states, actions]
            td = target - current
            for k in range(states.shape[0]):
                self.q[states[k], actions[k]] += self.lr * td[k]
            self.replay.priority[index] = td.abs() + 1e-3
            self.learned += 1
            if self.learned % self.sync == 0:
                self.target = self.q.clone()
            return td.abs().mean()

    agent = Agent()
    act, learn = convert(agent.act), convert(agent.learn)
    rng = np.random.RandomState(9)
    state = 2
    for t in range(8):
        u = paddle.to_tensor(rng.rand(2).astype("float32"))
        action = int(act(paddle.to_tensor(state), max(0.1, 0.8 - 0.1 * t), u))
        nxt = min(max(state + (1 if action else -1), 0), 4)
        done = nxt in (0, 4)
        agent.replay.push(Transition(state, action, float(nxt == 4), nxt, done))
        index = agent.replay.sample(paddle.to_tensor(rng.rand(2).astype("float32")))
        batch = Transition(*zip(*[agent.replay.data[i] for i in index.tolist()]))
        yield learn(
            paddle.to_tensor(batch.state),
            paddle.to_tensor(batch.action),
            paddle.to_tensor(batch.reward),
            paddle.to_tensor(batch.next_state),
            paddle.to_tensor(batch.done).astype("float32"),
            index=index,
        )
        state = 2 if done else nxt
    yield agent


@program
def pointer_network_tour(convert):
    """A pointer decoder over a set of cities: mask of the visited, greedy in eval, forced in training."""

    class PointerDecoder(nn.Layer):
        def __init__(self, dim=4):
            super().__init__()
            self.embed = nn.Linear(2, dim)
            self.cell = nn.LSTMCell(dim, dim)
            self.query = nn.Linear(dim, dim, bias_attr=False)
            self.v = self.create_parameter([dim])

        def scores(self, h, keys, mask):
            e = paddle.tanh(keys + self.query(h).unsqueeze(1)) @ self.v
            return e + mask * -1e4

        def forward(self, cities, tour=None):
            keys = self.embed(cities)
            batch, n = cities.shape[:2]
            mask = paddle.zeros([batch, n])
            inp = keys.mean(axis=1)
            state = None
            picks, nll = [], 0.0
            for t in range(n):
                h, state = self.cell(inp, state)
                logp = F.log_softmax(self.scores(h, keys, mask), axis=-1)
                pick = logp.argmax(-1) if tour is None else tour[:, t]
                nll = nll - paddle.take_along_axis(logp, pick.unsqueeze(1), axis=1).mean()
                mask = mask + F.one_hot(pick, n)
                inp = paddle.take_along_axis(
                    keys, pick.reshape([-1, 1, 1]).expand([batch, 1, keys.shape[-1]]), 1
                ).squeeze(1)
                picks.append(pick)
                if tour is not None and nll > 50:
                    break
            return paddle.stack(picks, axis=1), nll

    class TwoOpt:
        @staticmethod
        def length(points, order):
            p = points[order]
            return paddle.sqrt(((p - paddle.roll(p, -1, axis=0)) ** 2).sum(-1)).sum()

        def improve(self, points, order, max_sweeps=2):
            best = self.length(points, order)
            n = order.shape[0]
            for sweep in range(max_sweeps):
                improved = False
                for i in range(1, n - 1):
                    for j in range(i + 1, n):
                        trial = paddle.concat([order[:i], order[i : j + 1].flip(0), order[j + 1 :]])
                        length = self.length(points, trial)
                        if length < best - 1e-6:
                            order, best, improved = trial, length, True
                if not improved:
                    break
            return order, best

    paddle.seed(33)
    net = PointerDecoder()
    model = convert(net)
    rng = np.random.RandomState(2)
    for batch, n in ((2, 4), (1, 5)):
        cities = paddle.to_tensor(rng.rand(batch, n, 2).astype("float32"))
        net.eval()
        with paddle.no_grad():
            yield model(cities)
        net.train()
        tour = paddle.to_tensor(np.stack([rng.permutation(n) for _ in range(batch)]))
        _, nll = model(cities, tour=tour)
        nll.backward()
        yield nll, net.v.grad
        net.clear_gradients()
    improve = convert(TwoOpt().improve)
    for seed in (0, 1):
        points = paddle.to_tensor(np.random.RandomState(seed).rand(4, 2).astype("float32"))
        yield improve(points, paddle.arange(4))


@program
def spelling_corrector_with_lm(convert):
    """A noisy-channel scorer: candidates from a Python dict, scores on tensors, the best by max()."""

    VOCAB = ["the", "then", "cat", "cart", "car", "sat"]
    INDEX = {w: i for i, w in enumerate(VOCAB)}

    def edits(word):
        splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
        deletes = {l + r[1:] for l, r in splits if r}
        inserts = {l + c + r for l, r in splits for c in "ahnrt"}
        return deletes | inserts | {word}

    class Corrector:
        def __init__(self, bigram, error_cost=1.0):
            self.bigram = bigram
            self.error_cost = error_cost
            self.cache: Dict[Tuple[str, int], Tuple[str, Any]] = {}
            self.hits = 0

        def candidates(self, word):
            return sorted(w for w in edits(word) if w in INDEX) or [VOCAB[0]]

        def best(self, word, previous):
            key = (word, previous)
            if key in self.cache:
                self.hits += 1
                return self.cache[key]
            options = self.candidates(word)
            scores = [
                self.bigram[previous, INDEX[w]] - self.error_cost * (w != word) for w in options
            ]
            stacked = paddle.stack(scores)
            answer = options[int(stacked.argmax())], stacked.max()
            self.cache[key] = answer
            return answer

        def correct(self, text):
            previous, total = 0, paddle.zeros([])
            words = []
            for word in text.lower().split():
                word, score = self.best(word, previous)
                words.append(word)
                total = total + score
                previous = INDEX[word]
            return " ".join(words), total

    bigram = F.log_softmax(
        paddle.to_tensor(np.random.RandomState(7).randn(6, 6).astype("float32") * 2), axis=1
    )
    for cost in (0.1, 3.0):
        corrector = Corrector(bigram, error_cost=cost)
        correct = convert(corrector.correct)
        for text in ("teh cat sat", "The crt st", "cat cat cat", ""):
            yield attempt(lambda: correct(text))
        yield corrector.hits, sorted(corrector.cache)
