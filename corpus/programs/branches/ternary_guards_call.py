"""Only the chosen side of a ternary runs: the other would raise.

exercises: laziness of the ternary; right side that raises
rows: 9
"""

import paddle


def root(x):
    if x < 0:
        raise ValueError("no root of a negative number")
    return x.sqrt()


def safe_root(x):
    return root(x) if x >= 0 else root(-x) * -1


def build():
    return safe_root


def inputs():
    for x in (4.0, -4.0, 9.0):
        yield (paddle.to_tensor(x),)
