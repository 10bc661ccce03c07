"""A configuration lacks a key that a helper reads."""

import paddle

CONFIG = {"scale": 2.0}


def option(name):
    return CONFIG[name]  # <- fails


def scaled(x):
    x = x * option("scale")
    return x + option("shift")


def main(to_static):
    to_static(scaled)(paddle.ones([3]))
