"""Reinforcement learning as it is written in notebooks: agents, buffers, advantages, tables."""

import math
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import Dict, List

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program

Transition = namedtuple("Transition", ["state", "action", "reward", "next_state", "done"])


@program
def policy_gradient_on_a_cart(convert):
    """A cart on a line, simulated on tensors; a sampled episode is one loss."""

    class Cart:
        def __init__(self, limit=2.0, dt=0.3):
            self.limit, self.dt = limit, dt
            self.state = None

        def reset(self, position=0.0):
            self.state = paddle.to_tensor([position, 0.0])
            return self.state

        def step(self, force):
            position, velocity = self.state[0], self.state[1]
            velocity = velocity + self.dt * force
            position = position + self.dt * velocity
            self.state = paddle.stack([position, velocity])
            out = position.abs() > self.limit
            reward = 1.0 - position.abs()
            return self.state, reward, out

    class Policy(nn.Layer):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(2, 8)
            self.logits = nn.Linear(8, 3)

        def forward(self, state):
            return F.log_softmax(self.logits(F.tanh(self.hidden(state))), axis=-1)

    env, policy = Cart(), Policy()
    optimizer = paddle.optimizer.Adam(learning_rate=0.05, parameters=policy.parameters())

    @convert
    def run_episode(start, max_steps=10, gamma=0.95):
        state = env.reset(start)
        log_probs, rewards = [], []
        for t in range(max_steps):
            logp = policy(state.unsqueeze(0))[0]
            action = paddle.multinomial(logp.exp(), num_samples=1)
            log_probs.append(logp[action])
            state, reward, done = env.step((action.astype("float32") - 1.0)[0])
            rewards.append(reward)
            if done:
                break
        ret = paddle.zeros([])
        losses = []
        for logp, reward in zip(reversed(log_probs), reversed(rewards)):
            ret = reward + gamma * ret
            losses.append(-logp * ret.detach())
        return paddle.concat(losses).mean(), len(rewards), ret

    paddle.seed(1)
    for episode in range(4):
        loss, length, ret = run_episode(0.4 * episode, max_steps=10 if episode < 3 else 5)
        loss.backward()
        optimizer.step()
        yield loss, length, ret, policy.logits.weight.grad
        optimizer.clear_grad()
    yield policy.hidden.bias


@program
def ppo_that_stops_at_a_kl(convert):
    """PPO: minibatches, clipped ratio and value, entropy bonus, and an early stop by KL."""

    @dataclass
    class PPOConfig:
        clip: float = 0.2
        epochs: int = 4
        minibatch: int = 4
        target_kl: float = 0.01
        value_coef: float = 0.5
        entropy_coef: float = 0.01

    class ActorCritic(nn.Layer):
        def __init__(self, obs=3, actions=2):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(obs, 8), nn.Tanh())
            self.actor = nn.Linear(8, actions)
            self.critic = nn.Linear(8, 1)

        def evaluate(self, obs, actions):
            h = self.body(obs)
            logp = F.log_softmax(self.actor(h), axis=-1)
            entropy = -(logp.exp() * logp).sum(axis=-1)
            chosen = paddle.take_along_axis(logp, actions.unsqueeze(-1), axis=-1).squeeze(-1)
            return chosen, entropy, self.critic(h).squeeze(-1)

    class PPO:
        def __init__(self, model, config=None):
            self.model = model
            self.config = config or PPOConfig()
            self.optimizer = paddle.optimizer.Adam(
                learning_rate=0.05, parameters=model.parameters(), grad_clip=nn.ClipGradByNorm(1.0)
            )

        def minibatch_loss(self, batch):
            c = self.config
            logp, entropy, value = self.model.evaluate(batch["obs"], batch["actions"])
            log_ratio = logp - batch["logp"]
            ratio = log_ratio.exp()
            adv = batch["adv"]
            surrogate = paddle.minimum(ratio * adv, ratio.clip(1 - c.clip, 1 + c.clip) * adv)
            value_loss = (value - batch["returns"]).square().mean()
            loss = -surrogate.mean() + c.value_coef * value_loss - c.entropy_coef * entropy.mean()
            approx_kl = ((ratio - 1) - log_ratio).mean()
            clipped = ((ratio - 1).abs() > c.clip).astype("float32").mean()
            return loss, approx_kl, clipped

        @convert
        def update(self, batch: Dict[str, paddle.Tensor]):
            size = batch["obs"].shape[0]
            batch["adv"] = (batch["adv"] - batch["adv"].mean()) / (batch["adv"].std() + 1e-8)
            history = {"loss": [], "kl": [], "clipped": []}
            stopped = False
            for epoch in range(self.config.epochs):
                for begin in range(0, size, self.config.minibatch):
                    part = {k: v[begin : begin + self.config.minibatch] for k, v in batch.items()}
                    loss, kl, clipped = self.minibatch_loss(part)
                    if kl > 1.5 * self.config.target_kl:
                        stopped = True
                        break
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    history["loss"].append(loss.detach())
                    history["kl"].append(kl.detach())
                    history["clipped"].append(clipped)
                if stopped:
                    break
            return history, stopped

    model = ActorCritic()
    agent = PPO(model)
    rng = np.random.RandomState(3)
    for size, target in ((8, 0.01), (6, 10.0), (8, 1e-4)):
        agent.config.target_kl = target
        obs = paddle.to_tensor(rng.randn(size, 3).astype("float32"))
        actions = paddle.to_tensor(rng.randint(0, 2, size))
        with paddle.no_grad():
            logp, _, values = model.evaluate(obs, actions)
        returns = paddle.to_tensor(rng.randn(size).astype("float32"))
        batch = dict(obs=obs, actions=actions, logp=logp, adv=returns - values, returns=returns)
        yield agent.update(batch)
        yield model.actor.weight.clone(), model.critic.bias.clone()


@program
def tabular_q_learning(convert):
    """Q-learning on a windy grid with epsilon-greedy actions from given random numbers."""

    class GridWorld:
        MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

        def __init__(self, height=3, width=4, goal=(2, 3), wind=(0, 0, 1, 0)):
            self.height, self.width = height, width
            self.goal = goal[0] * width + goal[1]
            self.moves = paddle.to_tensor(self.MOVES)
            self.wind = paddle.to_tensor(wind)

        @property
        def num_states(self):
            return self.height * self.width

        def step(self, state, action):
            row, col = state // self.width, state % self.width
            row = paddle.clip(row + self.moves[action, 0] + self.wind[col], 0, self.height - 1)
            col = paddle.clip(col + self.moves[action, 1], 0, self.width - 1)
            after = row * self.width + col
            done = after == self.goal
            reward = paddle.where(done, paddle.to_tensor(1.0), paddle.to_tensor(-0.05))
            return after, reward, done

    class QAgent:
        def __init__(self, states, actions, lr=0.5, gamma=0.9):
            self.q = paddle.zeros([states, actions])
            self.lr, self.gamma = lr, gamma
            self.visits = 0

        def act(self, state, uniform, epsilon):
            if uniform < epsilon:
                return (uniform / epsilon * self.q.shape[1]).floor().astype("int64")
            return self.q[state].argmax()

        def learn(self, state, action, reward, after, done):
            target = reward
            if not done:
                target = reward + self.gamma * self.q[after].max()
            error = target - self.q[state, action]
            self.q[state, action] = self.q[state, action] + self.lr * error
            self.visits += 1
            return error

    world = GridWorld()
    agent = QAgent(world.num_states, actions=4)

    @convert
    def episode(uniforms, epsilon=0.3, start=0):
        state = paddle.to_tensor(start)
        total = paddle.zeros([])
        steps = 0
        largest = paddle.zeros([])
        while steps < uniforms.shape[0]:
            action = agent.act(state, uniforms[steps], epsilon)
            after, reward, done = world.step(state, action)
            error = agent.learn(state, action, reward, after, done)
            largest = paddle.maximum(largest, error.abs())
            total = total + reward
            state = after
            steps += 1
            if done:
                break
        return total, steps, largest

    rng = np.random.RandomState(5)
    for n, epsilon in ((10, 0.9), (14, 0.9), (14, 0.5), (10, 1e-6)):
        yield episode(paddle.to_tensor(rng.rand(n).astype("float32")), epsilon=epsilon)
        yield agent.q.clone(), agent.visits
    yield episode(paddle.to_tensor(rng.rand(6).astype("float32")), start=4)


@program
def double_dqn_with_replay(convert):
    """A replay buffer of tuples, a target network with soft updates, Huber loss."""

    class ReplayBuffer:
        def __init__(self, capacity):
            self.memory = deque(maxlen=capacity)
            self.rng = np.random.RandomState(0)

        def push(self, *args):
            self.memory.append(Transition(*args))

        def sample(self, batch_size):
            picks = self.rng.choice(len(self.memory), batch_size, replace=False)
            rows = [self.memory[i] for i in picks]
            return Transition(*(paddle.stack(column) for column in zip(*rows)))

        def __len__(self):
            return len(self.memory)

    class QNetwork(nn.Layer):
        def __init__(self, inputs=3, actions=2, dueling=False):
            super().__init__()
            self.dueling = dueling
            self.fc = nn.Linear(inputs, 8)
            self.adv = nn.Linear(8, actions)
            if dueling:
                self.val = nn.Linear(8, 1)

        def forward(self, x):
            h = F.relu(self.fc(x))
            adv = self.adv(h)
            if self.dueling:
                return self.val(h) + adv - adv.mean(axis=-1, keepdim=True)
            return adv

    class Agent:
        def __init__(self, dueling):
            self.online, self.target = QNetwork(dueling=dueling), QNetwork(dueling=dueling)
            self.target.set_state_dict(self.online.state_dict())
            self.buffer = ReplayBuffer(capacity=12)
            self.optimizer = paddle.optimizer.Adam(0.02, parameters=self.online.parameters())
            self.updates = 0

        @convert
        def learn(self, batch_size=4, gamma=0.9, double=True, tau=None):
            if len(self.buffer) < batch_size:
                return None
            batch = self.buffer.sample(batch_size)
            q = self.online(batch.state)
            q = paddle.take_along_axis(q, batch.action.unsqueeze(-1), axis=1).squeeze(-1)
            with paddle.no_grad():
                if double:
                    best = self.online(batch.next_state).argmax(axis=-1, keepdim=True)
                    after = paddle.take_along_axis(self.target(batch.next_state), best, axis=1)
                    after = after.squeeze(-1)
                else:
                    after = self.target(batch.next_state).max(axis=-1)
                wanted = batch.reward + gamma * after * (1.0 - batch.done)
            loss = F.smooth_l1_loss(q, wanted)
            self.optimizer.clear_grad()
            loss.backward()
            self.optimizer.step()
            self.updates += 1
            if tau is not None:
                for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                    slow.set_value((1 - tau) * slow + tau * fast)
            return loss

    rng = np.random.RandomState(9)
    for dueling in (False, True):
        agent = Agent(dueling)
        for i in range(14):
            s, s2 = rng.randn(2, 3).astype("float32")
            agent.buffer.push(
                paddle.to_tensor(s),
                paddle.to_tensor(int(rng.randint(2))),
                paddle.to_tensor(float(rng.randn())),
                paddle.to_tensor(s2),
                paddle.to_tensor(float(i % 5 == 4)),
            )
            if i % 3 == 1:
                yield agent.learn(double=i % 2 == 0, tau=0.1 if i > 6 else None)
        yield agent.target.adv.weight, agent.updates, len(agent.buffer)


@program
def soft_actor_critic_step(convert):
    """SAC on a small batch: squashed Gaussian policy, twin critics, learned temperature."""
    LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0

    def mlp(sizes):
        layers = []
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            layers.append(nn.Linear(a, b))
            if i < len(sizes) - 2:
                layers.append(nn.ReLU())
        return nn.Sequential(*layers)

    class GaussianPolicy(nn.Layer):
        def __init__(self, obs, act):
            super().__init__()
            self.net = mlp([obs, 8, 2 * act])

        def forward(self, obs, noise=None, deterministic=False):
            mean, log_std = self.net(obs).chunk(2, axis=-1)
            log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std.tanh() + 1)
            if deterministic:
                return mean.tanh(), None
            std = log_std.exp()
            noise = paddle.randn(mean.shape) if noise is None else noise
            raw = mean + std * noise
            logp = (-0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)).sum(axis=-1)
            logp -= (2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(axis=-1)
            return raw.tanh(), logp

    class SAC:
        def __init__(self, obs=3, act=2):
            self.policy = GaussianPolicy(obs, act)
            self.critics = nn.LayerList([mlp([obs + act, 8, 1]) for _ in range(2)])
            self.log_alpha = paddle.create_parameter(shape=[1], dtype="float32")
            self.log_alpha.set_value(paddle.zeros([1]))
            self.target_entropy = -float(act)
            self.opt_policy = paddle.optimizer.Adam(0.01, parameters=self.policy.parameters())
            self.opt_critic = paddle.optimizer.Adam(0.01, parameters=self.critics.parameters())
            self.opt_alpha = paddle.optimizer.Adam(0.01, parameters=[self.log_alpha])

        def q(self, obs, act):
            x = paddle.concat([obs, act], axis=-1)
            return [critic(x).squeeze(-1) for critic in self.critics]

        @convert
        def update(self, obs, act, reward, after, gamma=0.97, train_alpha=True):
            alpha = self.log_alpha.exp().detach()
            with paddle.no_grad():
                next_act, next_logp = self.policy(after)
                backup = paddle.minimum(*self.q(after, next_act)) - alpha * next_logp
                backup = reward + gamma * backup
            critic_loss = sum(F.mse_loss(q, backup) for q in self.q(obs, act))
            critic_loss.backward()
            self.opt_critic.step()
            self.opt_critic.clear_grad()

            new_act, logp = self.policy(obs)
            policy_loss = (alpha * logp - paddle.minimum(*self.q(obs, new_act))).mean()
            policy_loss.backward()
            self.opt_policy.step()
            self.opt_policy.clear_grad()
            self.opt_critic.clear_grad()

            info = {"critic": critic_loss, "policy": policy_loss, "alpha": alpha}
            if train_alpha:
                gap = (logp + self.target_entropy).detach()
                alpha_loss = -(self.log_alpha * gap).mean()
                alpha_loss.backward()
                self.opt_alpha.step()
                self.opt_alpha.clear_grad()
                info["alpha_loss"] = alpha_loss
            return info

    paddle.seed(77)
    agent = SAC()
    for size, train_alpha in ((4, True), (4, True), (6, False)):
        obs, after = paddle.randn([size, 3]), paddle.randn([size, 3])
        act, reward = paddle.rand([size, 2]) * 2 - 1, paddle.randn([size])
        yield agent.update(obs, act, reward, after, train_alpha=train_alpha)
    yield agent.log_alpha, agent.policy.net[0].weight
    yield agent.policy(obs, deterministic=True)


@program
def cross_entropy_method_planning(convert):
    """Model-predictive control by CEM: elites refit a Gaussian until its spread is small."""

    @dataclass
    class Plan:
        mean: paddle.Tensor
        std: paddle.Tensor
        cost: paddle.Tensor
        iterations: int
        costs: List[paddle.Tensor]

    def dynamics(state, action):
        position, velocity = state[..., 0], state[..., 1]
        velocity = 0.9 * velocity + 0.2 * action.clip(-1, 1)
        return paddle.stack([position + velocity, velocity], axis=-1)

    def rollout_cost(state, actions, goal):
        population, horizon = actions.shape
        state = state.unsqueeze(0).expand([population, 2])
        cost = paddle.zeros([population])
        for t in range(horizon):
            state = dynamics(state, actions[:, t])
            cost = cost + (state[:, 0] - goal).square() + 0.01 * actions[:, t].square()
        return cost

    @convert
    def plan(state, goal, horizon=4, population=12, elites=3, iterations=6, tol=0.2, warm=None):
        mean = paddle.zeros([horizon]) if warm is None else paddle.concat([warm[1:], warm[-1:]])
        std = paddle.ones([horizon])
        costs = []
        used = 0
        for i in range(iterations):
            used = i + 1
            noise = paddle.randn([population, horizon])
            actions = mean + std * noise
            cost = rollout_cost(state, actions, goal)
            best, index = paddle.topk(cost, k=elites, largest=False)
            chosen = paddle.index_select(actions, index, axis=0)
            mean, std = chosen.mean(axis=0), chosen.std(axis=0)
            costs.append(best.mean())
            if std.max() < tol:
                break
        return Plan(mean=mean, std=std, cost=costs[-1], iterations=used, costs=costs)

    paddle.seed(19)
    state = paddle.to_tensor([0.0, 0.0])
    warm = None
    for goal in (1.0, 1.0, -0.5):
        result = plan(state, goal, warm=warm)
        warm = result.mean
        state = dynamics(state, result.mean[0])
        yield result, state
    yield plan(state, 0.0, horizon=3, population=8, tol=10.0)
    yield plan(state, paddle.to_tensor(0.3), iterations=2, tol=0.0)


@program
def bandits_compared(convert):
    """Bandit strategies that share an interface; regret is accumulated on tensors."""

    class Bandit:
        def __init__(self, means):
            self.means = paddle.to_tensor(means)

        def pull(self, arm, noise):
            return self.means[arm] + 0.1 * noise

        @property
        def best(self):
            return self.means.max()

    class Strategy:
        name = "base"

        def __init__(self, arms):
            self.counts = paddle.zeros([arms])
            self.values = paddle.zeros([arms])

        def select(self, t, uniform):
            raise NotImplementedError

        def update(self, arm, reward):
            self.counts[arm] = self.counts[arm] + 1
            self.values[arm] = self.values[arm] + (reward - self.values[arm]) / self.counts[arm]

    class EpsilonGreedy(Strategy):
        name = "epsilon-greedy"

        def __init__(self, arms, epsilon=0.2):
            super().__init__(arms)
            self.epsilon = epsilon

        def select(self, t, uniform):
            if uniform < self.epsilon:
                return (uniform / self.epsilon * len(self.counts)).astype("int64")
            return self.values.argmax()

    class UCB(Strategy):
        name = "ucb"

        def select(self, t, uniform):
            untried = self.counts == 0
            if untried.any():
                return untried.astype("int64").argmax()
            bonus = paddle.sqrt(2 * math.log(t + 1) / self.counts)
            return (self.values + bonus).argmax()

    class Softmax(Strategy):
        name = "softmax"

        def select(self, t, uniform):
            p = F.softmax(self.values * 5, axis=0)
            return (p.cumsum(0) < uniform).sum().clip(max=p.shape[0] - 1)

    @convert
    def play(bandit, strategy, uniforms, noises):
        regret = paddle.zeros([])
        arms = []
        for t in range(len(uniforms)):
            arm = strategy.select(t, uniforms[t])
            reward = bandit.pull(arm, noises[t])
            strategy.update(arm, reward)
            regret = regret + bandit.best - bandit.means[arm]
            arms.append(arm)
        return regret, paddle.stack(arms)

    rng = np.random.RandomState(1)
    bandit = Bandit([0.1, 0.5, 0.3])
    for cls in (EpsilonGreedy, UCB, Softmax):
        strategy = cls(3)
        for rounds in (4, 6):
            uniforms = paddle.to_tensor(rng.rand(rounds).astype("float32"))
            noises = paddle.to_tensor(rng.randn(rounds).astype("float32"))
            regret, arms = play(bandit, strategy, uniforms, noises)
            yield strategy.name, regret, arms
        yield strategy.values, strategy.counts
