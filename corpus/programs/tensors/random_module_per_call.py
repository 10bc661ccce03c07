"""Stochastic depth with Python's random module, seeded before each call.

exercises: random.random() and random.randint() in a condition, fresh in every call
rows: 73
"""

import random

import paddle

BEFORE = lambda index: random.seed(index)  # noqa: E731


def stochastic(x, keep):
    if random.random() < keep:
        x = x * 2
    noise = random.uniform(-1, 1)
    return x + noise, random.randint(0, 100)


def build():
    return stochastic


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for _ in range(4):
        yield x, 0.6
