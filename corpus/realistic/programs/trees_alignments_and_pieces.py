"""Sequences that are parsed, aligned, cut into pieces, searched and heard."""

import contextlib
import heapq
import io
import math
from dataclasses import dataclass, field
from typing import List, NamedTuple, Optional

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@dataclass
class Grammar:
    names: list
    binary: paddle.Tensor  # [N, N, N], log p(A -> B C)
    lexical: paddle.Tensor  # [N, V], log p(A -> word)
    start: int = 0
    cache: dict = field(default_factory=dict)

    @property
    def size(self):
        return len(self.names)


class CKYParser:
    def __init__(self, grammar, vocabulary):
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.calls = 0

    def encode(self, sentence):
        ids = []
        for word in sentence.split():
            if word not in self.vocabulary:
                raise KeyError(f"unknown word {word!r} in {sentence!r}")
            ids.append(self.vocabulary.index(word))
        return paddle.to_tensor(ids, dtype="int64")

    def inside(self, words):
        """log p(sentence)."""
        g = self.grammar
        n = len(words)
        chart = [[None] * (n + 1) for _ in range(n + 1)]
        for i, w in enumerate(words):
            chart[i][i + 1] = g.lexical[:, w]
        for span in range(2, n + 1):
            for i in range(n - span + 1):
                k = i + span
                parts = []
                for j in range(i + 1, k):
                    pair = chart[i][j].unsqueeze(1) + chart[j][k].unsqueeze(0)
                    parts.append(paddle.logsumexp(g.binary + pair, axis=[1, 2]))
                chart[i][k] = paddle.logsumexp(paddle.stack(parts), axis=0)
        self.calls += 1
        return chart[0][n][g.start]

    def parse(self, words):
        """The best tree and its score."""
        g = self.grammar
        n = words.shape[0]
        best, back = {}, {}
        for i in range(n):
            best[i, i + 1] = g.lexical[:, words[i]]
        for span in range(2, n + 1):
            for i in range(0, n - span + 1):
                k = i + span
                score = paddle.full([g.size], -1e4)
                choice = [None] * g.size
                for j in range(i + 1, k):
                    total = g.binary + best[i, j].unsqueeze(1) + best[j, k].unsqueeze(0)
                    flat = total.reshape([g.size, -1])
                    for a in range(g.size):
                        if flat[a].max() > score[a]:
                            score[a] = flat[a].max()
                            where = int(flat[a].argmax())
                            choice[a] = (j, where // g.size, where % g.size)
                best[i, k], back[i, k] = score, choice

        def tree(i, k, a):
            if k == i + 1:
                return f"({g.names[a]} {self.vocabulary[int(words[i])]})"
            j, b, c = back[i, k][a]
            return f"({g.names[a]} {tree(i, j, b)} {tree(j, k, c)})"

        return tree(0, n, g.start), best[0, n][g.start]


@program
def inside_scores_and_bracketed_trees(convert):
    """CKY: the inside score of a sentence under a PCFG, and its best tree as a bracketed string."""

    paddle.seed(5)
    names = ["S", "NP", "VP", "PP", "D", "N", "V", "P"]
    vocabulary = ["the", "dog", "cat", "saw", "with", "telescope"]
    index = {name: i for i, name in enumerate(names)}
    binary = paddle.full([8, 8, 8], -30.0)
    rules = {
        ("S", "NP", "VP"): 0.0,
        ("NP", "D", "N"): -0.5,
        ("NP", "NP", "PP"): -1.2,
        ("VP", "V", "NP"): -0.4,
        ("VP", "VP", "PP"): -1.1,
        ("PP", "P", "NP"): 0.0,
    }
    for (a, b, c), p in rules.items():
        binary[index[a], index[b], index[c]] = p
    lexical = paddle.full([8, 6], -30.0)
    for word, tag in zip(vocabulary, ["D", "N", "N", "V", "P", "N"]):
        lexical[index[tag], vocabulary.index(word)] = -0.7
    binary.stop_gradient = False
    parser = CKYParser(Grammar(names, binary, lexical), vocabulary)
    inside, parse = convert(parser.inside), convert(parser.parse)
    records = []
    for text in [
        "the dog saw the cat",
        "the dog saw the cat with the telescope",
        "the cat saw the dog",
    ]:
        words = parser.encode(text)
        score = inside(words)
        records.append(score)
        tree, best = parse(words)
        records += [tree, best]
    score.backward()
    records += [binary.grad.abs().sum(), binary.grad[0, 1, 2], parser.calls]
    try:
        parser.encode("the bird saw")
    except KeyError as error:
        records.append(str(error))
    yield from records


GAP, MATCH, STOP = "gap", "match", "stop"


class Aligner:
    """Smith-Waterman over integer tokens; substitution scores come from a matrix."""

    def __init__(self, substitution, gap=2.0, verbose=False):
        self.substitution = substitution
        self.gap = gap
        self.verbose = verbose

    def fill(self, a, b):
        rows, cols = a.shape[0] + 1, b.shape[0] + 1
        table = paddle.zeros([rows, cols])
        for i in range(1, rows):
            for j in range(1, cols):
                diagonal = table[i - 1, j - 1] + self.substitution[a[i - 1], b[j - 1]]
                up = table[i - 1, j] - self.gap
                left = table[i, j - 1] - self.gap
                table[i, j] = max(diagonal, up, left, paddle.zeros([]))
        return table

    def __call__(self, a, b):
        table = self.fill(a, b)
        cols = table.shape[1]
        flat = int(table.argmax())
        i, j = divmod(flat, cols)
        score = table[i, j]
        if score <= 0:
            return {"score": score, "pairs": [], "identity": 0.0}
        pairs, moves = [], {GAP: 0, MATCH: 0}
        end = (i, j)
        while table[i, j] > 0:
            here = table[i, j]
            if paddle.isclose(here, table[i - 1, j - 1] + self.substitution[a[i - 1], b[j - 1]]):
                i, j = i - 1, j - 1
                pairs.append((int(a[i]), int(b[j])))
                moves[MATCH] += 1
            elif paddle.isclose(here, table[i - 1, j] - self.gap):
                i -= 1
                pairs.append((int(a[i]), None))
                moves[GAP] += 1
            else:
                j -= 1
                pairs.append((None, int(b[j])))
                moves[GAP] += 1
            if self.verbose:
                print(f"at ({i}, {j}): {float(here):.1f}")
        pairs.reverse()
        same = sum(1 for x, y in pairs if x == y)
        return {
            "score": score,
            "pairs": pairs,
            "moves": moves,
            "span": ((i, j), end),
            "identity": round(same / len(pairs), 3),
        }


def render(result, alphabet="ACGT"):
    top = "".join("-" if x is None else alphabet[x] for x, _ in result["pairs"])
    bottom = "".join("-" if y is None else alphabet[y] for _, y in result["pairs"])
    return f"{top}\n{bottom}"


@program
def local_alignment_with_its_traceback(convert):
    """Local alignment of two sequences with a linear gap cost, and the traceback of the best one."""

    substitution = paddle.full([4, 4], -1.0)
    for k in range(4):
        substitution[k, k] = 3.0 if k else 2.5
    aligner = Aligner(substitution)
    align = convert(aligner.__call__)
    encode = lambda text: paddle.to_tensor(["ACGT".index(c) for c in text])
    records = []
    for left, right in [
        ("GGTTGACTA", "TGTTACGG"),
        ("ACACACTA", "AGCACACA"),
        ("AAAA", "CCCC"),
        ("GATTACA", "GATTACA"),
    ]:
        result = align(encode(left), encode(right))
        records.append(result)
        records.append(render(result) if result["pairs"] else "nothing in common")
    aligner.verbose, aligner.gap = True, 1.0
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        records.append(align(encode("ACGTA"), encode("ACTA")))
    records.append(out.getvalue())
    yield from records


@dataclass
class Node:
    children: dict = field(default_factory=dict)
    token: int = -1


class Trie:
    def __init__(self):
        self.root = Node()
        self.size = 0

    def add(self, word, token):
        node = self.root
        for char in word:
            node = node.children.setdefault(ord(char), Node())
        node.token = token
        self.size += 1

    def longest(self, codes, start):
        node, best = self.root, (-1, start)
        for i in range(start, len(codes)):
            node = node.children.get(int(codes[i]))
            if node is None:
                break
            if node.token >= 0:
                best = (node.token, i + 1)
        return best


class WordPiece:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]

    def __init__(self, words, pieces):
        self.vocabulary = [*self.specials, *words, *("##" + p for p in pieces)]
        self.ids = {w: i for i, w in enumerate(self.vocabulary)}
        self.heads, self.tails = Trie(), Trie()
        for w in words:
            self.heads.add(w, self.ids[w])
        for p in pieces:
            self.tails.add(p, self.ids["##" + p])
        self.unknown = {}

    def word(self, codes):
        tokens, offsets, start = [], [], 0
        while start < len(codes):
            token, end = (self.tails if start else self.heads).longest(codes, start)
            if token < 0:
                text = "".join(chr(c) for c in codes.tolist())
                self.unknown[text] = self.unknown.get(text, 0) + 1
                return [self.ids["[UNK]"]], [(0, len(codes))]
            tokens.append(token)
            offsets.append((start, end))
            start = end
        return tokens, offsets

    def encode(self, codes, max_length=12):
        """ids [max_length], mask [max_length] and the offsets of each piece."""
        spaces = [int(i) for i in paddle.nonzero(codes == ord(" ")).flatten()]
        ids, offsets = [self.ids["[CLS]"]], [(0, 0)]
        begin = 0
        for end in [*spaces, codes.shape[0]]:
            if end > begin:
                tokens, spans = self.word(codes[begin:end])
                ids += tokens
                offsets += [(a + begin, b + begin) for a, b in spans]
            begin = end + 1
        if len(ids) >= max_length:
            ids, offsets = ids[: max_length - 1], offsets[: max_length - 1]
        ids.append(self.ids["[SEP]"])
        offsets.append((0, 0))
        mask = [1] * len(ids) + [0] * (max_length - len(ids))
        ids = ids + [self.ids["[PAD]"]] * (max_length - len(ids))
        return {"ids": paddle.to_tensor(ids), "mask": paddle.to_tensor(mask), "offsets": offsets}

    def decode(self, ids, skip=True):
        out = []
        for i in ids.tolist():
            piece = self.vocabulary[i]
            if skip and piece in self.specials:
                continue
            if piece.startswith("##") and out:
                out[-1] += piece[2:]
            else:
                out.append(piece)
        return " ".join(out)


@program
def wordpiece_on_two_tries(convert):
    """WordPiece by greedy longest match on a trie, over a tensor of character codes, with padding and offsets."""

    tokenizer = WordPiece(
        ["un", "token", "play", "the", "a"], ["able", "izer", "s", "ing", "d", "play"]
    )
    encode, decode = convert(tokenizer.encode), convert(tokenizer.decode)
    codes = lambda text: paddle.to_tensor([ord(c) for c in text])
    records = []
    for text, length in [
        ("the tokenizer", 12),
        ("unplayable  tokens", 12),
        ("xyz plays the xyz", 12),
        ("a playing a", 5),
    ]:
        out = encode(codes(text), max_length=length)
        records += [
            out,
            decode(out["ids"]),
            decode(out["ids"], skip=False),
            dict(tokenizer.unknown),
        ]
    yield from records


@dataclass(order=True)
class Hypothesis:
    score: float
    tokens: list = field(compare=False)


class BeamHypotheses:
    def __init__(self, size, alpha):
        self.size, self.alpha = size, alpha
        self.heap = []

    def add(self, tokens, logp):
        score = float(logp) / (len(tokens) ** self.alpha)
        item = Hypothesis(score, tokens)
        if len(self.heap) < self.size:
            heapq.heappush(self.heap, item)
        elif score > self.heap[0].score:
            heapq.heapreplace(self.heap, item)

    def is_done(self, best_logp, length):
        if len(self.heap) < self.size:
            return False
        return self.heap[0].score >= float(best_logp) / (length**self.alpha)

    def ranked(self):
        return sorted(self.heap, reverse=True)


class TinyLM(nn.Layer):
    def __init__(self, vocabulary=8, size=12):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, size)
        self.cell = nn.GRUCell(size, size)
        self.out = nn.Linear(size, vocabulary)

    def forward(self, token, state):
        h, state = self.cell(self.embed(token), state)
        return F.log_softmax(self.out(h) * 3.0, axis=-1), state


class BeamSearch:
    eos = 0

    def __init__(self, model, beams=3, max_length=7, no_repeat=0, alpha=0.7, forced=None):
        self.model = model
        self.beams, self.max_length, self.no_repeat, self.alpha = (
            beams,
            max_length,
            no_repeat,
            alpha,
        )
        self.forced = forced or {}

    def block_repeats(self, logp, sequences):
        n = self.no_repeat
        if not n or len(sequences[0]) + 1 < n:
            return logp
        for row, tokens in enumerate(sequences):
            prefix = tuple(tokens[len(tokens) - n + 1 :])
            for i in range(len(tokens) - n + 1):
                if tuple(tokens[i : i + n - 1]) == prefix:
                    logp[row, tokens[i + n - 1]] = -1e9
        return logp

    @paddle.no_grad()
    def search(self, start, state):
        finished = BeamHypotheses(self.beams, self.alpha)
        sequences = [[int(start)] for _ in range(self.beams)]
        totals = paddle.full([self.beams], -1e9)
        totals[0] = 0.0
        state = state.expand([self.beams, -1])
        vocabulary = None
        for step in range(self.max_length):
            last = paddle.to_tensor([s[-1] for s in sequences])
            logp, state = self.model(last, state)
            vocabulary = vocabulary or logp.shape[-1]
            logp = self.block_repeats(logp, sequences)
            if step in self.forced:
                only = F.one_hot(paddle.to_tensor([self.forced[step]]), vocabulary)
                logp = paddle.where(only.astype("bool"), logp, paddle.full_like(logp, -1e9))
            scores = (totals.unsqueeze(1) + logp).flatten()
            top, index = paddle.topk(scores, 2 * self.beams)
            chosen = []
            for score, flat in zip(top, index.tolist()):
                parent, token = divmod(flat, vocabulary)
                if token == self.eos:
                    finished.add(sequences[parent], score)
                    continue
                chosen.append((score, parent, token))
                if len(chosen) == self.beams:
                    break
            if finished.is_done(top.max(), step + 1):
                break
            sequences = [sequences[p] + [t] for _, p, t in chosen]
            totals = paddle.stack([s for s, _, _ in chosen])
            state = state[paddle.to_tensor([p for _, p, _ in chosen])]
        else:
            for tokens, total in zip(sequences, totals):
                finished.add(tokens, total)
        return [(round(h.score, 4), h.tokens) for h in finished.ranked()]


@program
def beams_with_forced_words_and_blocked_repeats(convert):
    """Beam search with n-gram blocking, forced words, length penalty, early stop and finished hypotheses in a heap."""

    paddle.seed(40)
    model = TinyLM()
    search = BeamSearch(model)
    run = convert(search.search)
    records = []
    for seed, start in enumerate([3, 5]):
        state = paddle.randn([1, 12])
        for no_repeat, forced, beams in [(0, {}, 3), (2, {}, 3), (2, {1: 6, 3: 2}, 2)]:
            search.no_repeat, search.forced, search.beams = no_repeat, forced, beams
            records.append(run(paddle.to_tensor(start), state))
    search.max_length, search.alpha = 3, 0.0
    records.append(run(paddle.to_tensor(1), paddle.zeros([1, 12])))
    yield from records


NOTES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")


class Pitch(NamedTuple):
    time: float
    hertz: Optional[float]
    confidence: float

    def note(self):
        if self.hertz is None:
            return "-"
        midi = round(69 + 12 * math.log2(self.hertz / 440.0))
        return f"{NOTES[midi % 12]}{midi // 12 - 1}"


class Yin:
    def __init__(self, rate=4000, frame=256, hop=128, threshold=0.15, low=80.0, high=800.0):
        self.rate, self.frame, self.hop = rate, frame, hop
        self.threshold = threshold
        self.tau_min, self.tau_max = int(rate / high), int(rate / low)
        self.voiced = 0

    def difference(self, x):
        width = self.frame - self.tau_max
        base = x[:width]
        values = [paddle.zeros([])]
        for tau in range(1, self.tau_max + 1):
            values.append(((base - x[tau : tau + width]) ** 2).sum())
        return paddle.stack(values)

    def normalised(self, x):
        d = self.difference(x)
        running = paddle.cumsum(d[1:]) / paddle.arange(1, d.shape[0], dtype="float32")
        return paddle.concat([paddle.ones([1]), d[1:] / running.clip(min=1e-9)])

    def period(self, x):
        """The period in samples (a tensor) and its aperiodicity; None for silence."""
        if x.square().mean().sqrt() < 1e-3:
            return None, paddle.ones([])
        d = self.normalised(x)
        tau = self.tau_min
        while tau < self.tau_max:
            if d[tau] < self.threshold:
                while tau + 1 < self.tau_max and d[tau + 1] < d[tau]:
                    tau += 1
                break
            tau += 1
        else:
            tau = int(d[self.tau_min :].argmin()) + self.tau_min
        if tau <= 1 or tau >= self.tau_max:
            return paddle.to_tensor(float(tau)), d[tau]
        a, b, c = d[tau - 1], d[tau], d[tau + 1]
        bend = a - 2 * b + c
        shift = 0.5 * (a - c) / bend if bend.abs() > 1e-9 else paddle.zeros([])
        return tau + shift, b

    def track(self, signal) -> List[Pitch]:
        pitches = []
        for start in range(0, signal.shape[0] - self.frame + 1, self.hop):
            period, aperiodic = self.period(signal[start : start + self.frame])
            confidence = max(0.0, 1.0 - float(aperiodic))
            time = start / self.rate
            if period is None or confidence < 0.5:
                pitches.append(Pitch(time, None, round(confidence, 3)))
                continue
            self.voiced += 1
            pitches.append(Pitch(time, round(self.rate / float(period), 2), round(confidence, 3)))
        return pitches


def median_smooth(values, width=3):
    half = width // 2
    padded = paddle.concat([values[:1].tile([half]), values, values[-1:].tile([half])])
    return paddle.stack([padded[i : i + width].sort()[half] for i in range(values.shape[0])])


@program
def pitch_of_frames_by_yin(convert):
    """YIN: pitch by the cumulative mean normalised difference, with parabolic refinement and note names."""

    paddle.seed(1)
    yin = Yin()
    track, period, smooth = convert(yin.track), convert(yin.period), convert(median_smooth)
    t = paddle.arange(0, 640, dtype="float32") / 4000
    tone = lambda f: paddle.sin(2 * math.pi * f * t) + 0.3 * paddle.sin(4 * math.pi * f * t)
    records = []
    for signal in [tone(220.0), tone(330.0)[:384], paddle.zeros([300]), paddle.rand([400]) - 0.5]:
        pitches = track(signal)
        records += [[tuple(p) for p in pitches], [p.note() for p in pitches], yin.voiced]
    yin.threshold = 0.05
    for f in (147.0, 523.0):
        records += list(period(tone(f)[:256]))
    records.append(smooth(paddle.to_tensor([1.0, 9.0, 2.0, 3.0, 0.0])))
    yield from records
