"""The lines end as on Windows."""

import paddle


def doubled(x):
    y = """
    text"""
    if x.sum() > 0:
        x = x * paddle.ones([7])  # <- fails
    return x, y


def main(to_static):
    to_static(doubled)(paddle.ones([2]))
