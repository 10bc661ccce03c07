"""Learn to balance a pole (REINFORCE): a whole episode is one loop of the program.

The physics of the cart are tensors, too, so nothing leaves the program until the episode ends.

    python -m examples.policy_gradient
"""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn import functional as F

import d2s

CARTS = 16


def physics(state, push):
    """The next state of a cart with a pole: x, v, angle, spin; ``push`` is -1 or 1."""
    x, v, angle, spin = state.unbind(1)
    force = 10.0 * push
    sin, cos = paddle.sin(angle), paddle.cos(angle)
    common = (force + 0.05 * spin**2 * sin) / 1.1
    turn = (9.8 * sin - cos * common) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    speed = common - 0.05 * turn * cos / 1.1
    return paddle.stack(
        [x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * spin, spin + 0.02 * turn], 1
    )


class Policy(nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, state):
        return self.out(paddle.tanh(self.hidden(state)))

    @d2s.to_static
    def episode(self, state, chance, longest: int = 200):
        """Play until every pole has fallen; the loss, and how long each cart stood.

        ``chance`` is what chance decides, one number for each cart and step.
        """
        alive = paddle.ones([state.shape[0]])
        logs, lived = [], []
        for t in range(longest):
            log_p = F.log_softmax(self(state))
            right = (chance[t] < paddle.exp(log_p[:, 1])).astype("int64")
            logs.append(paddle.take_along_axis(log_p, right.unsqueeze(1), 1).squeeze(1) * alive)
            lived.append(alive)
            state = physics(state, 2.0 * right.astype("float32") - 1.0).detach()
            fallen = (state[:, 2].abs() > 0.21) | (state[:, 0].abs() > 2.4)
            alive = alive * (1.0 - fallen.astype("float32"))
            if alive.sum() == 0:
                break
        lived = paddle.stack(lived)
        left = paddle.flip(paddle.cumsum(paddle.flip(lived, [0]), 0), [0])
        advantage = left - left.mean()
        advantage = advantage / (left.std() + 1e-6)
        loss = -(paddle.stack(logs) * advantage * lived).sum() / lived.sum()
        return loss, lived.sum(0)


def main(episodes=25):
    """Learn; the losses, and how long the carts stood."""
    paddle.seed(11)
    policy = Policy()
    adam = paddle.optimizer.Adam(0.02, parameters=policy.parameters())
    stood, losses = [], []
    for number in range(episodes):
        state = 0.05 * paddle.randn([CARTS, 4])
        loss, lived = policy.episode(state, paddle.rand([200, CARTS]))
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
        stood.append(float(lived.mean()))
        if number % 6 == 0 or number == episodes - 1:
            print(f"episode {number:>3}  stood {stood[-1]:.0f} steps")
    return losses, stood


if __name__ == "__main__":
    main()
