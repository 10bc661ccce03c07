"""Three decorators on one function: the order decides.

exercises: stacked decorators, with and without wraps, with arguments
rows: 52
"""

import paddle

from corpus.programs.functions._helpers import clamped, scaled


def shifted(fn):
    def wrapper(x):
        return fn(x - 1) if x.mean() > 0 else fn(x)

    return wrapper


@clamped
@shifted
@scaled(3.0)
def core(x):
    if x.max() > 0.5:
        return x * 2
    return x


def run(x):
    return core(x) - 0.5


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 3,)
