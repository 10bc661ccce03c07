"""A finally returns what a tensor decides."""

import paddle

CODE = "D2S205"


def settled(x):
    try:
        x = x * 2
    finally:
        if x.sum() > 0:  # <- fails
            return x
    return -x


def main(to_static):
    to_static(settled)(paddle.ones([2]))
