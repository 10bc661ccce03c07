"""Designs that Python people reach for, with tensors inside of them."""

import functools
import itertools
import operator
from collections import ChainMap, OrderedDict, deque
from dataclasses import dataclass, field, replace
from typing import Callable

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def quantities_with_units(convert):
    """Tensors that carry units through arithmetic; comparison, conversion and errors of dimension."""

    class DimensionError(TypeError):
        pass

    @functools.total_ordering
    class Quantity:
        FACTORS = {"m": ("L", 1.0), "km": ("L", 1000.0), "s": ("T", 1.0), "min": ("T", 60.0)}

        def __init__(self, value, dims=None):
            self.value = value
            self.dims = {k: v for k, v in (dims or {}).items() if v}

        @classmethod
        def of(cls, value, unit):
            dim, factor = cls.FACTORS[unit]
            return cls(value * factor, {dim: 1})

        def _same(self, other, what):
            if not isinstance(other, Quantity):
                other = Quantity(other)
            if self.dims != other.dims:
                raise DimensionError(f"cannot {what} {self.unit!r} and {other.unit!r}")
            return other

        @property
        def unit(self):
            return "*".join(f"{d}^{p}" for d, p in sorted(self.dims.items())) or "1"

        def __add__(self, other):
            return Quantity(self.value + self._same(other, "add").value, self.dims)

        def __radd__(self, other):
            return self if isinstance(other, int) and other == 0 else self + other

        def __neg__(self):
            return Quantity(-self.value, self.dims)

        def __sub__(self, other):
            return self + -self._same(other, "subtract")

        def __mul__(self, other):
            if not isinstance(other, Quantity):
                return Quantity(self.value * other, self.dims)
            keys = {*self.dims, *other.dims}
            dims = {k: self.dims.get(k, 0) + other.dims.get(k, 0) for k in keys}
            return Quantity(self.value * other.value, dims)

        __rmul__ = __mul__

        def __truediv__(self, other):
            return self * other**-1 if isinstance(other, Quantity) else self * (1 / other)

        def __pow__(self, n):
            return Quantity(self.value**n, {k: v * n for k, v in self.dims.items()})

        def __eq__(self, other):
            return bool((self.value == self._same(other, "compare").value).all())

        def __lt__(self, other):
            return bool((self.value < self._same(other, "compare").value).all())

        def __abs__(self):
            return self if self.value >= 0 else -self

        def __getitem__(self, i):
            return Quantity(self.value[i], self.dims)

        def to(self, unit):
            return self.value / self.FACTORS[unit][1]

        def __repr__(self):
            return f"{self.value.tolist()} {self.unit}"

    @convert
    def brake(speed, friction, gap, dt):
        travelled = Quantity(paddle.zeros([]), {"L": 1})
        steps = 0
        still = Quantity(paddle.zeros([]), {"L": 1, "T": -1})
        while speed > still and travelled < gap:
            travelled += speed * dt
            speed = max(still, speed - friction * dt)
            steps += 1
        return travelled, speed, steps, travelled >= gap

    @convert
    def summary(lengths, times):
        speeds = [a / b for a, b in zip(lengths, times)]
        total = sum(lengths)
        fastest = max(speeds)
        mean = functools.reduce(operator.add, speeds) / len(speeds)
        return total, total.to("km"), fastest, mean.unit, abs(mean - fastest)

    t = paddle.to_tensor
    for v, a, gap in ((20.0, 4.0, 0.1), (30.0, 2.0, 0.04), (10.0, 5.0, 0.1)):
        speed = Quantity.of(t(v), "m") / Quantity.of(1.0, "s")
        friction = Quantity.of(t(a), "m") / Quantity.of(1.0, "s") ** 2
        travelled, left, steps, late = brake(
            speed, friction, Quantity.of(t(gap), "km"), Quantity.of(t(0.5), "s")
        )
        yield travelled.value, travelled.unit, left.value, steps, late
    for values in ((1.0, 2.0), (3.0, 2.5, 4.0), (2.0, 1.0)):
        lengths = [Quantity.of(t(v), "km") for v in values]
        total, km, fastest, unit, gap = summary(
            lengths, [Quantity.of(t(2.0 + i), "min") for i in range(len(values))]
        )
        yield total.value, km, repr(fastest), unit, gap.value
    yield attempt(lambda: summary(lengths, [1.0, Quantity.of(t(1.0), "s")]))
    yield attempt(
        lambda: brake(speed, friction, Quantity.of(t(1.0), "s"), Quantity.of(t(0.5), "s"))
    )


@program
def undo_stack_of_an_annotator(convert):
    """Commands that edit a mask, with undo, redo, merging of strokes, and validation by observers."""

    @dataclass
    class Document:
        mask: paddle.Tensor
        revision: int = 0
        watchers: list = field(default_factory=list)

        def notify(self, event):
            self.revision += 1
            for w in self.watchers:
                if w(self, event) is False:
                    return False
            return True

    class Command:
        registry: dict = {}

        def __init_subclass__(cls, key=None, **kw):
            super().__init_subclass__(**kw)
            if key:
                Command.registry[key] = cls

        def merge(self, other):
            return None

    class Paint(Command, key="paint"):
        def __init__(self, y, x, value=1.0):
            self.cells = [(y, x)]
            self.value = value
            self.before = None

        def do(self, doc):
            self.before = doc.mask.clone()
            for y, x in self.cells:
                doc.mask[y, x] = self.value

        def undo(self, doc):
            doc.mask = self.before

        def merge(self, other):
            if isinstance(other, Paint) and other.value == self.value:
                self.cells += other.cells
                return self
            return None

    class Grow(Command, key="grow"):
        def __init__(self, most=10):
            self.most = most

        def do(self, doc):
            self.before = doc.mask
            padded = F.pad(doc.mask[None, None], [1, 1, 1, 1])
            grown = F.max_pool2d(padded, 3, 1)[0, 0]
            if grown.sum() > self.most:
                raise ValueError(f"{int(grown.sum())} cells, allowed {self.most}")
            doc.mask = grown

        def undo(self, doc):
            doc.mask = self.before

    class Editor:
        def __init__(self, doc, depth=3):
            self.doc = doc
            self.done, self.undone = deque(maxlen=depth), []
            self.messages = []

        def run(self, command):
            try:
                command.do(self.doc)
            except ValueError as e:
                self.messages.append(str(e))
                return False
            if not self.doc.notify(type(command).__name__):
                command.undo(self.doc)
                self.messages.append("vetoed")
                return False
            merged = self.done[-1].merge(command) if self.done else None
            if merged is None:
                self.done.append(command)
            self.undone.clear()
            return True

        def undo(self):
            if not self.done:
                return False
            command = self.done.pop()
            command.undo(self.doc)
            self.undone.append(command)
            return True

        def redo(self):
            if self.undone:
                return self.run(self.undone.pop())
            return False

    @convert
    def replay(editor, script):
        results = []
        for name, *args in script:
            if name in Command.registry:
                results.append(editor.run(Command.registry[name](*args)))
            else:
                results.append(getattr(editor, name)())
        return results, editor.doc.mask, len(editor.done), len(editor.undone)

    def veto(doc, event):
        if doc.mask.mean() > 0.8:
            print(f"{event}: too full at revision {doc.revision}")
            return False

    for size, script in (
        (4, [("paint", 1, 1), ("paint", 1, 2), ("undo",), ("redo",), ("grow", 20)]),
        (
            3,
            [
                ("paint", 0, 0),
                ("grow", 3),
                ("grow", 9),
                ("grow", 9),
                ("undo",),
                ("undo",),
                ("undo",),
            ],
        ),
        (4, [("redo",), ("undo",), ("paint", 0, 0, 0.5), ("paint", 3, 3), ("undo",)]),
    ):
        editor = Editor(Document(paddle.zeros([size, size]), watchers=[veto]))
        yield replay(editor, script)
        yield replay(editor, [("paint", 2, 2), ("grow", 16)])
        yield editor.messages, editor.doc.revision


@program
def generators_chained_over_windows(convert):
    """A pipeline of generators: windows, features, gates, batching; sent values tune a threshold."""

    def windows(signal, size, hop):
        for start in range(0, signal.shape[0] - size + 1, hop):
            yield start, signal[start : start + size]

    def detrended(stream):
        for start, w in stream:
            t = paddle.arange(w.shape[0], dtype="float32")
            t = t - t.mean()
            slope = (t * w).sum() / (t * t).sum()
            yield start, w - w.mean() - slope * t

    def gated(stream, threshold, stats):
        quiet = 0
        for start, w in stream:
            energy = (w * w).mean()
            stats["seen"] = stats.get("seen", 0) + 1
            if energy < threshold:
                quiet += 1
                if quiet >= 2:
                    stats["stopped"] = start
                    return
                continue
            quiet = 0
            yield start, w, energy

    def batched(stream, n):
        stream = iter(stream)
        while batch := list(itertools.islice(stream, n)):
            yield batch

    def controller(start):
        threshold, adjusted = start, 0
        while True:
            level = yield threshold
            if level is None:
                break
            if level > 2 * threshold:
                threshold, adjusted = threshold * 1.5, adjusted + 1
            elif level < threshold / 2:
                threshold, adjusted = threshold / 1.5, adjusted + 1
        return adjusted

    @convert
    def process(signal, size=4, hop=2, threshold=0.1, batch=2):
        stats = {}
        rows, starts = [], []
        for group in batched(gated(detrended(windows(signal, size, hop)), threshold, stats), batch):
            s, w, e = zip(*group)
            starts.extend(s)
            block = paddle.stack(w)
            rows.append(block.mean(axis=0) * max(e))
        if not rows:
            return None, starts, stats
        return paddle.stack(rows).sum(axis=0), starts, stats

    @convert
    def tune(signal, start, size=3):
        control = controller(start)
        next(control)
        levels = []
        try:
            for _, w in windows(signal, size, size):
                levels.append(control.send(w.abs().mean()))
            control.send(None)
        except StopIteration as stop:
            return levels, stop.value
        return levels, None

    rng = np.random.RandomState(3)
    for n, scale in ((12, 1.0), (10, 0.3), (12, 0.05), (12, 2.0)):
        signal = paddle.to_tensor((scale * rng.randn(n)).astype("float32"))
        yield process(signal)
        yield process(signal, size=5, hop=3, threshold=0.5, batch=1)
        yield tune(signal, paddle.to_tensor(0.4))


@program
def neighbours_sampled_for_a_graph(convert):
    """GraphSAGE: sampled neighbourhoods layer by layer, renumbered, aggregated by a named rule."""

    class Graph:
        def __init__(self, edges, n):
            order = paddle.argsort(edges[:, 1], stable=True)
            self.source = edges[order, 0]
            counts = paddle.bincount(edges[:, 1], minlength=n)
            self.start = paddle.concat([paddle.zeros([1], dtype="int64"), paddle.cumsum(counts)])
            self.n = n

        def neighbours(self, node):
            return self.source[self.start[node] : self.start[node + 1]]

        def degree(self, node):
            return self.start[node + 1] - self.start[node]

    class Sampler:
        def __init__(self, graph, fanouts, draws):
            self.graph, self.fanouts = graph, fanouts
            self.draws = draws
            self.at = 0

        def draw(self, n):
            order = paddle.argsort(paddle.roll(self.draws, self.at)[:n])
            self.at += 1
            return order

        def pick(self, node, fanout):
            found = self.graph.neighbours(node)
            if self.graph.degree(node) > fanout:
                found = found[self.draw(found.shape[0])[:fanout]]
            return found

        def __call__(self, seeds):
            layers = []
            frontier = [int(s) for s in seeds]
            for fanout in self.fanouts:
                number = OrderedDict((node, i) for i, node in enumerate(frontier))
                adjacency = []
                for node in frontier:
                    row = []
                    for other in self.pick(node, fanout):
                        other = int(other)
                        if other not in number:
                            number[other] = len(number)
                        row.append(number[other])
                    adjacency.append(row)
                layers.append((list(number), adjacency))
                frontier = list(number)
            return frontier, layers[::-1]

    AGGREGATES: dict[str, Callable] = {
        "mean": lambda h: h.mean(axis=0),
        "max": lambda h: h.max(axis=0),
        "sum": lambda h: h.sum(axis=0),
    }

    class Sage(paddle.nn.Layer):
        def __init__(self, sizes, how="mean"):
            super().__init__()
            self.how = how
            self.own = paddle.nn.LayerList(
                [paddle.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
            )
            self.rest = paddle.nn.LayerList(
                [paddle.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
            )

        def forward(self, features, sampler, seeds):
            frontier, layers = sampler(seeds)
            h = features[paddle.to_tensor(frontier)]
            for (_, adjacency), own, rest in zip(layers, self.own, self.rest):
                rows = []
                for i, neighbours in enumerate(adjacency):
                    if neighbours:
                        around = AGGREGATES[self.how](h[paddle.to_tensor(neighbours)])
                    else:
                        around = paddle.zeros([h.shape[1]])
                    row = own(h[i]) + rest(around)
                    norm = row.norm()
                    rows.append(row / norm if norm > 1e-6 else row)
                h = F.relu(paddle.stack(rows))
            return h

    paddle.seed(9)
    mean, top = Sage([3, 4, 2]), Sage([3, 4, 2], how="max")
    opt = paddle.optimizer.Adam(0.01, parameters=mean.parameters() + top.parameters())

    @convert
    def train(model, features, graph, seeds, labels, draws):
        sampler = Sampler(graph, [2, 2], draws)
        out = model(features, sampler, seeds)
        loss = F.cross_entropy(out, labels)
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss, out, sampler.at

    rng = np.random.RandomState(2)
    for n, m, model in ((5, 9, mean), (6, 12, top), (5, 9, mean)):
        edges = paddle.to_tensor(rng.randint(0, n, (m, 2)))
        features = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        seeds = paddle.to_tensor(rng.permutation(n)[:2])
        draws = paddle.to_tensor(rng.rand(m).astype("float32"))
        yield train(model, features, Graph(edges, n), seeds, seeds % 2, draws)
    yield [p for p in mean.parameters()]


@program
def nfa_over_token_scores(convert):
    """Patterns compiled to a Thompson automaton, run over scored tokens with sets of states."""

    @dataclass(frozen=True)
    class State:
        number: int
        token: object = None
        out: tuple = ()

    class Builder:
        def __init__(self):
            self.states = {}

        def new(self, token=None, out=()):
            s = State(len(self.states), token, tuple(out))
            self.states[s.number] = s
            return s.number

        def patch(self, number, *out):
            self.states[number] = replace(self.states[number], out=self.states[number].out + out)

        def compile(self, node):
            kind, *args = node
            match kind:
                case "tok":
                    end = self.new()
                    return self.new(args[0], [end]), end
                case "seq":
                    parts = [self.compile(a) for a in args]
                    for (_, end), (start, _) in zip(parts, parts[1:]):
                        self.patch(end, start)
                    return parts[0][0], parts[-1][1]
                case "alt":
                    parts = [self.compile(a) for a in args]
                    end = self.new()
                    for _, e in parts:
                        self.patch(e, end)
                    return self.new(None, [s for s, _ in parts]), end
                case "star":
                    start, end = self.compile(args[0])
                    loop = self.new()
                    out = self.new()
                    self.patch(loop, start, out)
                    self.patch(end, loop)
                    return loop, out
                case _:
                    raise SyntaxError(f"no pattern {kind}")

    class Automaton:
        def __init__(self, pattern):
            builder = Builder()
            self.start, self.accept = builder.compile(pattern)
            self.states = builder.states

        def closure(self, scores):
            todo = list(scores.items())
            best = {}
            while todo:
                n, s = todo.pop()
                if n in best and best[n] >= s:
                    continue
                best[n] = s
                state = self.states[n]
                if state.token is None:
                    todo.extend((o, s) for o in state.out)
            return best

        @convert
        def best(self, logp, floor=-10.0):
            current = self.closure({self.start: paddle.zeros([])})
            alive = []
            for row in logp:
                following = {}
                for n, s in current.items():
                    state = self.states[n]
                    if state.token is None:
                        continue
                    score = s + row[state.token]
                    if score < floor:
                        continue
                    for o in state.out:
                        if o not in following or score > following[o]:
                            following[o] = score
                current = self.closure(following)
                alive.append(len(current))
                if not current:
                    return None, alive
            return current.get(self.accept), alive

        @convert
        def accepts(self, tokens):
            current = set(self.closure({self.start: 0}))
            for token in tokens:
                moved = {}
                for n in current:
                    if self.states[n].token is not None and token == self.states[n].token:
                        for o in self.states[n].out:
                            moved[o] = 0
                current = set(self.closure(moved))
            return self.accept in current

    tok = [("tok", i) for i in range(4)]
    first = Automaton(("seq", tok[0], ("star", tok[1]), tok[2]))
    second = Automaton(("alt", ("seq", tok[3], tok[0]), ("star", ("alt", tok[0], tok[1]))))
    rng = np.random.RandomState(6)
    for automaton, n in ((first, 2), (second, 3), (first, 4), (second, 2)):
        logp = F.log_softmax(paddle.to_tensor(rng.randn(n, 4).astype("float32")), axis=-1)
        yield automaton.best(logp), automaton.best(logp, floor=-2.0)
    for automaton, tokens in (
        (first, [0, 1, 2]),
        (first, [0, 2]),
        (second, [3, 0]),
        (second, [3, 1]),
        (first, [0, 2, 2]),
    ):
        yield automaton.accepts(paddle.to_tensor(tokens))
    defaults = ChainMap({"floor": -3.0}, {"floor": -10.0})
    yield first.best(logp, **defaults)
    yield attempt(lambda: Automaton(("plus", tok[0])))
