"""Moving average over the last three values, in a deque.

exercises: collections.deque with maxlen in an unrolled loop with a tensor branch
rows: 74
"""

from collections import deque

import paddle


def moving(values):
    window = deque(maxlen=3)
    means = []
    for v in values:
        if v < 0:
            v = v * 0.1
        window.append(v)
        means.append(sum(window) / len(window))
    window.popleft()
    return paddle.stack(means), list(window)


def build():
    return moving


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0, -3.0, 4.0]) * sign,)
