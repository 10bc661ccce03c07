"""The tensors that a loop has collected do not have one shape."""

import paddle


def prefixes(x):
    parts = []
    for length in range(1, 4):
        parts.append(x[:length] * length)
    return paddle.stack(parts)  # <- fails


def main(to_static):
    to_static(prefixes)(paddle.ones([4]))
