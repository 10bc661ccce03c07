"""An argument is a list that holds itself."""

import paddle

CODE = "D2S301"


def first(x, nodes):
    return x * len(nodes)


def main(to_static):
    nodes = []
    nodes.append(nodes)
    to_static(first)(paddle.ones([2]), nodes)  # <- fails
