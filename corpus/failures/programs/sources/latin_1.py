# -*- coding: latin-1 -*-
"""The file is not in UTF-8."""

import paddle


def größer(x):
    ü = x * 2
    if ü.sum() > 0:
        ü = "ä", ü + paddle.ones([7])  # <- fails
    return ü


def main(to_static):
    to_static(größer)(paddle.ones([2]))
