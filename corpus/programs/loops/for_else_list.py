"""The first candidate that is large enough, else the mean of all.

exercises: for-else over a list of tensors with a tensor break
rows: 36, 39
"""

import paddle


def first_large(candidates, bound):
    for c in candidates:
        if c.sum() > bound:
            chosen = c * 2
            break
    else:
        chosen = paddle.add_n(candidates) / len(candidates)
    return chosen


def build():
    return first_large


def inputs():
    for bound in (0.5, 2.5, 5.0, 50.0):
        rows = [paddle.to_tensor([a, 1.0]) for a in (0.0, 2.0, 8.0)]
        yield rows, paddle.to_tensor(bound)
