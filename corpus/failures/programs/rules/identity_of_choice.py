"""Two tensors that a branch has chosen are asked for their identity."""

import paddle

CODE = "D2S205"


def same(x, y):
    chosen = x
    if x.sum() > 1:
        chosen = y
    if chosen is y:  # <- fails
        return chosen * 2
    return chosen


def main(to_static):
    to_static(same)(paddle.ones([2]), paddle.zeros([2]))
