"""A comprehension in a comprehension, over several lines."""

import paddle


def table(x, sizes):
    return {
        name: [
            x.reshape([size, -1])  # <- fails
            for size in group
            if size > 1
        ]
        for name, group in sizes.items()
    }


def main(to_static):
    to_static(table)(paddle.ones([6]), {"a": [1, 2], "b": [3, 4]})
