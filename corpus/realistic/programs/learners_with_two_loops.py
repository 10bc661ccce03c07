"""Meta-learning, policies, replay, quantisation, adversaries, sharpness."""

from typing import NamedTuple

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.autograd import PyLayer

from corpus.realistic import program


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x, weights=None):
        w = dict(self.named_parameters()) if weights is None else weights
        h = paddle.tanh(F.linear(x, w["hidden.weight"], w["hidden.bias"]))
        return F.linear(h, w["out.weight"], w["out.bias"])


def adapt(net, x, y, lr, steps, target):
    weights = dict(net.named_parameters())
    for step in range(steps):
        loss = F.mse_loss(net(x, weights), y)
        if loss < target:
            break
        grads = paddle.grad(loss, list(weights.values()), create_graph=True)
        weights = {name: w - lr * g for (name, w), g in zip(weights.items(), grads)}
    return weights


def meta_step(net, optimizer, tasks, lr=0.1, steps=3, target=0.05):
    total = paddle.zeros([])
    for support, query in tasks:
        weights = adapt(net, *support, lr, steps, target)
        total = total + F.mse_loss(net(query[0], weights), query[1])
    total = total / len(tasks)
    total.backward()
    optimizer.step()
    optimizer.clear_grad()
    return total


def task(amplitude, phase):
    x = paddle.linspace(-2, 2, 6).unsqueeze(-1)
    return (x, amplitude * paddle.sin(x + phase)), (
        x + 0.3,
        amplitude * paddle.sin(x + 0.3 + phase),
    )


@program
def maml_meta_learning(convert):
    """MAML: the inner loop adapts fast weights with second-order gradients until the support loss is small."""

    paddle.seed(6)
    net = Net()
    optimizer = paddle.optimizer.SGD(0.05, parameters=net.parameters())
    step = convert(meta_step)
    yield step(net, optimizer, [task(1.0, 0.0), task(0.2, 1.0)])
    yield step(net, optimizer, [task(0.1, 0.0)], target=0.5)
    yield step(net, optimizer, [task(2.0, 0.5), task(1.5, 0.1), task(0.1, 0.2)])
    yield net.hidden.weight, net.out.bias


class Rollout(NamedTuple):
    states: paddle.Tensor
    actions: paddle.Tensor
    rewards: paddle.Tensor
    dones: paddle.Tensor


class ActorCritic(nn.Layer):
    def __init__(self, obs=3, actions=2):
        super().__init__()
        self.body = nn.Linear(obs, 8)
        self.pi, self.v = nn.Linear(8, actions), nn.Linear(8, 1)

    def forward(self, x):
        h = paddle.tanh(self.body(x))
        return F.log_softmax(self.pi(h), axis=-1), self.v(h).squeeze(-1)


def gae(rewards, values, dones, gamma=0.99, lam=0.95):
    advantages = []
    running, next_value = 0.0, 0.0
    for r, v, d in zip(reversed(rewards), reversed(values), reversed(dones)):
        if d:
            running, next_value = 0.0, 0.0
        delta = r + gamma * next_value - v
        running = delta + gamma * lam * running
        advantages.insert(0, running)
        next_value = v
    return paddle.stack(advantages)


def update(model, optimizer, rollout: Rollout, epochs=4, clip=0.2, max_kl=0.02):
    with paddle.no_grad():
        logp, values = model(rollout.states)
        old = logp.take_along_axis(rollout.actions.unsqueeze(-1), -1).squeeze(-1)
        advantages = gae(rollout.rewards, values, rollout.dones)
        returns = advantages + values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    metrics = {}
    for epoch in range(epochs):
        logp, values = model(rollout.states)
        new = logp.take_along_axis(rollout.actions.unsqueeze(-1), -1).squeeze(-1)
        kl = (old - new).mean()
        if kl > max_kl:
            print(f"stop at epoch {epoch}: kl {kl.item():.3f}")
            break
        ratio = paddle.exp(new - old)
        surrogate = paddle.minimum(
            ratio * advantages, ratio.clip(1 - clip, 1 + clip) * advantages
        ).mean()
        entropy = -(logp.exp() * logp).sum(-1).mean()
        loss = -surrogate + 0.5 * F.mse_loss(values, returns) - 0.01 * entropy
        optimizer.clear_grad()
        loss.backward()
        optimizer.step()
        metrics = {"loss": loss, "entropy": entropy, "epochs": epoch + 1}
    return metrics


@program
def ppo_update(convert):
    """A PPO update: generalized advantages by a reversed loop, clipped objective, stop on the KL divergence."""

    paddle.seed(9)
    model = ActorCritic()
    optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())
    step = convert(update)
    for dones in ([0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]):
        rollout = Rollout(
            paddle.randn([5, 3]),
            paddle.randint(0, 2, [5]),
            paddle.randn([5]),
            paddle.to_tensor(dones, dtype="bool"),
        )
        yield step(model, optimizer, rollout)
    yield step(model, optimizer, rollout, epochs=8, max_kl=0.5), model.pi.weight


class ReplayBuffer:
    def __init__(self, capacity, obs):
        self.capacity, self.size, self.cursor = capacity, 0, 0
        self.states = paddle.zeros([capacity, obs])
        self.next_states = paddle.zeros([capacity, obs])
        self.actions = paddle.zeros([capacity], dtype="int64")
        self.rewards = paddle.zeros([capacity])
        self.dones = paddle.zeros([capacity])

    def push(self, state, action, reward, next_state, done):
        i = self.cursor
        self.states[i], self.next_states[i] = state, next_state
        self.actions[i], self.rewards[i], self.dones[i] = action, reward, float(done)
        self.cursor = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, indices):
        return [
            t[indices]
            for t in (self.states, self.actions, self.rewards, self.next_states, self.dones)
        ]


class Agent:
    def __init__(self, obs=2, actions=3, capacity=6, sync=3):
        self.online = nn.Sequential(nn.Linear(obs, 8), nn.ReLU(), nn.Linear(8, actions))
        self.target = nn.Sequential(nn.Linear(obs, 8), nn.ReLU(), nn.Linear(8, actions))
        self.target.set_state_dict(self.online.state_dict())
        self.buffer = ReplayBuffer(capacity, obs)
        self.optimizer = paddle.optimizer.Adam(0.01, parameters=self.online.parameters())
        self.sync, self.updates = sync, 0

    def act(self, state, u, epsilon=0.2):
        if u < epsilon:
            return int(u / epsilon * 3)
        return self.online(state).argmax().item()

    def learn(self, state, u, reward, next_state, done, indices):
        action = self.act(state, u)
        self.buffer.push(state, action, reward, next_state, done)
        if self.buffer.size < 2:
            return action, None
        s, a, r, n, d = self.buffer.sample(indices % self.buffer.size)
        with paddle.no_grad():
            best = self.online(n).argmax(-1, keepdim=True)
            goal = r + 0.9 * (1 - d) * paddle.take_along_axis(self.target(n), best, -1).squeeze(-1)
        q = paddle.take_along_axis(self.online(s), a.unsqueeze(-1), -1).squeeze(-1)
        loss = F.smooth_l1_loss(q, goal)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.updates += 1
        if self.updates % self.sync == 0:
            self.target.set_state_dict(self.online.state_dict())
        return action, loss


@program
def dqn_with_replay(convert):
    """A DQN agent with a ring replay buffer in tensors, epsilon-greedy actions and a target network."""

    paddle.seed(12)
    agent = Agent()
    learn = convert(agent.learn)
    state = paddle.randn([2])
    for k in range(7):
        following = paddle.randn([2])
        yield learn(
            state,
            paddle.rand([]),
            paddle.rand([]),
            following,
            paddle.to_tensor(k % 3 == 2),
            paddle.randint(0, 100, [4]),
        )
        state = following
    yield agent.buffer.actions, agent.buffer.cursor, agent.target[2].weight, agent.updates


class FakeQuant(PyLayer):
    @staticmethod
    def forward(ctx, x, scale, levels):
        q = paddle.round(x / scale)
        mask = (q >= -levels) & (q <= levels)
        ctx.save_for_backward(mask.astype(x.dtype))
        return paddle.clip(q, -levels, levels) * scale

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensor()
        return grad * mask, None


class QuantLinear(nn.Linear):
    def __init__(self, inputs, outputs, bits=4, momentum=0.9):
        super().__init__(inputs, outputs)
        self.levels = 2 ** (bits - 1) - 1
        self.momentum = momentum
        self.register_buffer("range", paddle.zeros([]))

    def observe(self, x):
        peak = x.detach().abs().max()
        if self.range == 0:
            self.range.set_value(peak)
        else:
            self.range.set_value(self.momentum * self.range + (1 - self.momentum) * peak)

    def forward(self, x):
        if self.training:
            self.observe(x)
        if self.range > 0:
            x = FakeQuant.apply(x, self.range / self.levels, self.levels)
        weight_scale = self.weight.detach().abs().max() / self.levels
        w = FakeQuant.apply(self.weight, weight_scale, self.levels)
        return nn.functional.linear(x, w, self.bias)


@program
def quantization_aware_training(convert):
    """Quantization-aware training: a PyLayer rounds with a straight-through gradient, an observer tracks the range."""

    paddle.seed(22)
    layer = convert(QuantLinear(4, 2))
    x = paddle.randn([3, 4])
    x.stop_gradient = False
    layer.eval()
    yield layer(x)
    layer.train()
    for scale in (1.0, 3.0):
        out = layer(x * scale)
        out.square().mean().backward()
        yield out, x, layer.weight, layer.range
    layer.eval()
    yield layer(x * 10)


def gradient_penalty(critic, real, fake, mix):
    point = (mix * real + (1 - mix) * fake).detach()
    point.stop_gradient = False
    score = critic(point).sum()
    grad = paddle.grad(score, point, create_graph=True)[0]
    return ((grad.norm(axis=-1) - 1) ** 2).mean()


class GAN:
    def __init__(self, noise=2, data=3):
        self.generator = nn.Sequential(nn.Linear(noise, 6), nn.Tanh(), nn.Linear(6, data))
        self.critic = nn.Sequential(nn.Linear(data, 6), nn.LeakyReLU(), nn.Linear(6, 1))
        self.g_opt = paddle.optimizer.Adam(0.01, parameters=self.generator.parameters())
        self.c_opt = paddle.optimizer.Adam(0.02, parameters=self.critic.parameters())
        self.gaps = []

    def train_critic(self, real, noise, mix, weight=10.0):
        fake = self.generator(noise).detach()
        gap = self.critic(real).mean() - self.critic(fake).mean()
        loss = -gap + weight * gradient_penalty(self.critic, real, fake, mix)
        self.c_opt.clear_grad()
        loss.backward()
        self.c_opt.step()
        return gap.detach()

    def step(self, real, noise, mix, critic_steps=3, enough=0.5):
        used = 0
        for k in range(critic_steps):
            gap = self.train_critic(real, noise[k], mix[k])
            used += 1
            if gap > enough:
                break
        self.gaps.append(gap)
        loss = -self.critic(self.generator(noise[-1])).mean()
        self.g_opt.clear_grad()
        loss.backward()
        self.g_opt.step()
        self.c_opt.clear_grad()
        return loss, used


@program
def wgan_step(convert):
    """A WGAN step: several critic updates with a gradient penalty, then the generator; the critic stops early when it wins."""

    paddle.seed(25)
    gan = GAN()
    step = convert(gan.step)
    for shift in (0.0, 4.0, 1.0):
        yield step(paddle.randn([5, 3]) + shift, paddle.randn([4, 5, 2]), paddle.rand([3, 5, 1]))
    yield gan.gaps, gan.generator[0].weight, gan.critic[2].weight


class SAM:
    def __init__(self, parameters, base, rho=0.05, k=2, alpha=0.5):
        self.parameters = list(parameters)
        self.base, self.rho, self.k, self.alpha = base, rho, k, alpha
        self.slow = [p.detach().clone() for p in self.parameters]
        self.count = 0

    def grad_norm(self):
        return paddle.stack([p.grad.norm() for p in self.parameters if p.grad is not None]).norm()

    @paddle.no_grad()
    def climb(self):
        norm = self.grad_norm()
        if norm < 1e-12:
            return None
        moves = []
        for p in self.parameters:
            e = p.grad * (self.rho / norm)
            p.add_(e)
            moves.append(e)
        self.base.clear_grad()
        return moves

    @paddle.no_grad()
    def descend(self, moves):
        for p, e in zip(self.parameters, moves):
            p.subtract_(e)
        self.base.step()
        self.base.clear_grad()
        self.count += 1
        if self.count % self.k == 0:
            for slow, p in zip(self.slow, self.parameters):
                slow.set_value(slow + self.alpha * (p - slow))
                p.set_value(slow)


def train_step(model, sam, x, y):
    first = nn.functional.mse_loss(model(x), y)
    first.backward()
    moves = sam.climb()
    if moves is None:
        return first, None
    second = nn.functional.mse_loss(model(x), y)
    second.backward()
    sam.descend(moves)
    return first, second - first


@program
def sam_with_lookahead(convert):
    """Sharpness-aware minimization: climb to the worst neighbour, step from there; slow weights (lookahead) every k steps."""

    paddle.seed(29)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    sam = SAM(model.parameters(), paddle.optimizer.SGD(0.1, parameters=model.parameters()))
    step = convert(train_step)
    x = paddle.randn([5, 3])
    for scale in (1.0, 2.0, 0.5):
        yield step(model, sam, x * scale, x.mean(-1, keepdim=True))
    yield sam.slow, sam.count, model[0].weight
