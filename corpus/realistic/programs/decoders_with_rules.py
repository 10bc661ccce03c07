"""Decoders, tokenisers and machines that follow rules."""

import abc
import collections
import functools
import math
from collections import Counter

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program

BOS, EOS, PAD = 1, 2, 0


class BeamHypotheses:
    """The n best finished hypotheses of one sentence."""

    def __init__(self, num_beams, length_penalty, early_stopping):
        self.num_beams = num_beams
        self.length_penalty = length_penalty
        self.early_stopping = early_stopping
        self.beams = []
        self.worst_score = 1e9

    def __len__(self):
        return len(self.beams)

    def add(self, tokens, sum_logprobs):
        score = float(sum_logprobs) / (tokens.shape[0] ** self.length_penalty)
        if len(self) < self.num_beams or score > self.worst_score:
            self.beams.append((score, tokens))
            if len(self) > self.num_beams:
                ordered = sorted([(s, i) for i, (s, _) in enumerate(self.beams)])
                del self.beams[ordered[0][1]]
                self.worst_score = ordered[1][0]
            else:
                self.worst_score = min(score, self.worst_score)

    def is_done(self, best_sum_logprobs, cur_len):
        if len(self) < self.num_beams:
            return False
        if self.early_stopping:
            return True
        return self.worst_score >= float(best_sum_logprobs) / cur_len**self.length_penalty

    def best(self):
        return max(self.beams, key=lambda b: b[0])


class TinyLM(nn.Layer):
    def __init__(self, vocab=12, width=16):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocab)

    def step(self, ids, state):
        _, state = self.cell(self.embed(ids), state)
        return F.log_softmax(self.head(state) * 4.0, axis=-1), state


class BeamSearcher(nn.Layer):
    def __init__(self, model, num_beams=3, max_len=8, length_penalty=1.0, early_stopping=False):
        super().__init__()
        self.model = model
        self.num_beams = num_beams
        self.max_len = max_len
        self.length_penalty = length_penalty
        self.early_stopping = early_stopping

    def forward(self, context):
        batch, beams, vocab = context.shape[0], self.num_beams, self.model.vocab
        hyps = [
            BeamHypotheses(beams, self.length_penalty, self.early_stopping) for _ in range(batch)
        ]
        done = [False] * batch
        ids = paddle.full([batch * beams, 1], BOS, dtype="int64")
        state = (
            context.unsqueeze(1)
            .expand([batch, beams, context.shape[1]])
            .reshape([batch * beams, -1])
        )
        scores = paddle.zeros([batch, beams])
        scores[:, 1:] = -1e9
        cur_len = 1
        while cur_len < self.max_len:
            logp, state = self.model.step(ids[:, -1], state)
            total = scores.reshape([-1, 1]) + logp
            top, idx = paddle.topk(total.reshape([batch, beams * vocab]), 2 * beams, axis=1)
            next_beams = []
            for b in range(batch):
                if done[b]:
                    next_beams.extend([(0.0, PAD, b * beams)] * beams)
                    continue
                kept = []
                for rank in range(2 * beams):
                    flat = int(idx[b, rank])
                    origin, token = b * beams + flat // vocab, flat % vocab
                    value = float(top[b, rank])
                    if token == EOS:
                        if rank >= beams:
                            continue
                        hyps[b].add(ids[origin].clone(), value)
                    else:
                        kept.append((value, token, origin))
                    if len(kept) == beams:
                        break
                done[b] = done[b] or hyps[b].is_done(top[b].max(), cur_len)
                next_beams.extend(kept)
            if all(done):
                break
            scores = paddle.to_tensor([s for s, _, _ in next_beams], dtype="float32").reshape(
                [batch, beams]
            )
            tokens = paddle.to_tensor([t for _, t, _ in next_beams], dtype="int64")
            origins = paddle.to_tensor([o for _, _, o in next_beams], dtype="int64")
            ids = paddle.concat([ids[origins], tokens.unsqueeze(1)], axis=1)
            state = state[origins]
            cur_len += 1
        for b in range(batch):
            if done[b]:
                continue
            for k in range(beams):
                hyps[b].add(ids[b * beams + k], float(scores[b, k]))
        best = [h.best() for h in hyps]
        return [(round(s, 3), t) for s, t in best]


@program
def beam_search_with_hypotheses(convert):
    """Beam search with a hypotheses container per sentence, length penalty and early stopping."""
    paddle.seed(11)
    model = TinyLM()
    model.eval()
    function = convert(BeamSearcher(model))

    def calls():
        paddle.seed(3)
        return [(paddle.randn([2, 16]),), (paddle.randn([1, 16]) * 3,), (paddle.randn([3, 16]),)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


END = 0


class TrieNode:
    __slots__ = ("children", "terminal")

    def __init__(self):
        self.children = {}
        self.terminal = False


class Trie:
    def __init__(self, entries=()):
        self.root = TrieNode()
        self.size = 0
        for entry in entries:
            self.insert(entry)

    def insert(self, entry):
        node = self.root
        for token in entry:
            node = node.children.setdefault(token, TrieNode())
        if not node.terminal:
            node.terminal = True
            self.size += 1

    def allowed(self, prefix):
        node = self.root
        for token in prefix:
            if token not in node.children:
                raise KeyError(f"prefix {prefix} is not in the trie")
            node = node.children[token]
        options = sorted(node.children)
        if node.terminal:
            options.append(END)
        return options

    def __contains__(self, entry):
        try:
            return END in self.allowed(list(entry))
        except KeyError:
            return False


def mask_from(options, size):
    mask = paddle.full([size], float("-inf"))
    for o in options:
        mask[o] = 0.0
    return mask


class Retriever(nn.Layer):
    """Scores tokens from a query; the trie says which ones may follow."""

    def __init__(self, trie, vocab=10, width=8):
        super().__init__()
        self.trie = trie
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.Linear(2 * width, vocab)

    def forward(self, query, max_len=6):
        prefix = []
        last = paddle.to_tensor(END)
        logprob = paddle.zeros([])
        while len(prefix) < max_len:
            options = self.trie.allowed(prefix)
            features = paddle.concat([query, self.embed(last)])
            logits = self.mix(features) + mask_from(options, self.vocab)
            logp = paddle.nn.functional.log_softmax(logits, axis=-1)
            last = logp.argmax()
            logprob = logprob + logp[last]
            token = int(last)
            if token == END:
                break
            prefix.append(token)
        if tuple(prefix) in self.trie:
            print("found", prefix)
        else:
            print("cut off", prefix)
        return prefix, logprob


@program
def decoding_in_a_trie(convert):
    """Greedy decoding that may only produce entries of a catalogue, kept in a trie."""
    paddle.seed(5)
    trie = Trie([(3, 4, 5), (3, 4), (3, 7, 7, 1), (6, 2), (6, 2, 9, 9), (8,), (6, 2)])
    function = convert(Retriever(trie))

    def calls():
        paddle.seed(21)
        return [(paddle.randn([8]),), (paddle.randn([8]) * 2,), (paddle.randn([8]) * -4, 1)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class LogitsProcessor(abc.ABC):
    @abc.abstractmethod
    def __call__(self, ids, logits):
        """Returns the logits after a rule."""


class NoRepeatNGram(LogitsProcessor):
    def __init__(self, n):
        if n < 2:
            raise ValueError(f"n must be at least 2, got {n}")
        self.n = n

    def banned(self, row):
        seen = {}
        for i in range(len(row) - self.n + 1):
            gram = tuple(row[i : i + self.n])
            seen.setdefault(gram[:-1], []).append(gram[-1])
        return seen.get(tuple(row[len(row) - self.n + 1 :]), [])

    def __call__(self, ids, logits):
        if ids.shape[1] < self.n:
            return logits
        for b, row in enumerate(ids.tolist()):
            for token in self.banned(row):
                logits[b, token] = float("-inf")
        return logits


class RepetitionPenalty(LogitsProcessor):
    def __init__(self, penalty):
        self.penalty = penalty

    def __call__(self, ids, logits):
        score = paddle.take_along_axis(logits, ids, axis=1)
        score = paddle.where(score < 0, score * self.penalty, score / self.penalty)
        return paddle.put_along_axis(logits, ids, score, axis=1)


class MinLength(LogitsProcessor):
    def __init__(self, length, eos):
        self.length, self.eos = length, eos

    def __call__(self, ids, logits):
        if ids.shape[1] < self.length:
            logits[:, self.eos] = float("-inf")
        return logits


class ProcessorList(list):
    def __call__(self, ids, logits):
        for processor in self:
            logits = processor(ids, logits)
        return logits


class Generator(nn.Layer):
    def __init__(self, processors, vocab=9, eos=0):
        super().__init__()
        self.table = nn.Embedding(vocab, vocab)
        self.processors = processors
        self.eos = eos

    def forward(self, ids, max_new=8):
        alive = paddle.ones([ids.shape[0]], dtype="bool")
        for _ in range(max_new):
            logits = self.processors(ids, self.table(ids[:, -1]) * 3.0)
            token = logits.argmax(axis=-1)
            token = paddle.where(alive, token, paddle.full_like(token, self.eos))
            ids = paddle.concat([ids, token.unsqueeze(-1)], axis=1)
            alive = paddle.logical_and(alive, token != self.eos)
            if not alive.any():
                break
        return ids


@program
def blocked_ngrams_by_processors(convert):
    """Greedy generation with n-gram blocking and a repetition penalty, as logits processors."""
    paddle.seed(2)
    function = convert(
        Generator(ProcessorList([MinLength(4, 0), RepetitionPenalty(1.2), NoRepeatNGram(2)]))
    )

    def calls():
        return [
            (paddle.to_tensor([[3, 4], [5, 1]]),),
            (paddle.to_tensor([[7, 2, 7]]), 5),
            (paddle.to_tensor([[1], [2], [8]]), 10),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


NEG_INF = -float("inf")


def logsumexp(*args):
    if all(a == NEG_INF for a in args):
        return NEG_INF
    top = max(args)
    return top + math.log(sum(math.exp(a - top) for a in args))


def make_beam():
    return collections.defaultdict(lambda: (NEG_INF, NEG_INF))


def prefix_beam_search(logp, beam_size=4, blank=0):
    steps, vocab = logp.shape
    beam = [((), (0.0, NEG_INF))]
    for t in range(steps):
        nxt = make_beam()
        for s in range(vocab):
            p = logp[t, s].item()
            for prefix, (p_b, p_nb) in beam:
                if s == blank:
                    n_b, n_nb = nxt[prefix]
                    nxt[prefix] = (logsumexp(n_b, p_b + p, p_nb + p), n_nb)
                    continue
                end = prefix[-1] if prefix else None
                extended = prefix + (s,)
                n_b, n_nb = nxt[extended]
                if s != end:
                    n_nb = logsumexp(n_nb, p_b + p, p_nb + p)
                else:
                    n_nb = logsumexp(n_nb, p_b + p)
                nxt[extended] = (n_b, n_nb)
                if s == end:
                    n_b, n_nb = nxt[prefix]
                    nxt[prefix] = (n_b, logsumexp(n_nb, p_nb + p))
        beam = sorted(nxt.items(), key=lambda kv: logsumexp(*kv[1]), reverse=True)[:beam_size]
    best, score = beam[0][0], -logsumexp(*beam[0][1])
    return list(best), score


def decode(acoustic, lengths=None):
    logp = F.log_softmax(acoustic, axis=-1)
    results = []
    for b in range(logp.shape[0]):
        rows = logp[b]
        if lengths is not None:
            rows = rows[: int(lengths[b])]
        tokens, score = prefix_beam_search(rows)
        results.append({"tokens": tokens, "score": round(score, 4)})
    return results


@program
def ctc_prefix_beams_by_dict(convert):
    """CTC prefix beam search in log space."""
    function = convert(decode)

    def calls():
        paddle.seed(9)
        return [
            (paddle.randn([1, 4, 3]),),
            (paddle.randn([2, 3, 3]) * 2, paddle.to_tensor([2, 3])),
            (paddle.randn([1, 5, 4]),),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class BPE:
    def __init__(self, base=4):
        self.base = base
        self.merges = {}
        self.expand = functools.lru_cache(maxsize=None)(self._expand)

    @property
    def vocab(self):
        return self.base + len(self.merges)

    @staticmethod
    def pairs(ids):
        return Counter(zip(ids, ids[1:]))

    @staticmethod
    def merge(ids, pair, new):
        out, i = [], 0
        while i < len(ids):
            if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
                out.append(new)
                i += 2
            else:
                out.append(ids[i])
                i += 1
        return out

    def learn(self, ids, n):
        for _ in range(n):
            counts = self.pairs(ids)
            if not counts:
                break
            pair, freq = max(counts.items(), key=lambda kv: (kv[1], kv[0]))
            if freq < 2:
                break
            new = self.vocab
            self.merges[pair] = new
            ids = self.merge(ids, pair, new)
            print("merge", pair, "->", new)
        return ids

    def encode(self, ids):
        while len(ids) >= 2:
            pair = min(self.pairs(ids), key=lambda p: self.merges.get(p, float("inf")))
            if pair not in self.merges:
                break
            ids = self.merge(ids, pair, self.merges[pair])
        return ids

    def _expand(self, token):
        for (a, b), new in self.merges.items():
            if new == token:
                return self.expand(a) + self.expand(b)
        return (token,)

    def decode(self, ids):
        return [base for token in ids for base in self.expand(token)]


@program
def byte_pairs_learnt_and_applied(convert):
    """Byte pair encoding on tensors of ids: learn merges, encode, decode."""
    bpe = BPE()

    def tokenize(text, merges=2):
        ids = bpe.learn(text.tolist(), merges)
        again = bpe.encode(text.tolist())
        assert bpe.decode(again) == text.tolist(), "round trip failed"
        lengths = paddle.to_tensor([float(text.shape[0]), float(len(again))])
        if lengths[0] > 2 * lengths[1]:
            print("compressed well")
        return paddle.to_tensor(ids), paddle.to_tensor(again), lengths[1] / lengths[0], bpe.vocab

    function = convert(tokenize)

    def calls():
        return [
            (paddle.to_tensor([0, 1, 0, 1, 2, 0, 1, 3]),),
            (paddle.to_tensor([2, 0, 1, 2, 0, 1]), 1),
            (paddle.to_tensor([3, 2, 1, 0]), 3),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Trap(Exception):
    def __init__(self, pc, reason):
        super().__init__(f"trap at {pc}: {reason}")
        self.pc, self.reason = pc, reason


class Machine:
    def __init__(self, limit=60):
        self.limit = limit
        self.memory = {}

    def run(self, program, x):
        stack, pc, ticks = [x], 0, 0

        def pop():
            if not stack:
                raise Trap(pc, "empty stack")
            return stack.pop()

        while pc < len(program):
            ticks += 1
            if ticks > self.limit:
                raise Trap(pc, "too many ticks")
            match program[pc]:
                case ("push", value):
                    stack.append(paddle.full_like(x, value))
                case ("add",):
                    b, a = pop(), pop()
                    stack.append(a + b)
                case ("mul",):
                    b, a = pop(), pop()
                    stack.append(a * b)
                case ("div",):
                    b, a = pop(), pop()
                    if (b == 0).any():
                        raise Trap(pc, "division by zero")
                    stack.append(a / b)
                case ("dup",):
                    stack.append(stack[-1])
                case ("swap",):
                    stack[-1], stack[-2] = stack[-2], stack[-1]
                case ("store", name):
                    self.memory[name] = pop()
                case ("load", name) if name in self.memory:
                    stack.append(self.memory[name])
                case ("load", name):
                    raise Trap(pc, f"no such cell {name}")
                case ("jump_if_small", target, bound):
                    if pop().abs().max() < bound:
                        pc = target
                        continue
                case ("jump", target):
                    pc = target
                    continue
                case ("print", *words):
                    print(*words, [round(v, 3) for v in stack[-1].tolist()])
                case [op, *_]:
                    raise Trap(pc, f"unknown instruction {op!r}")
            pc += 1
        return stack[-1], ticks


DOUBLE_UNTIL_BIG = [
    ("push", 2.0),
    ("mul",),
    ("dup",),
    ("jump_if_small", 0, 10.0),
    ("print", "result:"),
    ("store", "last"),
    ("load", "last"),
]
INVERT = [("store", "d"), ("push", 1.0), ("load", "d"), ("div",), ("load", "last"), ("add",)]


@program
def stack_machine_with_traps(convert):
    """A small stack machine over tensors: instructions as tuples, dispatch by match, traps as exceptions."""
    machine = Machine()
    programs = {"double": DOUBLE_UNTIL_BIG, "invert": INVERT}

    def execute(name, x):
        try:
            return machine.run(programs[name], x)
        except Trap as t:
            print(t)
            return x, -t.pc

    function = convert(execute)

    def calls():
        return [
            ("double", paddle.to_tensor([1.0, -0.5])),
            ("invert", paddle.to_tensor([2.0, 4.0])),
            ("invert", paddle.to_tensor([2.0, 0.0])),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))
