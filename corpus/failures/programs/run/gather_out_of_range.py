"""An index is beyond the end."""

import paddle


def pick(table, index):
    table = table * 2
    return paddle.gather(table, index)  # <- fails


def main(to_static):
    static = to_static(pick)
    static(paddle.ones([3]), paddle.to_tensor([0, 2]))
    static(paddle.ones([3]), paddle.to_tensor([0, 7]))
