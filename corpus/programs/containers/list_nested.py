"""Values sorted into two lists inside a list.

exercises: append to an inner list of a list of lists in a tensor loop
rows: 76
"""

import paddle


def sort_into(x, steps):
    bins = [[], []]
    for i in range(steps):
        bins[0].append(x * 2)
        if x.sum() > 0:
            bins[1].append(x)
        x = x - 1
    return bins, len(bins[1])


def build():
    return sort_into


def inputs():
    for steps in (4, 0, 1, 2):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
