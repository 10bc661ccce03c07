"""The call that fails stretches over many lines."""

import paddle


def attend(query, key, value):
    weights = paddle.nn.functional.softmax(query)
    return paddle.add_n(
        [
            weights,
            paddle.matmul(  # <- fails
                key,
                value,
                transpose_x=False,
                transpose_y=False,
            ),
        ],
    )


def main(to_static):
    to_static(attend)(paddle.ones([2, 2]), paddle.ones([2, 3]), paddle.ones([2, 3]))
