"""Agents, generators and learners of tasks."""

import copy
import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Callable, Optional

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@dataclass
class PPOConfig:
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    epochs: int = 3
    minibatch: int = 8
    target_kl: float = 0.02
    value_coef: float = 0.5
    entropy_coef: float = 0.01


class RunningNorm(nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", paddle.zeros([size]))
        self.register_buffer("var", paddle.ones([size]))
        self.register_buffer("count", paddle.full([], 1e-4))

    def forward(self, x):
        if self.training:
            n = float(x.shape[0])
            delta = x.mean(0) - self.mean
            total = self.count + n
            m2 = (
                self.var * self.count
                + x.var(0, unbiased=False) * n
                + delta**2 * self.count * n / total
            )
            self.mean.set_value(self.mean + delta * n / total)
            self.var.set_value(m2 / total)
            self.count.set_value(total)
        return ((x - self.mean) / (self.var + 1e-8).sqrt()).clip(-5, 5)


class ActorCritic(nn.Layer):
    def __init__(self, obs, actions):
        super().__init__()
        self.norm = RunningNorm(obs)
        self.body = nn.Sequential(nn.Linear(obs, 16), nn.Tanh())
        self.pi = nn.Linear(16, actions)
        self.v = nn.Linear(16, 1)

    def forward(self, obs):
        h = self.body(self.norm(obs))
        return F.log_softmax(self.pi(h), axis=-1), self.v(h).squeeze(-1)


def gae(rewards, values, dones, last_value, gamma, lam):
    advantages = paddle.zeros_like(rewards)
    running = paddle.zeros([])
    for t in reversed(range(rewards.shape[0])):
        following = last_value if t == rewards.shape[0] - 1 else values[t + 1]
        if dones[t]:
            following, running = paddle.zeros([]), paddle.zeros([])
        delta = rewards[t] + gamma * following - values[t]
        running = delta + gamma * lam * running
        advantages[t] = running
    return advantages, advantages + values


class PPO:
    def __init__(self, net, config=None):
        self.net = net
        self.config = config or PPOConfig()
        self.opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        self.updates = 0

    def loss(self, obs, actions, old_logp, advantages, returns):
        c = self.config
        logp_all, values = self.net(obs)
        logp = paddle.take_along_axis(logp_all, actions.unsqueeze(1), 1).squeeze(1)
        ratio = (logp - old_logp).exp()
        surrogate = paddle.minimum(
            ratio * advantages, ratio.clip(1 - c.clip, 1 + c.clip) * advantages
        )
        entropy = -(logp_all.exp() * logp_all).sum(-1).mean()
        loss = (
            -surrogate.mean()
            + c.value_coef * F.mse_loss(values, returns)
            - c.entropy_coef * entropy
        )
        kl = ((ratio - 1) - (logp - old_logp)).mean()
        return loss, kl

    def update(self, batch):
        c = self.config
        adv, ret = gae(
            batch["rewards"], batch["values"], batch["dones"], batch["last"], c.gamma, c.lam
        )
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        n = adv.shape[0]
        log = {"loss": [], "stopped": False, "epochs": 0}
        for epoch in range(c.epochs):
            for start in range(0, n, c.minibatch):
                part = slice(start, start + c.minibatch)
                loss, kl = self.loss(
                    batch["obs"][part],
                    batch["actions"][part],
                    batch["logp"][part],
                    adv[part],
                    ret[part],
                )
                if kl > 1.5 * c.target_kl:
                    log["stopped"] = True
                    break
                loss.backward()
                self.opt.step()
                self.opt.clear_grad()
                self.updates += 1
                log["loss"].append(loss.detach())
            if log["stopped"]:
                break
            log["epochs"] += 1
        return log


@program
def ppo_that_stops_by_divergence(convert):
    """PPO: GAE over a rollout with dones, clipped updates in minibatches, early stop by KL, running normaliser."""

    paddle.seed(8)
    net = ActorCritic(4, 3)
    agent = PPO(net)
    update = convert(agent.update)
    records = []
    for round_, n in enumerate([16, 16, 12]):
        obs = paddle.randn([n, 4]) * (1 + round_)
        net.eval()
        with paddle.no_grad():
            logp_all, values = net(obs)
        net.train()
        actions = logp_all.argmax(-1)
        logp = logp_all.max(-1)
        if round_ == 1:
            agent.config.target_kl = 0.001
        batch = {
            "obs": obs,
            "actions": actions,
            "logp": logp,
            "values": values,
            "rewards": obs[:, 0],
            "dones": obs[:, 1] > 1.0,
            "last": values[-1],
        }
        records.append(update(batch))
        records += [agent.updates, net.norm.mean, net.norm.count]
    records.append(net.pi.weight)
    yield from records


class SumTree:
    def __init__(self, capacity):
        self.capacity = capacity
        self.nodes = paddle.zeros([2 * capacity])

    def set(self, index, value):
        node = index + self.capacity
        self.nodes[node] = value
        node //= 2
        while node >= 1:
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1]
            node //= 2

    def find(self, mass):
        node = 1
        while node < self.capacity:
            left = self.nodes[2 * node]
            if mass <= left:
                node = 2 * node
            else:
                mass = mass - left
                node = 2 * node + 1
        return node - self.capacity

    @property
    def total(self):
        return self.nodes[1]


class Replay:
    def __init__(self, capacity, alpha=0.6, beta=0.4):
        self.tree = SumTree(capacity)
        self.alpha, self.beta = alpha, beta
        self.storage = [None] * capacity
        self.position = 0
        self.size = 0
        self.max_priority = 1.0

    def __len__(self):
        return self.size

    def push(self, **transition):
        self.storage[self.position] = transition
        self.tree.set(self.position, self.max_priority**self.alpha)
        self.position = (self.position + 1) % len(self.storage)
        self.size = min(self.size + 1, len(self.storage))

    def sample(self, fractions):
        if len(self) < fractions.shape[0]:
            raise LookupError(f"{len(self)} transitions, {fractions.shape[0]} wanted")
        indices, weights = [], []
        segment = self.tree.total / fractions.shape[0]
        for i, u in enumerate(fractions):
            index = self.tree.find(segment * (i + u))
            indices.append(int(index))
            p = self.tree.nodes[index + self.tree.capacity] / self.tree.total
            weights.append((self.size * p) ** -self.beta)
        weights = paddle.stack(weights)
        rows = [self.storage[i] for i in indices]
        batch = {key: paddle.stack([row[key] for row in rows]) for key in rows[0]}
        return indices, weights / weights.max(), batch

    def update(self, indices, errors):
        for i, e in zip(indices, errors):
            priority = float(e.abs()) + 1e-3
            self.max_priority = max(self.max_priority, priority)
            self.tree.set(i, priority**self.alpha)


class Learner:
    def __init__(self, net, replay, gamma=0.9, sync_every=2):
        self.net, self.target = net, copy.deepcopy(net)
        self.replay = replay
        self.gamma = gamma
        self.sync_every = sync_every
        self.opt = paddle.optimizer.SGD(0.05, parameters=net.parameters())
        self.steps = 0

    def learn(self, fractions):
        indices, weights, batch = self.replay.sample(fractions)
        q = self.net(batch["state"])
        q = paddle.take_along_axis(q, batch["action"].unsqueeze(1), 1).squeeze(1)
        with paddle.no_grad():
            best = self.net(batch["next"]).argmax(-1, keepdim=True)
            bootstrap = paddle.take_along_axis(self.target(batch["next"]), best, 1).squeeze(1)
            goal = batch["reward"] + self.gamma * bootstrap * (1 - batch["done"].astype("float32"))
        error = goal - q
        loss = (weights * F.smooth_l1_loss(q, goal, reduction="none")).mean()
        loss.backward()
        self.opt.step()
        self.opt.clear_grad()
        self.replay.update(indices, error.detach())
        self.steps += 1
        if self.steps % self.sync_every == 0:
            self.target.set_state_dict(self.net.state_dict())
        return loss, indices


@program
def double_dqn_on_a_sum_tree(convert):
    """Prioritised replay on a sum tree, and a double-DQN step that feeds the errors back as priorities."""

    paddle.seed(4)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    replay = Replay(8)
    learner = Learner(net, replay)
    learn = convert(learner.learn)
    records = []
    states = paddle.randn([12, 3])
    try:
        learn(paddle.to_tensor([0.5, 0.5]))
    except LookupError as error:
        records.append(str(error))
    for i in range(10):
        replay.push(
            state=states[i],
            next=states[i + 1],
            action=paddle.to_tensor(i % 2),
            reward=states[i].sum(),
            done=paddle.to_tensor(i % 5 == 4),
        )
    for fractions in [[0.1, 0.5, 0.9], [0.3, 0.3, 0.3], [0.7, 0.2]]:
        loss, indices = learn(paddle.to_tensor(fractions))
        records += [loss, indices, replay.tree.total, round(replay.max_priority, 4)]
    records += [learner.steps, replay.tree.nodes, learner.target[0].weight, len(replay)]
    find = convert(replay.tree.find)
    records += [int(find(replay.tree.total * f)) for f in (0.05, 0.4, 0.99)]
    yield from records


def mlp(sizes, last=None):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    layers.pop()
    if last is not None:
        layers.append(last)
    return nn.Sequential(*layers)


class EMA:
    def __init__(self, layer, decay=0.9):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in layer.named_parameters()}

    def update(self, layer):
        for name, p in layer.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p.detach()


class WGAN:
    def __init__(self, noise=4, data=2, penalty=10.0, critic_steps=2):
        self.noise = noise
        self.penalty = penalty
        self.critic_steps = critic_steps
        self.generator = mlp([noise, 12, data])
        self.critic = mlp([data, 12, 1])
        adam = lambda net: paddle.optimizer.Adam(
            1e-2, beta1=0.0, beta2=0.9, parameters=net.parameters()
        )
        self.opt_g, self.opt_c = adam(self.generator), adam(self.critic)
        self.ema = EMA(self.generator)
        self.log = {"critic": [], "generator": [], "penalty": []}

    def gradient_penalty(self, real, fake, mix):
        between = (mix * real + (1 - mix) * fake).detach()
        between.stop_gradient = False
        score = self.critic(between)
        (grad,) = paddle.grad(score.sum(), [between], create_graph=True)
        return ((grad.norm(axis=1) - 1) ** 2).mean()

    def critic_step(self, real, z, mix):
        with paddle.no_grad():
            fake = self.generator(z)
        gp = self.gradient_penalty(real, fake, mix)
        loss = self.critic(fake).mean() - self.critic(real).mean() + self.penalty * gp
        loss.backward()
        self.opt_c.step()
        self.opt_c.clear_grad()
        return loss.detach(), gp.detach()

    def generator_step(self, z):
        for p in self.critic.parameters():
            p.stop_gradient = True
        loss = -self.critic(self.generator(z)).mean()
        loss.backward()
        self.opt_g.step()
        self.opt_g.clear_grad()
        for p in self.critic.parameters():
            p.stop_gradient = False
        self.ema.update(self.generator)
        return loss.detach()

    def step(self, real, zs, mix):
        if len(zs) != self.critic_steps + 1:
            raise ValueError(f"{self.critic_steps + 1} noises wanted, {len(zs)} given")
        for z in zs[:-1]:
            loss, gp = self.critic_step(real, z, mix)
            if gp > 50:
                self.penalty *= 1.5
            self.log["penalty"].append(gp)
        self.log["critic"].append(loss)
        self.log["generator"].append(self.generator_step(zs[-1]))
        return {name: values[-1] for name, values in self.log.items()}


@program
def critic_steps_and_an_average_generator(convert):
    """WGAN-GP: n critic steps with a gradient penalty, then a generator step, with an EMA of the generator."""

    paddle.seed(17)
    gan = WGAN()
    step = convert(gan.step)
    records = []
    for batch in [6, 6, 4]:
        real = paddle.randn([batch, 2]) * 0.5 + 2.0
        zs = [paddle.randn([batch, gan.noise]) for _ in range(gan.critic_steps + 1)]
        records.append(step(real, zs, paddle.rand([batch, 1])))
    gan.critic_steps = 1
    try:
        step(real, zs, paddle.rand([4, 1]))
    except ValueError as error:
        records.append(str(error))
    records.append(step(real, zs[:2], paddle.full([4, 1], 0.5)))
    records += [
        {k: len(v) for k, v in gan.log.items()},
        gan.ema.shadow["0.weight"],
        gan.critic[0].weight,
    ]
    records.append([p.stop_gradient for p in gan.critic.parameters()])
    yield from records


@dataclass
class SamplerConfig:
    steps: int = 5
    guidance: float = 2.0
    eta: float = 0.0
    threshold: Optional[str] = None  # "static", "dynamic"
    on_step: Optional[Callable] = None


class NoiseSchedule:
    def __init__(self, total=50, start=1e-4, end=0.05):
        betas = paddle.linspace(start, end, total)
        self.total = total
        self.alpha_bar = paddle.cumprod(1 - betas, dim=0)

    def timesteps(self, steps):
        stride = self.total // steps
        return list(range(self.total - 1, -1, -stride))[:steps]


class Denoiser(nn.Layer):
    def __init__(self, size, classes, width=16):
        super().__init__()
        self.label = nn.Embedding(classes + 1, width)
        self.time = nn.Linear(2, width)
        self.inp = nn.Linear(size, width)
        self.out = nn.Linear(width, size)
        self.null = classes

    def forward(self, x, t, label):
        phase = paddle.stack([paddle.sin(t * 0.1), paddle.cos(t * 0.1)], axis=-1)
        h = self.inp(x) + self.time(phase) + self.label(label)
        return self.out(F.silu(h))


class Sampler:
    def __init__(self, model, schedule, config):
        self.model, self.schedule, self.config = model, schedule, config

    def predict(self, x, t, label):
        times = paddle.full([x.shape[0]], float(t))
        if label is None or self.config.guidance == 0:
            return self.model(x, times, paddle.full([x.shape[0]], self.model.null, dtype="int64"))
        empty = paddle.full_like(label, self.model.null)
        eps_c, eps_u = self.model(
            paddle.concat([x, x]), paddle.concat([times, times]), paddle.concat([label, empty])
        ).chunk(2)
        return eps_u + self.config.guidance * (eps_c - eps_u)

    def threshold(self, x0):
        kind = self.config.threshold
        if kind is None:
            return x0
        if kind == "static":
            return x0.clip(-1, 1)
        if kind == "dynamic":
            s = paddle.quantile(x0.abs(), 0.9, axis=1, keepdim=True)
            if s.max() > 1:
                s = paddle.maximum(s, paddle.ones_like(s))
                return paddle.clip(x0 / s, -1, 1)
            return x0.clip(-1, 1)
        raise ValueError(f"unknown threshold {kind!r}")

    @paddle.no_grad()
    def sample(self, x, label=None, known=None, mask=None, noises=None):
        steps = self.schedule.timesteps(self.config.steps)
        for i, t in enumerate(steps):
            a_t = self.schedule.alpha_bar[t]
            a_next = (
                self.schedule.alpha_bar[steps[i + 1]] if i + 1 < len(steps) else paddle.ones([])
            )
            eps = self.predict(x, t, label)
            x0 = self.threshold((x - (1 - a_t).sqrt() * eps) / a_t.sqrt())
            sigma = self.config.eta * ((1 - a_next) / (1 - a_t)).sqrt() * (1 - a_t / a_next).sqrt()
            x = a_next.sqrt() * x0 + (1 - a_next - sigma**2).clip(0).sqrt() * eps
            if sigma > 0 and noises is not None:
                x = x + sigma * noises[i]
            if mask is not None:
                kept = a_next.sqrt() * known + (1 - a_next).sqrt() * eps
                x = paddle.where(mask, kept, x)
            if self.config.on_step and self.config.on_step(i, t, x) is False:
                break
        return x


@program
def guided_ddim_with_thresholds(convert):
    """DDIM sampling with classifier-free guidance, thresholding, inpainting masks and a progress callback."""

    paddle.seed(2)
    sampler = Sampler(Denoiser(3, 4), NoiseSchedule(), SamplerConfig())
    sample = convert(sampler.sample)
    x = paddle.randn([2, 3])
    label = paddle.to_tensor([1, 3])
    noises = paddle.randn([5, 2, 3])
    seen = []
    records = [sample(x), sample(x, label)]
    sampler.config.threshold = "dynamic"
    records.append(sample(x, label=label))
    sampler.config.eta = 0.7
    records.append(sample(x * 3, label, noises=noises))
    sampler.config.threshold = "static"
    mask = paddle.to_tensor([[True, False, False], [False, True, True]])
    records.append(sample(x, known=paddle.ones([2, 3]) * 0.3, mask=mask))

    def watch(i, t, x):
        seen.append((i, t))
        return bool(x.abs().max() < 40) if i < 2 else False

    sampler.config.on_step = watch
    records += [sample(x, label), list(seen)]
    sampler.config.threshold = "soft"
    try:
        sample(x)
    except ValueError as error:
        records.append(repr(error))
    yield from records


class Task:
    def __init__(self, amplitude, phase, shots):
        self.amplitude, self.phase, self.shots = amplitude, phase, shots

    def split(self):
        x = paddle.linspace(-3, 3, 2 * self.shots).unsqueeze(1)
        y = self.amplitude * paddle.sin(x + self.phase)
        return (x[::2], y[::2]), (x[1::2], y[1::2])


class FunctionalMLP(nn.Layer):
    def __init__(self, width=10):
        super().__init__()
        self.l1 = nn.Linear(1, width)
        self.l2 = nn.Linear(width, 1)

    def forward(self, x, fast=None):
        w = fast if fast is not None else OrderedDict(self.named_parameters())
        h = paddle.tanh(F.linear(x, w["l1.weight"], w["l1.bias"]))
        return F.linear(h, w["l2.weight"], w["l2.bias"])


class MAML(nn.Layer):
    def __init__(self, model, inner_steps=2, first_order=False):
        super().__init__()
        self.model = model
        self.inner_steps = inner_steps
        self.first_order = first_order
        self.log_rates = nn.ParameterList(
            [
                self.create_parameter(
                    [1], default_initializer=nn.initializer.Constant(math.log(0.1))
                )
                for _ in range(4)
            ]
        )
        self.diverged = 0

    def adapt(self, x, y):
        fast = OrderedDict(self.model.named_parameters())
        losses = []
        for _ in range(self.inner_steps):
            loss = F.mse_loss(self.model(x, fast), y)
            losses.append(loss)
            if len(losses) > 1 and loss > 2 * losses[-2]:
                self.diverged += 1
                break
            grads = paddle.grad(loss, list(fast.values()), create_graph=not self.first_order)
            if self.first_order:
                grads = [g.detach() for g in grads]
            fast = OrderedDict(
                (name, value - rate.exp() * grad)
                for (name, value), rate, grad in zip(fast.items(), self.log_rates, grads)
            )
        return fast, losses

    def forward(self, tasks):
        total = 0.0
        report = []
        for task in tasks:
            (sx, sy), (qx, qy) = task.split()
            fast, inner = self.adapt(sx, sy)
            outer = F.mse_loss(self.model(qx, fast), qy)
            total = total + outer
            report.append(
                {"before": inner[0].detach(), "after": outer.detach(), "gain": inner[0] > outer}
            )
        return total / len(tasks), report


@program
def maml_with_learned_inner_rates(convert):
    """MAML on sinusoid tasks: inner loop on fast weights, first and second order, learned inner rates."""

    paddle.seed(31)
    maml = MAML(FunctionalMLP())
    opt = paddle.optimizer.Adam(0.01, parameters=maml.parameters())
    forward = convert(maml.forward)
    records = []
    batches = [
        [Task(1.0, 0.0, 5), Task(0.5, 1.0, 5)],
        [Task(2.0, 0.5, 4)],
        [Task(1.5, 2.0, 5), Task(0.3, 0.2, 3), Task(1.0, 1.0, 5)],
    ]
    for i, tasks in enumerate(batches):
        if i == 2:
            maml.first_order = True
        loss, report = forward(tasks)
        loss.backward()
        records += [loss, report]
        records.append([p.grad.abs().sum() for p in maml.parameters() if p.grad is not None])
        opt.step()
        opt.clear_grad()
    for rate in maml.log_rates:
        rate.set_value(paddle.full([1], 3.0))
    maml.inner_steps = 4
    adapt = convert(maml.adapt)
    (sx, sy), _ = Task(1.0, 0.0, 5).split()
    fast, losses = adapt(sx, sy)
    records += [list(fast), len(losses), maml.diverged]
    yield from records
