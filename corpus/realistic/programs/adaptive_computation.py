"""Networks that decide how long to compute: halting, early exits, skipping, anytime answers."""

from collections import namedtuple
from dataclasses import dataclass, field
from typing import List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def adaptive_computation_time(convert):
    """ACT (Graves): every row halts on its own; the ponder cost is part of the loss."""

    class ACT(nn.Layer):
        def __init__(self, dim, max_steps=6, epsilon=0.05):
            super().__init__()
            self.cell = nn.GRUCell(dim + 1, dim)
            self.halt = nn.Linear(dim, 1)
            self.max_steps = max_steps
            self.epsilon = epsilon

        def forward(self, x, state=None):
            batch, dim = x.shape
            state = paddle.zeros([batch, dim]) if state is None else state
            halting = paddle.zeros([batch])
            remainders = paddle.zeros([batch])
            updates = paddle.zeros([batch])
            output = paddle.zeros([batch, dim])
            for step in range(self.max_steps):
                flag = paddle.full([batch, 1], float(step == 0))
                _, state = self.cell(paddle.concat([x, flag], axis=-1), state)
                p = F.sigmoid(self.halt(state)).squeeze(-1)
                running = (halting < 1.0).astype("float32")
                new_halted = ((halting + p * running) > 1 - self.epsilon).astype(
                    "float32"
                ) * running
                still = ((halting + p * running) <= 1 - self.epsilon).astype("float32") * running
                halting = halting + p * still
                remainders = remainders + new_halted * (1 - halting)
                halting = halting + new_halted * remainders
                updates = updates + still + new_halted
                weight = (p * still + new_halted * remainders).unsqueeze(-1)
                output = output + weight * state
                if not (halting < 1 - self.epsilon).any():
                    break
            return output, updates, remainders

    class Classifier(nn.Layer):
        def __init__(self, dim=4, classes=3, tau=0.01):
            super().__init__()
            self.act = ACT(dim)
            self.head = nn.Linear(dim, classes)
            self.tau = tau

        def forward(self, x, labels=None):
            hidden, updates, remainders = self.act(x)
            logits = self.head(hidden)
            ponder = (updates + remainders).mean()
            if labels is None:
                return logits, ponder
            return F.cross_entropy(logits, labels) + self.tau * ponder, ponder

    model = convert(Classifier())
    optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())
    rng = np.random.RandomState(1)
    for n in (3, 3, 6):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        loss, ponder = model(x, labels=paddle.to_tensor(rng.randint(0, 3, n)))
        loss.backward()
        yield loss, ponder, model.act.halt.weight.grad
        optimizer.step()
        optimizer.clear_grad()
    model.eval()
    model.act.max_steps = 2
    yield model(x)


@program
def early_exit_transformer(convert):
    """Layers with side classifiers; in eval mode a confident or patient answer leaves early."""

    @dataclass
    class ExitConfig:
        threshold: float = 0.5
        patience: Optional[int] = None
        weights: List[float] = field(default_factory=lambda: [0.3, 0.3, 1.0])

    class Layer(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.attn = nn.MultiHeadAttention(embed_dim=dim, num_heads=2)
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.ffn = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

        def forward(self, x):
            h = self.norm1(x)
            x = x + self.attn(h, h, h)
            return x + self.ffn(self.norm2(x))

    class EarlyExit(nn.Layer):
        def __init__(self, vocab=10, dim=4, depth=3, classes=3, config=None):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.layers = nn.LayerList([Layer(dim) for _ in range(depth)])
            self.exits = nn.LayerList([nn.Linear(dim, classes) for _ in range(depth)])
            self.config = config or ExitConfig()

        def confident(self, logits):
            p = F.softmax(logits * 3, axis=-1)
            return p.max(axis=-1).min() > self.config.threshold

        def forward(self, ids, labels=None):
            x = self.embed(ids)
            losses, previous, agreed = [], None, 0
            for i, (layer, head) in enumerate(zip(self.layers, self.exits)):
                x = layer(x)
                logits = head(x.mean(axis=1))
                if labels is not None:
                    losses.append(self.config.weights[i] * F.cross_entropy(logits, labels))
                    continue
                answer = logits.argmax(axis=-1)
                if self.config.patience is None:
                    if self.confident(logits):
                        return logits, i
                else:
                    if previous is not None and (answer == previous).all():
                        agreed += 1
                    else:
                        agreed = 0
                    if agreed >= self.config.patience:
                        return logits, i
                previous = answer
            if labels is not None:
                return sum(losses) / sum(self.config.weights)
            return logits, len(self.layers)

    model = EarlyExit()
    convert(model)
    rng = np.random.RandomState(3)
    ids = paddle.to_tensor(rng.randint(0, 10, (2, 5)))
    loss = model(ids, labels=paddle.to_tensor([0, 2]))
    loss.backward()
    yield loss, model.exits[0].weight.grad
    model.eval()
    with paddle.no_grad():
        for threshold in (0.34, 0.6, 0.99):
            model.config.threshold = threshold
            yield model(ids)
            yield model(paddle.to_tensor(rng.randint(0, 10, (1, 3))))
        model.config.patience = 1
        yield model(ids)
        model.config = ExitConfig(patience=2)
        yield model(ids)


@program
def ponder_net_with_a_geometric_prior(convert):
    """PonderNet: a distribution over halting steps, regularised towards a geometric prior."""
    Ponder = namedtuple("Ponder", ["probs", "outputs", "halted_at"])

    class PonderNet(nn.Layer):
        def __init__(self, inputs=4, hidden=6, max_steps=5):
            super().__init__()
            self.cell = nn.GRUCell(inputs, hidden)
            self.out, self.lam = nn.Linear(hidden, 1), nn.Linear(hidden, 1)
            self.max_steps = max_steps

        def forward(self, x, uniforms=None):
            h = paddle.zeros([x.shape[0], self.cell.hidden_size])
            remain = paddle.ones([x.shape[0]])
            halted_at = paddle.zeros([x.shape[0]], dtype="int64")
            probs, outputs = [], []
            for n in range(1, self.max_steps + 1):
                _, h = self.cell(x, h)
                lam = F.sigmoid(self.lam(h)).squeeze(-1)
                if n == self.max_steps:
                    lam = paddle.ones_like(lam)
                probs.append(remain * lam)
                outputs.append(self.out(h).squeeze(-1))
                remain = remain * (1 - lam)
                if uniforms is not None:
                    stop = (uniforms[n - 1] < lam) & (halted_at == 0)
                    halted_at = paddle.where(stop, paddle.full_like(halted_at, n), halted_at)
                    if not self.training and (halted_at > 0).all():
                        break
            return Ponder(paddle.stack(probs), paddle.stack(outputs), halted_at)

    def geometric(p, steps):
        prior = paddle.to_tensor([p * (1 - p) ** k for k in range(steps)])
        return prior / prior.sum()

    model = PonderNet()

    @convert
    def loss_fn(x, y, beta=0.1, prior_p=0.4):
        ponder = model(x)
        errors = (ponder.outputs - y.unsqueeze(0)).square()
        recon = (ponder.probs * errors).sum(axis=0).mean()
        prior = geometric(prior_p, ponder.probs.shape[0]).unsqueeze(-1)
        kl = (ponder.probs * (paddle.log(ponder.probs + 1e-9) - paddle.log(prior))).sum(axis=0)
        return recon + beta * kl.mean(), recon, kl.mean()

    @convert
    def infer(x, uniforms):
        with paddle.no_grad():
            ponder = model(x, uniforms=uniforms)
        index = (ponder.halted_at - 1).clip(min=0).unsqueeze(0)
        return paddle.take_along_axis(ponder.outputs, index, axis=0)[0], ponder.halted_at

    rng = np.random.RandomState(5)
    for n, beta in ((3, 0.1), (5, 0.0), (5, 1.0)):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        loss, recon, kl = loss_fn(x, x.sum(axis=1), beta=beta)
        loss.backward()
        yield loss, recon, kl, model.lam.weight.grad
        model.clear_gradients()
    model.eval()
    for low in (0.0, 0.4, 0.9):
        uniforms = paddle.to_tensor(rng.uniform(low, 1.0, (5, 3)).astype("float32"))
        yield infer(x[:3], uniforms)


@program
def skipping_layers_by_a_gate(convert):
    """SkipNet-like gates: soft in training with straight-through, hard branches in eval."""

    class Gate(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.fc = nn.Linear(dim, 1)

        def forward(self, x):
            soft = F.sigmoid(self.fc(x.mean(axis=0)))
            hard = (soft > 0.5).astype(soft.dtype)
            return soft + (hard - soft).detach()

    class SkipBlock(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.gate = Gate(dim)
            self.body = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
            self.register_buffer("executed", paddle.zeros([1]))

        def forward(self, x):
            g = self.gate(x)
            if self.training:
                return x + g * self.body(x), g
            if g > 0.5:
                self.executed += 1
                x = x + self.body(x)
            return x, g

    class SkipNet(nn.Layer):
        def __init__(self, dim=4, depth=3):
            super().__init__()
            self.blocks = nn.LayerList(SkipBlock(dim) for _ in range(depth))
            self.budget = 0.5

        def forward(self, x):
            gates = []
            for block in self.blocks:
                x, g = block(x)
                gates.append(g)
            usage = paddle.concat(gates).mean()
            return x, usage, (usage - self.budget).square()

    net = convert(SkipNet())
    rng = np.random.RandomState(7)
    for n in (3, 5):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        y, usage, cost = net(x)
        (y.square().mean() + cost).backward()
        yield y, usage, cost, [block.gate.fc.weight.grad for block in net.blocks]
        net.clear_gradients()
    net.eval()
    for scale in (1.0, -3.0, 10.0):
        yield net(x * scale)
        yield [block.executed.clone() for block in net.blocks]


@program
def iterative_refinement_with_confidence(convert):
    """An anytime predictor refines until its estimate stops moving or a budget is spent."""

    class Refiner(nn.Layer):
        def __init__(self, dim=3):
            super().__init__()
            self.update = nn.Linear(2 * dim, dim)
            self.confidence = nn.Linear(dim, 1)

        def forward(self, x, estimate):
            delta = 0.5 * self.update(paddle.concat([x, estimate], axis=-1)).tanh()
            estimate = 0.7 * estimate + delta
            return estimate, F.sigmoid(self.confidence(estimate)).mean()

    @dataclass
    class Result:
        estimate: paddle.Tensor
        steps: int
        reason: str
        trace: list

    class Predictor:
        def __init__(self, refiner):
            self.refiner = refiner
            self.calls = 0
            self.total_steps = 0

        @convert
        def predict(self, x, budget=8, tol=1e-2, enough=None, start=None):
            self.calls += 1
            estimate = start if start is not None else paddle.zeros_like(x)
            trace = []
            reason = "budget"
            steps = 0
            while steps < budget:
                old = estimate
                estimate, confidence = self.refiner(x, estimate)
                steps += 1
                trace.append(confidence)
                if (estimate - old).abs().max() < tol:
                    reason = "settled"
                    break
                if enough is not None and confidence > enough:
                    reason = "confident"
                    break
            self.total_steps += steps
            return Result(estimate=estimate, steps=steps, reason=reason, trace=trace)

    predictor = Predictor(Refiner())
    rng = np.random.RandomState(9)
    for rows, options in ((2, {}), (2, {"tol": 0.3}), (4, {"enough": 0.4}), (1, {"budget": 1})):
        x = paddle.to_tensor(rng.randn(rows, 3).astype("float32"))
        result = predictor.predict(x, **options)
        yield result
        result.estimate.sum().backward()
        yield predictor.refiner.update.weight.grad
        predictor.refiner.clear_gradients()
    yield predictor.predict(x, start=result.estimate.detach(), budget=3)
    yield predictor.calls, predictor.total_steps
