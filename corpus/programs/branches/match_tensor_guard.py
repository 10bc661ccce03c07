"""Any subject, with guards that look at tensors, one after the other.

exercises: tensor guards; capture patterns read after the match; order of the guards
rows: 47
"""

import paddle


def bucket(x):
    match x.sum():
        case total if total > 10:
            y = x / total
        case total if total > 0:
            y = x * total
        case total:
            y = x - total
    return y, total


def build():
    return bucket


def inputs():
    for x in ([9.0, 3.0], [1.0, 2.0], [-1.0, -2.0]):
        yield (paddle.to_tensor(x),)
