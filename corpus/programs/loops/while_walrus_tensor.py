"""Scale a vector down until its norm fits, and report the last norm.

exercises: walrus in the condition of a while; the name read in the body and after the loop
rows: 21
"""

import paddle


def fit(x, bound):
    path = x * 0
    while (norm := (x * x).sum().sqrt()) > bound:
        path = path + x / norm
        x = x * 0.7
    return x, norm, path


def build():
    return fit


def inputs():
    for bound in (10.0, 4.0, 1.0):
        yield paddle.to_tensor([3.0, 4.0]), paddle.to_tensor(bound)
