"""Hoare's partition, the inner part of quick-sort, on a 1-D tensor.

exercises: while True with break; nested while; inner loops entered again; item assignment by
    tensor index
rows: 19, 38, 87
"""

import paddle

GRAD = False  # it sorts integers


def partition(a):
    a = a.clone()
    pivot = a[0].clone()  # a[0] alone is a view: the swaps below would change it
    low = paddle.to_tensor(0)
    high = paddle.to_tensor(a.shape[0] - 1)
    while True:
        while a[low] < pivot:
            low = low + 1
        while a[high] > pivot:
            high = high - 1
        if low >= high:
            break
        left, right = a[low].clone(), a[high].clone()
        a[low] = right
        a[high] = left
        low = low + 1
        high = high - 1
    return a, high


def build():
    return partition


def inputs():
    yield (paddle.to_tensor([5, 2, 9, 1, 5, 6]),)
    yield (paddle.to_tensor([1, 2, 3, 4, 5, 6]),)
    yield (paddle.to_tensor([6, 5, 4, 3, 2, 1]),)
    yield (paddle.to_tensor([3, 3, 3, 3, 3, 3]),)
