"""The converted object is an instance with __call__ and tensors of its own.

exercises: object with __call__ as the entry; attribute assigned in a tensor branch
rows: 93
"""

import paddle


class Average:
    def __init__(self):
        self.mean = paddle.zeros([2])
        self.decay = 0.5

    def __call__(self, x):
        if x.abs().max() < 10:
            self.mean = self.mean * self.decay + x.detach() * (1 - self.decay)
        return x - self.mean


AVERAGE = Average()


def reset(index):
    if index == 0:
        AVERAGE.mean = paddle.zeros([2])


BEFORE = reset
OBSERVED = lambda: AVERAGE.mean  # noqa: E731


def build():
    return AVERAGE


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 100,)
    yield (-x,)
