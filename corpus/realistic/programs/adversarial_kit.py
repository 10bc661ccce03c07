"""What people build around GANs: buffers, regularisers, controllers, averages of weights."""

import copy
import itertools
import random
from contextlib import contextmanager

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.nn.initializer import Constant, Normal

from corpus.realistic import program


@contextmanager
def frozen(*layers):
    """No gradients for the parameters of the layers inside."""
    kept = [(p, p.stop_gradient) for layer in layers for p in layer.parameters()]
    for p, _ in kept:
        p.stop_gradient = True
    try:
        yield
    finally:
        for p, flag in kept:
            p.stop_gradient = flag


@program
def cycle_gan_with_an_image_pool(convert):
    """Two generators, two discriminators, a history of fakes, identity and cycle losses."""

    class ImagePool:
        def __init__(self, pool_size):
            self.pool_size = pool_size
            self.num_imgs = 0
            self.images = []

        def query(self, images):
            if self.pool_size == 0:
                return images
            return_images = []
            for image in images:
                image = paddle.unsqueeze(image, 0).detach()
                if self.num_imgs < self.pool_size:
                    self.num_imgs += 1
                    self.images.append(image)
                    return_images.append(image)
                elif random.uniform(0, 1) > 0.5:
                    k = random.randint(0, self.pool_size - 1)
                    return_images.append(self.images[k].clone())
                    self.images[k] = image
                else:
                    return_images.append(image)
            return paddle.concat(return_images, 0)

    def block(dims, last=None):
        layers = []
        for a, b in itertools.pairwise(dims):
            layers += [nn.Linear(a, b, weight_attr=Normal(std=0.3)), nn.LeakyReLU(0.2)]
        return nn.Sequential(*layers[:-1], *([last] if last else []))

    class CycleGAN:
        def __init__(self, dim=4, lambda_a=10.0, lambda_idt=0.5):
            self.nets = {
                "netG_A": block([dim, 6, dim], nn.Tanh()),
                "netG_B": block([dim, 6, dim], nn.Tanh()),
                "netD_A": block([dim, 6, 1]),
                "netD_B": block([dim, 6, 1]),
            }
            self.lambda_a, self.lambda_idt = lambda_a, lambda_idt
            self.pools = {"A": ImagePool(3), "B": ImagePool(3)}
            self.losses = {}

        @convert
        def forward_g(self, real_a, real_b):
            g_a, g_b = self.nets["netG_A"], self.nets["netG_B"]
            fake_b, fake_a = g_a(real_a), g_b(real_b)
            total = paddle.zeros([])
            for name, real, fake, back, disc in (
                ("A", real_a, fake_b, g_b, "netD_A"),
                ("B", real_b, fake_a, g_a, "netD_B"),
            ):
                score = self.nets[disc](fake)
                adv = F.mse_loss(score, paddle.ones_like(score))
                cycle = F.l1_loss(back(fake), real) * self.lambda_a
                self.losses[f"G_{name}"] = adv.detach()
                self.losses[f"cycle_{name}"] = cycle.detach()
                total = total + adv + cycle
            if self.lambda_idt > 0:
                idt = F.l1_loss(g_a(real_b), real_b) + F.l1_loss(g_b(real_a), real_a)
                total = total + idt * self.lambda_a * self.lambda_idt
            return total, fake_a, fake_b

        @convert
        def backward_d(self, name, real, fake):
            net = self.nets[name]
            pred_real, pred_fake = net(real), net(fake.detach())
            loss = 0.5 * (pred_real - 1.0).square().mean() + 0.5 * pred_fake.square().mean()
            loss.backward()
            return loss

    paddle.seed(1)
    gan = CycleGAN()
    opt_g = paddle.optimizer.Adam(
        2e-3,
        beta1=0.5,
        parameters=gan.nets["netG_A"].parameters() + gan.nets["netG_B"].parameters(),
    )
    opt_d = paddle.optimizer.Adam(
        2e-3,
        beta1=0.5,
        parameters=gan.nets["netD_A"].parameters() + gan.nets["netD_B"].parameters(),
    )
    for step in range(4):
        real_a, real_b = paddle.randn([2, 4]), paddle.randn([2, 4]) + 1.0
        with frozen(gan.nets["netD_A"], gan.nets["netD_B"]):
            loss, fake_a, fake_b = gan.forward_g(real_a, real_b)
            loss.backward()
        opt_g.step()
        opt_g.clear_grad()
        d_a = gan.backward_d("netD_A", real_b, gan.pools["A"].query(fake_b))
        d_b = gan.backward_d("netD_B", real_a, gan.pools["B"].query(fake_a))
        opt_d.step()
        opt_d.clear_grad()
        yield loss, d_a, d_b, dict(gan.losses)
    yield gan.pools["A"].images


@program
def spectral_normalisation_by_hand(convert):
    """A wrapper that divides a weight by its largest singular value, estimated step by step."""

    class SpectralNorm(nn.Layer):
        def __init__(self, layer, name="weight", power_iterations=1, eps=1e-6):
            super().__init__()
            self.layer, self.name, self.eps = layer, name, eps
            self.power_iterations = power_iterations
            w = getattr(layer, name)
            self.height = w.shape[0]
            self.register_buffer("u", F.normalize(paddle.ones([self.height]), axis=0))
            self.register_buffer(
                "v", F.normalize(paddle.ones([w.numel().item() // self.height]), axis=0)
            )
            self.weight_orig = layer.create_parameter(
                w.shape, default_initializer=nn.initializer.Assign(w)
            )
            del layer._parameters[name]

        def compute_weight(self):
            w = self.weight_orig.reshape([self.height, -1])
            u, v = self.u, self.v
            if self.training:
                with paddle.no_grad():
                    for _ in range(self.power_iterations):
                        v = F.normalize(paddle.mv(w.t(), u), axis=0, epsilon=self.eps)
                        u = F.normalize(paddle.mv(w, v), axis=0, epsilon=self.eps)
                    self.u.set_value(u)
                    self.v.set_value(v)
            sigma = paddle.dot(u, paddle.mv(w, v))
            return self.weight_orig / sigma

        @convert
        def forward(self, x):
            setattr(self.layer, self.name, self.compute_weight())
            return self.layer(x)

    paddle.seed(6)
    critic = nn.Sequential(
        SpectralNorm(nn.Linear(3, 5)), nn.ReLU(), SpectralNorm(nn.Linear(5, 1), power_iterations=3)
    )
    opt = paddle.optimizer.SGD(0.1, parameters=critic.parameters())
    for size in (4, 2, 4):
        x = paddle.randn([size, 3])
        out = critic(x)
        out.mean().backward()
        yield out, critic[0].u, critic[0].weight_orig.grad
        opt.step()
        opt.clear_grad()
    critic.eval()
    yield critic(x), critic[0].u


@program
def lazy_regularisers_of_a_style_model(convert):
    """R1 every few steps, path lengths with a moving mean, mixed styles, an average of weights."""

    class Mapping(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.fc = nn.Linear(dim, dim)

        def forward(self, z):
            z = z * paddle.rsqrt(z.square().mean(axis=1, keepdim=True) + 1e-8)
            return F.leaky_relu(self.fc(z), 0.2)

    class Synthesis(nn.Layer):
        def __init__(self, dim, layers=3):
            super().__init__()
            self.const = self.create_parameter([1, dim], default_initializer=Constant(1.0))
            self.styles = nn.LayerList([nn.Linear(dim, dim) for _ in range(layers)])

        def forward(self, ws):
            x = self.const.expand([ws[0].shape[0], -1])
            for layer, w in zip(self.styles, ws):
                x = paddle.tanh(x * (1 + layer(w)))
            return x

    class StyleTrainer:
        def __init__(self, dim=4, r1_every=2, decay=0.1):
            self.mapping, self.synthesis = Mapping(dim), Synthesis(dim)
            self.disc = nn.Sequential(nn.Linear(dim, 6), nn.Softplus(), nn.Linear(6, 1))
            self.ema = copy.deepcopy(self.synthesis)
            self.mean_path = paddle.zeros([])
            self.r1_every, self.decay = r1_every, decay
            self.step = 0

        def styles(self, zs, crossover):
            ws = [self.mapping(z) for z in zs]
            n = len(self.synthesis.styles)
            if len(ws) == 1:
                return ws * n
            return [ws[0]] * crossover + [ws[1]] * (n - crossover)

        @convert
        def r1(self, real, gamma=10.0):
            real.stop_gradient = False
            scores = self.disc(real)
            (grad,) = paddle.grad(scores.sum(), real, create_graph=True)
            return gamma / 2 * grad.square().sum(axis=1).mean()

        @convert
        def path_length(self, zs, noise, crossover=1):
            ws = self.styles(zs, crossover)
            fake = self.synthesis(ws)
            grads = paddle.grad((fake * noise).sum(), ws[:1], create_graph=True)[0]
            lengths = paddle.sqrt(grads.square().sum(axis=1))
            mean = self.mean_path + self.decay * (lengths.mean() - self.mean_path)
            self.mean_path = mean.detach()
            return (lengths - mean).square().mean(), lengths

        @paddle.no_grad()
        def update_ema(self, beta=0.9):
            for slow, fast in zip(self.ema.parameters(), self.synthesis.parameters()):
                slow.set_value(beta * slow + (1 - beta) * fast)

    paddle.seed(9)
    trainer = StyleTrainer()
    params = trainer.mapping.parameters() + trainer.synthesis.parameters()
    opt_g = paddle.optimizer.Adam(0.01, parameters=params)
    opt_d = paddle.optimizer.Adam(0.01, parameters=trainer.disc.parameters())
    for step in range(4):
        real = paddle.randn([3, 4])
        if step % trainer.r1_every == 0:
            penalty = trainer.r1(real)
            (penalty * trainer.r1_every).backward()
            opt_d.step()
            opt_d.clear_grad()
            yield "r1", penalty
        zs = [paddle.randn([3, 4]) for _ in range(1 + step % 2)]
        loss, lengths = trainer.path_length(zs, paddle.randn([3, 4]), crossover=1 + step // 2)
        loss.backward()
        opt_g.step()
        opt_g.clear_grad()
        trainer.update_ema()
        yield loss, lengths, trainer.mean_path
    yield trainer.ema.const


@program
def augmentation_strength_by_feedback(convert):
    """ADA: the share of positive scores decides how strongly the next batches are augmented."""

    class AdaController:
        def __init__(self, target=0.6, interval=2, rate=0.25):
            self.target, self.interval, self.rate = target, interval, rate
            self.p = paddle.zeros([])
            self.signs = paddle.zeros([2])
            self.batches = 0

        @convert
        def tune(self, scores):
            self.signs += paddle.stack(
                [paddle.sign(scores).sum(), paddle.to_tensor(float(scores.shape[0]))]
            )
            self.batches += 1
            if self.batches % self.interval == 0:
                rt = self.signs[0] / self.signs[1]
                if rt > self.target:
                    direction = 1.0
                else:
                    direction = -1.0
                self.p = paddle.clip(self.p + direction * self.rate, 0.0, 1.0)
                self.signs = paddle.zeros_like(self.signs)
            return self.p

        @convert
        def augment(self, images, uniforms):
            x = images
            for k, op in enumerate((lambda v: v.flip(axis=[-1]), lambda v: -v, lambda v: v * 0.5)):
                chosen = (uniforms[k] < self.p).reshape([-1, 1, 1]).astype(x.dtype)
                x = chosen * op(x) + (1 - chosen) * x
            if self.p > 0.7:
                x = x.rot90(1, axes=[-2, -1])
            return x

    ada = AdaController()
    rng = np.random.RandomState(10)
    for shift in (2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, -1.0, -1.0, 0.0):
        n = 3 if shift else 2
        scores = paddle.to_tensor((rng.randn(n) + shift).astype("float32"))
        images = paddle.to_tensor(rng.randn(n, 2, 2).astype("float32"))
        yield ada.tune(scores), ada.batches
        yield ada.augment(images, paddle.to_tensor(rng.rand(3, n).astype("float32")))
