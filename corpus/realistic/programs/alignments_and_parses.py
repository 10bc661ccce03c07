"""Dynamic programs over sequences: segments, alignments, trees, knapsacks, keywords."""

from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def segmental_decoder(convert):
    """Semi-Markov decoding: segments of bounded length with labels, read back from the end."""

    Segment = namedtuple("Segment", "start end label")

    class SegmentalDecoder:
        def __init__(self, labels, max_len=3, switch_cost=0.5):
            self.labels = labels
            self.max_len = max_len
            self.switch_cost = switch_cost

        def segment_score(self, emissions, i, j):
            return emissions[i:j].sum(axis=0) - 0.1 * (j - i - 1) ** 2

        def __call__(self, emissions):
            n = emissions.shape[0]
            k = len(self.labels)
            best = [paddle.zeros([k])]
            back = [None]
            move = paddle.full([k, k], -self.switch_cost) * (1 - paddle.eye(k))
            for j in range(1, n + 1):
                scores, pointers = [], []
                for i in range(max(0, j - self.max_len), j):
                    into = (best[i].unsqueeze(1) + move).max(axis=0)
                    which = (best[i].unsqueeze(1) + move).argmax(axis=0)
                    scores.append(into + self.segment_score(emissions, i, j))
                    pointers.append(which)
                stacked = paddle.stack(scores)
                best.append(stacked.max(axis=0))
                pick = stacked.argmax(axis=0)
                back.append((max(0, j - self.max_len), pick, paddle.stack(pointers)))
            label = best[-1].argmax()
            total = best[-1][label]
            segments = []
            j = n
            while j > 0:
                first, pick, pointers = back[j]
                offset = int(pick[label])
                i = first + offset
                segments.append(Segment(i, j, self.labels[int(label)]))
                label = pointers[offset, label]
                j = i
            return total, segments[::-1]

    rng = np.random.RandomState(0)
    decode = convert(SegmentalDecoder(["noun", "verb", "other"]).__call__)
    for n in (4, 5, 5):
        score, segments = decode(T(rng.randn(n, 3).astype("float32")))
        yield score, segments


@program
def local_alignment_with_affine_gaps(convert):
    """Smith-Waterman with affine gaps, and the traceback that stops where the score is zero."""

    @convert
    def align(a, b, match=2.0, mismatch=-1.0, gap_open=-3.0, gap_extend=-1.0):
        n, m = len(a), len(b)
        H = paddle.zeros([n + 1, m + 1])
        E = paddle.full([n + 1, m + 1], -1e9)
        G = paddle.full([n + 1, m + 1], -1e9)
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                E[i, j] = paddle.maximum(H[i, j - 1] + gap_open, E[i, j - 1] + gap_extend)
                G[i, j] = paddle.maximum(H[i - 1, j] + gap_open, G[i - 1, j] + gap_extend)
                s = paddle.where(a[i - 1] == b[j - 1], T(match), T(mismatch))
                H[i, j] = paddle.stack([T(0.0), H[i - 1, j - 1] + s, E[i, j], G[i, j]]).max()
        flat = int(H.argmax())
        i, j = divmod(flat, m + 1)
        best = H[i, j]
        pairs = []
        while i > 0 and j > 0 and H[i, j] > 0:
            s = match if a[i - 1] == b[j - 1] else mismatch
            if H[i, j] == H[i - 1, j - 1] + s:
                pairs.append((i - 1, j - 1))
                i, j = i - 1, j - 1
            elif H[i, j] == E[i, j]:
                j -= 1
            else:
                i -= 1
        return best, pairs[::-1]

    yield align(T([1, 2, 3, 4]), T([2, 3, 4, 1]))
    yield align(T([1, 2, 2, 4]), T([4, 1, 2, 4]))
    yield align(T([5, 5, 5, 5]), T([1, 2, 3, 4]))


@program
def cyk_parser_with_tree(convert):
    """CYK over a grammar given as dicts; the best tree is read out of the back pointers."""

    @dataclass
    class Grammar:
        lexicon: dict
        rules: list
        symbols: list = field(default_factory=list)

        def __post_init__(self):
            seen = {}
            for parent, left, right, _ in self.rules:
                for s in (parent, left, right):
                    seen.setdefault(s, len(seen))
            self.symbols = list(seen)
            self.index = seen

    grammar = Grammar(
        {"dog": {"N": -0.5}, "cat": {"N": -0.7}, "sees": {"V": -0.1}, "the": {"D": -0.1}},
        [
            ("S", "NP", "VP", -0.1),
            ("NP", "D", "N", -0.2),
            ("VP", "V", "NP", -0.3),
            ("NP", "N", "N", -1.5),
        ],
    )

    class Parser(paddle.nn.Layer):
        def __init__(self, grammar):
            super().__init__()
            self.grammar = grammar
            self.rule_bias = self.create_parameter(
                [len(grammar.rules)], default_initializer=paddle.nn.initializer.Constant(0.0)
            )

        def forward(self, words, noise):
            g = self.grammar
            n, k = len(words), len(g.symbols)
            chart = {}
            back = {}
            for i, w in enumerate(words):
                cell = paddle.full([k], -1e4)
                for symbol, logp in g.lexicon[w].items():
                    cell[g.index[symbol]] = logp + noise[i]
                chart[i, i + 1] = cell
            for span in range(2, n + 1):
                for i in range(n - span + 1):
                    j = i + span
                    cell = [T(-1e4)] * k
                    for r, (p, left, right, logp) in enumerate(g.rules):
                        for mid in range(i + 1, j):
                            score = (
                                chart[i, mid][g.index[left]]
                                + chart[mid, j][g.index[right]]
                                + logp
                                + self.rule_bias[r]
                            )
                            if score > cell[g.index[p]]:
                                cell[g.index[p]] = score
                                back[i, j, p] = (mid, left, right)
                    chart[i, j] = paddle.stack([c.reshape([]) for c in cell])
            return chart[0, n][g.index["S"]], self.tree(words, back, 0, n, "S")

        def tree(self, words, back, i, j, symbol):
            if j == i + 1:
                return (symbol, words[i])
            if (i, j, symbol) not in back:
                return None
            mid, left, right = back[i, j, symbol]
            return (
                symbol,
                self.tree(words, back, i, mid, left),
                self.tree(words, back, mid, j, right),
            )

    parser = Parser(grammar)
    forward = convert(parser.forward)
    yield attempt(lambda: forward(["the", "dog", "sees"], paddle.zeros([3])))
    yield attempt(lambda: forward(["dog", "cat", "sees", "cat"], T([0.1, 0.2, 0.3, 0.0])))
    score, tree = forward(["the", "dog", "sees", "the", "cat"], T([0.1, -0.2, 0.3, 0.0, 0.5]))
    score.backward()
    yield score, tree, parser.rule_bias.grad


@program
def knapsack_with_chosen_items(convert):
    """A knapsack whose values are a model's scores; which items were taken is read back."""

    @convert
    def pack(weights, values, capacity):
        n = len(weights)
        table = [[T(0.0) for _ in range(capacity + 1)]]
        taken = []
        for i in range(n):
            row, chosen = [], []
            for c in range(capacity + 1):
                skip = table[-1][c]
                if weights[i] > c:
                    row.append(skip)
                    chosen.append(False)
                    continue
                take = table[-1][c - weights[i]] + values[i]
                better = take > skip
                row.append(take if better else skip)
                chosen.append(better)
            table.append(row)
            taken.append(chosen)
        items = []
        c = capacity
        for i in reversed(range(n)):
            if taken[i][c]:
                items.append(i)
                c -= weights[i]
        return table[-1][capacity], sorted(items), capacity - c

    for values in ([3.0, 4.0, 5.0, 6.0], [1.0, 9.0, 1.0, 1.0], [2.0, -1.0, 5.0, 6.5]):
        yield pack([2, 3, 4, 5], T(values), 5)


@program
def keyword_spotter_with_trie(convert):
    """Posteriors walk a trie of keywords; a hit needs a threshold and a refractory time."""

    class TrieNode:
        def __init__(self):
            self.children = {}
            self.word = None

        @classmethod
        def build(cls, words):
            root = cls()
            for word, phones in words.items():
                node = root
                for p in phones:
                    node = node.children.setdefault(p, cls())
                node.word = word
            return root

    class Spotter:
        def __init__(self, words, threshold=-1.5, refractory=2):
            self.root = TrieNode.build(words)
            self.threshold = threshold
            self.refractory = refractory
            self.last_hit = {}
            self.frame = 0
            self.active = []

        def push(self, logp):
            hits = []
            alive = []
            for node, score, length in [*self.active, (self.root, T(0.0), 0)]:
                for phone, child in node.children.items():
                    s = score + logp[phone]
                    if s / (length + 1) < self.threshold:
                        continue
                    if child.word is not None:
                        last = self.last_hit.get(child.word, -100)
                        if self.frame - last >= self.refractory:
                            self.last_hit[child.word] = self.frame
                            hits.append((child.word, s))
                    alive.append((child, s, length + 1))
            self.active = alive
            self.frame += 1
            return hits

    def run(frames):
        spotter = Spotter({"hi": [0, 1], "hit": [0, 1, 2], "it": [1, 2]})
        found = []
        for t in range(frames.shape[0]):
            for word, score in spotter.push(F.log_softmax(frames[t], axis=-1)):
                found.append((t, word, score))
        return found

    spot = convert(run)
    rng = np.random.RandomState(1)
    for _ in range(2):
        yield attempt(lambda: spot(T(rng.randn(3, 4).astype("float32") * 3)))
    strong = T(np.array([[5, 0, 0, 0], [0, 5, 0, 0], [0, 0, 5, 0]], "float32"))
    yield attempt(lambda: spot(strong))
