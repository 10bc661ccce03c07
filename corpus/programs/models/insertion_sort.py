"""Sort by repeated insertion, stopping the inner loop at the right place.

exercises: while inside for over range; break in an inner loop entered again; tuple swap
rows: 26, 37, 38, 82
"""

import paddle

GRAD = False  # it sorts integers


def insertion_sort(a, n):
    a = a.clone()
    moves = paddle.zeros([], "int64")
    for i in range(1, n):
        j = i
        while j > 0:
            left, right = a[j - 1].clone(), a[j].clone()
            if left <= right:
                break
            a[j - 1], a[j] = right, left
            moves = moves + 1
            j = j - 1
    return a, moves


def build():
    return insertion_sort


def inputs():
    yield paddle.to_tensor([4, 1, 3, 2]), paddle.to_tensor(4)
    yield paddle.to_tensor([4, 3, 2, 1]), paddle.to_tensor(4)
    yield paddle.to_tensor([1, 2, 3, 4]), paddle.to_tensor(4)
    yield paddle.to_tensor([4, 3, 2, 1]), paddle.to_tensor(1)
