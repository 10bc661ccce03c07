"""One field of a namedtuple is replaced in a branch and in a loop.

exercises: _replace in a tensor branch and in a tensor loop; _asdict
rows: 82
"""

from collections import namedtuple

import paddle

Config = namedtuple("Config", "weight bias")


def adapt(x, steps):
    config = Config(weight=x, bias=x * 0)
    if x.sum() > 0:
        config = config._replace(bias=x + 1)
    for _ in range(steps):
        config = config._replace(weight=config.weight * 0.5 + config.bias)
    return config._asdict(), config


def build():
    return adapt


def inputs():
    for sign, steps in ((1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 1)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
