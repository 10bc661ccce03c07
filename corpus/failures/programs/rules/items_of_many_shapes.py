"""A loop collects prefixes, each of another length."""

import paddle

CODE = "D2S207"


def prefixes(x, count):
    parts = []
    length = paddle.ones([], "int64")
    while length < count:
        parts.append(x[:length])  # <- fails
        length = length + 1
    return parts


def main(to_static):
    to_static(prefixes)(paddle.ones([5]), paddle.to_tensor(4))
