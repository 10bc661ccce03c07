"""A class method reads a setting that the subclass changes.

exercises: classmethod with a tensor if; through an instance and through a subclass
rows: 54
"""

import paddle


class Loss:
    margin = 1.0

    @classmethod
    def of(cls, x):
        if x.mean() > cls.margin:
            return x - cls.margin
        return x * 0.5


class Strict(Loss):
    margin = 0.1


def both(x):
    return Loss.of(x), Strict().of(x)


def build():
    return both


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for scale in (1.0, 0.5, 0.01):
        yield (x * scale,)
