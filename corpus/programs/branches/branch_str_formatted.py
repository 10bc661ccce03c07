"""A report made from a label of a branch, as an f-string that is returned.

exercises: f-string with a string from a branch, returned
rows: 5
"""

import paddle


def report(x):
    kind = "falling"
    if x[1] >= x[0]:
        kind = "rising"
    return x * 2, f"the series is {kind}"


def build():
    return report


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, 3.0]):
        yield (paddle.to_tensor(x),)
