"""A loop walks one step too far along a table."""

import paddle


def walk(table, start):
    position = start
    total = paddle.zeros([1])
    while total.sum() < 10:
        total = total + paddle.gather(table, position)  # <- fails
        position = position + 1
    return total


def main(to_static):
    to_static(walk)(paddle.ones([4]), paddle.to_tensor([0]))
