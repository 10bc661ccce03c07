"""Generation beyond beams: transducers, mask-predict, lookahead, reranking, lattices, memories."""

from collections import namedtuple
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


def table_of(vocab, seed, scale=1.5):
    rng = np.random.RandomState(seed)
    return paddle.to_tensor(rng.randn(vocab, vocab).astype("float32") * scale)


@program
def transducer_greedy_decoding(convert):
    """RNN-T: several symbols per frame up to a limit, the predictor moves on non-blanks only."""

    class Predictor(nn.Layer):
        def __init__(self, vocab, dim):
            super().__init__()
            self.embed, self.cell = nn.Embedding(vocab, dim), nn.GRUCell(dim, dim)

        def forward(self, token, state=None):
            out, state = self.cell(self.embed(token), state)
            return out, state

    class Transducer(nn.Layer):
        def __init__(self, vocab=6, dim=4, blank=0):
            super().__init__()
            self.encoder = nn.Linear(3, dim)
            self.predictor = Predictor(vocab, dim)
            self.joint = nn.Linear(dim, vocab)
            self.blank = blank

        def forward(self, frames, max_symbols=2, blank_bias=0.0):
            encoded = self.encoder(frames).tanh()
            token = paddle.full([1], self.blank, dtype="int64")
            out, state = self.predictor(token)
            emitted, times = [], []
            score = paddle.zeros([])
            for t in range(frames.shape[0]):
                for _ in range(max_symbols):
                    logits = 4 * self.joint(F.relu(encoded[t] + out[0]))
                    logits = logits + blank_bias * F.one_hot(paddle.to_tensor(self.blank), 6)
                    logp = F.log_softmax(logits, axis=-1)
                    best = logp.argmax()
                    score = score + logp[best]
                    if best == self.blank:
                        break
                    emitted.append(best)
                    times.append(t)
                    out, state = self.predictor(best.reshape([1]), state)
            return emitted, times, score

    model = Transducer()
    model.eval()
    decode = convert(model.forward)
    rng = np.random.RandomState(0)
    with paddle.no_grad():
        for frames, symbols, bias in ((3, 2, 0.0), (4, 1, 0.0), (3, 3, 2.0), (2, 2, 50.0)):
            x = paddle.to_tensor(rng.randn(frames, 3).astype("float32"))
            yield decode(x, max_symbols=symbols, blank_bias=bias)


@program
def mask_predict_refinement(convert):
    """All positions at once, the least certain are masked again, for a number of rounds."""

    @dataclass
    class Round:
        tokens: paddle.Tensor
        confidence: paddle.Tensor
        masked: paddle.Tensor

    class BidirectionalLM(nn.Layer):
        def __init__(self, vocab=8, dim=6, length=10):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.position = nn.Embedding(length, dim)
            self.mix = nn.MultiHeadAttention(dim, 2)
            self.head = nn.Linear(dim, vocab)

        def forward(self, ids):
            x = self.embed(ids) + self.position(paddle.arange(ids.shape[1]))
            return self.head(x + self.mix(x, x, x)) * 4

    class MaskPredict:
        def __init__(self, model, mask_id=7, rounds=3):
            self.model, self.mask_id, self.rounds = model, mask_id, rounds
            self.history: List[Round] = []

        def remask(self, tokens, confidence, count, fixed):
            confidence = paddle.where(fixed, paddle.full_like(confidence, 2.0), confidence)
            _, index = paddle.topk(confidence, k=count, axis=-1, largest=False)
            masked = F.one_hot(index, tokens.shape[1]).sum(axis=1) > 0
            return paddle.where(masked, paddle.full_like(tokens, self.mask_id), tokens), masked

        @convert
        def generate(self, ids, stop_when_sure=None):
            fixed = ids != self.mask_id
            total = int((~fixed).astype("int64").sum(axis=-1).max())
            tokens = ids
            self.history = []
            for r in range(self.rounds):
                probs = F.softmax(self.model(tokens), axis=-1)
                confidence, best = probs.max(axis=-1), probs.argmax(axis=-1)
                tokens = paddle.where(fixed, ids, best)
                count = total * (self.rounds - 1 - r) // self.rounds
                if stop_when_sure is not None and confidence.min() > stop_when_sure:
                    break
                if count == 0:
                    break
                tokens, masked = self.remask(tokens, confidence, count, fixed)
                self.history.append(Round(tokens, confidence, masked))
            return tokens

    model = BidirectionalLM()
    model.eval()
    filler = MaskPredict(model)
    with paddle.no_grad():
        for ids in ([[1, 7, 7, 7, 2, 7]], [[7, 7, 3], [4, 7, 7]]):
            yield filler.generate(paddle.to_tensor(ids)), filler.history
            yield filler.generate(paddle.to_tensor(ids), stop_when_sure=0.1), len(filler.history)


@program
def reranking_and_minimum_bayes_risk(convert):
    """Several samples are drawn; one is chosen by score, by a reward, or by expected overlap."""
    Sample = namedtuple("Sample", ["ids", "logp", "length"])
    table = table_of(7, seed=1)

    def draw(start, count, max_len, eos):
        token = paddle.full([count], start, dtype="int64")
        done = paddle.zeros([count], dtype="bool")
        total = paddle.zeros([count])
        length = paddle.zeros([count])
        columns = []
        for _ in range(max_len):
            logp = F.log_softmax(table[token], axis=-1)
            token = paddle.multinomial(logp.exp(), num_samples=1).squeeze(-1)
            token = paddle.where(done, paddle.full_like(token, eos), token)
            alive = (~done).astype("float32")
            picked = paddle.take_along_axis(logp, token.unsqueeze(-1), axis=-1).squeeze(-1)
            total = total + alive * picked
            length = length + alive
            columns.append(token)
            done = done | (token == eos)
            if done.all():
                break
        return Sample(ids=paddle.stack(columns, axis=1), logp=total, length=length)

    def unigram_overlap(ids, vocab):
        counts = F.one_hot(ids, vocab).sum(axis=1)
        shared = paddle.minimum(counts.unsqueeze(1), counts.unsqueeze(0)).sum(axis=-1)
        return shared / counts.sum(axis=-1).unsqueeze(0)

    def reward(ids):
        return (ids % 2 == 0).astype("float32").mean(axis=-1)

    @convert
    def best_of(start, count=4, max_len=5, eos=0, rule="logp", normalise=True):
        sample = draw(start, count, max_len, eos)
        if rule == "logp":
            value = sample.logp / sample.length if normalise else sample.logp
        elif rule == "reward":
            value = reward(sample.ids)
        elif rule == "mbr":
            value = unigram_overlap(sample.ids, 7).mean(axis=1)
        else:
            raise ValueError(f"no rule {rule!r}")
        if value.max() - value.min() < 1e-6:
            choice = sample.length.argmax()
        else:
            choice = value.argmax()
        return sample.ids[choice], value, choice

    for seed, rule in ((0, "logp"), (1, "reward"), (2, "mbr"), (3, "mbr")):
        paddle.seed(seed)
        yield best_of(1 + seed, rule=rule)
        yield best_of(2, count=3, max_len=4, rule=rule, normalise=False)
    try:
        best_of(1, rule="length")
    except ValueError as error:
        yield str(error)


@program
def lookahead_decoding_with_ngram_pool(convert):
    """Guesses from a pool of n-grams seen so far are verified against the model and accepted."""
    table = table_of(6, seed=2, scale=3.0)

    class Pool:
        def __init__(self, n=2, per_key=2):
            self.n, self.per_key = n, per_key
            self.grams: Dict[int, List[Tuple[int, ...]]] = {}

        def add(self, ids):
            for i in range(len(ids) - self.n):
                rows = self.grams.setdefault(ids[i], [])
                gram = tuple(ids[i + 1 : i + 1 + self.n])
                if gram not in rows:
                    rows.append(gram)
                    del rows[: -self.per_key]

        def guesses(self, key):
            return self.grams.get(key, [])

    @convert
    def verify(last, guess):
        """How many tokens of the guess the model would have produced, and what it says next."""
        accepted = paddle.zeros([], dtype="int64")
        following = table[last].argmax()
        for token in guess:
            if following != token:
                break
            accepted = accepted + 1
            following = table[token].argmax()
        return accepted, following

    def decode(start, length, pool=None):
        ids, steps = [start], 0
        while len(ids) < length:
            steps += 1
            best, following = 0, int(table[ids[-1]].argmax())
            chosen = ()
            for guess in pool.guesses(ids[-1]) if pool else ():
                accepted, after = verify(paddle.to_tensor(ids[-1]), paddle.to_tensor(guess))
                if int(accepted) > best:
                    best, following, chosen = int(accepted), int(after), guess
            ids.extend(chosen[:best])
            ids.append(following)
            if pool is not None:
                pool.add(ids)
        return ids[:length], steps

    pool = Pool()
    for start, length in ((0, 6), (3, 8), (0, 8)):
        yield decode(start, length, pool=pool)
        yield decode(start, length)
    yield pool.grams
    yield verify(paddle.to_tensor(1), paddle.to_tensor([0, 0, 0]))


@program
def nearest_neighbour_language_model(convert):
    """A datastore of (state, next word) is mixed with the model; it is skipped when far away."""

    class Datastore:
        def __init__(self, dim):
            self.keys: Optional[paddle.Tensor] = None
            self.values: Optional[paddle.Tensor] = None
            self.dim = dim

        def add(self, keys, values):
            if self.keys is None:
                self.keys, self.values = keys.detach(), values
            else:
                self.keys = paddle.concat(x=[self.keys, keys.detach()], axis=0)
                self.values = paddle.concat(x=[self.values, values], axis=0)

        def __len__(self):
            return 0 if self.keys is None else self.keys.shape[0]

        def query(self, state, k):
            d = (self.keys - state).square().sum(axis=-1)
            k = min(k, len(self))
            distance, index = paddle.topk(d, k=k, largest=False)
            return distance, paddle.gather(self.values, index)

    class LM(nn.Layer):
        def __init__(self, vocab=6, dim=4):
            super().__init__()
            self.embed, self.cell = nn.Embedding(vocab, dim), nn.GRUCell(dim, dim)
            self.head = nn.Linear(dim, vocab)
            self.vocab, self.dim = vocab, dim

        def states(self, ids):
            h, out = None, []
            for t in range(ids.shape[0]):
                _, h = self.cell(self.embed(ids[t : t + 1]), h)
                out.append(h[0])
            return paddle.stack(out)

    class KnnLM:
        def __init__(self, model, weight=0.4, limit=None, temperature=1.0):
            self.model, self.store = model, Datastore(model.dim)
            self.weight, self.limit, self.temperature = weight, limit, temperature

        @convert
        def observe(self, ids):
            states = self.model.states(ids[:-1])
            self.store.add(states, ids[1:])
            return states

        @convert
        def distribution(self, ids, k=3):
            state = self.model.states(ids)[-1]
            p = F.softmax(self.model.head(state), axis=-1)
            if len(self.store) == 0:
                return p
            distance, values = self.store.query(state, k)
            if self.limit is not None and distance.min() > self.limit:
                return p
            weights = F.softmax(-distance / self.temperature, axis=-1)
            neighbour = (F.one_hot(values, self.model.vocab) * weights.unsqueeze(-1)).sum(axis=0)
            return self.weight * neighbour + (1 - self.weight) * p

    rng = np.random.RandomState(3)
    knn = KnnLM(LM())
    with paddle.no_grad():
        prompt = paddle.to_tensor([1, 2, 3])
        yield knn.distribution(prompt)
        for n in (4, 6):
            yield knn.observe(paddle.to_tensor(rng.randint(0, 6, n))), len(knn.store)
            yield knn.distribution(prompt), knn.distribution(prompt[:1], k=5)
        for limit in (1e-9, 10.0):
            knn.limit = limit
            yield knn.distribution(prompt)


@program
def gibbs_and_metropolis_text_sampling(convert):
    """Energy-based text: Gibbs sweeps, Metropolis swaps, parallel chains with exchanges."""

    class Energy:
        def __init__(self, vocab, seed, length_target=None):
            self.pair = table_of(vocab, seed)
            self.vocab = vocab

        def __call__(self, ids):
            return -self.pair[ids[:-1], ids[1:]].sum()

        def conditional(self, ids, position):
            score = paddle.zeros([self.vocab])
            if position > 0:
                score = score + self.pair[ids[position - 1]]
            if position < ids.shape[0] - 1:
                score = score + self.pair[:, ids[position + 1]]
            return score

    @dataclass
    class Chain:
        ids: paddle.Tensor
        temperature: float
        accepted: paddle.Tensor = field(default_factory=lambda: paddle.zeros([], dtype="int64"))

    def put(ids, position, value):
        return paddle.where(paddle.arange(ids.shape[0]) == position, value, ids)

    def gibbs_sweep(energy, chain):
        for position in range(chain.ids.shape[0]):
            logits = energy.conditional(chain.ids, position) / chain.temperature
            token = paddle.multinomial(F.softmax(logits, axis=-1), num_samples=1)[0]
            chain.ids = put(chain.ids, position, token)

    def metropolis_swap(energy, chain):
        n = chain.ids.shape[0]
        pick = paddle.randint(0, n, [2])
        i, j = pick[0], pick[1]
        a, b = chain.ids[i].clone(), chain.ids[j].clone()
        proposal = put(put(chain.ids, i, b), j, a)
        change = (energy(proposal) - energy(chain.ids)) / chain.temperature
        if paddle.rand([]) < paddle.exp(-change):
            chain.ids = proposal
            chain.accepted = chain.accepted + 1

    @convert
    def run(energy, chains, rounds=2, swaps=1, target=None):
        trace = []
        for r in range(rounds):
            for chain in chains:
                gibbs_sweep(energy, chain)
                for _ in range(swaps):
                    metropolis_swap(energy, chain)
            for cold, hot in zip(chains, chains[1:]):
                gap = (1 / cold.temperature - 1 / hot.temperature) * (
                    energy(cold.ids) - energy(hot.ids)
                )
                if paddle.rand([]) < paddle.exp(gap):
                    cold.ids, hot.ids = hot.ids, cold.ids
            trace.append(energy(chains[0].ids))
            if target is not None and trace[-1] < target:
                break
        return chains[0].ids, trace

    energy = Energy(5, seed=4)
    for seed, length, temperatures in ((0, 3, (1.0,)), (1, 4, (0.5, 2.0)), (2, 4, (0.3, 1.0))):
        paddle.seed(seed)
        start = paddle.arange(length) % 5
        chains = [Chain(ids=start, temperature=t) for t in temperatures]
        yield run(energy, chains)
        yield [chain.ids for chain in chains], [chain.accepted for chain in chains]
        yield run(energy, chains, rounds=3, swaps=0, target=-2.0)


@program
def lexically_constrained_grid_beams(convert):
    """Beams are kept in banks by the number of required words they contain already."""
    vocab = 7
    table = table_of(vocab, seed=5)
    NEG = -1e9

    class Requirement:
        def __init__(self, words):
            self.words = paddle.to_tensor(words)

        def __len__(self):
            return self.words.shape[0]

        def met(self, ids):
            """For every row, how many of the words occur."""
            found = (ids.unsqueeze(-1) == self.words).any(axis=1)
            return found.astype("int64").sum(axis=-1)

    def best_per_bank(scores, banks, count, width):
        kept = []
        for bank in range(count + 1):
            inside = paddle.where(banks == bank, scores, paddle.full_like(scores, NEG))
            value, index = paddle.topk(inside, k=width)
            kept.append((value, index))
        values = paddle.concat([v for v, _ in kept], axis=0)
        indices = paddle.concat([i for _, i in kept], axis=0)
        return values, indices

    @convert
    def search(start, requirement, width=1, steps=5, eos=0):
        ids = paddle.full([1, 1], start, dtype="int64")
        scores = paddle.zeros([1])
        for step in range(steps):
            rows = ids.shape[0]
            logp = F.log_softmax(table[ids[:, -1]], axis=-1)
            unmet = requirement.met(ids) < len(requirement)
            blocked = unmet.unsqueeze(-1) & (paddle.arange(vocab) == eos)
            logp = paddle.where(blocked, paddle.full_like(logp, NEG), logp)
            total = (scores.unsqueeze(-1) + logp).flatten()
            parents = paddle.arange(rows).repeat_interleave(vocab)
            words = paddle.tile(paddle.arange(vocab), [rows])
            grown = paddle.concat([ids[parents], words.unsqueeze(-1)], axis=1)
            values, index = best_per_bank(total, requirement.met(grown), len(requirement), width)
            ids, scores = paddle.gather(grown, index), values
            finished = (requirement.met(ids) == len(requirement)) & (ids[:, -1] == eos)
            if (finished & (scores > NEG / 2)).any():
                best = paddle.where(finished, scores, paddle.full_like(scores, NEG)).argmax()
                return ids[best], scores[best], step + 1
        complete = requirement.met(ids) == len(requirement)
        ranked = paddle.where(complete, scores, scores + NEG)
        return ids[ranked.argmax()], ranked.max(), steps

    for words, width in (([3], 1), ([2, 5], 1), ([4, 1], 2)):
        yield search(1, Requirement(words), width=width)
        yield search(6, Requirement(words), width=2, steps=3, eos=2)


@program
def exponential_moving_draft_lengths(convert):
    """Speculation whose draft length adapts to the acceptance rate, with rolled back caches."""

    class CachedModel:
        """A toy model whose state is a decayed sum of embeddings; its cache can be rolled back."""

        def __init__(self, seed, vocab=6, dim=4):
            rng = np.random.RandomState(seed)
            self.embed = paddle.to_tensor(rng.randn(vocab, dim).astype("float32"))
            self.head = paddle.to_tensor(rng.randn(dim, vocab).astype("float32"))
            self.cache: List[paddle.Tensor] = [paddle.zeros([dim])]

        def step(self, token):
            self.cache.append(0.5 * self.cache[-1] + self.embed[token])
            return paddle.matmul(self.cache[-1], self.head)

        def rollback(self, length):
            del self.cache[length:]

        @property
        def length(self):
            return len(self.cache)

    class AdaptiveDraft:
        def __init__(self, start=2.0, low=1, high=4, decay=0.5):
            self.level, self.low, self.high, self.decay = start, low, high, decay

        @property
        def size(self):
            return int(min(self.high, max(self.low, round(self.level))))

        def update(self, rate):
            self.level = self.decay * self.level + (1 - self.decay) * self.high * rate

    class Speculator:
        def __init__(self, target, draft):
            self.target, self.draft = target, draft
            self.control = AdaptiveDraft()
            self.rates: List[float] = []

        @convert
        def propose(self, token, count):
            tokens = []
            for _ in range(count):
                token = self.draft.step(token).argmax()
                tokens.append(token)
            return tokens

        @convert
        def check(self, token, tokens):
            accepted = paddle.zeros([], dtype="int64")
            open_ = paddle.to_tensor(True)
            answers = []
            for guess in [*tokens, None]:
                answer = self.target.step(token).argmax()
                answers.append(answer)
                if guess is None:
                    break
                open_ = open_ & (answer == guess)
                accepted = accepted + open_.astype("int64")
                token = guess
            return accepted, paddle.stack(answers)

        def generate(self, token, length):
            out = [token]
            while len(out) < length:
                base = (self.target.length, self.draft.length)
                size = self.control.size
                tokens = self.propose(out[-1], size)
                accepted, answers = self.check(out[-1], tokens)
                n = int(accepted)
                self.rates.append(n / size)
                self.control.update(n / size)
                out.extend(tokens[:n])
                out.append(answers[n])
                self.target.rollback(base[0] + n + 1)
                self.draft.rollback(base[1] + min(n + 1, size))
                if n == size:
                    self.draft.step(tokens[-1])
            return paddle.stack(out[:length])

    for target, draft in ((1, 1), (1, 2), (3, 4)):
        speculator = Speculator(CachedModel(target), CachedModel(draft))
        yield speculator.generate(paddle.to_tensor(0), 6)
        yield speculator.rates, speculator.control.size, speculator.target.length
