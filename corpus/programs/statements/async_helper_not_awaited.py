"""A module function that also defines a coroutine and never runs it.

exercises: async def inside a function, not awaited; a tensor if beside it
rows: 57
"""

import paddle


def with_coroutine(x):
    async def later(v):
        return v * 2

    if x.sum() > 0:
        x = x + 1
    return x * 2, callable(later)


def build():
    return with_coroutine


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
