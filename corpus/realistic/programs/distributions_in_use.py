"""paddle.distribution as it is used: flows, Bayesian layers, mixtures, latents, policies."""

import functools
import math
import operator
from collections import deque

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.distribution import (
    Beta,
    Categorical,
    Dirichlet,
    Distribution,
    Independent,
    Normal,
    Uniform,
    kl_divergence,
)

from corpus.realistic import attempt, program


@program
def bayes_by_backprop(convert):
    """Linear layers with distributions over weights; the divergence of all of them is added up."""

    class BayesianLinear(nn.Layer):
        def __init__(self, n_in, n_out, prior=None):
            super().__init__()
            self.mu = self.create_parameter([n_in, n_out])
            self.rho = self.create_parameter(
                [n_in, n_out], default_initializer=nn.initializer.Constant(-3.0)
            )
            self.prior = prior or Normal(paddle.zeros([1]), paddle.ones([1]))
            self.kl = None

        @property
        def posterior(self):
            return Normal(self.mu, F.softplus(self.rho))

        def forward(self, x, noise=None):
            q = self.posterior
            if noise is None or not self.training:
                w = q.mean
            else:
                w = q.loc + q.scale * noise
            self.kl = kl_divergence(q, self.prior).sum()
            return x @ w

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.layers = nn.LayerList([BayesianLinear(3, 4), BayesianLinear(4, 1)])

        def forward(self, x, noises=(None, None)):
            *hidden, last = zip(self.layers, noises)
            for layer, noise in hidden:
                x = F.relu(layer(x, noise=noise))
            layer, noise = last
            return layer(x, noise)

        def complexity(self):
            return functools.reduce(operator.add, (layer.kl for layer in self.layers))

    paddle.seed(3)
    net = Net()
    opt = paddle.optimizer.Adam(0.02, parameters=net.parameters(), grad_clip=nn.ClipGradByNorm(1.0))

    @convert
    def elbo(x, y, samples, beta=0.1):
        nll = 0.0
        for noises in samples:
            out = net(x, noises)
            nll = nll - Normal(out, paddle.full_like(out, 0.5)).log_prob(y).sum()
        loss = nll / len(samples) + beta * net.complexity()
        if paddle.isnan(loss):
            raise ValueError("the loss is not a number")
        return loss

    rng = np.random.RandomState(1)
    for count, n in ((1, 4), (2, 4), (2, 6)):
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        y = x.sum(axis=1, keepdim=True)
        noises = [(paddle.randn([3, 4]), paddle.randn([4, 1])) for _ in range(count)]
        loss = elbo(x, y, noises)
        loss.backward()
        yield loss, net.layers[0].rho.grad
        opt.step()
        opt.clear_grad()
    yield attempt(lambda: elbo(x * float("nan"), y, noises))
    net.eval()
    yield net(x)


@program
def mixture_density_network(convert):
    """A network whose output is a mixture of normals, trained by its likelihood, then drawn from."""

    class MDN(nn.Layer):
        def __init__(self, components=3, floor=1e-3):
            super().__init__()
            self.k, self.floor = components, floor
            self.body = nn.Linear(1, 8)
            self.heads = nn.LayerDict(
                {name: nn.Linear(8, components) for name in ("logits", "loc", "scale")}
            )

        @convert
        def forward(self, x):
            h = paddle.tanh(self.body(x))
            logits, loc, scale = (head(h) for head in self.heads.values())
            return logits, loc, F.softplus(scale) + self.floor

        @convert
        def log_prob(self, x, y):
            logits, loc, scale = self.forward(x)
            inner = Normal(loc, scale).log_prob(y.expand_as(loc))
            return paddle.logsumexp(F.log_softmax(logits, axis=-1) + inner, axis=-1)

        @convert
        @paddle.no_grad()
        def sample(self, x, u, z, sharpen=None):
            logits, loc, scale = self(x)
            if sharpen is not None:
                logits = logits * sharpen
            probs = Categorical(logits).probs(paddle.arange(self.k))
            pick = (probs.cumsum(-1) < u.unsqueeze(-1)).sum(-1).clip(max=self.k - 1)
            chosen = paddle.index_sample(loc, pick.unsqueeze(1)).squeeze(1)
            spread = paddle.index_sample(scale, pick.unsqueeze(1)).squeeze(1)
            return chosen + spread * z

    paddle.seed(7)
    model = MDN()
    opt = paddle.optimizer.RMSProp(0.02, parameters=model.parameters())
    recent = deque(maxlen=2)
    for step in range(4):
        x = paddle.uniform([5 - step // 2, 1], min=-1.0, max=1.0)
        y = paddle.where(paddle.rand(x.shape) > 0.5, x, -x)
        loss = -model.log_prob(x, y).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        recent.append(loss.item())
        yield loss, sum(recent) / len(recent)
    for sharpen in (None, 5.0):
        yield model.sample(x, paddle.rand([x.shape[0]]), paddle.randn([x.shape[0]]), sharpen)


@program
def gumbel_softmax_latents(convert):
    """Categorical latents with a straight-through estimator, free bits and a colder temperature."""

    class CategoricalVAE(nn.Layer):
        def __init__(self, dim=6, latents=2, classes=3):
            super().__init__()
            self.latents, self.classes = latents, classes
            self.encoder = nn.Linear(dim, latents * classes)
            self.decoder = nn.Linear(latents * classes, dim)
            self.register_buffer("temperature", paddle.to_tensor(1.0))

        def draw(self, logits, uniforms, hard):
            gumbel = -paddle.log(-paddle.log(uniforms + 1e-10) + 1e-10)
            y = F.softmax((logits + gumbel) / self.temperature, axis=-1)
            if not hard:
                return y
            onehot = F.one_hot(y.argmax(axis=-1), self.classes)
            return onehot + y - y.detach()

        @convert
        def forward(self, x, uniforms, hard=False, free_bits=0.05):
            logits = self.encoder(x).reshape([-1, self.latents, self.classes])
            z = self.draw(logits, uniforms, hard)
            recon = self.decoder(z.flatten(start_axis=1))
            q = F.softmax(logits, axis=-1)
            kl = (q * (F.log_softmax(logits, axis=-1) + math.log(self.classes))).sum(-1).mean(0)
            kl = paddle.where(kl > free_bits, kl, paddle.full_like(kl, free_bits)).sum()
            rec = F.binary_cross_entropy_with_logits(recon, x, reduction="none").sum(-1).mean()
            return rec + kl, {"rec": rec, "kl": kl}

        @convert
        def anneal(self, rate=0.5, lowest=0.2):
            colder = self.temperature * math.exp(-rate)
            self.temperature.set_value(paddle.maximum(colder, paddle.full_like(colder, lowest)))
            return self.temperature <= lowest

    paddle.seed(2)
    vae = CategoricalVAE()
    opt = paddle.optimizer.AdamW(0.05, parameters=vae.parameters(), weight_decay=0.01)
    for step in range(5):
        x = (paddle.rand([3 + step % 2, 6]) > 0.5).astype("float32")
        loss, parts = vae(x, paddle.rand([x.shape[0], 2, 3]), hard=step > 2)
        loss.backward()
        opt.step()
        opt.clear_grad()
        yield loss, parts, vae.anneal(), vae.temperature
    yield vae.encoder.weight


@program
def coupling_flow_with_base_distributions(convert):
    """A flow over an Independent base; densities, inverses, and a pass of rejection."""

    class AffineCoupling(nn.Layer):
        def __init__(self, dim, flip):
            super().__init__()
            self.flip = flip
            self.net = nn.Sequential(nn.Linear(dim // 2, 6), nn.Tanh(), nn.Linear(6, dim))

        def forward(self, x, inverse=False):
            a, b = paddle.chunk(x, 2, axis=-1)
            if self.flip:
                a, b = b, a
            s, t = self.net(a).chunk(2, axis=-1)
            s = paddle.tanh(s)
            b = (b - t) * paddle.exp(-s) if inverse else b * paddle.exp(s) + t
            logdet = -s.sum(-1) if inverse else s.sum(-1)
            out = [b, a] if self.flip else [a, b]
            return paddle.concat(out, axis=-1), logdet

    class Flow(Distribution):
        def __init__(self, base, layers):
            super().__init__(base.batch_shape, base.event_shape)
            self.base, self.layers = base, layers

        def log_prob(self, value):
            total = paddle.zeros(value.shape[:-1])
            for layer in reversed(self.layers):
                value, logdet = layer(value, inverse=True)
                total = total + logdet
            return self.base.log_prob(value) + total

        def transform(self, z):
            for layer in self.layers:
                z, _ = layer(z)
            return z

    paddle.seed(14)
    layers = [AffineCoupling(4, flip=k % 2 == 1) for k in range(3)]
    bases = {
        "normal": Independent(Normal(paddle.zeros([4]), paddle.ones([4])), 1),
        "wide": Independent(Normal(paddle.zeros([4]), paddle.full([4], 2.0)), 1),
    }

    @convert
    def likelihood(x, kind="normal"):
        flow = Flow(bases[kind], layers)
        return -flow.log_prob(x).mean()

    @convert
    def rejected(kind, proposals, radius):
        """The first proposals that land inside of a ball, at most two."""
        flow = Flow(bases[kind], layers)
        kept = []
        for z in proposals:
            x = flow.transform(z)
            if x.norm() > radius:
                continue
            kept.append(x)
            if len(kept) == 2:
                break
        return kept

    opt = paddle.optimizer.Adam(
        0.01, parameters=[p for layer in layers for p in layer.parameters()]
    )
    for kind in ("normal", "wide", "normal"):
        x = paddle.randn([5, 4])
        loss = likelihood(x, kind=kind)
        loss.backward()
        yield loss, layers[0].net[0].weight.grad
        opt.step()
        opt.clear_grad()
    for radius in (2.5, 0.1, 10.0):
        yield rejected("normal", paddle.randn([4, 4]), radius)


@program
def beta_policy_and_dirichlet_beliefs(convert):
    """A continuous policy in a box, entropies and divergences, and beliefs that are counted."""

    class BetaPolicy(nn.Layer):
        def __init__(self, low, high):
            super().__init__()
            self.fc = nn.Linear(3, 4)
            self.low, self.high = low, high

        def distribution(self, obs):
            alpha, beta = (F.softplus(self.fc(obs)) + 1.0).split(2, axis=-1)
            return Beta(alpha, beta)

        @convert
        def act(self, obs, deterministic=True):
            dist = self.distribution(obs)
            if deterministic:
                unit = dist.mean
            else:
                unit = (dist.alpha - 1) / (dist.alpha + dist.beta - 2 + 1e-6)
            return self.low + (self.high - self.low) * unit, dist.variance

        @convert
        def loss(self, obs, unit, advantage, old=None, coef=0.01):
            dist = self.distribution(obs)
            logp = dist.log_prob(unit).sum(-1)
            loss = -(logp * advantage).mean() - coef * dist.entropy().mean()
            if old is not None:
                kl = kl_divergence(Beta(*old), dist).sum(-1).mean()
                if kl > 0.01:
                    loss = loss + 2.0 * kl
                return loss, kl
            return loss, None

    @convert
    def update_belief(belief, observations, forget=0.9):
        concentration = belief.concentration
        for k in observations:
            concentration = concentration * forget
            concentration[k] += 1.0
        new = Dirichlet(concentration)
        surprise = kl_divergence(new, belief)
        if surprise > 0.5:
            return new, surprise, True
        return new, surprise, False

    paddle.seed(5)
    policy = BetaPolicy(low=-2.0, high=2.0)
    opt = paddle.optimizer.SGD(0.1, parameters=policy.parameters())
    old = None
    for step in range(3):
        obs = paddle.randn([4 - step % 2, 3])
        yield policy.act(obs, deterministic=step != 1)
        unit = Uniform(0.1, 0.9).sample([obs.shape[0], 2])
        loss, kl = policy.loss(obs, unit, paddle.randn([obs.shape[0]]), old)
        loss.backward()
        yield loss, kl, policy.fc.weight.grad
        opt.step()
        opt.clear_grad()
        dist = policy.distribution(paddle.ones([1, 3]))
        old = (dist.alpha.detach(), dist.beta.detach())
    belief = Dirichlet(paddle.to_tensor([1.0, 1.0, 1.0]))
    for seen in ([0, 0, 0, 0], [1], [2, 1, 2]):
        belief, surprise, alarm = update_belief(belief, seen)
        yield belief.concentration, belief.mean, surprise, alarm
