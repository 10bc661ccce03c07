"""A result object that gets its fields in a branch.

exercises: attribute newly created on both sides of a tensor branch
rows: 84
"""

import paddle


class Result:
    pass


def decide(x):
    result = Result()
    if x.sum() > 0:
        result.kind = x * 2
        result.score = x.sum()
    else:
        result.kind = x - 1
        result.score = -x.sum()
    return result.kind * result.score


def build():
    return decide


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
