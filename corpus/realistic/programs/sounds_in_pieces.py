"""Sound that arrives in pieces: tones, stretching, beats, denoising, resampling, dynamics."""

import math
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program

T = paddle.to_tensor


def sine(freqs, n, rate=100.0, start=0):
    t = (np.arange(n) + start) / rate
    return T(sum(np.sin(2 * np.pi * f * t) for f in freqs).astype("float32"))


@program
def tones_of_a_telephone(convert):
    """DTMF digits by Goertzel filters: twist, harmonics, a debounce and a timeout between digits."""
    ROWS, COLUMNS = (7.0, 11.0, 15.0), (23.0, 29.0, 37.0)
    KEYS = ["123", "456", "789"]

    class Goertzel:
        def __init__(self, freq, rate):
            self.coefficient = 2 * math.cos(2 * math.pi * freq / rate)

        def power(self, x):
            a = b = paddle.zeros([])
            for sample in x:
                a, b = sample + self.coefficient * a - b, a
            return a * a + b * b - self.coefficient * a * b

    class Detector:
        def __init__(self, rate=100.0, hold=2):
            self.bank = {f: Goertzel(f, rate) for f in ROWS + COLUMNS}
            self.hold = hold
            self.reset()

        def reset(self):
            self.candidate, self.count, self.silence, self.digits = None, 0, 0, []

        def strongest(self, powers):
            best = max(range(len(powers)), key=lambda i: powers[i])
            rest = sum(p for i, p in enumerate(powers) if i != best)
            return best, powers[best], powers[best] > 3 * rest

        def decide(self, frame):
            energy = (frame * frame).sum()
            if energy < 1e-2:
                return None
            r, pr, clear_r = self.strongest([self.bank[f].power(frame) for f in ROWS])
            c, pc, clear_c = self.strongest([self.bank[f].power(frame) for f in COLUMNS])
            if not (clear_r and clear_c):
                return None
            if not 0.2 < pr / pc < 5:
                return None
            return KEYS[r][c]

        def feed(self, frame):
            digit = self.decide(frame)
            if digit is None:
                self.silence += 1
                self.candidate, self.count = None, 0
            elif digit == self.candidate:
                self.count += 1
            else:
                self.candidate, self.count, self.silence = digit, 1, 0
            if self.count == self.hold:
                self.digits.append(digit)
            return digit

    detector = Detector()
    feed = convert(detector.feed)
    pieces = [(7, 29)] * 2 + [()] + [(15, 23)] * 3 + [(7,), (11, 37)]
    for k, freqs in enumerate(pieces):
        frame = sine(freqs, 25, start=25 * k) if freqs else paddle.zeros([20])
        yield attempt(lambda: feed(frame)), list(detector.digits), detector.silence


@program
def speech_stretched_by_overlaps(convert):
    """WSOLA: the best offset by correlation, overlapped windows, a speed that changes while it plays."""

    class Stretcher:
        def __init__(self, frame=8, search=2):
            self.frame, self.hop, self.search = frame, frame // 2, search
            self.window = T(np.hanning(frame + 1)[:-1].astype("float32"))
            self.tail, self.buffer, self.offset = None, paddle.zeros([0]), 0.0
            self.lags = []

        def best_lag(self, start):
            natural = self.tail
            best, lag = None, 0
            for d in range(-self.search, self.search + 1):
                at = start + d
                if at < 0 or at + self.frame > self.buffer.shape[0]:
                    continue
                piece = self.buffer[at : at + self.hop]
                c = (piece * natural).sum() / (piece.norm() * natural.norm() + 1e-6)
                if best is None or c > best:
                    best, lag = c, d
            return lag

        def process(self, chunk, speed=1.0):
            self.buffer = paddle.concat([self.buffer, chunk])
            out = []
            while int(self.offset) + self.frame + self.search <= self.buffer.shape[0]:
                start = int(self.offset)
                lag = 0 if self.tail is None else self.best_lag(start)
                self.lags.append(lag)
                piece = self.buffer[start + lag : start + lag + self.frame] * self.window
                head = piece[: self.hop]
                out.append(head if self.tail is None else head + self.tail)
                self.tail = piece[self.hop :]
                self.offset += self.hop * speed
            done = max(int(self.offset) - self.search, 0)
            self.buffer = self.buffer[done:]
            self.offset -= done
            return paddle.concat(out) if out else paddle.zeros([0])

    stretcher = Stretcher()
    process = convert(stretcher.process)
    at = 0
    for n, speed in ((12, 1.0), (12, 1.5), (3, 1.5), (20, 0.75)):
        chunk = sine([5.0], n, start=at)
        at += n
        yield attempt(lambda: process(chunk, speed)), list(stretcher.lags), stretcher.offset


@program
def beats_by_dynamic_programming(convert):
    """Onset strength, a tempo by autocorrelation with a prior, beats by dynamic programming, a backtrack."""

    def strength(x, frame=4):
        n = x.shape[0] // frame
        energy = (x[: n * frame].reshape([n, frame]) ** 2).sum(-1)
        rise = F.relu(energy[1:] - energy[:-1])
        s = rise.std()
        return rise / s if s > 1e-6 else rise

    def tempo(onsets, lo=2, hi=6, centre=4.0):
        scores = []
        for lag in range(lo, min(hi, onsets.shape[0] - 1) + 1):
            prior = math.exp(-0.5 * math.log2(lag / centre) ** 2)
            scores.append(prior * (onsets[lag:] * onsets[:-lag]).sum())
        return int(paddle.stack(scores).argmax()) + lo

    @convert
    def track(x, tightness=2.0, period=None):
        onsets = strength(x)
        if onsets.max() <= 0:
            return [], None, paddle.zeros([])
        period = period or tempo(onsets)
        score, back = [], []
        for t in range(onsets.shape[0]):
            best, where = paddle.zeros([]), -1
            for p in range(max(0, t - 2 * period), t - period // 2 + 1):
                if p >= t:
                    continue
                penalty = -tightness * math.log((t - p) / period) ** 2
                value = score[p] + penalty
                if value > best:
                    best, where = value, p
            score.append(onsets[t] + best)
            back.append(where)
        t = int(paddle.stack(score).argmax())
        total = score[t]
        beats = []
        while t >= 0:
            beats.append(t)
            t = back[t]
        beats.reverse()
        return beats, period, total

    def clicks(n, every, seed):
        rng = np.random.RandomState(seed)
        x = 0.02 * rng.randn(n)
        x[::every] += 1.0
        return T(x.astype("float32"))

    yield attempt(lambda: track(clicks(48, 12, 0)))
    yield attempt(lambda: track(clicks(64, 16, 1)))
    yield attempt(lambda: track(clicks(64, 16, 1), tightness=0.1, period=3))
    yield attempt(lambda: track(paddle.zeros([32])))


@program
def noise_gated_with_a_profile(convert):
    """A spectral gate: the profile is learned while nothing speaks, gains are smoothed, frames overlap."""

    @dataclass
    class Profile:
        mean: paddle.Tensor
        frames: int = 0

        def update(self, mag):
            self.frames += 1
            self.mean = self.mean + (mag - self.mean) / self.frames
            return self

    class Gate:
        def __init__(self, n=8, over=2.0, floor=0.1, release=0.6):
            self.n, self.over, self.floor, self.release = n, over, floor, release
            self.window = T(np.sqrt(np.hanning(n + 1)[:-1]).astype("float32"))
            self.profile = Profile(paddle.zeros([n // 2 + 1]))
            self.gain = paddle.ones([n // 2 + 1])
            self.rest, self.overlap = paddle.zeros([0]), paddle.zeros([n // 2])

        def frame(self, x):
            spec = paddle.fft.rfft(x * self.window)
            mag = spec.abs()
            quiet = (
                mag.mean() < 0.3
                if self.profile.frames == 0
                else mag.mean() < 1.5 * self.profile.mean.mean()
            )
            if quiet:
                self.profile.update(mag)
            want = paddle.where(
                mag > self.over * self.profile.mean,
                paddle.ones_like(mag),
                paddle.full_like(mag, self.floor),
            )
            self.gain = paddle.maximum(want, self.release * self.gain)
            return paddle.fft.irfft(spec * self.gain.astype("complex64")) * self.window

        def push(self, chunk):
            x = paddle.concat([self.rest, chunk])
            half, out = self.n // 2, []
            while len(x) >= self.n:
                y = self.frame(x[: self.n])
                out.append(y[:half] + self.overlap)
                self.overlap = y[half:]
                x = x[half:]
            self.rest = x
            if not out:
                return None
            return paddle.concat(out)

        def flush(self):
            missing = self.n - len(self.rest)
            return self.push(paddle.zeros([missing]))

    gate = Gate()
    push, flush = convert(gate.push), convert(gate.flush)
    rng = np.random.RandomState(2)
    for n, level in ((8, 0.0), (5, 1.0), (3, 0.0), (11, 1.0)):
        chunk = level * sine([12.5], n) + T((0.05 * rng.randn(n)).astype("float32"))
        yield attempt(lambda: push(chunk)), gate.profile.frames, gate.gain + 0
    yield attempt(flush), gate.rest.shape, gate.profile.mean


@program
def rates_converted_between_clocks(convert):
    """A fractional resampler with a filter of phases, a buffer that drifts, and a controller of the ratio."""

    class Resampler:
        def __init__(self, ratio, taps=4, phases=8):
            t = (np.arange(taps * phases) - taps * phases / 2 + 0.5) / phases
            h = np.sinc(t) * np.hamming(taps * phases)
            self.bank = T(h.reshape(taps, phases).T.astype("float32"))
            self.taps, self.phases, self.ratio = taps, phases, ratio
            self.history = paddle.zeros([taps - 1])
            self.phase = 0.0
            self.level = paddle.zeros([])

        def control(self, produced, wanted):
            self.level = 0.9 * self.level + (produced - wanted)
            if self.level.abs() > 2:
                self.ratio *= 1.0 + 0.01 * (1 if self.level > 0 else -1)
                return True
            return False

        def __call__(self, x, wanted=None):
            x = paddle.concat([self.history, x])
            out, pos = [], self.phase
            last = x.shape[0] - self.taps
            while pos <= last:
                i = int(pos)
                k = int((pos - i) * self.phases)
                out.append((x[i : i + self.taps] * self.bank[k]).sum())
                pos += self.ratio
            keep = min(int(pos), x.shape[0])
            self.history = x[keep:]
            self.phase = pos - keep
            changed = wanted is not None and self.control(len(out), wanted)
            return (paddle.stack(out) if out else paddle.zeros([0])), changed

    resampler = Resampler(1.25)
    run = convert(resampler.__call__)
    for n, wanted in ((10, None), (10, T(4.0)), (10, T(4.0)), (1, None), (12, T(20.0))):
        yield (
            attempt(lambda: run(sine([3.0], n), wanted)),
            round(resampler.ratio, 6),
            round(resampler.phase, 6),
        )


@program
def levels_held_by_a_compressor(convert):
    """A chain of effects: compressor with look-ahead, limiter, ducking by a side chain, bypass and meters."""

    class Effect:
        bypass = False

        def __init__(self):
            self.meter = deque(maxlen=4)

        def __call__(self, x, **side):
            if self.bypass:
                return x
            y = self.process(x, **side)
            self.meter.append(y.abs().max())
            return y

    class Compressor(Effect):
        def __init__(self, threshold=0.5, ratio=4.0, attack=0.5, release=0.1, ahead=2):
            super().__init__()
            self.threshold, self.ratio, self.attack, self.release = (
                threshold,
                ratio,
                attack,
                release,
            )
            self.envelope = paddle.zeros([])
            self.delay = deque([paddle.zeros([])] * ahead)

        def process(self, x, **side):
            out = []
            for s in side.get("key", x):
                level = s.abs()
                rate = self.attack if level > self.envelope else self.release
                self.envelope = self.envelope + rate * (level - self.envelope)
                if self.envelope > self.threshold:
                    gain = (
                        self.threshold + (self.envelope - self.threshold) / self.ratio
                    ) / self.envelope
                else:
                    gain = paddle.ones([])
                self.delay.append(x[len(out)])
                out.append(gain * self.delay.popleft())
            return paddle.stack(out)

    class Limiter(Effect):
        def __init__(self, ceiling):
            super().__init__()
            self.ceiling, self.reductions = ceiling, 0

        def process(self, x, **side):
            peak = x.abs().max()
            if peak > self.ceiling:
                self.reductions += 1
                x = x * (self.ceiling / peak)
            return x

    class Chain:
        def __init__(self, **effects):
            self.effects = effects

        def __getattr__(self, name):
            with suppress(KeyError):
                return self.__dict__["effects"][name]
            raise AttributeError(name)

        def run(self, x, key=None):
            for effect in self.effects.values():
                x = effect(x) if key is None else effect(x, key=key)
            return x

    chain = Chain(comp=Compressor(), limit=Limiter(0.6))
    run = convert(chain.run)
    yield attempt(lambda: run(sine([4.0], 8))), list(chain.comp.meter), chain.limit.reductions
    yield attempt(lambda: run(3 * sine([4.0], 6))), list(chain.comp.meter), chain.limit.reductions
    yield (
        attempt(lambda: run(sine([4.0], 6), key=paddle.ones([6]))),
        chain.comp.envelope,
        chain.limit.reductions,
    )
    chain.comp.bypass = True
    yield attempt(lambda: run(sine([4.0], 5))), list(chain.limit.meter), chain.limit.reductions
    yield attempt(lambda: chain.missing)
