"""Replace the head of a list of states in a branch.

exercises: slice assignment of a list in a tensor branch and outside
rows: 76
"""

import paddle


def restart(x, bound):
    states = [x, x * 2, x * 3]
    states[1:] = [x * 4, x * 5]
    if x.sum() > bound:
        states[:2] = [x * 0, x * 7]
    return paddle.stack(states)


def build():
    return restart


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for bound in (1.0, 5.0):
        yield x, paddle.to_tensor(bound)
