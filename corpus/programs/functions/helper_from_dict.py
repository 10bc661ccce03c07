"""An activation is chosen by name from a dict of functions.

exercises: function from a dict, with a tensor if inside; dict imported and built locally
rows: 54
"""

import paddle

from corpus.programs.functions._helpers import ACTIVATIONS


def shrink(x):
    return x / 2 if x.max() > 1 else x


def run(x, names):
    table = {**ACTIVATIONS, "shrink": shrink}
    for name in names:
        x = table[name](x)
    return x


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, ["soften", "shrink", "tanh"]
    yield -x, ["leaky", "harden", "shrink"]
    yield x * 3, ["shrink", "harden", "soften"]
