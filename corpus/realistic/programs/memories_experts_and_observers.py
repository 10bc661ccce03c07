"""Layers that halt, remember, route and are quantised; how they are measured."""

from abc import ABC, abstractmethod
from collections import OrderedDict, namedtuple

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.autograd import PyLayer

from corpus.realistic import program


class HaltingUnit(nn.Layer):
    def __init__(self, size, bias=1.0):
        super().__init__()
        self.linear = nn.Linear(
            size, 1, bias_attr=paddle.ParamAttr(initializer=nn.initializer.Constant(bias))
        )

    def forward(self, h):
        return F.sigmoid(self.linear(h)).squeeze(-1)


class ACTCell(nn.Layer):
    def __init__(self, inputs, size, eps=0.01, max_steps=8):
        super().__init__()
        self.cell = nn.GRUCell(inputs + 1, size)
        self.halt = HaltingUnit(size, bias=-1.0)
        self.eps = eps
        self.max_steps = max_steps

    def forward(self, x, h):
        batch = x.shape[0]
        accumulated = paddle.zeros([batch])
        remainder = paddle.zeros([batch])
        updates = paddle.zeros([batch])
        out = paddle.zeros_like(h)
        step = 0
        while (accumulated < 1 - self.eps).any() and step < self.max_steps:
            flag = paddle.full([batch, 1], 1.0 if step == 0 else 0.0)
            _, h = self.cell(paddle.concat([x, flag], axis=1), h)
            p = self.halt(h)
            running = (accumulated < 1 - self.eps).astype(p.dtype)
            ends = ((accumulated + p * running) >= 1 - self.eps).astype(p.dtype) * running
            if step == self.max_steps - 1:
                ends = running
            goes_on = running - ends
            weight = p * goes_on + (1 - accumulated) * ends
            remainder = remainder + (1 - accumulated) * ends
            accumulated = accumulated + weight
            updates = updates + running
            out = out + weight.unsqueeze(1) * h
            step += 1
        return out, updates + remainder, step


class ACTNetwork(nn.Layer):
    def __init__(self, inputs=3, size=6, classes=4):
        super().__init__()
        self.size = size
        self.act = ACTCell(inputs, size)
        self.head = nn.Linear(size, classes)
        self.ponder_weight = 0.01
        self.register_buffer("average", paddle.zeros([]))

    def forward(self, sequence, labels=None, lengths=None):
        batch, time = sequence.shape[:2]
        h = paddle.zeros([batch, self.size])
        ponder, steps = paddle.zeros([batch]), []
        for t in range(time):
            new, cost, used = self.act(sequence[:, t], h)
            if lengths is not None:
                alive = (lengths > t).unsqueeze(1)
                h = paddle.where(alive, new, h)
                cost = cost * alive.squeeze(1).astype(cost.dtype)
            else:
                h = new
            ponder = ponder + cost
            steps.append(used)
        logits = self.head(h)
        if self.training:
            self.average.set_value(0.9 * self.average + 0.1 * ponder.mean().detach())
        if labels is None:
            return logits, steps
        loss = F.cross_entropy(logits, labels) + self.ponder_weight * ponder.mean()
        return loss, logits, steps


@program
def halting_cell_with_a_ponder_cost(convert):
    """Adaptive computation time: a cell that is run until every example has halted, with ponder cost and a step budget."""

    paddle.seed(12)
    net = ACTNetwork()
    forward = convert(net.forward)
    records = []
    x = paddle.randn([3, 4, 3])
    for labels, lengths in [([0, 1, 2], None), ([3, 1, 0], [4, 2, 1])]:
        lengths = None if lengths is None else paddle.to_tensor(lengths)
        loss, logits, steps = forward(x, paddle.to_tensor(labels), lengths=lengths)
        loss.backward()
        records += [loss, logits, [int(s) for s in steps], net.average]
        records += [net.act.halt.linear.weight.grad, net.act.cell.weight_hh.grad.abs().sum()]
        net.clear_gradients()
    net.eval()
    net.act.max_steps = 3
    records += list(forward(x[:2, :2]))
    net.act.halt.linear.bias.set_value(paddle.full([1], 8.0))
    records += list(forward(x))
    records.append(net.average)
    yield from records


State = namedtuple("State", "memory usage precedence links write_weight read_weights")


def content_weights(memory, key, strength):
    similarity = F.cosine_similarity(memory, key.unsqueeze(1), axis=-1)
    return F.softmax(similarity * strength, axis=-1)


def allocation(usage):
    order = usage.argsort(axis=-1)
    ordered = paddle.take_along_axis(usage, order, -1)
    ahead = paddle.cumprod(ordered, dim=-1)
    ahead = paddle.concat([paddle.ones_like(ahead[:, :1]), ahead[:, :-1]], axis=-1)
    return paddle.take_along_axis((1 - ordered) * ahead, order.argsort(axis=-1), -1)


class Memory(nn.Layer):
    def __init__(self, slots=5, width=4, heads=2, inputs=3):
        super().__init__()
        self.slots, self.width, self.heads = slots, width, heads
        sizes = {
            "write_key": width,
            "strength": 1,
            "erase": width,
            "value": width,
            "gates": 2,
            "read_keys": heads * width,
            "read_strengths": heads,
            "modes": heads * 3,
        }
        self.sizes = sizes
        self.interface = nn.Linear(inputs, sum(sizes.values()))
        self.full_writes = 0

    def initial(self, batch):
        z = paddle.zeros
        return State(
            z([batch, self.slots, self.width]) + 1e-6,
            z([batch, self.slots]),
            z([batch, self.slots]),
            z([batch, self.slots, self.slots]),
            z([batch, self.slots]),
            z([batch, self.heads, self.slots]),
        )

    def parse(self, x):
        parts = dict(
            zip(self.sizes, paddle.split(self.interface(x), list(self.sizes.values()), axis=-1))
        )
        batch = x.shape[0]
        parts["strength"] = 1 + F.softplus(parts["strength"])
        parts["read_strengths"] = 1 + F.softplus(parts["read_strengths"])
        for name in ("erase", "gates"):
            parts[name] = F.sigmoid(parts[name])
        parts["read_keys"] = parts["read_keys"].reshape([batch, self.heads, self.width])
        parts["modes"] = F.softmax(parts["modes"].reshape([batch, self.heads, 3]), axis=-1)
        return parts

    def write(self, p, s):
        usage = s.usage + s.write_weight - s.usage * s.write_weight
        if usage.min() > 0.99:
            self.full_writes += 1
            usage = usage * 0.5
        alloc = allocation(usage)
        lookup = content_weights(s.memory, p["write_key"], p["strength"])
        gate, mix = p["gates"][:, :1], p["gates"][:, 1:]
        w = gate * (mix * alloc + (1 - mix) * lookup)
        memory = s.memory * (1 - w.unsqueeze(2) * p["erase"].unsqueeze(1)) + w.unsqueeze(2) * p[
            "value"
        ].unsqueeze(1)
        links = (1 - w.unsqueeze(2) - w.unsqueeze(1)) * s.links + w.unsqueeze(
            2
        ) * s.precedence.unsqueeze(1)
        links = links * (1 - paddle.eye(self.slots))
        precedence = (1 - w.sum(-1, keepdim=True)) * s.precedence + w
        return s._replace(
            memory=memory, usage=usage, precedence=precedence, links=links, write_weight=w
        )

    def read(self, p, s):
        weights, vectors = [], []
        for h in range(self.heads):
            content = content_weights(
                s.memory, p["read_keys"][:, h], p["read_strengths"][:, h : h + 1]
            )
            last = s.read_weights[:, h]
            forward = paddle.einsum("bij,bj->bi", s.links, last)
            backward = paddle.einsum("bji,bj->bi", s.links, last)
            mode = p["modes"][:, h]
            w = mode[:, :1] * backward + mode[:, 1:2] * content + mode[:, 2:] * forward
            weights.append(w)
            vectors.append((w.unsqueeze(-1) * s.memory).sum(1))
        return s._replace(read_weights=paddle.stack(weights, axis=1)), paddle.concat(
            vectors, axis=-1
        )

    def forward(self, sequence, state=None):
        state = state or self.initial(sequence.shape[0])
        outputs = []
        for x in sequence.unbind(axis=1):
            parts = self.parse(x)
            state = self.write(parts, state)
            state, out = self.read(parts, state)
            outputs.append(out)
        return paddle.stack(outputs, axis=1), state


@program
def memory_with_links_and_allocation(convert):
    """A memory with content addressing, usage-based allocation and temporal links (the core of a DNC)."""

    paddle.seed(9)
    memory = Memory()
    forward = convert(memory.forward)
    records = []
    state = None
    for length in [3, 2, 3]:
        out, state = forward(paddle.randn([2, length, 3]), state)
        records += [out, state.usage, type(state).__name__, memory.full_writes]
        state = State(*(t.detach() for t in state))
    out, final = forward(paddle.randn([2, 2, 3]), state._replace(usage=paddle.ones([2, 5])))
    (out.sum() + final.links.sum()).backward()
    records += [memory.full_writes, final.links, memory.interface.weight.grad]
    records.append(forward(paddle.randn([1, 1, 3]))[1]._asdict())
    yield from records


class Expert(nn.Layer):
    def __init__(self, size, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(size, hidden), nn.Linear(hidden, size)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class Router(nn.Layer):
    def __init__(self, size, experts):
        super().__init__()
        self.gate = nn.Linear(size, experts, bias_attr=False)
        self.register_buffer("bias", paddle.zeros([experts]))
        self.rate = 0.05

    def forward(self, x):
        scores = F.softmax(self.gate(x), axis=-1)
        return scores, scores + self.bias

    def rebalance(self, load):
        """Loss-free balancing: raise the bias of experts that are used too little."""
        error = load.mean() - load
        self.bias.set_value(self.bias + self.rate * paddle.sign(error))


class MoE(nn.Layer):
    def __init__(self, size=4, hidden=6, experts=3, k=2, capacity_factor=1.0, routing="token"):
        super().__init__()
        self.router = Router(size, experts)
        self.experts = nn.LayerList([Expert(size, hidden) for _ in range(experts)])
        self.k = k
        self.capacity_factor = capacity_factor
        self.routing = routing
        self.stats = {"dropped": 0, "idle": []}

    def capacity(self, tokens):
        return max(1, int(self.capacity_factor * tokens * self.k / len(self.experts)))

    def token_choice(self, x):
        scores, biased = self.router(x)
        _, chosen = paddle.topk(biased, self.k, axis=-1)
        weights = paddle.take_along_axis(scores, chosen, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = paddle.zeros_like(x)
        limit = self.capacity(x.shape[0])
        load = []
        for e, expert in enumerate(self.experts):
            hits = paddle.nonzero(chosen == e)
            load.append(hits.shape[0])
            if hits.shape[0] == 0:
                self.stats["idle"].append(e)
                continue
            if hits.shape[0] > limit:
                self.stats["dropped"] += hits.shape[0] - limit
                hits = hits[:limit]
            rows = hits[:, 0]
            part = expert(x[rows]) * weights[rows, hits[:, 1]].unsqueeze(-1)
            out = paddle.scatter(out, rows, part, overwrite=False) if rows.shape[0] else out
        return out, paddle.to_tensor(load, dtype="float32")

    def expert_choice(self, x):
        scores, _ = self.router(x)
        weights, rows = paddle.topk(scores.T, self.capacity(x.shape[0]), axis=-1)
        out = paddle.zeros_like(x)
        for e, expert in enumerate(self.experts):
            out = out.index_add(rows[e], 0, expert(x[rows[e]]) * weights[e].unsqueeze(-1))
        return out, paddle.full([len(self.experts)], float(rows.shape[1]))

    def forward(self, x):
        shape = x.shape
        flat = x.reshape([-1, shape[-1]])
        if self.routing == "token":
            out, load = self.token_choice(flat)
        elif self.routing == "expert":
            out, load = self.expert_choice(flat)
        else:
            raise NotImplementedError(f"routing {self.routing}")
        if self.training:
            self.router.rebalance(load)
        return x + out.reshape(shape), load


@program
def experts_that_choose_or_are_chosen(convert):
    """A mixture of experts: token-choice with capacity and overflow statistics, or expert-choice routing."""

    paddle.seed(14)
    moe = MoE()
    forward = convert(moe.forward)
    records = []
    for shape in [[2, 4, 4], [1, 5, 4], [2, 4, 4]]:
        x = paddle.randn(shape)
        x.stop_gradient = False
        out, load = forward(x)
        out.square().mean().backward()
        records += [out, load, x.grad, moe.router.gate.weight.grad, moe.router.bias]
        records.append({"dropped": moe.stats["dropped"], "idle": list(moe.stats["idle"])})
        moe.clear_gradients()
    moe.eval()
    moe.router.bias.set_value(paddle.to_tensor([5.0, 5.0, -5.0]))
    records += list(forward(paddle.randn([1, 3, 4]))) + [moe.stats]
    moe.routing = "expert"
    records += list(forward(paddle.randn([2, 3, 4])))
    moe.routing = "hash"
    try:
        forward(paddle.randn([1, 1, 4]))
    except NotImplementedError as error:
        records.append(str(error))
    yield from records


class RoundSTE(PyLayer):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(((x >= low) & (x <= high)).astype(x.dtype))
        return paddle.round(x).clip(low, high)

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensor()
        return grad * inside


class Observer(nn.Layer, ABC):
    def __init__(self, bits=8, symmetric=True):
        super().__init__()
        self.bits, self.symmetric = bits, symmetric
        self.register_buffer("low", paddle.zeros([]))
        self.register_buffer("high", paddle.zeros([]))
        self.seen = 0

    @abstractmethod
    def observe(self, x): ...

    @property
    def limits(self):
        if self.symmetric:
            return -(2 ** (self.bits - 1)) + 1, 2 ** (self.bits - 1) - 1
        return 0, 2**self.bits - 1

    def qparams(self):
        if self.seen == 0:
            raise RuntimeError(f"{type(self).__name__} has seen no data")
        qmin, qmax = self.limits
        if self.symmetric:
            scale = paddle.maximum(self.low.abs(), self.high.abs()) / qmax
            zero = paddle.zeros([])
        else:
            scale = (self.high - self.low) / (qmax - qmin)
            zero = paddle.round(qmin - self.low / scale)
        return scale.clip(min=1e-8), zero

    def forward(self, x):
        self.observe(x.detach())
        self.seen += 1
        return x


class MinMax(Observer):
    def observe(self, x):
        if self.seen == 0:
            self.low.set_value(x.min())
            self.high.set_value(x.max())
        else:
            self.low.set_value(paddle.minimum(self.low, x.min()))
            self.high.set_value(paddle.maximum(self.high, x.max()))


class MovingAverage(Observer):
    momentum = 0.9

    def observe(self, x):
        m = self.momentum if self.seen else 0.0
        self.low.set_value(m * self.low + (1 - m) * x.min())
        self.high.set_value(m * self.high + (1 - m) * x.max())


class Histogram(Observer):
    def __init__(self, bins=32, keep=0.95, **kwargs):
        super().__init__(**kwargs)
        self.keep = keep
        self.register_buffer("counts", paddle.zeros([bins]))
        self.register_buffer("range", paddle.zeros([]))

    def observe(self, x):
        top = x.abs().max()
        if top > self.range:
            bins = self.counts.shape[0]
            if self.seen:
                old = (paddle.arange(bins, dtype="float32") + 0.5) * self.range / bins
                index = (old / top * bins).astype("int64").clip(0, bins - 1)
                self.counts.set_value(
                    paddle.zeros([bins]).put_along_axis(index, self.counts, 0, reduce="add")
                )
            self.range.set_value(top)
        edge = float(self.range)
        self.counts.set_value(
            self.counts
            + paddle.histogram(x.abs(), bins=self.counts.shape[0], min=0, max=edge).astype(
                "float32"
            )
        )
        mass = paddle.cumsum(self.counts) / self.counts.sum()
        cut = int((mass < self.keep).sum()) + 1
        bound = self.range * cut / self.counts.shape[0]
        self.low.set_value(-bound)
        self.high.set_value(bound)


class QuantLinear(nn.Layer):
    def __init__(self, size, observer):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.observer = observer
        self.frozen = False

    def forward(self, x):
        if self.training and not self.frozen:
            x = self.observer(x)
        scale, zero = self.observer.qparams()
        q = RoundSTE.apply(x / scale + zero, *self.observer.limits)
        return self.linear((q - zero) * scale), scale


@program
def observers_and_a_straight_through_layer(convert):
    """Observers (min-max, moving average, histogram) and fake quantisation with a straight-through gradient."""

    records = []
    for observer in [MinMax(bits=4), MovingAverage(symmetric=False), Histogram(bits=6)]:
        paddle.seed(6)
        layer = QuantLinear(3, observer)
        forward = convert(layer.forward)
        layer.eval()
        try:
            forward(paddle.ones([1, 3]))
        except RuntimeError as error:
            records.append(str(error))
        layer.train()
        for rows, gain in [(4, 1.0), (6, 3.0), (4, 0.5)]:
            x = paddle.randn([rows, 3]) * gain
            x.stop_gradient = False
            y, scale = forward(x)
            y.sum().backward()
            records += [y, scale, x.grad, observer.low, observer.high, observer.seen]
        layer.frozen = True
        records += [forward(paddle.randn([2, 3]) * 10)[0], observer.seen]
    records.append(observer.counts)
    yield from records


class Metric:
    higher_is_better = True

    def __init__(self):
        self.reset()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.label = cls.__name__.lower()

    def reset(self):
        raise NotImplementedError

    def update(self, probs, target):
        raise NotImplementedError

    def compute(self):
        raise NotImplementedError


class Accuracy(Metric):
    def reset(self):
        self.right, self.total = paddle.zeros([], dtype="int64"), 0

    def update(self, probs, target):
        self.right = self.right + (probs.argmax(-1) == target).sum()
        self.total += target.shape[0]

    def compute(self):
        return self.right / self.total if self.total else float("nan")


class MacroF1(Metric):
    def __init__(self, classes):
        self.classes = classes
        super().__init__()

    def reset(self):
        self.confusion = paddle.zeros([self.classes, self.classes], dtype="int64")

    def update(self, probs, target):
        for p, t in zip(probs.argmax(-1), target):
            self.confusion[t, p] += 1

    def compute(self):
        scores = []
        for c in range(self.classes):
            tp = self.confusion[c, c]
            denominator = self.confusion[c].sum() + self.confusion[:, c].sum()
            if denominator == 0:
                continue
            scores.append(2 * tp / denominator)
        return sum(scores) / len(scores)


class AUC(Metric):
    """One against the rest for class 1, exact, ties counted half."""

    def reset(self):
        self.scores, self.targets = [], []

    def update(self, probs, target):
        self.scores.append(probs[:, 1])
        self.targets.append(target == 1)

    def compute(self):
        scores, positive = paddle.concat(self.scores), paddle.concat(self.targets)
        pos, neg = scores[positive], scores[~positive]
        if pos.shape[0] == 0 or neg.shape[0] == 0:
            return None
        diff = pos.unsqueeze(1) - neg.unsqueeze(0)
        return ((diff > 0).astype("float32") + 0.5 * (diff == 0).astype("float32")).mean()


class ECE(Metric):
    higher_is_better = False

    def __init__(self, bins=5):
        self.bins = bins
        super().__init__()

    def reset(self):
        self.sums = paddle.zeros([3, self.bins])

    def update(self, probs, target):
        confidence, predicted = probs.max(-1), probs.argmax(-1)
        hit = (predicted == target).astype("float32")
        bucket = (confidence * self.bins).astype("int64").clip(0, self.bins - 1)
        for row, values in enumerate((confidence, hit, paddle.ones_like(hit))):
            self.sums[row] = paddle.scatter_nd_add(self.sums[row], bucket.unsqueeze(-1), values)

    def compute(self):
        count = self.sums[2]
        gap = (self.sums[0] - self.sums[1]).abs()
        return gap.sum() / count.sum()


class Suite:
    def __init__(self, *metrics):
        self.metrics = OrderedDict((m.label, m) for m in metrics)
        self.best = {}

    def update(self, logits, target):
        probs = paddle.nn.functional.softmax(logits, axis=-1)
        for metric in self.metrics.values():
            metric.update(probs, target)

    def compute(self):
        out = {}
        for label, metric in self.metrics.items():
            value = metric.compute()
            out[label] = value
            if value is None:
                continue
            old = self.best.get(label)
            if old is None or (value > old if metric.higher_is_better else value < old):
                self.best[label] = value
        return out

    def table(self):
        lines = [f"{label:<10} {float(value):>8.4f}" for label, value in self.best.items()]
        return "\n".join(lines)


@program
def metrics_collected_by_label(convert):
    """Streaming metrics with a common base class, collected by name and formatted as a table."""

    paddle.seed(13)
    suite = Suite(Accuracy(), MacroF1(4), AUC(), ECE())
    update, compute = convert(suite.update), convert(suite.compute)
    records = []
    for epoch, sizes in enumerate([(6, 6, 3), (5,), (4, 4)]):
        for n in sizes:
            target = paddle.arange(n) % 3
            logits = paddle.randn([n, 4]) + paddle.nn.functional.one_hot(target, 4) * epoch
            update(logits, target)
        records.append(compute())
        records += [
            suite.metrics["accuracy"].total,
            suite.metrics["macrof1"].confusion,
            suite.table(),
        ]
        for metric in suite.metrics.values():
            metric.reset()
    update(paddle.randn([2, 4]), paddle.to_tensor([0, 2]))
    records += [compute(), convert(suite.metrics["ece"].compute)()]
    yield from records
