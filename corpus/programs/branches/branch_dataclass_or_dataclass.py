"""Two dataclasses of other types, one per side, asked by a method of the same name.

exercises: other dataclasses from branches; method call afterwards
rows: 5
"""

import dataclasses

import paddle


@dataclasses.dataclass
class Gaussian:
    mean: paddle.Tensor

    def score(self, x):
        return -((x - self.mean) ** 2).sum()


@dataclasses.dataclass
class Uniform:
    low: float
    high: float

    def score(self, x):
        return x.sum() * 0 - (self.high - self.low)


def best_score(x, peaked):
    if peaked > 0:
        model = Gaussian(x.mean())
    else:
        model = Uniform(0.0, 3.0)
    return model.score(x)


def build():
    return best_score


def inputs():
    x = paddle.to_tensor([2.0, 1.0])
    for peaked in (1, 0, 2):
        yield x, paddle.to_tensor(peaked)
