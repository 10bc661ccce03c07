"""The values of a tensor become items of a set in a helper, which are taken in the set's order."""

import paddle

CODE = "D2S207"


def kinds_of(mask):
    return {int(value) + 1 for value in mask.tolist()}


def split(x, mask):
    for kind in kinds_of(mask):  # <- fails
        x = x / kind
    return x


def main(to_static):
    to_static(split)(paddle.ones([3]), paddle.to_tensor([0, 1]))
