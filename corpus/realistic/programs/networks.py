"""Less usual networks: recursive, associative, routed, adapted, pruned, memory between segments."""

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple, Union

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def tree_lstm_over_nested_tuples(convert):
    """A child-sum Tree-LSTM on parse trees; the recursion follows Python tuples."""
    Tree = Union[int, Tuple["Tree", ...]]
    State = namedtuple("State", ["h", "c"])

    class TreeLSTM(nn.Layer):
        def __init__(self, vocab=8, dim=4, classes=2):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.iou_x, self.iou_h = nn.Linear(dim, 3 * dim), nn.Linear(dim, 3 * dim)
            self.f_x, self.f_h = nn.Linear(dim, dim), nn.Linear(dim, dim)
            self.head = nn.Linear(dim, classes)
            self.dim = dim

        def node(self, x, children):
            total = sum((child.h for child in children), paddle.zeros([1, self.dim]))
            i, o, u = (self.iou_x(x) + self.iou_h(total)).chunk(3, axis=-1)
            c = F.sigmoid(i) * u.tanh()
            for child in children:
                c = c + F.sigmoid(self.f_x(x) + self.f_h(child.h)) * child.c
            return State(h=F.sigmoid(o) * c.tanh(), c=c)

        def encode(self, tree: "Tree", visited: Optional[List[str]] = None):
            if isinstance(tree, int):
                if visited is not None:
                    visited.append(str(tree))
                return self.node(self.embed(paddle.to_tensor([tree])), ())
            states = [self.encode(child, visited=visited) for child in tree]
            if visited is not None:
                visited.append(f"({len(tree)})")
            return self.node(paddle.zeros([1, self.dim]), states)

        def forward(self, tree, label=None, trace=False):
            visited = [] if trace else None
            logits = self.head(self.encode(tree, visited=visited).h)
            if label is None:
                return logits.argmax(axis=-1), visited
            return F.cross_entropy(logits, label), visited

    model = convert(TreeLSTM())
    trees = [(1, (2, 3)), ((1, 2), (3, (4, 5))), 6, ((7,), (1, 1, 1))]
    for i, tree in enumerate(trees):
        loss, visited = model(tree, label=paddle.to_tensor([i % 2]), trace=i != 2)
        loss.backward()
        yield loss, visited, model.f_h.weight.grad, model.embed.weight.grad
        model.clear_gradients()
        yield model(tree)


@program
def hopfield_and_boltzmann_machines(convert):
    """A Hopfield memory recalled asynchronously until stable; an RBM by contrastive divergence."""

    class Hopfield:
        def __init__(self, patterns):
            n = patterns.shape[1]
            w = paddle.matmul(patterns, patterns, transpose_x=True) / n
            self.weights = w * (1 - paddle.eye(n))

        def energy(self, state):
            return -0.5 * (state * paddle.matmul(self.weights, state)).sum()

        @convert
        def recall(self, state, max_sweeps=4):
            energies = [self.energy(state)]
            for sweep in range(max_sweeps):
                changed = paddle.to_tensor(False)
                for i in range(state.shape[0]):
                    field = (self.weights[i] * state).sum()
                    new = paddle.where(field >= 0, paddle.ones([]), -paddle.ones([]))
                    if new != state[i]:
                        state = paddle.where(paddle.arange(state.shape[0]) == i, new, state)
                        changed = paddle.to_tensor(True)
                energies.append(self.energy(state))
                if not changed:
                    break
            return state, energies

    class RBM:
        def __init__(self, visible, hidden, lr=0.1):
            rng = np.random.RandomState(0)
            self.w = paddle.to_tensor(0.1 * rng.randn(visible, hidden).astype("float32"))
            self.a, self.b = paddle.zeros([visible]), paddle.zeros([hidden])
            self.lr = lr
            self.chain: Optional[paddle.Tensor] = None

        def hidden(self, v):
            return F.sigmoid(paddle.matmul(v, self.w) + self.b)

        def visible(self, h):
            return F.sigmoid(paddle.matmul(h, self.w, transpose_y=True) + self.a)

        @convert
        def step(self, v, k=1, persistent=False):
            h = self.hidden(v)
            start = self.chain if persistent and self.chain is not None else v
            sample = start
            for _ in range(k):
                hs = paddle.bernoulli(self.hidden(sample))
                sample = paddle.bernoulli(self.visible(hs))
            if persistent:
                self.chain = sample
            negative = self.hidden(sample)
            up = paddle.matmul(v, h, transpose_x=True)
            down = paddle.matmul(sample, negative, transpose_x=True)
            self.w = self.w + self.lr * (up - down) / v.shape[0]
            self.a = self.a + self.lr * (v - sample).mean(axis=0)
            self.b = self.b + self.lr * (h - negative).mean(axis=0)
            return (v - self.visible(self.hidden(v))).square().mean()

    rng = np.random.RandomState(1)
    patterns = paddle.to_tensor(np.sign(rng.randn(2, 8)).astype("float32"))
    memory = Hopfield(patterns)
    for flips in (1, 2, 4):
        noisy = patterns[0].clone()
        noisy[:flips] = -noisy[:flips]
        yield memory.recall(noisy)
    paddle.seed(3)
    rbm = RBM(6, 3)
    for n, k, persistent in ((4, 1, False), (4, 2, True), (4, 1, True), (3, 1, False)):
        v = paddle.to_tensor((rng.rand(n, 6) > 0.5).astype("float32"))
        yield rbm.step(v, k=k, persistent=persistent)
    yield rbm.w, rbm.chain


@program
def capsules_routed_by_agreement(convert):
    """Dynamic routing between capsules, with a margin loss and a reconstruction in training."""

    def squash(s, axis=-1):
        norm2 = s.square().sum(axis=axis, keepdim=True)
        return norm2 / (1 + norm2) * s / (norm2 + 1e-8).sqrt()

    class CapsuleLayer(nn.Layer):
        def __init__(self, inputs=4, in_dim=3, capsules=2, dim=4, routings=3):
            super().__init__()
            self.weight = self.create_parameter([inputs, capsules, in_dim, dim])
            self.routings = routings

        def forward(self, u, tol=None):
            hat = paddle.einsum("bni,ncid->bncd", u, self.weight)
            detached = hat.detach()
            logits = paddle.zeros(hat.shape[:3])
            v = None
            for r in range(self.routings):
                c = F.softmax(logits, axis=2)
                if r == self.routings - 1:
                    v = squash((c.unsqueeze(-1) * hat).sum(axis=1))
                    break
                v = squash((c.unsqueeze(-1) * detached).sum(axis=1))
                agreement = (detached * v.unsqueeze(1)).sum(axis=-1)
                logits = logits + agreement
                if tol is not None and agreement.abs().max() < tol:
                    v = squash((c.unsqueeze(-1) * hat).sum(axis=1))
                    break
            return v

    class CapsNet(nn.Layer):
        def __init__(self):
            super().__init__()
            self.primary, self.digits = nn.Linear(5, 12), CapsuleLayer()
            self.decoder = nn.Linear(8, 5)

        def forward(self, x, labels=None, tol=None):
            u = squash(self.primary(x).reshape([x.shape[0], 4, 3]))
            v = self.digits(u, tol=tol)
            lengths = v.norm(axis=-1)
            if labels is None:
                return lengths
            t = F.one_hot(labels, 2)
            margin = t * F.relu(0.9 - lengths).square()
            margin = margin + 0.5 * (1 - t) * F.relu(lengths - 0.1).square()
            loss = margin.sum(axis=-1).mean()
            if self.training:
                masked = (v * t.unsqueeze(-1)).flatten(start_axis=1)
                loss = loss + 0.1 * F.mse_loss(self.decoder(masked), x)
            return loss

    net = convert(CapsNet())
    rng = np.random.RandomState(2)
    for n, routings, tol in ((3, 3, None), (4, 1, None), (3, 4, 0.5)):
        net.digits.routings = routings
        x = paddle.to_tensor(rng.randn(n, 5).astype("float32"))
        loss = net(x, labels=paddle.to_tensor(rng.randint(0, 2, n)), tol=tol)
        loss.backward()
        yield loss, net.digits.weight.grad.sum(axis=[2, 3]), net.primary.bias.grad
        net.clear_gradients()
    net.eval()
    yield net(x), net(x, labels=paddle.to_tensor([0, 1, 0]))


@program
def low_rank_adapters_switched_by_name(convert):
    """LoRA adapters on linear layers: several by name, one active, merged and unmerged."""

    class LoRALinear(nn.Layer):
        def __init__(self, base, scale=1.0):
            super().__init__()
            self.base = base
            base.weight.stop_gradient = True
            base.bias.stop_gradient = True
            self.adapters = nn.LayerDict()
            self.active: Optional[str] = None
            self.merged: Optional[str] = None
            self.scale = scale

        def add(self, name, rank):
            inputs, outputs = self.base.weight.shape
            self.adapters[name] = nn.Sequential(
                nn.Linear(inputs, rank, bias_attr=False), nn.Linear(rank, outputs, bias_attr=False)
            )
            return self

        def delta(self, name):
            down, up = self.adapters[name]
            return self.scale * paddle.matmul(down.weight, up.weight)

        @paddle.no_grad()
        def merge(self, name):
            assert self.merged is None, f"{self.merged} is merged already"
            self.base.weight.set_value(self.base.weight + self.delta(name))
            self.merged = name

        @paddle.no_grad()
        def unmerge(self):
            self.base.weight.set_value(self.base.weight - self.delta(self.merged))
            self.merged = None

        def forward(self, x):
            y = self.base(x)
            if self.active is not None and self.merged is None:
                y = y + self.scale * self.adapters[self.active](x)
            return y

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc1 = LoRALinear(nn.Linear(4, 6)).add("a", 2).add("b", 1)
            self.fc2 = LoRALinear(nn.Linear(6, 2), scale=0.5).add("a", 1)

        @property
        def adapted(self):
            return [layer for layer in self.sublayers() if isinstance(layer, LoRALinear)]

        def use(self, name):
            for layer in self.adapted:
                layer.active = name if name in layer.adapters else None

        def forward(self, x):
            h = F.relu(self.fc1(x))
            if h.max() > 3:
                h = h / h.max()
            return self.fc2(h)

    model = convert(Model())
    rng = np.random.RandomState(3)
    x = paddle.to_tensor(rng.randn(3, 4).astype("float32"))
    for name in (None, "a", "b", "a"):
        model.use(name)
        y = model(x)
        yield y
        if name is not None:
            y.square().mean().backward()
            down, up = model.fc1.adapters[name]
            yield down.weight.grad, up.weight.grad, model.fc1.base.weight.grad
            model.clear_gradients()
    model.fc1.merge("b")
    yield model(x), model.fc1.merged
    model.fc1.unmerge()
    yield model(x * 4)


@program
def recurrence_between_segments(convert):
    """Transformer-XL style: hidden states of past segments, relative positions, a memory limit."""

    @dataclass
    class XLConfig:
        dim: int = 4
        heads: int = 2
        memory: int = 3
        layers: int = 2

    class RelativeAttention(nn.Layer):
        def __init__(self, config):
            super().__init__()
            self.heads, self.size = config.heads, config.dim // config.heads
            self.q = nn.Linear(config.dim, config.dim, bias_attr=False)
            self.kv = nn.Linear(config.dim, 2 * config.dim, bias_attr=False)
            self.distance = self.create_parameter([16, config.heads])

        def forward(self, x, memory=None):
            context = x if memory is None else paddle.concat(x=[memory, x], axis=0)
            rows, columns = x.shape[0], context.shape[0]
            q = self.q(x).reshape([rows, self.heads, self.size])
            k, v = self.kv(context).chunk(2, axis=-1)
            k = k.reshape([columns, self.heads, self.size])
            v = v.reshape([columns, self.heads, self.size])
            scores = paddle.einsum("ihd,jhd->hij", q, k) / math.sqrt(self.size)
            offset = paddle.arange(columns - rows, columns).unsqueeze(1) - paddle.arange(columns)
            bias = self.distance[offset.clip(0, 15)].transpose([2, 0, 1])
            scores = paddle.where(offset >= 0, scores + bias, paddle.full_like(scores, -1e9))
            y = paddle.einsum("hij,jhd->ihd", F.softmax(scores, axis=-1), v)
            return y.reshape([rows, -1])

    class XL(nn.Layer):
        def __init__(self, config=None, vocab=7):
            super().__init__()
            self.config = config or XLConfig()
            self.embed = nn.Embedding(vocab, self.config.dim)
            self.attention = nn.LayerList(
                [RelativeAttention(self.config) for _ in range(self.config.layers)]
            )
            self.norm = nn.LayerNorm(self.config.dim)
            self.memories: Optional[List[paddle.Tensor]] = None

        def remember(self, states):
            kept = []
            for i, state in enumerate(states):
                state = state.detach()
                if self.memories is not None:
                    state = paddle.concat([self.memories[i], state], axis=0)
                kept.append(state[-self.config.memory :])
            self.memories = kept

        def forward(self, ids, targets=None):
            x = self.embed(ids)
            states = []
            for i, attention in enumerate(self.attention):
                states.append(x)
                memory = None if self.memories is None else self.memories[i]
                x = self.norm(x + attention(x, memory=memory))
            self.remember(states)
            logits = paddle.matmul(x, self.embed.weight, transpose_y=True)
            if targets is None:
                return logits
            return F.cross_entropy(logits, targets)

    model = convert(XL())
    rng = np.random.RandomState(4)
    for length in (2, 2, 4, 1, 4):
        ids = paddle.to_tensor(rng.randint(0, 7, length + 1))
        loss = model(ids[:-1], targets=ids[1:])
        loss.backward()
        yield loss, [m.shape for m in model.memories], model.attention[0].distance.grad
        model.clear_gradients()
    yield model.memories
    model.memories = None
    model.config.memory = 1
    yield model(ids), model.memories


@program
def pruning_schedule_with_masks(convert):
    """Magnitude pruning on a cubic schedule, masks as buffers, regrowth by gradient."""

    class MaskedLinear(nn.Layer):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.linear = nn.Linear(inputs, outputs)
            self.register_buffer("mask", paddle.ones([inputs, outputs]))

        def forward(self, x):
            return F.linear(x, self.linear.weight * self.mask, self.linear.bias)

        @property
        def sparsity(self):
            return 1 - self.mask.mean()

    class Pruner:
        def __init__(self, layers, final=0.6, begin=1, end=4, regrow=0.0):
            self.layers = list(layers)
            self.final, self.begin, self.end, self.regrow = final, begin, end, regrow
            self.step_count = 0

        def target(self):
            if self.step_count < self.begin:
                return 0.0
            progress = min(1.0, (self.step_count - self.begin + 1) / (self.end - self.begin + 1))
            return self.final * (1 - (1 - progress) ** 3)

        def prune(self, layer, share):
            magnitude = (layer.linear.weight * layer.mask).abs().flatten()
            drop = int(share * magnitude.shape[0])
            if drop == 0:
                return
            threshold = paddle.sort(magnitude)[drop - 1]
            layer.mask.set_value(
                (magnitude > threshold).astype("float32").reshape(layer.mask.shape)
            )

        def grow(self, layer):
            gradient = layer.linear.weight.grad
            dead = layer.mask == 0
            if self.regrow and dead.any():
                score = paddle.where(dead, gradient.abs(), paddle.zeros_like(gradient)).flatten()
                best = score.argmax()
                hot = F.one_hot(best, score.shape[0]).reshape(layer.mask.shape)
                layer.mask.set_value(paddle.maximum(layer.mask, hot))

        def step(self):
            share = self.target()
            for layer in self.layers:
                self.prune(layer, share)
                self.grow(layer)
            self.step_count += 1
            return share

    net = nn.Sequential(MaskedLinear(3, 4), nn.Tanh(), MaskedLinear(4, 2))
    optimizer = paddle.optimizer.SGD(0.2, parameters=net.parameters())

    @convert
    def train_step(x, y, pruner):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        share = pruner.step()
        optimizer.clear_grad()
        return loss, share, [layer.sparsity for layer in pruner.layers]

    rng = np.random.RandomState(5)
    for regrow in (0.0, 1.0):
        pruner = Pruner([net[0], net[2]], regrow=regrow)
        for n in (4, 5, 4):
            x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
            yield train_step(x, paddle.to_tensor(rng.randint(0, 2, n)), pruner)
        yield net[0].mask.clone(), net[2].mask.clone()


@program
def knowledge_graph_embeddings(convert):
    """TransE and DistMult with negative sampling, norm constraints and filtered ranks."""

    class Scorer(nn.Layer):
        def __init__(self, entities, relations, dim=3):
            super().__init__()
            self.entity, self.relation = nn.Embedding(entities, dim), nn.Embedding(relations, dim)
            self.entities = entities

        def score(self, h, r, t):
            raise NotImplementedError

        def forward(self, triples):
            h, r, t = triples.unbind(axis=-1)
            return self.score(self.entity(h), self.relation(r), self.entity(t))

        @paddle.no_grad()
        def constrain(self):
            norms = self.entity.weight.norm(axis=-1, keepdim=True)
            if (norms > 1).any():
                self.entity.weight.set_value(self.entity.weight / norms.clip(min=1.0))

    class TransE(Scorer):
        def score(self, h, r, t):
            return -(h + r - t).abs().sum(axis=-1)

    class DistMult(Scorer):
        def score(self, h, r, t):
            return (h * r * t).sum(axis=-1)

    def corrupt(triples, random_entities, flip):
        heads = paddle.where(flip, random_entities, triples[:, 0])
        tails = paddle.where(flip, triples[:, 2], random_entities)
        return paddle.stack([heads, triples[:, 1], tails], axis=1)

    @convert
    def loss_of(model, triples, negatives, margin=1.0):
        model.constrain()
        good, bad = model(triples), model(negatives)
        if margin is not None:
            return F.relu(margin - good + bad).mean()
        return F.softplus(-good).mean() + F.softplus(bad).mean()

    @convert
    def filtered_rank(model, triple, known):
        candidates = paddle.arange(model.entities)
        tiled = paddle.stack(
            [triple[0].expand([model.entities]), triple[1].expand([model.entities]), candidates],
            axis=1,
        )
        scores = model(tiled)
        own = scores[triple[2]]
        for other in known:
            if other[0] == triple[0] and other[1] == triple[1] and other[2] != triple[2]:
                hot = F.one_hot(other[2], model.entities) > 0
                scores = paddle.where(hot, paddle.full_like(scores, -1e9), scores)
        return (scores > own).astype("int64").sum() + 1

    rng = np.random.RandomState(6)
    triples = paddle.to_tensor([[0, 0, 1], [1, 0, 2], [0, 1, 3], [0, 0, 4]])
    for cls, margin in ((TransE, 1.0), (DistMult, None)):
        model = cls(5, 2)
        optimizer = paddle.optimizer.Adam(0.1, parameters=model.parameters())
        for _ in range(3):
            negatives = corrupt(
                triples, paddle.to_tensor(rng.randint(0, 5, 4)), paddle.to_tensor(rng.rand(4) < 0.5)
            )
            loss = loss_of(model, triples, negatives, margin=margin)
            loss.backward()
            yield loss, model.relation.weight.grad
            optimizer.step()
            optimizer.clear_grad()
        yield [filtered_rank(model, triples[i], triples) for i in range(4)]
        yield model.entity.weight


@program
def scheduled_sampling_in_a_decoder(convert):
    """An encoder-decoder with attention; teacher forcing decays; greedy decoding in eval."""
    Batch = namedtuple("Batch", ["source", "target"])

    class Attention(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.w, self.v = nn.Linear(2 * dim, dim), nn.Linear(dim, 1, bias_attr=False)

        def forward(self, state, memory):
            state = state.unsqueeze(1).expand([-1, memory.shape[1], -1])
            scores = self.v(self.w(paddle.concat(x=[state, memory], axis=-1)).tanh()).squeeze(-1)
            weights = F.softmax(scores, axis=-1)
            return paddle.bmm(weights.unsqueeze(1), memory).squeeze(1), weights

    class Seq2Seq(nn.Layer):
        def __init__(self, vocab=7, dim=4, bos=0, eos=1):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.encoder = nn.GRU(dim, dim)
            self.cell = nn.GRUCell(2 * dim, dim)
            self.attention = Attention(dim)
            self.head = nn.Linear(dim, vocab)
            self.bos, self.eos = bos, eos
            self.counts: Dict[str, int] = {"forced": 0, "free": 0}

        def step(self, token, state, memory):
            context, weights = self.attention(state, memory)
            _, state = self.cell(paddle.concat(x=[self.embed(token), context], axis=-1), state)
            return self.head(state), state, weights

        def forward(self, source, target=None, draws=None, ratio=1.0, max_len=5):
            memory, state = self.encoder(self.embed(source))
            state = state[0]
            token = paddle.full([source.shape[0]], self.bos, dtype="int64")
            logits, tokens = [], []
            done = paddle.zeros([source.shape[0]], dtype="bool")
            steps = max_len if target is None else target.shape[1]
            for t in range(steps):
                out, state, _ = self.step(token, state, memory)
                logits.append(out)
                predicted = out.argmax(axis=-1)
                tokens.append(predicted)
                if target is None:
                    done = done | (predicted == self.eos)
                    if done.all():
                        break
                    token = predicted
                elif draws is None or draws[t] < ratio:
                    token = target[:, t]
                    self.counts["forced"] += 1
                else:
                    token = predicted
                    self.counts["free"] += 1
            if target is None:
                return paddle.stack(tokens, axis=1)
            logits = paddle.stack(logits, axis=1)
            return F.cross_entropy(logits.flatten(stop_axis=1), target.flatten())

    def inverse_sigmoid(epoch, k=3.0):
        return k / (k + math.exp(epoch / k))

    model = convert(Seq2Seq())
    rng = np.random.RandomState(7)
    for epoch, (n, m) in enumerate(((3, 2), (4, 3), (3, 3))):
        batch = Batch(
            source=paddle.to_tensor(rng.randint(2, 7, (2, n))),
            target=paddle.to_tensor(rng.randint(1, 7, (2, m))),
        )
        draws = rng.rand(m).tolist() if epoch else None
        loss = model(batch.source, target=batch.target, draws=draws, ratio=inverse_sigmoid(epoch))
        loss.backward()
        yield loss, model.counts, model.attention.v.weight.grad
        model.clear_gradients()
    draws = paddle.to_tensor([0.9, 0.1, 0.9])
    yield model(batch.source, target=batch.target, draws=draws, ratio=0.5)
    model.eval()
    with paddle.no_grad():
        yield model(batch.source)
        yield model(batch.source[:1], max_len=2)
