"""Batches come from a generator and are normalised only when they need it.

exercises: generator consumed by a loop; tensor if in the loop body; dict items; list grown in a
    python loop
rows: 31, 57
"""

import paddle


def windows(x, size):
    for start in range(0, x.shape[0] - size + 1, size):
        yield start, x[start : start + size]


def normalise(x, size):
    found = {}
    for start, window in windows(x, size):
        if window.std() > 1:
            window = (window - window.mean()) / window.std()
        found[f"w{start}"] = window
    return {name: w * 2 for name, w in found.items()}


def build():
    return normalise


def inputs():
    x = paddle.to_tensor([1.0, 5.0, -4.0, 0.1, 0.2, 0.3])
    yield x, 3
    yield x * 0.01, 3
    yield x, 2
    yield x, 9
