"""Running totals by a comprehension that assigns.

exercises: walrus in the element and in the filter of a comprehension; its name used afterwards
rows: 48
"""

import paddle


def totals(values, names):
    total = paddle.zeros([])
    sums = [total := total + v for v in values]
    long = [n for name in names if (n := len(name)) > 2]
    return paddle.stack(sums), total, long, n


def build():
    return totals


def inputs():
    for sign in (1.0, -1.0):
        yield paddle.to_tensor([1.0, 2.0, 3.0]) * sign, ["ab", "abc", "abcde"]
