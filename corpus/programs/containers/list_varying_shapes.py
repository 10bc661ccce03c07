"""Prefixes of a signal, each longer than the one before.

exercises: append of a different shape in each trip; concat and iteration of the parts
rows: 76
"""

import paddle


def prefixes(x, count):
    parts = []
    for i in range(count):
        parts.append(x[: i + 1])
    parts.append(x)
    peaks = [p.max() for p in parts]
    return paddle.concat(parts), peaks


def build():
    return prefixes


def inputs():
    for count in (3, 0, 1, 4):
        yield paddle.to_tensor([1.0, 3.0, 2.0, 5.0]), paddle.to_tensor(count)
