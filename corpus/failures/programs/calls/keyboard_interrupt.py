"""The user presses Ctrl-C while a helper is at work."""

import paddle


def busy(x):
    raise KeyboardInterrupt  # <- fails


def long_run(x):
    if x.sum() > 0:
        x = busy(x)
    return x


def main(to_static):
    to_static(long_run)(paddle.ones([2]))
