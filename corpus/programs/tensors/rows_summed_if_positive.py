"""Sum the rows whose own sum is positive.

exercises: an index by the loop variable in the condition and in the branch of an if in a tensor
    loop; gradients
rows: 26
"""

import paddle


def sum_positive_rows(x, n):
    total = paddle.zeros([2])
    for i in range(n):
        if x[i].sum() > 0:
            total = total + x[i]
    return total


def build():
    return sum_positive_rows


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [-3.0, 1.0], [2.0, 2.0]])
    for n in (0, 1, 3, 2):
        yield x, paddle.to_tensor(n)
