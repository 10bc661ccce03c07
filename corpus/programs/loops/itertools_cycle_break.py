"""Apply a cycle of scales until the signal is strong enough.

exercises: itertools.cycle over Python numbers with a tensor break
rows: 32
"""

import itertools

import paddle


def amplify(x, bound):
    for scale in itertools.cycle([1.5, 0.9, 2.0]):
        x = x * scale
        if x.sum() > bound:
            break
    return x


def build():
    return amplify


def inputs():
    for bound in (1.0, 5.0, 40.0):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(bound)
