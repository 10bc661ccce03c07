"""A balanced sum over a list of tensors, by halves.

exercises: recursion whose end a Python value decides; tensor if at each level
rows: 56
"""

import paddle


def tree_sum(parts):
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = tree_sum(parts[:middle]), tree_sum(parts[middle:])
    if left.sum() > right.sum():
        return left + right * 0.5
    return left * 0.5 + right


def build():
    return tree_sum


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ([x],)
    yield ([x, x * 2, x * 3],)
    yield ([x * 3, x * 2, x],)
