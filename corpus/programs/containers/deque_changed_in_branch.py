"""A deque of states that a tensor condition makes longer.

exercises: append to and pop from a deque in a tensor branch; len and last item afterwards
rows: 78
"""

from collections import deque

import paddle


def newest(x):
    states = deque([x, x * 3])
    if x.sum() > 0:
        states.append(x * 2)
    else:
        states.pop()
    return states[-1] * len(states)


def build():
    return newest


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
