"""Inference on streams: what a model keeps between chunks, detectors, trackers, normalisation."""

import itertools
import logging
from collections import Counter, OrderedDict, deque
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Deque, Dict, List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program

log = logging.getLogger("streaming")


@program
def voice_activity_with_hangover(convert):
    """Energy-based VAD: an adaptive noise floor, onset and hangover counters, segments."""

    class State(Enum):
        SILENCE = "silence"
        ONSET = "onset"
        SPEECH = "speech"
        HANGOVER = "hangover"

    @dataclass
    class Segment:
        start: int
        end: Optional[int] = None

        @property
        def length(self):
            return None if self.end is None else self.end - self.start

    class VAD:
        def __init__(self, onset=2, hangover=3, ratio=3.0, rate=0.1):
            self.onset, self.hangover, self.ratio, self.rate = onset, hangover, ratio, rate
            self.reset()

        def reset(self):
            self.state = State.SILENCE
            self.count = 0
            self.floor = paddle.to_tensor(1e-2)
            self.frame = 0
            self.segments: List[Segment] = []

        @convert
        def accept(self, frames):
            flags = []
            for frame in frames:
                energy = (frame**2).mean()
                loud = energy > self.ratio * self.floor
                if self.state is State.SILENCE:
                    if loud:
                        self.state, self.count = State.ONSET, 1
                elif self.state is State.ONSET:
                    if loud:
                        self.count += 1
                        if self.count >= self.onset:
                            self.state = State.SPEECH
                            self.segments.append(Segment(self.frame - self.count + 1))
                    else:
                        self.state = State.SILENCE
                elif self.state is State.SPEECH:
                    if not loud:
                        self.state, self.count = State.HANGOVER, 1
                else:
                    if loud:
                        self.state = State.SPEECH
                    else:
                        self.count += 1
                        if self.count >= self.hangover:
                            self.segments[-1].end = self.frame
                            self.state = State.SILENCE
                if not loud:
                    self.floor = (1 - self.rate) * self.floor + self.rate * energy
                flags.append(self.state in (State.SPEECH, State.HANGOVER))
                self.frame += 1
            return flags

    rng = np.random.RandomState(0)
    vad = VAD()
    loudness = [0.05, 0.05, 1, 1, 1, 0.05, 1, 0.05, 0.05, 0.05, 0.05, 1, 0.05, 1, 1, 1]
    wave = np.stack([rng.randn(8) * a for a in loudness]).astype("float32")
    at = 0
    for n in (4, 4, 3, 5):
        yield vad.accept(paddle.to_tensor(wave[at : at + n]))
        yield vad.state.value, vad.count, vad.floor, vad.frame
        at += n
    yield [(s.start, s.end, s.length) for s in vad.segments]


@program
def keyword_spotter_with_refractory(convert):
    """A GRU spotter: smoothed posteriors over a window, thresholds per word, a refractory time."""

    @dataclass
    class Keyword:
        name: str
        index: int
        threshold: float
        hits: int = 0

    class Spotter(nn.Layer):
        def __init__(self, keywords, features=4, hidden=6, window=3, refractory=2):
            super().__init__()
            self.cell = nn.GRUCell(features, hidden)
            self.head = nn.Linear(hidden, len(keywords) + 1)
            self.keywords = keywords
            self.window: Deque[paddle.Tensor] = deque(maxlen=window)
            self.refractory = refractory
            self.cooldown = 0
            self.hidden = None

        def forward(self, chunk):
            events = []
            for t in range(chunk.shape[0]):
                out, self.hidden = self.cell(chunk[t : t + 1], self.hidden)
                self.window.append(F.softmax(self.head(out) * 3).squeeze(0))
                smooth = sum(self.window) / len(self.window)
                if self.cooldown > 0:
                    self.cooldown -= 1
                    continue
                for word in self.keywords:
                    if smooth[word.index] > word.threshold:
                        word.hits += 1
                        self.cooldown = self.refractory
                        events.append((t, word.name, smooth[word.index]))
                        break
            return events

        @contextmanager
        def session(self):
            self.hidden, self.cooldown = None, 0
            self.window.clear()
            try:
                yield self
            finally:
                log.info("hits %s", {w.name: w.hits for w in self.keywords})

    paddle.seed(21)
    model = Spotter([Keyword("stop", 1, 0.4), Keyword("go", 2, 0.3)])
    model.eval()
    model = convert(model)
    rng = np.random.RandomState(1)
    for sizes in ([5, 3], [4, 5, 1]):
        with model.session():
            for n in sizes:
                with paddle.no_grad():
                    yield model(paddle.to_tensor(rng.randn(n, 4).astype("float32") * 2))
                yield model.cooldown, len(model.window), [w.hits for w in model.keywords]


@program
def running_normalisation_that_freezes(convert):
    """Observations and returns normalised by Welford's moments, merged by Chan; can be frozen."""

    class RunningMoments:
        def __init__(self, shape, clip=5.0, eps=1e-8):
            self.mean = paddle.zeros(shape, dtype="float64")
            self.m2 = paddle.zeros(shape, dtype="float64")
            self.count = 0
            self.clip, self.eps = clip, eps
            self._frozen = False

        @property
        def var(self):
            if self.count < 2:
                return paddle.ones_like(self.mean)
            return self.m2 / (self.count - 1)

        @property
        def std(self):
            return (self.var + self.eps).sqrt()

        @contextmanager
        def frozen(self):
            before, self._frozen = self._frozen, True
            try:
                yield
            finally:
                self._frozen = before

        def update(self, batch):
            batch = batch.astype("float64")
            n = batch.shape[0]
            mean = batch.mean(0)
            m2 = ((batch - mean) ** 2).sum(0)
            delta = mean - self.mean
            total = self.count + n
            self.mean = self.mean + delta * (n / total)
            self.m2 = self.m2 + m2 + delta**2 * (self.count * n / total)
            self.count = total

        def __call__(self, batch):
            if not self._frozen:
                self.update(batch)
            z = (batch.astype("float64") - self.mean) / self.std
            return z.clip(-self.clip, self.clip).astype(batch.dtype)

    class RewardScaler:
        def __init__(self, gamma=0.9):
            self.gamma = gamma
            self.moments = RunningMoments([])
            self.ret = None

        def __call__(self, reward, done):
            if self.ret is None:
                self.ret = paddle.zeros_like(reward)
            self.ret = self.gamma * self.ret + reward
            self.moments.update(self.ret)
            scaled = reward / self.moments.std.astype(reward.dtype)
            self.ret = paddle.where(done, paddle.zeros_like(self.ret), self.ret)
            return scaled

    norm, scaler = RunningMoments([3], clip=2.0), RewardScaler()

    @convert
    def observe(obs, reward, done, learn=True):
        if learn:
            z = norm(obs)
        else:
            with norm.frozen():
                z = norm(obs)
        r = scaler(reward, done)
        outliers = (z.abs() >= norm.clip).any(-1)
        if outliers.any():
            r = paddle.where(outliers, paddle.zeros_like(r), r)
        return z, r, outliers.astype("int64").sum()

    rng = np.random.RandomState(8)
    for i, n in enumerate((4, 4, 4, 4, 4)):
        obs = paddle.to_tensor((rng.randn(n, 3) * (1 + 3 * (i == 2))).astype("float32"))
        reward = paddle.to_tensor(rng.randn(n).astype("float32"))
        yield observe(obs, reward, paddle.to_tensor(rng.rand(n) < 0.3), learn=i != 3)
        yield norm.mean, norm.var, norm.count, scaler.ret


@program
def streaming_ctc_over_causal_convolutions(convert):
    """Causal convolutions with left caches in chunks of any size, CTC merged over the borders."""

    class CausalConv(nn.Layer):
        def __init__(self, c_in, c_out, kernel, dilation=1):
            super().__init__()
            self.conv = nn.Conv1D(c_in, c_out, kernel, dilation=dilation)
            self.left = (kernel - 1) * dilation
            self.c_in = c_in

        def forward(self, x, cache=None):
            if cache is None:
                cache = paddle.zeros([x.shape[0], self.c_in, self.left], dtype=x.dtype)
            x = paddle.concat([cache, x], axis=2)
            return self.conv(x), x[:, :, -self.left :]

    class Recogniser(nn.Layer):
        def __init__(self, alphabet="_abc", width=5):
            super().__init__()
            self.alphabet = alphabet
            dims = [3, width, width]
            self.convs = nn.LayerList(
                CausalConv(a, b, 3, dilation=2**i) for i, (a, b) in enumerate(zip(dims, dims[1:]))
            )
            self.head = nn.Linear(width, len(alphabet))

        def forward(self, x, caches: Dict[str, paddle.Tensor]):
            new = OrderedDict()
            for i, conv in enumerate(self.convs):
                y, new[f"conv{i}"] = conv(x, caches.get(f"conv{i}"))
                x = F.relu(y) + x if y.shape == x.shape else F.relu(y)
            return F.log_softmax(self.head(x.transpose([0, 2, 1])) * 4), new

    class Stream:
        def __init__(self, model):
            self.model = model
            self.caches: Dict[str, paddle.Tensor] = {}
            self.last = paddle.to_tensor(0)
            self.ids: List[paddle.Tensor] = []
            self.score = paddle.to_tensor(0.0)

        @convert
        @paddle.no_grad()
        def feed(self, chunk):
            logp, self.caches = self.model(chunk, self.caches)
            emitted = []
            for step in logp[0]:
                best = step.argmax()
                self.score = self.score + step.max()
                if best != self.last and best != 0:
                    emitted.append(best)
                self.last = best
            self.ids.extend(emitted)
            return len(emitted)

        @property
        def text(self):
            return "".join(self.model.alphabet[int(i)] for i in self.ids)

    paddle.seed(23)
    model = Recogniser()
    model.eval()
    rng = np.random.RandomState(2)
    signal = rng.randn(1, 3, 14).astype("float32")
    texts = []
    for sizes in ([14], [4, 4, 6], [1, 5, 2, 6]):
        stream, at = Stream(model), 0
        for n in sizes:
            yield stream.feed(paddle.to_tensor(signal[:, :, at : at + n])), stream.score
            at += n
        texts.append(stream.text)
        yield stream.text, {k: v.shape for k, v in stream.caches.items()}
    yield len(set(texts))


@program
def tracking_by_overlap_with_ids(convert):
    """Greedy IoU tracking: tracks are born tentative, confirmed by hits, and die of age."""

    class Status(IntEnum):
        TENTATIVE = 0
        CONFIRMED = 1
        LOST = 2

    @dataclass
    class Track:
        id: int
        box: paddle.Tensor
        velocity: paddle.Tensor
        hits: int = 1
        age: int = 0
        status: Status = Status.TENTATIVE

        def predict(self):
            return self.box + self.velocity

        def match(self, box, smooth=0.5):
            self.velocity = smooth * self.velocity + (1 - smooth) * (box - self.box)
            self.box = box
            self.hits += 1
            self.age = 0
            if self.hits >= 3:
                self.status = Status.CONFIRMED

    def iou_matrix(a, b):
        lt = paddle.maximum(a[:, None, :2], b[None, :, :2])
        rb = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
        wh = (rb - lt).clip(min=0)
        inter = wh[..., 0] * wh[..., 1]
        area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])  # noqa: E731
        return inter / (area(a)[:, None] + area(b)[None] - inter)

    class Tracker:
        def __init__(self, threshold=0.3, max_age=1):
            self.threshold, self.max_age = threshold, max_age
            self.tracks: List[Track] = []
            self.ids = itertools.count(1)

        @convert
        def step(self, boxes, scores):
            boxes = boxes[scores > 0.5]
            free = list(range(boxes.shape[0]))
            unmatched = list(self.tracks)
            if unmatched and free:
                predicted = paddle.stack([t.predict() for t in unmatched])
                iou = iou_matrix(predicted, boxes)
                for _ in range(min(len(unmatched), len(free))):
                    r, c = divmod(int(iou.argmax()), iou.shape[1])
                    if iou[r, c] < self.threshold:
                        break
                    self.tracks[r].match(boxes[c])
                    free.remove(c)
                    unmatched.remove(self.tracks[r])
                    iou[r, :] = -1.0
                    iou[:, c] = -1.0
            for track in unmatched:
                track.age += 1
                if track.status is Status.CONFIRMED:
                    track.status = Status.LOST
            for c in free:
                self.tracks.append(Track(next(self.ids), boxes[c], paddle.zeros([4])))
            self.tracks = [t for t in self.tracks if t.age <= self.max_age]
            return [(t.id, t.box) for t in self.tracks if t.status is Status.CONFIRMED]

    tracker = Tracker()
    rng = np.random.RandomState(3)
    base = np.array([[0, 0, 4, 4], [10, 10, 16, 15], [20, 2, 24, 9]], "float32")
    for frame in range(7):
        boxes = base + frame * np.array([[0.5, 0.3, 0.5, 0.3]], "float32")
        scores = np.full(3, 0.9, "float32")
        if frame in (3, 4):
            scores[1] = 0.1
        if frame >= 5:
            scores[2] = 0.2
        boxes = boxes + rng.randn(3, 4).astype("float32") * 0.1
        yield tracker.step(paddle.to_tensor(boxes), paddle.to_tensor(scores))
        yield Counter(t.status.name for t in tracker.tracks), [t.id for t in tracker.tracks]
