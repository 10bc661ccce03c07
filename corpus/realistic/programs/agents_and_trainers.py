"""Agents, trainers with callbacks, pipelines and metrics."""

import abc
import functools
import random
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import Any

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.distribution import Categorical

from corpus.realistic import attempt, program

Transition = namedtuple("Transition", "state action reward next_state done")


class ReplayBuffer:
    def __init__(self, capacity, seed=0):
        self.memory = deque(maxlen=capacity)
        self.rng = random.Random(seed)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, n):
        return Transition(*zip(*self.rng.sample(list(self.memory), n)))

    def __len__(self):
        return len(self.memory)


class Chain:
    """Walk right for a reward at the end, left for a small one at once."""

    def __init__(self, n=5):
        self.n = n
        self.position = 0

    def reset(self):
        self.position = 0
        return self.observe()

    def observe(self):
        return F.one_hot(paddle.to_tensor(self.position), self.n).astype("float32")

    def step(self, action):
        if action == 1:
            self.position += 1
        else:
            self.position = max(self.position - 1, 0)
        done = self.position == self.n - 1
        reward = 1.0 if done else (0.05 if action == 0 else 0.0)
        return self.observe(), reward, done


class Agent:
    def __init__(self, n=5, gamma=0.9, batch=4, sync_every=5):
        self.q, self.target = nn.Linear(n, 2), nn.Linear(n, 2)
        self.target.set_state_dict(self.q.state_dict())
        self.opt = paddle.optimizer.Adam(0.05, parameters=self.q.parameters())
        self.buffer = ReplayBuffer(50)
        self.gamma, self.batch, self.sync_every = gamma, batch, sync_every
        self.epsilon, self.steps = 0.5, 0
        self.rng = random.Random(1)

    def act(self, state):
        if self.rng.random() < self.epsilon:
            return self.rng.randrange(2)
        with paddle.no_grad():
            return int(self.q(state).argmax())

    def learn(self):
        if len(self.buffer) < self.batch:
            return None
        batch = self.buffer.sample(self.batch)
        states, nexts = paddle.stack(batch.state), paddle.stack(batch.next_state)
        actions = paddle.to_tensor(batch.action).unsqueeze(-1)
        rewards = paddle.to_tensor(batch.reward, dtype="float32")
        alive = 1.0 - paddle.to_tensor(batch.done).astype("float32")
        value = paddle.take_along_axis(self.q(states), actions, axis=1).squeeze(-1)
        with paddle.no_grad():
            best = self.q(nexts).argmax(axis=1, keepdim=True)
            future = paddle.take_along_axis(self.target(nexts), best, axis=1).squeeze(-1)
        loss = F.smooth_l1_loss(value, rewards + self.gamma * alive * future)
        loss.backward()
        self.opt.step()
        self.opt.clear_grad()
        self.steps += 1
        if self.steps % self.sync_every == 0:
            self.target.set_state_dict(self.q.state_dict())
        return float(loss)


@program
def double_dqn_on_a_chain(convert):
    """DQN on a small chain environment: replay buffer, epsilon greedy, target network."""
    paddle.seed(8)
    env, agent = Chain(), Agent()

    def episode(max_steps=12):
        state, total, losses = env.reset(), 0.0, []
        for t in range(max_steps):
            action = agent.act(state)
            nxt, reward, done = env.step(action)
            agent.buffer.push(state, action, reward, nxt, done)
            total += reward
            state = nxt
            loss = agent.learn()
            if loss is not None:
                losses.append(loss)
            if done:
                break
        agent.epsilon *= 0.8
        print(f"return {total:.2f} after {t + 1} steps, {len(agent.buffer)} stored")
        return total, sum(losses) / max(len(losses), 1), agent.q.weight.clone()

    function = convert(episode)

    def calls():
        return [(6,), (12,), (9,)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


@dataclass(frozen=True)
class PPOConfig:
    clip: float = 0.2
    gamma: float = 0.99
    lam: float = 0.95
    epochs: int = 4
    minibatch: int = 4
    target_kl: float = 0.01
    ent_coef: float = 0.01


class ActorCritic(nn.Layer):
    def __init__(self, obs=3, actions=2, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, width), nn.Tanh())
        self.pi = nn.Linear(width, actions)
        self.v = nn.Linear(width, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(self.pi(h)), self.v(h).squeeze(-1)


def gae(rewards, values, dones, last_value, gamma, lam):
    advantages = paddle.zeros_like(rewards)
    running = paddle.zeros([])
    next_value = last_value
    for t in reversed(range(rewards.shape[0])):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * next_value * alive - values[t]
        running = delta + gamma * lam * alive * running
        advantages[t] = running
        next_value = values[t]
    return advantages, advantages + values


def logits_logp(dist, actions):
    logp = paddle.nn.functional.log_softmax(dist.logits, axis=-1)
    return paddle.take_along_axis(logp, actions.unsqueeze(-1), axis=1).squeeze(-1), -(
        logp.exp() * logp
    ).sum(-1)


class PPO:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opt = paddle.optimizer.Adam(
            0.02, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.5)
        )
        self.updates = 0

    def update(self, obs, actions, rewards, dones):
        cfg = self.cfg
        with paddle.no_grad():
            dist, values = self.model(obs)
            old_logp, _ = logits_logp(dist, actions)
            adv, returns = gae(rewards, values, dones, values[-1], cfg.gamma, cfg.lam)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        stopped = None
        for epoch in range(cfg.epochs):
            order = paddle.randperm(obs.shape[0])
            kls = []
            for start in range(0, obs.shape[0], cfg.minibatch):
                idx = order[start : start + cfg.minibatch]
                dist, value = self.model(obs[idx])
                logp, entropy = logits_logp(dist, actions[idx])
                ratio = paddle.exp(logp - old_logp[idx])
                clipped = ratio.clip(1 - cfg.clip, 1 + cfg.clip)
                policy = -paddle.minimum(ratio * adv[idx], clipped * adv[idx]).mean()
                loss = (
                    policy
                    + 0.5 * ((value - returns[idx]) ** 2).mean()
                    - cfg.ent_coef * entropy.mean()
                )
                loss.backward()
                self.opt.step()
                self.opt.clear_grad()
                self.updates += 1
                kls.append((ratio - 1 - paddle.log(ratio)).detach().mean())
            kl = paddle.stack(kls).mean()
            if kl > 1.5 * cfg.target_kl:
                stopped = epoch
                break
        return loss, kl, stopped, self.updates


@program
def ppo_that_stops_on_kl(convert):
    """A PPO update with GAE, clipped objective, minibatches and a stop on the KL divergence."""
    paddle.seed(17)
    ppo = PPO(ActorCritic(), PPOConfig())

    def update(obs, actions, rewards, dones):
        loss, kl, stopped, n = ppo.update(obs, actions, rewards, dones)
        if stopped is not None:
            print("early stop in epoch", stopped)
        return loss, kl, n

    function = convert(update)

    def calls():
        paddle.seed(18)

        def rollout(n):
            return (
                paddle.randn([n, 3]),
                paddle.randint(0, 2, [n]),
                paddle.randn([n]),
                (paddle.rand([n]) > 0.8).astype("float32"),
            )

        return [rollout(8), rollout(8), rollout(6)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class StopTraining(Exception):
    pass


class EventBus:
    def __init__(self):
        self._handlers = defaultdict(list)

    def on(self, event, handler):
        self._handlers[event].append(handler)
        return handler

    def emit(self, event, **info):
        for handler in self._handlers[event]:
            handler(**info)


class Callback:
    def attach(self, bus):
        for name in ("epoch_start", "step_end", "epoch_end"):
            method = getattr(self, f"on_{name}", None)
            if method is not None:
                bus.on(name, method)


class LossLogger(Callback):
    def __init__(self):
        self.losses = []

    def on_step_end(self, step, loss, **_):
        self.losses.append(loss.detach())

    def on_epoch_end(self, epoch, **_):
        print(f"epoch {epoch} mean loss {float(sum(self.losses) / len(self.losses)):.3f}")
        self.losses.clear()


class StopOnPlateau(Callback):
    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.previous = None

    def on_step_end(self, step, loss, **_):
        if self.previous is not None and (self.previous - loss).abs() < self.tolerance:
            raise StopTraining(f"plateau at step {step}")
        self.previous = loss.detach()


class LrDecay(Callback):
    def __init__(self, optimizer, factor):
        self.optimizer, self.factor = optimizer, factor

    def on_epoch_start(self, epoch):
        if epoch > 0:
            self.optimizer.set_lr(self.optimizer.get_lr() * self.factor)


class Trainer:
    def __init__(self, model, loss_fn, optimizer, callbacks):
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.bus = EventBus()
        for c in callbacks:
            c.attach(self.bus)
        self.global_step = 0

    def fit(self, batches, epochs):
        try:
            for epoch in range(epochs):
                self.bus.emit("epoch_start", epoch=epoch)
                for x, y in batches:
                    loss = self.loss_fn(self.model(x), y)
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.global_step += 1
                    self.bus.emit("step_end", step=self.global_step, loss=loss)
                self.bus.emit("epoch_end", epoch=epoch)
        except StopTraining as stop:
            print("stopped:", stop)
            return "stopped", loss
        return "done", loss


@program
def trainer_with_an_event_bus(convert):
    """A trainer with callbacks, an event bus, and exceptions as control flow."""
    paddle.seed(27)
    model = nn.Linear(2, 1)
    opt = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    huber = functools.partial(nn.functional.smooth_l1_loss, delta=0.5)
    trainer = Trainer(model, huber, opt, [LossLogger(), StopOnPlateau(2e-4), LrDecay(opt, 0.5)])

    def fit(x, y, epochs=2):
        batches = [(x[:3], y[:3]), (x[3:], y[3:])]
        status, loss = trainer.fit(batches, epochs)
        return status, loss, trainer.global_step, round(opt.get_lr(), 4)

    function = convert(fit)

    def calls():
        paddle.seed(28)
        x = paddle.randn([6, 2])
        y = x.sum(axis=1, keepdim=True)
        return [(x, y), (x, y, 3), (paddle.zeros([6, 2]), paddle.zeros([6, 1]), 2)]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


REGISTRY = {}


def register(name):
    def wrap(cls):
        if name in REGISTRY:
            raise KeyError(f"{name} is registered already")
        REGISTRY[name] = cls
        cls.key = name
        return cls

    return wrap


@dataclass
class StepConfig:
    name: str
    kwargs: dict[str, Any] = field(default_factory=dict)


class Transform(abc.ABC):
    key = None

    @abc.abstractmethod
    def apply(self, x): ...

    def enabled(self, x):
        return True

    def __call__(self, x):
        if self.enabled(x):
            return self.apply(x)
        return x

    def __repr__(self):
        args = ", ".join(f"{k}={v}" for k, v in sorted(vars(self).items()))
        return f"{self.key}({args})"


@register("normalise")
class Normalise(Transform):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def apply(self, x):
        return (x - x.mean(axis=-1, keepdim=True)) / (x.std(axis=-1, keepdim=True) + self.eps)


@register("clip")
class Clip(Transform):
    def __init__(self, limit):
        self.limit = limit

    def enabled(self, x):
        return x.abs().max() > self.limit

    def apply(self, x):
        return x.clip(-self.limit, self.limit)


@register("drop_rows")
class DropRows(Transform):
    """Leaves out the rows that hold a value which is not finite."""

    def enabled(self, x):
        return not paddle.isfinite(x).all()

    def apply(self, x):
        good = paddle.isfinite(x).all(axis=-1)
        if not good.any():
            raise ValueError("every row is bad")
        return x[good]


class Pipeline:
    def __init__(self, steps):
        self.steps = [REGISTRY[s.name](**s.kwargs) for s in steps]

    def __call__(self, x):
        for step in self.steps:
            before = x.shape
            x = step(x)
            if x.shape != before:
                print(f"{step!r}: {before} -> {x.shape}")
        return x


@program
def pipeline_of_registered_steps(convert):
    """A preprocessing pipeline built from configs by a registry of abstract transforms."""
    function = convert(
        Pipeline(
            [StepConfig("drop_rows"), StepConfig("clip", {"limit": 3.0}), StepConfig("normalise")]
        ).__call__
    )

    def calls():
        nan = float("nan")
        return [
            (paddle.to_tensor([[1.0, 2, 9], [0, 1, 0]]),),
            (paddle.to_tensor([[1.0, nan, 2], [0.5, 1, 2], [1, 1, 4]]),),
            (paddle.to_tensor([[nan, 1.0]]),),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Metric:
    def reset(self):
        raise NotImplementedError

    def update(self, *args):
        raise NotImplementedError

    def compute(self):
        raise NotImplementedError


class RunningStats(Metric):
    def __init__(self):
        self.reset()

    def reset(self):
        self.n = 0
        self.mean = paddle.zeros([])
        self.m2 = paddle.zeros([])

    def update(self, values):
        for v in values:
            self.n += 1
            delta = v - self.mean
            self.mean = self.mean + delta / self.n
            self.m2 = self.m2 + delta * (v - self.mean)

    def compute(self):
        if self.n < 2:
            return {"mean": self.mean, "std": paddle.zeros([])}
        return {"mean": self.mean, "std": (self.m2 / (self.n - 1)).sqrt()}


class Confusion(Metric):
    def __init__(self, classes):
        self.classes = classes
        self.reset()

    def reset(self):
        self.matrix = paddle.zeros([self.classes, self.classes], dtype="int64")

    def update(self, pred, label):
        flat = label * self.classes + pred
        counts = paddle.bincount(flat, minlength=self.classes**2)
        self.matrix += counts.reshape([self.classes, self.classes])

    def compute(self):
        m = self.matrix.astype("float32")
        tp = paddle.diagonal(m)
        precision = tp / m.sum(axis=0).clip(min=1)
        recall = tp / m.sum(axis=1).clip(min=1)
        f1 = paddle.where(
            precision + recall > 0,
            2 * precision * recall / (precision + recall),
            paddle.zeros_like(tp),
        )
        return {"accuracy": tp.sum() / m.sum(), "macro_f1": f1.mean()}


class AUC(Metric):
    def __init__(self):
        self.reset()

    def reset(self):
        self.scores, self.labels = [], []

    def update(self, scores, labels):
        self.scores.append(scores)
        self.labels.append(labels)

    def compute(self):
        s, l = paddle.concat(self.scores), paddle.concat(self.labels)
        pos, neg = s[l == 1], s[l == 0]
        if pos.shape[0] == 0 or neg.shape[0] == 0:
            raise ValueError("AUC needs both classes")
        wins = (pos.unsqueeze(1) > neg.unsqueeze(0)).astype("float32")
        ties = (pos.unsqueeze(1) == neg.unsqueeze(0)).astype("float32")
        return {"auc": (wins + 0.5 * ties).mean()}


class MetricCollection(dict):
    def compute(self):
        out = {}
        for name, metric in self.items():
            try:
                for k, v in metric.compute().items():
                    out[f"{name}/{k}"] = v
            except ValueError as e:
                print(f"{name}: {e}")
        return out


@program
def metrics_in_a_collection(convert):
    """Accumulators for evaluation: Welford statistics, a confusion matrix, and AUC by ranks."""
    collection = MetricCollection(stats=RunningStats(), confusion=Confusion(2), auc=AUC())

    def evaluate(logits, labels):
        scores = paddle.nn.functional.sigmoid(logits)
        collection["stats"].update(scores)
        collection["confusion"].update((scores > 0.5).astype("int64"), labels)
        collection["auc"].update(scores, labels)
        return collection.compute()

    function = convert(evaluate)

    def calls():
        return [
            (paddle.to_tensor([0.5, -1.0]), paddle.to_tensor([1, 1])),
            (paddle.to_tensor([2.0, -0.3, 0.1]), paddle.to_tensor([1, 0, 0])),
            (paddle.to_tensor([0.5]), paddle.to_tensor([0])),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))
