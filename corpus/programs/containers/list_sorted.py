"""The median of three measurements by sorting tensors.

exercises: sorted() and list.sort of tensors; reverse
rows: 15
"""

import paddle


def median(values):
    low, middle, high = sorted(values)
    ranked = list(values)
    ranked.sort(reverse=True)
    return middle, high - low, ranked[0]


def build():
    return median


def inputs():
    for values in ((1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 3.0, 1.0)):
        yield ([paddle.to_tensor(v) for v in values],)
