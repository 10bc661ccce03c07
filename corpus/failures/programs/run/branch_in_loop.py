"""A branch in a loop fails in a late trip."""

import paddle


def decode(table, start):
    token = start
    score = paddle.zeros([1])
    while score.sum() < 6:
        score = score + 1
        if score.sum() > 3:
            token = token + 2
            score = score + paddle.gather(table, token)  # <- fails
    return score


def main(to_static):
    to_static(decode)(paddle.zeros([4]), paddle.to_tensor([0]))
