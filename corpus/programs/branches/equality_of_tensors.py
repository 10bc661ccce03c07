"""Equal and unequal as conditions, against tensors and numbers.

exercises: == and != as conditions; == False; == between int and float
rows: 16
"""

import paddle


def compare(x, n, flag):
    if n == 2:
        x = x * 2
    if n != 0:
        x = x / n
    if flag == False:
        x = x + 1
    if x == n:
        x = x - 5
    return x


def build():
    return compare


def inputs():
    for x, n, flag in ((2.0, 2, True), (4.0, 0, False), (1.0, 1, True), (3.0, 3, False)):
        yield paddle.to_tensor(x), paddle.to_tensor(n), paddle.to_tensor(flag)
