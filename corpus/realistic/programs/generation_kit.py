"""What surrounds a language model when text is generated: processors, criteria, scorers, trees."""

import collections
import heapq
import inspect
from abc import ABC, abstractmethod
from enum import Enum

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


class TinyLM(nn.Layer):
    """An embedding, a GRU cell and a head; the state is the cache."""

    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.vocab, self.dim = vocab, dim
        self.embed = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, cache=None):
        if cache is None:
            cache = paddle.zeros([ids.shape[0], self.dim])
        for t in range(ids.shape[1]):
            _, cache = self.cell(self.embed(ids[:, t]), cache)
        return self.head(cache) * 3.0, cache


@program
def generation_with_processor_lists(convert):
    """PaddleNLP's way: lists of processors and criteria, flags of the unfinished, padding."""

    class LogitsProcessor(ABC):
        @abstractmethod
        def __call__(self, input_ids, logits): ...

    class LogitsProcessorList(collections.OrderedDict):
        def __call__(self, input_ids, logits, **kwargs):
            for processor in self.values():
                wanted = inspect.signature(processor.__call__).parameters
                extra = {k: v for k, v in kwargs.items() if k in wanted}
                logits = processor(input_ids, logits, **extra)
            return logits

    class MinLength(LogitsProcessor):
        def __init__(self, min_length, eos_token_id):
            self.min_length, self.eos_token_id = min_length, eos_token_id

        def __call__(self, input_ids, logits):
            if input_ids.shape[-1] < self.min_length:
                logits[:, self.eos_token_id] = paddle.finfo(logits.dtype).min
            return logits

    class RepetitionPenalty(LogitsProcessor):
        def __init__(self, penalty=1.0):
            self.penalty = penalty

        def __call__(self, input_ids, logits):
            score = paddle.index_sample(logits, input_ids)
            score = paddle.where(score < 0, score * self.penalty, score / self.penalty)
            rows = paddle.arange(logits.shape[0]).unsqueeze(-1) * logits.shape[-1]
            flat = paddle.scatter(
                logits.flatten(), (input_ids + rows).flatten(), score.flatten(), overwrite=True
            )
            return flat.reshape(logits.shape)

    class Temperature(LogitsProcessor):
        def __call__(self, input_ids, logits, temperature=1.0):
            return logits / temperature

    class MaxLengthCriteria:
        def __init__(self, max_length):
            self.max_length = max_length

        def __call__(self, input_ids, logits):
            return input_ids.shape[-1] >= self.max_length

    class RepeatedTokenCriteria:
        def __init__(self, times=3):
            self.times = times

        def __call__(self, input_ids, logits):
            if input_ids.shape[-1] < self.times:
                return False
            tail = input_ids[:, -self.times :]
            return bool((tail == tail[:, :1]).all())

    class Generator(TinyLM):
        @convert
        def generate(self, input_ids, processors, criteria, eos=0, pad=0, **kwargs):
            cur_len = input_ids.shape[-1]
            unfinished = paddle.full([input_ids.shape[0], 1], True, dtype="bool")
            scores = paddle.zeros([input_ids.shape[0], 1])
            cache, feed = None, input_ids
            while True:
                logits, cache = self(feed, cache)
                logits = processors(input_ids, logits, **kwargs)
                probs = F.log_softmax(logits, axis=-1)
                next_score, next_tokens = paddle.topk(probs, 1)
                next_tokens = paddle.where(
                    unfinished, next_tokens, paddle.full_like(next_tokens, pad)
                )
                scores = paddle.where(unfinished, scores + next_score, scores)
                input_ids = paddle.concat([input_ids, next_tokens], axis=1)
                cur_len += 1
                unfinished = paddle.logical_and(unfinished, next_tokens != eos)
                if any(c(input_ids, scores) for c in criteria) or not paddle.any(unfinished):
                    break
                feed = next_tokens
            return input_ids, scores / cur_len

    paddle.seed(5)
    model = Generator()
    model.eval()
    full = LogitsProcessorList(min=MinLength(5, 0), rep=RepetitionPenalty(1.3), temp=Temperature())
    with paddle.no_grad():
        for prompt in ([[3, 4]], [[1, 2], [5, 6]], [[7, 8, 9]]):
            ids = paddle.to_tensor(prompt)
            yield model.generate(ids, full, [MaxLengthCriteria(9)], temperature=0.7)
        yield model.generate(ids, LogitsProcessorList(), [MaxLengthCriteria(7)])
        yield model.generate(ids, full, [MaxLengthCriteria(12), RepeatedTokenCriteria(2)])


@program
def beam_scorer_with_hypotheses(convert):
    """Hugging Face's scorer: hypotheses per sentence in a list that keeps its worst score."""

    class BeamHypotheses:
        def __init__(self, num_beams, length_penalty, early_stopping):
            self.num_beams = num_beams
            self.length_penalty = length_penalty
            self.early_stopping = early_stopping
            self.beams = []
            self.worst_score = 1e9

        def __len__(self):
            return len(self.beams)

        def add(self, hyp, sum_logprobs):
            score = sum_logprobs / (hyp.shape[-1] ** self.length_penalty)
            if len(self) < self.num_beams or score > self.worst_score:
                self.beams.append((score, hyp))
                if len(self) > self.num_beams:
                    ranked = sorted([(s, i) for i, (s, _) in enumerate(self.beams)])
                    del self.beams[ranked[0][1]]
                    self.worst_score = ranked[1][0]
                else:
                    self.worst_score = min(score, self.worst_score)

        def is_done(self, best_sum_logprobs, cur_len):
            if len(self) < self.num_beams:
                return False
            if self.early_stopping:
                return True
            return self.worst_score >= best_sum_logprobs / cur_len**self.length_penalty

    @convert
    def beam_search(model, prompt, num_beams=2, max_len=6, eos=0, penalty=1.0, early=False):
        batch = prompt.shape[0]
        hyps = [BeamHypotheses(num_beams, penalty, early) for _ in range(batch)]
        ids = paddle.repeat_interleave(prompt, num_beams, axis=0)
        logits, cache = model(ids)
        scores = paddle.zeros([batch, num_beams])
        scores[:, 1:] = -1e9
        done = [False] * batch
        while ids.shape[1] < max_len:
            logp = F.log_softmax(logits, axis=-1).reshape([batch, num_beams, -1])
            total = (scores.unsqueeze(-1) + logp).reshape([batch, -1])
            values, picks = paddle.topk(total, 2 * num_beams, axis=1)
            next_scores = paddle.zeros([batch, num_beams])
            next_tokens = paddle.zeros([batch, num_beams], dtype="int64")
            next_beams = paddle.zeros([batch, num_beams], dtype="int64")
            for b in range(batch):
                if done[b]:
                    continue
                slot = 0
                for rank in range(2 * num_beams):
                    token = int(picks[b, rank]) % model.vocab
                    beam = int(picks[b, rank]) // model.vocab
                    score = float(values[b, rank])
                    if token == eos:
                        if rank < num_beams:
                            hyps[b].add(ids[b * num_beams + beam].clone(), score)
                        continue
                    next_scores[b, slot] = score
                    next_tokens[b, slot] = token
                    next_beams[b, slot] = b * num_beams + beam
                    slot += 1
                    if slot == num_beams:
                        break
                done[b] = hyps[b].is_done(float(values[b].max()), ids.shape[1])
            if all(done):
                break
            scores = next_scores
            index = next_beams.flatten()
            ids = paddle.concat(
                [paddle.index_select(ids, index), next_tokens.reshape([-1, 1])], axis=1
            )
            logits, cache = model(ids[:, -1:], paddle.index_select(cache, index))
        results = []
        for b in range(batch):
            if not done[b]:
                for k in range(num_beams):
                    hyps[b].add(ids[b * num_beams + k], float(scores[b, k]))
            best = sorted(hyps[b].beams, key=lambda pair: pair[0])[-1]
            results.append((best[1], round(best[0], 4)))
        return results

    paddle.seed(8)
    model = TinyLM(vocab=7)
    model.eval()
    for prompt in ([[1, 2]], [[3, 4], [5, 6]]):
        for early in (False, True):
            yield beam_search(model, paddle.to_tensor(prompt), early=early, penalty=0.8)
    yield beam_search(model, paddle.to_tensor([[2]]), num_beams=3, max_len=8)


@program
def classifier_free_guidance_for_text(convert):
    """Two runs of a model, with and without the prompt, mixed; the negative prompt may change."""

    class GuidedSampler:
        def __init__(self, model, scale=1.5, smooth=1.0):
            self.model, self.scale, self.smooth = model, scale, smooth
            self._uncond = None

        def reset(self):
            self._uncond = None

        @convert
        def processed(self, ids, logits, negative=None):
            logp = F.log_softmax(logits, axis=-1)
            if self.scale == 1:
                return logp
            if self._uncond is None:
                start = negative if negative is not None else ids[:, -1:]
                other, self._uncond = self.model(start)
            else:
                other, self._uncond = self.model(ids[:, -1:], self._uncond)
            other = F.log_softmax(other, axis=-1)
            out = self.scale * (logp - other) + other
            return self.smooth * out + (1 - self.smooth) * logp

        def __call__(self, prompt, steps, uniforms, negative=None):
            self.reset()
            ids = prompt
            logits, cache = self.model(ids)
            for step in range(steps):
                logp = self.processed(ids, logits, negative=negative)
                cdf = F.softmax(logp, axis=-1).cumsum(axis=-1)
                token = (cdf < uniforms[step].reshape([-1, 1])).astype("int64").sum(-1)
                token = token.clip(max=self.model.vocab - 1)
                ids = paddle.concat([ids, token.unsqueeze(1)], axis=1)
                logits, cache = self.model(token.unsqueeze(1), cache)
            return ids, logits

    paddle.seed(11)
    model = TinyLM()
    model.eval()
    rng = np.random.RandomState(1)
    for scale, smooth in ((1.0, 1.0), (1.5, 1.0), (3.0, 0.6)):
        sampler = GuidedSampler(model, scale, smooth)
        u = paddle.to_tensor(rng.rand(5, 2).astype("float32"))
        with paddle.no_grad():
            yield sampler(paddle.to_tensor([[1, 2], [3, 4]]), 5, u)
            yield sampler(paddle.to_tensor([[1], [3]]), 3, u, paddle.to_tensor([[5], [6]]))


@program
def verification_of_a_draft_tree(convert):
    """Medusa: heads propose a tree, a mask says who sees whom, the longest accepted path stays."""

    class Acceptance(Enum):
        GREEDY = "greedy"
        TYPICAL = "typical"

    def tree_of(choices):
        """Parents and depths of the nodes of a tree that is given by paths."""
        order = sorted(choices, key=lambda path: (len(path), path))
        place = {path: i + 1 for i, path in enumerate(order)}
        parents = [0] + [place.get(path[:-1], 0) for path in order]
        depths = [0] + [len(path) for path in order]
        mask = np.eye(len(order) + 1, dtype="float32")
        for node in range(1, len(order) + 1):
            mask[node] += mask[parents[node]]
        return order, parents, depths, paddle.to_tensor(mask > 0)

    @convert
    def verify(logits, tokens, parents, depths, rule, temperature=0.7, epsilon=0.3, delta=0.5):
        probs = F.softmax(logits / temperature, axis=-1)
        entropy = -(probs * paddle.log(probs + 1e-9)).sum(-1)
        threshold = paddle.minimum(paddle.full_like(entropy, epsilon), paddle.exp(-entropy) * delta)
        accepted = [paddle.to_tensor(True)]
        for node in range(1, len(parents)):
            parent = parents[node]
            if rule is Acceptance.GREEDY:
                ok = tokens[node] == logits[parent].argmax()
            else:
                ok = probs[parent, tokens[node]] > threshold[parent]
            accepted.append(paddle.logical_and(accepted[parent], ok))
        flags = paddle.stack(accepted)
        depth = paddle.where(
            flags, paddle.to_tensor(depths), paddle.full([len(depths)], -1, "int64")
        )
        best = depth.argmax()
        node, path = int(best), []
        while node != 0:
            path.append(tokens[node])
            node = parents[node]
        path.reverse()
        bonus = logits[best].argmax()
        return path, bonus, flags

    order, parents, depths, mask = tree_of([(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)])
    rng = np.random.RandomState(3)
    yield order, parents, mask
    for trial in range(4):
        logits = paddle.to_tensor(rng.randn(7, 5).astype("float32") * 2)
        tokens = rng.randint(0, 5, 7)
        for node in range(1, 7):
            if rng.rand() < 0.7:
                tokens[node] = int(logits[parents[node]].argmax())
        for rule in Acceptance:
            yield verify(logits, paddle.to_tensor(tokens), parents, depths, rule)


@program
def a_queue_of_requests_with_slots(convert):
    """Continuous batching: requests wait in a heap, run in slots, and leave when they are done."""

    class Slots:
        def __init__(self, model, size=2, eos=0):
            self.model, self.size, self.eos = model, size, eos
            self.state = paddle.zeros([size, model.dim])
            self.last = paddle.zeros([size], dtype="int64")
            self.active = paddle.zeros([size], dtype="bool")
            self.left = paddle.zeros([size], dtype="int64")
            self.outputs = [[] for _ in range(size)]

        @convert
        def admit(self, slot, prompt, budget):
            _, state = self.model(prompt.unsqueeze(0))
            self.state[slot] = state[0]
            self.last[slot] = prompt[-1]
            self.active[slot] = True
            self.left[slot] = budget
            return self.active

        @convert
        def step(self):
            if not self.active.any():
                return None
            logits, state = self.model(self.last.unsqueeze(1), self.state)
            token = logits.argmax(axis=-1)
            live = self.active
            self.state = paddle.where(live.unsqueeze(-1), state, self.state)
            self.last = paddle.where(live, token, self.last)
            self.left = self.left - live.astype("int64")
            ended = live & ((token == self.eos) | (self.left <= 0))
            self.active = live & ~ended
            return token, live, ended

    class Engine:
        def __init__(self, slots):
            self.slots, self.waiting, self.done = slots, [], {}
            self.owner = [None] * slots.size

        def submit(self, name, prompt, budget, priority=0):
            heapq.heappush(self.waiting, (-priority, len(self.waiting), name, prompt, budget))

        def run(self):
            while self.waiting or any(o is not None for o in self.owner):
                for slot, owner in enumerate(self.owner):
                    if owner is None and self.waiting:
                        _, _, name, prompt, budget = heapq.heappop(self.waiting)
                        self.slots.admit(slot, paddle.to_tensor(prompt), budget)
                        self.owner[slot] = name
                        self.done[name] = []
                token, live, ended = self.slots.step()
                for slot, owner in enumerate(self.owner):
                    if owner is not None and bool(live[slot]):
                        self.done[owner].append(int(token[slot]))
                        if ended[slot]:
                            self.owner[slot] = None
            return self.done

    paddle.seed(21)
    model = TinyLM(vocab=6)
    model.eval()
    engine = Engine(Slots(model))
    with paddle.no_grad():
        yield engine.slots.step()
        for k, prompt in enumerate(([1, 2], [3], [4, 5, 1], [2, 2], [5])):
            engine.submit(f"r{k}", prompt, budget=2 + k, priority=k % 2)
        yield engine.run()
        yield engine.slots.state, engine.slots.left
        engine.submit("late", [3, 3], 3)
        yield engine.run()
        yield attempt(lambda: engine.slots.admit(5, paddle.to_tensor([1]), 1))
