"""Training algorithms written out."""

import contextlib
import math

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


class EarlyStopping:
    def __init__(self, patience=2, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.best = None
        self.bad_epochs = 0
        self.best_state = None

    def step(self, loss, model):
        """True when training should stop."""
        if self.best is None or loss < self.best - self.min_delta:
            self.best = loss
            self.bad_epochs = 0
            self.best_state = {k: v.clone() for k, v in model.state_dict().items()}
            return False
        self.bad_epochs += 1
        return self.bad_epochs >= self.patience

    def restore(self, model):
        model.set_state_dict(self.best_state)


def train_epoch(model, opt, x, y, batch=4):
    total = 0.0
    for i in range(0, x.shape[0], batch):
        loss = F.mse_loss(model(x[i : i + batch]), y[i : i + batch])
        loss.backward()
        opt.step()
        opt.clear_grad()
        total += float(loss)
    return total


def evaluate(model, x, y):
    model.eval()
    with paddle.no_grad():
        loss = F.mse_loss(model(x), y).item()
    model.train()
    return loss


@program
def early_stop_with_best_state(convert):
    """Training with validation, patience, and the best state put back at the end."""
    paddle.seed(1)
    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = paddle.optimizer.Momentum(0.1, momentum=0.9, parameters=model.parameters())

    def fit(x, y, vx, vy, epochs=8):
        stopper = EarlyStopping(patience=2, min_delta=1e-3)
        history = []
        for epoch in range(epochs):
            train_loss = train_epoch(model, opt, x, y)
            val_loss = evaluate(model, vx, vy)
            history.append(round(val_loss, 3))
            print(f"epoch {epoch}: train {train_loss:.3f} val {val_loss:.3f}")
            if stopper.step(val_loss, model):
                print("stopped at epoch", epoch)
                break
        stopper.restore(model)
        return history, evaluate(model, vx, vy)

    function = convert(fit)

    def calls():
        paddle.seed(10)

        def data(n):
            x = paddle.randn([n, 3])
            return x, (x[:, :1] - 0.5 * x[:, 1:2] ** 2)

        return [data(8) + data(4), data(12) + data(4), data(8) + data(5) + (2,)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class EMA:
    def __init__(self, model, decay=0.9):
        self.model = model
        self.decay = decay
        self.updates = 0
        self.shadow = {
            n: p.detach().clone() for n, p in model.named_parameters() if not p.stop_gradient
        }

    def update(self):
        self.updates += 1
        d = self.decay * (1 - math.exp(-self.updates / 5))
        for n, p in self.model.named_parameters():
            if n in self.shadow:
                self.shadow[n] = d * self.shadow[n] + (1 - d) * p.detach()

    @contextlib.contextmanager
    def applied(self):
        backup = {n: p.clone() for n, p in self.model.named_parameters()}
        for n, p in self.model.named_parameters():
            p.set_value(self.shadow[n])
        try:
            yield self.model
        finally:
            for n, p in self.model.named_parameters():
                p.set_value(backup[n])


def clip_grad_norm(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = paddle.sqrt(sum((g * g).sum() for g in grads))
    if total > max_norm:
        scale = max_norm / (total + 1e-6)
        for p in parameters:
            if p.grad is not None:
                p.grad.set_value(p.grad * scale)
    return total


class Trainer:
    def __init__(self, model, lr=0.1, max_norm=1.0):
        self.model = model
        self.max_norm = max_norm
        self.ema = EMA(model)
        self.opt = paddle.optimizer.SGD(lr, parameters=model.parameters())
        self.clipped = 0

    def step(self, x, y):
        loss = ((self.model(x) - y) ** 2).mean()
        loss.backward()
        norm = clip_grad_norm(self.model.parameters(), self.max_norm)
        if norm > self.max_norm:
            self.clipped += 1
        self.opt.step()
        self.opt.clear_grad()
        self.ema.update()
        return loss, norm

    def evaluate(self, x, y):
        raw = ((self.model(x) - y) ** 2).mean()
        with self.ema.applied() as model, paddle.no_grad():
            smooth = ((model(x) - y) ** 2).mean()
        return raw, smooth


@program
def ema_swapped_in_by_a_context(convert):
    """EMA of the weights with a context manager that swaps them in, and clipping by global norm by hand."""
    paddle.seed(4)
    trainer = Trainer(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)))

    def run(x, y, steps=3):
        for _ in range(steps):
            loss, norm = trainer.step(x, y)
        return loss, norm, trainer.evaluate(x, y), trainer.clipped

    function = convert(run)

    def calls():
        paddle.seed(12)

        def data(n, k):
            x = paddle.randn([n, 4])
            return x, x.sum(axis=1, keepdim=True) * k

        return [data(6, 4.0), data(6, 0.5), data(3, 1.0) + (5,)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class SAM:
    def __init__(self, base, parameters, rho=0.05, adaptive=False):
        if rho < 0:
            raise ValueError(f"rho must not be negative: {rho}")
        self.base = base
        self.parameters = list(parameters)
        self.rho = rho
        self.adaptive = adaptive
        self._perturbations = {}

    def _scale(self, p):
        return p.abs() if self.adaptive else 1.0

    def grad_norm(self):
        norms = [(self._scale(p) * p.grad).norm() for p in self.parameters if p.grad is not None]
        return paddle.stack(norms).norm()

    @paddle.no_grad()
    def first_step(self):
        scale = self.rho / (self.grad_norm() + 1e-12)
        for p in self.parameters:
            if p.grad is None:
                continue
            e = self._scale(p) ** 2 * p.grad * scale
            p.add_(e)
            self._perturbations[p.name] = e
        self.base.clear_grad()

    @paddle.no_grad()
    def second_step(self):
        for p in self.parameters:
            e = self._perturbations.pop(p.name, None)
            if e is not None:
                p.subtract_(e)
        self.base.step()
        self.base.clear_grad()

    def step(self, closure):
        loss = closure()
        loss.backward()
        self.first_step()
        sharp = closure()
        sharp.backward()
        self.second_step()
        return loss.detach(), sharp.detach()


@program
def sam_with_a_closure(convert):
    """Sharpness-aware minimisation as a wrapper of an optimizer."""
    paddle.seed(3)
    net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))
    opt = SAM(
        paddle.optimizer.Momentum(0.1, parameters=net.parameters()), net.parameters(), adaptive=True
    )

    def train(x, y, steps):
        gaps = []
        for _ in range(steps):
            loss, sharp = opt.step(lambda: F.cross_entropy(net(x), y))
            gaps.append(sharp - loss)
        accuracy = (net(x).argmax(-1) == y).astype("float32").mean()
        return paddle.stack(gaps), accuracy, len(opt._perturbations)

    function = convert(train)

    def calls():
        paddle.seed(14)
        return [
            (paddle.randn([6, 4]), paddle.to_tensor([0, 1, 2, 0, 1, 2]), 3),
            (paddle.randn([4, 4]), paddle.to_tensor([2, 2, 1, 0]), 2),
            (paddle.randn([5, 4]), paddle.to_tensor([1, 1, 1, 1, 0]), 1),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Lookahead:
    """k steps forward, one step back (Zhang et al., 2019)."""

    def __init__(self, inner, k=3, alpha=0.5):
        self.inner = inner
        self.k = k
        self.alpha = alpha
        self.counter = 0
        self.slow = [p.clone().detach() for p in inner._parameter_list]

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def step(self):
        self.inner.step()
        self.counter += 1
        if self.counter % self.k == 0:
            self._synchronise()

    def _synchronise(self):
        with paddle.no_grad():
            for i, fast in enumerate(self.inner._parameter_list):
                self.slow[i] = self.slow[i] + self.alpha * (fast - self.slow[i])
                fast.set_value(self.slow[i])

    def distance(self):
        return sum(((f - s) ** 2).sum() for f, s in zip(self.inner._parameter_list, self.slow))


class Regressor(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 5)
        self.head = nn.Linear(5, 1)

    def forward(self, x):
        return self.head(paddle.tanh(self.body(x))).squeeze(-1)


@program
def lookahead_that_delegates(convert):
    """Lookahead around any optimizer, with attribute delegation and a state dict."""
    paddle.seed(6)
    model = Regressor()
    opt = Lookahead(paddle.optimizer.Adam(0.05, parameters=model.parameters()))

    def train(x, y, steps):
        for _ in range(steps):
            loss = (model(x) - y).abs().mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            if loss < 0.05:
                print("good enough")
                break
        return loss, opt.distance(), opt.counter, opt.get_lr()

    function = convert(train)

    def calls():
        paddle.seed(2)
        x = paddle.randn([5, 3])
        return [(x, x[:, 0], 4), (x[:4], x[:4, 1], 3), (x, x.sum(axis=1) * 0.1, 2)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class MetaLearner(paddle.nn.Layer):
    def __init__(self, width=8, inner_lr=0.1):
        super().__init__()
        self.w1 = self.create_parameter([1, width])
        self.b1 = self.create_parameter([width], is_bias=True)
        self.w2 = self.create_parameter([width, 1])
        self.b2 = self.create_parameter([1], is_bias=True)
        self.inner_lr = inner_lr

    def functional(self, x, params):
        h = paddle.tanh(x @ params["w1"] + params["b1"])
        return h @ params["w2"] + params["b2"]

    def adapt(self, x, y, steps, tol=1e-3):
        params = {name: p for name, p in self.named_parameters()}
        losses = []
        for _ in range(steps):
            loss = F.mse_loss(self.functional(x, params), y)
            losses.append(loss.detach())
            if loss < tol:
                break
            grads = paddle.grad(loss, list(params.values()), create_graph=True)
            params = {n: p - self.inner_lr * g for (n, p), g in zip(params.items(), grads)}
        return params, losses


@program
def maml_with_an_early_exit(convert):
    """MAML: an inner loop of functional SGD steps, the outer gradient through it."""
    paddle.seed(13)
    learner = MetaLearner()
    outer = paddle.optimizer.Adam(0.01, parameters=learner.parameters())

    def meta_step(tasks, inner_steps=2):
        total = 0.0
        curves = []
        for support_x, support_y, query_x, query_y in tasks:
            fast, losses = learner.adapt(support_x, support_y, inner_steps)
            total = total + F.mse_loss(learner.functional(query_x, fast), query_y)
            curves.append(losses)
        total = total / len(tasks)
        total.backward()
        gnorm = sum((p.grad**2).sum() for p in learner.parameters()).sqrt()
        outer.step()
        outer.clear_grad()
        return total, gnorm, curves

    function = convert(meta_step)

    def calls():
        paddle.seed(15)

        def task(amplitude, phase):
            sx, qx = paddle.uniform([4, 1], min=-2, max=2), paddle.uniform([3, 1], min=-2, max=2)
            return sx, amplitude * paddle.sin(sx + phase), qx, amplitude * paddle.sin(qx + phase)

        return [
            ([task(1.0, 0.0), task(0.5, 1.0)],),
            ([task(2.0, 0.3)], 3),
            ([task(0.1, 0.1), task(0.3, 2.0), task(1.5, 0.0)], 1),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


def mlp(*sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


class WGAN:
    def __init__(self, noise=3, data=2, n_critic=2, gp_weight=10.0):
        self.noise = noise
        self.n_critic = n_critic
        self.gp_weight = gp_weight
        self.G = mlp(noise, 8, data)
        self.D = mlp(data, 8, 1)
        self.opt_g = paddle.optimizer.Adam(1e-2, beta1=0.5, parameters=self.G.parameters())
        self.opt_d = paddle.optimizer.Adam(1e-2, beta1=0.5, parameters=self.D.parameters())
        self.log = {"d": [], "g": [], "gp": []}

    def gradient_penalty(self, real, fake):
        eps = paddle.rand([real.shape[0], 1])
        mixed = eps * real + (1 - eps) * fake
        mixed.stop_gradient = False
        score = self.D(mixed)
        grad = paddle.grad(score.sum(), mixed, create_graph=True)[0]
        return ((grad.norm(axis=1) - 1) ** 2).mean()

    def critic_step(self, real):
        with paddle.no_grad():
            fake = self.G(paddle.randn([real.shape[0], self.noise]))
        gp = self.gradient_penalty(real, fake)
        loss = self.D(fake).mean() - self.D(real).mean() + self.gp_weight * gp
        self.opt_d.clear_grad()
        loss.backward()
        self.opt_d.step()
        return loss.detach(), gp.detach()

    def generator_step(self, n):
        for p in self.D.parameters():
            p.stop_gradient = True
        loss = -self.D(self.G(paddle.randn([n, self.noise]))).mean()
        self.opt_g.clear_grad()
        loss.backward()
        self.opt_g.step()
        for p in self.D.parameters():
            p.stop_gradient = False
        return loss.detach()

    def train_step(self, real):
        for _ in range(self.n_critic):
            d_loss, gp = self.critic_step(real)
        g_loss = self.generator_step(real.shape[0])
        for key, value in zip(("d", "g", "gp"), (d_loss, g_loss, gp)):
            self.log[key].append(float(value))
        if gp > 1.0:
            print("large penalty")
        return d_loss, g_loss


@program
def wgan_gp_of_two_players(convert):
    """A WGAN-GP training step with several critic steps for one of the generator."""
    paddle.seed(20)
    gan = WGAN()

    def step(real):
        d, g = gan.train_step(real)
        return d, g, {k: len(v) for k, v in gan.log.items()}, round(gan.log["gp"][-1], 3)

    function = convert(step)

    def calls():
        paddle.seed(16)
        return [(paddle.randn([4, 2]),), (paddle.randn([4, 2]) * 2 + 1,), (paddle.randn([6, 2]),)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Curriculum:
    def __init__(self, stages, threshold=0.9):
        self.stages = stages
        self.threshold = threshold
        self._level = 0

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        if not 0 <= value < len(self.stages):
            raise ValueError(f"no such level: {value}")
        if value != self._level:
            print("level", self._level, "->", value)
        self._level = value

    @property
    def fraction(self):
        return self.stages[self._level]

    def select(self, difficulty):
        k = max(1, int(self.fraction * difficulty.shape[0]))
        return paddle.argsort(difficulty)[:k]

    def observe(self, loss):
        if loss < self.threshold and self.level + 1 < len(self.stages):
            self.level += 1


def micro_batches(index, size):
    for start in range(0, index.shape[0], size):
        yield index[start : start + size]


@program
def curriculum_with_accumulation(convert):
    """Curriculum: easy samples first, gradient accumulation over micro-batches, the pace set by the loss."""
    paddle.seed(22)
    model = nn.Linear(4, 3)
    opt = paddle.optimizer.SGD(0.5, parameters=model.parameters())
    curriculum = Curriculum([0.4, 0.7, 1.0])

    def epoch(x, y, accumulate=2):
        with paddle.no_grad():
            difficulty = F.cross_entropy(model(x), y, reduction="none").flatten()
        index = curriculum.select(difficulty)
        total, pending = 0.0, 0
        for part in micro_batches(index, 2):
            loss = F.cross_entropy(model(x[part]), y[part])
            (loss / accumulate).backward()
            total = total + loss.detach() * part.shape[0]
            pending += 1
            if pending == accumulate:
                opt.step()
                opt.clear_grad()
                pending = 0
        if pending:
            opt.step()
            opt.clear_grad()
        mean = total / index.shape[0]
        curriculum.observe(mean)
        return mean, curriculum.level, index.shape[0]

    function = convert(epoch)

    def calls():
        paddle.seed(23)
        x = paddle.randn([10, 4])
        y = paddle.randint(0, 3, [10])
        return [(x, y), (x, y), (x[:7], y[:7], 3)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class OverflowSkipped(Warning):
    pass


class DynamicLossScaler:
    def __init__(self, init=2.0**10, growth=2.0, backoff=0.5, interval=2, minimum=1.0):
        self.scale = init
        self.growth, self.backoff = growth, backoff
        self.interval, self.minimum = interval, minimum
        self.good_steps = 0
        self.skipped = 0

    def scale_loss(self, loss):
        return loss * self.scale

    def unscale(self, parameters):
        found = False
        inv = 1.0 / self.scale
        for p in parameters:
            if p.grad is None:
                continue
            p.grad.set_value(p.grad * inv)
            if not bool(paddle.isfinite(p.grad).all()):
                found = True
        return found

    def update(self, overflow):
        if overflow:
            self.scale = max(self.scale * self.backoff, self.minimum)
            self.good_steps = 0
            self.skipped += 1
        else:
            self.good_steps += 1
            if self.good_steps % self.interval == 0:
                self.scale *= self.growth

    def state_dict(self):
        return {"scale": self.scale, "good_steps": self.good_steps, "skipped": self.skipped}


@program
def loss_scale_that_skips(convert):
    """Dynamic loss scaling by hand: unscale, look for inf, skip or step, grow or shrink."""
    paddle.seed(25)
    model = nn.Linear(3, 1)
    opt = paddle.optimizer.Momentum(0.01, parameters=model.parameters())
    scaler = DynamicLossScaler()

    def step(x, y, repeat=1):
        for _ in range(repeat):
            loss = ((model(x) - y) ** 2).mean()
            scaler.scale_loss(loss).backward()
            overflow = scaler.unscale(model.parameters())
            if overflow:
                print("overflow at scale", scaler.scale)
            else:
                opt.step()
            opt.clear_grad()
            scaler.update(overflow)
        return loss, scaler.state_dict()

    function = convert(step)

    def calls():
        paddle.seed(26)
        x, y = paddle.randn([4, 3]), paddle.randn([4, 1])
        big = paddle.full([4, 3], 1e18)
        return [(x, y, 3), (big, y, 2), (x, y, 1)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))
