"""Text: vocabularies, encoders and decoders."""

import re
from collections import Counter, namedtuple
from enum import Enum

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


def go_back(result):
    """backward() from what has a gradient among the results."""
    parts = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, tuple)
        else [result]
    )
    parts = [p for p in parts if isinstance(p, paddle.Tensor) and not p.stop_gradient]
    if parts:
        sum((p * (i + 1)).sum() for i, p in enumerate(parts)).backward()


# tokenise, encode, classify
class Vocab:
    def __init__(self, texts, min_count=1):
        counts = Counter(w for t in texts for w in self.split(t))
        self.words = ["<pad>", "<unk>"] + sorted(w for w, c in counts.items() if c >= min_count)
        self.index = {w: i for i, w in enumerate(self.words)}

    @staticmethod
    def split(text):
        return re.findall(r"[a-z']+", text.lower())

    def encode(self, text, max_len):
        ids = [self.index.get(w, 1) for w in self.split(text)][:max_len]
        return ids + [0] * (max_len - len(ids))

    def __len__(self):
        return len(self.words)


class SentimentModel(nn.Layer):
    LABELS = ("negative", "neutral", "positive")

    def __init__(self, vocab, dim=8, max_len=6):
        super().__init__()
        self.vocab = vocab
        self.max_len = max_len
        self.emb = nn.Embedding(len(vocab), dim, padding_idx=0)
        self.out = nn.Linear(dim, len(self.LABELS))
        self.seen = Counter()

    def forward(self, texts, threshold=0.34):
        if isinstance(texts, str):
            texts = [texts]
        ids = paddle.to_tensor([self.vocab.encode(t, self.max_len) for t in texts])
        mask = (ids != 0).astype("float32").unsqueeze(-1)
        pooled = (self.emb(ids) * mask).sum(1) / mask.sum(1).clip(min=1.0)
        probs = F.softmax(self.out(pooled), axis=-1)
        results = []
        for text, p in zip(texts, probs):
            best = int(p.argmax())
            label = self.LABELS[best] if p[best] > threshold else "unsure"
            self.seen[label] += 1
            results.append((label, round(float(p[best]), 4)))
            print(f"{text[:12]!r:<16} -> {label}")
        return results, probs


def calls_sentiment():
    return [
        ((["Good film", "A bad film!", "never seen words"],), {}),
        (("what a good good film it's, a bad one",), {"threshold": 0.6}),
        ((["bad", "good", ""],), {}),
    ]


@program
def sentiment_of_short_texts(convert):
    """Tokens, a vocabulary, pooled embeddings, labels with a threshold, a count of the labels."""
    paddle.seed(21)
    model = SentimentModel(
        Vocab(["a good film", "a bad film", "what a film it's", "good good bad"])
    )
    run = convert(model)
    for args, kw in calls_sentiment():
        result = attempt(lambda: run(*args, **kw))
        go_back(result)
        yield result, args, kw, model.seen, [p.grad for p in model.parameters()]


# beam search over a small GRU
Hypothesis = namedtuple("Hypothesis", ["tokens", "score", "state"])


class BeamDecoder:
    def __init__(self, vocab_size=9, hidden=8, bos=0, eos=1):
        self.emb = nn.Embedding(vocab_size, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.proj = nn.Linear(hidden, vocab_size)
        self.bos, self.eos = bos, eos

    def step(self, token, state):
        out, state = self.cell(self.emb(paddle.to_tensor([token])), state)
        return F.log_softmax(self.proj(out), axis=-1)[0], state

    @paddle.no_grad()
    def decode(self, context, beam=3, max_len=6, alpha=0.6):
        beams = [Hypothesis([self.bos], 0.0, context.unsqueeze(0))]
        finished = []
        for _ in range(max_len):
            candidates = []
            for hyp in beams:
                logp, state = self.step(hyp.tokens[-1], hyp.state)
                values, indices = paddle.topk(logp, beam)
                for v, i in zip(values.tolist(), indices.tolist()):
                    candidates.append(Hypothesis(hyp.tokens + [i], hyp.score + v, state))
            candidates.sort(key=lambda h: h.score, reverse=True)
            beams = []
            for hyp in candidates:
                if hyp.tokens[-1] == self.eos:
                    finished.append(hyp)
                else:
                    beams.append(hyp)
                if len(beams) == beam:
                    break
            if len(finished) >= beam:
                break

        def normalised(h):
            return h.score / len(h.tokens) ** alpha

        ranked = sorted(finished or beams, key=normalised, reverse=True)
        return [(h.tokens, round(normalised(h), 4)) for h in ranked[:beam]]


def calls_beam():
    rng = np.random.RandomState(10)

    def c(scale=2.0):
        return paddle.to_tensor((scale * rng.randn(8)).astype("float32"))

    return [
        ((c(),), {}),
        ((c(),), {"beam": 2}),
        ((c(),), {"max_len": 4, "alpha": 1.0}),
        ((c(5.0),), {}),
    ]


@program
def beams_over_a_gru_cell(convert):
    """Beam search with hypotheses that are named tuples, and scores divided by a power of the length."""
    paddle.seed(22)
    decoder = BeamDecoder()
    run = convert(decoder.decode)
    for args, kw in calls_beam():
        yield attempt(lambda: run(*args, **kw))


# greedy decoding with repetition penalty and bans
class StopReason(Enum):
    EOS = "eos"
    LENGTH = "length"
    LOOP = "loop"


class GreedyGenerator(nn.Layer):
    def __init__(self, vocab=12, dim=10):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocab)

    def logits(self, tokens):
        h = self.emb(tokens).mean(axis=1)
        return self.head(F.tanh(self.mix(h)))[0]

    def forward(self, prompt, max_new=8, penalty=1.3, eos=2, no_repeat=2):
        tokens = prompt.tolist()
        reason = StopReason.LENGTH
        for _ in range(max_new):
            scores = self.logits(paddle.to_tensor([tokens]))
            for t in set(tokens):
                s = scores[t]
                scores[t] = s / penalty if s > 0 else s * penalty
            for i in range(len(tokens) - no_repeat + 1):
                if tokens[i : i + no_repeat - 1] == tokens[len(tokens) - no_repeat + 1 :]:
                    scores[tokens[i + no_repeat - 1]] = -1e9
            nxt = int(scores.argmax())
            tokens.append(nxt)
            if nxt == eos:
                reason = StopReason.EOS
                break
            if len(tokens) > 4 and len(set(tokens[-4:])) == 1:
                reason = StopReason.LOOP
                break
        return tokens, reason


def calls_greedy():
    return [
        ((paddle.to_tensor([3, 4, 5]),), {}),
        ((paddle.to_tensor([7, 7]),), {"penalty": 1.0, "no_repeat": 3}),
        ((paddle.to_tensor([1, 0, 9, 4]),), {"max_new": 5}),
    ]


@program
def greedy_words_with_a_penalty(convert):
    """Greedy decoding with a repetition penalty, banned n-grams and a reason to stop."""
    paddle.seed(23)
    model = GreedyGenerator()
    run = convert(model)
    for args, kw in calls_greedy():
        yield attempt(lambda: run(*args, **kw))


# nucleus sampling with a NumPy generator
class Sampler:
    def __init__(self, weights, seed=0):
        self.weights = weights
        self.rng = np.random.RandomState(seed)
        self.drawn = 0

    def filter(self, logits, top_k, top_p):
        if top_k:
            kth = paddle.topk(logits, min(top_k, logits.shape[-1]))[0][-1]
            logits = paddle.where(logits < kth, paddle.full_like(logits, -1e9), logits)
        if top_p < 1.0:
            order = paddle.argsort(logits, descending=True)
            cumulative = paddle.cumsum(F.softmax(logits[order]))
            remove = cumulative > top_p
            remove[1:] = remove[:-1].clone()
            remove[0] = False
            logits[order[remove]] = -1e9
        return logits

    def sample(self, start, length=6, temperature=1.0, top_k=0, top_p=1.0):
        out = [start]
        logp = 0.0
        while len(out) < length:
            logits = self.weights[out[-1]] / max(temperature, 1e-5)
            probs = F.softmax(self.filter(logits, top_k, top_p)).numpy().astype("float64")
            probs /= probs.sum()
            token = int(self.rng.choice(len(probs), p=probs))
            logp += np.log(probs[token])
            self.drawn += 1
            out.append(token)
        return out, float(np.exp(-logp / (len(out) - 1)))


def calls_sampler():
    return [
        ((0,), {}),
        ((3,), {"top_k": 3, "temperature": 0.7}),
        ((2,), {"top_p": 0.8, "length": 9}),
        ((6,), {"temperature": 0.0}),
    ]


@program
def nucleus_sampling_by_numpy(convert):
    """Temperature, top-k and top-p; the token is drawn by a generator of NumPy."""
    rng = np.random.RandomState(24)
    sampler = Sampler(paddle.to_tensor(rng.randn(7, 7).astype("float32") * 2))
    run = convert(sampler.sample)
    for args, kw in calls_sampler():
        yield attempt(lambda: run(*args, **kw)), sampler.drawn


# CTC greedy decoding and the character error rate
def edit_distance(a, b):
    prev = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        cur = [i]
        for j, cb in enumerate(b, 1):
            cur.append(min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (ca != cb)))
        prev = cur
    return prev[-1]


def ctc_evaluate(logits, lengths, references, alphabet="-abcdef", blank=0):
    """Decodes a batch of logits [B, T, C] and returns the texts, confidences and the error rate."""
    probs = F.softmax(logits, axis=-1)
    best = probs.argmax(axis=-1)
    conf = probs.max(axis=-1)
    texts, confidences = [], []
    errors = total = 0
    for b, length in enumerate(lengths):
        chars, scores = [], []
        previous = blank
        for t in range(int(length)):
            k = best[b, t].item()
            if k != blank and k != previous:
                chars.append(alphabet[k])
                scores.append(conf[b, t])
            previous = k
        text = "".join(chars)
        texts.append(text)
        confidences.append(paddle.stack(scores).mean() if scores else paddle.zeros([]))
        errors += edit_distance(text, references[b])
        total += len(references[b])
    cer = errors / max(total, 1)
    print(f"CER {cer:.2%} over {len(texts)} lines")
    return texts, paddle.stack(confidences), cer


def calls_ctc():
    rng = np.random.RandomState(25)

    def logits(b, t):
        return paddle.to_tensor((3 * rng.randn(b, t, 7)).astype("float32"))

    return [
        ((logits(2, 6), paddle.to_tensor([6, 4]), ["abcd", "fed"]), {}),
        ((logits(3, 5), [5, 0, 2], ["ab", "c", ""]), {}),
        ((logits(1, 8), paddle.to_tensor([8])), {"references": ["face"], "blank": 0}),
    ]


@program
def transcripts_with_an_error_rate(convert):
    """Greedy CTC decoding of a batch, confidences, and the character error rate by edit distance."""
    run = convert(ctc_evaluate)
    for args, kw in calls_ctc():
        yield attempt(lambda: run(*args, **kw))


# a character language model: train, perplexity
class CharLM(nn.Layer):
    def __init__(self, chars, dim=8):
        super().__init__()
        self.stoi = {c: i for i, c in enumerate(chars)}
        self.emb = nn.Embedding(len(chars), dim)
        self.rnn = nn.GRU(dim, dim)
        self.head = nn.Linear(dim, len(chars))

    def forward(self, ids, state=None):
        h, state = self.rnn(self.emb(ids), state)
        return self.head(h), state


class LMTrainer:
    def __init__(self, model, chunk=5, lr=0.05):
        self.model = model
        self.chunk = chunk
        self.opt = paddle.optimizer.AdamW(
            lr, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0)
        )
        self.log = []

    def run(self, text, epochs=2):
        unknown = sorted(set(text) - set(self.model.stoi))
        if unknown:
            raise ValueError(f"characters not in the vocabulary: {unknown}")
        data = paddle.to_tensor([[self.model.stoi[c] for c in text]])
        for epoch in range(epochs):
            state, losses = None, []
            for i in range(0, data.shape[1] - 1, self.chunk):
                x = data[:, i : i + self.chunk]
                y = data[:, i + 1 : i + 1 + self.chunk]
                x = x[:, : y.shape[1]]
                logits, state = self.model(x, state)
                state = state.detach()
                loss = F.cross_entropy(logits.reshape([-1, logits.shape[-1]]), y.reshape([-1]))
                loss.backward()
                self.opt.step()
                self.opt.clear_grad()
                losses.append(loss.item())
            ppl = np.exp(np.mean(losses))
            self.log.append({"epoch": epoch, "ppl": round(float(ppl), 3)})
            print(f"epoch {epoch}: perplexity {ppl:.2f}")
        return self.log[-1]["ppl"]


def calls_charlm():
    return [
        (("abc abd abe",), {}),
        (("a bad cab deed",), {"epochs": 1}),
        (("hello",), {}),
        (("abc abd abe",), {"epochs": 3}),
    ]


@program
def characters_in_chunks(convert):
    """A character model trained over chunks of a text with its state carried on; the perplexity of each epoch."""
    paddle.seed(26)
    trainer = LMTrainer(CharLM("abcde "))
    run = convert(trainer.run)
    for args, kw in calls_charlm():
        yield attempt(lambda: run(*args, **kw)), trainer.log, trainer.model
