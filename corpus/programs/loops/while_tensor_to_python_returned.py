"""The flag of a retry loop goes out: a tensor without a retry, a bool after one.

exercises: loop variable that is a tensor before a while and a Python bool after a trip, returned
rows: 20, 23
"""

import paddle


def retry(x, bound):
    again = x.sum() < bound
    while again:
        x = x * 2 + 1
        again = False
    return x, again


def build():
    return retry


def inputs():
    for bound in (0.0, 5.0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
