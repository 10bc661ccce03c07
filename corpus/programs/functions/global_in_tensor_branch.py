"""A running maximum in a module's global, raised only by larger losses.

exercises: global assigned in a tensor if
rows: 53
"""

import paddle

WORST = paddle.to_tensor(1.0)


def watch(loss):
    global WORST
    peak = loss.max()
    if peak > WORST:
        WORST = peak.detach() * 1.0
        return loss / peak
    return loss / WORST


def reset(index):
    global WORST
    WORST = paddle.to_tensor(float(index % 2) + 1.0)


BEFORE = reset
OBSERVED = lambda: WORST  # noqa: E731


def build():
    return watch


def inputs():
    x = paddle.to_tensor([1.0, 0.5])
    for scale in (3.0, 4.0, 0.5, 0.25):
        yield (x * scale,)
