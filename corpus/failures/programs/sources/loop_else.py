"""The else clause of a loop fails."""

import paddle


def search(x, rows):
    for row in rows:
        if row.sum() > 100:
            break
    else:
        row = x + rows[9]  # <- fails
    return row


def main(to_static):
    to_static(search)(paddle.ones([2]), [paddle.ones([2]), paddle.zeros([2])])
