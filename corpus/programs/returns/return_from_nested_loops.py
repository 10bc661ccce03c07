"""The first pair in two sorted vectors whose sum reaches a target.

exercises: return out of a tensor while inside a tensor while
rows: 43
"""

import paddle


def first_pair(a, b, target):
    i = paddle.zeros([], "int64")
    while i < a.shape[0]:
        j = paddle.zeros([], "int64")
        while j < b.shape[0]:
            if a[i] + b[j] >= target:
                return a[i] * b[j], i, j
            j = j + 1
        i = i + 1
    return a.sum() + b.sum(), i, i


def build():
    return first_pair


def inputs():
    a, b = paddle.to_tensor([1.0, 2.0, 5.0]), paddle.to_tensor([0.5, 3.0])
    for target in (1.0, 4.0, 5.0, 8.0, 9.0):
        yield a, b, paddle.to_tensor(target)
