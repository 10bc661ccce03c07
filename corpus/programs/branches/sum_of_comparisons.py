"""How many heads agree: Python's sum over tensor comparisons.

exercises: sum of a generator of comparisons; the count as condition
rows: 15
"""

import paddle


def agreement(heads, x):
    votes = sum(head > 0 for head in heads)
    if votes >= 2:
        x = x * votes
    return x, votes


def build():
    return agreement


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for row in ((1.0, -1.0, 2.0), (-1.0, -1.0, 2.0), (1.0, 1.0, 2.0)):
        yield [paddle.to_tensor(v) for v in row], x
