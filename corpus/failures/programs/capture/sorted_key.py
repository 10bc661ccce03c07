"""The key function of a sort fails."""

import paddle


def largest(tensors):
    ordered = sorted(
        tensors,
        key=lambda tensor: tensor.shape[1],  # <- fails
    )
    return ordered[-1] * 2


def main(to_static):
    to_static(largest)([paddle.ones([2, 3]), paddle.ones([4])])
