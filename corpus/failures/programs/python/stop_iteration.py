"""next() of an iterator that is at its end."""

import paddle


def heads(x):
    parts = iter([x, x * 2])
    total = next(parts) + next(parts)
    return total + next(parts)  # <- fails


def main(to_static):
    to_static(heads)(paddle.ones([2]))
