"""Learning to learn and higher derivatives: inner loops, Hessians, implicit gradients."""

import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def maml_on_sinusoids(convert):
    """MAML: inner gradient steps on functional weights, the outer gradient through them."""
    Task = namedtuple("Task", "x_support y_support x_query y_query")

    class Regressor(nn.Layer):
        def __init__(self, hidden=6):
            super().__init__()
            self.w1 = self.create_parameter([1, hidden])
            self.b1 = self.create_parameter([hidden], is_bias=True)
            self.w2 = self.create_parameter([hidden, 1])
            self.b2 = self.create_parameter([1], is_bias=True)

        def weights(self):
            return OrderedDict(w1=self.w1, b1=self.b1, w2=self.w2, b2=self.b2)

        @staticmethod
        def apply(weights, x):
            h = F.tanh(paddle.matmul(x, weights["w1"]) + weights["b1"])
            return paddle.matmul(h, weights["w2"]) + weights["b2"]

    class MAML:
        def __init__(self, model, inner_lr=0.1, inner_steps=2, first_order=False):
            self.model = model
            self.inner_lr = inner_lr
            self.inner_steps = inner_steps
            self.first_order = first_order

        def adapt(self, task):
            weights = self.model.weights()
            losses = []
            for _ in range(self.inner_steps):
                loss = F.mse_loss(self.model.apply(weights, task.x_support), task.y_support)
                grads = paddle.grad(loss, list(weights.values()), create_graph=not self.first_order)
                weights = OrderedDict(
                    (name, value - self.inner_lr * grad)
                    for (name, value), grad in zip(weights.items(), grads)
                )
                losses.append(loss.detach())
            return weights, losses

        @convert
        def outer_loss(self, tasks):
            total = 0.0
            trail = []
            for task in tasks:
                weights, losses = self.adapt(task)
                total = total + F.mse_loss(self.model.apply(weights, task.x_query), task.y_query)
                trail.append(losses)
            return total / len(tasks), trail

    def make_task(rng, shots):
        amplitude, phase = rng.uniform(0.5, 2), rng.uniform(0, math.pi)
        x = rng.uniform(-2, 2, (2 * shots, 1)).astype("float32")
        y = (amplitude * np.sin(x + phase)).astype("float32")
        parts = (x[:shots], y[:shots], x[shots:], y[shots:])
        return Task(*(paddle.to_tensor(part) for part in parts))

    rng = np.random.RandomState(0)
    model = Regressor()
    optimizer = paddle.optimizer.Adam(0.02, parameters=model.parameters())
    learner = MAML(model)
    for shots, steps, first_order in ((4, 1, False), (4, 2, False), (3, 2, True), (5, 3, False)):
        learner.inner_steps, learner.first_order = steps, first_order
        loss, trail = learner.outer_loss([make_task(rng, shots) for _ in range(2)])
        loss.backward()
        yield loss, trail, model.w1.grad, model.b2.grad
        optimizer.step()
        optimizer.clear_grad()


@program
def hessian_vector_products_and_power_iteration(convert):
    """The largest curvature of a loss by power iteration on Hessian-vector products."""

    class Curvature:
        def __init__(self, model, loss_fn, max_iter=20, tol=1e-2):
            self.model, self.loss_fn = model, loss_fn
            self.max_iter, self.tol = max_iter, tol

        @property
        def params(self):
            return [p for p in self.model.parameters() if not p.stop_gradient]

        def hvp(self, grads, vectors):
            dot = sum((g * v).sum() for g, v in zip(grads, vectors))
            return paddle.grad(dot, self.params, retain_graph=True)

        @staticmethod
        def normalise(vectors):
            norm = paddle.sqrt(sum(v.square().sum() for v in vectors))
            return [v / (norm + 1e-12) for v in vectors]

        @convert
        def top_eigenvalue(self, x, y):
            loss = self.loss_fn(self.model(x), y)
            grads = paddle.grad(loss, self.params, create_graph=True)
            vectors = self.normalise([paddle.ones_like(p) for p in self.params])
            value = None
            trace = []
            for i in range(self.max_iter):
                products = self.hvp(grads, vectors)
                new = sum((v * p).sum() for v, p in zip(vectors, products))
                vectors = self.normalise(products)
                trace.append(new)
                if value is not None and abs(new - value) < self.tol * abs(value):
                    break
                value = new
            return new, len(trace), vectors[0]

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    meter = Curvature(model, F.mse_loss)
    rng = np.random.RandomState(4)
    for n in (5, 8):
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        y = paddle.to_tensor(rng.randn(n, 1).astype("float32"))
        yield meter.top_eigenvalue(x, y)
        meter.max_iter = 5
        yield meter.top_eigenvalue(x, y * 2)
    meter.tol = 10.0
    yield meter.top_eigenvalue(x, y)


@program
def implicit_layer_by_fixed_point(convert):
    """A deep-equilibrium layer: forward by iteration, backward by one implicit step."""

    class FixedPoint(nn.Layer):
        def __init__(self, dim, max_iter=30, tol=1e-4):
            super().__init__()
            self.inject = nn.Linear(dim, dim)
            self.recur = nn.Linear(dim, dim, bias_attr=False)
            self.recur.weight.set_value(self.recur.weight * 0.3)
            self.max_iter, self.tol = max_iter, tol
            self.last_iterations = 0

        def cell(self, z, x):
            return paddle.tanh(self.recur(z) + self.inject(x))

        def solve(self, x):
            z = paddle.zeros_like(x)
            residuals = []
            for i in range(self.max_iter):
                after = self.cell(z, x)
                residual = (after - z).norm() / (after.norm() + 1e-8)
                residuals.append(residual)
                z = after
                if residual < self.tol:
                    break
            return z, residuals

        def forward(self, x):
            with paddle.no_grad():
                z, residuals = self.solve(x)
            self.last_iterations = len(residuals)
            return self.cell(z.detach(), x), residuals[-1]

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.deq = FixedPoint(4)
            self.head = nn.Linear(4, 2)

        def forward(self, x, labels=None):
            z, residual = self.deq(x)
            logits = self.head(z)
            if labels is None:
                return logits, residual
            return F.cross_entropy(logits, labels), residual

    net = convert(Net())
    rng = np.random.RandomState(6)
    for n in (3, 5):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32"))
        labels = paddle.to_tensor(rng.randint(0, 2, n))
        loss, residual = net(x, labels=labels)
        loss.backward()
        yield loss, residual, net.deq.recur.weight.grad, net.deq.last_iterations
        net.clear_gradients()
    net.deq.tol = 0.05
    yield net(x), net.deq.last_iterations
    net.deq.max_iter = 1
    yield net(x), net.deq.last_iterations


@program
def reptile_and_prototypes(convert):
    """Reptile updates beside a prototypical few-shot head sharing the episode code."""

    @dataclass
    class Episode:
        support: paddle.Tensor
        query: paddle.Tensor
        ways: int

        @property
        def shots(self):
            return self.support.shape[0] // self.ways

        def labels(self, which):
            n = getattr(self, which).shape[0] // self.ways
            return paddle.arange(self.ways).repeat_interleave(n)

    def prototypes(features, ways):
        return features.reshape([ways, -1, features.shape[-1]]).mean(axis=1)

    def squared_distances(a, b):
        return (a.unsqueeze(1) - b.unsqueeze(0)).square().sum(axis=-1)

    encoder = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 4))

    @convert
    def episode_loss(episode, temperature=1.0, normalise=False):
        support, query = encoder(episode.support), encoder(episode.query)
        if normalise:
            support, query = F.normalize(support, axis=-1), F.normalize(query, axis=-1)
        centers = prototypes(support, episode.ways)
        logits = -squared_distances(query, centers) / temperature
        labels = episode.labels("query")
        accuracy = (logits.argmax(axis=-1) == labels).astype("float32").mean()
        return F.cross_entropy(logits, labels), accuracy

    @convert
    def reptile_step(episodes, inner_lr=0.1, outer_lr=0.5, steps=2):
        start = [p.clone().detach() for p in encoder.parameters()]
        totals = [paddle.zeros_like(p) for p in start]
        losses = []
        for episode in episodes:
            for p, s in zip(encoder.parameters(), start):
                p.set_value(s)
            for _ in range(steps):
                loss, _ = episode_loss(episode)
                grads = paddle.grad(loss, encoder.parameters())
                for p, g in zip(encoder.parameters(), grads):
                    p.set_value(p - inner_lr * g)
            losses.append(loss.detach())
            totals = [t + (p - s) for t, p, s in zip(totals, encoder.parameters(), start)]
        for p, s, t in zip(encoder.parameters(), start, totals):
            p.set_value(s + outer_lr * t / len(episodes))
        return losses

    def make(rng, ways, shots, queries):
        def draw(k):
            return paddle.to_tensor(
                np.concatenate([rng.randn(k, 3) + 2 * w for w in range(ways)]).astype("float32")
            )

        return Episode(support=draw(shots), query=draw(queries), ways=ways)

    rng = np.random.RandomState(12)
    for ways, shots in ((2, 2), (3, 1)):
        episodes = [make(rng, ways, shots, queries=2) for _ in range(2)]
        yield episode_loss(episodes[0]), episodes[0].shots
        yield episode_loss(episodes[1], temperature=0.5, normalise=True)
        yield reptile_step(episodes), encoder[0].weight.clone()
    yield reptile_step(episodes[:1], steps=1, outer_lr=1.0), encoder[2].bias.clone()


@program
def second_order_regularisers(convert):
    """Input-gradient penalty, Jacobian norm and a Newton step, each through paddle.grad."""

    class SmoothNet(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 5), nn.Linear(5, 2)

        def forward(self, x):
            return self.b(F.softplus(self.a(x)))

    net = SmoothNet()

    def input_gradient_penalty(x, target):
        x = x.detach()
        x.stop_gradient = False
        logits = net(x)
        logp = logits - paddle.log(paddle.exp(logits).sum(axis=-1, keepdim=True))
        loss = -(logp * F.one_hot(target, num_classes=2)).sum() / x.shape[0]
        grad = paddle.grad([loss], [x], create_graph=True, retain_graph=True)[0]
        return loss, grad.square().sum(axis=-1).mean()

    def jacobian_norm(x):
        x = x.detach()
        x.stop_gradient = False
        y = net(x)
        total = 0
        for k in range(y.shape[-1]):
            row = paddle.grad(y[:, k].sum(), x, create_graph=True)[0]
            total = total + row.square().sum()
        return total / x.shape[0]

    @convert
    def objective(x, target, double=0.0, jacobian=0.0):
        loss, penalty = input_gradient_penalty(x, target)
        parts = {"task": loss}
        total = loss
        if double:
            parts["double"] = penalty
            total = total + double * penalty
        if jacobian:
            parts["jacobian"] = jacobian_norm(x)
            total = total + jacobian * parts["jacobian"]
        return total, parts

    rng = np.random.RandomState(14)
    for double, jacobian in ((0.0, 0.0), (0.5, 0.0), (0.1, 0.2)):
        x = paddle.to_tensor(rng.randn(4, 2).astype("float32"))
        target = paddle.to_tensor(rng.randint(0, 2, 4))
        total, parts = objective(x, target, double=double, jacobian=jacobian)
        total.backward()
        yield total, parts, net.a.weight.grad, net.b.weight.grad
        net.clear_gradients()

    @convert
    def newton(f, x, max_iter=8, tol=1e-5):
        steps = 0
        for steps in range(1, max_iter + 1):
            x = x.detach()
            x.stop_gradient = False
            value = f(x)
            (g,) = paddle.grad(value, x, create_graph=True)
            (h,) = paddle.grad(g, x)
            move = g / paddle.clip(h.abs(), min=1e-3)
            x = x - move
            if move.abs() < tol:
                break
        return x.detach(), value.detach(), steps

    yield newton(lambda v: (v - 2).square() + 1, paddle.to_tensor(10.0))
    yield newton(lambda v: paddle.exp(v) - 2 * v, paddle.to_tensor(0.0))
    yield newton(lambda v: v**4 - v, paddle.to_tensor(2.0), max_iter=3)


@program
def learned_optimizer_unrolled(convert):
    """A small network proposes updates; it is trained through the unrolled optimisation."""

    class UpdateRule(nn.Layer):
        def __init__(self, hidden=5):
            super().__init__()
            self.cell = nn.GRUCell(2, hidden)
            self.out = nn.Linear(hidden, 1)

        def preprocess(self, grad, p=5.0):
            large = grad.abs() > math.exp(-p)
            log = paddle.log(grad.abs() + 1e-12) / p
            first = paddle.where(large, log, paddle.full_like(grad, -1.0))
            second = paddle.where(large, grad.sign(), math.exp(p) * grad)
            return paddle.stack([first, second], axis=-1)

        def forward(self, grad, state=None):
            h, state = self.cell(self.preprocess(grad).detach(), state)
            return 0.1 * self.out(h).squeeze(-1), state

    class Quadratic:
        def __init__(self, rng, dim=3):
            self.w = paddle.to_tensor(rng.randn(dim, dim).astype("float32"))
            self.y = paddle.to_tensor(rng.randn(dim).astype("float32"))

        def loss(self, theta):
            return (paddle.matmul(self.w, theta) - self.y).square().sum()

        def grad(self, theta):
            return 2 * paddle.matmul(self.w.T, paddle.matmul(self.w, theta) - self.y)

    rule = UpdateRule()
    meta = paddle.optimizer.Adam(0.01, parameters=rule.parameters())

    @convert
    def unroll(problem, horizon=4, theta=None, give_up=1e4):
        theta = paddle.zeros([3]) if theta is None else theta
        state = None
        total = paddle.zeros([])
        losses = []
        for t in range(horizon):
            loss = problem.loss(theta)
            losses.append(loss.detach())
            if loss > give_up:
                break
            total = total + loss
            update, state = rule(problem.grad(theta).detach(), state)
            theta = theta + update
        return total / horizon, losses, theta

    rng = np.random.RandomState(16)
    theta = None
    for horizon in (3, 3, 5):
        problem = Quadratic(rng)
        meta_loss, losses, theta = unroll(problem, horizon=horizon, theta=theta)
        meta_loss.backward()
        yield meta_loss, losses, rule.out.weight.grad
        meta.step()
        meta.clear_grad()
        theta = theta.detach()
    yield unroll(problem, theta=theta + 1000.0)
