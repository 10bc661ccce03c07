"""A policy samples an action with Gumbel noise and its reward depends on the action.

exercises: branch on an argmax; elif chain; int tensor compared with a constant; log-probability
    gradient
rows: 1, 16
"""

import paddle
from paddle import nn
from paddle.nn import functional as F


class Policy(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, state, noise):
        logits = self.head(paddle.tanh(self.body(state)))
        action = paddle.argmax(
            logits + noise
        )  # the noise is an input, so that every mode draws the same action
        if action == 0:
            reward = -state.abs().sum()
        elif action == 1:
            reward = state.max()
        else:
            reward = paddle.to_tensor(1.0)
        return -F.log_softmax(logits)[action] * reward, action


def build():
    return Policy()


def inputs():
    state = paddle.randn([4])
    for action in (0, 1, 2, 1):
        yield state, F.one_hot(paddle.to_tensor(action), 3) * 100.0
