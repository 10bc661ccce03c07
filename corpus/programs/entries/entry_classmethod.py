"""The converted function is a class method of a subclass.

exercises: classmethod as the entry; cls decides
rows: 93
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


def build():
    return Strict.of


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 0.01,)
