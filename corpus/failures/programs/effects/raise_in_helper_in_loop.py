"""A helper in a loop raises, two calls deep."""

import paddle


def validate(token, limit):
    if token >= limit:
        raise IndexError(f"token {int(token)}")  # <- fails


def advance(token):
    validate(token, 7)
    return token * 2


def decode(token):
    while token < 100:
        token = advance(token)
    return token


def main(to_static):
    to_static(decode)(paddle.to_tensor(1))
