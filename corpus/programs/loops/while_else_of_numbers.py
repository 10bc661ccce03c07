"""Count down to a bound; the else says that nothing stopped the count.

exercises: else of a tensor while without a break
rows: 18
"""

import paddle

GRAD = False  # whole numbers


def count(n):
    trips = paddle.zeros([], "int64")
    while n > 0:
        n = n - 1
        trips = trips + 1
    else:
        trips = trips + 100
    return trips


def build():
    return count


def inputs():
    for n in (3, 0, 1):
        yield (paddle.to_tensor(n),)
