"""An object that is called like a function fails in its __call__."""

import paddle


class Normalise:
    def __init__(self, mean):
        self.mean = mean

    def __call__(self, x):
        return x - self.mean  # <- fails


def pipeline(x, steps):
    for step in steps:
        x = step(x)
    return x


def main(to_static):
    steps = [Normalise(paddle.ones([3])), Normalise(paddle.ones([4]))]
    to_static(lambda x: pipeline(x, steps))(paddle.ones([2, 3]))
