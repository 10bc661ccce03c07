"""Discounted sum of rewards that were collected while the game went on.

exercises: iteration over a list that a tensor loop grew
rows: 74
"""

import paddle


def discounted(reward, cost, gamma):
    rewards = []
    while reward > 0:
        rewards.append(reward)
        reward = reward - cost
    total = paddle.zeros([])
    for r in rewards:
        total = r + gamma * total
    return total


def build():
    return discounted


def inputs():
    gamma = paddle.to_tensor(0.9)
    for reward, cost in ((3.0, 1.0), (0.5, 1.0), (-1.0, 1.0), (5.0, 0.75)):
        yield paddle.to_tensor(reward), paddle.to_tensor(cost), gamma
