"""A loop over a generator is left when a tensor says so, and no bound is known."""

import paddle

CODE = "D2S205"


def numbers():
    number = 0.0
    while True:
        number += (yield number) or 1.0


def first_above(x):
    for number in numbers():  # <- fails
        if number > x:
            break
    return x + number


def main(to_static):
    to_static(first_above)(paddle.to_tensor(70.5))
