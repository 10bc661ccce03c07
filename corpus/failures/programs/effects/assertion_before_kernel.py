"""An assertion fails in front of an operation that would fail too."""

import paddle


def pick(table, index):
    assert (index < 3).all(), f"index {index.tolist()} is out of range"  # <- fails
    return paddle.gather(table, index)


def main(to_static):
    static = to_static(pick)
    static(paddle.ones([3]), paddle.to_tensor([1]))
    static(paddle.ones([3]), paddle.to_tensor([8]))
