"""Filters, trackers and spectra."""

import cmath
import math
from collections import deque, namedtuple
from dataclasses import dataclass, field
from typing import List, Optional

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import program


@program
def kalman_tracker_with_gating(convert):
    """A constant-velocity Kalman filter with a gate for measurements, then a smoother."""

    @dataclass
    class State:
        mean: paddle.Tensor
        cov: paddle.Tensor
        misses: int = 0

        @property
        def uncertainty(self):
            return paddle.trace(self.cov)

    class Kalman:
        def __init__(self, dt=1.0, q=0.05, r=0.3, gate: Optional[float] = 9.0):
            self.f = paddle.to_tensor([[1.0, dt], [0.0, 1.0]])
            self.h = paddle.to_tensor([[1.0, 0.0]])
            self.q = q * paddle.to_tensor([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
            self.r = paddle.to_tensor([[r]])
            self.gate = gate
            self.rejected = paddle.zeros([], dtype="int64")

        def predict(self, state):
            mean = paddle.matmul(self.f, state.mean)
            cov = paddle.matmul(paddle.matmul(self.f, state.cov), self.f, transpose_y=True) + self.q
            return State(mean=mean, cov=cov, misses=state.misses)

        def update(self, state, z):
            innovation = z - paddle.matmul(self.h, state.mean)
            s = paddle.matmul(paddle.matmul(self.h, state.cov), self.h.T) + self.r
            distance = (innovation.square() / s).sum()
            if self.gate is not None and distance > self.gate:
                self.rejected = self.rejected + 1
                return state
            gain = paddle.matmul(state.cov, self.h.T) / s
            mean = state.mean + paddle.matmul(gain, innovation)
            cov = paddle.matmul(paddle.eye(2) - paddle.matmul(gain, self.h), state.cov)
            return State(mean=mean, cov=cov)

        @convert
        def filter(self, measurements, state=None):
            if state is None:
                state = State(mean=paddle.zeros([2, 1]), cov=10 * paddle.eye(2))
            predicted, filtered = [], []
            for z in measurements:
                state = self.predict(state)
                predicted.append(state)
                if z is None:
                    state.misses += 1
                else:
                    state = self.update(state, z.reshape([1, 1]))
                filtered.append(state)
            return predicted, filtered

        @convert
        def smooth(self, predicted, filtered):
            result = [filtered[-1].mean]
            for before, after in zip(reversed(filtered[:-1]), reversed(predicted[1:])):
                gain = paddle.matmul(
                    paddle.matmul(before.cov, self.f, transpose_y=True), paddle.inverse(after.cov)
                )
                result.insert(0, before.mean + paddle.matmul(gain, result[0] - after.mean))
            return paddle.stack(result).squeeze(-1)

    rng = np.random.RandomState(0)
    for gate, outlier in ((9.0, None), (9.0, 3), (None, 3)):
        tracker = Kalman(gate=gate)
        track = [paddle.to_tensor(float(0.5 * t + 0.2 * rng.randn())) for t in range(6)]
        if outlier is not None:
            track[outlier] = track[outlier] + 20
        predicted, filtered = tracker.filter(track)
        yield [s.mean for s in filtered], filtered[-1].uncertainty, tracker.rejected
        yield tracker.smooth(predicted, filtered)
    track[2] = None
    yield tracker.filter(track[1:], state=filtered[0])


@program
def particle_filter_with_resampling(convert):
    """A bootstrap particle filter; resampling happens when the effective size falls too low."""
    Estimate = namedtuple("Estimate", "mean std ess resampled")

    class ParticleFilter:
        def __init__(self, count=16, process=0.3, noise=0.5, threshold=0.5):
            self.count, self.process, self.noise = count, process, noise
            self.threshold = threshold
            self.particles = paddle.randn([count])
            self.log_weights = paddle.full([count], -math.log(count))
            self.history: List[Estimate] = []

        @property
        def weights(self):
            return F.softmax(self.log_weights, axis=0)

        def effective_size(self):
            return 1.0 / self.weights.square().sum()

        def systematic(self):
            positions = (paddle.arange(self.count, dtype="float32") + paddle.rand([1])) / self.count
            cumulative = paddle.cumsum(self.weights)
            index = paddle.searchsorted(cumulative, positions)
            return index.clip(max=self.count - 1)

        def resample(self):
            self.particles = paddle.gather(self.particles, self.systematic())
            self.log_weights = paddle.full_like(self.log_weights, -math.log(self.count))

        @convert
        def step(self, measurement=None):
            drift = 0.9 * self.particles + paddle.sin(self.particles)
            self.particles = drift + self.process * paddle.randn([self.count])
            if measurement is not None:
                error = (measurement - self.particles) / self.noise
                self.log_weights = self.log_weights - 0.5 * error.square()
                self.log_weights = self.log_weights - paddle.logsumexp(self.log_weights)
            w = self.weights
            mean = (w * self.particles).sum()
            std = (w * (self.particles - mean).square()).sum().sqrt()
            ess = self.effective_size()
            resampled = ess < self.threshold * self.count
            if resampled:
                self.resample()
            estimate = Estimate(mean=mean, std=std, ess=ess, resampled=resampled)
            self.history.append(estimate)
            return estimate

    paddle.seed(1)
    for threshold in (0.0, 0.5, 1.1):
        tracker = ParticleFilter(threshold=threshold)
        for z in (0.5, 1.0, None, 2.5, 2.0):
            yield tracker.step(None if z is None else paddle.to_tensor(z))
        yield tracker.particles, len(tracker.history)
    paddle.seed(2)
    small = ParticleFilter(count=6, noise=0.1)
    yield [small.step(measurement=paddle.to_tensor(0.1 * t)) for t in range(3)]


@program
def biquad_cascade_and_envelopes(convert):
    """IIR biquads with a state per section, an attack/release envelope and a compressor."""

    class Biquad:
        def __init__(self, b, a):
            self.b, self.a = b, a
            self.z1 = self.z2 = paddle.zeros([])

        @classmethod
        def lowpass(cls, frequency, q=0.707):
            w = 2 * math.pi * frequency
            alpha, c = math.sin(w) / (2 * q), math.cos(w)
            a0 = 1 + alpha
            b = [(1 - c) / 2 / a0, (1 - c) / a0, (1 - c) / 2 / a0]
            return cls(b=b, a=[-2 * c / a0, (1 - alpha) / a0])

        @property
        def poles(self):
            root = cmath.sqrt(self.a[0] ** 2 - 4 * self.a[1])
            return (-self.a[0] + root) / 2, (-self.a[0] - root) / 2

        def tick(self, x):
            y = self.b[0] * x + self.z1
            self.z1 = self.b[1] * x - self.a[0] * y + self.z2
            self.z2 = self.b[2] * x - self.a[1] * y
            return y

    class Compressor:
        def __init__(self, threshold=0.5, ratio=4.0, attack=0.6, release=0.1):
            self.threshold, self.ratio = threshold, ratio
            self.attack, self.release = attack, release
            self.envelope = paddle.zeros([])
            self.reduced = 0

        def tick(self, x):
            level = x.abs()
            rate = self.attack if level > self.envelope else self.release
            self.envelope = self.envelope + rate * (level - self.envelope)
            if self.envelope > self.threshold:
                over = self.envelope / self.threshold
                return x * over ** (1 / self.ratio - 1)
            return x

    class Chain:
        def __init__(self, *units):
            self.units = units
            self.samples = 0

        @convert
        def process(self, block, gain=1.0):
            out = []
            for i in range(block.shape[0]):
                sample = gain * block[i]
                for unit in self.units:
                    sample = unit.tick(sample)
                out.append(sample)
                self.samples += 1
            return paddle.stack(out)

    rng = np.random.RandomState(2)
    low = Biquad.lowpass(0.1)
    chain = Chain(low, Compressor())
    for n, gain in ((5, 1.0), (5, 3.0), (3, 0.2)):
        yield chain.process(paddle.to_tensor(rng.randn(n).astype("float32")), gain=gain)
        yield low.z1, chain.units[1].envelope, chain.samples
    yield low.poles
    yield Chain(Compressor(threshold=0.01)).process(paddle.ones([4]))


@program
def adaptive_noise_cancelling(convert):
    """LMS, normalised LMS and RLS with one interface; divergence is noticed and reset."""

    class Adaptive:
        def __init__(self, taps):
            self.taps = taps
            self.reset()
            self.resets = 0

        def reset(self):
            self.w = paddle.zeros([self.taps])
            self.window = deque([paddle.zeros([])] * self.taps, maxlen=self.taps)

        def adapt(self, u, error):
            raise NotImplementedError

        def tick(self, x, desired):
            self.window.appendleft(x)
            u = paddle.stack(list(self.window))
            y = (self.w * u).sum()
            error = desired - y
            self.adapt(u, error)
            if self.w.abs().max() > 50:
                self.w = paddle.zeros_like(self.w)
                self.resets += 1
            return y, error

    class LMS(Adaptive):
        def __init__(self, taps, mu=0.1):
            super().__init__(taps)
            self.mu = mu

        def adapt(self, u, error):
            self.w = self.w + self.mu * error * u

    class NLMS(LMS):
        def adapt(self, u, error):
            self.w = self.w + self.mu * error * u / (1e-3 + u.square().sum())

    class RLS(Adaptive):
        def __init__(self, taps, forget=0.95, delta=10.0):
            super().__init__(taps)
            self.p = delta * paddle.eye(taps)
            self.forget = forget

        def adapt(self, u, error):
            pu = paddle.matmul(self.p, u)
            gain = pu / (self.forget + (u * pu).sum())
            self.w = self.w + gain * error
            self.p = (self.p - paddle.outer(gain, pu)) / self.forget

    @convert
    def run(filt, xs, ds, stop_error=None):
        errors = []
        for x, d in zip(xs, ds):
            _, error = filt.tick(x, d)
            errors.append(error)
            if stop_error is not None and len(errors) > 2 and error.abs() < stop_error:
                break
        return paddle.stack(errors), filt.w

    rng = np.random.RandomState(3)
    for filt in (LMS(2), NLMS(3, mu=0.8), RLS(2), LMS(2, mu=30.0)):
        for n in (5, 4):
            xs = rng.randn(n).astype("float32")
            ds = 0.7 * xs - 0.3 * np.concatenate([[0], xs[:-1]]).astype("float32")
            yield run(filt, paddle.to_tensor(xs), paddle.to_tensor(ds))
        yield filt.resets
    yield run(RLS(2), paddle.to_tensor(xs), paddle.to_tensor(ds), stop_error=0.05)


@program
def fft_convolution_and_pitch(convert):
    """Overlap-add filtering by FFT, a spectrum's peak and pitch by autocorrelation."""

    @dataclass
    class Analysis:
        pitch: Optional[paddle.Tensor]
        voiced: paddle.Tensor
        peaks: List[paddle.Tensor] = field(default_factory=list)

    @convert
    def overlap_add(signal, kernel, block=4):
        size = block + kernel.shape[0] - 1
        length = signal.shape[0] + kernel.shape[0] - 1
        out = paddle.zeros([length])
        spectrum = paddle.fft.rfft(kernel, n=size)
        for start in range(0, signal.shape[0], block):
            part = signal[start : start + block]
            y = paddle.fft.irfft(paddle.fft.rfft(part, n=size) * spectrum, n=size)
            stop = min(start + size, length)
            out[start:stop] += y[: stop - start]
        return out

    def autocorrelation(frame):
        frame = frame - frame.mean()
        n = frame.shape[0]
        values = [(frame[: n - lag] * frame[lag:]).sum() for lag in range(n // 2)]
        r = paddle.stack(values)
        return r / (r[0] + 1e-9)

    def first_peak(r, low):
        for lag in range(low, r.shape[0] - 1):
            if r[lag] > r[lag - 1] and r[lag] >= r[lag + 1]:
                return paddle.to_tensor(lag), r[lag]
        return paddle.to_tensor(0), paddle.zeros([])

    @convert
    def analyse(frame, rate=100.0, low=2, threshold=0.5, top=2):
        r = autocorrelation(frame)
        lag, strength = first_peak(r, low)
        result = Analysis(pitch=None, voiced=strength > threshold)
        if strength > threshold:
            pitch = rate / lag.astype("float32")
        else:
            pitch = paddle.zeros([])
        result.pitch = pitch
        phase = paddle.linspace(0, 2 * math.pi, frame.shape[0])
        magnitude = paddle.fft.rfft(frame * (0.5 - 0.5 * paddle.cos(phase))).abs()
        for _ in range(top):
            peak = magnitude.argmax()
            result.peaks.append(peak)
            magnitude[peak] = 0.0
        return result

    rng = np.random.RandomState(4)
    kernel = paddle.to_tensor([0.5, 0.3, 0.2])
    for n, block in ((8, 4), (10, 3), (5, 8)):
        yield overlap_add(paddle.to_tensor(rng.randn(n).astype("float32")), kernel, block=block)
    t = np.arange(32)
    for frequency, noise in ((0.125, 0.05), (0.2, 0.1), (0.0, 1.0)):
        frame = np.sin(2 * np.pi * frequency * t) + noise * rng.randn(32)
        yield analyse(paddle.to_tensor(frame.astype("float32")))
    yield analyse(paddle.to_tensor(frame.astype("float32")), threshold=-1.0, top=1)


@program
def event_detector_with_hysteresis(convert):
    """A Schmitt trigger over frames: events with start, end and peak, merged when close."""

    @dataclass
    class Event:
        start: int
        peak: paddle.Tensor
        end: Optional[int] = None

        @property
        def open(self):
            return self.end is None

    class Detector:
        def __init__(self, high=1.0, low=0.4, hold=1):
            self.high, self.low, self.hold = high, low, hold
            self.active = paddle.to_tensor(False)
            self.quiet = paddle.zeros([], dtype="int64")
            self.peak = paddle.zeros([])
            self.count = paddle.zeros([], dtype="int64")

        def tick(self, value):
            if self.active:
                self.peak = paddle.maximum(self.peak, value)
                if value < self.low:
                    self.quiet = self.quiet + 1
                    if self.quiet > self.hold:
                        self.active = paddle.to_tensor(False)
                else:
                    self.quiet = paddle.zeros_like(self.quiet)
            elif value > self.high:
                self.active = paddle.to_tensor(True)
                self.peak = value
                self.count = self.count + 1
                self.quiet = paddle.zeros_like(self.quiet)
            return self.active

        @convert
        def process(self, values):
            states = [self.tick(value) for value in values]
            return paddle.stack(states), self.peak

    def events_of(values, states, gap=0):
        """Plain Python over the results."""
        found = []
        for i, on in enumerate(states):
            if on and (not found or not found[-1].open):
                if found and i - found[-1].end <= gap:
                    found[-1].end = None
                else:
                    found.append(Event(start=i, peak=values[i]))
            elif not on and found and found[-1].open:
                found[-1].end = i
            if found and found[-1].open and values[i] > found[-1].peak:
                found[-1].peak = values[i]
        return found

    merge = convert(events_of)
    detector = Detector()
    rng = np.random.RandomState(5)
    for n in (8, 6, 8):
        values = paddle.to_tensor(np.abs(rng.randn(n)).astype("float32") * 1.2)
        states, peak = detector.process(values)
        yield states, peak, detector.count, detector.quiet
        yield merge(values, [bool(s) for s in states], gap=1)
    detector.hold = 0
    yield detector.process(paddle.to_tensor([2.0, 0.1, 2.0, 0.1])), detector.count
