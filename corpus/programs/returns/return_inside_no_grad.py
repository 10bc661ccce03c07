"""A target network's value, computed without gradients, with an early way out.

exercises: return inside with paddle.no_grad under a tensor if; gradient stopped on one path
rows: 46, 63
"""

import paddle


def target(value, reward, done):
    with paddle.no_grad():
        bootstrap = value * 0.9
        if done > 0:
            return reward + bootstrap * 0
        bootstrap = bootstrap + 1
    return value + reward * bootstrap


def build():
    return target


def inputs():
    value, reward = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.5, 0.25])
    yield value, reward, paddle.to_tensor(0)
    yield value, reward, paddle.to_tensor(1)
