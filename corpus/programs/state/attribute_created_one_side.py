"""A field that only a hard sample gets, read with getattr and hasattr.

exercises: attribute newly created on one side; hasattr; getattr with a default
rows: 84
"""

import paddle


class Sample:
    pass


def loss(x):
    sample = Sample()
    sample.base = x.mean()
    if x.abs().max() > 1:
        sample.penalty = x.abs().sum()
    if hasattr(sample, "penalty"):
        return sample.base + sample.penalty
    return sample.base + getattr(sample, "bonus", 0.5)


def build():
    return loss


def inputs():
    yield (paddle.to_tensor([0.5, 0.25]),)
    yield (paddle.to_tensor([2.0, 0.25]),)
