"""Decoders of sequence models: attention, pointers, speech, caches, several rows at a time."""

import math

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


def fixed(layer, seed, scale=0.6):
    """Parameters that do not depend on how often the program has run."""
    rng = np.random.RandomState(seed)
    for p in layer.parameters():
        p.set_value(paddle.to_tensor(rng.randn(*p.shape).astype("float32") * scale))
    layer.eval()
    return layer


def numbers(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape).astype("float32"))


@program
def summariser_with_coverage_and_copying(convert):
    """See et al.: LSTM decoder, coverage attention, pointer-generator over an extended vocabulary."""

    class Decoder(nn.Layer):
        def __init__(self, vocab, hidden):
            super().__init__()
            self.embed = nn.Embedding(vocab, hidden)
            self.cell = nn.LSTMCell(hidden, hidden)
            self.w_h = nn.Linear(hidden, hidden, bias_attr=False)
            self.w_s = nn.Linear(hidden, hidden)
            self.w_c = nn.Linear(1, hidden, bias_attr=False)
            self.v = nn.Linear(hidden, 1, bias_attr=False)
            self.p_gen = nn.Linear(3 * hidden, 1)
            self.out = nn.Linear(2 * hidden, vocab)
            self.vocab = vocab

        def attend(self, memory, mask, h, coverage):
            features = self.w_h(memory) + self.w_s(h).unsqueeze(1)
            if coverage is not None:
                features = features + self.w_c(coverage.unsqueeze(-1))
            energy = self.v(paddle.tanh(features)).squeeze(-1)
            energy = paddle.where(mask, energy, paddle.full_like(energy, -1e9))
            return F.softmax(energy, axis=-1)

        def step(self, token, state, memory, mask, source, coverage, extra):
            token = paddle.where(token >= self.vocab, paddle.full_like(token, 1), token)
            x = self.embed(token)
            h, state = self.cell(x, state)
            attention = self.attend(memory, mask, h, coverage)
            context = paddle.bmm(attention.unsqueeze(1), memory).squeeze(1)
            p_gen = F.sigmoid(self.p_gen(paddle.concat([context, h, x], axis=-1)))
            words = F.softmax(self.out(paddle.concat([h, context], axis=-1)), axis=-1) * p_gen
            if extra > 0:
                words = paddle.concat([words, paddle.zeros([words.shape[0], extra])], axis=-1)
            copied = paddle.zeros_like(words)
            copied = paddle.put_along_axis(
                copied, source, attention * (1 - p_gen), axis=1, reduce="add"
            )
            coverage = attention if coverage is None else coverage + attention
            return words + copied, state, attention, coverage

        @convert
        def decode(self, memory, mask, source, extra, max_steps, eos=0):
            batch = memory.shape[0]
            state = (memory.mean(axis=1), paddle.zeros([batch, memory.shape[2]]))
            token = paddle.full([batch], 2, dtype="int64")
            done = paddle.zeros([batch], dtype="bool")
            coverage = None
            words, attentions = [], []
            coverage_loss = 0.0
            for t in range(max_steps):
                old = coverage
                probs, state, attention, coverage = self.step(
                    token, state, memory, mask, source, coverage, extra
                )
                if old is not None:
                    coverage_loss = coverage_loss + paddle.minimum(attention, old).sum(-1).mean()
                token = probs.argmax(axis=-1)
                token = paddle.where(done, paddle.full_like(token, eos), token)
                done = paddle.logical_or(done, token == eos)
                words.append(token)
                attentions.append(attention)
                if done.all():
                    break
            return paddle.stack(words, axis=1), paddle.stack(attentions, axis=1), coverage_loss

    model = fixed(Decoder(8, 6), 1)
    for length, extra, seed in ((5, 2, 0), (4, 0, 1), (6, 3, 2)):
        memory = numbers(2, length, 6, seed=seed)
        mask = paddle.arange(length).unsqueeze(0) < paddle.to_tensor([[length], [length - 1]])
        source = paddle.to_tensor(np.random.RandomState(seed).randint(0, 8 + extra, (2, length)))
        yield model.decode(memory, mask, source, extra, 6)


@program
def translation_with_scheduled_sampling(convert):
    """Bengio et al.: feeds the truth or its own word, by an annealed coin for each row."""

    class Seq2Seq(nn.Layer):
        def __init__(self, vocab, hidden):
            super().__init__()
            self.embed = nn.Embedding(vocab, hidden)
            self.encoder = nn.GRU(hidden, hidden)
            self.cell = nn.GRUCell(2 * hidden, hidden)
            self.out = nn.Linear(hidden, vocab)
            self.steps = 0

        def forward(self, source, target, coins):
            memory, h = self.encoder(self.embed(source))
            h = h[0]
            logits = []
            token = target[:, 0]
            for t in range(1, target.shape[1]):
                weights = F.softmax((memory * h.unsqueeze(1)).sum(-1), axis=-1)
                context = (weights.unsqueeze(-1) * memory).sum(1)
                _, h = self.cell(paddle.concat([self.embed(token), context], -1), h)
                logit = self.out(h)
                logits.append(logit)
                use_truth = coins[:, t] < self.truth_rate()
                token = paddle.where(use_truth, target[:, t], logit.argmax(-1))
            return paddle.stack(logits, axis=1)

        def truth_rate(self):
            k = 4.0
            return k / (k + math.exp(self.steps / k))

        @convert
        def loss(self, source, target, coins):
            logits = self(source, target, coins)
            self.steps += 1
            mask = (target[:, 1:] != 0).astype("float32")
            ce = F.cross_entropy(logits, target[:, 1:], reduction="none").squeeze(-1)
            return (ce * mask).sum() / mask.sum().clip(min=1.0)

    model = fixed(Seq2Seq(7, 5), 5, 0.4)
    model.train()
    sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    rng = np.random.RandomState(0)
    for step in range(4):
        source = paddle.to_tensor(rng.randint(1, 7, (3, 4)))
        target = paddle.to_tensor(rng.randint(0, 7, (3, 5)))
        coins = paddle.to_tensor(rng.rand(3, 5).astype("float32"))
        loss = model.loss(source, target, coins)
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        yield loss, model.steps, model.out.weight


class Attention(nn.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        b, t, _ = x.shape
        return x.reshape([b, t, self.heads, -1]).transpose([0, 2, 1, 3])

    def forward(self, x, past=None, mask=None):
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, axis=-1))
        if past is not None:
            k = paddle.concat([past[0], k], axis=2)
            v = paddle.concat([past[1], v], axis=2)
        scores = q @ k.transpose([0, 1, 3, 2]) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        y = (F.softmax(scores, axis=-1) @ v).transpose([0, 2, 1, 3])
        return self.out(y.reshape([x.shape[0], x.shape[1], -1])), (k, v)


class Transformer(nn.Layer):
    def __init__(self, vocab, width, heads, layers, longest=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.place = nn.Embedding(longest, width)
        self.layers = nn.LayerList([Attention(width, heads) for _ in range(layers)])
        self.norms = nn.LayerList([nn.LayerNorm(width) for _ in range(layers)])
        self.head = nn.Linear(width, vocab)

    def forward(self, ids, cache=None):
        start = 0 if cache is None else cache[0][0].shape[2]
        x = self.embed(ids) + self.place(paddle.arange(start, start + ids.shape[1]))
        mask = None
        if ids.shape[1] > 1:
            mask = paddle.triu(paddle.full([ids.shape[1], ids.shape[1]], -1e9), 1)
        new = []
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            y, kv = layer(norm(x), None if cache is None else cache[i], mask)
            x = x + y
            new.append(kv)
        return self.head(x), new


@program
def batched_generation_with_kv_cache(convert):
    """Greedy decoding of several rows, each of which ends by itself and is padded from there."""

    model = fixed(Transformer(9, 8, 2, 2), 7)

    @convert
    def generate(prompt, max_new_tokens, eos=0, pad=0):
        ids = prompt
        cache = None
        unfinished = paddle.ones([prompt.shape[0]], dtype="int64")
        lengths = paddle.zeros([prompt.shape[0]], dtype="int64")
        while ids.shape[1] < prompt.shape[1] + max_new_tokens:
            inputs = ids if cache is None else ids[:, -1:]
            logits, cache = model(inputs, cache)
            token = logits[:, -1].argmax(axis=-1)
            token = token * unfinished + pad * (1 - unfinished)
            ids = paddle.concat([ids, token.unsqueeze(1)], axis=1)
            lengths += unfinished
            unfinished = unfinished * (token != eos).astype("int64")
            if unfinished.max() == 0:
                break
        return ids, lengths

    with paddle.no_grad():
        for seed, rows, length in ((0, 2, 3), (1, 3, 2), (2, 1, 5), (3, 2, 4)):
            prompt = np.random.RandomState(seed).randint(1, 9, (rows, length))
            yield generate(paddle.to_tensor(prompt), 5)


@program
def beam_search_with_reordered_kv_cache(convert):
    """Beams of a batch over a transformer: the cache is reordered, each row has its own pool."""

    model = fixed(Transformer(7, 8, 2, 1), 11)

    class Hypotheses:
        def __init__(self, size, alpha):
            self.size, self.alpha = size, alpha
            self.beams = []
            self.worst = 1e9

        def add(self, hyp, logprob):
            score = logprob / hyp.shape[-1] ** self.alpha
            if len(self.beams) < self.size or score > self.worst:
                self.beams.append((score, hyp))
                if len(self.beams) > self.size:
                    order = sorted((s, i) for i, (s, _) in enumerate(self.beams))
                    del self.beams[order[0][1]]
                    self.worst = order[1][0]
                else:
                    self.worst = min(score, self.worst)

        def is_done(self, best, length):
            if len(self.beams) < self.size:
                return False
            return self.worst >= best / length**self.alpha

    @convert
    def beam_search(prompt, width, max_length, eos=0, alpha=1.0):
        batch = prompt.shape[0]
        vocab = 7
        ids = prompt.repeat_interleave(width, axis=0)
        scores = paddle.zeros([batch, width])
        scores[:, 1:] = -1e9
        scores = scores.reshape([-1])
        pools = [Hypotheses(width, alpha) for _ in range(batch)]
        done = [False for _ in range(batch)]
        cache = None
        length = prompt.shape[1]
        while length < max_length:
            logits, cache = model(ids if cache is None else ids[:, -1:], cache)
            logp = F.log_softmax(logits[:, -1], axis=-1) + scores.unsqueeze(-1)
            top, flat = paddle.topk(logp.reshape([batch, width * vocab]), 2 * width)
            next_beams = []
            for b in range(batch):
                if done[b]:
                    next_beams.extend([(0.0, 0, 0)] * width)
                    continue
                beams = []
                for rank in range(2 * width):
                    token = flat[b, rank].item() % vocab
                    source = b * width + flat[b, rank].item() // vocab
                    score = float(top[b, rank])
                    if token == eos:
                        if rank < width:
                            pools[b].add(ids[source].clone(), score)
                    else:
                        beams.append((score, token, source))
                    if len(beams) == width:
                        break
                done[b] = pools[b].is_done(float(top[b].max()), length)
                next_beams.extend(beams)
            if all(done):
                break
            scores = paddle.to_tensor([x[0] for x in next_beams])
            tokens = paddle.to_tensor([x[1] for x in next_beams])
            order = paddle.to_tensor([x[2] for x in next_beams])
            ids = paddle.concat([ids[order], tokens.unsqueeze(1)], axis=1)
            cache = [(k[order], v[order]) for k, v in cache]
            length += 1
        best = []
        for b in range(batch):
            if not done[b]:
                for w in range(width):
                    pools[b].add(ids[b * width + w], float(scores[b * width + w]))
            best.append(max(pools[b].beams, key=lambda x: x[0])[1])
        return best

    with paddle.no_grad():
        yield beam_search(paddle.to_tensor([[3, 1]]), 2, 5)
        yield beam_search(paddle.to_tensor([[2, 4], [5, 1]]), 2, 4)


@program
def speech_from_durations(convert):
    """FastSpeech: durations are predicted, phones repeated so often, and the rows padded."""

    class Regulator(nn.Layer):
        def __init__(self, width):
            super().__init__()
            self.duration = nn.Linear(width, 1)
            self.decoder = nn.GRU(width, width)

        def expand(self, hidden, durations):
            rows = []
            for i in range(hidden.shape[0]):
                parts = []
                for j in range(hidden.shape[1]):
                    d = int(durations[i, j])
                    if d > 0:
                        parts.append(hidden[i, j].unsqueeze(0).expand([d, -1]))
                rows.append(paddle.concat(parts) if parts else paddle.zeros([1, hidden.shape[2]]))
            return rows

        def pad(self, rows):
            longest = max(row.shape[0] for row in rows)
            out = paddle.zeros([len(rows), longest, rows[0].shape[1]])
            for i, row in enumerate(rows):
                out[i, : row.shape[0]] = row
            return out, paddle.to_tensor([row.shape[0] for row in rows])

        @convert
        def forward(self, hidden, speed=1.0):
            log_d = self.duration(hidden).squeeze(-1)
            durations = paddle.clip(paddle.round(paddle.exp(log_d) * speed), 0, 4)
            out, lengths = self.pad(self.expand(hidden, durations.astype("int64")))
            y, _ = self.decoder(out)
            return y, lengths, durations

    model = fixed(Regulator(4), 13)
    with paddle.no_grad():
        for seed, speed in ((0, 1.0), (1, 1.5), (2, 0.4)):
            yield model(numbers(2, 3, 4, seed=seed), speed)


@program
def length_regulator_by_matrix(convert):
    """The other way to write it: an alignment matrix filled row by row, then one matmul."""

    @convert
    def regulate(x, durations, alpha=1.0):
        if alpha != 1.0:
            durations = paddle.round(durations.astype("float32") * alpha).astype("int64")
        batch, steps, _ = x.shape
        frames = durations.sum(-1)
        longest = int(frames.max())
        align = np.zeros([batch, longest, steps], dtype="float32")
        for b, row in enumerate(durations.numpy()):
            k = 0
            for t, d in enumerate(row):
                align[b, k : k + d, t] = 1
                k += d
        return paddle.matmul(paddle.to_tensor(align), x), frames

    @convert
    def regulate_by_repeats(x, durations):
        outs = []
        for row, d in zip(x, durations):
            outs.append(paddle.repeat_interleave(row, d, axis=0))
        longest = max(len(o) for o in outs)
        return paddle.stack([F.pad(o, [0, longest - len(o), 0, 0]) for o in outs])

    for seed in range(3):
        d = paddle.to_tensor(np.random.RandomState(seed).randint(0, 3, (2, 4)) + (seed == 2))
        x = numbers(2, 4, 3, seed=seed)
        yield regulate(x, d)
        yield regulate(x, d, alpha=1.5)
        yield regulate_by_repeats(x, d + 1)


@program
def tacotron_with_stop_tokens(convert):
    """Location-sensitive attention, frames by groups of r, until every row has said stop."""

    class Tacotron(nn.Layer):
        def __init__(self, width, mel, r):
            super().__init__()
            self.prenet = nn.Linear(mel, width)
            self.cell = nn.LSTMCell(2 * width, width)
            self.query = nn.Linear(width, width)
            self.location = nn.Conv1D(2, width, 3, padding=1)
            self.v = nn.Linear(width, 1)
            self.frame = nn.Linear(2 * width, mel * r)
            self.stop = nn.Linear(2 * width, r)
            self.mel, self.r = mel, r

        def initial(self, memory):
            b, t, w = memory.shape
            self.hidden = paddle.zeros([b, w]), paddle.zeros([b, w])
            self.weights = paddle.zeros([b, t])
            self.cumulated = paddle.zeros([b, t])
            self.context = paddle.zeros([b, w])

        def step(self, frame, memory):
            x = paddle.concat([F.relu(self.prenet(frame)), self.context], axis=-1)
            _, self.hidden = self.cell(x, self.hidden)
            where = self.location(paddle.stack([self.weights, self.cumulated], axis=1))
            energy = self.v(
                paddle.tanh(
                    self.query(self.hidden[0]).unsqueeze(1) + memory + where.transpose([0, 2, 1])
                )
            )
            self.weights = F.softmax(energy.squeeze(-1), axis=-1)
            self.cumulated = self.cumulated + self.weights
            self.context = paddle.bmm(self.weights.unsqueeze(1), memory).squeeze(1)
            both = paddle.concat([self.hidden[0], self.context], axis=-1)
            return self.frame(both).reshape([-1, self.r, self.mel]), self.stop(both)

        @convert
        def infer(self, memory, threshold=0.5, max_ratio=3.0, min_steps=1):
            self.initial(memory)
            frame = paddle.zeros([memory.shape[0], self.mel])
            frames, stops, weights = [], [], []
            max_steps = int(memory.shape[1] * max_ratio)
            step = 0
            while True:
                out, stop = self.step(frame, memory)
                frames.append(out)
                stops.append(F.sigmoid(stop))
                weights.append(self.weights)
                frame = out[:, -1]
                step += 1
                if step >= min_steps and paddle.all(stops[-1].max(axis=-1) > threshold):
                    break
                if step >= max_steps:
                    print(f"stopped after {step} steps")
                    break
            focus = paddle.stack(weights, axis=1).max(axis=-1).mean()
            return paddle.concat(frames, axis=1), paddle.concat(stops, axis=1), focus

    model = fixed(Tacotron(5, 3, 2), 17)
    with paddle.no_grad():
        for seed, batch, length, threshold in ((0, 1, 4, 0.5), (1, 2, 3, 0.55), (2, 2, 2, 0.999)):
            yield model.infer(numbers(batch, length, 5, seed=seed), threshold)


@program
def autoregressive_vocoder_by_folds(convert):
    """WaveRNN: the mel is folded into a batch, samples are drawn one at a time, then cross-faded."""

    class Vocoder(nn.Layer):
        def __init__(self, width, mel, classes):
            super().__init__()
            self.inputs = nn.Linear(1 + mel, width)
            self.rnn = nn.GRU(width, width)
            self.out = nn.Linear(width, classes)
            self.classes = classes

        def fold(self, mels, target, overlap):
            total = mels.shape[1]
            folds = (total - overlap) // (target + overlap)
            remaining = total - (folds * (target + overlap) + overlap)
            if remaining != 0:
                folds += 1
                padding = target + 2 * overlap - remaining
                mels = F.pad(mels, [0, 0, 0, padding, 0, 0], pad_from_left_axis=True)
            folded = paddle.zeros([folds, target + 2 * overlap, mels.shape[2]])
            for i in range(folds):
                start = i * (target + overlap)
                folded[i] = mels[0, start : start + target + 2 * overlap]
            return folded

        def unfold(self, y, target, overlap):
            ramp = paddle.linspace(0.0, 1.0, overlap)
            y[:, :overlap] = y[:, :overlap] * ramp
            y[:, -overlap:] = y[:, -overlap:] * (1 - ramp)
            out = paddle.zeros([y.shape[0] * (target + overlap) + overlap])
            for i in range(y.shape[0]):
                start = i * (target + overlap)
                out[start : start + target + 2 * overlap] += y[i]
            return out

        @convert
        def generate(self, mels, target=4, overlap=2):
            folded = self.fold(mels, target, overlap)
            batch, length, _ = folded.shape
            h = paddle.zeros([1, batch, self.out.weight.shape[0]])
            sample = paddle.zeros([batch, 1])
            output = []
            for i in range(length):
                x = self.inputs(paddle.concat([sample, folded[:, i]], axis=-1))
                y, h = self.rnn(x.unsqueeze(1), h)
                posterior = F.softmax(self.out(y[:, 0]), axis=-1)
                sample = (
                    2 * posterior.argmax(-1, keepdim=True).astype("float32") / (self.classes - 1.0)
                    - 1.0
                )
                output.append(sample)
            y = paddle.stack(output).transpose([1, 0, 2]).squeeze(-1)
            return self.unfold(y, target, overlap)[: mels.shape[1]]

    model = fixed(Vocoder(6, 3, 8), 19)
    with paddle.no_grad():
        for length in (8, 14, 17):
            yield model.generate(numbers(1, length, 3, seed=length))


@program
def simultaneous_translation_wait_k(convert):
    """Wait-k and an adaptive policy: reads a source word, or writes a target word."""

    class Policy(nn.Layer):
        def __init__(self, vocab, width):
            super().__init__()
            self.source = nn.Embedding(vocab, width)
            self.target = nn.Embedding(vocab, width)
            self.encoder = nn.GRUCell(width, width)
            self.decoder = nn.GRUCell(width, width)
            self.out = nn.Linear(2 * width, vocab)
            self.gate = nn.Linear(2 * width, 1)

        @convert
        def translate(self, source, k, max_len, eos=0):
            memory = []
            state = paddle.zeros([1, self.source.weight.shape[1]])
            hidden = paddle.zeros_like(state)
            token = paddle.to_tensor([1])
            written, delays = [], []
            read = 0
            while len(written) < max_len:
                context = paddle.stack(memory).mean(0) if memory else paddle.zeros_like(state)
                ready = paddle.concat([hidden, context], axis=-1)
                must_read = read < min(k + len(written), len(source))
                may_read = read < len(source)
                if must_read or (may_read and F.sigmoid(self.gate(ready)) > 0.5):
                    _, state = self.encoder(self.source(source[read : read + 1]), state)
                    memory.append(state)
                    read += 1
                    continue
                _, hidden = self.decoder(self.target(token), hidden)
                token = self.out(paddle.concat([hidden, context], axis=-1)).argmax(-1)
                written.append(token)
                delays.append(read)
                if token == eos:
                    break
            lag = sum(d - i * len(source) / len(written) for i, d in enumerate(delays))
            return paddle.concat(written), delays, lag / len(written)

    model = fixed(Policy(8, 5), 23)
    with paddle.no_grad():
        for seed, length, k in ((0, 4, 1), (1, 5, 2), (2, 3, 3)):
            source = paddle.to_tensor(np.random.RandomState(seed).randint(1, 8, (length,)))
            yield model.translate(source, k, 5)


@program
def ctc_greedy_with_timestamps(convert):
    """Best path of CTC: repeats and blanks go, each symbol has its frames and its confidence."""

    def collapse(path, probs, blank):
        symbols, spans, confidence = [], [], []
        previous = blank
        for t, symbol in enumerate(path):
            if symbol != blank and symbol != previous:
                symbols.append(symbol)
                spans.append([t, t])
                confidence.append(probs[t])
            elif symbol != blank:
                spans[-1][1] = t
                confidence[-1] = max(confidence[-1], probs[t])
            previous = symbol
        return symbols, spans, confidence

    @convert
    def recognise(logits, lengths, blank=0):
        probs = F.softmax(logits, axis=-1)
        best, path = probs.max(axis=-1), probs.argmax(axis=-1)
        results = []
        for b in range(logits.shape[0]):
            n = int(lengths[b])
            results.append(collapse(path[b, :n].tolist(), best[b, :n].tolist(), blank))
        return results

    for seed, frames in ((0, 6), (1, 5), (2, 6)):
        logits = numbers(2, frames, 3, seed=seed) * 3
        yield recognise(logits, paddle.to_tensor([frames, frames - 2]))


@program
def forced_alignment_by_viterbi(convert):
    """CTC alignment: a trellis filled in place, then traced back to the frames of each token."""

    @convert
    def align(emission, tokens, blank=0):
        frames, count = emission.shape[0], tokens.shape[0]
        trellis = paddle.full([frames + 1, count + 1], -float("inf"))
        trellis[0, 0] = 0.0
        trellis[1:, 0] = paddle.cumsum(emission[:, blank], 0)
        for t in range(frames):
            stay = trellis[t, 1:] + emission[t, blank]
            change = trellis[t, :-1] + emission[t, tokens]
            trellis[t + 1, 1:] = paddle.maximum(stay, change)
        j = count
        t = int(trellis[:, j].argmax())
        score = trellis[t, j]
        path = []
        while j > 0:
            if t == 0:
                break
            stayed = trellis[t - 1, j] + emission[t - 1, blank]
            changed = trellis[t - 1, j - 1] + emission[t - 1, tokens[j - 1]]
            path.append((t - 1, j - 1, emission[t - 1, blank].exp()))
            if changed > stayed:
                j -= 1
            t -= 1
        return score, path[::-1]

    for seed, frames, count in ((0, 5, 2), (1, 6, 3), (2, 4, 2)):
        emission = F.log_softmax(numbers(frames, 4, seed=seed) * 2, axis=-1)
        tokens = paddle.to_tensor(np.random.RandomState(seed).randint(1, 4, (count,)))
        yield align(emission, tokens)
