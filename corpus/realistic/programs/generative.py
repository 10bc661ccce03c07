"""GAN, VAE, diffusion and flow steps and samplers."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def wgan_with_gradient_penalty(convert):
    """Critic steps with a gradient penalty, a generator step every few critic steps."""

    class Generator(nn.Layer):
        def __init__(self, latent=2, out=3):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(latent, 8), nn.ReLU(), nn.Linear(8, out))

        def forward(self, z):
            return self.net(z)

    class Critic(nn.Layer):
        def __init__(self, inputs=3):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(inputs, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.fc2(F.softplus(self.fc1(x)))

    def gradient_penalty(critic, real, fake, eps):
        mixed = eps * real + (1 - eps) * fake
        mixed.stop_gradient = False
        (grad,) = paddle.grad(outputs=critic(mixed).sum(), inputs=mixed, create_graph=True)
        norm = (grad.square().sum(axis=1) + 1e-12).sqrt()
        return (norm - 1.0).square().mean()

    class WGAN:
        def __init__(self, n_critic=2, weight=10.0):
            self.g, self.c = Generator(), Critic()
            self.opt_g = paddle.optimizer.Adam(0.01, beta1=0.5, parameters=self.g.parameters())
            self.opt_c = paddle.optimizer.Adam(0.01, beta1=0.5, parameters=self.c.parameters())
            self.n_critic, self.weight, self.steps = n_critic, weight, 0

        @convert
        def critic_step(self, real, z, eps):
            fake = self.g(z).detach()
            wasserstein = self.c(real).mean() - self.c(fake).mean()
            penalty = gradient_penalty(self.c, real, fake, eps)
            loss = -wasserstein + self.weight * penalty
            loss.backward()
            self.opt_c.step()
            self.opt_c.clear_grad()
            return {"wasserstein": wasserstein.detach(), "penalty": penalty.detach()}

        @convert
        def generator_step(self, z):
            loss = -self.c(self.g(z)).mean()
            loss.backward()
            self.opt_g.step()
            self.opt_g.clear_grad()
            self.opt_c.clear_grad()
            return loss.detach()

        def train_step(self, real, rng):
            n = real.shape[0]
            z = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
            eps = paddle.to_tensor(rng.rand(n, 1).astype("float32"))
            logs = self.critic_step(real, z, eps)
            self.steps += 1
            if self.steps % self.n_critic == 0:
                logs["generator"] = self.generator_step(z)
            return logs

    gan = WGAN()
    rng = np.random.RandomState(0)
    for n in (4, 4, 6, 3):
        yield gan.train_step(paddle.to_tensor(rng.randn(n, 3).astype("float32") + 1), rng)
    yield gan.g.net[0].weight, gan.c.fc2.weight


@program
def vae_with_kl_annealing(convert):
    """A VAE: train with noise, evaluate with the mean; KL is annealed and has free bits."""

    class Outputs(NamedTuple):
        recon: paddle.Tensor
        mu: paddle.Tensor
        logvar: paddle.Tensor

    class VAE(nn.Layer):
        def __init__(self, inputs=6, latent=2, free_bits=None):
            super().__init__()
            self.encoder = nn.Linear(inputs, 8)
            self.to_mu, self.to_logvar = nn.Linear(8, latent), nn.Linear(8, latent)
            self.decoder = nn.Sequential(nn.Linear(latent, 8), nn.Tanh(), nn.Linear(8, inputs))
            self.free_bits = free_bits
            self.step = 0

        @property
        def beta(self):
            return min(1.0, self.step / 4)

        def reparameterize(self, mu, logvar):
            if not self.training:
                return mu
            return mu + paddle.exp(0.5 * logvar) * paddle.randn(mu.shape)

        def forward(self, x):
            h = F.relu(self.encoder(x))
            mu, logvar = self.to_mu(h), self.to_logvar(h)
            return Outputs(self.decoder(self.reparameterize(mu, logvar)), mu, logvar)

        def loss(self, x, out, reduction="mean"):
            recon = F.binary_cross_entropy_with_logits(out.recon, x, reduction="none").sum(axis=1)
            kl = -0.5 * (1 + out.logvar - out.mu.square() - out.logvar.exp())
            if self.free_bits is not None:
                kl = paddle.clip(kl, min=self.free_bits)
            kl = kl.sum(axis=1)
            total = recon + self.beta * kl
            if reduction == "mean":
                return total.mean(), recon.mean(), kl.mean()
            return total, recon, kl

    paddle.seed(2)
    rng = np.random.RandomState(2)
    for free_bits in (None, 0.1):
        model = VAE(free_bits=free_bits)
        optimizer = paddle.optimizer.AdamW(0.02, parameters=model.parameters(), weight_decay=0.01)

        @convert
        def train_step(x, model=model, optimizer=optimizer):
            model.train()
            total, recon, kl = model.loss(x, model(x))
            total.backward()
            optimizer.step()
            optimizer.clear_grad()
            model.step += 1
            return total, recon, kl

        @convert
        def evaluate(x, model=model):
            model.eval()
            with paddle.no_grad():
                out = model(x)
                return model.loss(x, out, reduction="none"), out

        for n in (4, 4, 5):
            x = paddle.to_tensor((rng.rand(n, 6) > 0.5).astype("float32"))
            yield train_step(x), model.beta
            yield evaluate(x[:2])
        yield model.to_mu.weight


class Denoiser(nn.Layer):
    """Predicts the noise from a point and a sinusoidal time embedding."""

    def __init__(self, dim=2, width=8):
        super().__init__()
        self.time = nn.Linear(4, width)
        self.inp = nn.Linear(dim, width)
        self.out = nn.Linear(width, dim)

    def embed(self, t):
        freqs = paddle.to_tensor([1.0, 0.1])
        angles = t.astype("float32").unsqueeze(-1) * freqs
        return paddle.concat(x=[paddle.sin(angles), paddle.cos(angles)], axis=-1)

    def forward(self, x, t):
        return self.out(F.silu(self.inp(x) + self.time(self.embed(t))))


@program
def ddpm_training_and_ancestral_sampling(convert):
    """DDPM: noise-prediction loss with a cosine schedule; the ancestral sampler with snapshots."""

    class Schedule:
        def __init__(self, steps, kind="linear"):
            self.steps = steps
            self.betas = self.make(kind)
            self.alphas = 1.0 - self.betas
            self.alpha_bars = paddle.cumprod(self.alphas, dim=0)

        def make(self, kind):
            if kind == "linear":
                return paddle.linspace(1e-3, 0.2, self.steps)
            if kind == "cosine":
                t = paddle.linspace(0, 1, self.steps + 1)
                f = paddle.cos((t + 0.008) / 1.008 * math.pi / 2).square()
                return paddle.clip(1 - f[1:] / f[:-1], max=0.999)
            raise ValueError(f"unknown schedule {kind!r}")

        def add_noise(self, x, noise, t):
            a = self.alpha_bars[t].unsqueeze(-1)
            return a.sqrt() * x + (1 - a).sqrt() * noise

    for kind in ("linear", "cosine"):
        paddle.seed(3)
        schedule = Schedule(6, kind=kind)
        model = Denoiser()
        optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())

        @convert
        def train_step(x, schedule=schedule, model=model, optimizer=optimizer):
            t = paddle.randint(0, schedule.steps, [x.shape[0]])
            noise = paddle.randn(x.shape)
            predicted = model(schedule.add_noise(x, noise, t), t)
            loss = F.mse_loss(predicted, noise)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        @convert
        @paddle.no_grad()
        def sample(n, every=None, clip=None, schedule=schedule, model=model):
            x = paddle.randn([n, 2])
            snapshots = []
            for t in range(schedule.steps - 1, -1, -1):
                eps = model(x, paddle.full([n], t, dtype="int64"))
                beta, alpha, bar = schedule.betas[t], schedule.alphas[t], schedule.alpha_bars[t]
                mean = (x - beta / (1 - bar).sqrt() * eps) / alpha.sqrt()
                x = mean if t == 0 else mean + beta.sqrt() * paddle.randn(x.shape)
                if clip is not None:
                    x = x.clip(-clip, clip)
                if every and t % every == 0:
                    snapshots.append(x)
            return x, snapshots

        for n in (4, 6, 4):
            yield train_step(paddle.randn([n, 2]) * 0.3 + 1)
        yield sample(3)
        yield sample(2, every=2, clip=2.0)
        yield model.out.weight


@program
def ddim_sampler_with_early_stop(convert):
    """DDIM over a subsequence of steps with eta; stops when the prediction of x0 settles."""

    class DDIM:
        def __init__(self, model, steps=20, beta_end=0.1):
            betas = paddle.linspace(1e-3, beta_end, steps)
            self.bars = paddle.cumprod(1 - betas, dim=0)
            self.model = model
            self.steps = steps

        def timesteps(self, count):
            stride = self.steps // count
            return list(range(0, self.steps, stride))[:count][::-1]

        def predict_x0(self, x, eps, bar):
            return (x - (1 - bar).sqrt() * eps) / bar.sqrt()

        @convert
        def sample(self, x, count=5, eta=0.0, tol=None, return_history=False):
            times = self.timesteps(count)
            previous = None
            history = dict(x0=[], change=[])
            taken = 0
            for i, t in enumerate(times):
                taken += 1
                bar = self.bars[t]
                before = self.bars[times[i + 1]] if i + 1 < len(times) else paddle.ones([])
                eps = self.model(x, paddle.full(shape=[x.shape[0]], fill_value=t))
                x0 = self.predict_x0(x, eps, bar)
                sigma = eta * ((1 - before) / (1 - bar) * (1 - bar / before)).sqrt()
                direction = (1 - before - sigma**2).clip(min=0.0).sqrt() * eps
                x = before.sqrt() * x0 + direction
                if eta > 0:
                    x = x + sigma * paddle.randn(x.shape)
                if previous is not None:
                    change = (x0 - previous).abs().max()
                    history["change"].append(change)
                    if tol is not None and change < tol:
                        break
                previous = x0
                history["x0"].append(x0)
            if return_history:
                return x, taken, history
            return x, taken

    paddle.seed(4)
    sampler = DDIM(Denoiser())
    start = paddle.randn([3, 2])
    with paddle.no_grad():
        yield sampler.sample(start)
        yield sampler.sample(start, count=4, return_history=True)
        yield sampler.sample(start, count=10, tol=0.08, return_history=True)
        yield sampler.sample(start[:2], count=10, tol=10.0)
        yield sampler.sample(start, eta=0.5)
    yield sampler.sample(start, count=2, eta=1.0, tol=1e-9)


@program
def euler_and_heun_samplers(convert):
    """Karras sigmas with Euler, Heun and ancestral steps over one denoiser interface."""

    def karras_sigmas(n, low=0.05, high=3.0, rho=7.0):
        ramp = paddle.linspace(0, 1, n)
        a, b = high ** (1 / rho), low ** (1 / rho)
        return paddle.concat([(a + ramp * (b - a)) ** rho, paddle.zeros([1])])

    class Target:
        """The exact denoiser of a mixture of two Gaussians."""

        def __init__(self, centers, spread=0.1):
            self.centers = paddle.to_tensor(centers)
            self.spread = spread

        def __call__(self, x, sigma):
            var = self.spread**2 + sigma**2
            d2 = (x.unsqueeze(1) - self.centers).square().sum(axis=-1)
            weights = F.softmax(-0.5 * d2 / var, axis=-1)
            mean = paddle.matmul(weights, self.centers)
            return (self.spread**2 * x + sigma**2 * mean) / var

    def derivative(x, sigma, denoised):
        return (x - denoised) / sigma

    def euler_step(denoise, x, sigma, following, **unused):
        return x + (following - sigma) * derivative(x, sigma, denoise(x, sigma))

    def heun_step(denoise, x, sigma, following, **unused):
        d = derivative(x, sigma, denoise(x, sigma))
        guess = x + (following - sigma) * d
        if following == 0:
            return guess
        d2 = derivative(guess, following, denoise(guess, following))
        return x + (following - sigma) * (d + d2) / 2

    def ancestral_step(denoise, x, sigma, following, noise_scale=1.0):
        up = paddle.minimum(
            following,
            (following**2 * (sigma**2 - following**2) / sigma**2).clip(min=0).sqrt(),
        )
        down = (following**2 - up**2).sqrt()
        x = x + (down - sigma) * derivative(x, sigma, denoise(x, sigma))
        if following > 0:
            x = x + noise_scale * up * paddle.randn(x.shape)
        return x

    STEPS = {"euler": euler_step, "heun": heun_step, "ancestral": ancestral_step}

    @convert
    def sample(denoise, noise, method="euler", steps=5, callback=None, **options):
        sigmas = karras_sigmas(steps)
        x = noise * sigmas[0]
        advance = STEPS[method]
        for i in range(steps):
            x = advance(denoise, x, sigmas[i], sigmas[i + 1], **options)
            if callback is not None:
                callback(i, x)
        return x

    denoise = Target([[1.0, 1.0], [-1.0, 0.5]])
    paddle.seed(6)
    for rows in (2, 4):
        noise = paddle.randn([rows, 2])
        for method in STEPS:
            yield method, sample(denoise, noise, method=method, steps=4)
    spreads = []
    yield sample(denoise, noise, "heun", steps=3, callback=lambda i, x: spreads.append(x.std()))
    yield spreads
    yield sample(denoise, noise, "ancestral", noise_scale=0.0)


@program
def normalizing_flow_of_couplings(convert):
    """RealNVP couplings with forward, inverse, log-determinants and data-dependent actnorm."""

    class ActNorm(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.bias = self.create_parameter([dim], is_bias=True)
            self.log_scale = self.create_parameter([dim], is_bias=True)
            self.initialized = False

        def forward(self, x):
            if not self.initialized and self.training:
                with paddle.no_grad():
                    self.bias.set_value(-x.mean(axis=0))
                    self.log_scale.set_value(-paddle.log(x.std(axis=0) + 1e-6))
                self.initialized = True
            return (x + self.bias) * self.log_scale.exp(), self.log_scale.sum()

        def inverse(self, z):
            return z * (-self.log_scale).exp() - self.bias

    class Coupling(nn.Layer):
        def __init__(self, dim, flip):
            super().__init__()
            self.half, self.flip = dim // 2, flip
            self.net = nn.Sequential(nn.Linear(dim // 2, 8), nn.Tanh(), nn.Linear(8, dim))

        def _split(self, x):
            a, b = x[:, : self.half], x[:, self.half :]
            return (b, a) if self.flip else (a, b)

        def _join(self, a, b):
            return paddle.concat([b, a] if self.flip else [a, b], axis=1)

        def forward(self, x):
            a, b = self._split(x)
            log_s, t = self.net(a).chunk(2, axis=1)
            log_s = log_s.tanh()
            return self._join(a, b * log_s.exp() + t), log_s.sum(axis=1)

        def inverse(self, z):
            a, b = self._split(z)
            log_s, t = self.net(a).chunk(2, axis=1)
            return self._join(a, (b - t) * (-log_s.tanh()).exp())

    class Flow(nn.Layer):
        def __init__(self, dim=4, depth=3):
            super().__init__()
            blocks = []
            for i in range(depth):
                blocks += [ActNorm(dim), Coupling(dim, flip=i % 2 == 1)]
            self.blocks = nn.LayerList(blocks)

        def forward(self, x):
            log_det = paddle.zeros([x.shape[0]])
            for block in self.blocks:
                x, part = block(x)
                log_det = log_det + part
            return x, log_det

        def log_prob(self, x):
            z, log_det = self(x)
            return (-0.5 * z.square() - 0.5 * math.log(2 * math.pi)).sum(axis=1) + log_det

        def inverse(self, z):
            for block in reversed(self.blocks):
                z = block.inverse(z)
            return z

    flow = Flow()
    flow.log_prob = convert(flow.log_prob)
    flow.inverse = convert(flow.inverse)
    optimizer = paddle.optimizer.Adam(0.01, parameters=flow.parameters())
    rng = np.random.RandomState(8)
    for n in (8, 8, 5):
        x = paddle.to_tensor(rng.randn(n, 4).astype("float32") * [1, 2, 3, 4] + 1).astype("float32")
        loss = -flow.log_prob(x).mean()
        loss.backward()
        yield loss, flow.blocks[0].bias.grad, flow.blocks[1].net[0].weight.grad
        optimizer.step()
        optimizer.clear_grad()
    flow.eval()
    z, _ = flow(x)
    yield flow.inverse(z), x
    yield [block.initialized for block in flow.blocks if isinstance(block, ActNorm)]


@program
def vector_quantised_autoencoder(convert):
    """VQ: nearest code, straight-through gradient, codebook by EMA, dead codes restarted."""

    @dataclass
    class VQOutput:
        quantised: paddle.Tensor
        codes: paddle.Tensor
        commitment: paddle.Tensor
        perplexity: Optional[paddle.Tensor] = None

    class Quantiser(nn.Layer):
        def __init__(self, codes=5, dim=2, decay=0.8, threshold=0.2):
            super().__init__()
            rng = np.random.RandomState(1)
            book = paddle.to_tensor(rng.randn(codes, dim).astype("float32"))
            self.register_buffer("codebook", book)
            self.register_buffer("usage", paddle.ones([codes]))
            self.register_buffer("sums", book.clone())
            self.codes, self.decay, self.threshold = codes, decay, threshold
            self.restarts = 0

        def update(self, flat, onehot):
            self.usage.set_value(self.decay * self.usage + (1 - self.decay) * onehot.sum(axis=0))
            sums = paddle.matmul(onehot, flat, transpose_x=True)
            self.sums.set_value(self.decay * self.sums + (1 - self.decay) * sums)
            self.codebook.set_value(self.sums / (self.usage.unsqueeze(-1) + 1e-5))
            dead = self.usage < self.threshold
            if dead.any():
                fresh = flat[: self.codes].mean(axis=0, keepdim=True) + 0.1
                fresh = paddle.where(dead.unsqueeze(-1), fresh, self.codebook)
                self.codebook.set_value(fresh)
                self.usage.set_value(paddle.where(dead, paddle.ones_like(self.usage), self.usage))
                self.restarts += 1

        def forward(self, x):
            flat = x.reshape([-1, x.shape[-1]])
            d = (flat.unsqueeze(1) - self.codebook.unsqueeze(0)).square().sum(axis=-1)
            codes = d.argmin(axis=-1)
            onehot = F.one_hot(codes, self.codes)
            quantised = paddle.matmul(onehot, self.codebook).reshape(x.shape)
            if self.training:
                self.update(flat.detach(), onehot)
            commitment = F.mse_loss(x, quantised.detach())
            p = onehot.mean(axis=0)
            return VQOutput(
                quantised=x + (quantised - x).detach(),
                codes=codes.reshape(x.shape[:-1]),
                commitment=commitment,
                perplexity=paddle.exp(-(p * paddle.log(p + 1e-10)).sum()),
            )

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = nn.Linear(4, 2), nn.Linear(2, 4)
            self.vq = Quantiser()

        def forward(self, x, beta=0.25):
            out = self.vq(self.enc(x))
            return F.mse_loss(self.dec(out.quantised), x) + beta * out.commitment, out

    model = Model()
    convert(model)
    rng = np.random.RandomState(3)
    for shape in ((3, 2, 4), (3, 2, 4), (4, 4), (5, 4)):
        x = paddle.to_tensor(rng.randn(*shape).astype("float32"))
        loss, out = model(x)
        loss.backward()
        yield loss, out, model.enc.weight.grad
        model.clear_gradients()
        yield model.vq.codebook.clone(), model.vq.usage.clone(), model.vq.restarts
    model.eval()
    yield model(x, beta=1.0)
