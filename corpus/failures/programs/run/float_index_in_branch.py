"""An index is a float tensor, on one side of a branch."""

import paddle


def pick(table, index):
    if index.sum() > 0:
        return paddle.gather(table, index)  # <- fails
    return table[:1]


def main(to_static):
    to_static(pick)(paddle.ones([3]), paddle.to_tensor([1.0]))
