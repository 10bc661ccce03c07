"""Codecs and small engines: prefix codes, predictive coding, parity, a tape of one's own, transforms."""

import functools
import heapq
import itertools
import math
import operator
from collections import Counter, deque, namedtuple
from enum import Flag, auto

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def prefix_codes_from_a_heap(convert):
    """Huffman: counts of a tensor, a heap of subtrees, canonical codes, bits out and symbols in."""

    class Leaf:
        __slots__ = ("symbol",)
        __match_args__ = ("symbol",)

        def __init__(self, symbol):
            self.symbol = symbol

    class Fork:
        __slots__ = ("left", "right")
        __match_args__ = ("left", "right")

        def __init__(self, left, right):
            self.left, self.right = left, right

    def lengths_of(tree, depth=0):
        match tree:
            case Leaf(symbol):
                yield symbol, max(depth, 1)
            case Fork(left, right):
                yield from lengths_of(left, depth + 1)
                yield from lengths_of(right, depth + 1)

    class Codec:
        def __init__(self, counts):
            order = itertools.count()
            heap = [(n, next(order), Leaf(s)) for s, n in enumerate(counts.tolist()) if n]
            heapq.heapify(heap)
            while len(heap) > 1:
                (a, _, left), (b, _, right) = heapq.heappop(heap), heapq.heappop(heap)
                heapq.heappush(heap, (a + b, next(order), Fork(left, right)))
            self.codes = self.canonical(dict(lengths_of(heap[0][2])))

        @staticmethod
        def canonical(lengths):
            codes, code, last = {}, 0, 0
            for symbol, n in sorted(lengths.items(), key=lambda item: (item[1], item[0])):
                code <<= n - last
                codes[symbol] = f"{code:0{n}b}"
                code, last = code + 1, n
            return codes

        def __len__(self):
            return sum(map(len, self.codes.values()))

    @convert
    def histogram(symbols, size):
        counts = paddle.zeros([size], dtype="int64")
        for s in symbols:
            counts[s] += 1
        p = counts.astype("float32") / symbols.shape[0]
        entropy = -(p * paddle.where(p > 0, p, paddle.ones_like(p)).log2()).sum()
        return counts, entropy

    @convert
    def encode(codec, symbols):
        bits = "".join(codec.codes[int(s)] for s in symbols)
        return paddle.to_tensor([int(b) for b in bits])

    def table(codec):
        width = max(map(len, codec.codes.values()))
        first, where = [], []
        for code in codec.codes.values():
            first.append(int(code.ljust(width, "0"), 2))
            where.append(len(code))
        return width, list(codec.codes), first, where

    @convert
    def decode(codec, bits, limit=None):
        width, symbols, first, lengths = table(codec)
        firsts = paddle.to_tensor(first)
        sizes, names = paddle.to_tensor(lengths), paddle.to_tensor(symbols)
        powers = 2 ** paddle.arange(width - 1, -1, -1)
        padded = paddle.concat([bits, paddle.zeros([width], dtype=bits.dtype)])
        out = []
        at = paddle.to_tensor(0)
        while at < bits.shape[0]:
            window = (padded[at : at + width] * powers).sum()
            k = (firsts <= window).astype("int64").sum() - 1
            out.append(names[k])
            at = at + sizes[k]
            if limit is not None and len(out) == limit:
                break
        return paddle.stack(out), at

    rng = np.random.RandomState(4)
    for n, size in ((12, 4), (16, 5), (12, 4)):
        symbols = paddle.to_tensor(np.minimum(rng.geometric(0.4, n), size) - 1)
        counts, entropy = histogram(symbols, size)
        codec = Codec(counts)
        yield counts, entropy, codec.codes, len(codec)
        bits = attempt(lambda: encode(codec, symbols))
        yield bits
        text = "".join(codec.codes[s] for s in symbols.tolist())
        yield decode(codec, paddle.to_tensor([int(c) for c in text]))
        yield decode(codec, paddle.to_tensor([int(c) for c in text]), limit=3)


@program
def speech_codec_by_linear_prediction(convert):
    """Frames, autocorrelation, Levinson-Durbin, an adaptive quantiser with a step table, synthesis."""

    Frame = namedtuple("Frame", "coefficients gain codes")

    class AdaptiveQuantiser:
        """IMA-like: the step grows with large codes and shrinks with small ones."""

        steps = [round(0.05 * 1.4**k, 4) for k in range(10)]
        moves = (-1, -1, 1, 2)

        def __init__(self):
            self.index = 3

        def encode(self, x):
            step = self.steps[self.index]
            size = (x.abs() / step).floor().clip(max=3).astype("int64")
            code = paddle.where(x < 0, -size - 1, size)
            self.advance(int(size))
            return code

        def decode(self, code):
            step = self.steps[self.index]
            size = paddle.where(code < 0, -code - 1, code)
            self.advance(int(size))
            return paddle.where(code < 0, -1.0, 1.0) * (size.astype("float32") + 0.5) * step

        def advance(self, size):
            self.index = min(max(self.index + self.moves[size], 0), len(self.steps) - 1)

    @convert
    def levinson(r, order, floor=1e-6):
        a = [paddle.ones([])]
        error = r[0] + floor
        reflections = []
        for i in range(1, order + 1):
            acc = sum((a[j] * r[i - j] for j in range(i)), start=paddle.zeros([]))
            k = -acc / error
            reflections.append(k)
            if k.abs() >= 1:
                print(f"unstable at order {i}")
                break
            mirrored = [0.0, *reversed(a)]
            a = [x + k * y for x, y in itertools.zip_longest(a, mirrored, fillvalue=0.0)]
            error = error * (1 - k * k)
        return paddle.stack([x + 0 * error for x in a]), error, reflections

    def frames(signal, size, hop):
        window = 0.54 - 0.46 * paddle.cos(
            2 * math.pi * paddle.arange(size, dtype="float32") / (size - 1)
        )
        start = 0
        while start + size <= signal.shape[0]:
            yield start, signal[start : start + size], window
            start += hop

    @convert
    def encode(signal, order=2, size=8):
        quantiser = AdaptiveQuantiser()
        out = []
        for _, frame, window in frames(signal, size, size):
            w = frame * window
            r = paddle.stack([(w[k:] * w[: size - k]).sum() for k in range(order + 1)])
            a, error, _ = levinson(r, order)
            gain = error.clip(min=1e-3).sqrt()
            past = deque([paddle.zeros([])] * order, maxlen=order)
            codes = []
            for x in frame:
                predicted = -sum(c * p for c, p in zip(a[1:], past))
                code = quantiser.encode((x - predicted) / gain)
                codes.append(code)
                past.appendleft(x)
            out.append(Frame(a, gain, paddle.stack(codes)))
        return out, quantiser.index

    t = np.arange(24)
    rng = np.random.RandomState(7)
    for r, order in (([1.0, 0.6, 0.2], 2), ([1.0, 0.9, 0.8, 0.1], 3), ([1.0, 1.4, 0.3], 2)):
        yield levinson(paddle.to_tensor(r), order)
    for n in (8, 16):
        signal = np.sin(0.5 * t[:n]) + 0.1 * rng.randn(n)
        yield attempt(lambda: encode(paddle.to_tensor(signal.astype("float32"))))


@program
def parity_and_cyclic_checks(convert):
    """Hamming words, a CRC register, interleaving, a noisy channel, and statistics of what failed."""

    class Status(Flag):
        CLEAN = 0
        CORRECTED = auto()
        BAD_CHECK = auto()

    G = [
        [1, 1, 0, 1],
        [1, 0, 1, 1],
        [1, 0, 0, 0],
        [0, 1, 1, 1],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    H = [[(c >> b) & 1 for c in range(1, 8)] for b in range(3)]

    class Crc:
        def __init__(self, polynomial=0b1011, width=3):
            self.width = width
            self.taps = paddle.to_tensor(polynomial % 2**width)

        def __call__(self, bits):
            register = paddle.zeros([], dtype="int64")
            for bit in bits:
                top = register // 2 ** (self.width - 1)
                register = (register * 2) % 2**self.width
                if (top ^ bit) == 1:
                    register = register ^ self.taps
            return register

    class Channel:
        def __init__(self, flips):
            self.flips = flips
            self.sent = 0

        def __enter__(self):
            self.before = self.sent
            return self

        def __exit__(self, kind, value, trace):
            self.used = self.sent - self.before
            return kind is BufferError

        def send(self, word):
            self.sent += word.shape[0]
            if self.sent > 64:
                raise BufferError("channel is full")
            noisy = word.clone()
            for i in self.flips:
                if i < word.shape[0]:
                    noisy[i] = 1 - noisy[i]
            return noisy

    crc = Crc()
    generator, checks = paddle.to_tensor(G), paddle.to_tensor(H)

    @convert
    def encode(nibbles):
        words = [(generator @ nibble) % 2 for nibble in nibbles]
        return paddle.stack(words).T.flatten(), crc(nibbles.flatten())

    @convert
    def decode(stream, check, n):
        words = stream.reshape([7, n]).T
        status, fixed = Status.CLEAN, []
        for word in words:
            syndrome = (checks @ word) % 2
            place = (syndrome * paddle.to_tensor([1, 2, 4])).sum()
            if place > 0:
                status |= Status.CORRECTED
                word = word.clone()
                word[place - 1] = 1 - word[place - 1]
            fixed.append(word[paddle.to_tensor([2, 4, 5, 6])])
        nibbles = paddle.stack(fixed)
        if crc(nibbles.flatten()) != check:
            status |= Status.BAD_CHECK
        return nibbles, status

    rng = np.random.RandomState(11)
    tally = Counter()
    for flips, n in (((), 2), ((3,), 2), ((1, 9), 3), ((0, 2), 2)):
        nibbles = paddle.to_tensor(rng.randint(0, 2, (n, 4)))
        with Channel(flips) as channel:
            stream, check = encode(nibbles)
            got, status = decode(channel.send(stream), check, n)
            tally[status] += 1
            yield got, status.value, channel.used if hasattr(channel, "used") else None
        yield channel.used
    yield {int(k.value): v for k, v in tally.items()}
    with Channel(()) as full:
        for _ in range(10):
            full.send(encode(nibbles)[0])
    yield full.sent, full.used


@program
def a_tape_of_ones_own(convert):
    """Reverse mode over tensors with operator overloading, topological order, and a tiny trainer."""

    class Value:
        made = 0

        def __init__(self, data, parents=(), name=""):
            self.data = data if isinstance(data, paddle.Tensor) else paddle.to_tensor(float(data))
            self.grad = paddle.zeros_like(self.data)
            self.parents = tuple(parents)
            self.name = name
            Value.made += 1

        @staticmethod
        def lift(x):
            return x if isinstance(x, Value) else Value(x)

        def __add__(self, other):
            other = Value.lift(other)
            return Value(self.data + other.data, [(self, lambda g: g), (other, lambda g: g)])

        def __mul__(self, other):
            other = Value.lift(other)
            a, b = self.data, other.data
            return Value(a * b, [(self, lambda g: g * b), (other, lambda g: g * a)])

        def __neg__(self):
            return self * -1.0

        def __sub__(self, other):
            return self + -Value.lift(other)

        def __pow__(self, n):
            return Value(self.data**n, [(self, lambda g: g * n * self.data ** (n - 1))])

        __radd__, __rmul__ = __add__, __mul__

        def relu(self):
            return Value(
                self.data.clip(min=0), [(self, lambda g: g * (self.data > 0).astype("float32"))]
            )

        def tanh(self):
            out = paddle.tanh(self.data)
            return Value(out, [(self, lambda g: g * (1 - out**2))])

        def backward(self):
            order, seen = [], set()

            def visit(v):
                if id(v) not in seen:
                    seen.add(id(v))
                    for parent, _ in v.parents:
                        visit(parent)
                    order.append(v)

            visit(self)
            self.grad = paddle.ones_like(self.data)
            for v in reversed(order):
                for parent, push in v.parents:
                    parent.grad = parent.grad + push(v.grad)

    class Neuron:
        def __init__(self, weights, bias):
            self.w = [Value(w, name=f"w{i}") for i, w in enumerate(weights)]
            self.b = Value(bias, name="b")

        def __call__(self, xs, kind="tanh"):
            total = sum((w * x for w, x in zip(self.w, xs)), self.b)
            return getattr(total, kind)()

        def parameters(self):
            return [*self.w, self.b]

    @convert
    def train(neurons, points, targets, *, rate=0.1, kind="tanh", stop=0.05):
        losses = []
        for _ in range(4):
            hidden = [[n(p, kind) for n in neurons] for p in points]
            loss = sum((sum(h) - float(t)) ** 2 for h, t in zip(hidden, targets)) * (
                1 / len(points)
            )
            for p in itertools.chain.from_iterable(n.parameters() for n in neurons):
                p.grad = paddle.zeros_like(p.data)
            loss.backward()
            losses.append(loss.data)
            if loss.data < stop:
                break
            norm = sum((p.grad**2 for n in neurons for p in n.parameters()), paddle.zeros([]))
            scale = 1.0 / norm.sqrt() if norm > 1 else 1.0
            for n in neurons:
                for p in n.parameters():
                    p.data = p.data - rate * scale * p.grad
        return losses

    neurons = [Neuron([0.5, -0.4], 0.1), Neuron([-0.3, 0.8], 0.0)]
    points = paddle.to_tensor([[1.0, 0.5], [-0.5, 1.0], [0.2, -1.0]])
    for kind, rows in (("tanh", 3), ("relu", 2), ("tanh", 3)):
        yield train(neurons, points[:rows], [0.8, -0.2, 0.1][:rows], kind=kind)
        yield [p.data for n in neurons for p in n.parameters()]
    x = Value(2.0)
    y = x * x + x * 3 - 1
    y.backward()
    yield x.grad, Value.made > 10


@program
def transforms_by_divide_and_conquer(convert):
    """A recursive FFT, polynomial products three ways, Goertzel tones, a memo of twiddle factors."""

    class Poly:
        def __init__(self, *coefficients):
            (self.c,) = (
                coefficients if len(coefficients) == 1 else (paddle.to_tensor(coefficients),)
            )

        def __len__(self):
            return self.c.shape[0]

        def __call__(self, x):
            return functools.reduce(lambda acc, c: acc * x + c, reversed(list(self.c)))

        def __add__(self, other):
            n = max(len(self), len(other))
            a, b = (paddle.concat([p.c, paddle.zeros([n - len(p)])]) for p in (self, other))
            return Poly(a + b)

        def __matmul__(self, other):
            return Poly(karatsuba(self.c, other.c))

        def trimmed(self, tol=1e-6):
            n = len(self)
            while n > 1 and self.c[n - 1].abs() < tol:
                n -= 1
            return Poly(self.c[:n])

    @functools.lru_cache(maxsize=None)
    def twiddle(n):
        angle = -2 * math.pi * np.arange(n // 2) / n
        return np.cos(angle).astype("float32"), np.sin(angle).astype("float32")

    def fft(re, im):
        n = re.shape[0]
        if n == 1:
            return re, im
        if n % 2:
            raise ValueError(f"{n} is no power of two")
        (er, ei), (orr, oi) = fft(re[::2], im[::2]), fft(re[1::2], im[1::2])
        wr, wi = map(paddle.to_tensor, twiddle(n))
        tr, ti = wr * orr - wi * oi, wr * oi + wi * orr
        return paddle.concat([er + tr, er - tr]), paddle.concat([ei + ti, ei - ti])

    def karatsuba(a, b, cutoff=2):
        n, m = a.shape[0], b.shape[0]
        if min(n, m) <= cutoff:
            out = paddle.zeros([n + m - 1])
            for i, x in enumerate(a):
                out[i : i + m] += x * b
            return out
        h = max(n, m) // 2
        if n <= h or m <= h:
            low = karatsuba(a[:h], b[:h])
            rest_a, rest_b = a[h:], b[h:]
            out = paddle.zeros([n + m - 1])
            out[: low.shape[0]] += low
            if n > h:
                part = karatsuba(rest_a, b)
            else:
                part = karatsuba(a, rest_b)
            out[h : h + part.shape[0]] += part
            return out
        a0, a1, b0, b1 = a[:h], a[h:], b[:h], b[h:]
        z0, z2 = karatsuba(a0, b0), karatsuba(a1, b1)
        mixed = (Poly(a0) + Poly(a1)) @ (Poly(b0) + Poly(b1))
        middle = (mixed + Poly(-z0) + Poly(-z2)).c
        out = paddle.zeros([n + m - 1])
        for part, at in ((z0, 0), (middle, h), (z2, 2 * h)):
            size = min(part.shape[0], n + m - 1 - at)
            out[at : at + size] += part[:size]
        return out

    @convert
    def spectrum(x, power=False):
        re, im = fft(x, paddle.zeros_like(x))
        if power:
            return re**2 + im**2
        return re, im

    @convert
    def multiply(a, b):
        product = (Poly(a) @ Poly(b)).trimmed()
        return product.c, product(paddle.to_tensor(0.5)), len(product)

    @convert
    def tones(x, frequencies, threshold=4.0):
        heard = []
        for name, f in frequencies.items():
            k = 2 * math.cos(2 * math.pi * f)
            s1 = s2 = paddle.zeros([])
            for sample in x:
                s1, s2 = sample + k * s1 - s2, s1
            energy = s1**2 + s2**2 - k * s1 * s2
            if energy > threshold:
                heard.append((name, energy))
        return max(heard, key=operator.itemgetter(1))[0] if heard else None

    rng = np.random.RandomState(13)
    for n in (4, 8, 4):
        yield spectrum(paddle.to_tensor(rng.randn(n).astype("float32")))
    yield spectrum(paddle.ones([8]), power=True), attempt(lambda: spectrum(paddle.ones([6])))
    for n, m in ((3, 2), (5, 4), (6, 3)):
        a, b = (rng.randint(-3, 4, k).astype("float32") for k in (n, m))
        b[-1] = 0
        yield multiply(paddle.to_tensor(a), paddle.to_tensor(b))
    t = np.arange(12)
    for f in (0.1, 0.25, 0.4):
        wave = np.sin(2 * math.pi * f * t) if f < 0.4 else 0 * t
        yield tones(paddle.to_tensor(wave.astype("float32")), {"low": 0.1, "high": 0.25})
    yield twiddle.cache_info().currsize
