"""A for loop over a range that a tensor bounds selects rows that are not there."""

import paddle


def rows(x, count):
    total = paddle.zeros([1, 2])
    place = paddle.zeros([1], "int64")
    for _ in range(count):
        total = total + paddle.index_select(x, place)  # <- fails
        place = place + 1
    return total


def main(to_static):
    static = to_static(rows)
    static(paddle.ones([3, 2]), paddle.to_tensor(2))
    static(paddle.ones([3, 2]), paddle.to_tensor(5))
