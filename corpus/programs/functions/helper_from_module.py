"""Functions are reached through their module, not imported by name.

exercises: module.function with a tensor if; module.lambda; module looked up in a nested function
rows: 54
"""

import paddle

from corpus.programs.functions import _helpers


def run(x):
    def apply(t):
        return _helpers.soften(t)

    return apply(x) + _helpers.harden(x) + _helpers.leaky(x)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.1,)
