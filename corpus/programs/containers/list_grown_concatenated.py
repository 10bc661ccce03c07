"""Copies of a row, halved until they vanish, as one matrix.

exercises: list append in a tensor while; concat of the grown list
rows: 74
"""

import paddle


def pyramid(row, floor):
    levels = [row]
    while row.abs().max() > floor:
        row = row / 2
        levels.append(row)
    return paddle.concat(levels, axis=0)


def build():
    return pyramid


def inputs():
    row = paddle.to_tensor([[1.0, -3.0]])
    for floor in (1.0, 2.0, 5.0, 0.1):
        yield row, paddle.to_tensor(floor)
