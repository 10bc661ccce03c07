"""Speech and audio: masks in chunks, endpoints, normalisation on line, alignment, rescoring."""

import enum
import functools
import logging
from collections import namedtuple
from typing import NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle import Tensor

from corpus.realistic import program

logger = logging.getLogger(__name__)


def make_pad_mask(lengths: Tensor, max_len: int = 0) -> Tensor:
    """True where there is padding."""
    batch_size = int(lengths.shape[0])
    max_len = max_len if max_len > 0 else int(lengths.max())
    seq_range = paddle.arange(0, max_len, dtype="int64").unsqueeze(0).expand([batch_size, max_len])
    return seq_range >= lengths.unsqueeze(-1)


@program
def conformer_that_streams_in_chunks(convert):
    """U2's encoder: masks by chunk for training, and a forward by chunk with caches of attention."""

    def subsequent_chunk_mask(size, chunk_size, num_left_chunks=-1):
        ret = paddle.zeros([size, size], dtype="bool")
        for i in range(size):
            start = 0
            if num_left_chunks >= 0:
                start = max((i // chunk_size - num_left_chunks) * chunk_size, 0)
            ending = min((i // chunk_size + 1) * chunk_size, size)
            ret[i, start:ending] = True
        return ret

    class Attention(nn.Layer):
        def __init__(self, size, heads):
            super().__init__()
            self.h, self.d_k = heads, size // heads
            self.linear_q, self.linear_k = nn.Linear(size, size), nn.Linear(size, size)
            self.linear_v, self.linear_out = nn.Linear(size, size), nn.Linear(size, size)

        def forward(self, x, mask=None, cache=None):
            n = x.shape[0]
            q = self.linear_q(x).reshape([n, -1, self.h, self.d_k]).transpose([0, 2, 1, 3])
            k = self.linear_k(x).reshape([n, -1, self.h, self.d_k]).transpose([0, 2, 1, 3])
            v = self.linear_v(x).reshape([n, -1, self.h, self.d_k]).transpose([0, 2, 1, 3])
            if cache is not None and cache.shape[2] > 0:
                old_k, old_v = paddle.split(cache, 2, axis=-1)
                k, v = paddle.concat([old_k, k], axis=2), paddle.concat([old_v, v], axis=2)
            new_cache = paddle.concat((k, v), axis=-1)
            scores = paddle.matmul(q, k, transpose_y=True) / self.d_k**0.5
            if mask is not None:
                blocked = mask.unsqueeze(1).logical_not()
                scores = paddle.where(blocked, paddle.full_like(scores, -1e9), scores)
                attn = F.softmax(scores, axis=-1)
                attn = paddle.where(blocked, paddle.zeros_like(attn), attn)
            else:
                attn = F.softmax(scores, axis=-1)
            x = paddle.matmul(attn, v).transpose([0, 2, 1, 3]).reshape([n, -1, self.h * self.d_k])
            return self.linear_out(x), new_cache

    class Encoder(nn.Layer):
        def __init__(self, dim=8, blocks=2, static_chunk_size=0):
            super().__init__()
            self.embed = nn.Linear(4, dim)
            self.attns = nn.LayerList([Attention(dim, 2) for _ in range(blocks)])
            self.norms = nn.LayerList([nn.LayerNorm(dim) for _ in range(blocks)])
            self.static_chunk_size = static_chunk_size

        @convert
        def forward(self, xs, xs_lens, decoding_chunk_size=0, num_left=-1):
            masks = make_pad_mask(xs_lens, xs.shape[1]).logical_not().unsqueeze(1)
            chunk = self.static_chunk_size or decoding_chunk_size
            if chunk > 0:
                chunk_masks = subsequent_chunk_mask(xs.shape[1], chunk, num_left).unsqueeze(0)
                masks = masks & chunk_masks
            xs = self.embed(xs)
            for attn, norm in zip(self.attns, self.norms):
                residual = xs
                xs = residual + attn(norm(xs), masks)[0]
            return xs, masks

        @convert
        def forward_chunk(self, xs, att_cache, required_cache_size=-1):
            xs = self.embed(xs)
            new_caches = []
            for i, layer in enumerate(self.attns):
                cache = att_cache[i : i + 1] if att_cache.shape[0] > 0 else None
                out, new = layer(self.norms[i](xs), cache=cache)
                xs = xs + out
                if required_cache_size == 0:
                    new = new[:, :, :0]
                elif required_cache_size > 0:
                    new = new[:, :, max(new.shape[2] - required_cache_size, 0) :]
                new_caches.append(new)
            return xs, paddle.concat(new_caches, axis=0)

    paddle.seed(3)
    encoder = Encoder()
    encoder.eval()
    x = paddle.randn([2, 7, 4])
    lens = paddle.to_tensor([7, 5])
    for chunk, left in ((0, -1), (2, -1), (3, 1)):
        yield encoder(x, lens, decoding_chunk_size=chunk, num_left=left)
    for required in (-1, 4, 0):
        cache = paddle.zeros([0, 2, 0, 8])
        for start in range(0, 7, 2):
            out, cache = encoder.forward_chunk(x[:1, start : start + 2], cache, required)
            yield out, cache.shape


@program
def endpoints_by_rules(convert):
    """Kaldi's endpointer: named rules on trailing silence, counted frame by frame."""

    class EndpointRule(NamedTuple):
        must_contain_nonsilence: bool
        min_trailing_silence: int
        min_utterance_length: int

    class EndpointConfig:
        def __init__(self, threshold=0.8, **rules):
            self.threshold = threshold
            self.rules = {"rule1": EndpointRule(False, 6, 0), "rule2": EndpointRule(True, 3, 0)}
            self.rules.update(rules)

    class OnlineEndpoint:
        def __init__(self, config: Optional[EndpointConfig] = None):
            self.config = config or EndpointConfig()
            self.reset()

        def reset(self):
            self.frames = paddle.zeros([], dtype="int64")
            self.trailing = paddle.zeros([], dtype="int64")

        def _activated(self, rule):
            has_speech = self.frames > self.trailing
            return (
                (has_speech or not rule.must_contain_nonsilence)
                and self.trailing >= rule.min_trailing_silence
                and self.frames >= rule.min_utterance_length
            )

        @convert
        def endpoint_detected(self, ctc_probs):
            """The frame at which a rule fires, or -1."""
            for t in range(ctc_probs.shape[0]):
                self.frames += 1
                if ctc_probs[t, 0] > self.config.threshold:
                    self.trailing += 1
                else:
                    self.trailing = paddle.zeros_like(self.trailing)
                for name, rule in self.config.rules.items():
                    if self._activated(rule):
                        return t, name
            return -1, None

    rng = np.random.RandomState(5)
    for config in (None, EndpointConfig(0.6, rule3=EndpointRule(False, 0, 9))):
        endpoint = OnlineEndpoint(config)
        for chunk in range(5):
            blank = rng.choice([0.1, 0.9], size=4, p=[0.4, 0.6])
            probs = np.stack([blank, 1 - blank], axis=1).astype("float32")
            frame, name = endpoint.endpoint_detected(paddle.to_tensor(probs))
            yield frame, name, endpoint.frames, endpoint.trailing
            if name is not None:
                endpoint.reset()


@program
def monotonic_alignment_search(convert):
    """Glow-TTS: the best monotonic path by dynamic programming, on padded batches, then durations."""

    @convert
    def maximum_path(value, x_lens, y_lens, neg=-1e9):
        b, t_x, t_y = value.shape
        mask = make_pad_mask(x_lens, t_x).logical_not().unsqueeze(2).astype(value.dtype)
        mask = mask * make_pad_mask(y_lens, t_y).logical_not().unsqueeze(1).astype(value.dtype)
        value = value * mask
        direction = paddle.zeros([b, t_x, t_y], dtype="bool")
        v = paddle.zeros([b, t_x])
        rows = paddle.arange(t_x).unsqueeze(0)
        for j in range(t_y):
            v0 = paddle.concat([paddle.full([b, 1], neg), v[:, :-1]], axis=1)
            stays = v >= v0
            v_max = paddle.where(stays, v, v0)
            direction[:, :, j] = stays
            v = paddle.where(rows <= j, v_max + value[:, :, j], paddle.full_like(v, neg))
        direction = paddle.where(mask.astype("bool"), direction, paddle.ones_like(direction))
        path = paddle.zeros_like(value)
        index = x_lens - 1
        batch = paddle.arange(b)
        for j in reversed(range(t_y)):
            path[batch, index, j] = 1.0
            moved = 1 - direction[batch, index, j].astype("int64")
            index = paddle.clip(index - moved, min=0)
        path = path * mask
        return path, path.sum(axis=2).astype("int64")

    rng = np.random.RandomState(8)
    for b, t_x, t_y in ((2, 3, 5), (1, 2, 6), (3, 3, 5)):
        value = paddle.to_tensor(rng.randn(b, t_x, t_y).astype("float32"))
        x_lens = paddle.to_tensor(rng.randint(1, t_x + 1, b))
        y_lens = paddle.to_tensor(rng.randint(t_x, t_y + 1, b))
        path, durations = maximum_path(value, x_lens, y_lens)
        yield path, durations, (path.sum(axis=1) <= 1).all()


@program
def online_cmvn_and_a_noise_floor(convert):
    """Mean and variance over a sliding window of frames, and a noise estimate with hangover."""

    Stats = namedtuple("Stats", ["count", "total", "squared", "window"])

    class Vad(enum.IntEnum):
        SILENCE = 0
        SPEECH = 1
        HANGOVER = 2

    @convert
    def cmvn(frames, stats, size=4, norm_vars=True):
        out = []
        count, total, squared, window = stats
        for frame in frames:
            window.append(frame)
            total = total + frame
            squared = squared + frame**2
            count += 1
            if len(window) > size:
                old = window.pop(0)
                total, squared, count = total - old, squared - old**2, count - 1
            mean = total / count
            y = frame - mean
            if norm_vars:
                y = y / paddle.sqrt(paddle.clip(squared / count - mean**2, min=1e-3))
            out.append(y)
        return paddle.stack(out), Stats(count, total, squared, window)

    @convert
    def detect(energies, floor, hangover=2, ratio=2.0):
        state, left, labels = Vad.SILENCE, hangover, []
        for energy in energies:
            if energy > ratio * floor:
                state, left = Vad.SPEECH, hangover
            elif state == Vad.SILENCE:
                floor = 0.9 * floor + 0.1 * energy
            else:
                left -= 1
                state = Vad.HANGOVER if left > 0 else Vad.SILENCE
            labels.append(int(state))
        return labels, floor

    rng = np.random.RandomState(0)
    stats = Stats(0, paddle.zeros([3]), paddle.zeros([3]), [])
    floor = paddle.to_tensor(0.5)
    for n in (3, 5, 1):
        frames = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        out, stats = cmvn(frames, stats)
        yield out, stats
        energy = paddle.to_tensor(rng.choice([0.3, 2.0], n + 3).astype("float32"))
        labels, floor = detect(energy, floor)
        yield labels, floor


@program
def attention_rescoring_of_nbest(convert):
    """Hypotheses of a CTC pass are scored by two decoders, forwards and backwards."""

    IGNORE_ID = -1

    def add_sos_eos(ys, sos, eos):
        longest = max(len(y) for y in ys) + 1
        inputs = paddle.full([len(ys), longest], eos, dtype="int64")
        labels = paddle.full([len(ys), longest], IGNORE_ID, dtype="int64")
        for i, y in enumerate(ys):
            inputs[i, 0] = sos
            for j, token in enumerate(y):
                inputs[i, j + 1] = token
                labels[i, j] = token
            labels[i, len(y)] = eos
        return inputs, labels

    class Decoder(nn.Layer):
        def __init__(self, vocab, dim):
            super().__init__()
            self.embed, self.out = nn.Embedding(vocab, dim), nn.Linear(dim, vocab)
            self.rnn = nn.GRU(dim, dim)

        def forward(self, memory, ys):
            h, _ = self.rnn(self.embed(ys), memory.unsqueeze(0))
            return F.log_softmax(self.out(h), axis=-1)

    class Rescorer(nn.Layer):
        def __init__(self, vocab=6, dim=4, reverse_weight=0.3):
            super().__init__()
            self.vocab, self.reverse_weight = vocab, reverse_weight
            self.left, self.right = Decoder(vocab, dim), Decoder(vocab, dim)

        @functools.cached_property
        def sos(self):
            return self.vocab - 1

        @convert
        def rescore(self, memory, hyps, ctc_weight=0.5):
            ys = [list(hyp) for hyp, _ in hyps]
            memories = memory.expand([len(ys), memory.shape[-1]])
            inputs, labels = add_sos_eos(ys, self.sos, self.sos)
            left = self.left(memories, inputs)
            if self.reverse_weight > 0:
                back, back_labels = add_sos_eos([y[::-1] for y in ys], self.sos, self.sos)
                right = self.right(memories, back)
            best_score, best_index = paddle.to_tensor(-float("inf")), 0
            for i, (hyp, ctc_score) in enumerate(hyps):
                score = paddle.zeros([])
                for j in range(len(hyp) + 1):
                    score = score + left[i, j, labels[i, j]]
                if self.reverse_weight > 0:
                    r_score = paddle.zeros([])
                    for j in range(len(hyp) + 1):
                        r_score += right[i, j, back_labels[i, j]]
                    w = self.reverse_weight
                    score = score * (1 - w) + r_score * w
                score += ctc_score * ctc_weight
                logger.debug("hyp %d has score %s", i, score)
                if score > best_score:
                    best_score = score
                    best_index = i
            return best_index, best_score

    paddle.seed(13)
    rng = np.random.RandomState(7)
    for weight in (0.0, 0.4):
        model = Rescorer(reverse_weight=weight)
        model.eval()
        for k in (2, 3):
            hyps = [
                (tuple(int(t) for t in rng.randint(0, 5, rng.randint(1, 4))), -float(rng.rand()))
                for _ in range(k)
            ]
            yield hyps, model.rescore(paddle.randn([4]), hyps)
            yield model.rescore(paddle.randn([4]), hyps, ctc_weight=2.0)
