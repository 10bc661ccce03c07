"""One of two lambdas on one line fails."""

import paddle

STEPS = {"up": lambda x: x + 1, "wide": lambda x: x + paddle.ones([9])}  # <- fails


def run(x, names):
    for name in names:
        x = STEPS[name](x)
    return x


def main(to_static):
    to_static(run)(paddle.ones([2]), ["up", "wide"])
